# SPDX-License-Identifier: GPL-2.0-only
"""data/abi.json, typed: layouts by driver version and tables of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict, cast


class LayoutJson(TypedDict):
    size: int
    fields: dict[str, list[int]]


class VersionJson(TypedDict):
    branch: int
    rm_ops: dict[str, object]
    structs: dict[str, int]


class ControlSizeJson(TypedDict):
    size: int


class ControlJson(TypedDict):
    name: str
    by_version: dict[str, ControlSizeJson | None]


class EscapeJson(TypedDict, total=False):
    nr: int
    node: str
    struct: str
    since: str


class UvmJson(TypedDict):
    cmd: int
    struct: str | None


class ClassJson(TypedDict, total=False):
    id: int
    alloc_struct: str
    privilege: str


class FdFieldJson(TypedDict, total=False):
    call: str
    kind: str
    offset: dict[str, int]


class AbiJson(TypedDict):
    versions: dict[str, VersionJson]
    layouts: dict[str, list[LayoutJson]]
    frontend_ioctls: dict[str, EscapeJson]
    uvm_ioctls: dict[str, UvmJson]
    controls: dict[str, ControlJson]
    classes: dict[str, ClassJson]
    fb_info_index: dict[str, int]
    fb_info_rewrite: dict[str, str]
    fd_fields: list[FdFieldJson]


@dataclass(frozen=True)
class Layout:
    """Size and fields of a struct at one version: name -> (offset, size)."""

    size: int
    fields: dict[str, tuple[int, int]]

    def leaves(self) -> dict[str, tuple[int, int]]:
        """Fields that hold values themselves, by their name without dots and case."""
        inner = {name.rpartition(".")[0] for name in self.fields if "." in name}
        return {
            plain(name.removeprefix("params.")): at
            for name, at in self.fields.items()
            if name not in inner
        }


def plain(name: str) -> str:
    """pciInfo.domain and pci_info_domain are one name."""
    return "".join(letter for letter in name if letter.isalnum()).lower()


class Abi:
    """The recorded interface."""

    def __init__(self, content: object) -> None:
        self.json = cast(AbiJson, content)

    def layout(self, struct: str, version: str) -> Layout | None:
        """None: this driver has no such struct."""
        index = self.json["versions"][version]["structs"].get(struct)
        if index is None:
            return None
        found = self.json["layouts"][struct][index]
        return Layout(found["size"], {name: (at[0], at[1]) for name, at in found["fields"].items()})

    def size(self, struct: str, version: str) -> int:
        """0: this driver has no such struct."""
        layout = self.layout(struct, version)
        return layout.size if layout else 0

    def offset(self, struct: str, field: str, version: str) -> int:
        """0: this driver has no such struct or field."""
        layout = self.layout(struct, version)
        return layout.fields[field][0] if layout and field in layout.fields else 0
