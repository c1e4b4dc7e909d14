# SPDX-License-Identifier: GPL-2.0-only
"""Pid numbers are for display: a number that comes again inherits nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, TypeVar

import pytest

from tests.guest.rm import truth
from tests.guest.rm.abi import MIB
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client
from tests.guest.rm.node import Node
from tests.guest.rm.process import Child
from tests.guest.rm.tenant import MakeTenant, wait_for
from tests.guest.suite.actors import Actor

LAST_PID: Final = Path("/proc/sys/kernel/ns_last_pid")
TRIES: Final = 50
Process = TypeVar("Process", bound=Child)

pytestmark = pytest.mark.skipif(not LAST_PID.exists(), reason="this kernel can't choose a pid")


def _next_pid_is(pid: int) -> None:
    LAST_PID.write_text(str(pid - 1))


@pytest.mark.case("MA-07")
def test_equal_numbers_in_two_namespaces_are_two_processes(make: MakeTenant) -> None:
    """Both tenants have a process 1 and a process 57; 57 of the first is killed."""
    c1, c2 = make("c1", 512 * MIB), make("c2", 512 * MIB)
    actors: list[tuple[Actor, Actor]] = []
    for owner in (c1, c2):
        first = Actor(owner.nodes, namespace=True)
        host = next(one.pid for one in truth.clients() if one.handle == first.handle())
        second = Actor(owner.nodes, beside=host, number=57)
        assert (first.own_pid, second.own_pid) == (1, 57)
        first.alloc(10 * MIB)
        second.alloc(100 * MIB)
        actors.append((first, second))
    victim = next(one.pid for one in truth.clients() if one.handle == actors[0][1].handle())
    os.kill(victim, 9)
    c1.settled(10 * MIB)
    assert c2.charged() == 110 * MIB
    assert actors[0][0].pids() == [1]
    assert sorted(actors[1][0].pids()) == [1, 57]
    assert [one.bytes for one in actors[1][1].pid_info(57)] == [100 * MIB]
    assert [one.bytes for one in actors[0][0].pid_info(57)] == [0]
    actors[0][1].wait()
    # the end of process 1 ends its namespace: it goes last
    for actor in (actors[0][0], actors[1][1], actors[1][0]):
        actor.finish()


@pytest.mark.case("MA-07")
def test_reused_number_inherits_nothing(make: MakeTenant) -> None:
    """The dead process's memory lives on behind an inherited file while its number comes again,
    first for a process without a GPU, then for one of another tenant."""
    c1, c2 = make("c1", 512 * MIB), make("c2", 512 * MIB)
    witness1, witness2 = Actor(c1.nodes), Actor(c2.nodes)
    # files that this process inherits to the dying one keep its client alive
    ctl, gpu = Node(c1.nodes.ctl), Node(c1.nodes.gpu(0))

    def body(pipe: Connection) -> None:
        Card(Client(c1.nodes, ctl=ctl), node=gpu).memory(100 * MIB)
        pipe.send(os.getpid())
        pipe.recv()

    dead = Child(body, keep=[ctl.fd, gpu.fd])
    number = dead.number()
    assert sorted(witness1.pids()) == sorted([witness1.own_pid, number])
    dead.kill()
    assert c1.charged() == 100 * MIB
    assert witness1.pids() == [witness1.own_pid]

    bystander = _with_pid(number, lambda: Child(lambda pipe: pipe.recv()))
    assert witness1.pids() == [witness1.own_pid]
    assert [one.bytes for one in witness1.pid_info(number)] == [0]
    bystander.finish()

    heir = _with_pid(number, lambda: Actor(c2.nodes))
    heir.alloc(50 * MIB)
    assert (c1.charged(), c2.charged()) == (100 * MIB, 50 * MIB)
    assert witness1.pids() == [witness1.own_pid]
    assert sorted(witness2.pids()) == sorted([witness2.own_pid, number])
    assert [one.bytes for one in witness2.pid_info(number)] == [50 * MIB]
    assert [one.bytes for one in witness1.pid_info(number)] == [0]
    ctl.close()
    gpu.close()
    c1.settled()
    assert c2.charged() == 50 * MIB, "the end of the dead one's memory doesn't touch its heir"
    for actor in (heir, witness1, witness2):
        actor.finish()
    wait_for(lambda: truth.memory().objects == 0, "memory is left in the driver")


def _with_pid(number: int, start: Callable[[], Process]) -> Process:
    """Another process may take the number in between: then again."""
    for _ in range(TRIES):
        _next_pid_is(number)
        child = start()
        if child.pid == number:
            return child
        child.finish()
    raise AssertionError(f"pid {number} was not given out again")
