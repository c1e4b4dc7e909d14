# SPDX-License-Identifier: GPL-2.0-only
"""NVML without the library."""

from __future__ import annotations

from gpushared.kernel_types import KernelCard
from gpushared.nvml_types import NvmlAnswer, NvmlCard


class NoNvml:
    """A machine on which the library is missing."""

    async def look(self) -> NvmlAnswer:
        return NvmlAnswer(reason="NVML Shared Library Not Found")


class FakeNvml:
    """Knows these cards, in this order."""

    def __init__(self, *cards: KernelCard) -> None:
        self._cards = cards

    async def look(self) -> NvmlAnswer:
        return NvmlAnswer(
            cards=tuple(
                NvmlCard(index=index, uuid=card.uuid, name=card.name, utilisation_percent=7)
                for index, card in enumerate(self._cards)
            )
        )
