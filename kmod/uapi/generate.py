#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make the C header, the kernel's policies and the Python constants from gpushare.yaml.

Without arguments the three files are written; with --check nothing is written
and the exit status is 1 if one of them is not current. Needs PyYAML.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SPEC = HERE / "gpushare.yaml"
HEADER = HERE / "gpushare.h"
POLICY = ROOT / "kmod" / "gpushare" / "netlink_policy.h"
PYTHON = ROOT / "daemon" / "gpushared" / "netlink_abi.py"

REQUEST_SUFFIX = "-request"
INTEGERS = ("u8", "u32", "u64", "s64")
# struct nla_policy keeps range ends as s16
S16_MAX = 0x7FFF
C_COLUMNS = 80


class SpecError(Exception):
    """The specification says something that this generator does not know."""


@dataclass(frozen=True)
class Const:
    name: str
    value: int
    doc: str


@dataclass(frozen=True)
class Entry:
    name: str
    doc: str


@dataclass(frozen=True)
class Enum:
    name: str
    doc: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Attribute:
    name: str
    number: int
    kind: str
    doc: str
    nested: str | None
    multi: bool
    enum: str | None
    checks: dict[str, int | str]


@dataclass(frozen=True)
class Operation:
    name: str
    number: int
    doc: str
    attribute_set: str
    request: tuple[str, ...] | None


@dataclass(frozen=True)
class Spec:
    name: str
    doc: str
    consts: tuple[Const, ...]
    enums: tuple[Enum, ...]
    sets: dict[str, tuple[Attribute, ...]]
    request_sets: dict[str, tuple[Attribute, ...]]
    operations: tuple[Operation, ...]
    groups: tuple[str, ...]

    def const(self, value: int | str) -> int:
        if isinstance(value, int):
            return value
        for const in self.consts:
            if const.name == value:
                return const.value
        raise SpecError(f"unknown constant {value}")

    def requestable(self, set_name: str) -> tuple[Attribute, ...]:
        """What a request may carry inside a nest of that set."""
        return self.request_sets.get(set_name, self.sets[set_name])


def one_line(text: object) -> str:
    return " ".join(str(text or "").split())


def read_attributes(raw: list[dict[str, Any]]) -> tuple[Attribute, ...]:
    return tuple(
        Attribute(
            name=item["name"],
            number=number,
            kind=item["type"],
            doc=one_line(item.get("doc")),
            nested=item.get("nested-attributes"),
            multi=bool(item.get("multi-attr", False)),
            enum=item.get("enum"),
            checks=dict(item.get("checks", {})),
        )
        for number, item in enumerate(raw, start=1)
    )


def read_sets(
    raw: list[dict[str, Any]],
) -> tuple[dict[str, tuple[Attribute, ...]], dict[str, tuple[Attribute, ...]]]:
    sets: dict[str, tuple[Attribute, ...]] = {}
    request_sets: dict[str, tuple[Attribute, ...]] = {}
    for item in raw:
        parent = item.get("subset-of")
        if parent is None:
            sets[item["name"]] = read_attributes(item["attributes"])
            continue
        if item["name"] != parent + REQUEST_SUFFIX:
            raise SpecError(f"subset {item['name']} is not called {parent}{REQUEST_SUFFIX}")
        wanted = {entry["name"] for entry in item["attributes"]}
        known = {attribute.name for attribute in sets[parent]}
        if not wanted <= known:
            raise SpecError(f"{item['name']} names {sorted(wanted - known)}")
        request_sets[parent] = tuple(a for a in sets[parent] if a.name in wanted)
    return sets, request_sets


def read_request(item: dict[str, Any]) -> tuple[str, ...] | None:
    """Attributes that do or dump takes; None for what only the kernel sends."""
    modes = [item[mode] for mode in ("do", "dump") if mode in item]
    if not modes:
        return None
    names: dict[str, None] = {}
    for mode in modes:
        names.update(dict.fromkeys(mode.get("request", {}).get("attributes", ())))
    return tuple(names)


