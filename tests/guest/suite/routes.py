# SPDX-License-Identifier: GPL-2.0-only
"""The ways to card memory, by name, each as a call that takes a card and a size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.guest.rm.card import Card
from tests.guest.rm.client import Form, Heap

Route = Callable[[Card, int], int]

ROUTES: Final[dict[str, Route]] = {
    "alloc": lambda card, size: card.memory(size),
    "alloc-long": lambda card, size: card.memory(size, form=Form.LONG),
    "alloc-xfer": lambda card, size: card.memory(size, xfer=True),
    "alloc-long-xfer": lambda card, size: card.memory(size, form=Form.LONG, xfer=True),
    "alloc-below-subdevice": lambda card, size: card.memory(size, parent=card.subdevice),
    "alloc-chosen-handle": lambda card, size: card.memory(size, handle=0x12340001),
    "heap": lambda card, size: card.heap(size),
    "heap-xfer": lambda card, size: card.heap(size, xfer=True),
    "heap-range": lambda card, size: card.heap(size, function=Heap.RANGE),
    "heap-tiled": lambda card, size: card.heap(size, function=Heap.TILED),
}
