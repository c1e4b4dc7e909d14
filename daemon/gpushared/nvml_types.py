# SPDX-License-Identifier: GPL-2.0-only
"""What NVML says, in plain values, and the protocol to ask it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class NvmlCard:
    """utilisation_percent is None where NVML cannot tell."""

    index: int
    uuid: str
    name: str
    utilisation_percent: int | None


@dataclass(frozen=True, kw_only=True)
class NvmlAnswer:
    """Cards by NVML's index; reason says why there are none when NVML is not usable."""

    cards: tuple[NvmlCard, ...] = ()
    reason: str | None = None


class Cards(Protocol):
    """Where the server gets NVML's view from."""

    async def look(self) -> NvmlAnswer: ...
