# SPDX-License-Identifier: GPL-2.0-only
"""A charge lives as long as the last file or object behind it, however that ends.

A descriptor that is passed to another tenant's process goes on charging the tenant whose node was
opened.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import socket
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Final

import pytest

from tests.guest.rm import truth
from tests.guest.rm.abi import MIB, N
from tests.guest.rm.abi import make as block
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, Refused, status_of
from tests.guest.rm.genl import Genl, Refusal
from tests.guest.rm.node import Node, Nodes
from tests.guest.rm.process import Child, recv_fds, send_fds
from tests.guest.rm.tenant import SYSFS, KernelCard, MakeTenant, Tenant, create, wait_for
from tests.guest.suite.actors import Actor
from tests.guest.suite.scale import scaled

NO_MEMORY: Final = N.NV_ERR_NO_MEMORY


@pytest.mark.case("MA-01")
def test_kill_9_gives_the_memory_back(make: MakeTenant) -> None:
    owner = make("c1", 1024 * MIB)
    for _ in range(scaled(10, 100)):
        first = Actor(owner.nodes)
        first.alloc(900 * MIB)
        first.kill()
        second = Actor(owner.nodes)
        second.alloc(900 * MIB)
        second.kill()
    owner.settled()
    assert truth.memory().objects == 0


@pytest.mark.case("MA-01")
def test_kill_9_in_the_middle_of_calls_leaves_nothing(make: MakeTenant) -> None:
    """Killed while a call is held back in the driver, before and after it has acted."""
    owner = make("c1", 1024 * MIB)

    def body(pipe: Connection) -> None:
        with Client(owner.nodes) as client, Card(client) as card:
            pipe.send(1)
            while True:
                card.free(card.memory(64 * MIB))

    for when in ("before", "after") * scaled(3, 100):
        with truth.faults(f"delay alloc number=0x40 ms=20 when={when}"):
            child = Child(body)
            child.number()
            wait_for(lambda: owner.figure("peak_bytes") > 0, "the child doesn't allocate")
            child.kill()
            owner.settled()
    wait_for(lambda: truth.memory().objects == 0, "memory is left in the driver")


def _family(nodes: Nodes, second: Connection) -> Callable[[Connection], None]:
    """P, which forks C after it has allocated. Each does what it is told and ends."""

    def parent(pipe: Connection) -> None:
        client = Client(nodes)
        card = Card(client)
        card.memory(512 * MIB)
        if os.fork() == 0:
            _obey(second, [client.ctl, card.node])
        second.close()
        pipe.send(os.getpid())
        _obey(pipe, [client.ctl, card.node])

    return parent


def _obey(pipe: Connection, nodes: list[Node]) -> None:
    match pipe.recv():
        case "close":
            for node in nodes:
                node.close()
            pipe.send("closed")
            pipe.recv()
        case "segv":
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGSEGV)
    os._exit(0)


def _holders(owner: Tenant) -> set[int]:
    pids = (entry["pid"] for entry in owner.clients())
    return {pid for pid in pids if isinstance(pid, int)}


@pytest.mark.case("MA-02")
def test_inherited_descriptors_keep_the_charge(make: MakeTenant) -> None:
    owner = make("c1", 1024 * MIB)
    dice = random.Random(2)
    ways = list(itertools.product(["parent", "child"], ["exit", "close", "segv"]))
    for round_ in range(scaled(len(ways), 1000)):
        order, how = ways[round_] if round_ < len(ways) else dice.choice(ways)
        here, there = Pipe()
        parent = Child(_family(owner.nodes, there), keep=[there.fileno()])
        there.close()
        parent.number()
        assert owner.charged() == 512 * MIB
        if order == "parent":
            parent.send("exit")
            parent.wait()
        else:
            here.send("exit")
            with pytest.raises(EOFError):
                here.recv()
        assert owner.charged() == 512 * MIB == truth.memory().objects, (order, how)
        alive = [pid for pid in _holders(owner) if Path(f"/proc/{pid}").exists()]
        assert alive, f"no living holder is named, only {_holders(owner)}"
        if order == "parent":
            here.send(how)
            if how == "close":
                assert here.recv() == "closed"
                owner.settled()
                here.send("exit")
            with pytest.raises(EOFError):
                here.recv()
        else:
            parent.send(how)
            if how == "close":
                assert parent.recv() == "closed"
                owner.settled()
                parent.send("exit")
            parent.wait()
        here.close()
        owner.settled()
        wait_for(lambda: truth.memory().objects == 0, f"memory is left after {order}, {how}")


@pytest.mark.case("MB-07")
@pytest.mark.parametrize("first", ["P1", "P2"])
def test_passed_descriptor_charges_the_tenant_whose_node_was_opened(
    make: MakeTenant, first: str
) -> None:
    c1, c2 = make("c1", 512 * MIB), make("c2", 512 * MIB)
    one, two = socket.socketpair()

    def p1(pipe: Connection) -> None:
        own = Client(c1.nodes)
        card = Card(own)
        memory = card.memory(64 * MIB)
        ctl, gpu = Node(c1.nodes.ctl), Node(c1.nodes.gpu(0))
        send_fds(one, ctl.fd, gpu.fd)
        pipe.send((own.handle, memory))
        pipe.recv()

    def p2(pipe: Connection) -> None:
        ctl, gpu = recv_fds(two, 2)
        handle, memory = pipe.recv()
        passed = Client(c1.nodes, ctl=Node.from_fd(ctl, c1.nodes.ctl))
        card = Card(passed, node=Node.from_fd(gpu, c1.nodes.gpu(0)))
        pipe.send(status_of(card.memory, 400 * MIB))
        pipe.recv()
        own = Client(c2.nodes)
        pipe.send(status_of(Card(own).memory, 400 * MIB))
        pipe.recv()
        answers = []
        for client in (passed, own):
            with_own = client.handle
            client.handle = handle
            answers.append(status_of(client.free, memory))
            answers.append(status_of(client.handle_class, memory))
            client.handle = with_own
        answers.append(status_of(own.dup, own.handle, handle, memory))
        pipe.send(answers)
        pipe.recv()

    a = Child(p1, keep=[one.fileno()])
    named = a.recv()
    b = Child(p2, keep=[two.fileno()])
    one.close()
    two.close()
    b.send(named)
    assert b.recv() == 0
    assert (c1.charged(), c2.charged()) == (464 * MIB, 0)
    assert b.ask("on") == 0
    assert (c1.charged(), c2.charged()) == (464 * MIB, 400 * MIB)
    assert b.ask("on") == [N.NV_ERR_INVALID_CLIENT] * 5
    order = [a, b] if first == "P1" else [b, a]
    order[0].kill()
    if first == "P1":
        # its own 64 MiB go; what P2 made through P1's file stays with c1
        c1.settled(400 * MIB)
        assert c2.charged() == 400 * MIB
    else:
        # P1 has the file it passed open, too: what was made through it stays
        c2.settled()
        assert c1.charged() == 464 * MIB
    order[1].kill()
    c1.settled()
    c2.settled()


def test_descriptors_of_another_tenant_are_not_accepted_in_calls(make: MakeTenant) -> None:
    """As if the number were not open: no tying, mapping or exporting across tenants."""
    c1, c2 = make("c1", 64 * MIB), make("c2", 64 * MIB)
    with (
        Client(c1.nodes) as mine,
        Card(mine) as card,
        Client(c2.nodes) as theirs,
        Node(c2.nodes.gpu(0)) as their_gpu,
    ):
        memory = card.memory(2 * MIB)
        assert status_of(mine.map_memory, card.device, memory, 2 * MIB, their_gpu) != 0
        assert status_of(mine.export, card.device, card.device, memory, theirs.ctl) != 0
        with pytest.raises(OSError, match="Invalid argument"):
            theirs.register(card.node)
        with pytest.raises(OSError, match="Invalid argument"):
            their_gpu.mmap(2 * MIB)
        assert status_of(theirs.dup, theirs.handle, mine.handle, memory) == N.NV_ERR_INVALID_CLIENT


def test_mapping_keeps_the_file_and_its_charge(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    client = Client(owner.nodes)
    card = Card(client)
    mapping = card.map(card.memory(2 * MIB), 2 * MIB)
    mapping.write(0, b"kept")
    card.close()
    client.close()
    # the control file held the client: its memory is free, the mapping sees its old pages
    owner.settled()
    assert mapping.read(0, 4) == b"kept"
    mapping.unmap()


def test_everything_is_freed_in_whatever_order_it_ends(make: MakeTenant) -> None:
    """Files duplicated, passed, inherited and mapped; the ends come in random order."""
    owner = make("c1", 1024 * MIB)
    dice = random.Random(7)
    for _ in range(scaled(6, 200)):
        client = Client(owner.nodes)
        card = Card(client)
        memory = card.memory(64 * MIB)
        mapping = card.map(memory, 64 * MIB)
        mapping.write(0, b"x")
        copies = [Node.from_fd(os.dup(client.ctl.fd), owner.nodes.ctl) for _ in range(2)]
        one, two = socket.socketpair()
        send_fds(one, client.ctl.fd, card.node.fd)  # in flight: nobody has received them
        heir = Child(lambda pipe: pipe.recv(), keep=[client.ctl.fd, card.node.fd])
        ends: list[Callable[[], object]] = [
            client.close,
            card.close,
            mapping.unmap,
            heir.kill,
            lambda one=one, two=two: (one.close(), two.close()),  # type: ignore[misc]
            *(copy.close for copy in copies),
        ]
        dice.shuffle(ends)
        assert owner.charged() == 64 * MIB
        for end in ends:
            end()
        owner.settled()
        wait_for(lambda: truth.memory().objects == 0, "memory is left in the driver")


def _module_state() -> dict[str, object]:
    """What a leak would show up in, beside nvsim's counts."""
    threads = 0
    for entry in Path("/proc").glob("[0-9]*/comm"):
        try:
            threads += entry.read_text().startswith("gpushare")
        except OSError:
            continue
    return {
        "references": {
            name: Path(f"/sys/module/{name}/refcnt").read_text() for name in ("gpushare", "nvsim")
        },
        "folders": sorted(entry.name for entry in SYSFS.iterdir()),
        "devices": sorted(os.listdir("/sys/class/gpushare")),
        "nodes": sorted(os.listdir("/dev/gpushare")) if Path("/dev/gpushare").exists() else [],
        "threads": threads,
        "counts": truth.counts(),
    }


