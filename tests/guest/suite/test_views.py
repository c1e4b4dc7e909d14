# SPDX-License-Identifier: GPL-2.0-only
"""What a tenant sees: its quota, its own processes, its own cards, and the rest as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pytest

from tests.guest.rm import truth
from tests.guest.rm.abi import MIB, Block, N, running
from tests.guest.rm.abi import make as make_block
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, Heap, status_of
from tests.guest.rm.genl import Genl
from tests.guest.rm.node import Nodes
from tests.guest.rm.tenant import KernelCard, MakeTenant, Tenant, tenant
from tests.guest.suite.actors import Actor

QUOTA: Final = 3072 * MIB
USED: Final = 500 * MIB
RAM, TOTAL, HEAP = N.NV_FB_INFO_RAM_SIZE, N.NV_FB_INFO_TOTAL_RAM_SIZE, N.NV_FB_INFO_HEAP_SIZE
FREE, USABLE = N.NV_FB_INFO_HEAP_FREE, N.NV_FB_INFO_USABLE_RAM_SIZE
UNRELATED: Final = (0x1E, 0x2A, 0x1, 0xD, N.NV_FB_INFO_BAR1_SIZE)
LISTS: Final = {
    "ram": [RAM],
    "four sizes": [TOTAL, HEAP, FREE, USABLE],
    "one thrice": [FREE, FREE, FREE],
    "mixed": [0x1E, FREE, 0x2A, TOTAL],
    "all": list(range(0x36)),
}


@pytest.fixture
def seen(make: MakeTenant) -> Iterator[tuple[Card, Card]]:
    """The card as a tenant with 500 of 3072 MiB used sees it, and as it is."""
    owner = make("c1", QUOTA)
    with Client(owner.nodes) as inside, Card(inside) as card:
        card.memory(USED)
        with Client(Nodes.real()) as outside, Card(outside) as real:
            yield card, real


def _expected(index: int, real: int) -> int:
    free = QUOTA - USED >> 10
    if index in (RAM, TOTAL, HEAP, USABLE):
        return QUOTA >> 10
    if index in (FREE, N.NV_FB_INFO_LARGEST_FREE_SIZE, N.NV_FB_INFO_PROTECTED_FREE):
        return min(free, real)
    if index in (N.NV_FB_INFO_MAPPABLE_HEAP_SIZE, N.NV_FB_INFO_PROTECTED_TOTAL):
        return min(QUOTA >> 10, real)
    if index in (
        N.NV_FB_INFO_FB_TAX_SIZE,
        N.NV_FB_INFO_RESERVED_HEAP_SIZE,
        N.NV_FB_INFO_HEAP_OFFLINE_SIZE,
        N.NV_FB_INFO_LARGEST_FREE_BASE,
    ):
        return 0
    return real


@pytest.mark.case("VI-02")
@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("old", [False, True], ids=["list inside", "list behind a pointer"])
def test_memory_info_is_rewritten_item_by_item(
    seen: tuple[Card, Card], name: str, old: bool
) -> None:
    card, real = seen
    indices = LISTS[name]
    inside = card.fb_info_old(indices) if old else card.fb_info(indices)
    outside = real.fb_info_old(indices) if old else real.fb_info(indices)
    assert inside == [_expected(*pair) for pair in zip(indices, outside, strict=True)]


@pytest.mark.case("VI-02")
@pytest.mark.parametrize("old", [False, True], ids=["list inside", "list behind a pointer"])
def test_lists_the_driver_refuses_are_refused_alike(seen: tuple[Card, Card], old: bool) -> None:
    """An empty one, and one longer than the format allows; nothing passes the buffer's end."""
    entries = running()["fb_info_v2_entries"]
    for count in (0, entries + 1, 1 << 20, 0xFFFFFFFF):
        answers = []
        for card in seen:
            if old:
                pairs = Block(8 * 64)
                pairs.put(0, b"\xaa" * pairs.size)
                params = Block(16)
                params.set_u32(0, count)
                params.set_u64(8, pairs.address)
                command = N.NV2080_CTRL_FB_GET_INFO
            else:
                params = pairs = Block(running()["fb_info_v2_bytes"] + 64)
                params.put(running()["fb_info_v2_bytes"], b"\xaa" * 64)
                params.set_u32(0, count)
                command = N.NV2080_CTRL_FB_GET_INFO_V2
            status = status_of(
                card.client.control,
                card.subdevice,
                command,
                params,
                size=None if old else running()["fb_info_v2_bytes"],
            )
            answers.append(status)
            assert pairs.raw[-64:] == b"\xaa" * 64
        assert answers[0] == answers[1], count


