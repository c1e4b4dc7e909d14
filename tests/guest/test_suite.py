# SPDX-License-Identifier: GPL-2.0-only
"""Raw calls against nvsim and gpushare.ko: the tests of suite/, run inside one guest.

Each test in there becomes one here. The guest has one processor: a call is handed to a forwarding
thread and back, and with two simulated processors each handover waits for the host's scheduler.
What is about two at once runs in a second guest. GPUSHARE_LONG=1 runs the full counts.

The same calls are asked of drivers of other versions, whose layouts differ: a choice of files, with
GPUSHARE_LONG=1 nearly all.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.cases.bindings import names_in

GUEST = Path(__file__).resolve().parent
SUITE = "tests/guest/suite"
BEGIN = "<<<<<< results"
LONG = os.environ.get("GPUSHARE_LONG") == "1"
SECONDS = 5 * 3600 if LONG else 1200
PARALLEL = "test_race.py"  # what is about two processors at once
RELOAD = "test_reload.py"  # loads nvsim as the usual version
OTHER_VERSIONS = ("550.163.01", "570.211.01")
OTHER_FILES = ("test_memory.py", "test_parity.py", "test_views.py")

pytestmark = pytest.mark.guest


@dataclass(frozen=True)
class Result:
    """One test inside; failure is empty when it passed, skipped says why it didn't run."""

    failure: str = ""
    skipped: str = ""


@dataclass(frozen=True)
class Run:
    status: int
    results: dict[str, list[tuple[str, Result]]]  # "test_x.py::test_y": what each variant did
    output: str


def _results(text: str) -> dict[str, list[tuple[str, Result]]]:
    found: dict[str, list[tuple[str, Result]]] = {}
    for case in ElementTree.fromstring(text.strip()).iter("testcase"):
        module = case.get("classname", "").rpartition(".")[2]
        name, _, variant = case.get("name", "").partition("[")
        failure = "\n".join(
            (one.get("message") or "") + "\n" + (one.text or "")
            for kind in ("failure", "error")
            for one in case.iter(kind)
        )
        skipped = "".join(one.get("message") or "" for one in case.iter("skipped"))
        key = f"{module}.py::{name}"
        found.setdefault(key, []).append((variant.rstrip("]"), Result(failure, skipped)))
    return found


def _files(cpus: int, version: str) -> str:
    """What a guest runs, for pytest's command line."""
    if cpus > 1:
        return f"{SUITE}/{PARALLEL}"
    if not version:
        return f"{SUITE} --ignore={SUITE}/{PARALLEL}"
    if LONG:
        return f"{SUITE} --ignore={SUITE}/{PARALLEL} --ignore={SUITE}/{RELOAD}"
    return " ".join(f"{SUITE}/{name}" for name in OTHER_FILES)


def names() -> list[str]:
    """The tests that are to have run on a driver of another version."""
    every = names_in(GUEST / "suite")
    if LONG:
        return [name for name in every if not name.startswith((PARALLEL, RELOAD))]
    return [name for name in every if name.startswith(OTHER_FILES)]


@cache
def suite(cpus: int, version: str = "") -> Run:
    """The tests of one guest, which boots at the first question."""
    chosen = _files(cpus, version)
    passed = [
        shlex.quote(f"{name}={value}")
        for name, value in os.environ.items()
        if name in {"GPUSHARE_LONG", "GPUSHARE_FUZZ", "GPUSHARE_SEED"}
    ]
    script = (
        f"env {' '.join(passed)} pytest -q --tb=short --junit-xml=/tmp/results.xml {chosen}; rc=$?;"
        f" echo '{BEGIN}'; cat /tmp/results.xml; exit $rc"
    )
    options = ["--bare", "--cards", "2", "--cpus", str(cpus), "--timeout", str(SECONDS)]
    if version:
        options += ["--option", f"nvsim.version={version}"]
    argv = [str(GUEST / "run"), *options, "--", "sh", "-c", script]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    output, _, results = done.stdout.partition(BEGIN)
    told = output[-6000:] + done.stderr[-6000:]
    try:
        return Run(done.returncode, _results(results), told)
    except ElementTree.ParseError:
        return Run(done.returncode or 1, {}, f"no results from the guest:\n{told}")


def _judge(run: Run, name: str) -> None:
    variants = run.results.get(name)
    if variants is None:
        pytest.fail(f"{name} has not run in the guest:\n{run.output}", pytrace=False)
    failures = [f"[{variant}] {result.failure}" for variant, result in variants if result.failure]
    if failures:
        pytest.fail("\n\n".join(failures), pytrace=False)
    skipped = {result.skipped for _, result in variants if result.skipped}
    if skipped:
        pytest.skip(", ".join(skipped))


@pytest.mark.parametrize("name", names_in(GUEST / "suite"))
def test_inside(name: str) -> None:
    _judge(suite(2 if name.startswith(PARALLEL) else 1), name)


@pytest.mark.parametrize("version", OTHER_VERSIONS)
@pytest.mark.parametrize("name", names())
def test_on_other_drivers(version: str, name: str) -> None:
    _judge(suite(1, version), name)


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_guest_of_another_driver_ends_well(version: str) -> None:
    run = suite(1, version)
    assert run.status == 0, run.output


@pytest.mark.parametrize("cpus", [1, 2])
def test_guest_ends_well(cpus: int) -> None:
    """Its kernel has nothing to complain about, and no test failed that isn't listed above."""
    run = suite(cpus)
    assert run.status == 0, run.output