def _slab_kib() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("SUnreclaim:")))


def test_cycles_of_create_use_kill_and_delete_leave_nothing(genl: Genl, card: KernelCard) -> None:
    def cycle() -> None:
        owner = create(genl, "c1", {card.uuid: 256 * MIB})
        user = Actor(owner.nodes)
        user.alloc(128 * MIB)
        assert status_of(user.alloc, 256 * MIB) == NO_MEMORY
        user.kill()
        owner.delete()

    cycle()
    wait_for(lambda: truth.memory().objects == 0, "memory is left in the driver")
    before, slab = _module_state(), _slab_kib()
    rounds = scaled(25, 200)
    for _ in range(rounds):
        cycle()
    wait_for(lambda: _module_state() == before, lambda: f"{_module_state()} was {before}")
    # a leak of a tenant, file or thread's stack a round would be far more than this
    assert _slab_kib() - slab < 4 * rounds + 512


def test_forced_delete_takes_calls_and_grant_but_not_the_charge(
    genl: Genl, card: KernelCard
) -> None:
    owner = create(genl, "c1", {card.uuid: 256 * MIB})
    with Client(owner.nodes) as client:
        gpu = Card(client)
        gpu.memory(128 * MIB)
        owner.delete(force=True)
        with pytest.raises(OSError, match="No such device"):
            gpu.memory(1)
        assert truth.memory().objects == 128 * MIB, "still there while its file is open"
        again = create(genl, "c1", {card.uuid: card.grantable})
        assert again.charged() == 0
        again.delete()
        gpu.close()
    wait_for(lambda: truth.memory().objects == 0, "memory is left in the driver")


