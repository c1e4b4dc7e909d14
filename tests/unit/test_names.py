# SPDX-License-Identifier: GPL-2.0-only
"""Names, owners, percentages and policies."""

from __future__ import annotations

import pytest

from gpushare.compute import Entitlement, Policy, changed, entitlement, parse_percent
from gpushare.errors import InvalidInput
from gpushare.names import parse_name, parse_owner


@pytest.mark.parametrize("name", ["a", "0", "team-a", "a.b_c-d", "a" * 63])
def test_good_names_are_kept(name: str) -> None:
    assert parse_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "-a", "_a", "A", "a b", "a\n", "ä", "a" * 64, "a" * 300, None],
)
def test_bad_names_are_refused(name: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_name(name)
    assert caught.value.field == "name"
    assert len(str(caught.value)) < 200


def test_owner_is_two_numbers() -> None:
    assert parse_owner("1000:27") == (1000, 27)


@pytest.mark.parametrize("owner", ["", "root", "0", "1:2:3", "-1:0", "4294967295:0", "1: 2", 7])
def test_other_owners_are_refused(owner: object) -> None:
    with pytest.raises(InvalidInput):
        parse_owner(owner)


@pytest.mark.parametrize(
    ("text", "permille"), [("30%", 300), ("12.5%", 125), ("0.1%", 1), ("100%", 1000)]
)
def test_percent_in_tenths(text: str, permille: int) -> None:
    assert parse_percent(text) == permille


@pytest.mark.case("CF-02")
@pytest.mark.parametrize(
    "text", ["0%", "0.0%", "", "30", "30 %", "100.1%", "101%", "-5%", "0.05%", None, 0, 30]
)
def test_other_percentages_are_refused(text: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_percent(text)
    assert "30%" in caught.value.hint


@pytest.mark.parametrize(
    ("min_permille", "policy", "expected"),
    [
        (None, None, Entitlement(Policy.BEST_EFFORT, 0, 1000)),
        (300, None, Entitlement(Policy.FIXED, 300, 300)),
        (300, Policy.FIXED, Entitlement(Policy.FIXED, 300, 300)),
        (300, Policy.BURST, Entitlement(Policy.BURST, 300, 1000)),
        (None, Policy.BEST_EFFORT, Entitlement(Policy.BEST_EFFORT, 0, 1000)),
    ],
)
def test_policies_are_presets(
    min_permille: int | None, policy: Policy | None, expected: Entitlement
) -> None:
    assert entitlement(min_permille=min_permille, policy=policy) == expected


@pytest.mark.parametrize(
    ("min_permille", "policy"),
    [(None, Policy.FIXED), (None, Policy.BURST), (300, Policy.BEST_EFFORT)],
)
def test_contradictions_are_refused(min_permille: int | None, policy: Policy) -> None:
    with pytest.raises(InvalidInput):
        entitlement(min_permille=min_permille, policy=policy)


BURST_30 = Entitlement(Policy.BURST, 300, 1000)
NOTHING = Entitlement(Policy.BEST_EFFORT, 0, 1000)


@pytest.mark.parametrize(
    ("now", "min_permille", "policy", "expected"),
    [
        (BURST_30, None, None, BURST_30),
        (BURST_30, 500, None, Entitlement(Policy.BURST, 500, 1000)),
        (BURST_30, None, Policy.FIXED, Entitlement(Policy.FIXED, 300, 300)),
        (BURST_30, None, Policy.BEST_EFFORT, NOTHING),
        (NOTHING, 200, None, Entitlement(Policy.FIXED, 200, 200)),
        (NOTHING, 200, Policy.BURST, Entitlement(Policy.BURST, 200, 1000)),
    ],
)
def test_a_change_keeps_what_is_not_given(
    now: Entitlement, min_permille: int | None, policy: Policy | None, expected: Entitlement
) -> None:
    assert changed(now, min_permille=min_permille, policy=policy) == expected


def test_a_change_to_fixed_without_a_part_is_refused() -> None:
    with pytest.raises(InvalidInput):
        changed(NOTHING, min_permille=None, policy=Policy.FIXED)
