# SPDX-License-Identifier: GPL-2.0-only
"""At the end of a run on a kernel with kmemleak: what the modules have allocated and lost.

Unloads them, so that whatever they hold on purpose is gone, lets kmemleak scan, and tells each
object that nothing points to and whose backtrace leads through one of them. Status 1 if any.
"""

from __future__ import annotations

import bisect
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

MODULES = ("gpushare", "gsh_kunit", "nvsim")
KMEMLEAK = Path("/sys/kernel/debug/kmemleak")
YOUNG_S = 6  # kmemleak says nothing of what is younger than 5 s
PATIENCE_S = 30  # for the last files to be let go of


@dataclass(frozen=True)
class Module:
    name: str
    start: int
    end: int
    symbols: tuple[tuple[int, str], ...]  # sorted

    def place(self, address: int) -> str:
        at = bisect.bisect_right(self.symbols, (address, "\x7f")) - 1
        if at < 0:
            return f"{address:#x} [{self.name}]"
        start, symbol = self.symbols[at]
        return f"{symbol}+{address - start:#x} [{self.name}]"


def loaded() -> list[Module]:
    """Where they lie; kmemleak's addresses have no names once they are unloaded."""
    found = []
    symbols: dict[str, list[tuple[int, str]]] = {}
    for line in Path("/proc/kallsyms").read_text().splitlines():
        address, _, name, *module = line.split()
        if module:
            symbols.setdefault(module[0][1:-1], []).append((int(address, 16), name))
    for line in Path("/proc/modules").read_text().splitlines():
        name, size, _, _, _, start, *_ = line.split()
        if name in MODULES:
            base = int(start, 16)
            known = tuple(sorted(symbols.get(name, [])))
            found.append(Module(name, base, base + int(size), known))
    return found


def unload() -> None:
    """What is still in use stays, and is scanned as it is."""
    for name in MODULES:
        end = time.monotonic() + PATIENCE_S
        while Path(f"/sys/module/{name}").exists() and time.monotonic() < end:
            if subprocess.run(["rmmod", name], capture_output=True, check=False).returncode:
                time.sleep(0.2)


def scan() -> str:
    for _ in range(2):
        time.sleep(YOUNG_S)
        KMEMLEAK.write_text("scan\n")
    return KMEMLEAK.read_text()


def lost(report: str, modules: list[Module]) -> list[str]:
    """The objects of the modules, their addresses named."""
    found = []
    for entry in re.split(r"^(?=unreferenced object)", report, flags=re.MULTILINE):
        ours = False
        lines = []
        for line in entry.splitlines():
            hit = re.match(r"\s*\[<\w+>\]\s+(\S.*)", line)
            if hit:
                place = hit[1]
                ours |= any(f"[{name}]" in place for name in MODULES)
                address = int(place, 16) if re.fullmatch(r"0x[0-9a-f]+", place) else 0
                for module in modules:
                    if module.start <= address < module.end:
                        ours = True
                        line = f"    {module.place(address)}"
            lines.append(line)
        if ours:
            found.append("\n".join(lines))
    return found


def main() -> int:
    modules = loaded()
    unload()
    found = lost(scan(), modules)
    for entry in found:
        print(entry, file=sys.stderr)
    if found:
        # The console is what the run is judged by.
        Path("/dev/kmsg").write_text(f"<3>BUG: kmemleak: {len(found)} objects were lost\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
