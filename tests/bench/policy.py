# SPDX-License-Identifier: GPL-2.0-only
"""The compute policy in simulated time: errors under swept costs; and what deciding costs.

Shares are of occupied time: what all tenants ran, with the switches that they caused. What calls
take is nobody's and is told beside it. This is the policy alone: nothing enforces it yet.
"""

from __future__ import annotations

import itertools
import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.bench.records import Record
from tests.policy.native import FAST, MS, SECOND, US, Costs, Outcome, Policy, Tenant, build

PROMISED_US: Final = (300, 200)
BIN: Final = MS
CALLS_US: Final = (50, 300, 1000)
SWITCHES_US: Final = (50, 200, 700)
WINDOWS_A_RUN: Final = 20  # two calls and a switch are a twentieth of a window at most
MIXES: Final[dict[str, list[int]]] = {
    "30/70": [300, 700],
    "10/90": [100, 900],
    "20/80": [200, 800],
    "25x4": [250] * 4,
    "5x20": [50] * 20,
    "64 mixed": [8] * 32 + [16] * 24 + [45] * 8,
}
DECIDERS: Final = (10, 64, 1000)
DECIDE_TARGET_NS: Final = 2000


def costs(call_us: int, switch_us: int) -> Costs:
    """A window that keeps what is lost at five hundredths."""
    window = max(10 * MS, WINDOWS_A_RUN * (2 * call_us + switch_us) * US)
    return Costs(call_ns=call_us * US, switch_ns=switch_us * US, window_ns=window)


def error_points(ran: list[int], bought: list[int]) -> float:
    """The largest difference between a share bought and had, in points."""
    occupied = sum(ran)
    whole = sum(bought)
    return max(
        abs(100 * one / occupied - 100 * paid / whole)
        for one, paid in zip(ran, bought, strict=True)
    )


def window_error(outcome: Outcome, bought: list[int]) -> float:
    """The worst of all windows of max(100 ms, 4 rounds), after the first."""
    round_ns = outcome.end_ns / min(one.windows for one in outcome.tenants)
    length = max(100 * MS, round(4 * round_ns)) // BIN
    sums = [list(itertools.accumulate(one.bins, initial=0)) for one in outcome.tenants]
    count = outcome.end_ns // BIN
    return max(
        error_points([one[at + length] - one[at] for one in sums], bought)
        for at in range(length, count - length, max(1, length // 64))
    )


def sweep(policy: Policy, quick: bool) -> Iterator[Record]:
    """Every mix with every pair of costs."""
    pairs = [PROMISED_US] if quick else list(itertools.product(CALLS_US, SWITCHES_US))
    for (name, bought), (call_us, switch_us) in itertools.product(MIXES.items(), pairs):
        tenants = [Tenant(min_permille=one, max_permille=one) for one in bought]
        set_to = costs(call_us, switch_us)
        rotation = len(bought) * (set_to.window_ns + (2 * call_us + switch_us) * US)
        end = max(10 * SECOND, 16 * rotation)
        outcome = policy.run(tenants, costs=set_to, end_ns=end, bin_ns=BIN)
        params: dict[str, str | int | float] = {
            "call_us": call_us,
            "switch_us": switch_us,
            "window_ms": set_to.window_ns // MS,
            "lost_percent": round(100 * outcome.lost_ns / outcome.end_ns, 2),
            "switches": outcome.switches,
        }
        held = (call_us, switch_us) == PROMISED_US  # others: the curve
        at = f"policy/{name}/call {call_us}/switch {switch_us}"
        ran = [one.ran_ns for one in outcome.tenants]
        whole = error_points(ran, bought)
        yield Record(
            name=at,
            metric=f"error over {end // SECOND} s",
            value=whole,
            unit="points",
            target=1 if held else None,
            params=params,
        )
        yield Record(
            name=at,
            metric="error in windows",
            value=window_error(outcome, bought),
            unit="points",
            target=2 if held else None,
            params=params,
        )


def deciding(policy: Policy, quick: bool) -> Iterator[Record]:
    windows = 20_000 if quick else 200_000
    for shares in DECIDERS:
        spent = [policy.lib.decide_cost_ns(shares, windows) / windows for _ in range(5)]
        yield Record(
            name=f"policy/decide/{shares} shares",
            metric="thread time a window, median",
            value=statistics.median(spent),
            unit="ns",
            target=DECIDE_TARGET_NS,
            params={"windows": windows, "fastest": min(spent), "slowest": max(spent)},
        )


def run(*, build_dir: Path, quick: bool) -> list[Record]:
    """The sweep (one pair of costs if quick), and the cost of a decision."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("gcc is not installed")
    build_dir.mkdir(parents=True, exist_ok=True)
    policy = Policy(build(build_dir, compiler, FAST))
    return [*sweep(policy, quick), *deciding(policy, quick)]
