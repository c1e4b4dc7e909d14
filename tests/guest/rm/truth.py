# SPDX-License-Identifier: GPL-2.0-only
"""nvsim's ground truth and its faults on demand: debugfs nvsim/ (kmod/nvsim/truth.c, fault.c).

What stands there doesn't come from gpushare's books, nor from any control a client can ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEBUGFS: Final = Path("/sys/kernel/debug/nvsim")
FAULTS: Final = DEBUGFS / "faults"


@dataclass(frozen=True)
class Memory:
    """The heap of one card; bytes."""

    total: int
    reserved: int
    heap: int
    objects: int
    external_kept: int
    overhead: int
    managed: int
    free: int
    opens: int

    @property
    def used(self) -> int:
        return self.objects + self.overhead + self.managed


@dataclass(frozen=True)
class MemoryObject:
    """One memory object on a card, whoever holds it."""

    client: int
    pid: int
    handle: int
    h_class: int
    bytes: int
    asked: int
    handles: int
    external: int


@dataclass(frozen=True)
class SimClient:
    handle: int
    pid: int
    uid: int
    objects: int
    comm: str


@dataclass(frozen=True)
class Counts:
    """What is alive in the driver."""

    opens: int
    clients: int
    objects: int
    memories: int
    pages: int
    mappings: int
    vaspaces: int
    uvm_spaces: int
    doorbells: int


def counts() -> Counts:
    return Counts(**_figures((DEBUGFS / "counts").read_text()))


def memory(card: int = 0) -> Memory:
    return Memory(**_figures((DEBUGFS / f"card{card}/memory").read_text()))


def objects(card: int = 0) -> list[MemoryObject]:
    found = []
    for line in (DEBUGFS / f"card{card}/objects").read_text().splitlines():
        values = {name: int(value, 0) for name, value in re.findall(r"(\w+) (0x\w+|\d+)", line)}
        values["h_class"] = values.pop("class")
        found.append(MemoryObject(**values))
    return found


def clients() -> list[SimClient]:
    found = []
    for line in (DEBUGFS / "clients").read_text().splitlines():
        words = line.split(" ", 9)
        found.append(
            SimClient(int(words[1], 0), int(words[3]), int(words[5]), int(words[7]), words[9])
        )
    return found


def raise_event(client: int, handle: int, index: int) -> None:
    """An event on an object, as the card would send it."""
    (DEBUGFS / "raise").write_text(f"{client:#x} {handle:#x} {index}")


def _figures(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in text.splitlines())}


@contextmanager
def faults(*rules: str) -> Iterator[None]:
    """Rules as kmod/nvsim/fault.c takes them, for the length of a block."""
    for rule in rules:
        FAULTS.write_text(rule)
    try:
        yield
    finally:
        FAULTS.write_text("release")
        FAULTS.write_text("clear")
