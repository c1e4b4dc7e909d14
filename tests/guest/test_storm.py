# SPDX-License-Identifier: GPL-2.0-only
"""Everything at once, with random kills and a driver that fails: nothing may be left.

Half a minute on the usual kernel; GPUSHARE_LONG=1 takes ten minutes on the one that checks itself.
"""

from __future__ import annotations

import re

import pytest

from tests.guest import checked

SECONDS = 600 if checked.LONG else 30

pytestmark = pytest.mark.guest


@pytest.mark.case("KS-06")
def test_storm_of_32_tasks_leaves_nothing() -> None:
    command = ["storm", checked.CARD, str(SECONDS), "32", "2"]
    if checked.LONG:
        ran = checked.run_debug("--bare", command=command, seconds=SECONDS + 900)
    else:
        ran = checked.run("--bare", command=command, seconds=SECONDS + 200)
    expect_calm(ran)


@checked.only_long
def test_storm_while_allocations_fail_leaves_nothing() -> None:
    """Also where nobody waits for the answer: forwarding threads, work items, what is undone."""
    script = f"python3 tests/guest/inside/failslab.py 3 && storm {checked.CARD} {SECONDS} 32 2 7"
    ran = checked.run_debug("--bare", command=["sh", "-c", script], seconds=SECONDS + 900)
    expect_calm(ran)


def expect_calm(ran: checked.Ran) -> None:
    assert ran.status == 0, ran.told
    shown = re.search(r"calls=(\d+) refused=(\d+) made=(\d+) kills=(\d+) ok$", ran.out, re.M)
    assert shown, ran.told
    calls, refused, made, kills = map(int, shown.groups())
    assert calls - refused > 20 * SECONDS, "hardly anything was done"
    assert made > SECONDS // 10
    assert kills > SECONDS // 2
