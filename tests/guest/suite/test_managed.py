# SPDX-License-Identifier: GPL-2.0-only
"""Managed memory is charged by the 2 MiB blocks it touches; over the quota mmap says ENOMEM.

That is the rule: a managed mapping that would pass the quota is refused when it is made, so nothing
of it ever becomes resident; what is mapped may be used whole.
"""

from __future__ import annotations

import errno
import mmap
import os
from multiprocessing.connection import Connection

import pytest

from tests.guest.rm import truth
from tests.guest.rm.abi import MIB, PAGE, N
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, status_of
from tests.guest.rm.genl import Genl
from tests.guest.rm.node import map_fd, reserve
from tests.guest.rm.process import Child
from tests.guest.rm.tenant import KernelCard, MakeTenant, tenant
from tests.guest.rm.uvm import CardSpace, Uvm
from tests.guest.suite.scale import scaled


def _refused(uvm: Uvm, length: int) -> int:
    try:
        uvm.managed(length)
    except OSError as error:
        return error.errno or 0
    return 0


@pytest.mark.case("MB-04")
def test_managed_memory_cannot_pass_the_quota(make: MakeTenant) -> None:
    c1, c2 = make("c1", 2048 * MIB), make("c2", 2048 * MIB)
    with Client(c2.nodes) as client, Card(client) as card, Uvm(c1.nodes) as uvm:
        card.memory(2000 * MIB)
        assert _refused(uvm, 3072 * MIB) == errno.ENOMEM
        assert c1.charged() == 0
        whole = uvm.managed(2048 * MIB)
        assert (c1.charged(), c1.share().managed) == (2048 * MIB, 2048 * MIB)
        assert _refused(uvm, 2 * MIB) == errno.ENOMEM
        card.memory(32 * MIB)
        assert c2.charged() == 2032 * MIB
        whole.unmap()
        c1.settled()