def read_spec(path: Path) -> Spec:
    raw: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    consts, enums = [], []
    for item in raw["definitions"]:
        doc = one_line(item.get("doc"))
        if item["type"] == "const":
            consts.append(Const(item["name"], item["value"], doc))
        elif item["type"] == "enum":
            entries = [e if isinstance(e, dict) else {"name": e} for e in item["entries"]]
            enums.append(
                Enum(
                    item["name"],
                    doc,
                    tuple(Entry(e["name"], one_line(e.get("doc"))) for e in entries),
                )
            )
        else:
            raise SpecError(f"unknown definition type {item['type']}")
    sets, request_sets = read_sets(raw["attribute-sets"])
    operations = tuple(
        Operation(
            name=item["name"],
            number=number,
            doc=one_line(item["doc"]),
            attribute_set=item["attribute-set"],
            request=read_request(item),
        )
        for number, item in enumerate(raw["operations"]["list"], start=1)
    )
    return Spec(
        name=raw["name"],
        doc=one_line(raw["doc"]),
        consts=tuple(consts),
        enums=tuple(enums),
        sets=sets,
        request_sets=request_sets,
        operations=operations,
        groups=tuple(group["name"] for group in raw["mcast-groups"]["list"]),
    )


def macro(*parts: str) -> str:
    return "_".join(parts).upper().replace("-", "_")


def snake(*parts: str) -> str:
    return "_".join(parts).replace("-", "_")


def c_literal(const: Const) -> str:
    return f"{const.value:#o}".replace("0o", "0") if "mode" in const.name else str(const.value)


# --- C header -------------------------------------------------------------


def c_commented(line: str, doc: str) -> Iterator[str]:
    """A line with its comment behind it, or above it if it would be too long."""
    behind = f"{line} /* {doc} */"
    if not doc:
        yield line
    elif len(behind.expandtabs(8)) <= C_COLUMNS:
        yield behind
    else:
        indent = line[: len(line) - len(line.lstrip())]
        yield from (indent + text for text in c_comment(doc, C_COLUMNS - 8 * len(indent)))
        yield line


def c_comment(doc: str, columns: int) -> list[str]:
    if len(doc) + len("/*  */") <= columns:
        return [f"/* {doc} */"]
    return ["/*", *(f" * {text}" for text in textwrap.wrap(doc, columns - 3)), " */"]


def c_enum(
    tag: str, entries: list[tuple[str, str]], *, first: int, last: str | None
) -> Iterator[str]:
    yield f"enum {tag} {{" if tag else "enum {"
    for index, (name, doc) in enumerate(entries):
        line = f"\t{name} = {first}," if index == 0 and first else f"\t{name},"
        yield from c_commented(line, doc)
    if last is not None:
        yield ""
        yield f"\t__{last},"
        yield f"\t{last} = (__{last} - 1)"
    yield "};"
    yield ""


def header(spec: Spec) -> Iterator[str]:
    yield "/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */"
    yield "/* Made by generate.py from gpushare.yaml: change that, not this. */"
    yield "/* clang-format off */"
    yield "#ifndef _UAPI_GPUSHARE_H"
    yield "#define _UAPI_GPUSHARE_H"
    yield ""
    yield f'#define GPUSHARE_FAMILY_NAME "{spec.name}"'
    yield "#define GPUSHARE_FAMILY_VERSION 1"
    for group in spec.groups:
        yield f'#define {macro(spec.name, "mcgrp", group)} "{group}"'
    yield ""
    for const in spec.consts:
        yield from c_commented(
            f"#define {macro(spec.name, const.name)} {c_literal(const)}", const.doc
        )
    yield ""
    for enum in spec.enums:
        if enum.doc:
            yield f"/* {enum.doc} */"
        entries = [(macro(spec.name, enum.name, e.name), e.doc) for e in enum.entries]
        yield from c_enum(
            snake(spec.name, enum.name),
            entries,
            first=0,
            last=macro(spec.name, enum.name, "max"),
        )
    for name, attributes in spec.sets.items():
        prefix = macro(spec.name, "a", name)
        entries = [(macro(prefix, a.name), header_doc(a)) for a in attributes]
        yield from c_enum("", entries, first=1, last=macro(prefix, "max"))
    commands = [(macro(spec.name, "cmd", op.name), op.doc) for op in spec.operations]
    yield from c_enum("", commands, first=1, last=macro(spec.name, "cmd", "max"))
    yield "#endif /* _UAPI_GPUSHARE_H */"


