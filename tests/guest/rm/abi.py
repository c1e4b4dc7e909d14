# SPDX-License-Identifier: GPL-2.0-only
"""NVIDIA's numbers and layouts, read from kmod/nvabi, and memory to lay them out in.

kmod/nvabi is the one home of these facts; its small subset of C is parsed, not compiled, because
the guest has no compiler and the tests need names, not macros.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

NVABI: Final = Path(__file__).resolve().parents[3] / "kmod" / "nvabi"
DEFAULT_VERSION: Final = "535.261.03"
MIB: Final = 1 << 20
GIB: Final = 1 << 30
PAGE: Final = 4096

_FORMATS: Final = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}
_NUMBER = re.compile(r"^#define\s+(\w+)\s+\(?(0x[0-9a-fA-F]+|\d+)u?\)?(?:\s|$)", re.MULTILINE)
_STRUCT = re.compile(r"^struct (\w+) \{[^\n]*\n(.*?)^\};", re.MULTILINE | re.DOTALL)
_SIZE = re.compile(r"^NVABI_SIZE\((\w+), (\d+)\)", re.MULTILINE)
_FIELD = re.compile(r"^\t__[us](8|16|32|64) (\w+)(?:\[(\d+)\])?;", re.MULTILINE)
_ROW = re.compile(r"^#define (NVABI_\d+_\w+)\s*\\\n((?:.*\\\n)*.*)$", re.MULTILINE)
_EDIT = re.compile(r"\.(\w+)\s*=\s*(\w+)")
_PARENT = re.compile(r"^\s*(NVABI_\d+_\w+),", re.MULTILINE)
_NAMED_ROW = re.compile(r'\{ \.string = "([\d.]+)", (NVABI_\w+)')


@dataclass(frozen=True)
class Field:
    offset: int
    width: int
    count: int  # 1 for a plain field


@dataclass(frozen=True)
class Layout:
    name: str
    size: int
    fields: Mapping[str, Field]


class Numbers:
    """N.NV_ESC_RM_ALLOC and the like, from numbers.h and controls.h."""

    def __init__(self) -> None:
        headers = (NVABI / name for name in ("numbers.h", "controls.h"))
        text = "".join(path.read_text(encoding="utf-8") for path in headers)
        self._values = {name: int(value, 0) for name, value in _NUMBER.findall(text)}

    def __getattr__(self, name: str) -> int:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"kmod/nvabi has no {name}") from None


N: Final = Numbers()


@cache
def layouts() -> Mapping[str, Layout]:
    headers = (NVABI / name for name in ("structs.h", "controls.h"))
    text = "".join(path.read_text(encoding="utf-8") for path in headers)
    sizes = {name: int(size) for name, size in _SIZE.findall(text)}
    found = (_layout(name, body) for name, body in _STRUCT.findall(text))
    # arrays of structs are not read: what has one is left out
    return {one.name: one for one in found if one.size == sizes[one.name]}


def _layout(name: str, body: str) -> Layout:
    fields: dict[str, Field] = {}
    offset = 0
    for bits, field, count in _FIELD.findall(body):
        width, many = int(bits) // 8, int(count or 1)
        fields[field] = Field(offset, width, many)
        offset += width * many
    return Layout(name, offset, fields)


@cache
def version(string: str) -> Mapping[str, int]:
    """One row of versions.h: sizes and offsets that differ between drivers."""
    text = (NVABI / "versions.h").read_text(encoding="utf-8")
    rows = dict(_ROW.findall(text))
    names = dict(_NAMED_ROW.findall(text))
    return _row(rows, names[string])


def supported_versions() -> list[str]:
    """Every driver that versions.h has a row for."""
    text = (NVABI / "versions.h").read_text(encoding="utf-8")
    return [string for string, _ in _NAMED_ROW.findall(text)]


def interfaces() -> list[str]:
    """One driver of each interface: the one that the row's macro is named by."""
    text = (NVABI / "versions.h").read_text(encoding="utf-8")
    named = ((string, f"NVABI_{string.replace('.', '_')}") for string in supported_versions())
    rows = dict(_NAMED_ROW.findall(text))
    return [string for string, macro in named if rows[string] == macro]


def _row(rows: Mapping[str, str], name: str) -> dict[str, int]:
    body = rows[name]
    parent = _PARENT.search(body)
    values = _row(rows, parent[1]) if parent else {}
    for key, value in _EDIT.findall(body):
        if value.isdigit():
            values[key] = int(value)
        elif value in {"true", "false"}:
            values[key] = int(value == "true")
    return values


@cache
def running() -> Mapping[str, int]:
    """The row of the driver that runs here."""
    return version(running_version())


def running_version() -> str:
    """What the loaded driver, simulated or genuine, calls itself."""
    for told in ("nvsim/parameters/version", "nvidia/version"):
        path = Path("/sys/module") / told
        if path.exists():
            return path.read_text().strip()
    return DEFAULT_VERSION


class Block:
    """Memory at a fixed address, with fields by offset, or by name when it has a layout."""

    def __init__(self, size: int, layout: Layout | None = None) -> None:
        self._memory = ctypes.create_string_buffer(size)
        self.size = size
        self.layout = layout
        self.address = ctypes.addressof(self._memory)

    @property
    def raw(self) -> bytes:
        return self._memory.raw

    def put(self, offset: int, data: bytes) -> None:
        if offset + len(data) > self.size:
            raise ValueError(f"{len(data)} bytes at {offset} pass the end of {self.size}")
        ctypes.memmove(self.address + offset, data, len(data))

    def u32(self, offset: int) -> int:
        return int(struct.unpack_from("<I", self._memory, offset)[0])

    def u64(self, offset: int) -> int:
        return int(struct.unpack_from("<Q", self._memory, offset)[0])

    def set_u32(self, offset: int, value: int) -> None:
        struct.pack_into("<I", self._memory, offset, value & 0xFFFFFFFF)

    def set_u64(self, offset: int, value: int) -> None:
        struct.pack_into("<Q", self._memory, offset, value & (1 << 64) - 1)

    def _field(self, name: str) -> Field:
        if self.layout is None:
            raise TypeError("this block has no layout")
        return self.layout.fields[name]

    def __getitem__(self, name: str) -> int:
        field = self._field(name)
        return int(struct.unpack_from(_FORMATS[field.width], self._memory, field.offset)[0])

    def __setitem__(self, name: str, value: int) -> None:
        field = self._field(name)
        mask = (1 << 8 * field.width) - 1
        struct.pack_into(_FORMATS[field.width], self._memory, field.offset, value & mask)

    def put_field(self, name: str, data: bytes) -> None:
        """An array of bytes, such as a UUID."""
        field = self._field(name)
        if len(data) > field.width * field.count:
            raise ValueError(f"{name} holds {field.width * field.count} bytes")
        self.put(field.offset, data)

    def get_field(self, name: str) -> bytes:
        field = self._field(name)
        return self.raw[field.offset : field.offset + field.width * field.count]


def make(name: str, **values: int) -> Block:
    """A zeroed struct of nvabi with some fields set."""
    layout = layouts()[name]
    block = Block(layout.size, layout)
    for field, value in values.items():
        block[field] = value
    return block
