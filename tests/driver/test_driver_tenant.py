# SPDX-License-Identifier: GPL-2.0-only
"""Attacks from inside a tenant on NVIDIA's own modules: the races that need no card.

They are those of tests/guest/client/races.c, which run on nvsim with everything else. Without
nvsim nobody tells how much the driver gave out: here the books must add up, the driver's files
must never appear, and nobody may hang. GPUSHARE_LONG=1 runs all rounds, on both branches.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import pytest

from tests.driver.parity.guests import BRANCHES, LONG, run
from tests.guest.test_races import RACES

CARDLESS: Final = (
    "size-flip-alloc",
    "root-flip",
    "fd-hunt",
    "table-share",
    "ring",
    "userfault",
    "close-race",
    "foreign",
)
RACE: Final = {race.name: race for race in RACES}


@cache
def outcomes(driver: str) -> dict[str, tuple[int, str]]:
    """Status and last line by race. Two processors: an attacker and his victim."""
    how = "full" if LONG else "ci"
    printed = run(
        ["--driver", driver, "--bare", "--cpus", "2"],
        ["python3", "-m", "tests.guest.test_races", how, *CARDLESS],
        seconds=7200 if LONG else 900,
    )
    found = re.findall(r"^result (\S+) (-?\d+) [\d.]+ (.*)$", printed, re.MULTILINE)
    return {name: (int(status), line) for name, status, line in found}


@pytest.mark.driver
@pytest.mark.parametrize("driver", BRANCHES)
@pytest.mark.parametrize("name", CARDLESS)
def test_race_is_lost_by_the_attacker(driver: str, name: str) -> None:
    status, line = outcomes(driver)[name]
    assert status == 0, line
    shown = re.fullmatch(rf"{name}: rounds=(\d+) hits=(\d+) truth_max=0 charged_end=(\d+) ok", line)
    assert shown, line
    rounds, hits, charged_end = map(int, shown.groups())
    assert rounds >= (RACE[name].full if LONG else RACE[name].rounds)
    assert hits > 0 or name == "root-flip", "the attacker never got to act"
    assert charged_end == 0
