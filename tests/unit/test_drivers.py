# SPDX-License-Identifier: GPL-2.0-only
"""Driver versions compare as numbers, and what is none is unknown."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpushare.drivers import DriverVersion, by_branch, nearest, parse, parse_proc

PROPRIETARY = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Thu Jul 17 15:43:36 UTC 2025"
)
OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.163.01  Release Build  "
    "(dvs-builder@U22-I3-AE18-09-6)  Tue Apr  8 12:41:17 UTC 2025"
)


def version(text: str) -> DriverVersion:
    found = parse(text)
    assert found is not None, text
    return found


@pytest.mark.case("DC-03")
@pytest.mark.parametrize(
    "ascending",
    [
        ["470.82.01", "470.161.03", "470.256.02"],
        ["535.54.03", "535.161.07", "535.161.08"],
        ["595.8", "595.71.05"],
        ["390.157", "525.89", "525.89.02", "535"],
    ],
)
def test_numbers_decide_the_order(ascending: list[str]) -> None:
    found = [version(text) for text in ascending]
    assert sorted([*found[1:], found[0]]) == found
    assert all(a < b for a, b in pairwise(found))


@pytest.mark.case("DC-03")
def test_missing_and_padded_numbers_are_equal() -> None:
    assert version("550.90.07") == version("550.90.7")
    assert version("525.89") == version("525.89.00")
    assert version("525.89.02") > version("525.89")


@pytest.mark.case("DC-03")
@pytest.mark.parametrize(
    "text",
    ["", " ", "N/A", "unknown", "535.", ".261", "535.261.03.1", "535.261.03x", "535,261", "-1",
     "535.26a.03", "v535.261.03", "535.261.03 550.163.01", "1234567.1",
     "\uff15\uff13\uff15.261.03"],
)  # fmt: skip
def test_what_is_no_version_is_unknown(text: str) -> None:
    assert parse(text) is None


@pytest.mark.case("DC-03")
@pytest.mark.parametrize(
    "text", ["550.163.01-2", "550.163.01-0ubuntu0.24.04.1", "550.163.01+deb13u1", "550.163.01~rc1"]
)
def test_a_distributions_suffix_is_dropped(text: str) -> None:
    assert version(text) == version("550.163.01")
    assert str(version(text)) == "550.163.01"


@pytest.mark.case("DC-03")
@pytest.mark.parametrize(
    ("line", "number", "is_open"),
    [
        (PROPRIETARY, "535.261.03", False),
        (OPEN, "550.163.01", True),
        (OPEN + "\nGCC version:  gcc version 14.2.0 (Debian 14.2.0-19)\n", "550.163.01", True),
        (PROPRIETARY.replace("535.261.03", "535.261.03-1deb12u1"), "535.261.03", False),
        (OPEN.replace("550.163.01", "595.8"), "595.8", True),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.157", "390.157", False),
    ],
)
def test_the_modules_own_line_names_version_and_flavour(
    line: str, number: str, is_open: bool
) -> None:
    found = parse_proc(line)
    assert found is not None
    assert (str(found.version), found.is_open) == (number, is_open)


@pytest.mark.case("DC-03")
@pytest.mark.parametrize(
    "content",
    [
        "",
        "\n",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  N/A  Thu Jul 17 15:43:36 UTC 2025",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  Thu Jul 17 15:43:36 UTC 2025",
        "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)",
        "\n" + OPEN,
        PROPRIETARY.replace("535.261.03", "535.261.03rc"),
        "535.261.03",
    ],
)
def test_any_other_line_is_unknown(content: str) -> None:
    assert parse_proc(content) is None


@pytest.mark.case("DC-03")
@given(st.text(max_size=60))
def test_no_text_gives_a_number_that_is_not_in_it(text: str) -> None:
    found = parse(text)
    if found is not None:
        assert found.text in text
        assert text.strip().startswith(found.text)


SUPPORTED = ["570.195.03", "535.54.03", "535.261.03", "570.86.15"]


@pytest.mark.case("DC-01")
@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("570.211.01", ["570.195.03"]),
        ("610.57.04", ["570.195.03"]),
        ("390.157", ["535.54.03"]),
        ("550.163.01", ["535.261.03", "570.86.15"]),
        ("N/A", ["535.54.03", "570.195.03"]),
        ("", ["535.54.03", "570.195.03"]),
    ],
)
def test_the_nearest_supported_are_named(found: str, expected: list[str]) -> None:
    assert nearest(found, SUPPORTED) == expected


def test_of_nothing_supported_nothing_is_near() -> None:
    assert nearest("535.261.03", []) == nearest("N/A", []) == []
    assert nearest("N/A", ["535.54.03"]) == ["535.54.03"]


def test_branches_are_listed_by_their_ends() -> None:
    assert by_branch([*SUPPORTED, "580.126.20", "nonsense"]) == [
        "535.54.03 to 535.261.03 (2 releases)",
        "570.86.15 to 570.195.03 (2 releases)",
        "580.126.20",
    ]