@pytest.mark.case("VI-01")
def test_all_memory_queries_agree(seen: tuple[Card, Card]) -> None:
    card, _ = seen
    client = card.client
    info = client.heap(card.device, Heap.INFO)
    heap = (info.u64(N.NVOS32_OFF_TOTAL), info.u64(N.NVOS32_OFF_FREE))
    assert heap == card.total_free() == (QUOTA, QUOTA - USED)
    assert card.fb_info([N.NV_FB_INFO_HEAP_SIZE, N.NV_FB_INFO_FB_TAX_SIZE]) == [QUOTA >> 10, 0]
    alloc = client.heap(
        card.device, Heap.SIZE, {N.NVOS32_OFF_ALLOC_OWNER: 1}, {N.NVOS32_OFF_ALLOC_SIZE: 2 * MIB}
    )
    shown = (alloc.u64(N.NVOS32_OFF_TOTAL), alloc.u64(N.NVOS32_OFF_FREE))
    assert shown in {(QUOTA, QUOTA - USED - 2 * MIB), (0, 0)}
    assert card.pid_info(*card.pids())[0].bytes == USED + 2 * MIB


def test_regions_sum_up_to_no_more_than_the_quota(seen: tuple[Card, Card]) -> None:
    card, real = seen
    row = running()
    sums = []
    for one in (card, real):
        params = Block(row["fb_region_bytes"])
        one.client.control(one.subdevice, N.NV2080_CTRL_FB_GET_FB_REGION_INFO, params)
        total = 0
        for region in range(params.u32(0)):
            start = 8 + region * row["fb_region_entry_bytes"]
            total += params.u64(start + 8) + 1 - params.u64(start) - params.u64(start + 16)
        sums.append(total)
    assert sums[0] == QUOTA < sums[1]


def test_free_is_never_more_than_the_card_has(make: MakeTenant) -> None:
    owner = make("c1", 4096 * MIB)
    with Actor(Nodes.real()) as outside, Client(owner.nodes) as client, Card(client) as card:
        outside.alloc(truth.memory().free - 64 * MIB)
        assert card.total_free() == (4096 * MIB, 64 * MIB)
        assert owner.share().free == owner.figure("free_bytes") == 64 * MIB


@pytest.mark.case("VI-03")
def test_process_lists_show_own_processes_by_own_numbers(make: MakeTenant) -> None:
    """c1 has a pid namespace of its own with two processes; c2 has one, the host one."""
    c1, c2 = make("c1", 512 * MIB), make("c2", 512 * MIB)
    with ExitStack() as stack:
        first = stack.enter_context(Actor(c1.nodes, namespace=True))
        host_pid = next(one.pid for one in truth.clients() if one.handle == first.handle())
        second = stack.enter_context(Actor(c1.nodes, beside=host_pid))
        other = stack.enter_context(Actor(c2.nodes))
        real = stack.enter_context(Actor(Nodes.real()))
        sizes = {first: 10 * MIB, second: 20 * MIB, other: 30 * MIB, real: 40 * MIB}
        for actor, size in sizes.items():
            actor.alloc(size)
        assert first.own_pid == 1
        own = {first.own_pid: 10 * MIB, second.own_pid: 20 * MIB}
        for actor in (first, second):
            assert sorted(actor.pids()) == sorted(own)
            assert {one.pid: one.bytes for one in actor.pid_info(*own)} == own
        assert other.pids() == [other.own_pid]
        assert [one.bytes for one in other.pid_info(other.own_pid)] == [30 * MIB]
        # numbers of others, guessed, tell nothing: neither tenants' nor the host's
        for guess in (real.own_pid, host_pid):
            assert [one.bytes for one in other.pid_info(guess)] == [0]
        ours = {one.pid for one in truth.clients()}
        assert {other.own_pid, real.own_pid, host_pid} <= ours
        everybody = real.pids()
        assert {other.own_pid, real.own_pid, host_pid} <= set(everybody)
        assert len(everybody) == 4
        told = {one.pid: one.bytes for one in real.pid_info(*everybody)}
        assert sorted(told.values()) == sorted(sizes.values())


