# SPDX-License-Identifier: GPL-2.0-only
"""What one driver's interface is, whether it was recorded earlier or is read from a tree now."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypedDict, cast

from tests.core import headers
from tests.core.abi import Abi, Layout, LayoutJson
from tests.core.source import Class, Control, Kernel, Pointer, Tree

DATA: Final = Path(__file__).resolve().parent / "data"
MEASURED: Final = DATA / "measured.json"
# structs that kmod/ has numbers of, and the record that was given has not
WATCHED: Final = (
    "NV0080_CTRL_GPU_GET_CLASSLIST_V2_PARAMS",
    "NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE",
    "NV2080_CTRL_PERF_GPUMON_PERFMON_UTIL_SAMPLE",
    "NV50VAIO_CHANNELDMA_ALLOCATION_PARAMETERS",
    "NVA084_ALLOC_PARAMETERS",
    "NVOS_I2C_ACCESS_PARAMS",
    "NV_OFA_ALLOCATION_PARAMETERS",
    "NvUnixEvent",
    "nv_gpu_info_t",
    "nvidia_modeset_rm_ops_t",
)
# our short beginnings of names, and NVIDIA's
PREFIXES: Final = {
    "NV_FB_INFO_": ("NV2080_CTRL_FB_INFO_INDEX_",),
    "NV_GR_INFO_": ("NV0080_CTRL_GR_INFO_INDEX_", "NV2080_CTRL_GR_INFO_INDEX_"),
    "NV_BUS_INFO_": ("NV2080_CTRL_BUS_INFO_INDEX_",),
    "NV2080_ENGINE_": ("NV2080_ENGINE_TYPE_",),
    "NV2080_NOTIFIER_": ("NV2080_NOTIFIERS_",),
}
ABOUT: Final = (
    "Layouts, tables and numbers by driver version, of open-gpu-kernel-modules at each tag. "
    "Written by tests.core.record: structs by compiler, tables by text."
)
NUMBERS: Final = ("nvabi/numbers.h", "nvabi/controls.h", "nvabi/methods.h")
NUMBER: Final = re.compile(r"\b0x[0-9a-fA-F]{3,8}\b")


Json = int | str | bool | list["Json"]


class MeasuredJson(TypedDict):
    """Sets of facts, several versions to one. Tables: section, key, each value and its sets."""

    about: str
    layouts: dict[str, list[LayoutJson]]
    versions: dict[str, int]  # which set
    tables: dict[str, dict[str, list[tuple[Json, int]]]]


def order(version: str) -> tuple[int, ...]:
    """Versions sort by their numbers."""
    return tuple(int(part) for part in version.split("."))


@dataclass(frozen=True)
class Facts:
    """Controls and structs: all of a tree, or those of the record."""

    version: str
    structs: dict[str, Layout]
    controls: dict[int, Control]
    classes: dict[int, Class]
    escapes: dict[str, int]
    uvm: dict[str, int]
    pointers: dict[int, tuple[Pointer, ...]]
    listed: dict[int, tuple[int, bool]]  # ioctls whose size is checked first; empty up to 590
    numbers: dict[str, int]  # of kmod/'s numbers, by our name, those that NVIDIA's headers name
    kernel: Kernel


@cache
def abi() -> Abi:
    """The record that was given."""
    return Abi(json.loads((DATA / "abi.json").read_text(encoding="utf-8")))


@cache
def used_structs() -> frozenset[str]:
    """NVIDIA's names of all structs that kmod/ has, or has a number of."""
    found = set(abi().json["layouts"])
    for name in headers.LAYOUTS:
        found |= {struct.vendor for struct in headers.structs(name)}
    return frozenset(found | set(WATCHED))


@cache
def used_controls() -> frozenset[int]:
    """Every number in the sources that may be a control's; those that are none do no harm."""
    folders = ("nvabi", "core", "nvsim", "gpushare")
    paths = [path for name in folders for path in (headers.KMOD / name).glob("*.[ch]")]
    return frozenset(
        int(text, 16) for path in paths for text in NUMBER.findall(path.read_text(encoding="utf-8"))
    )


def vendor_names(name: str) -> list[str]:
    """What NVIDIA may call one of our numbers."""
    found = [name, name.replace("_CTRL_", "_CTRL_CMD_")]
    for ours, theirs in PREFIXES.items():
        if name.startswith(ours):
            found += [prefix + name.removeprefix(ours) for prefix in theirs]
    return found


def named_numbers(tree: Tree) -> dict[str, int]:
    known = tree.macros | tree.escapes | tree.uvm
    return {
        ours: known[theirs]
        for header in NUMBERS
        for ours in headers.numbers(header)
        for theirs in reversed(vendor_names(ours))
        if theirs in known
    }