def test_objects_and_managed_memory_share_one_quota(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as card, Uvm(owner.nodes) as uvm:
        memory = card.memory(32 * MIB)
        managed = uvm.managed(32 * MIB)
        assert status_of(card.memory, 1) == N.NV_ERR_NO_MEMORY
        assert _refused(uvm, PAGE) == errno.ENOMEM
        assert card.total_free() == (64 * MIB, 0)
        card.free(memory)
        again = uvm.managed(32 * MIB)
        assert owner.charged() == 64 * MIB
        managed.unmap()
        # what was unmapped a moment ago counts as free at once, for either kind
        card.memory(32 * MIB)
        again.unmap()
        uvm.managed(32 * MIB).unmap()


def test_processor_can_use_managed_memory(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    with Uvm(owner.nodes) as uvm:
        mapping = uvm.managed(4 * MIB)
        mapping.write(0, b"first")
        mapping.write(4 * MIB - 4, b"last")
        assert mapping.read(0, 5) + mapping.read(4 * MIB - 4, 4) == b"firstlast"
        mapping.unmap()
        owner.settled()


def test_unmapping_a_part_gives_that_part_back(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    with Uvm(owner.nodes) as uvm:
        mapping = uvm.managed(32 * MIB)
        mapping.unmap(8 * MIB, 16 * MIB)
        owner.settled(16 * MIB)
        mapping.unmap(0, 8 * MIB)
        owner.settled(8 * MIB)
        mapping.unmap(24 * MIB, 8 * MIB)
        owner.settled()


def test_blocks_count_whole_and_once(make: MakeTenant) -> None:
    """The driver moves memory to the card in blocks of 2 MiB."""
    owner = make("c1", 64 * MIB)
    with Uvm(owner.nodes) as uvm:
        base = reserve(8 * MIB)
        first = uvm.managed(PAGE, address=base)
        assert owner.charged() == 2 * MIB
        second = uvm.managed(PAGE, address=base + 16 * PAGE)
        assert owner.charged() == 2 * MIB, "the same block"
        third = uvm.managed(2 * MIB, address=base + 3 * MIB)
        assert owner.charged() == 6 * MIB, "a mapping over two more blocks"
        first.unmap()
        owner.settled(6 * MIB)
        second.unmap()
        owner.settled(4 * MIB)
        third.unmap()
        owner.settled()


def test_mapping_over_a_mapping_is_counted_once(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    with Uvm(owner.nodes) as uvm:
        first = uvm.managed(48 * MIB)
        second = uvm.managed(48 * MIB, address=first.address)
        assert owner.charged() == 48 * MIB
        second.unmap()
        owner.settled()


def test_rounds_of_managed_memory_end_at_the_starting_charge(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    with Uvm(owner.nodes) as uvm:
        kept = uvm.managed(2 * MIB)
        for _ in range(scaled(200, 1000)):
            mapping = uvm.managed(62 * MIB)
            mapping.write(0, b"x")
            mapping.unmap()
        owner.settled(2 * MIB)
        kept.unmap()
        owner.settled()


def test_end_of_the_process_gives_managed_memory_back(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)

    def body(pipe: Connection) -> None:
        uvm = Uvm(owner.nodes)
        mapping = uvm.managed(32 * MIB)
        mapping.write(0, b"x")
        uvm.close()
        pipe.send(1)
        pipe.recv()

    for kill in (True, False):
        child = Child(body)
        child.number()
        assert owner.charged() == 32 * MIB, "the mapping holds the file"
        if kill:
            child.kill()
        else:
            child.finish()
        owner.settled()


def test_forked_child_gets_no_managed_memory_of_its_own(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    with Uvm(owner.nodes) as uvm:
        mapping = uvm.managed(32 * MIB)
        child = Child(lambda pipe: pipe.recv(), keep=[uvm.node.fd])
        assert owner.charged() == 32 * MIB
        mapping.unmap()
        owner.settled()
        child.finish()


def test_mappings_the_driver_refuses_are_not_charged(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    with Uvm(owner.nodes) as uvm:
        address = reserve(4 * MIB)
        with pytest.raises(OSError, match="Invalid argument"):
            map_fd(uvm.node.fd, 2 * MIB, offset=address + PAGE, address=address)
        with pytest.raises(OSError, match="Invalid argument"):
            map_fd(uvm.node.fd, 2 * MIB, offset=address, address=address, private=True)
        assert owner.charged() == 0
    with Uvm(owner.nodes, initialize=False) as raw:
        with pytest.raises(OSError, match="mmap"):
            raw.managed(2 * MIB)
        assert owner.charged() == 0


def test_semaphore_pools_are_no_managed_memory(make: MakeTenant, card: KernelCard) -> None:
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as gpu, Uvm(owner.nodes) as uvm:
        CardSpace(uvm, client.handle, card.uuid_bytes, gpu.vaspace())
        base = reserve(2 * MIB)
        uvm.semaphore_pool(base, 2 * MIB, card.uuid_bytes)
        pool = uvm.managed(2 * MIB, address=base)
        assert owner.charged() == 0
        pool.unmap()
        uvm.free(base, 2 * MIB)
        mapping = uvm.managed(2 * MIB, address=base)
        assert owner.charged() == 2 * MIB, "the range is an ordinary one again"
        mapping.unmap()
        owner.settled()


def test_managed_memory_counts_on_every_card_of_the_tenant(
    genl: Genl, card: KernelCard, other_card: KernelCard
) -> None:
    """The driver may move it to any of them."""
    quotas = {card.uuid: 64 * MIB, other_card.uuid: 32 * MIB}
    with tenant(genl, "c1", quotas) as owner, Uvm(owner.nodes) as uvm:
        assert _refused(uvm, 48 * MIB) == errno.ENOMEM
        assert owner.charged(card.uuid) == owner.charged(other_card.uuid) == 0
        mapping = uvm.managed(32 * MIB)
        assert owner.charged(card.uuid) == owner.charged(other_card.uuid) == 32 * MIB
        mapping.unmap()
        owner.settled(0, card.uuid)
        owner.settled(0, other_card.uuid)
        uvm.close()


def test_two_processes_add_up(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)

    def body(pipe: Connection) -> None:
        with Uvm(owner.nodes) as uvm:
            mapping = uvm.managed(40 * MIB)
            pipe.send(_refused(uvm, 40 * MIB))
            pipe.recv()
            mapping.unmap()

    with Child(body) as child, Uvm(owner.nodes) as uvm:
        assert child.number() == errno.ENOMEM
        assert _refused(uvm, 40 * MIB) == errno.ENOMEM
        mapping = uvm.managed(24 * MIB)
        assert owner.charged() == 64 * MIB
        child.finish()
        owner.settled(24 * MIB)
        mapping.unmap()


def test_managed_mapping_is_not_reachable_through_proc(make: MakeTenant) -> None:
    """The mapping's file is the driver's own: its name in /proc must not open it again."""
    owner = make("c1", 64 * MIB)
    with Uvm(owner.nodes) as uvm:
        mapping = uvm.managed(2 * MIB)
        name = f"/proc/self/map_files/{mapping.address:x}-{mapping.address + 2 * MIB:x}"
        with pytest.raises(OSError, match="map_files"):
            os.open(name, os.O_RDWR)
        mapping.unmap()
    assert mmap.PAGESIZE == PAGE
    assert truth.memory().managed == 0
