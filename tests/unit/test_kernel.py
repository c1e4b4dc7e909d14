# SPDX-License-Identifier: GPL-2.0-only
"""Requests and answers of the module as bytes."""

from __future__ import annotations

import asyncio
import errno

import pytest

from gpushared.kernel import NetlinkKernel
from gpushared.kernel_types import (
    KernelEvent,
    KernelMissing,
    KernelRefusal,
    NewTenant,
    ShareRequest,
    TenantUpdate,
)
from gpushared.netlink_abi import EventType, NodeKind, Policy
from tests.fakes.kernel import GIB, FakeKernel, card
from tests.fakes.netlink import FakeNetlink

A = card(0).uuid
B = card(1).uuid
NEW = NewTenant(
    name="a",
    uuid="5b9c4f4e-1111-4222-8333-444455556666",
    owner_uid=1000,
    owner_gid=27,
    mode=0o660,
    share=(
        ShareRequest(card_uuid=A, quota_bytes=5 * GIB, compute_min_permille=0, weight=7),
        ShareRequest(card_uuid=B, quota_bytes=GIB, policy=Policy.BURST, compute_min_permille=300),
    ),
)


@pytest.fixture
def netlink(two_cards: FakeKernel) -> FakeNetlink:
    return FakeNetlink(two_cards)


@pytest.fixture
def wire(netlink: FakeNetlink) -> NetlinkKernel:
    """The genuine codec in front of the fake."""
    return NetlinkKernel(netlink.open)


async def test_facts_survive_the_wire(wire: NetlinkKernel, two_cards: FakeKernel) -> None:
    assert await wire.info() == await two_cards.info()
    assert await wire.cards() == await two_cards.cards()
    assert await wire.tenants() == ()
    made = await wire.tenant_new(NEW)
    assert made == await two_cards.tenant("a")
    assert (made.share[0].quota_bytes, made.share[0].weight) == (5 * GIB, 7)
    assert (made.share[1].policy, made.share[1].compute_min_permille) == (Policy.BURST, 300)
    assert [node.kind for node in made.node] == [
        NodeKind.CTL,
        NodeKind.GPU,
        NodeKind.GPU,
        NodeKind.UVM,
    ]
    assert await wire.tenants() == (made,)
    assert await wire.tenant("a") == made
    assert await wire.stats() == await two_cards.stats()


async def test_clients_are_filtered_by_tenant(wire: NetlinkKernel, two_cards: FakeKernel) -> None:
    await wire.tenant_new(NEW)
    two_cards.open_file("a", pid=5)
    assert [client.pid for client in await wire.clients("a")] == [5]
    assert await wire.clients("b") == ()
    assert len(await wire.clients()) == 1


async def test_only_given_values_are_sent(wire: NetlinkKernel) -> None:
    before = await wire.tenant_new(NEW)
    await wire.share_set("a", ShareRequest(card_uuid=A, quota_bytes=6 * GIB))
    await wire.tenant_set(TenantUpdate(name="a", cgroup_id=99))
    after = await wire.tenant("a")
    assert after.cgroup_id == 99
    assert after.share[0] == before.share[0].model_copy(
        update={"quota_bytes": 6 * GIB, "free_bytes": 6 * GIB}
    )
    assert (after.share[1], after.owner_uid) == (before.share[1], 1000)
    await wire.tenant_set(TenantUpdate(name="a", unbind=True))
    assert (await wire.tenant("a")).cgroup_id is None


@pytest.mark.case("CF-02")
async def test_zero_is_carried_as_zero_and_refused(wire: NetlinkKernel) -> None:
    await wire.tenant_new(NEW)
    with pytest.raises(KernelRefusal, match="out of range"):
        await wire.share_set("a", ShareRequest(card_uuid=A, quota_bytes=0))
    # zero means something here, and is not taken for "unchanged"
    await wire.share_set("a", ShareRequest(card_uuid=B, compute_min_permille=0))
    assert (await wire.tenant("a")).share[1].compute_min_permille == 0


async def test_refusals_keep_errno_and_text(wire: NetlinkKernel, two_cards: FakeKernel) -> None:
    await wire.tenant_new(NEW)
    with pytest.raises(KernelRefusal) as caught:
        await wire.tenant_new(NEW)
    assert (caught.value.number, caught.value.text) == (errno.EEXIST, "tenant a exists")
    two_cards.open_file("a", pid=5)
    with pytest.raises(KernelRefusal) as caught:
        await wire.tenant_del("a", force=False)
    assert caught.value.number == errno.EBUSY
    await wire.tenant_del("a", force=True)
    assert await wire.tenants() == ()


async def test_a_refusal_with_a_text_is_not_tried_again(
    wire: NetlinkKernel, netlink: FakeNetlink
) -> None:
    with pytest.raises(KernelRefusal, match="no tenant a"):
        await wire.tenant("a")
    assert netlink.opened == 1


async def test_a_module_loaded_again_is_found_again(
    wire: NetlinkKernel, netlink: FakeNetlink
) -> None:
    await wire.info()
    netlink.family += 1
    await wire.tenant_new(NEW)
    assert netlink.opened == 2


async def test_a_missing_module_is_told_apart(wire: NetlinkKernel, two_cards: FakeKernel) -> None:
    two_cards.loaded = False
    with pytest.raises(KernelMissing):
        await wire.tenants()


async def test_requests_at_once_do_not_mix(wire: NetlinkKernel) -> None:
    await wire.tenant_new(NEW)
    tenants, cards = await asyncio.gather(
        asyncio.gather(*(wire.tenant("a") for _ in range(20))), wire.cards()
    )
    assert {tenant.name for tenant in tenants} == {"a"}
    assert len(cards) == 2


async def test_events_arrive(wire: NetlinkKernel, two_cards: FakeKernel) -> None:
    await wire.tenant_new(NEW)

    async def first() -> KernelEvent:
        async for event in wire.events():
            return event
        raise AssertionError("events ended")

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        task = group.create_task(first())
        await two_cards.listened.wait()
        two_cards.charge("a", A, 6 * GIB)
    event = task.result()
    assert (event.type, event.tenant, event.bytes) == (EventType.QUOTA_REFUSED, "a", 6 * GIB)
    assert event.pid is None
