# SPDX-License-Identifier: GPL-2.0-only
"""Reads the C headers: numbers, enums, structs. Only the forms that kmod/ uses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
KMOD = ROOT / "kmod"

LAYOUTS = ("nvabi/structs.h", "nvabi/controls.h")

NUMBER = re.compile(r"^#define\s+(\w+)\s+\(?(0x[0-9a-fA-F]+|\d+)u?\)?(?:\s|$)", re.MULTILINE)
ENUM = re.compile(r"enum\s+\w+\s*\{(.*?)\}", re.DOTALL)
STRUCT = re.compile(r"^struct\s+(\w+)\s*\{\s*/\*\s*(\w+)\s*\*/(.*?)^\};", re.DOTALL | re.MULTILINE)
FIELD = re.compile(
    r"^\s*(?:const\s+)?(?:enum\s+|struct\s+)?[\w*]+\s+\*?((?:\w+(?:\[\w+\])?(?:,\s*)?)+);",
    re.MULTILINE,
)
NESTED = re.compile(r"\bstruct\s*\{[^{}]*\}")
NAME = re.compile(r"(\w+)(?:\[\w+\])?")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def text(name: str) -> str:
    """A header by its name under kmod/."""
    return (KMOD / name).read_text(encoding="utf-8")


def numbers(name: str) -> dict[str, int]:
    """Every object-like macro whose value is one number."""
    return {found[1]: int(found[2], 0) for found in NUMBER.finditer(text(name))}


def enums(name: str) -> dict[str, int]:
    """Every enumerator, counted the way the compiler does."""
    values: dict[str, int] = {}
    for block in ENUM.finditer(COMMENT.sub("", text(name))):
        following = 0
        for entry in filter(None, (part.strip() for part in block[1].split(","))):
            label, _, given = entry.partition("=")
            value = int(given, 0) if given else following
            values[label.strip()] = value
            following = value + 1
    return values


@dataclass(frozen=True)
class Struct:
    """A struct as written, with the name that NVIDIA gives it."""

    name: str
    vendor: str
    fields: tuple[str, ...]


def structs(name: str) -> list[Struct]:
    """Every struct that names its model in a comment behind the brace."""
    return [
        Struct(found[1], found[2], tuple(field_names(found[3])))
        for found in STRUCT.finditer(text(name))
    ]


def field_names(body: str) -> list[str]:
    """Names of the fields that are not padding."""
    outer = NESTED.sub("__u8", COMMENT.sub("", body))
    lists = [match[1] for match in FIELD.finditer(outer)]
    parts = [part.strip() for names in lists for part in names.split(",")]
    found = [match[1] for match in map(NAME.match, parts) if match]
    return [name for name in found if not re.fullmatch(r"pad\d+", name)]


ROW = re.compile(r'\{ \.string = "([\d.]+)", (NVABI_\w+)')


def rows() -> dict[str, str]:
    """Every driver that versions.h knows, with its row's macro: equal interfaces share one."""
    return dict(ROW.findall(text("nvabi/versions.h")))


def version_fields() -> list[str]:
    """Fields of struct nvabi_version."""
    body = text("nvabi/versions.h")
    start = body.index("struct nvabi_version {")
    inside = body[start : body.index("\n};", start)]
    return [match[1] for match in FIELD.finditer(COMMENT.sub("", inside))]
