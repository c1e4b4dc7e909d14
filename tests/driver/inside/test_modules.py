# SPDX-License-Identifier: GPL-2.0-only
"""NVIDIA's modules and gpushare.ko come and go in the order of what holds what.

conftest puts this last. Nothing here uses a session's fixtures: the family's number changes with
each load.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gpushared.netlink_abi import Command
from tests.driver.inside.modules import (
    ORDER,
    driver_version,
    holders,
    load,
    references,
    refused,
    unload,
)
from tests.guest.rm.abi import MIB, N
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client
from tests.guest.rm.genl import Genl
from tests.guest.rm.node import Node
from tests.guest.rm.tenant import Tenant, cards, tenant, wait_for
from tests.guest.rm.uvm import Uvm

KINDS = ("nvidiactl", "nvidia0", "nvidia-uvm")


@contextmanager
def one_tenant() -> Iterator[Tenant]:
    with Genl() as genl, tenant(genl, "c1", {cards(genl)[0].uuid: 64 * MIB}) as made:
        yield made


def use_it() -> None:
    """A tenant comes, computes, and goes."""
    with one_tenant() as owner:
        with Client(owner.nodes) as client, Card(client) as card:
            card.memory(32 * MIB)
            assert owner.charged() == 32 * MIB
        owner.settled()
        with Uvm(owner.nodes) as uvm:
            block = uvm.managed(2 * MIB)
            block.write(0, b"managed")
            block.unmap()


def test_driver_is_held_by_what_is_linked_to_it() -> None:
    assert holders("nvidia") == {"gpushare", "nvidia_uvm"}
    assert refused("nvidia")
    assert refused("nocard")


@pytest.mark.parametrize("kind", KINDS)
def test_modules_stay_while_a_tenants_file_is_open(kind: str) -> None:
    before = references()
    with one_tenant() as owner:
        with Node(owner.nodes.folder / kind):
            assert refused("gpushare")
            assert refused("nvidia")
            if kind == "nvidia-uvm":
                assert refused("nvidia_uvm")
        # the file is given up a little after it is closed
        wait_for(lambda: references() == before, lambda: f"{references()}, before {before}")


def test_gpushare_comes_and_goes_and_leaves_nothing() -> None:
    before = references()
    for _ in range(3):
        use_it()
        unload("gpushare")
        assert holders("nvidia") == {"nvidia_uvm"}
        load("gpushare")
        assert references() == before


def test_managed_memory_may_leave_and_come_back_under_gpushare() -> None:
    before = references()
    unload("nvidia_uvm")
    with one_tenant() as owner:
        with Client(owner.nodes) as client, Card(client) as card:
            card.memory(MIB)
        with pytest.raises(OSError, match="No such device"):
            Uvm(owner.nodes)
    load("nvidia_uvm")
    use_it()
    assert references() == before


def test_all_leave_in_the_reverse_order_and_come_back() -> None:
    before = references()
    for name in reversed(ORDER):
        unload(name)
    for name in ORDER:
        load(name)
    assert references() == before
    use_it()


def test_card_that_does_not_answer_is_left_alone() -> None:
    """The driver as it is without a card: gpushare.ko loads, knows it, and has no cards."""
    for name in reversed(ORDER):
        unload(name)
    try:
        load("nocard", "objects=0")
        for name in ORDER[1:]:
            load(name)
        with Genl() as genl:
            assert cards(genl) == []
            info = genl.do(Command.INFO_GET)
            assert (info["driver_version"], info["driver_supported"]) == (driver_version(), 1)
    finally:
        for name in reversed(ORDER):
            unload(name)
        for name in ORDER:
            load(name)
    use_it()


def test_new_client_works_after_all_that() -> None:
    with one_tenant() as owner, Client(owner.nodes) as client:
        assert client.handle_class(client.handle) == N.NV01_ROOT_CLIENT
