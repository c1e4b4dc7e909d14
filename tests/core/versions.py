# SPDX-License-Identifier: GPL-2.0-only
"""What differs between two drivers, and what that means for kmod/.

    python -m tests.core.versions OLD NEW       both recorded in data/measured.json
    ... --source DIR                            NEW from a tree of open-gpu-kernel-modules
    ... --old-source DIR                        OLD from a tree, too
    ... --json FILE                             another record than data/measured.json

Needs gcc and readelf for trees. "+" came, "-" went, a line without them changed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

from tests.core import facts, fields, headers
from tests.core.facts import Facts
from tests.core.source import NotAsExpected, Tree

WIDTH: Final = 100
K = TypeVar("K", int, str)
V = TypeVar("V")
Section = Iterator[str]


def changes(
    old: Mapping[K, V], new: Mapping[K, V], show: Callable[[K], str], what: Callable[[V], str]
) -> Section:
    """Lines of what came, went and changed, by key."""
    for key in sorted(set(old) | set(new)):
        if key not in old:
            yield f"+ {show(key)}: {what(new[key])}"
        elif key not in new:
            yield f"- {show(key)}: was {what(old[key])}"
        elif old[key] != new[key]:
            yield f"  {show(key)}: {what(old[key])} -> {what(new[key])}"


def row(old: Facts, new: Facts) -> Section:
    """The edits of nvabi/versions.h."""
    before, after = fields.row(old), fields.row(new)
    names = [name for name in headers.version_fields() if name in after]
    edits = [name for name in names if before[name] != after[name]]
    macro = new.version.replace(".", "_")
    parent = old.version.replace(".", "_")
    if not edits:
        yield f'no field differs: {{ .string = "{new.version}", NVABI_{parent} }} is enough'
        return
    yield f"#define NVABI_{macro} NVABI_{parent} with"
    for name in edits:
        yield f"  .{name} = {after[name]}, /* was {before[name]} */"


def structs(old: Facts, new: Facts) -> Section:
    """Layouts that kmod/ uses; whether versions.h knows that they move."""
    by_version = fields.structs()
    fixed = {struct.vendor for name in headers.LAYOUTS for struct in headers.structs(name)}
    for name in sorted(set(old.structs) | set(new.structs)):
        was, now = old.structs.get(name), new.structs.get(name)
        if was == now:
            continue
        home = "versions.h has fields of it" if name in by_version else "no field of versions.h"
        if name in fixed:
            home += "; a struct of kmod/nvabi: are our members among these?"
        if was is None or now is None:
            size = now.size if now else was.size if was else 0
            yield f"{'+' if now else '-'} {name}: {size} bytes ({home})"
            continue
        yield f"  {name}: {was.size} -> {now.size} bytes ({home})"
        for line in changes(was.fields, now.fields, str, lambda at: f"at {at[0]}, {at[1]} bytes"):
            yield f"    {line}"


def ioctls(old: Facts, new: Facts) -> Section:
    """Numbers of both nodes, and sizes that are checked first."""
    yield from changes(old.escapes, new.escapes, str, hex)
    yield from changes(old.uvm, new.uvm, str, hex)
    if bool(old.listed) != bool(new.listed):
        yield f"  sizes are {'now' if new.listed else 'no longer'} checked before the call is read"
    elif old.listed:
        listed = changes(old.listed, new.listed, hex, lambda one: f"{one[0]} bytes, many {one[1]}")
        yield from (f"checked first: {line}" for line in listed)


def classes(old: Facts, new: Facts) -> Section:
    """nvabi/classes.h has every class, with size and who may allocate it."""
    yield from changes(
        old.classes,
        new.classes,
        lambda number: f"{number:#06x}",
        lambda one: f"{one.name}, {one.params} {one.bytes} bytes, {one.privilege}",
    )


def controls(old: Facts, new: Facts) -> Section:
    """Of those that kmod/ names every change; of the others what anyone may call from now on."""
    used = facts.used_controls()
    yield from changes(
        {number: one for number, one in old.controls.items() if number in used},
        {number: one for number, one in new.controls.items() if number in used},
        lambda number: f"{number:#010x}",
        lambda one: f"{one.bytes} bytes, {one.who}",
    )
    for number, one in sorted(new.controls.items()):
        before = old.controls.get(number)
        if number not in used and one.who == "any" and (before is None or before.who != "any"):
            yield f"+ {number:#010x}: {one.bytes} bytes, any; no rule of core/filter.c names it"


def pointers(old: Facts, new: Facts) -> Section:
    """nvabi/embedded.h has every pointer that the driver follows."""
    yield from changes(
        old.pointers,
        new.pointers,
        lambda number: f"{number:#010x}",
        lambda rows: (
            "; ".join(
                f"pointer {one.off}, count {one.count_off}, element {one.element_bytes}, "
                f"{one.direction}"
                + (f", converted {one.converted_bytes}" if one.converted_bytes else "")
                for one in rows
            )
            or "by code"
        ),
    )


def kernel(old: Facts, new: Facts) -> Section:
    """Exports, op structure, the presence check."""
    yield from changes(vars(old.kernel), vars(new.kernel), str, str)


def report(old: Facts, new: Facts) -> Section:
    """The whole comparison, line by line."""
    sections: dict[str, Section] = {
        "row of nvabi/versions.h": row(old, new),
        "structs": structs(old, new),
        "ioctls (core/decode.c, core/decode_uvm.c)": ioctls(old, new),
        "classes (nvabi/classes.h)": classes(old, new),
        "controls (core/filter.c, nvsim/ctrl_*.c)": controls(old, new),
        "pointers in parameters (nvabi/embedded.h)": pointers(old, new),
        "kernel interface (nvabi/rm_ops.h)": kernel(old, new),
    }
    yield f"{old.version} -> {new.version}"
    for title, lines in sections.items():
        found = list(lines)
        yield f"\n{title}: {'' if found else 'nothing differs'}".rstrip()
        yield from (f"  {line}" for line in found)


def gathered(version: str, source: Path | None, record: Path) -> Facts:
    """Facts of one side; NotAsExpected says what is wrong in the operator's words."""
    if source is not None:
        found = facts.of_tree(Tree(source))
        if found.version != version:
            raise NotAsExpected(f"{source} is {found.version}, not {version}")
        return found
    if version not in facts.recorded_versions(record):
        raise NotAsExpected(
            f"{version} is not recorded: unpack that tag of open-gpu-kernel-modules and name it "
            "with --source (NEW) or --old-source (OLD)"
        )
    return facts.of_record(version, record)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.core.versions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW")
    parser.add_argument("--source", type=Path, metavar="DIR")
    parser.add_argument("--old-source", type=Path, metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", default=facts.MEASURED)
    given = parser.parse_args(arguments)
    try:
        old = gathered(given.old, given.old_source, given.json)
        new = gathered(given.new, given.source, given.json)
    except (NotAsExpected, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"{error.cmd[0]} failed on the tree's headers", file=sys.stderr)
        return 1
    for line in report(old, new):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
