# SPDX-License-Identifier: GPL-2.0-only
"""Which card is meant. Pure: cards in, a card or a refusal out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpushare.errors import InvalidInput, NoRoom, NotFound
from gpushare.sizes import format_size
from gpushared.kernel_types import KernelCard
from gpushared.nvml_types import NvmlAnswer, NvmlCard

_UUID_PREFIX_MIN = 8  # "GPU-" and four digits


@dataclass(frozen=True)
class Card:
    """A card as the module knows it, with its index and what NVML adds."""

    index: int
    kernel: KernelCard
    nvml: NvmlCard | None = None


def indexed(cards: Sequence[KernelCard], nvml: NvmlAnswer) -> tuple[Card, ...]:
    """Cards by index: NVML's where it knows them all, else the order of PCI addresses."""
    known = {card.uuid: card for card in nvml.cards}
    if all(card.uuid in known for card in cards):
        found = (Card(known[card.uuid].index, card, known[card.uuid]) for card in cards)
        return tuple(sorted(found, key=lambda card: card.index))
    by_pci = sorted(cards, key=lambda card: card.pci)
    return tuple(Card(index, card, known.get(card.uuid)) for index, card in enumerate(by_pci))


def choose(cards: Sequence[Card], *, selector: str | None, quota_bytes: int) -> Card:
    """The card that the selector names; without one, the card with most memory to grant."""
    if selector is not None:
        return resolve(cards, selector)
    if not cards:
        raise NotFound("there is no card", hint="see: gpushare info")
    best = max(cards, key=lambda card: (card.kernel.ungranted_bytes, -card.index))
    if best.kernel.ungranted_bytes < quota_bytes:
        raise no_room(cards, quota_bytes=quota_bytes)
    return best


def resolve(cards: Sequence[Card], selector: str) -> Card:
    """By UUID or a prefix of it, index, PCI address, or node (nvidia0, /dev/nvidia0)."""
    found = [card for card in cards if _matches(card, selector)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInput(
            f"gpu: {selector!r} fits {len(found)} cards",
            hint=f"write more of the UUID: {_listed(found)}",
            field="gpu",
        )
    raise NotFound(
        f"gpu: there is no card {selector!r}",
        hint=f"known are {_listed(cards)}" if cards else "there is no card at all: gpushare info",
        field="gpu",
    )


def no_room(cards: Sequence[Card], *, quota_bytes: int, told: str = "") -> NoRoom:
    """The refusal of a quota, with what each of the cards can still grant."""
    room = ", ".join(
        f"card {card.index} can grant {format_size(card.kernel.ungranted_bytes)}"
        f" of {format_size(card.kernel.grantable_bytes)}"
        for card in cards
    )
    what = f"{format_size(quota_bytes)} were asked, {room}"
    return NoRoom(
        f"{what} ({told})" if told else what,
        hint="ask for less, choose another card, or shrink or delete a tenant (gpushare list)",
        field="memory",
    )


def _matches(card: Card, selector: str) -> bool:
    kernel = card.kernel
    node = re.fullmatch(r"(?:/dev/)?nvidia([0-9]{1,4})", selector)
    if node is not None:
        return int(node[1]) == kernel.minor
    if re.fullmatch(r"[0-9]{1,4}", selector):
        return int(selector) == card.index
    if len(selector) >= _UUID_PREFIX_MIN and kernel.uuid.lower().startswith(selector.lower()):
        return True
    return selector.lower() == kernel.pci.lower()


def _listed(cards: Sequence[Card]) -> str:
    return ", ".join(f"{card.index} ({card.kernel.uuid})" for card in cards)
