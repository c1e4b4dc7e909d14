# SPDX-License-Identifier: GPL-2.0-only
"""Many checks in one guest: a shell script prints sections, tests on the host look at them.

A section is its name, its output, and the status of what printed it.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

RUN: Final = Path(__file__).resolve().parent / "run"

# For a script: "section NAME COMMAND…"; what is alive on the driver; waiting for a word in a file.
PRELUDE: Final = """
section() { echo "=== $1"; shift; "$@" 2>&1; echo "--- $?"; }
truth() { cat /sys/kernel/debug/nvsim/counts /sys/kernel/debug/nvsim/card0/memory; }
until_word() { for i in $(seq 600); do grep -q "$1" "$2" && return; sleep 0.1; done; return 1; }
until_idle() {
    for i in $(seq 100); do
        grep -qx 'opens 0' /sys/kernel/debug/nvsim/counts && return
        sleep 0.1
    done
    return 1
}
"""


@dataclass(frozen=True)
class Section:
    text: str
    status: int

    def values(self, word: str) -> dict[str, str]:
        """key=value of the first line that begins with a word."""
        line = next(line for line in self.text.splitlines() if line.startswith(f"{word} "))
        return dict(re.findall(r'(\w+)=("[^"]*"|\S+)', line))

    def figures(self) -> dict[str, int]:
        """Lines of "name number"."""
        return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", self.text, re.M)}

    def alive(self) -> dict[str, int]:
        """Of the figures of truth(), all that isn't 0."""
        return {name: value for name, value in self.figures().items() if value}

    def failed(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.startswith("failed")]


def boot(script: str, *options: str, product: bool = False) -> dict[str, Section]:
    """Run a script in a guest with nvsim alone, or with all of gpushare; its sections by name."""
    alone = () if product else ("--modules", "nvsim", "--bare")
    done = subprocess.run(
        [RUN, *alone, *options, "--", "bash", "-c", PRELUDE + script],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    found = re.findall(r"^=== (\S+)\n(.*?)^--- (\d+)$", done.stdout, re.M | re.S)
    return {name: Section(text, int(status)) for name, text, status in found}
