# SPDX-License-Identifier: GPL-2.0-only
"""Versions of NVIDIA's driver: compared by their numbers, or unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

PARTS: Final = 3
# "535.261.03", "390.157"; a distribution may add "-1ubuntu1" or "+deb13u1" behind it
VERSION: Final = re.compile(r"(?a:(\d{1,6}(?:\.\d{1,6}){0,2}))(?:[-+~][\w.+~-]*)?")
# The line's own words stand between spaces in pairs; a version is two numbers at least.
LINE: Final = re.compile(
    r"NVRM version: NVIDIA UNIX (?P<open>Open )?(?:\S+ )?Kernel Module(?: for \S+)?\s+"
    r"(?P<version>\d+\.\S+)(?:\s|$)"
)


@dataclass(frozen=True, order=True)
class DriverVersion:
    """Orders as numbers do: 595.8 before 595.71.05; 550.90.7 is 550.90.07."""

    parts: tuple[int, int, int]
    text: str = field(compare=False)

    def __str__(self) -> str:
        return self.text

    @property
    def branch(self) -> int:
        return self.parts[0]


@dataclass(frozen=True)
class LoadedDriver:
    """What /proc/driver/nvidia/version says of the loaded module."""

    version: DriverVersion
    is_open: bool


def parse(text: str) -> DriverVersion | None:
    """None: unknown. A missing number is 0, what a distribution adds is dropped."""
    found = VERSION.fullmatch(text.strip())
    if found is None:
        return None
    numbers = [int(part) for part in found[1].split(".")]
    first, second, third = numbers + [0] * (PARTS - len(numbers))
    return DriverVersion((first, second, third), found[1])


def parse_proc(content: str) -> LoadedDriver | None:
    """The first line of /proc/driver/nvidia/version. None: unknown."""
    found = LINE.match(content.partition("\n")[0])
    version = parse(found["version"]) if found else None
    if found is None or version is None:
        return None
    return LoadedDriver(version, found["open"] is not None)


def nearest(found: str, supported: Iterable[str]) -> list[str]:
    """The supported versions next below and above; the oldest and the newest when found is none."""
    known = sorted(version for version in map(parse, supported) if version is not None)
    wanted = parse(found)
    if wanted is None:
        chosen = known[:1] + known[1:][-1:]
    else:
        below = [version for version in known if version <= wanted]
        chosen = below[-1:] + [version for version in known if version > wanted][:1]
    return [version.text for version in chosen]


def by_branch(supported: Iterable[str]) -> list[str]:
    """For people: one entry a branch, "535.54.03 to 535.288.01"."""
    known = sorted(version for version in map(parse, supported) if version is not None)
    branches: dict[int, list[DriverVersion]] = {}
    for version in known:
        branches.setdefault(version.branch, []).append(version)
    return [
        str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]} ({len(found)} releases)"
        for found in branches.values()
    ]
