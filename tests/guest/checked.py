# SPDX-License-Identifier: GPL-2.0-only
"""Runs of the kernel that checks itself; see README.md. It takes minutes to boot and is slow."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

RUN: Final = Path(__file__).resolve().parent / "run"
LONG: Final = os.environ.get("GPUSHARE_LONG") == "1"
CARD: Final = "GPU-6e767369-6d00-4000-8000-000000000001"
"""nvsim's first."""

only_long = pytest.mark.skipif(not LONG, reason="the debug kernel runs in make test-long")


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    told: str
    """All that was said, for a failed assertion."""


def run(*options: str, command: Sequence[str], seconds: int) -> Ran:
    """Status 125: the kernel complained, a leak was found, or the guest died."""
    argv = [str(RUN), *options, "--timeout", str(seconds), "--", *command]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout, f"{done.stdout[-12000:]}\n{done.stderr[-12000:]}")


def run_debug(*options: str, command: Sequence[str], seconds: int) -> Ran:
    # KASAN and kmemleak keep notes on all memory.
    return run("--kernel", "debug", "--memory", "3072", *options, command=command, seconds=seconds)
