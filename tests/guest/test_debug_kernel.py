# SPDX-License-Identifier: GPL-2.0-only
"""On the kernel that checks itself: KUnit, the suite, the attacks, processes and tenants that die.

KASAN, lockdep, sleeping-while-atomic and the others make any run fail by what the kernel says;
kmemleak is asked at the end of each. Counts are small: each call takes many times as long.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.guest import checked

KUNIT = Path(__file__).resolve().parents[2] / "kmod/kunit"
SUITES = sorted(path.name.removesuffix("_test.c") for path in KUNIT.glob("*_test.c"))
RESULTS = "cat /sys/kernel/debug/kunit/gpushare_*/results"
SUITE = "pytest -q --tb=short tests/guest/suite"

pytestmark = [pytest.mark.guest, checked.only_long]


@cache
def kunit() -> checked.Ran:
    options = ("--modules", "kunit", "--cpus", "1")
    return checked.run_debug(*options, command=["sh", "-c", RESULTS], seconds=900)


@pytest.mark.parametrize("suite", SUITES)
def test_kunit_suite_passes(suite: str) -> None:
    """The line of the whole suite, and no other that isn't ok."""
    text = kunit().out
    assert re.search(rf"^ok \d+ (- )?gpushare_{suite}$", text, re.M), kunit().told
    cases = len(re.findall(r"KUNIT_CASE|GSH_CASE", (KUNIT / f"{suite}_test.c").read_text()))
    begin = text.index(f"# Subtest: gpushare_{suite}\n")
    end = text.index(f"gpushare_{suite}\n", begin + 20)
    assert len(re.findall(r"^    ok \d+", text[begin:end], re.M)) == cases


def test_kunit_ends_well() -> None:
    assert kunit().status == 0, kunit().told
    assert "not ok" not in kunit().out
    assert "# SKIP" not in kunit().out


@pytest.mark.parametrize("cpus", [1, 2])
def test_suite_passes(cpus: int) -> None:
    race = "tests/guest/suite/test_race.py"
    chosen = SUITE.replace("tests/guest/suite", race) if cpus > 1 else f"{SUITE} --ignore={race}"
    script = f"GPUSHARE_FUZZ=2000 {chosen}"
    options = ("--bare", "--cards", "2", "--cpus", str(cpus))
    ran = checked.run_debug(*options, command=["sh", "-c", script], seconds=5400)
    assert ran.status == 0, ran.told
    passed = re.search(r"(\d+) passed", ran.out)
    assert passed, ran.told
    assert int(passed[1]) > (100 if cpus == 1 else 0)


def test_attacks_fail_and_leave_no_memory() -> None:
    """The races, 12 killed processes that had one of everything, 5 lives of a tenant."""
    command = ["python3", "-m", "tests.guest.test_races", "ci"]
    ran = checked.run_debug("--bare", command=command, seconds=5400)
    assert ran.status == 0, ran.told
    ends = re.findall(r"^result (\S+) (-?\d+) [\d.]+ (.*)$", ran.out, re.M)
    assert len(ends) > 15, ran.told
    # pin-flip's leak of a size is known: tests/guest/test_races.py
    wrong = [end for end in ends if end[1] != "0" and end[0] != "pin-flip"]
    assert not wrong


def test_genuine_programs_run_in_a_tenant() -> None:
    """gpushared, the command, NVML and libcuda; afterwards nvsim's own promises."""
    steps = (
        "gpushare create web --memory 1GiB",
        "gpushare run web -- nvidia-smi",
        "gpushare run web -- cudaprobe copy",
        "gpushare run web -- cudaprobe managed 64M",
        "gpushare delete web",
        "echo all done",
    )
    ran = checked.run_debug(command=["sh", "-c", " && ".join(steps)], seconds=2400)
    assert ran.status == 0, ran.told
    assert "all done" in ran.out


def test_simulated_driver_keeps_its_promises() -> None:
    options = ("--modules", "nvsim", "--cpus", "1")
    ran = checked.run_debug(*options, command=["nvsim-smoke"], seconds=1800)
    assert ran.status == 0, ran.told
    assert "0 broken" in ran.out