def of_tree(tree: Tree) -> Facts:
    """Everything a tree says."""
    controls = tree.controls
    of_controls = {tree.control_structs.get(number, "") for number in used_controls()} - {""}
    layouts = {name: tree.layout(name) for name in sorted(used_structs() | of_controls)}
    return Facts(
        version=tree.version,
        structs={name: layout for name, layout in layouts.items() if layout is not None},
        controls=controls,
        classes=tree.classes,
        escapes=tree.escapes,
        uvm=tree.uvm,
        pointers={number: tuple(rows) for number, rows in tree.pointers.items()},
        listed=tree.listed_sizes if tree.kernel.ioctls_are_listed else {},
        numbers=named_numbers(tree),
        kernel=tree.kernel,
    )


# ---- the record ----


@cache
def measured(path: Path = MEASURED) -> MeasuredJson:
    return cast(MeasuredJson, json.loads(path.read_text(encoding="utf-8")))


def recorded_versions(path: Path = MEASURED) -> list[str]:
    return sorted(measured(path)["versions"], key=order)


@cache
def of_record(version: str, path: Path = MEASURED) -> Facts:
    """What was measured for a version: KeyError when it was not."""
    content = measured(path)
    bit = 1 << content["versions"][version]
    tables = {
        section: {key: value for key, rows in table.items() for value, sets in rows if sets & bit}
        for section, table in content["tables"].items()
    }
    return _read(version, tables, content["layouts"])


def _read(
    version: str, tables: dict[str, dict[str, Any]], layouts: dict[str, list[LayoutJson]]
) -> Facts:
    structs = {name: layouts[name][index] for name, index in tables["structs"].items()}
    return Facts(
        version=version,
        structs={
            name: Layout(one["size"], {key: (at[0], at[1]) for key, at in one["fields"].items()})
            for name, one in structs.items()
        },
        controls={int(key, 16): Control(*row) for key, row in tables["controls"].items()},
        classes={int(key, 16): Class(*row) for key, row in tables["classes"].items()},
        escapes=tables["escapes"],
        uvm=tables["uvm"],
        pointers={
            int(key, 16): tuple(Pointer(*row) for row in rows)
            for key, rows in tables["pointers"].items()
        },
        listed={int(key, 16): (row[0], row[1]) for key, row in tables["listed"].items()},
        numbers=tables["numbers"],
        kernel=Kernel(**tables["kernel"]),
    )


def _values(one: Control | Class | Pointer) -> Json:
    return list(asdict(one).values())


def _tables(facts: Facts, layouts: dict[str, list[LayoutJson]]) -> dict[str, dict[str, Json]]:
    structs: dict[str, Json] = {}
    for name, layout in facts.structs.items():
        fields = {key: [*at] for key, at in layout.fields.items()}
        one: LayoutJson = {"size": layout.size, "fields": fields}
        known = layouts.setdefault(name, [])
        if one not in known:
            known.append(one)
        structs[name] = known.index(one)
    return {
        "structs": structs,
        "controls": {f"{key:#x}": _values(one) for key, one in facts.controls.items()},
        "classes": {f"{key:#x}": _values(one) for key, one in facts.classes.items()},
        "escapes": {**facts.escapes},
        "uvm": {**facts.uvm},
        "pointers": {
            f"{key:#x}": [_values(row) for row in rows] for key, rows in facts.pointers.items()
        },
        "listed": {f"{key:#x}": [*row] for key, row in facts.listed.items()},
        "numbers": {**facts.numbers},
        "kernel": asdict(facts.kernel),
    }


def write(all_facts: Iterable[Facts]) -> MeasuredJson:
    """The record of several versions."""
    content: MeasuredJson = {"about": ABOUT, "layouts": {}, "versions": {}, "tables": {}}
    sets: list[dict[str, dict[str, Json]]] = []
    for facts in all_facts:
        found = _tables(facts, content["layouts"])
        if found not in sets:
            sets.append(found)
        content["versions"][facts.version] = sets.index(found)
    for index, tables in enumerate(sets):
        for section, table in tables.items():
            rows = content["tables"].setdefault(section, {})
            for key, value in table.items():
                _add(rows.setdefault(key, []), value, 1 << index)
    return content


def save(content: MeasuredJson, path: Path = MEASURED) -> None:
    """One key a line, sorted: a new driver is a small difference."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    path.write_text(text.replace('],"', '],\n"') + "\n", encoding="utf-8")


def _add(rows: list[tuple[Json, int]], value: Json, bit: int) -> None:
    for i, (known, sets) in enumerate(rows):
        if known == value:
            rows[i] = (known, sets | bit)
            return
    rows.append((value, bit))
