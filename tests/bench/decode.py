# SPDX-License-Identifier: GPL-2.0-only
"""Native cost of reading and judging one call: median over runs, thread time, warm caches."""

from __future__ import annotations

import shutil
import statistics
import subprocess
from pathlib import Path

from tests.bench.records import Record

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET_NS = 300
RUNS, CALLS = 21, 100_000


def build(folder: Path) -> Path:
    """The benchmark and kmod/core at -O2."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("gcc is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "decode"
    sources = [*sorted((ROOT / "kmod" / "core").glob("*.c")), Path(__file__).with_suffix(".c")]
    options = ["-std=gnu11", "-O2", f"-I{ROOT / 'kmod'}", "-o", str(program)]
    subprocess.run([compiler, *options, *map(str, sources)], check=True)
    return program


def run(*, build_dir: Path, quick: bool) -> list[Record]:
    """One record a call, and the slowest of them."""
    runs, calls = (5, 20_000) if quick else (RUNS, CALLS)
    program = build(build_dir)
    output = subprocess.run(
        [str(program), str(runs), str(calls)], capture_output=True, text=True, check=True
    ).stdout
    figures: dict[str, list[float]] = {}
    for line in output.splitlines():
        name, value = line.split()
        figures.setdefault(name, []).append(float(value))
    params: dict[str, str | int | float] = {"runs": runs, "calls": calls, "driver": "535.261.03"}
    return [
        Record(
            name=name,
            metric="thread time a call, median",
            value=statistics.median(values),
            unit="ns",
            target=TARGET_NS,
            params={**params, "fastest": min(values), "slowest": max(values)},
        )
        for name, values in figures.items()
    ]
