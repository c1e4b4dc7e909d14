# SPDX-License-Identifier: GPL-2.0-only
"""From what is to what is wanted, as steps. Pure: others carry the steps out.

Each step has its undo, so that a change of several shares can be taken back when
the module refuses one of them. Quotas that shrink come first: they make the room
that others on the same card may need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpushare.compute import Entitlement
from gpushare.compute import Policy as PolicyName
from gpushared.kernel_types import KernelShare, KernelTenant, ShareRequest, TenantUpdate
from gpushared.netlink_abi import Policy

POLICIES: Mapping[PolicyName, Policy] = {
    PolicyName.FIXED: Policy.FIXED,
    PolicyName.BURST: Policy.BURST,
    PolicyName.BEST_EFFORT: Policy.BEST_EFFORT,
}
POLICY_NAMES: Mapping[Policy, PolicyName] = {kernel: name for name, kernel in POLICIES.items()}


@dataclass(frozen=True, kw_only=True)
class WantedShare:
    """What a share is to be; None is "as it is"."""

    card_uuid: str
    quota_bytes: int | None = None
    entitlement: Entitlement | None = None
    weight: int | None = None
    priority: int | None = None


@dataclass(frozen=True, kw_only=True)
class WantedTenant:
    """What a tenant is to be; shares that are not named stay as they are."""

    owner: tuple[int, int] | None = None
    shares: tuple[WantedShare, ...] = ()


@dataclass(frozen=True)
class ShareStep:
    """One call of share-set, and the call that takes it back."""

    do: ShareRequest
    undo: ShareRequest


@dataclass(frozen=True)
class TenantStep:
    """One call of tenant-set, and the call that takes it back."""

    do: TenantUpdate
    undo: TenantUpdate


Step = ShareStep | TenantStep


def steps(actual: KernelTenant, wanted: WantedTenant) -> tuple[Step, ...]:
    """What has to be done; nothing for what already is as wanted."""
    share_steps = []
    for want in wanted.shares:
        share = actual.share_on(want.card_uuid)
        step = _share_step(share, want) if share is not None else None
        if step is not None:
            share_steps.append(step)
    share_steps.sort(key=_growth_bytes)
    owner = _owner_step(actual, wanted.owner)
    return (*share_steps, *owner)


def _owner_step(actual: KernelTenant, owner: tuple[int, int] | None) -> tuple[TenantStep, ...]:
    now = (actual.owner_uid, actual.owner_gid)
    if owner is None or owner == now:
        return ()
    do = TenantUpdate(name=actual.name, owner_uid=owner[0], owner_gid=owner[1])
    undo = TenantUpdate(name=actual.name, owner_uid=now[0], owner_gid=now[1])
    return (TenantStep(do, undo),)


def _share_step(share: KernelShare, want: WantedShare) -> ShareStep | None:
    wanted: dict[str, int | None] = {
        "quota_bytes": want.quota_bytes,
        "weight": want.weight,
        "priority": want.priority,
    }
    if want.entitlement is not None:
        wanted["compute_min_permille"] = want.entitlement.min_permille
        wanted["compute_max_permille"] = want.entitlement.max_permille
    now = {key: int(getattr(share, key)) for key in wanted}
    different = [key for key, value in wanted.items() if value not in (None, now[key])]
    policy = POLICIES[want.entitlement.policy] if want.entitlement is not None else share.policy
    if not different and policy == share.policy:
        return None
    policies = (policy, share.policy) if policy != share.policy else (None, None)
    return ShareStep(
        do=_request(share.card_uuid, {key: wanted[key] for key in different}, policies[0]),
        undo=_request(share.card_uuid, {key: now[key] for key in different}, policies[1]),
    )


def _request(
    card_uuid: str, values: Mapping[str, int | None], policy: Policy | None
) -> ShareRequest:
    return ShareRequest(
        card_uuid=card_uuid,
        quota_bytes=values.get("quota_bytes"),
        compute_min_permille=values.get("compute_min_permille"),
        compute_max_permille=values.get("compute_max_permille"),
        weight=values.get("weight"),
        priority=values.get("priority"),
        policy=policy,
    )


def _growth_bytes(step: ShareStep) -> int:
    return (step.do.quota_bytes or 0) - (step.undo.quota_bytes or 0)