def header_doc(attribute: Attribute) -> str:
    kind = attribute.nested or attribute.enum or attribute.kind
    if attribute.multi:
        kind += ", repeated"
    return f"{kind}: {attribute.doc}" if attribute.doc else kind


# --- kernel policies ------------------------------------------------------


def policy_entry(spec: Spec, attribute: Attribute) -> str:
    if attribute.nested is not None:
        return f"NLA_POLICY_NESTED({snake(spec.name, attribute.nested, 'nl_policy')})"
    if attribute.kind == "flag":
        return "{ .type = NLA_FLAG }"
    if any(abs(spec.const(value)) > S16_MAX for value in attribute.checks.values()):
        raise SpecError(f"check of {attribute.name} does not fit into struct nla_policy")
    checks = {
        name: macro(spec.name, value) if isinstance(value, str) else str(value)
        for name, value in attribute.checks.items()
    }
    if attribute.kind == "string":
        if "max-len" not in checks:
            raise SpecError(f"string {attribute.name} comes from user space without max-len")
        return f"{{ .type = NLA_NUL_STRING, .len = {checks['max-len']} }}"
    if attribute.kind not in INTEGERS:
        raise SpecError(f"no policy for type {attribute.kind} of {attribute.name}")
    return integer_policy(spec, attribute, checks)


def integer_policy(spec: Spec, attribute: Attribute, checks: dict[str, str]) -> str:
    kind = f"NLA_{attribute.kind.upper()}"
    if attribute.enum is not None:
        return f"NLA_POLICY_MAX({kind}, {macro(spec.name, attribute.enum, 'max')})"
    if "flags-mask" in checks:
        return f"NLA_POLICY_MASK({kind}, {checks['flags-mask']})"
    if "min" in checks and "max" in checks:
        return f"NLA_POLICY_RANGE({kind}, {checks['min']}, {checks['max']})"
    if "min" in checks:
        return f"NLA_POLICY_MIN({kind}, {checks['min']})"
    if "max" in checks:
        return f"NLA_POLICY_MAX({kind}, {checks['max']})"
    return f"{{ .type = {kind} }}"


def policy_table(
    spec: Spec, *, table: str, set_name: str, attributes: tuple[Attribute, ...]
) -> Iterator[str]:
    bound = macro(spec.name, "a", set_name, attributes[-1].name)
    yield f"static const struct nla_policy {table}[{bound} + 1] = {{"
    for attribute in attributes:
        index = macro(spec.name, "a", set_name, attribute.name)
        yield f"\t[{index}] = {policy_entry(spec, attribute)},"
    yield "};"
    yield ""


def nested_in_requests(spec: Spec) -> list[str]:
    found: dict[str, None] = {}
    for op in spec.operations:
        for attribute in spec.sets[op.attribute_set]:
            if attribute.nested is not None and attribute.name in (op.request or ()):
                found[attribute.nested] = None
    return list(found)


def policies(spec: Spec) -> Iterator[str]:
    yield "/* SPDX-License-Identifier: GPL-2.0-only */"
    yield "/* Made by kmod/uapi/generate.py from gpushare.yaml: change that, not this. */"
    yield "/*"
    yield " * One table for each nest that requests carry and for each operation with"
    yield " * attributes; an operation without a table takes none. maxattr is"
    yield " * ARRAY_SIZE(table) - 1."
    yield " */"
    yield "/* clang-format off */"
    yield "#ifndef GPUSHARE_NETLINK_POLICY_H"
    yield "#define GPUSHARE_NETLINK_POLICY_H"
    yield ""
    yield "#include <net/netlink.h>"
    yield ""
    yield '#include "../uapi/gpushare.h"'
    yield ""
    for name in nested_in_requests(spec):
        yield from policy_table(
            spec,
            table=snake(spec.name, name, "nl_policy"),
            set_name=name,
            attributes=spec.requestable(name),
        )
    for op in spec.operations:
        if not op.request:
            continue
        chosen = tuple(a for a in spec.sets[op.attribute_set] if a.name in op.request)
        yield f"/* {macro(spec.name, 'cmd', op.name)} */"
        yield from policy_table(
            spec,
            table=snake(spec.name, op.name, "nl_policy"),
            set_name=op.attribute_set,
            attributes=chosen,
        )
    yield "#endif /* GPUSHARE_NETLINK_POLICY_H */"


