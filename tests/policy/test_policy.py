# SPDX-License-Identifier: GPL-2.0-only
"""The laws of compute time, on random mixes and on those that are easy to get wrong.

A window is 10 ms unless said otherwise, and calls and switches cost nothing unless said otherwise:
what is left of an error then is the policy's own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.policy.native import MS, NEVER, SECOND, US, Costs, Policy, Tenant

WINDOW = Costs().window_ns
laws = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
launches = st.sampled_from([0, 10 * US, MS, 7 * MS, 50 * MS])
priorities = st.integers(0, 15)


@st.composite
def fixed_mixes(draw: st.DrawFn) -> list[Tenant]:
    """Guarantees that sum up to 1000 at most, all greedy, min equal to max."""
    mins = draw(st.lists(st.integers(20, 500), min_size=1, max_size=12))
    while sum(mins) > 1000:
        mins.pop()
    return [
        Tenant(min_permille=one, max_permille=one, launch_ns=draw(launches))
        for one in mins or [300]
    ]


@st.composite
def mixes(draw: st.DrawFn) -> list[Tenant]:
    """Anything that is accepted, with demand that comes and goes."""
    left, made = 1000, []
    for _ in range(draw(st.integers(1, 10))):
        low = draw(st.integers(0, min(left, 600)))
        left -= low
        times = draw(st.lists(st.integers(0, 3000), max_size=6, unique=True))
        made.append(
            Tenant(
                min_permille=low,
                max_permille=draw(st.integers(max(low, 1), 1000)),
                weight=draw(st.integers(1, 10_000)),
                priority=draw(priorities),
                launch_ns=draw(launches),
                toggles=tuple(sorted(one * MS for one in times)),
            )
        )
    return made


def longest(tenant: Tenant) -> int:
    """Its longest window: one and a half of its part of a period, or of the shortest window."""
    return max(WINDOW, 100 * MS * tenant.min_permille // 1000) * 3 // 2 + tenant.launch_ns


def slack(tenants: list[Tenant]) -> int:
    """What windows and launches that cannot be cut may put off, in ns."""
    return sum(longest(one) for one in tenants)


@laws
@given(tenants=fixed_mixes())
def test_fixed_shares_get_what_they_bought(policy: Policy, tenants: list[Tenant]) -> None:
    outcome = policy.run(tenants, end_ns=20 * SECOND)
    for one, got in zip(tenants, outcome.tenants, strict=True):
        bought = outcome.end_ns * one.min_permille // 1000
        assert abs(got.ran_ns - bought) <= slack(tenants)


@laws
@given(tenants=mixes())
def test_never_over_the_maximum(policy: Policy, tenants: list[Tenant]) -> None:
    """Over the time in which it wanted the engine; what it could not be cut off is its launch."""
    outcome = policy.run(tenants, end_ns=4 * SECOND)
    for one, got in zip(tenants, outcome.tenants, strict=True):
        wakes = (len(one.toggles) + 1) // 2
        allowed = got.wanted_ns * one.max_permille // 1000
        assert got.ran_ns <= allowed + wakes * longest(one)


@laws
@given(tenants=mixes())
def test_nothing_is_left_unused_that_somebody_may_have(
    policy: Policy, tenants: list[Tenant]
) -> None:
    outcome = policy.run(tenants, end_ns=4 * SECOND)
    assert outcome.unused_ns == 0
    for got in outcome.tenants:
        assert got.ran_ns + got.throttled_ns + got.waited_ns <= got.wanted_ns + slack(tenants)


@laws
@given(mins=st.lists(st.integers(10, 300), min_size=1, max_size=5), others=mixes())
def test_a_guarantee_holds_beside_anybody(
    policy: Policy, mins: list[int], others: list[Tenant]
) -> None:
    """Whatever else is on the card, of whatever priority, and however it comes and goes."""
    while sum(mins) + sum(one.min_permille for one in others) > 1000:
        if len(others) > 1:
            others.pop()
        else:
            others = [Tenant(priority=15)]
            mins = mins[:3]
    asked = [Tenant(min_permille=one, max_permille=one, priority=0) for one in mins]
    outcome = policy.run([*asked, *others], end_ns=10 * SECOND)
    for one, got in zip(asked, outcome.tenants, strict=False):
        assert got.ran_ns >= got.wanted_ns * one.min_permille // 1000 - slack([*asked, *others])


@laws
@given(weights=st.lists(st.integers(1, 1000), min_size=2, max_size=8))
def test_what_is_left_goes_by_weight(policy: Policy, weights: list[int]) -> None:
    tenants = [Tenant(weight=one) for one in weights]
    outcome = policy.run(tenants, end_ns=60 * SECOND, costs=Costs(floor_permille=0))
    for one, got in zip(weights, outcome.tenants, strict=True):
        fair = outcome.end_ns * one // sum(weights)
        assert abs(got.ran_ns - fair) <= slack(tenants)


@laws
@given(low=st.integers(0, 14), weights=st.tuples(st.integers(1, 100), st.integers(1, 10_000)))
def test_what_is_left_goes_to_the_higher_priority(
    policy: Policy, low: int, weights: tuple[int, int]
) -> None:
    tenants = [Tenant(priority=low + 1, weight=weights[0]), Tenant(priority=low, weight=weights[1])]
    outcome = policy.run(tenants, costs=Costs(floor_permille=0))
    assert outcome.tenants[1].ran_ns == 0
    assert outcome.tenants[0].ran_ns == outcome.end_ns


def test_the_floor_keeps_the_lowest_alive(policy: Policy) -> None:
    tenants = [Tenant(min_permille=900, max_permille=1000, priority=15)]
    tenants += [Tenant(priority=1), Tenant(priority=0)]
    outcome = policy.run(tenants, end_ns=20 * SECOND)
    assert outcome.permille(1) == pytest.approx(5, abs=1)
    assert outcome.permille(2) == pytest.approx(5, abs=1)


def test_no_floor_where_guarantees_leave_no_room(policy: Policy) -> None:
    tenants = [Tenant(min_permille=1000, priority=0), Tenant(priority=15)]
    assert policy.run(tenants).tenants[1].ran_ns == 0


def test_alone_on_the_card_a_fixed_share_gets_its_share(policy: Policy) -> None:
    outcome = policy.run([Tenant(min_permille=200, max_permille=200)])
    assert outcome.permille(0) == pytest.approx(200, abs=1)
    assert outcome.switches == 10 * SECOND // (50 * MS)


def test_alone_on_the_card_nobody_decides(policy: Policy) -> None:
    outcome = policy.run([Tenant()], costs=Costs(call_ns=300 * US, switch_ns=200 * US))
    assert outcome.switches == 1
    assert outcome.decisions < 10
    assert outcome.permille(0) >= 999


def test_a_share_that_sleeps_gives_and_gets_back(policy: Policy) -> None:
    """Burst 30 beside 70, which works every other half second."""
    works = tuple(500 * MS * i for i in range(20))
    tenants = [
        Tenant(min_permille=300, max_permille=1000),
        Tenant(min_permille=700, max_permille=700, toggles=works),
    ]
    outcome = policy.run(tenants, bin_ns=100 * MS)
    assert outcome.permille(0) == pytest.approx(650, abs=10)
    assert outcome.permille(1) == pytest.approx(350, abs=10)
    for i, ran in enumerate(outcome.tenants[0].bins[:100]):
        idle = (i // 5) % 2 == 1
        wanted = 100 * MS if idle else 30 * MS
        assert abs(ran - wanted) <= 2 * WINDOW, (i, ran)


def test_a_debt_is_repaid_before_anything_new(policy: Policy) -> None:
    """Launches of 2 s at 30 %: each is followed by 4.7 s without, and neither side loses."""
    tenants = [
        Tenant(min_permille=300, max_permille=300, launch_ns=2 * SECOND),
        Tenant(min_permille=700, max_permille=700),
    ]
    outcome = policy.run(tenants, end_ns=60 * SECOND, bin_ns=100 * MS)
    assert outcome.permille(0) == pytest.approx(300, abs=35)
    assert outcome.permille(1) == pytest.approx(700, abs=35)
    ran = outcome.tenants[0].bins
    longest = max(len(one) for one in "".join("x" if one else "." for one in ran).split("."))
    assert longest <= 21, "never two launches in a row"


def test_what_was_had_of_the_rest_costs_no_guarantee(policy: Policy) -> None:
    """Ten seconds alone on the card, then a rival of the highest priority: 30 % from the start."""
    tenants = [
        Tenant(min_permille=300, priority=0),
        Tenant(min_permille=700, priority=15, toggles=(10 * SECOND,)),
    ]
    outcome = policy.run(tenants, end_ns=20 * SECOND, bin_ns=200 * MS)
    for ran in outcome.tenants[0].bins[51:100]:
        assert abs(ran - 60 * MS) <= WINDOW


def test_a_newcomer_is_not_punished_for_the_past_of_others(policy: Policy) -> None:
    tenants = [Tenant(), Tenant(toggles=(5 * SECOND,))]
    outcome = policy.run(tenants, bin_ns=SECOND)
    assert outcome.tenants[1].bins[5] == pytest.approx(SECOND / 2, abs=2 * WINDOW)
    assert outcome.tenants[0].bins[5] == pytest.approx(SECOND / 2, abs=2 * WINDOW)


def test_high_priority_takes_over_within_its_calls(policy: Policy) -> None:
    """Woken in the middle of another's window: two calls and a switch later it runs."""
    wakes = tuple(t for i in range(50) for t in (i * 97 * MS + 13 * MS, i * 97 * MS + 16 * MS))
    tenants = [Tenant(priority=15, toggles=wakes), Tenant(priority=0)]
    outcome = policy.run(tenants, costs=Costs(call_ns=50 * US, switch_ns=50 * US))
    assert outcome.tenants[0].worst_latency_ns <= 2 * 50 * US + 50 * US


