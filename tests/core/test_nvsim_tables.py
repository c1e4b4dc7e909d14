# SPDX-License-Identifier: GPL-2.0-only
"""The simulated driver takes each control with the size that the driver of that version has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import needed
from tests.core import facts, headers
from tests.core.conftest import LAYOUTS

NVSIM = headers.KMOD / "nvsim"
ROW = re.compile(
    r"^\t\{ ((?:NV|0x)\w+), (\w+|sizeof\(struct \w+\)), ([^,]+), \w+ \},", re.MULTILINE
)
GONE = 0xFFFFFFFF
# an undocumented control, handed to the firmware: in no table of the open driver
UNDOCUMENTED = 0x8000

# answered in the simulation, by no table of the open driver: converted by hand; channel events
# and faults, which libraries ask for under these numbers (observed)
NOT_IN_TABLES = {0x101, 0xA06F0205, 0xC36F0107, 0xC36F0205}
# the number went to another control at 570: the old one is gone
TAKEN_OVER = {0x730120}

PROBE = """
#include <stdio.h>
#include "nvabi/control_sizes.h"
typedef __u32 u32;
static const struct nvabi_version *sim_abi;
{defines}
{function}
static const struct {{ u32 cmd, size; }} rows[] = {{ {rows} }};
int main(void)
{{
    u32 count, i, j;
    const struct nvabi_version *known = nvabi_versions(&count);

    for (i = 0; i < count; i++)
        for (j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {{
            sim_abi = &known[i];
            printf("%s %u %u\\n", sim_abi->string, rows[j].cmd,
                   size_now(rows[j].cmd, rows[j].size));
        }}
    return 0;
}}
"""


def defines() -> list[str]:
    """Sizes that the files name for themselves."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(NVSIM.glob("ctrl_*.c")))
    return re.findall(r"^#define \w+_BYTES\s+[^\\\n]+$", text, re.MULTILINE)


def rows() -> list[tuple[str, str]]:
    """Number and size of each row whose size counts."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(NVSIM.glob("ctrl_*.c")))
    return [
        (number, size)
        for number, size, flags in ROW.findall(text)
        if "ANYSIZE" not in flags and not number.endswith("_OBSERVED")
    ]


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, int]]:
    """By version and number: ctrl.c's own function, compiled here."""
    folder = tmp_path_factory.mktemp("nvsim")
    text = (NVSIM / "ctrl.c").read_text(encoding="utf-8")
    found = re.search(r"^static u32 size_now\(.*?^\}", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    cells = ", ".join(f"{{ {number}, {size} }}" for number, size in rows())
    source = folder / "sizes.c"
    parts = {"defines": "\n".join(defines()), "function": found[0], "rows": cells}
    source.write_text(PROBE.format(**parts))
    program = folder / "sizes"
    command = [needed("gcc"), "-std=gnu11", f"-I{headers.KMOD}", str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    told: dict[str, dict[int, int]] = {}
    for line in output.splitlines():
        version, number, size = line.split()
        told.setdefault(version, {})[int(number)] = int(size)
    return told


def test_the_tables_are_found() -> None:
    every = sum(
        len(re.findall(r"^\t\{ (?:NV|0x)\w+, ", path.read_text(encoding="utf-8"), re.MULTILINE))
        for path in Path(NVSIM).glob("ctrl_*.c")
    )
    assert len(rows()) > 100
    assert len(rows()) > every * 3 // 4


@pytest.mark.parametrize("name", LAYOUTS)
def test_controls_have_the_drivers_size(name: str, sizes: dict[str, dict[int, int]]) -> None:
    recorded = facts.of_record(name)
    for number, size in sizes[name].items():
        if number & UNDOCUMENTED or number in NOT_IN_TABLES:
            continue
        if number in TAKEN_OVER and size == GONE:
            continue
        pointers = recorded.pointers.get(number, ())
        if number in recorded.controls:
            assert size == recorded.controls[number].bytes, hex(number)
        elif not any(one.converted_bytes for one in pointers):
            assert size == GONE, f"{number:#x}: this driver has no such control"
