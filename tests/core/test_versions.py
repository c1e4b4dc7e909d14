# SPDX-License-Identifier: GPL-2.0-only
"""Rows of nvabi/versions.h: each is the driver it is named by; the others are refused by name."""

from __future__ import annotations

import ctypes
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core import facts, fields, headers
from tests.core.abi import Abi
from tests.core.conftest import LAYOUTS, VERSIONS
from tests.core.native import Buffer, Core

MAIN = ["535.261.03", "550.163.01", "570.211.01", "580.126.20", "595.45.04"]


# ---- the record ----


def test_every_row_is_measured_and_everything_measured_has_a_row() -> None:
    assert facts.recorded_versions() == VERSIONS
    assert set(MAIN) <= set(VERSIONS)
    assert set(MAIN) <= set(LAYOUTS)


@pytest.mark.parametrize("name", sorted(set(VERSIONS) & set(facts.abi().json["versions"])))
def test_what_was_measured_is_what_was_recorded(name: str, abi: Abi) -> None:
    """Two measurements, made apart, say the same."""
    measured = facts.of_record(name)
    for struct in abi.json["versions"][name]["structs"]:
        recorded = abi.layout(struct, name)
        found = measured.structs.get(struct)
        assert recorded, struct
        assert found, struct
        assert found.size == recorded.size, struct
        assert {key: found.fields.get(key) for key in recorded.fields} == recorded.fields, struct
    rm_ops = abi.json["versions"][name]["rm_ops"]
    assert measured.kernel.op_bytes == rm_ops["op_size"]
    assert measured.kernel.alloc_struct == rm_ops["alloc_struct"]
    assert measured.kernel.open_gpu_has_bool == rm_ops["open_gpu_reset_aware_arg"]
    assert measured.kernel.gpl_only == (rm_ops["export"] == "gpl")
    by_number = rm_ops["presence_check"] == "device number"
    assert measured.kernel.presence_by_number == by_number


@pytest.mark.parametrize("name", MAIN)
def test_controls_are_what_was_recorded(name: str, abi: Abi) -> None:
    """Present or gone, and of which size."""
    measured = facts.of_record(name).controls
    for number, control in abi.json["controls"].items():
        recorded = control["by_version"].get(name)
        found = measured.get(int(number, 16))
        assert (found and found.bytes) == (recorded and recorded["size"]), number


# ---- rows ----


@pytest.mark.parametrize("name", VERSIONS)
def test_row_is_what_the_driver_has(name: str, core: Core) -> None:
    row = core.version(name)
    assert row.text("string") == name
    expected = fields.row(facts.of_record(name))
    assert {field: row[field] for field in expected} == expected


@pytest.mark.parametrize("name", VERSIONS)
def test_row_fits_itself(name: str, core: Core) -> None:
    row = core.version(name)
    assert row["fb_info_v2_bytes"] == 4 + 8 * row["fb_info_v2_entries"]
    assert row["fb_region_bytes"] == 8 + row["fb_region_entry_bytes"] * row["fb_region_entries"]
    assert row["gpumon_bytes"] == row["gpumon_samples_off"] + 72 * row["gpumon_stride"]
    assert row["gpumon_stride"] == (
        row["gpumon_engine_off"] + row["gpumon_engines"] * row["gpumon_engine_bytes"]
    )


def test_every_field_of_a_version_is_compared() -> None:
    compared = set(fields.row(facts.of_record(MAIN[0])))
    assert set(headers.version_fields()) == compared | fields.NO_FACTS


def test_rows_are_sorted_and_unique(core: Core) -> None:
    strings = [row.text("string") for row in core.rows("shim_versions", "nvabi_version")]
    assert strings == VERSIONS
    assert len(set(strings)) == len(strings)


def test_only_exact_version_strings_are_known(core: Core) -> None:
    for string in ("535.261.04", "535.261.0", "535.261.03 ", "", "535.261", "550.90.7", "N/A"):
        assert core.call("shim_version", string.encode()) == 0


# ---- what is said about others ----


def nearest(core: Core, string: str, size: int = 64) -> str:
    text = ctypes.create_string_buffer(b"x" * 80)
    core.call("shim_version_nearest", string.encode(), ctypes.addressof(text), size)
    assert text.raw[size:80] == b"x" * (80 - size)
    return text.value.decode()


@pytest.mark.case("DC-01")
@pytest.mark.parametrize(
    ("found", "named"),
    [
        ("570.999.01", "570.211.01 or 580.65.06"),
        ("610.57.04", "595.45.04"),
        ("390.157", "535.54.03"),
        ("545.23.06", "535.288.01 or 550.54.14"),
        ("535.129.02", "535.113.01 or 535.129.03"),
        ("595.8", "580.142 or 595.44.02"),  # by number before every 595 that is known
        ("N/A", "535.54.03 to 595.45.04"),
        ("", "535.54.03 to 595.45.04"),
    ],
)
def test_the_nearest_supported_versions_are_named(core: Core, found: str, named: str) -> None:
    assert nearest(core, found) == named


@pytest.mark.parametrize("size", [1, 2, 5, 11, 12, 13, 24, 64])
def test_the_text_is_cut_where_it_must(core: Core, size: int) -> None:
    text = nearest(core, "570.999.01", size)
    assert "570.211.01 or 580.65.06".startswith(text)
    assert len(text) == min(size - 1, 23)


def parsed(core: Core, text: str) -> tuple[int, int, int] | None:
    out = Buffer(bytes(12))
    if not core.call("shim_version_parse", text.encode(), out):
        return None
    return out.u32(0), out.u32(4), out.u32(8)


@pytest.mark.case("DC-03")
@pytest.mark.parametrize(
    "ascending",
    [
        ["470.82.01", "470.161.03", "470.256.02"],
        ["535.54.03", "535.161.07", "535.161.08"],
        ["525.89", "525.89.02"],
        ["595.8", "595.71.05"],
    ],
)
def test_versions_compare_by_their_numbers(core: Core, ascending: list[str]) -> None:
    def packed(text: str) -> Buffer:
        found = parsed(core, text)
        assert found is not None
        return Buffer(b"".join(part.to_bytes(4, "little") for part in found))

    for (i, a), (j, b) in itertools.product(enumerate(ascending), repeat=2):
        result = core.call("shim_version_compare", packed(a), packed(b))
        assert (result > 0) - (result < 0) == (i > j) - (i < j)


@pytest.mark.case("DC-03")
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("550.90.07", (550, 90, 7)),
        ("550.90.7", (550, 90, 7)),
        ("525.89", (525, 89, 0)),
        ("535", (535, 0, 0)),
        ("N/A", None),
        ("", None),
        (".", None),
        ("535.", None),
        ("535.261.", None),
        ("535.261.03.", None),
        ("535.261.03.1", None),
        ("535.261.03x", None),
        (" 535.261.03", None),
        ("4294967831.261.03", None),
        ("-535.1", None),
    ],
)
def test_a_version_is_read_or_unknown(
    core: Core, text: str, numbers: tuple[int, int, int] | None
) -> None:
    assert parsed(core, text) == numbers


@pytest.mark.case("DC-03")
@given(text=st.text(alphabet="0123456789.-x ", max_size=24))
def test_no_text_is_read_as_a_wrong_number(core: Core, text: str) -> None:
    found = parsed(core, text)
    if found is not None:
        given_parts = [int(part) for part in text.split(".")]
        assert list(found) == given_parts + [0] * (3 - len(given_parts))