@pytest.mark.parametrize("call_us", [50, 300, 1000])
def test_costs_are_shared_by_all(policy: Policy, call_us: int) -> None:
    """What calls take of the card is nobody's: what remains is divided as bought."""
    costs = Costs(
        call_ns=call_us * US, switch_ns=200 * US, window_ns=max(10 * MS, 40 * call_us * US)
    )
    tenants = [Tenant(min_permille=one, max_permille=one) for one in (300, 700)]
    outcome = policy.run(tenants, costs=costs)
    ran = [one.ran_ns for one in outcome.tenants]
    assert ran[0] / sum(ran) == pytest.approx(0.3, abs=0.01)
    assert outcome.lost_ns <= outcome.end_ns * 0.05


# ---- single operations ----


class Box:
    """A policy with up to 64 shares, each operation followed by a look at the heaps."""

    def __init__(self, policy: Policy) -> None:
        self.lib = policy.lib
        costs = Costs()
        self.box = self.lib.box_new(
            costs.window_ns, costs.period_ns, costs.debt_ns, costs.floor_permille
        )
        self.policy = self.lib.box_policy(self.box)

    def call(self, name: str, share: int, *arguments: int) -> int:
        function = getattr(self.lib, f"gsh_policy_{name}")
        result = function(self.policy, self.lib.box_share(self.box, share), *arguments)
        assert self.lib.box_sound(self.box), name
        return int(result or 0)

    def choose(self, now_ns: int) -> tuple[int, int]:
        reason, until = ctypes.c_uint32(), ctypes.c_uint64()
        chosen = self.lib.box_choose(self.box, now_ns, ctypes.byref(reason), ctypes.byref(until))
        assert self.lib.box_sound(self.box)
        assert until.value > now_ns
        return int(chosen), until.value


