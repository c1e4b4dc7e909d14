# SPDX-License-Identifier: GPL-2.0-only
"""Sizes and offsets of C structs, as the compiler wrote them into an object's debug information."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.core.abi import Layout

ENTRY = re.compile(r"^ *<[0-9a-f]+><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)")
END = re.compile(r"^ *<[0-9a-f]+><[0-9a-f]+>: Abbrev Number: 0")
ATTRIBUTE = re.compile(r"^ *<[0-9a-f]+> +DW_AT_(\w+) *: ?(.*)$")
FORM = re.compile(r"^\((?:\w+|indirect [^)]*|alt [^)]*)\):? *")
REFERENCE = re.compile(r"<0x([0-9a-f]+)>")
POINTER_BYTES = 8
RECORDS = {"structure_type", "union_type"}
# names that stand for another type
ALIASES = {"typedef", "const_type", "volatile_type", "atomic_type"}


@dataclass
class Entry:
    """One debugging information entry and what is nested in it."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Entry] = field(default_factory=list)

    def name(self) -> str:
        """Empty: anonymous. readelf writes `(strp) (offset: 0x1f): NAME` or `(string) NAME`."""
        text = self.attributes.get("name", "")
        return FORM.sub("", text.rpartition("): ")[2] or text).strip()

    def number(self, attribute: str) -> int | None:
        text = FORM.sub("", self.attributes.get(attribute, "")).split("\t", 1)[0].strip()
        try:
            return int(text, 0)
        except ValueError:
            return None

    def type(self) -> int | None:
        found = REFERENCE.search(self.attributes.get("type", ""))
        return int(found[1], 16) if found else None


def entries(text: str) -> tuple[dict[int, Entry], list[Entry]]:
    """readelf's words: every entry by its place, and those of the file's own scope."""
    by_place: dict[int, Entry] = {}
    scope: list[Entry] = [Entry("file")]
    current: Entry | None = None
    for line in text.splitlines():
        if found := ENTRY.match(line):
            depth = int(line[line.index("<") + 1 : line.index(">")], 16)
            del scope[depth + 1 :]
            current = by_place[int(found[1], 16)] = Entry(found[2])
            scope[-1].children.append(current)
            scope.append(current)
        elif END.match(line):
            current = None
        elif current is not None and (attribute := ATTRIBUTE.match(line)):
            current.attributes[attribute[1]] = attribute[2]
    units = [unit for unit in scope[0].children if unit.tag == "compile_unit"]
    return by_place, [entry for unit in units for entry in unit.children]


class Types:
    """The named types of one object file."""

    def __init__(self, text: str) -> None:
        self._entries, top = entries(text)
        self._named: dict[str, Entry] = {}
        for entry in top:
            if entry.tag in RECORDS | {"typedef"} and entry.name() and "size" not in entry.tag:
                declared = "declaration" in entry.attributes
                if not declared or entry.name() not in self._named:
                    self._named[entry.name()] = entry

    def _target(self, entry: Entry) -> Entry | None:
        """The type behind an entry's own, names looked through. None: void."""
        place = entry.type()
        found = None if place is None else self._entries.get(place)
        while found is not None and found.tag in ALIASES:
            place = found.type()
            found = None if place is None else self._entries.get(place)
        return found

    def _bytes(self, entry: Entry | None) -> int:
        if entry is None:
            return 0
        if entry.tag == "array_type":
            size = self._bytes(self._target(entry))
            for child in entry.children:
                upper, count = child.number("upper_bound"), child.number("count")
                size *= count if count is not None else 0 if upper is None else upper + 1
            return size
        size_given = entry.number("byte_size")
        if size_given is not None:
            return size_given
        return POINTER_BYTES if entry.tag == "pointer_type" else 0

    def _fields(self, record: Entry, at: int, prefix: str) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for member in record.children:
            if member.tag != "member":
                continue
            target = self._target(member)
            offset = at + (member.number("data_member_location") or 0)
            name = prefix + member.name()
            nested = target is not None and target.tag in RECORDS
            if member.name():
                found[name] = (offset, self._bytes(target))
            if nested and target is not None:
                inner = f"{name}." if member.name() else prefix
                found |= self._fields(target, offset, inner)
        return found

    def layout(self, name: str) -> Layout | None:
        """None: there is no such struct, or no more than its name."""
        entry = self._named.get(name)
        while entry is not None and entry.tag in ALIASES:
            entry = self._target(entry)
        if entry is None or (size := self._bytes(entry)) == 0:
            return None
        return Layout(size, self._fields(entry, 0, "") if entry.tag in RECORDS else {})

    def names(self) -> set[str]:
        return set(self._named)


def compiled(source: Path, includes: list[Path], defines: tuple[str, ...] = ()) -> Types:
    """Compiles a file and reads the types that it and its headers declare."""
    out = source.with_suffix(".o")
    subprocess.run(
        ["gcc", "-w", "-g", "-fno-eliminate-unused-debug-types"]
        + [f"-D{one}" for one in defines]
        + [f"-I{folder}" for folder in includes]
        + ["-c", str(source), "-o", str(out)],
        check=True,
        cwd=source.parent,
    )
    text = subprocess.run(
        ["readelf", "-W", "--debug-dump=info", str(out)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return Types(text)
