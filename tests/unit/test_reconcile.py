# SPDX-License-Identifier: GPL-2.0-only
"""From what is to what is wanted."""

from __future__ import annotations

from gpushare.compute import Entitlement
from gpushare.compute import Policy as PolicyName
from gpushared.kernel_types import KernelShare, KernelTenant, ShareRequest, TenantUpdate
from gpushared.netlink_abi import Policy
from gpushared.reconcile import ShareStep, TenantStep, WantedShare, WantedTenant, steps
from tests.fakes.kernel import GIB


def share(card_uuid: str, quota_bytes: int) -> KernelShare:
    return KernelShare(
        card_uuid=card_uuid,
        quota_bytes=quota_bytes,
        compute_min_permille=0,
        compute_max_permille=1000,
        weight=100,
        priority=0,
        policy=Policy.BEST_EFFORT,
        card_minor=0,
    )


ACTUAL = KernelTenant(
    name="a",
    uuid="u",
    owner_uid=0,
    owner_gid=0,
    mode=0o660,
    share=(share("A", 2 * GIB), share("B", 4 * GIB)),
)


def test_what_is_as_wanted_needs_no_step() -> None:
    wanted = WantedTenant(owner=(0, 0), shares=(WantedShare(card_uuid="A", quota_bytes=2 * GIB),))
    assert steps(ACTUAL, wanted) == ()


def test_only_what_differs_is_sent() -> None:
    wanted = WantedTenant(
        shares=(WantedShare(card_uuid="A", quota_bytes=3 * GIB, weight=100, priority=2),)
    )
    assert steps(ACTUAL, wanted) == (
        ShareStep(
            do=ShareRequest(card_uuid="A", quota_bytes=3 * GIB, priority=2),
            undo=ShareRequest(card_uuid="A", quota_bytes=2 * GIB, priority=0),
        ),
    )


def test_shrinking_comes_before_growing() -> None:
    wanted = WantedTenant(
        shares=(
            WantedShare(card_uuid="A", quota_bytes=3 * GIB),
            WantedShare(card_uuid="B", quota_bytes=3 * GIB),
        )
    )
    found = steps(ACTUAL, wanted)
    assert [step.do.card_uuid for step in found if isinstance(step, ShareStep)] == ["B", "A"]


def test_a_policy_travels_with_its_percentages() -> None:
    burst = Entitlement(PolicyName.BURST, 300, 1000)
    wanted = WantedTenant(shares=(WantedShare(card_uuid="A", entitlement=burst),))
    assert steps(ACTUAL, wanted) == (
        ShareStep(
            do=ShareRequest(card_uuid="A", compute_min_permille=300, policy=Policy.BURST),
            undo=ShareRequest(card_uuid="A", compute_min_permille=0, policy=Policy.BEST_EFFORT),
        ),
    )


def test_an_owner_is_changed_and_can_be_taken_back() -> None:
    assert steps(ACTUAL, WantedTenant(owner=(1000, 100))) == (
        TenantStep(
            do=TenantUpdate(name="a", owner_uid=1000, owner_gid=100),
            undo=TenantUpdate(name="a", owner_uid=0, owner_gid=0),
        ),
    )
