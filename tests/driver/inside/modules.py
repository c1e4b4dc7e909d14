# SPDX-License-Identifier: GPL-2.0-only
"""The guest's modules: what holds what, out and in again."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

HOME: Final = Path(__file__).resolve().parents[3] / ".guest"
ORDER: Final = ("nocard", "nvidia", "nvidia_uvm", "gpushare")
LOADED: Final = Path("/sys/module")
VERSION: Final = re.compile(r"\d{3}\.\d+(?:\.\d+)?")


def options() -> dict[str, list[str]]:
    """What each module of this guest was loaded with."""
    lines = (line.split() for line in (HOME / "modules").read_text(encoding="utf-8").splitlines())
    return {name.replace("-", "_"): found for name, *found in lines}


def load(name: str, *more: str) -> None:
    file = HOME / f"{name.replace('_', '-')}.ko"
    subprocess.run(["insmod", file, *options()[name], *more], check=True)


def unload(name: str) -> None:
    subprocess.run(["rmmod", name], check=True, capture_output=True)


def refused(name: str) -> bool:
    """Whether the module stays when it is told to leave."""
    done = subprocess.run(["rmmod", name], check=False, capture_output=True)
    return done.returncode != 0 and (LOADED / name).is_dir()


def holders(name: str) -> set[str]:
    return {path.name for path in (LOADED / name / "holders").iterdir()}


def references() -> dict[str, int]:
    return {name: int((LOADED / name / "refcnt").read_text(encoding="utf-8")) for name in ORDER}


def driver_version() -> str:
    """In the driver's own words."""
    text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    found = VERSION.search(text)
    assert found is not None, text
    return found[0]
