# SPDX-License-Identifier: GPL-2.0-only
"""Runs benchmarks, prints their figures and keeps them as build/bench/NAME.json."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

from tests.bench.records import Record, table, write

ROOT = Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "build" / "bench"
# modules of this folder that have run(); a benchmark that needs more than a compiler says so there
BENCHMARKS = ("decode", "policy", "forward")


class Benchmark(Protocol):
    """What a benchmark's module offers."""

    def run(self, *, build_dir: Path, quick: bool) -> list[Record]:
        """Measures; may build things in a folder of its own."""


def load(name: str) -> Benchmark:
    """A benchmark by name."""
    return cast(Benchmark, importlib.import_module(f"tests.bench.{name}"))


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, to try it out")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the results")
    chosen = parser.parse_args(argv)
    unknown = sorted(set(chosen.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"no benchmark named {', '.join(unknown)}")
    return chosen


def main(argv: Sequence[str] | None = None) -> int:
    """0: every target holds; 1: some do not."""
    chosen = arguments(sys.argv[1:] if argv is None else argv)
    failed = 0
    for name in chosen.names or BENCHMARKS:
        records = load(name).run(build_dir=chosen.out / "work" / name, quick=chosen.quick)
        write(records, chosen.out / f"{name}.json")
        print(f"{name}:\n{table(records)}\n")
        failed += sum(record.holds is False for record in records)
    if failed:
        print(f"{failed} figures miss their target", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