@pytest.mark.case("VI-04")
def test_idle_share_reads_empty_and_asking_leaves_no_trace(make: MakeTenant) -> None:
    owner = make("c1", 1024 * MIB)
    for _ in range(10):
        with Client(owner.nodes) as client, Card(client) as card:
            client.attach()
            assert card.total_free() == (1024 * MIB, 1024 * MIB)
    with ExitStack() as stack:
        three = [stack.enter_context(Actor(owner.nodes)) for _ in range(3)]
        assert {actor.total_free() for actor in three} == {(1024 * MIB, 1024 * MIB)}
    assert owner.charged() == 0
    assert owner.share().peak == 0


# ---- cards ----


def _of_both(genl: Genl, card: KernelCard, other: KernelCard) -> tuple[Tenant, Tenant, ExitStack]:
    stack = ExitStack()
    one = stack.enter_context(tenant(genl, "c1", {other.uuid: 64 * MIB}))
    both = stack.enter_context(tenant(genl, "c2", {card.uuid: 64 * MIB, other.uuid: 64 * MIB}))
    return one, both, stack


def test_only_own_cards_are_listed(genl: Genl, card: KernelCard, other_card: KernelCard) -> None:
    one, both, stack = _of_both(genl, card, other_card)
    with stack:
        with Client(one.nodes) as client:
            assert [entry["gpu_id"] for entry in client.card_info()] == [other_card.gpu_id]
            assert [entry["minor_number"] for entry in client.card_info()] == [other_card.minor]
            assert client.probed_ids() == [other_card.gpu_id]
            client.attach()
            assert client.attached_ids() == [other_card.gpu_id]
        with Client(both.nodes) as client:
            ids = sorted([card.gpu_id, other_card.gpu_id])
            assert sorted(entry["gpu_id"] for entry in client.card_info()) == ids
            assert sorted(client.probed_ids()) == ids


def test_another_card_is_as_if_it_were_not_there(
    genl: Genl, card: KernelCard, other_card: KernelCard
) -> None:
    one, _, stack = _of_both(genl, card, other_card)
    with stack:
        assert not one.nodes.gpu(card.minor).exists()
        assert one.nodes.gpu(other_card.minor).exists()
        with Client(one.nodes) as client:
            assert status_of(client.attach, card.gpu_id) == N.NV_ERR_INVALID_ARGUMENT
            for command, size in (
                (N.NV0000_CTRL_GPU_GET_ID_INFO_V2, 32),
                (N.NV0000_CTRL_GPU_GET_PCI_INFO, 12),
            ):
                for gpu_id, fine in ((card.gpu_id, False), (other_card.gpu_id, True)):
                    params = Block(size)
                    params.set_u32(0, gpu_id)
                    status = status_of(client.control, client.handle, command, params)
                    assert (status == 0) is fine, hex(command)
            device = make_block("nv0080_alloc", device_id=card.minor)
            assert status_of(client.alloc, client.handle, N.NV01_DEVICE_0, device) != 0
            # a card's device wants the card's node open, here as everywhere
            device = make_block("nv0080_alloc", device_id=other_card.minor)
            assert status_of(client.alloc, client.handle, N.NV01_DEVICE_0, device) != 0
            with Card(client, other_card.minor) as own:
                own.memory(2 * MIB)
        assert one.charged() in (0, 2 * MIB)
        one.settled()
