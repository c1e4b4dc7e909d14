# SPDX-License-Identifier: GPL-2.0-only
"""Attacks from inside a tenant, in one guest: nothing uncharged, no neighbour touched.

`GPUSHARE_LONG=1` runs the full 10,000 rounds each, 1,000 of managed memory and 200 cycles;
otherwise a twentieth or so. Run in the guest as a program, this file makes the tenants and
starts the attackers.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

GUEST = Path(__file__).resolve().parent
LONG = os.environ.get("GPUSHARE_LONG") == "1"
QUOTA_BYTES = 512 << 20
GUEST_SECONDS = 7200 if LONG else 600

pytestmark = pytest.mark.guest


@dataclass(frozen=True)
class Race:
    name: str
    rounds: int  # in CI
    full: int = 10_000
    neighbour: bool = False

    def argv(self, *, full: bool) -> list[str]:
        rounds = str(self.full if full else self.rounds)
        other = ["/dev/gpushare/neighbour"] if self.neighbour else []
        return ["races", self.name, "/dev/gpushare/attacker", rounds, *other]


RACES = (
    Race("size-flip-alloc", 500),
    Race("size-flip-heap", 500),
    Race("pin-flip", 200),
    Race("root-flip", 90),
    Race("pending-dup", 500),
    Race("pending-export", 500),
    Race("pending-map", 500),
    Race("dup-free", 500),
    Race("external-flip", 300),
    Race("external-reuse", 200),
    Race("pool-race", 500),
    Race("managed", 150, full=1_000),
    Race("fd-hunt", 60),
    Race("table-share", 60),
    Race("ring", 12, full=500),
    Race("userfault", 22, full=1_100, neighbour=True),
    Race("close-race", 64, full=2_000),
    Race("foreign", 20, full=1_000, neighbour=True),
)
# Pinning user pages (call 0x27, class 0x71) is the one call that names a class and has to run
# on the caller's own structure: a thread that changes the class in time reads the size of the
# card's heap. Everything else that pin-flip tries must fail, and a run without the leak passes.
KNOWN_LEAK = "the card's size came through"
LEAK_CYCLES = (12, 200)  # processes killed; in CI, in full
TENANT_CYCLES = (5, 200)  # tenants made, used, killed and deleted


# ---- on the host: one guest, a test a race


@dataclass(frozen=True)
class Outcome:
    status: int
    seconds: float
    line: str


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    argv = [str(GUEST / "run"), "--bare", "--timeout", str(GUEST_SECONDS), "--"]
    inside = ["python3", "-m", "tests.guest.test_races", "full" if LONG else "ci"]
    done = subprocess.run(
        [*argv, *inside], capture_output=True, text=True, timeout=GUEST_SECONDS + 300, check=False
    )
    found = {
        name: Outcome(int(status), float(seconds), line)
        for name, status, seconds, line in re.findall(
            r"^result (\S+) (-?\d+) ([\d.]+) (.*)$", done.stdout, re.MULTILINE
        )
    }
    # a guest whose kernel complained has failed, whatever the attackers say
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return found


@pytest.mark.case("KS-03")
@pytest.mark.parametrize("race", RACES, ids=lambda race: race.name)
def test_race_is_lost_by_the_attacker(race: Race, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[race.name]
    if race.name == "pin-flip" and KNOWN_LEAK in outcome.line:
        pytest.xfail(f"known, no memory is gained by it: {outcome.line}")
    assert outcome.status == 0, outcome.line
    shown = re.fullmatch(
        rf"{race.name}: rounds=(\d+) hits=(\d+) truth_max=(\d+) charged_end=(\d+) ok", outcome.line
    )
    assert shown, outcome.line
    rounds, hits, _, charged_end = map(int, shown.groups())
    assert rounds >= (race.full if LONG else race.rounds)
    assert hits > 0 or race.name == "root-flip", "the attacker never got to act"
    assert charged_end == 0


def test_killed_processes_leave_nothing_in_the_driver(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["leakcycle"]
    assert outcome.status == 0, outcome.line
    assert outcome.line == f"leakcycle: cycles={LEAK_CYCLES[LONG]} ok"


def test_tenants_made_used_killed_and_deleted_leave_nothing(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["tenants"]
    assert outcome.status == 0, outcome.line


# ---- in the guest


def report(name: str, status: int, since: float, line: str) -> None:
    print(f"result {name} {status} {time.monotonic() - since:.1f} {line}", flush=True)


def attack(name: str, argv: list[str]) -> None:
    since = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines() or ["(silent)"]
    report(name, done.returncode, since, lines[-1])


def left_behind() -> tuple[str, str, list[str], int]:
    """The driver's counters, the module's references, tenants' folders, forwarding threads."""
    threads = sum(
        comm.read_text().startswith("gpushare_")
        for comm in Path("/proc").glob("[0-9]*/comm")
        if comm.exists()
    )
    return (
        Path("/sys/kernel/debug/nvsim/counts").read_text(),
        Path("/sys/module/gpushare/refcnt").read_text(),
        sorted(str(path) for path in Path("/sys/kernel/gpushare").iterdir()),
        threads,
    )


async def tenant_cycles(cycles: int) -> str:
    """Returns what is wrong, or "ok"."""
    from gpushared.kernel import NetlinkKernel

    kernel = NetlinkKernel()
    before = left_behind()
    for _ in range(cycles):
        await new_tenant(kernel, "passing")
        used = await asyncio.create_subprocess_exec("leakcycle", "/dev/gpushare/passing", "2")
        if await used.wait():
            return "leakcycle failed in a passing tenant"
        await kernel.tenant_del("passing", force=False)
    deadline = time.monotonic() + 10
    while (now := left_behind()) != before:
        if time.monotonic() > deadline:
            return f"left behind: {now} instead of {before}".replace("\n", " ")
        await asyncio.sleep(0.05)
    await kernel.close()
    return "ok"


async def new_tenant(kernel: object, name: str) -> None:
    from gpushared.kernel import NetlinkKernel
    from gpushared.kernel_types import NewTenant, ShareRequest

    assert isinstance(kernel, NetlinkKernel)
    card = (await kernel.cards())[0]
    share = ShareRequest(card_uuid=card.uuid, quota_bytes=QUOTA_BYTES)
    await kernel.tenant_new(
        NewTenant(
            name=name,
            uuid=str(uuid.uuid4()),
            owner_uid=0,
            owner_gid=0,
            mode=0o660,
            share=(share,),
        )
    )


async def make_tenants() -> None:
    from gpushared.kernel import NetlinkKernel

    kernel = NetlinkKernel()
    for name in ("attacker", "neighbour"):
        await new_tenant(kernel, name)
    await kernel.close()


def main(argv: list[str]) -> int:
    full = argv[:1] == ["full"]
    only = argv[1:]
    asyncio.run(make_tenants())
    for race in RACES:
        if not only or race.name in only:
            attack(race.name, race.argv(full=full))
    if not only or "leakcycle" in only:
        attack("leakcycle", ["leakcycle", "/dev/gpushare/attacker", str(LEAK_CYCLES[full])])
    if not only or "tenants" in only:
        since = time.monotonic()
        line = asyncio.run(tenant_cycles(TENANT_CYCLES[full]))
        report("tenants", int(line != "ok"), since, line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