@contextmanager
def box(policy: Policy) -> Iterator[Box]:
    made = Box(policy)
    try:
        yield made
    finally:
        made.lib.box_free(made.box)


figures = st.tuples(
    st.integers(0, 1000), st.integers(0, 1100), st.integers(0, 11_000), st.integers(0, 17)
)
operations = st.one_of(
    st.tuples(st.just("wake"), st.integers(0, 15)),
    st.tuples(st.just("sleep"), st.integers(0, 15)),
    st.tuples(st.just("ran"), st.integers(0, 15), st.integers(0, 3 * SECOND)),
    st.tuples(st.just("set"), st.integers(0, 15), figures),
    st.tuples(st.just("choose"), st.just(0)),
)


@laws
@given(steps=st.lists(st.tuples(st.integers(0, 200 * MS), operations), max_size=80))
def test_heaps_hold_under_any_operations(
    policy: Policy, steps: list[tuple[int, tuple[object, ...]]]
) -> None:
    with box(policy) as made:
        for share in range(16):
            assert made.call("share_init", share, 0, 1000, 100, share) == 0
        active: set[int] = set()
        now = SECOND
        for passed, (name, number, *rest) in steps:
            now += passed
            share = int(str(number))
            if name == "choose":
                chosen, _ = made.choose(now)
                assert chosen == -1 or chosen in active
            elif name == "set":
                (numbers,) = rest
                assert isinstance(numbers, tuple)
                low, high, weight, priority = numbers
                right = 0 < high <= 1000 and low <= high and 0 < weight <= 10_000 and priority < 16
                assert (made.call("set", share, *numbers, now) == 0) == right
            elif name == "ran":
                made.call("ran", share, *(int(str(one)) for one in rest), now)
            else:
                made.call(str(name), share, now)
                (active.add if name == "wake" else active.discard)(share)


def test_nobody_wants_it(policy: Policy) -> None:
    with box(policy) as made:
        made.call("share_init", 0, 0, 1000, 100, 0)
        assert made.choose(SECOND) == (-1, NEVER)
        made.call("wake", 0, SECOND)
        assert made.choose(SECOND) == (0, NEVER)
        made.call("sleep", 0, 2 * SECOND)
        assert made.choose(2 * SECOND) == (-1, NEVER)


def test_a_held_share_says_when_it_may_go_on(policy: Policy) -> None:
    with box(policy) as made:
        made.call("share_init", 0, 0, 100, 100, 0)
        made.call("wake", 0, SECOND)
        made.call("ran", 0, 10 * MS, SECOND + 10 * MS)
        assert made.choose(SECOND + 10 * MS) == (-1, SECOND + 100 * MS)


def test_a_larger_maximum_holds_less_at_once(policy: Policy) -> None:
    """Ten times the rate: a tenth of what was still to wait."""
    with box(policy) as made:
        made.call("share_init", 0, 0, 100, 100, 0)
        made.call("wake", 0, SECOND)
        made.call("ran", 0, 10 * MS, SECOND + 10 * MS)
        made.call("set", 0, 0, 1000, 100, 0, SECOND + 10 * MS)
        assert made.choose(SECOND + 10 * MS) == (-1, SECOND + 19 * MS)
