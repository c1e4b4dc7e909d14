# SPDX-License-Identifier: GPL-2.0-only
"""Memory sizes (CF-01, CF-02)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpushare.errors import InvalidInput
from gpushare.sizes import (
    EXAMPLE,
    GIB,
    KIB,
    MIB,
    SIZE_MAX_BYTES,
    format_size,
    parse_size,
    rounded_size,
)

ACCEPTED = {
    "4Gi": 4294967296,
    "4GiB": 4294967296,
    "4096Mi": 4294967296,
    "4096MiB": 4294967296,
    "4194304Ki": 4294967296,
    "1.5Gi": 1610612736,
    "0.5Gi": 536870912,
    "16Gi": 17179869184,
    "80Gi": 85899345920,
}
REFUSED = [
    "4G",
    "4GB",
    "4000M",
    "4294967296",
    "4096",
    "8000Mb",
    "8000mb",
    "4g",
    "4Gib",
    "16Gib",
    "4 Gi",
    "4GI",
    " 4Gi",
    "4Gi\n",
    "-1Gi",
    "+1Gi",
    "1e3Mi",
    "0x10Mi",
    "٤Gi",
    "1.Gi",
    ".5Gi",
    "1,5Gi",
    "1..5Gi",
    "GiB",
    "0.3Ki",
    "8589934592Gi",
    "9" * 300 + "Gi",
    "max",
    "unlimited",
    "NaNGi",
]
ZEROS = ["0", "0Mi", "0.0Gi", "0GiB", "", None, 0, 0.0, False]


@pytest.mark.case("CF-01")
@pytest.mark.parametrize(("text", "size_bytes"), ACCEPTED.items())
def test_binary_units_give_exact_bytes(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.case("CF-01")
@pytest.mark.parametrize("text", REFUSED)
def test_everything_else_is_refused_with_field_and_example(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_size(text, field="quota")
    assert caught.value.field == "quota"
    assert caught.value.what.startswith("quota: ")
    assert caught.value.hint == EXAMPLE
    assert len(str(caught.value)) < 250


@pytest.mark.case("CF-02")
@pytest.mark.parametrize("text", ZEROS)
def test_zero_and_nothing_are_refused(text: object) -> None:
    with pytest.raises(InvalidInput):
        parse_size(text)


@pytest.mark.parametrize("number", [4294967296, 4.0, True, ["4Gi"], {"Gi": 4}])
def test_what_is_not_text_is_refused(number: object) -> None:
    with pytest.raises(InvalidInput):
        parse_size(number)


@given(st.integers(1, SIZE_MAX_BYTES // GIB), st.sampled_from(["Ki", "Mi", "Gi"]), st.booleans())
def test_both_spellings_of_a_unit_are_one(count: int, unit: str, long: bool) -> None:
    scale = {"Ki": KIB, "Mi": MIB, "Gi": GIB}[unit]
    assert parse_size(f"{count}{unit}{'B' if long else ''}") == count * scale


@given(st.integers(1, 1 << 50))
def test_a_shown_size_reads_back_or_is_bytes(size_bytes: int) -> None:
    shown = format_size(size_bytes)
    if shown.endswith(" bytes"):
        assert int(shown.removesuffix(" bytes")) == size_bytes
    else:
        assert parse_size(shown) == size_bytes


@given(st.text(max_size=60))
def test_no_text_becomes_zero_or_breaks(text: str) -> None:
    try:
        size_bytes = parse_size(text)
    except InvalidInput:
        return
    assert 0 < size_bytes <= SIZE_MAX_BYTES


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (0, "0KiB"),
        (512, "0.5KiB"),
        (2 * GIB, "2GiB"),
        (GIB + GIB // 2, "1.5GiB"),
        (15 * GIB + 512 * MIB, "15.5GiB"),
        (450 * MIB, "450MiB"),
        (123456789, "123456789 bytes"),
        (-256 * MIB, "-256MiB"),
    ],
)
def test_sizes_are_shown_short_and_exact(size_bytes: int, shown: str) -> None:
    assert format_size(size_bytes) == shown


def test_tables_round_what_is_not_short() -> None:
    assert rounded_size(123456789) == "117.7MiB"
    assert rounded_size(0) == "0KiB"
    assert rounded_size(3 * GIB) == "3GiB"
