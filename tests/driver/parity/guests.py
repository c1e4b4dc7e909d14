# SPDX-License-Identifier: GPL-2.0-only
"""On the host: boots a guest that is asked, and the file of what the genuine drivers answered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

HERE: Final = Path(__file__).resolve().parent
RUN: Final = HERE.parents[1] / "guest" / "run"
SECONDS: Final = 600
# --driver's names, and the version that each is
DRIVERS: Final = {"nvidia-535": "535.261.03", "nvidia-550": "550.163.01"}
# the driver as it is: nothing is answered in its place but the start of the adapter
AS_IT_IS: Final = (
    *("--modules", "nvsim"),
    *("--option", "nocard.objects=0", "--option", "nocard.open=1"),
)

LONG: Final = os.environ.get("GPUSHARE_LONG") == "1"
BRANCHES: Final = [
    pytest.param(
        driver,
        marks=pytest.mark.skipif(
            driver != "nvidia-535" and not LONG, reason="a second branch: GPUSHARE_LONG=1"
        ),
    )
    for driver in DRIVERS
]

Answers = Mapping[str, object]


class GuestFailed(AssertionError):
    pass


def run(options: list[str], command: list[str], *, seconds: int = SECONDS) -> str:
    """What a guest prints. One processor: handing calls over is slow on two simulated ones."""
    argv = [str(RUN), "--cpus", "1", "--timeout", str(seconds), *options, "--", *command]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise GuestFailed(f"{' '.join(argv)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def asked(options: list[str], *sides: str) -> dict[str, Answers]:
    """Answers by side."""
    printed = run(options, ["python3", "-m", "tests.driver.parity.ask", *sides])
    told = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    return {one["side"]: one["answers"] for one in told}


def file_of(version: str) -> Path:
    return HERE / f"answers-{version}.json"


def recorded(version: str) -> Answers:
    answers = json.loads(file_of(version).read_text(encoding="utf-8"))
    assert isinstance(answers, dict)
    return answers


def record(driver: str) -> Path:
    answers = asked(["--driver", driver, *AS_IT_IS], "driver")["driver"]
    path = file_of(DRIVERS[driver])
    path.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def main(drivers: list[str]) -> int:
    for driver in drivers or list(DRIVERS):
        print(record(driver))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
