# SPDX-License-Identifier: GPL-2.0-only
"""Calls that neither gpushare nor the driver knows: refused as by the driver, counted, listed.

Case DC-02 is about a mode in which such calls pass; there is only the one that enforces.
The module is loaded anew for each of these: conftest puts them among the last.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.guest.rm import truth
from tests.guest.rm.abi import MIB, Block, N
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, Refused
from tests.guest.rm.node import Node, Nodes, escape
from tests.guest.rm.tenant import Tenant, cards, tenant
from tests.guest.suite.test_reload import reloaded

LIST: Final = Path("/sys/kernel/debug/gpushare/unknown_calls")
NOTICES: Final = "unknown {} call {:#x}"
IN_NO_TABLE: Final = 0x20807F7F
CONTROLS: Final = (
    (0x20803801, 1928),
    (0x20801230, 64),
    (0x20802068, 4),
    (IN_NO_TABLE, 4),
    (IN_NO_TABLE, 64),
    (IN_NO_TABLE, 4096),
)
IOCTLS: Final = ((212, 128), (219, 128), (99, 16))
MANAGED: Final = (66, 0x5E, 0x30000009)


@pytest.fixture
def owner() -> Iterator[Tenant]:
    """Of a module that has met nothing yet."""
    with reloaded() as genl:
        card = min(cards(genl), key=lambda one: one.minor)
        with tenant(genl, "c1", {card.uuid: 64 * MIB}) as made:
            yield made


def _refused(tenant: Tenant) -> int:
    number = tenant.stats()["refused_unknown"]
    assert isinstance(number, int)
    return number


def _listed() -> dict[tuple[str, int], int]:
    lines = (line.split() for line in LIST.read_text().splitlines())
    return {
        (kind, int(number, 0)): int(count)
        for kind, number, count in (line for line in lines if len(line) == 3)
    }


def _control(client: Client, target: int, command: int, size: int) -> tuple[int, bytes]:
    params = Block(size)
    params.put(0, bytes(range(1, 5)))
    try:
        client.control(target, command, params)
    except Refused as refused:
        return refused.status, params.raw
    return 0, params.raw


def _number(node: Node, command: int, size: int = 4096) -> int:
    try:
        node.command(command, Block(size).address)
    except OSError as error:
        return error.errno or -1
    return 0


def _all(nodes: Nodes) -> list[object]:
    answers: list[object] = []
    with Client(nodes) as client, Card(client) as card, Node(nodes.uvm) as uvm:
        answers += [_control(client, card.subdevice, *control) for control in CONTROLS]
        for node in (client.ctl, card.node):
            answers += [_number(node, escape(nr, size), size) for nr, size in IOCTLS]
        answers += [_number(uvm, command) for command in MANAGED]
    return answers


@pytest.mark.case("DC-02")
def test_unknown_call_ends_as_at_the_driver(owner: Tenant) -> None:
    ours, theirs = _all(owner.nodes), _all(Nodes.real())
    assert ours == theirs
    assert owner.charged() == truth.memory().objects == 0


@pytest.mark.case("DC-02")
def test_unknown_call_is_counted_and_listed(owner: Tenant) -> None:
    with Client(owner.nodes) as client, Card(client) as card, Node(owner.nodes.uvm) as uvm:
        assert _refused(owner) == 0
        for size in (4, 64, 4096):
            status, params = _control(client, card.subdevice, IN_NO_TABLE, size)
            assert status == N.NV_ERR_NOT_SUPPORTED
            assert params == bytes(range(1, 5)) + bytes(size - 4)
        assert _refused(owner) == 3
        for nr in (99, 219):
            _number(client.ctl, escape(nr, 16))
        _number(uvm, 0x5E)
        assert _refused(owner) == 6
    listed = _listed()
    for kind, number, times in (
        ("control", IN_NO_TABLE, 3),
        ("ioctl", 99, 1),
        ("ioctl", 219, 1),
        ("managed-memory", 0x5E, 1),
    ):
        assert listed[kind, number] == times


@pytest.mark.case("DC-02")
def test_unknown_number_is_told_to_the_log_once(owner: Tenant) -> None:
    number = 0x20807F01
    with Client(owner.nodes) as client, Card(client) as card:
        for _ in range(20):
            _control(client, card.subdevice, number, 8)
        # what is in our lists is never told, nor a refusal of it
        _control(client, card.subdevice, N.NV2080_CTRL_FB_GET_INFO_V2, 8)
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    assert log.count(NOTICES.format("control", number)) == 1
    assert NOTICES.format("control", N.NV2080_CTRL_FB_GET_INFO_V2) not in log


@pytest.mark.case("DC-02")
def test_list_and_log_stay_short(owner: Tenant) -> None:
    """Somebody who tries all numbers fills neither; each is counted."""
    with Client(owner.nodes) as client, Card(client) as card:
        for number in range(200):
            _control(client, card.subdevice, 0x20807000 + number, 4)
    assert _refused(owner) == 200
    lines = LIST.read_text().splitlines()
    assert len(lines) <= 65
    kind, more = lines[-1].split()
    assert (kind, int(more) >= 136) == ("more", True)
