# SPDX-License-Identifier: GPL-2.0-only
"""Every route to card memory is charged, exactly, once; refusals are the driver's own."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import shutil
import subprocess
from contextlib import ExitStack
from typing import Final

import pytest

from gpushared.netlink_abi import Command, Policy
from tests.guest.rm import truth
from tests.guest.rm.abi import GIB, MIB, N
from tests.guest.rm.abi import make as make_block
from tests.guest.rm.card import ATTR_PCI, Card
from tests.guest.rm.client import Client, Refused, status_of
from tests.guest.rm.genl import Genl, Refusal
from tests.guest.rm.node import Nodes, reserve
from tests.guest.rm.tenant import SYSFS, KernelCard, MakeTenant, Tenant, tenant, wait_for
from tests.guest.rm.uvm import CardSpace, Uvm
from tests.guest.suite.actors import Actor
from tests.guest.suite.routes import ROUTES
from tests.guest.suite.scale import scaled

NO_MEMORY: Final = N.NV_ERR_NO_MEMORY
NO_CPU_MAPPING: Final = 1 << 30  # NVOS02_FLAGS_MAPPING

THREE: Final = ("alloc", "heap", "alloc-xfer")
THREE_LONG: Final = ("alloc-long", "heap", "alloc-long-xfer")


@pytest.mark.case("MB-03")
@pytest.mark.parametrize("three", [THREE, THREE_LONG], ids=["32-byte form", "48-byte form"])
def test_every_route_counts_the_same_in_every_order(
    make: MakeTenant, three: tuple[str, ...]
) -> None:
    owner = make("c1", 512 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        for order in itertools.permutations(three):
            held, refused = [], []
            for name in order:
                try:
                    held.append(ROUTES[name](card, 300 * MIB))
                except Refused as refusal:
                    refused.append(refusal.status)
            assert (len(held), refused) == (1, [NO_MEMORY, NO_MEMORY]), order
            assert owner.charged() == 300 * MIB == truth.memory().objects
            card.free(held[0])
            assert owner.charged() == 0 == truth.memory().objects


@pytest.mark.parametrize("name", ROUTES)
def test_route_is_charged_its_true_size_and_held_to_the_quota(make: MakeTenant, name: str) -> None:
    owner = make("c1", 64 * MIB)
    route = ROUTES[name]
    with Client(owner.nodes) as client, Card(client) as card:
        handle = route(card, 63 * MIB + 1 * MIB // 2)
        assert owner.charged() == truth.memory().objects == 64 * MIB
        assert card.surface_size(handle) == 64 * MIB
        assert status_of(card.memory, 64 << 10) == NO_MEMORY
        card.free(handle)
        assert owner.charged() == 0
        assert status_of(route, card, 64 * MIB + 1) == NO_MEMORY
        assert truth.memory().objects == 0
        card.free(route(card, 64 * MIB))


def test_first_refused_is_the_first_that_would_pass_the_quota(make: MakeTenant) -> None:
    """Not one granule too early, although an upper bound is reserved first."""
    owner = make("c1", 10 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        big = card.memory(8 * MIB)
        small = [card.memory(64 << 10) for _ in range(32)]
        assert owner.charged() == 10 * MIB
        assert status_of(card.memory, 1) == NO_MEMORY
        card.free(small.pop())
        # 128 KiB may be asked for, 64 KiB are left
        assert status_of(card.memory, 65 << 10) == NO_MEMORY
        small.append(card.memory(64 << 10))
        for handle in [big, *small]:
            card.free(handle)
    owner.settled()


@pytest.mark.parametrize("attr", [1 << 23, 2 << 23, 3 << 23], ids=["4K", "big", "huge"])
def test_page_size_decides_the_charge(make: MakeTenant, attr: int) -> None:
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        for size in (1, 4096, 65 << 10, 3 * MIB + 1):
            handle = card.memory(size, attr=attr)
            assert owner.charged() == truth.memory().objects == card.surface_size(handle)
            card.free(handle)


@pytest.mark.case("MB-05")
def test_external_mappings_keep_the_charge_and_are_counted_once(
    make: MakeTenant, card: KernelCard
) -> None:
    """What cuMemCreate, cuMemMap and cuMemRelease do, by raw calls."""
    owner = make("c1", 1024 * MIB)
    with Client(owner.nodes) as client, Card(client) as gpu, Uvm(owner.nodes) as uvm:
        space = CardSpace(uvm, client.handle, card.uuid_bytes, gpu.vaspace())
        first = gpu.memory(256 * MIB)
        maps = [space.map(first, 256 * MIB) for _ in range(2)]
        second = gpu.memory(512 * MIB)
        other = space.map(second, 512 * MIB)
        assert owner.charged() == 768 * MIB
        assert status_of(gpu.memory, 512 * MIB) == NO_MEMORY
        gpu.free(first)
        assert owner.charged() == 768 * MIB == truth.memory().objects
        assert owner.share().lingering == 256 * MIB == truth.memory().external_kept
        assert status_of(gpu.memory, 512 * MIB) == NO_MEMORY
        space.unmap(maps[0], 256 * MIB)
        assert owner.charged() == 768 * MIB
        space.unmap(maps[1], 256 * MIB)
        assert owner.charged() == 512 * MIB == truth.memory().objects
        space.unmap(other, 512 * MIB)
        gpu.free(second)
        assert owner.charged() == 0


def test_external_mappings_end_with_their_file(make: MakeTenant, card: KernelCard) -> None:
    owner = make("c1", 1024 * MIB)
    with Client(owner.nodes) as client, Card(client) as gpu:
        with Uvm(owner.nodes) as uvm:
            space = CardSpace(uvm, client.handle, card.uuid_bytes, gpu.vaspace())
            memory = gpu.memory(256 * MIB)
            space.map(memory, 256 * MIB)
            gpu.free(memory)
            assert owner.charged() == 256 * MIB
        owner.settled()


def test_export_keeps_the_charge_until_its_file_closes(make: MakeTenant) -> None:
    owner = make("c1", 256 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        memory = card.memory(128 * MIB)
        with Client(owner.nodes) as holder:
            client.export(card.device, card.device, memory, holder.ctl)
            card.free(memory)
            assert owner.charged() == 128 * MIB == truth.memory().objects
            again = client.import_from(card.device, card.device, holder.ctl, handle=0x5001)
            assert owner.charged() == 128 * MIB, "imported, not new"
            assert owner.share().lingering == 0
            card.free(again)
            assert owner.share().lingering == 128 * MIB
        owner.settled()
        assert truth.memory().objects == 0


def test_duplicates_are_not_counted_twice(make: MakeTenant) -> None:
    owner = make("c1", 256 * MIB)
    with (
        Client(owner.nodes) as client,
        Card(client) as card,
        Client(owner.nodes) as second,
        Card(second) as theirs,
    ):
        memory = card.memory(128 * MIB)
        copy = second.dup(theirs.device, client.handle, memory)
        twice = client.dup(card.device, client.handle, memory)
        assert owner.charged() == 128 * MIB == truth.memory().objects
        card.free(memory)
        card.free(twice)
        assert owner.charged() == 128 * MIB == truth.memory().objects
        theirs.free(copy)
        assert owner.charged() == 0 == truth.memory().objects


@pytest.mark.case("MB-01")
def test_quota_is_the_tenants_not_a_processes(make: MakeTenant) -> None:
    owner = make("c1", 1000 * MIB)
    with Actor(owner.nodes) as first, Actor(owner.nodes) as second:
        first.alloc(600 * MIB)
        assert status_of(second.alloc, 600 * MIB) == NO_MEMORY
        assert owner.figure("peak_bytes") <= 1000 * MIB
        first.finish()
        owner.settled()
        second.alloc(600 * MIB)
    owner.settled()


@pytest.mark.case("MB-02")
def test_limit_holds_however_a_process_begins(genl: Genl, card: KernelCard) -> None:
    """By a static program with no loader to preload, without environment, as another user, in a
    session of its own, out of a shell: each asks for 1500 MiB, then for 1000."""
    ways: dict[str, list[str]] = {
        "plain": [],
        "no environment": ["env", "-i"],
        "another user": ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"],
        "own session": ["setsid", "--wait"],
        "shell": ["sh", "-c", 'exec "$@"', "sh"],
        "preloaded": ["env", "LD_PRELOAD=/usr/lib/none.so", "LD_LIBRARY_PATH=/tmp"],
    }
    with tenant(genl, "c1", {card.uuid: 1024 * MIB}, owner_gid=1000) as owner:
        for way, words in ways.items():
            for chunk, fits in ((1500, 0), (1000, 1)):
                # one thread that asks until it is refused
                program = [
                    shutil.which("mb08") or "mb08",
                    str(owner.nodes.folder),
                    str(SYSFS / "c1" / card.uuid / "charged_bytes"),
                ]
                argv = [*words, *program, "1", "1", "1", str(chunk), str(fits)]
                done = subprocess.run(
                    argv, capture_output=True, text=True, check=False, timeout=120
                )
                assert done.returncode == 0, (way, chunk, done.stdout, done.stderr)
                owner.settled()


@pytest.mark.case("MB-06")
@pytest.mark.parametrize(
    ("low", "high", "policy"),
    [
        pytest.param(1000, 1000, Policy.FIXED, id="all of the card's time"),
        pytest.param(0, 1, Policy.BEST_EFFORT, id="hardly any"),
    ],
)
def test_compute_share_does_not_lift_the_quota(
    genl: Genl, card: KernelCard, low: int, high: int, policy: Policy
) -> None:
    share = {
        "card_uuid": card.uuid,
        "quota_bytes": 256 * MIB,
        "compute_min_permille": low,
        "compute_max_permille": high,
        "policy": int(policy),
    }
    genl.do(Command.TENANT_NEW, name="c1", share=[share])
    owner = Tenant(genl, "c1")
    try:
        with Client(owner.nodes) as client, Card(client) as gpu:
            assert status_of(gpu.memory, 300 * MIB) == NO_MEMORY
            gpu.memory(256 * MIB)
        owner.settled()
    finally:
        owner.delete(force=True)


@pytest.mark.case("MA-06")
@pytest.mark.parametrize("name", ROUTES)
def test_refusal_is_the_drivers_own_and_the_client_stays_usable(
    make: MakeTenant, name: str
) -> None:
    """An ioctl that fails would raise OSError here."""
    owner = make("c1", 512 * MIB)
    route = ROUTES[name]
    with Client(owner.nodes) as client, Card(client) as card:
        assert status_of(route, card, 600 * MIB) == NO_MEMORY
        card.free(route(card, 100 * MIB))
        owner.settled()
        assert owner.share().refusals == 1


@pytest.mark.case("MA-08")
def test_host_memory_is_not_charged(make: MakeTenant) -> None:
    """Smaller than in the case where the guest has less memory than that."""
    owner = make("c1", 512 * MIB)
    for _ in range(scaled(5, 100)):
        with Client(owner.nodes) as client, Card(client) as card:
            for _ in range(4):
                card.system_memory(256 * MIB)
            pinned = mmap.mmap(-1, 4 * MIB)
            address = ctypes.addressof(ctypes.c_char.from_buffer(pinned))
            client.register(card.node)
            handle = client.alloc_memory(
                card.device,
                N.NV01_MEMORY_SYSTEM_OS_DESCRIPTOR,
                limit=4 * MIB - 1,
                flags=NO_CPU_MAPPING,
                address=address,
                on=card.node,
            )["h_object_new"]
            card.heap(64 * MIB, attr=ATTR_PCI)
            assert owner.charged() == 0
            card.memory(400 * MIB)
            assert owner.charged() == 400 * MIB == truth.memory().objects
            client.free(handle)
        owner.settled()


@pytest.mark.case("MA-09")
def test_addresses_are_not_memory(make: MakeTenant, card: KernelCard) -> None:
    owner = make("c1", 1024 * MIB)
    with Client(owner.nodes) as client, Card(client) as gpu, Uvm(owner.nodes) as uvm:
        vaspace = gpu.vaspace()
        gpu.virtual()
        gpu.memory(64 * GIB, h_class=N.NV50_MEMORY_VIRTUAL, flags=N.NVOS32_FLAGS_VIRTUAL)
        gpu.heap(64 * GIB, flags=N.NVOS32_FLAGS_VIRTUAL)
        space = CardSpace(uvm, client.handle, card.uuid_bytes, vaspace)
        base = reserve(256 * GIB)
        uvm.create_external(base, 256 * GIB)
        assert owner.charged() == 0
        memory = gpu.memory(128 * MIB)
        uvm.map_external(base, 128 * MIB, card.uuid_bytes, client.handle, memory)
        assert owner.charged() == 128 * MIB == truth.memory().objects
        space.unmap(base, 256 * GIB)
        gpu.free(memory)
        assert owner.charged() == 0


@pytest.mark.case("MA-10")
def test_driver_reserved_memory_is_not_grantable(genl: Genl, card: KernelCard) -> None:
    assert card.grantable == card.total - card.reserved
    quarter = card.total // 4
    with ExitStack() as stack:
        for number in range(3):
            stack.enter_context(tenant(genl, f"c{number}", {card.uuid: quarter}))
        with pytest.raises(Refusal) as refusal:
            stack.enter_context(tenant(genl, "c3", {card.uuid: quarter}))
        assert f"of {card.grantable // MIB} MiB" in refusal.value.text


@pytest.mark.case("MA-10")
def test_every_granted_slice_can_be_filled_at_once(genl: Genl, card: KernelCard) -> None:
    slice_ = card.grantable // 4 // (2 * MIB) * (2 * MIB)
    with ExitStack() as stack:
        for number in range(4):
            owner = stack.enter_context(tenant(genl, f"c{number}", {card.uuid: slice_}))
            gpu = stack.enter_context(Actor(owner.nodes))
            left = slice_
            while left:
                size = min(left, 512 * MIB)
                gpu.alloc(size)
                left -= size
            assert status_of(gpu.alloc, 2 * MIB) == NO_MEMORY
            assert gpu.total_free() == (slice_, 0)


@pytest.mark.case("MA-11")
def test_quotas_beyond_the_card_are_refused(genl: Genl, card: KernelCard) -> None:
    """No overcommit: the third half of the card isn't granted."""
    half = card.grantable // 2
    with tenant(genl, "c1", {card.uuid: half}), tenant(genl, "c2", {card.uuid: half}):
        with pytest.raises(Refusal) as refusal:
            tenant(genl, "c3", {card.uuid: half}).__enter__()
        assert "0 MiB" in refusal.value.text
        assert str(half // MIB) in refusal.value.text


@pytest.mark.case("MA-11")
def test_full_card_refuses_below_the_quota_and_recovers(make: MakeTenant, card: KernelCard) -> None:
    """Filled by somebody outside any tenant: plain out of memory, and free says so too."""
    owner = make("c1", 4 * GIB)
    with Actor(owner.nodes) as inside:
        with Actor(Nodes.real()) as outside:
            outside.alloc(truth.memory().free - 256 * MIB)
            kept = inside.alloc(128 * MIB)
            assert inside.total_free() == (4 * GIB, 128 * MIB)
            assert status_of(inside.alloc, 256 * MIB) == NO_MEMORY
            assert owner.charged() == 128 * MIB
        wait_for(lambda: truth.memory().free > GIB, "the outsider's memory isn't given back")
        inside.alloc(256 * MIB)
        inside.free(kept)
        assert owner.charged() == 256 * MIB


@pytest.mark.case("MA-05")
def test_context_buffers_are_part_of_the_quota(make: MakeTenant) -> None:
    """What the driver takes by itself for a channel group stands in no size field."""
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        groups = []
        while status_of(lambda: groups.append(card.group())) == 0:
            assert owner.share().overhead == truth.memory().overhead
            assert len(groups) < 100
        assert groups
        assert status_of(card.group) == NO_MEMORY
        assert owner.charged() <= 64 * MIB
        assert card.total_free()[1] == 64 * MIB - truth.memory().overhead
        before = owner.charged()
        client.free(groups.pop())
        assert owner.charged() < before
        groups.append(card.group())
    owner.settled()


def test_freeing_the_parent_frees_the_charge(make: MakeTenant) -> None:
    owner = make("c1", 256 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        card.memory(100 * MIB)
        card.memory(100 * MIB, parent=card.subdevice)
        client.free(card.subdevice)
        assert owner.charged() == 100 * MIB
        client.free(card.device)
        assert owner.charged() == 0 == truth.memory().objects
        client.free(client.handle)


def test_each_card_has_its_own_account(
    genl: Genl, card: KernelCard, other_card: KernelCard
) -> None:
    quotas = {card.uuid: 128 * MIB, other_card.uuid: 256 * MIB}
    with tenant(genl, "c1", quotas) as owner:
        with Client(owner.nodes) as client, Card(client, 0) as first, Card(client, 1) as second:
            first.memory(128 * MIB)
            assert status_of(first.memory, 2 * MIB) == NO_MEMORY
            second.memory(256 * MIB)
            assert status_of(second.memory, 2 * MIB) == NO_MEMORY
            assert owner.charged(card.uuid) == 128 * MIB == truth.memory(0).objects
            assert owner.charged(other_card.uuid) == 256 * MIB == truth.memory(1).objects
        owner.settled(0, card.uuid)
        owner.settled(0, other_card.uuid)


def test_memory_given_out_holds_nothing_of_its_last_owner(make: MakeTenant) -> None:
    """Also that data travels through a mapping made through the virtual node."""
    first, second = make("c1", 64 * MIB), make("c2", 64 * MIB)
    with Client(first.nodes) as client, Card(client) as card:
        mapping = card.map(card.memory(2 * MIB), 2 * MIB)
        mapping.write(4096, b"secret")
        assert mapping.read(4096, 6) == b"secret"
        mapping.unmap()
    first.settled()
    with Client(second.nodes) as client, Card(client) as card:
        mapping = card.map(card.memory(2 * MIB), 2 * MIB)
        assert mapping.read(0, 8192) == bytes(8192)
        mapping.unmap()


def test_heap_size_question_answers_the_quota(make: MakeTenant) -> None:
    """RM_ALLOC_MEMORY of class 0x40 takes nothing: it tells how large the heap is."""
    owner = make("c1", 512 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        client.register(card.node)
        block = make_block(
            "nvos02_fd",
            h_root=client.handle,
            h_object_parent=card.device,
            h_class=N.NV01_MEMORY_LOCAL_USER,
            fd=-1,
        )
        card.node.ioctl(N.NV_ESC_RM_ALLOC_MEMORY, block)
        assert (block["status"], block["limit"]) == (0, 512 * MIB - 1)
        assert owner.charged() == 0
