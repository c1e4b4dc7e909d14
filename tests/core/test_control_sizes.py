# SPDX-License-Identifier: GPL-2.0-only
"""The simulated driver takes each control in the size that the driver of that version has it in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest

from tests.core import facts, headers
from tests.core.native import Core

ROW: Final = re.compile(r"\{\s*(\w+),([\w\s,]+?)\}")
CONTROL: Final = re.compile(r"^\t\{ (\w+), (\w+), (\w+), \w+ \},$", re.MULTILINE)
SIZE_NOW: Final = re.compile(r"((?:\tcase \w+:\n)+)\t\treturn abi->(\w+);")
GONE: Final = 0xFFFFFFFF
COLUMNS: Final = (535, 550, 570, 580, 595)
# not in the drivers' tables: old forms that are turned into new ones before (or copied on a way of
# their own), and those of the headers that nothing is known to ask for
NOT_IN_TABLES: Final = {
    "NV0000_CTRL_SYSTEM_GET_BUILD_VERSION",
    "NV2080_CTRL_BUS_GET_INFO",
    "NV2080_CTRL_FB_GET_INFO",
    "NV2080_CTRL_GPU_GET_INFO",
    "NVA06F_CTRL_EVENT_SET_NOTIFICATION",
    "NVC36F_CTRL_EVENT_SET_NOTIFICATION",
    "NVC36F_CTRL_GET_MMU_FAULT_INFO",
}


@cache
def _numbers() -> dict[str, int]:
    names = ("nvabi/numbers.h", "nvabi/controls.h")
    return {key: value for name in names for key, value in headers.numbers(name).items()}


@cache
def _sources() -> str:
    return "\n".join(
        path.read_text(encoding="utf-8")
        for path in sorted((headers.KMOD / "nvsim").glob("ctrl*.c"))
    )


@cache
def _columns() -> dict[str, tuple[int, ...]]:
    """control_sizes.h: bytes from each branch on."""
    found = {}
    text = headers.COMMENT.sub("", headers.text("nvabi/control_sizes.h"))
    start = text.index("rows[] = {")
    for name, values in ROW.findall(text[start : text.index("};", start)].partition("{")[2]):
        sizes = [GONE if one == "NVABI_CONTROL_GONE" else int(one) for one in _words(values)]
        found[name] = tuple(sizes)
    return found


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


@cache
def _fields() -> dict[str, str]:
    """What ctrl.c takes from versions.h: the field's name by control."""
    return {
        name: field
        for cases, field in SIZE_NOW.findall(_sources())
        for name in re.findall(r"\w+(?=:)", cases)
    }


def _controls() -> Iterator[tuple[str, int]]:
    """Each row of the simulated driver with a name, and its size in 535.261.03."""
    for name, size, flags in CONTROL.findall(_sources()):
        if flags == "SIM_CTRL_ANYSIZE" or name not in _numbers() or name.endswith("_OBSERVED"):
            continue
        defined = re.search(rf"^#define {size}\s+(\d+)$", _sources(), re.MULTILINE)
        yield name, int(defined[1]) if defined else int(size)


def _bytes(name: str, size: int, version: str, core: Core) -> int:
    if name in _fields():
        return core.version(version)[_fields()[name]]
    if name in _columns():
        branch = int(version.partition(".")[0])
        return _columns()[name][sum(branch >= one for one in COLUMNS) - 1]
    return size


def test_all_of_the_table_is_read() -> None:
    assert len(_columns()) > 10
    assert all(len(sizes) == len(COLUMNS) for sizes in _columns().values())
    assert len(_fields()) >= 10
    assert len(list(_controls())) > 80


@pytest.mark.parametrize("version", facts.recorded_versions())
def test_controls_have_the_driver_s_sizes(version: str, core: Core) -> None:
    recorded = facts.of_record(version).controls
    wrong = []
    for name, size in _controls():
        here = _bytes(name, size, version, core)
        there = recorded.get(_numbers()[name])
        if there is None:
            if here != GONE and name not in NOT_IN_TABLES:
                wrong.append(f"{name}: {here}, and the driver has no such control")
        elif here not in (there.bytes, GONE):
            wrong.append(f"{name}: {here}, the driver's is {there.bytes}")
    assert not wrong, "\n".join(wrong)
