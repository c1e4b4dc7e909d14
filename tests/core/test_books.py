# SPDX-License-Identifier: GPL-2.0-only
"""Accounts never pass a quota by permission, never wrap, and always add up."""

from __future__ import annotations

import errno
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.native import ADDRESS, Buffer, Core, Struct

MIB = 1 << 20
GIB = 1 << 30
U64 = (1 << 64) - 1
KINDS = 4
OBJECT, MANAGED, OVERHEAD, LINGERING = range(KINDS)

sizes = st.one_of(
    st.integers(0, U64),
    st.integers(0, 64 * GIB),
    st.sampled_from([0, 1, MIB, GIB, U64, U64 - 1, 1 << 63]),
)
fixtures_are_constant = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


class Account:
    """One account, with its invariants checked after each call."""

    def __init__(self, core: Core, quota: int) -> None:
        self.core = core
        self.struct = core.struct("gsh_account")
        core.call("gsh_account_init", self.struct, quota)

    def __call__(self, name: str, *arguments: int) -> int:
        result = self.core.call(f"gsh_account_{name}", self.struct, *arguments)
        kinds = sum(self.kind(kind) for kind in range(KINDS))
        assert self["charged"] == kinds <= U64
        assert self.struct["peak_bytes"] >= self["charged"] or name == "peak_reset"
        return result

    def __getitem__(self, name: str) -> int:
        return self.struct[f"{name}_bytes"]

    def kind(self, kind: int) -> int:
        return self.struct[f"by_kind_bytes[{kind}]"]


def test_reserve_up_to_the_quota_and_not_a_byte_more(core: Core) -> None:
    account = Account(core, 512 * MIB)
    assert account("reserve", 300 * MIB) == 0
    assert account("reserve", 212 * MIB + 1) == -errno.EDQUOT
    assert account("reserve", 212 * MIB) == 0
    assert account("reserve", 1) == -errno.EDQUOT
    assert account.struct["refusals"] == 2


def test_settle_charges_the_true_size_and_gives_the_rest_back(core: Core) -> None:
    account = Account(core, GIB)
    account("reserve", 10 * MIB)
    assert account("settle", OBJECT, 10 * MIB, 7 * MIB) == 1
    assert (account["reserved"], account["charged"], account.kind(OBJECT)) == (0, 7 * MIB, 7 * MIB)


def test_settle_over_quota_says_so_and_keeps_the_charge(core: Core) -> None:
    account = Account(core, 10 * MIB)
    account("reserve", 10 * MIB)
    assert account("settle", OBJECT, 10 * MIB, 12 * MIB) == 0
    assert account["charged"] == 12 * MIB
    assert account("reserve", 0) == -errno.EDQUOT


def test_a_tenant_over_its_quota_gets_nothing_more(core: Core) -> None:
    account = Account(core, GIB)
    account("charge", OVERHEAD, 600 * MIB)
    account("set_quota", 256 * MIB)
    assert account("over") == 1
    assert account("fits", 0) == 0
    assert account("reserve", 1) == -errno.EDQUOT


@pytest.mark.case("MA-03")
def test_lowered_below_use_free_reads_zero_and_used_stays(core: Core) -> None:
    account = Account(core, 1024 * MIB)
    account("charge", OBJECT, 600 * MIB)
    account("set_quota", 256 * MIB)
    assert account("free_bytes", U64) == 0
    assert account["charged"] == 600 * MIB


@pytest.mark.case("MA-03")
def test_releasing_twice_is_a_fault_and_takes_nothing_from_others(core: Core) -> None:
    account = Account(core, GIB)
    account("charge", OBJECT, 100 * MIB)
    account("charge", MANAGED, 50 * MIB)
    assert account("release", OBJECT, 100 * MIB) == 100 * MIB
    assert account("release", OBJECT, 100 * MIB) == 0
    assert account["charged"] == account.kind(MANAGED) == 50 * MIB
    assert account.struct["faults"] == 1


@pytest.mark.case("MA-03")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_million_random_operations_agree_with_a_model(core: Core, seed: int) -> None:
    operations = 1_000_000 if not ADDRESS or os.environ.get("GPUSHARE_LONG") == "1" else 100_000
    assert core.call("gsh_books_soak", seed, operations) == operations


def test_moving_keeps_the_sum(core: Core) -> None:
    account = Account(core, GIB)
    account("charge", OBJECT, 100)
    assert account("move", OBJECT, LINGERING, 60) == 60
    assert (account.kind(OBJECT), account.kind(LINGERING), account["charged"]) == (40, 60, 100)
    assert account("move", OBJECT, LINGERING, 60) == 40
    assert account.struct["faults"] == 1


def test_a_measured_kind_goes_up_and_down(core: Core) -> None:
    account = Account(core, 100)
    assert account("set_kind", MANAGED, 90) == 1
    assert account("set_kind", MANAGED, 110) == 0
    assert account("set_kind", MANAGED, 30) == 1
    assert account["charged"] == 30
    assert account["peak"] == 110
    account("peak_reset")
    assert account["peak"] == 30


calls = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), sizes),
        st.tuples(st.just("unreserve"), sizes),
        st.tuples(st.just("settle"), st.integers(0, KINDS - 1), sizes, sizes),
        st.tuples(st.just("charge"), st.integers(0, KINDS - 1), sizes),
        st.tuples(st.just("release"), st.integers(0, KINDS - 1), sizes),
        st.tuples(st.just("move"), st.integers(0, KINDS - 1), st.integers(0, KINDS - 1), sizes),
        st.tuples(st.just("set_kind"), st.integers(0, KINDS - 1), sizes),
        st.tuples(st.just("set_quota"), sizes),
    ),
    max_size=40,
)