# --- Python constants -----------------------------------------------------

PYTHON_HEAD = '''\
# SPDX-License-Identifier: GPL-2.0-only
"""Constants and attribute layouts of the generic netlink family gpushare.

Made by kmod/uapi/generate.py from gpushare.yaml: change that, not this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final


@dataclass(frozen=True)
class Attribute:
    """One attribute of a set; kind is its type in the specification."""

    name: str
    number: int
    kind: str
    nested: str | None = None
    multi: bool = False
'''


def python_enum(name: str, entries: list[tuple[str, int]]) -> Iterator[str]:
    yield ""
    yield ""
    yield f"class {name}(IntEnum):"
    for entry, value in entries:
        yield f"    {macro(entry)} = {value}"


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


def python_attribute(attribute: Attribute) -> str:
    text = f'Attribute("{attribute.name}", {attribute.number}, "{attribute.kind}"'
    if attribute.nested is not None:
        text += f', nested="{attribute.nested}"'
    if attribute.multi:
        text += ", multi=True"
    return text + ")"


def python_map(name: str, value_type: str, items: list[tuple[str, str]]) -> Iterator[str]:
    yield ""
    yield f"{name}: Final[Mapping[{value_type}]] = {{"
    for key, value in items:
        yield f"    {key}: {value},"
    yield "}"


def python(spec: Spec) -> Iterator[str]:
    yield from PYTHON_HEAD.splitlines()
    yield ""
    yield ""
    yield f'FAMILY_NAME: Final = "{spec.name}"'
    yield "FAMILY_VERSION: Final = 1"
    for group in spec.groups:
        yield f'{macro("mcgrp", group)}: Final = "{group}"'
    yield ""
    for const in spec.consts:
        value = f"{const.value:#o}" if "mode" in const.name else str(const.value)
        yield f"{macro(const.name)}: Final = {value}"
    yield from python_enum("Command", [(op.name, op.number) for op in spec.operations])
    for enum in spec.enums:
        yield from python_enum(camel(enum.name), [(e.name, i) for i, e in enumerate(enum.entries)])
    yield ""
    yield from python_map(
        "COMMAND_SETS",
        "Command, str",
        [(f"Command.{macro(op.name)}", f'"{op.attribute_set}"') for op in spec.operations],
    )
    yield ""
    yield "ATTRIBUTE_SETS: Final[Mapping[str, tuple[Attribute, ...]]] = {"
    for name, attributes in spec.sets.items():
        yield f'    "{name}": ('
        for attribute in attributes:
            yield f"        {python_attribute(attribute)},"
        yield "    ),"
    yield "}"


def outputs(spec: Spec) -> dict[Path, str]:
    return {
        path: "\n".join(lines) + "\n"
        for path, lines in (
            (HEADER, header(spec)),
            (POLICY, policies(spec)),
            (PYTHON, python(spec)),
        )
    }


def stale(spec: Spec) -> list[Path]:
    """Generated files that are missing or differ from the specification."""
    return [
        path
        for path, text in outputs(spec).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main(argv: list[str]) -> int:
    spec = read_spec(SPEC)
    if argv == ["--check"]:
        for path in stale(spec):
            print(f"{path.relative_to(ROOT)} is not current: run kmod/uapi/generate.py")
        return 1 if stale(spec) else 0
    if argv:
        print("usage: generate.py [--check]", file=sys.stderr)
        return 2
    for path, text in outputs(spec).items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
