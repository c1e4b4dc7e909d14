# SPDX-License-Identifier: GPL-2.0-only
"""tinygrad's NV backend: a program that makes the driver's calls by itself, without libcuda.

Runs in a guest as `DEV=NV python3 -m tests.guest.tinygrad_client`. Prints a line a step.
No kernel is launched: that needs an assembler.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Final, Protocol, cast

MIB: Final = 1 << 20
BLOCK: Final = 256 * MIB
SIZES: Final = (4, 4096, MIB + 12, 32 * MIB)
MOST: Final = 512


def _say(word: str, **values: object) -> None:
    print(word, *(f"{key}={value}" for key, value in values.items()), flush=True)


def _pattern(size: int) -> bytes:
    return ((b"%7d|" % size) * (size // 8 + 1))[:size]


class Block(Protocol):
    """Memory on the card, as far as it is used here."""

    def as_memoryview(self) -> memoryview: ...
    def deallocate(self) -> None: ...


class Card:
    """The one device, opened at the first use."""

    def __init__(self) -> None:
        device = importlib.import_module("tinygrad.device")
        self._buffer: Any = device.Buffer
        self._spec: Any = device.BufferSpec(nolru=True)
        self._byte: Any = importlib.import_module("tinygrad.dtype").dtypes.uint8
        self._device: Any = device.Device["NV"]
        _say("opened", interface=type(self._device.iface).__name__, arch=self._device.arch)

    def block(self, size: int, data: bytes | None = None) -> Block:
        """Memory; with data, holding them."""
        given = {"preallocate": True} if data is None else {"initial_value": data}
        return cast(Block, self._buffer("NV", size, self._byte, options=self._spec, **given))

    def copy(self, size: int) -> None:
        """There and back."""
        data = _pattern(size)
        block = self.block(size, data)
        back = bytes(block.as_memoryview())
        block.deallocate()
        _say("copied", size=size, right=data == back)

    def fill(self) -> list[Block]:
        """Blocks until one is refused."""
        held: list[Block] = []
        try:
            while len(held) < MOST:
                held.append(self.block(BLOCK))
        except MemoryError as error:
            _say("refused", n=len(held) + 1, block=BLOCK, error=repr(str(error)))
        return held

    def end(self) -> None:
        self._device.synchronize()


def main() -> int:
    card = Card()
    for size in SIZES:
        card.copy(size)
    held = card.fill()
    # what is given back can be had again
    held.pop().deallocate()
    again = card.block(BLOCK)
    _say("again", n=len(held) + 1)
    for block in (*held, again):
        block.deallocate()
    card.copy(SIZES[-1])
    card.end()
    _say("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