def test_open_files_keep_a_tenant_from_being_deleted(genl: Genl, make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    with Node(owner.nodes.ctl):
        assert owner.open_files() == 1
        with pytest.raises(Refusal, match="1 files are open") as refusal:
            owner.delete()
        assert refusal.value.number == 16
    assert owner.open_files() == 0


def test_driver_that_closes_late_keeps_the_charge_till_then(make: MakeTenant) -> None:
    late = Path("/sys/module/nvsim/parameters/defer_close_ms")
    owner = make("c1", 256 * MIB)
    was = late.read_text()
    late.write_text("700")
    try:
        user = Actor(owner.nodes)
        user.alloc(200 * MIB)
        user.kill()
        assert truth.memory().objects == owner.charged() == 200 * MIB
        with Client(owner.nodes) as client, Card(client) as card:
            with pytest.raises(Refused):
                card.memory(100 * MIB)
            wait_for(lambda: truth.memory().objects == 0, "the driver doesn't close")
            owner.settled()
            card.memory(100 * MIB)
    finally:
        late.write_text(was)
    owner.settled()


def test_freed_parents_leave_no_chain_in_the_books(make: MakeTenant) -> None:
    """An event below memory goes with it. Its number is taken anew, for memory that has the next
    event below, and so on: what the books forgot to drop each time would hang below one object in
    the end, a thousand deep."""
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        client.os_event(card.node)
        last = 0
        for number in range(0x51000000, 0x51000000 + 1000):
            card.memory(64 << 10, handle=number)
            if last:
                _event(client, card, number, last)
            card.free(number)
            last = number
        _event(client, card, card.subdevice, last)
        client.free(last)
        assert owner.charged() == 0
        card.memory(MIB)
    owner.settled()


def _event(client: Client, card: Card, parent: int, handle: int) -> None:
    params = block(
        "nv0005_alloc",
        h_parent_client=client.handle,
        h_src_resource=parent,
        h_class=N.NV01_EVENT_OS_EVENT,
        data=card.node.fd,
    )
    client.alloc(parent, N.NV01_EVENT, params, handle=handle)
