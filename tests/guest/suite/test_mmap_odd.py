# SPDX-License-Identifier: GPL-2.0-only
"""Mappings of odd lengths, offsets and rights: as on the driver's own nodes, never too much."""

from __future__ import annotations

import contextlib
import errno
import mmap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.guest.rm.abi import MIB, PAGE
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, Refused
from tests.guest.rm.node import Node, Nodes, map_fd, reserve
from tests.guest.rm.tenant import MakeTenant
from tests.guest.rm.uvm import Uvm
from tests.guest.suite.scale import scaled

READ, WRITE, EXEC = mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC
SMALL: Final = 64 << 10
LENGTHS: Final = (0, 1, PAGE, SMALL, 1 << 47)
OFFSETS: Final = (1, PAGE - 1, 1 << 63, (1 << 64) - PAGE)
REFUSED: Final = {
    *(errno.EINVAL, errno.EACCES, errno.ENOMEM),
    errno.EOVERFLOW,  # the kernel's own: offset and length pass the end
    errno.ENXIO,  # the driver's: not the length that has been prepared
    errno.EBADFD,  # the driver's: a managed-memory file without an address space
}


@dataclass(frozen=True)
class Attempt:
    length: int
    offset: int = 0
    private: bool = False
    protection: int = READ | WRITE

    def on(self, fd: int) -> int:
        """The errno, 0 if it maps. What maps is as long as asked, and is let go."""
        try:
            mapping = map_fd(
                fd,
                self.length,
                offset=self.offset,
                private=self.private,
                protection=self.protection,
            )
        except OSError as error:
            return error.errno or -1
        whole = -(-self.length // PAGE) * PAGE
        assert _extent(mapping.address) == (mapping.address, mapping.address + whole)
        mapping.unmap()
        assert _extent(mapping.address) is None
        return 0


ATTEMPTS: Final = (
    *(Attempt(length) for length in LENGTHS),
    *(Attempt(SMALL, offset) for offset in OFFSETS),
    Attempt(SMALL, private=True),
    Attempt(SMALL, protection=READ | WRITE | EXEC),
    Attempt(SMALL, protection=READ),
    Attempt(SMALL, protection=0),
)


def _extent(address: int) -> tuple[int, int] | None:
    """From where to where this process's mapping at that address reaches."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < end:
            return start, end
    return None


@contextmanager
def _prepared(nodes: Nodes, size: int) -> Iterator[tuple[Client, Card, int]]:
    """A client with an object of that many bytes on the card."""
    with Client(nodes) as client, Card(client) as card:
        handle = card.memory(size)
        yield client, card, handle
        with contextlib.suppress(Refused):  # the attempt may have freed it
            card.free(handle)


def _plain(nodes: Nodes) -> list[int]:
    """Files that nothing has been prepared on."""
    answers = []
    for path in (nodes.ctl, nodes.gpu(0), nodes.uvm):
        for attempt in ATTEMPTS:
            with Node(path) as node:
                answers.append(attempt.on(node.fd))
    return answers


def _of_object(nodes: Nodes, size: int) -> list[int]:
    """Files of the card with an object of that size waiting to be mapped."""
    answers = []
    with _prepared(nodes, size) as (client, card, handle):
        for attempt in ATTEMPTS:
            with Node(nodes.gpu(0)) as node:
                client.register(node)
                client.map_memory(card.device, handle, size, node)
                answers.append(attempt.on(node.fd))
    return answers


def _managed(nodes: Nodes) -> list[int]:
    """A managed-memory file that is ready, at an address of choice and beside it."""
    answers = []
    with Uvm(nodes) as uvm:
        for attempt in ATTEMPTS:
            answers.append(attempt.on(uvm.node.fd))
        base = reserve(8 * MIB)
        for offset in (base, base + PAGE, 0):
            for private in (False, True):
                try:
                    mapping = map_fd(
                        uvm.node.fd, 2 * MIB, offset=offset, address=base, private=private
                    )
                except OSError as error:
                    answers.append(error.errno or -1)
                else:
                    mapping.unmap()
                    answers.append(0)
    return answers


@pytest.mark.case("KS-01")
def test_odd_mappings_end_as_on_the_drivers_nodes(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    for ask in (_plain, _managed):
        answers = ask(owner.nodes)
        assert answers == ask(Nodes.real())
        assert set(answers) <= REFUSED | {0}
    assert owner.charged() == 0


@pytest.mark.case("KS-01")
@pytest.mark.parametrize("size", [PAGE, SMALL])
def test_nothing_maps_beyond_the_object(make: MakeTenant, size: int) -> None:
    owner = make("c1", 64 * MIB)
    answers = _of_object(owner.nodes, size)
    assert answers == _of_object(Nodes.real(), size)
    assert set(answers) <= REFUSED | {0}
    by_length = dict(zip(LENGTHS, answers, strict=False))
    assert all(errors for length, errors in by_length.items() if length > max(size, SMALL))
    assert by_length[0] == errno.EINVAL
    owner.settled()


@pytest.mark.case("KS-01")
def test_freed_object_does_not_map(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)

    def ask(nodes: Nodes) -> int:
        with _prepared(nodes, SMALL) as (client, card, handle), Node(nodes.gpu(0)) as node:
            client.register(node)
            client.map_memory(card.device, handle, SMALL, node)
            card.free(handle)
            return Attempt(SMALL).on(node.fd)

    assert ask(owner.nodes) == ask(Nodes.real())
    owner.settled()


@pytest.mark.case("KS-01")
def test_mapping_races_with_the_end_of_the_object(make: MakeTenant) -> None:
    """Whoever wins: the call ends well or with the driver's refusal, and the books are right."""
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        for _ in range(scaled(60, 2000)):
            handle = card.memory(SMALL)
            with Node(owner.nodes.gpu(0)) as node:
                client.register(node)
                client.map_memory(card.device, handle, SMALL, node)
                ender = threading.Thread(target=card.free, args=(handle,))
                ender.start()
                ended = Attempt(SMALL).on(node.fd)
                ender.join()
                assert ended in REFUSED | {0}
        owner.settled()
