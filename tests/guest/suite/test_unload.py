# SPDX-License-Identifier: GPL-2.0-only
"""When gpushare.ko may leave, and that it leaves nothing. conftest puts this last.

Nothing here uses the session's fixtures: the family's number changes with each load.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import pytest

from gpushared.netlink_abi import FAMILY_VERSION, Command
from tests.guest.rm import truth
from tests.guest.rm.abi import MIB
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client
from tests.guest.rm.genl import Genl, Refusal
from tests.guest.rm.node import Node
from tests.guest.rm.process import Child
from tests.guest.rm.tenant import SYSFS, Tenant, cards, create, tenant, wait_for
from tests.guest.suite.actors import Actor
from tests.guest.suite.scale import scaled

KO: Final = Path(__file__).resolve().parents[3] / ".guest/gpushare.ko"
LOADED: Final = Path("/sys/module/gpushare")
NODES: Final = Path("/dev/gpushare")
CLASS: Final = Path("/sys/class/gpushare")
TENANTS: Final = 120  # more than one message of a dump holds
# the node's name, its number, or the module behind it has gone
GONE: Final = {errno.ENOENT, errno.ENODEV, errno.ENXIO}


def _rmmod() -> str:
    """rmmod's words, empty when it has left."""
    done = subprocess.run(["rmmod", "gpushare"], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def _refused_as_in_use() -> None:
    assert "in use" in _rmmod()
    assert LOADED.exists()
    assert int((LOADED / "refcnt").read_text()) > 0, "what lsmod shows"


def _insmod() -> None:
    subprocess.run(["insmod", KO], check=True)


def _assert_driver_is_idle() -> None:
    """Nobody else uses it: the module's own clients are gone too."""
    counts = truth.counts()
    assert (counts.opens, counts.clients, counts.objects, counts.mappings) == (0, 0, 0, 0)


@contextmanager
def loaded_again() -> Iterator[None]:
    """After a test that may have taken the module out."""
    try:
        yield
    finally:
        if not LOADED.exists():
            _insmod()


def _uuid(genl: Genl) -> str:
    return min(cards(genl), key=lambda card: card.minor).uuid


@contextmanager
def _tenant() -> Iterator[Tenant]:
    with Genl() as genl, tenant(genl, "c1", {_uuid(genl): 64 * MIB}) as made:
        yield made


@pytest.mark.case("KS-04")
def test_stays_with_an_open_file() -> None:
    with _tenant() as owner:
        for path in (owner.nodes.ctl, owner.nodes.gpu(0), owner.nodes.uvm):
            with Node(path):
                _refused_as_in_use()


@pytest.mark.case("KS-04")
def test_stays_with_only_a_mapping_left() -> None:
    def body(pipe: Connection) -> None:
        nodes = pipe.recv()
        client = Client(nodes)
        card = Card(client)
        mapping = card.map(card.memory(MIB), MIB)
        mapping.write(0, b"kept")
        card.node.close()
        client.ctl.close()
        pipe.send(os.getpid())
        pipe.recv()

    with _tenant() as owner:
        child = Child(body)
        child.send(owner.nodes)
        child.number()
        wait_for(lambda: owner.open_files() == 0, "the files stay open")
        _refused_as_in_use()
        child.send()
        child.finish()
        owner.settled()


@pytest.mark.case("KS-04")
def test_stays_with_a_task_inside() -> None:
    """A call that hangs in the driver, its program killed: the module waits for the driver."""
    with _tenant() as owner, truth.faults("hang alloc number=0x40"):
        user = Actor(owner.nodes)
        user.send(("alloc", (MIB,)))
        wait_for(lambda: "met=1" in truth.FAULTS.read_text(), truth.FAULTS.read_text)
        _refused_as_in_use()
        os.kill(user.pid, signal.SIGKILL)
        user.wait()


@pytest.mark.case("KS-04")
def test_stays_with_a_dump_in_progress() -> None:
    with Genl() as genl:
        uuid = _uuid(genl)
        owners = [create(genl, f"c{number}", {uuid: MIB}) for number in range(TENANTS)]
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as asking:
            asking.bind((0, 0))
            body = struct.pack("<BBH", Command.TENANT_GET, FAMILY_VERSION, 0)
            head = struct.pack("<IHHII", 16 + len(body), genl.family, 1 | 0x300, 1, 0)
            asking.send(head + body)
            _refused_as_in_use()
        for owner in owners:
            owner.delete()


@pytest.mark.case("KS-04")
def test_leaves_under_an_open_file_of_sysfs() -> None:
    """The kernel holds no module for one: a reader is waited for, later reads find nothing."""
    with Genl() as genl:
        uuid = _uuid(genl)
        create(genl, "c1", {uuid: MIB})
    fd = os.open(SYSFS / "c1" / uuid / "charged_bytes", os.O_RDONLY)
    try:
        with loaded_again():
            assert int(os.pread(fd, 64, 0)) == 0
            assert _rmmod() == ""
            with pytest.raises(OSError, match="No such device") as gone:
                os.pread(fd, 64, 0)
            assert gone.value.errno == errno.ENODEV
    finally:
        os.close(fd)


@pytest.mark.case("KS-04")
@pytest.mark.parametrize("tenants", [0, 3])
def test_leaves_nothing_when_nobody_uses_it(tenants: int) -> None:
    with Genl() as genl:
        for number in range(tenants):
            create(genl, f"c{number}", {_uuid(genl): MIB})
    with loaded_again():
        assert _rmmod() == ""
        assert not LOADED.exists()
        for path in (NODES, CLASS, SYSFS):
            assert not path.exists() or not list(path.iterdir()), path
        assert "gpushare" not in Path("/proc/devices").read_text()
        with pytest.raises((Refusal, OSError)):
            Genl()
        _assert_driver_is_idle()
    with Genl() as genl:
        assert genl.dump(Command.TENANT_GET) == []


def _open_for_ever(pipe: Connection) -> None:
    """Opens and closes the tenant's nodes; tells how often, and what else than GONE it met."""
    opened, other = 0, set()
    while not pipe.poll():
        for name in ("nvidiactl", "nvidia0", "nvidia-uvm"):
            try:
                os.close(os.open(NODES / "c1" / name, os.O_RDWR))
                opened += 1
            except OSError as error:
                if error.errno not in GONE:
                    other.add(error.errno)
    pipe.send([opened, sorted(other)])


@pytest.mark.case("KS-04")
def test_comes_and_goes_while_a_loop_opens_the_nodes() -> None:
    rounds, busy = scaled(20, 1000), 0
    opener = Child(_open_for_ever)
    with loaded_again():
        for _ in range(rounds):
            if not LOADED.exists():
                _insmod()
            with Genl() as genl:
                create(genl, "c1", {_uuid(genl): MIB})
            attempts = 0
            # refused as long as a file is open; that ends with the tenant
            while _rmmod():
                attempts += 1
                if attempts == 5:
                    with Genl() as genl:
                        genl.do(Command.TENANT_DEL, name="c1", force=True)
                assert attempts < 500
            busy += bool(attempts)
        opener.send()
        answer = opener.recv()
        assert isinstance(answer, list)
        opened, other = answer
        opener.finish()
        assert opened > 0
        assert other == []
        _assert_driver_is_idle()
    print(f"{rounds} rounds, {busy} first refused; {opened} opens")
