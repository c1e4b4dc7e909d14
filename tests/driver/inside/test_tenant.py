# SPDX-License-Identifier: GPL-2.0-only
"""A tenant on NVIDIA's own modules: what is asked reaches the driver, what is decided holds.

Devices and memory are nocard.ko's, clients, events and managed memory the driver's own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpushared.netlink_abi import Command
from tests.driver.inside.modules import driver_version
from tests.guest.rm.abi import MIB, Block, N, running
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, status_of
from tests.guest.rm.genl import Genl
from tests.guest.rm.node import Node, Nodes
from tests.guest.rm.tenant import KernelCard, Tenant, cards, tenant
from tests.guest.rm.uvm import Uvm

QUOTA = 256 * MIB
UNKNOWN_CONTROL = 0x0000EEEE


@pytest.fixture(scope="module")
def genl() -> Iterator[Genl]:
    with Genl() as socket:
        yield socket


@pytest.fixture(scope="module")
def card(genl: Genl) -> KernelCard:
    return min(cards(genl), key=lambda one: one.minor)


@pytest.fixture
def owner(genl: Genl, card: KernelCard) -> Iterator[Tenant]:
    with tenant(genl, "c1", {card.uuid: QUOTA}) as made:
        yield made


def test_version_and_flavour_are_the_drivers(genl: Genl) -> None:
    info = genl.do(Command.INFO_GET)
    assert info["driver_version"] == driver_version()
    assert (info["driver_flavour"], info["driver_supported"]) == ("open", 1)


def test_card_is_known_by_the_drivers_own_figures(genl: Genl, card: KernelCard) -> None:
    with Client(Nodes.real()) as client, Card(client) as real:
        assert client.probed_ids() == [card.gpu_id]
        # KiB: total, then without what the driver keeps
        total, usable = real.fb_info([N.NV_FB_INFO_TOTAL_RAM_SIZE, N.NV_FB_INFO_HEAP_SIZE])
    assert (card.total, card.grantable) == (total << 10, usable << 10)
    assert card.state == "ok"


def test_quota_holds(owner: Tenant) -> None:
    with Client(owner.nodes) as client, Card(client) as mine:
        handle = mine.memory(100 * MIB)
        assert owner.charged() == 100 * MIB
        assert status_of(mine.memory, 200 * MIB) == N.NV_ERR_NO_MEMORY
        assert mine.fb_info([N.NV_FB_INFO_TOTAL_RAM_SIZE]) == [QUOTA >> 10]
        mine.free(handle)
        assert owner.charged() == 0
        mine.memory(32 * MIB)
    owner.settled()


def test_memory_returns_when_a_client_ends_with_objects(owner: Tenant) -> None:
    with Client(owner.nodes) as client:
        with Card(client) as mine:
            mine.memory(64 * MIB)
        client.free(client.handle)
        owner.settled()


def test_client_of_another_tenant_is_none(genl: Genl, card: KernelCard, owner: Tenant) -> None:
    with (
        tenant(genl, "c2", {card.uuid: QUOTA}) as other,
        Client(owner.nodes) as mine,
        Client(other.nodes) as theirs,
    ):
        theirs.handle = mine.handle
        assert status_of(theirs.probed_ids) == N.NV_ERR_INVALID_CLIENT
        assert status_of(theirs.free, mine.handle) == N.NV_ERR_INVALID_CLIENT
        assert mine.handle_class(mine.handle) == N.NV01_ROOT_CLIENT


def _answers(nodes: Nodes) -> dict[str, object]:
    """What a client asks of the driver itself, without a card's objects."""
    with Client(nodes) as client, Node(nodes.gpu(0)) as gpu:
        client.register(gpu)
        client.os_event(client.ctl)
        ids = Block(running()["probed_ids_bytes"])
        answers = {
            "root": client.handle_class(client.handle),
            "probed": client.probed_ids(),
            "cards": [(one["gpu_id"], one["minor_number"]) for one in client.card_info()],
            "unknown control": status_of(client.control, client.handle, UNKNOWN_CONTROL),
            "unknown object": status_of(
                client.control, 0xBAD, N.NV0000_CTRL_GPU_GET_PROBED_IDS, ids
            ),
            "second os event": status_of(client.os_event, client.ctl),
            "poll": client.ctl.poll(),
        }
        client.free_os_event(client.ctl)
    with Uvm(nodes) as uvm, Uvm(nodes, initialize=False) as second:
        answers["mm"] = status_of(second.mm_initialize, uvm.node)
        block = uvm.managed(2 * MIB)
        block.write(MIB, b"managed")
        answers["managed"] = block.read(MIB, 7)
        block.unmap()
    return answers


def test_driver_answers_a_tenant_as_it_answers_anybody(owner: Tenant) -> None:
    answers = _answers(owner.nodes)
    assert answers == _answers(Nodes.real())
    assert (answers["mm"], answers["managed"]) == (N.NV_OK, b"managed")


def test_registering_a_card_that_is_none_ends(owner: Tenant, card: KernelCard) -> None:
    """Nothing stands behind the card: managed memory is told so, and does not hang."""
    for nodes in (Nodes.real(), owner.nodes):
        with Uvm(nodes) as uvm:
            assert status_of(uvm.register_gpu, card.uuid_bytes) != N.NV_OK
            assert status_of(uvm.register_gpu, bytes(16)) != N.NV_OK
