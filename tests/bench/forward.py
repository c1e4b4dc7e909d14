# SPDX-License-Identifier: GPL-2.0-only
"""Guest instructions of one call, directly on the driver and through gpushare, in one guest.

The guest counts instructions (8 ns each), so a figure does not depend on the host; it
says nothing of caches or of a second processor. What gpushare adds contains two changes
of thread, to the forwarding thread and back.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.bench.records import Record

ROOT = Path(__file__).resolve().parent.parent.parent
NS_AN_INSTRUCTION = 8
ROUNDS = 2000
# Bounds against regressions, in instructions added; about 1.3 times what was measured.
BOUNDS: dict[str, float] = {
    "open+close": 22_500,
    "version": 4_500,
    "card-info": 33_500,
    "client+free": 31_000,
    "client+device+subdevice+free": 73_500,
    "control": 15_000,
    "fb-info": 23_500,
    "os-event+free": 6_500,
    "alloc+free": 33_000,
    "heap+free": 39_500,
    "system+free": 30_000,
    "dup+free": 27_500,
    "open+map+mmap+touch+close": 41_500,
    "open+export+import+free": 69_500,
    "uvm-open+initialize+close": 220_000,
    "uvm-range+free": 27_000,
    "uvm-range+map+free": 50_000,
    "uvm-mmap+touch+munmap": 12_000,
}
RUN = ROOT / "tests" / "guest" / "run"
OPTIONS = ("--deterministic", "--bare", "--timeout", "600")

SCRIPT = """
python3 -m tests.guest.bench_tenant &&
echo direct && callcost /dev {rounds} && echo tenant && callcost /dev/gpushare/bench {rounds}
"""


def figures(output: str) -> dict[str, dict[str, float]]:
    """Instructions by side and call."""
    found: dict[str, dict[str, float]] = {}
    side: dict[str, float] = {}
    for line in output.splitlines():
        if line in ("direct", "tenant"):
            side = found.setdefault(line, {})
        elif match := re.fullmatch(r"(\S+) (\d+)", line):
            side[match[1]] = int(match[2]) / NS_AN_INSTRUCTION
    return found


def run(*, build_dir: Path, quick: bool) -> list[Record]:
    """One record a call: what gpushare adds."""
    rounds = 200 if quick else ROUNDS
    done = subprocess.run(
        [RUN, *OPTIONS, "--", "sh", "-c", SCRIPT.format(rounds=rounds)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the guest failed:\n{done.stdout}\n{done.stderr[-2000:]}")
    sides = figures(done.stdout)
    return [
        Record(
            name=f"forward/{call}",
            metric="added",
            value=through - sides["direct"][call],
            unit="instructions",
            baseline=sides["direct"][call],
            target=BOUNDS.get(call),
            params={"rounds": rounds, "through": through},
        )
        for call, through in sides["tenant"].items()
    ]