@fixtures_are_constant
@given(quota=sizes, calls=calls, card_free=sizes)
def test_no_order_of_calls_wraps(
    core: Core, quota: int, calls: list[tuple[str, int]], card_free: int
) -> None:
    account = Account(core, quota)
    for name, *arguments in calls:
        held = account["charged"] + account["reserved"]
        result = account(name, *arguments)
        if name == "reserve" and result == 0:
            assert held + arguments[0] <= account["quota"]
        free = account("free_bytes", card_free)
        assert free == min(max(0, account["quota"] - account["charged"]), card_free)


@fixtures_are_constant
@given(quota=st.integers(0, 1 << 40), wants=st.lists(st.integers(0, 1 << 38), max_size=60))
def test_what_reserve_grants_never_sums_above_the_quota(
    core: Core, quota: int, wants: list[int]
) -> None:
    account = Account(core, quota)
    granted = [want for want in wants if account("reserve", want) == 0]
    assert sum(granted) == account["reserved"] <= quota
    # the refused request is the first that would pass what is left
    assert all(want > quota - sum(granted) or want in granted for want in wants)


# ---- a card ----


@pytest.fixture
def card(core: Core) -> Struct:
    made = core.struct("gsh_card_books")
    core.call("gsh_card_books_init", made, 80 * GIB, 2 * GIB, 1000)
    return made


def test_quotas_up_to_what_the_card_can_grant(core: Core, card: Struct) -> None:
    assert core.call("gsh_card_grantable_bytes", card) == 78 * GIB
    assert core.call("gsh_card_grant_change", card, 0, 40 * GIB) == 0
    assert core.call("gsh_card_grant_change", card, 0, 38 * GIB + 1) == -errno.ENOSPC
    assert core.call("gsh_card_ungranted_bytes", card) == 38 * GIB
    assert core.call("gsh_card_grant_change", card, 0, 38 * GIB) == 0
    assert core.call("gsh_card_grant_change", card, 40 * GIB, 41 * GIB) == -errno.ENOSPC
    assert card["granted_bytes"] == 78 * GIB


def test_lowering_succeeds_on_an_over_granted_card(core: Core, card: Struct) -> None:
    assert core.call("gsh_card_grant_change", card, 0, 78 * GIB) == 0
    card["overcommit_permille"] = 500
    assert core.call("gsh_card_grant_change", card, 78 * GIB, 77 * GIB) == 0
    assert core.call("gsh_card_grant_change", card, 77 * GIB, 78 * GIB) == -errno.ENOSPC


def test_a_grant_never_made_is_not_taken_back(core: Core, card: Struct) -> None:
    assert core.call("gsh_card_grant_change", card, 1, 0) == -errno.EOVERFLOW
    assert core.call("gsh_card_grant_change", card, 0, U64) == -errno.ENOSPC
    card["granted_bytes"] = 1
    assert core.call("gsh_card_grant_change", card, 0, U64) == -errno.EOVERFLOW


@fixtures_are_constant
@given(total=sizes, reserved=sizes, permille=st.integers(0, 200_000))
def test_what_can_be_granted_is_exact_or_saturates(
    core: Core, total: int, reserved: int, permille: int
) -> None:
    made = core.struct("gsh_card_books")
    core.call("gsh_card_books_init", made, total, reserved, permille)
    exact = max(0, total - reserved) * min(permille, 100_000) // 1000
    assert core.call("gsh_card_grantable_bytes", made) == min(exact, U64)


# ---- bounds of one request ----

HUGE_BYTES = {0: 2 * MIB, 1: 2 * MIB, 2: 512 * MIB, 3: 256 * GIB}


def bounds(core: Core, size: int, attr: int = 0, attr2: int = 0) -> tuple[int, int]:
    lower, upper = Buffer(bytes(8)), Buffer(bytes(8))
    core.call("gsh_memory_bounds", size, attr, attr2, lower, upper)
    return lower.u64(0), upper.u64(0)


@fixtures_are_constant
@given(size=sizes, attr=st.integers(0, (1 << 32) - 1), attr2=st.integers(0, (1 << 32) - 1))
def test_bounds_enclose_the_size(core: Core, size: int, attr: int, attr2: int) -> None:
    lower, upper = bounds(core, size, attr, attr2)
    assert size <= lower <= upper <= U64


@fixtures_are_constant
@given(size=st.integers(1, 1 << 50), huge=st.integers(0, 3), page=st.integers(0, 3))
def test_bounds_follow_the_rounding_of_the_driver(
    core: Core, size: int, huge: int, page: int
) -> None:
    lower, upper = bounds(core, size, page << 23, huge << 20)
    unit = HUGE_BYTES[huge] if page == 3 else (2 * MIB if size >= 2 * MIB else 128 << 10)
    assert upper == -(-size // unit) * unit
    assert lower == -(-size // {1: 4096, 3: unit}.get(page, 64 << 10)) * {
        1: 4096,
        3: unit,
    }.get(page, 64 << 10)


@pytest.mark.parametrize(
    ("size", "upper"),
    [(1, 128 << 10), (2 * MIB - 1, 2 * MIB), (2 * MIB, 2 * MIB), (2 * MIB + 1, 4 * MIB), (0, 0)],
)
def test_upper_bound_at_the_edges(core: Core, size: int, upper: int) -> None:
    assert bounds(core, size)[1] == upper
