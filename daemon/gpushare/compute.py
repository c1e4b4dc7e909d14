# SPDX-License-Identifier: GPL-2.0-only
"""The compute of a share: percent as people write it, and what a policy makes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gpushare.errors import InvalidInput

PERMILLE_MAX: Final = 1000
WEIGHT_MAX: Final = 10000
WEIGHT_DEFAULT: Final = 100
PRIORITY_MAX: Final = 7
PRIORITY_DEFAULT: Final = 0
_PERCENT: Final = re.compile(r"([0-9]{1,3})(?:\.([0-9]))?%")


class Policy(StrEnum):
    """Presets: fixed is min = max, burst is min and up to 100 %, best-effort has no min."""

    FIXED = "fixed"
    BURST = "burst"
    BEST_EFFORT = "best-effort"


@dataclass(frozen=True)
class Entitlement:
    """min and max of a share's time on its card, and the policy they come from."""

    policy: Policy
    min_permille: int
    max_permille: int


def parse_percent(text: object, *, field: str = "compute") -> int:
    """Permille of a percentage in steps of 0.1; zero is refused, for it is not "unset"."""
    match = _PERCENT.fullmatch(text) if isinstance(text, str) else None
    permille = int(match[1]) * 10 + int(match[2] or 0) if match else 0
    if not 0 < permille <= PERMILLE_MAX:
        raise InvalidInput(
            f"{field}: {text!r} is not a part of a card",
            hint="write a percentage from 0.1% to 100% in steps of 0.1, for example 30%",
            field=field,
        )
    return permille


def format_percent(permille: int) -> str:
    """The form that parse_percent reads."""
    whole, tenth = divmod(permille, 10)
    return f"{whole}.{tenth}%" if tenth else f"{whole}%"


def entitlement(*, min_permille: int | None, policy: Policy | None) -> Entitlement:
    """What a new share gets: a percentage alone is fixed, nothing at all is best-effort."""
    if policy is None:
        policy = Policy.BEST_EFFORT if min_permille is None else Policy.FIXED
    if policy is Policy.BEST_EFFORT:
        if min_permille is not None:
            raise InvalidInput(
                f"policy best-effort guarantees nothing, {format_percent(min_permille)} was asked",
                hint="leave compute out, or choose fixed or burst",
                field="policy",
            )
        return Entitlement(policy, 0, PERMILLE_MAX)
    if min_permille is None:
        raise InvalidInput(
            f"policy {policy} needs to know how much",
            hint="add compute, for example 30%",
            field="compute",
        )
    top = min_permille if policy is Policy.FIXED else PERMILLE_MAX
    return Entitlement(policy, min_permille, top)


def changed(now: Entitlement, *, min_permille: int | None, policy: Policy | None) -> Entitlement:
    """What an existing share gets when either is given; the other is kept where it can be."""
    if min_permille is None and policy is None:
        return now
    if policy is None and now.policy is not Policy.BEST_EFFORT:
        policy = now.policy
    if min_permille is None and policy is not Policy.BEST_EFFORT and now.min_permille > 0:
        min_permille = now.min_permille
    return entitlement(min_permille=min_permille, policy=policy)
