# SPDX-License-Identifier: GPL-2.0-only
"""failslab.py PERCENT: so many of gpushare.ko's allocations fail from now on, in whatever thread.

By the backtrace of each: workers and work items are nobody's task. `storm` ends it.
"""

from __future__ import annotations

import sys
from pathlib import Path

FAILSLAB = Path("/sys/kernel/debug/failslab")


def module(name: str) -> tuple[int, int]:
    for line in Path("/proc/modules").read_text().splitlines():
        found, size, _, _, _, start, *_ = line.split()
        if found == name:
            return int(start, 16), int(start, 16) + int(size)
    raise SystemExit(f"{name} is not loaded")


def main(percent: str) -> None:
    start, end = module("gpushare")
    settings = {
        "require-start": f"{start:#x}",
        "require-end": f"{end:#x}",
        "stacktrace-depth": "32",
        "task-filter": "N",
        "ignore-gfp-wait": "N",
        "verbose": "0",
        "times": "-1",
        "space": "0",
        "interval": "1",
        "probability": percent,
    }
    for name, value in settings.items():
        (FAILSLAB / name).write_text(f"{value}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
