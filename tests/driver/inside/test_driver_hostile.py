# SPDX-License-Identifier: GPL-2.0-only
"""Attacks from inside a tenant on NVIDIA's own modules; races are in tests/guest/client/races.c."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import pytest

from tests.guest.rm.abi import MIB, Block, N, make, running
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, Refused, status_of
from tests.guest.rm.genl import Genl
from tests.guest.rm.node import Node, Nodes, reserve
from tests.guest.rm.process import Child, recv_fds, send_fds
from tests.guest.rm.tenant import KernelCard, Tenant, cards, tenant
from tests.guest.rm.uvm import Uvm

QUOTA: Final = 256 * MIB
MEMORY: Final = 0x7001
GROUP: Final = 990  # of the nodes
NICE: Final = 2  # RS_ACCESS mask: src/common/sdk/nvidia/inc/rs_access.h
PTRACE_ATTACH: Final = 16
ROUNDS: Final = 200
_libc: Final = ctypes.CDLL(None, use_errno=True)


@pytest.fixture(scope="module")
def genl() -> Iterator[Genl]:
    with Genl() as socket_:
        yield socket_


@pytest.fixture(scope="module")
def card(genl: Genl) -> KernelCard:
    return min(cards(genl), key=lambda one: one.minor)


@pytest.fixture
def pair(genl: Genl, card: KernelCard) -> Iterator[tuple[Tenant, Tenant]]:
    with (
        tenant(genl, "victim", {card.uuid: QUOTA}, owner_gid=GROUP, mode=0o660) as victim,
        tenant(genl, "attacker", {card.uuid: QUOTA}, owner_gid=GROUP, mode=0o660) as attacker,
    ):
        yield victim, attacker


class Attacker:
    """A client of its own, and calls that name somebody else's."""

    def __init__(self, stack: ExitStack, nodes: Nodes, card: KernelCard, foreign: int) -> None:
        self.client = stack.enter_context(Client(nodes))
        self.card = stack.enter_context(Card(self.client, card.minor))
        self.uvm = stack.enter_context(Uvm(nodes))
        self.uuid = card.uuid_bytes
        self.foreign = foreign
        self.base = reserve(2 * MIB)
        self.uvm.create_external(self.base, 2 * MIB)

    def sent(self, nr: int, block: Block, status_off: int, *, on: Node | None = None) -> None:
        (on or self.client.ctl).ioctl(nr, block)
        if status := block.u32(status_off):
            raise Refused(hex(nr), status)

    def plain(self, nr: int, size: int, status_off: int, **words: int) -> Callable[[], None]:
        """A call whose structure begins with the client, then a device or parent."""

        def call() -> None:
            block = Block(size)
            block.set_u32(0, self.foreign)
            block.set_u32(4, self.card.device)
            for place, value in words.items():
                block.set_u32(int(place.removeprefix("at")), value)
            self.sent(nr, block, status_off)

        return call

    def as_foreign(self, call: Callable[[Client], object]) -> Callable[[], None]:
        def made() -> None:
            mine, self.client.handle = self.client.handle, self.foreign
            try:
                call(self.client)
            finally:
                self.client.handle = mine

        return made

    def driver_asked(self) -> dict[str, Callable[[], None]]:
        """The driver itself knows whose the client is: the file that asks is not its owner."""
        row = running()
        foreign, device = self.foreign, self.card.device
        return {
            "control": self.as_foreign(lambda c: c.handle_class(MEMORY)),
            "alloc": self.as_foreign(lambda c: c.alloc(foreign, N.NV20_GPU_MANAGEMENT)),
            "free": self.as_foreign(lambda c: c.free(MEMORY, device)),
            "free of the client": self.as_foreign(lambda c: c.free(foreign)),
            "share": self.as_foreign(lambda c: c.share(MEMORY, N.RS_SHARE_TYPE_ALL)),
            "dup into it": lambda: self.sent(
                N.NV_ESC_RM_DUP_OBJECT,
                make(
                    "nvos55",
                    h_client=foreign,
                    h_parent=device,
                    h_client_src=self.client.handle,
                    h_object_src=device,
                ),
                24,
            ),
            "heap": self.as_foreign(lambda c: c.heap_alloc(device, MIB)),
            "map": self.as_foreign(lambda c: c.map_memory(device, MEMORY, MIB, c.ctl)),
            "unmap": self.plain(N.NV_ESC_RM_UNMAP_MEMORY, 32, 24, at8=MEMORY),
            "map dma": self.plain(
                N.NV_ESC_RM_MAP_MEMORY_DMA, row["map_dma_bytes"], row["map_dma_status_off"]
            ),
            "unmap dma": self.plain(
                N.NV_ESC_RM_UNMAP_MEMORY_DMA, row["unmap_dma_bytes"], row["unmap_dma_status_off"]
            ),
            "context dma": self.plain(N.NV_ESC_RM_ALLOC_CONTEXT_DMA2, 56, 48, at8=2),
            "bind": self.plain(N.NV_ESC_RM_BIND_CONTEXT_DMA, 16, 12),
            "mapping info": self.plain(N.NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO, 40, 32),
            "oldest alloc": self.plain(N.NV_ESC_RM_ALLOC_OBJECT, 20, 16, at4=foreign, at12=0x20),
            "heap's limit": lambda: self.sent(
                N.NV_ESC_RM_ALLOC_MEMORY,
                make(
                    "nvos02_fd",
                    h_root=foreign,
                    h_object_parent=device,
                    h_class=N.NV01_MEMORY_LOCAL_USER,
                    fd=-1,
                ),
                40,
                on=self.card.node,
            ),
        }

    def gpushare_asked(self) -> dict[str, Callable[[], object]]:
        """Here the driver would act with the kernel's rights, or not ask whose it is."""
        client, device, uvm, uuid = self.client, self.card.device, self.uvm, self.uuid
        return {
            "dup from it": lambda: client.dup(device, self.foreign, MEMORY),
            "event on it": lambda: client.alloc(
                client.handle,
                N.NV01_EVENT_OS_EVENT,
                make(
                    "nv0005_alloc",
                    h_parent_client=self.foreign,
                    h_src_resource=self.foreign,
                    h_class=N.NV01_EVENT_OS_EVENT,
                    data=client.ctl.fd,
                ),
            ),
            "device sharing with it": lambda: client.alloc(
                client.handle, N.NV01_DEVICE_0, make("nv0080_alloc", h_client_share=self.foreign)
            ),
            "device targeting it": lambda: client.alloc(
                client.handle,
                N.NV01_DEVICE_0,
                make("nv0080_alloc", h_target_client=self.foreign, h_target_device=device),
            ),
            "uvm gpu": lambda: uvm.register_gpu(uuid, h_client=self.foreign),
            "uvm address space": lambda: uvm.register_vaspace(uuid, self.foreign, device),
            "uvm mapping": lambda: uvm.map_external(self.base, 2 * MIB, uuid, self.foreign, MEMORY),
            "uvm channel": self._channel,
        }

    def _channel(self) -> None:
        block = make(
            "uvm_register_channel",
            rm_ctrl_fd=self.client.ctl.fd,
            h_client=self.foreign,
            h_channel=MEMORY,
            base=self.base,
            length=2 * MIB,
        )
        block.put_field("gpu_uuid", self.uuid)
        self.uvm.node.command(N.UVM_REGISTER_CHANNEL, block.address)
        if block["rm_status"]:
            raise Refused("channel", block["rm_status"])


def _refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except Refused:
        return True
    except OSError as error:
        return error.errno == errno.EINVAL
    return False


def test_another_tenants_client_is_refused_in_every_call_that_names_one(
    pair: tuple[Tenant, Tenant], card: KernelCard
) -> None:
    victim, attacker = pair
    with ExitStack() as stack:
        owner = stack.enter_context(Client(victim.nodes))
        theirs = stack.enter_context(Card(owner, card.minor))
        theirs.memory(16 * MIB, handle=MEMORY)
        hostile = Attacker(stack, attacker.nodes, card, owner.handle)
        granted = [name for name, call in hostile.driver_asked().items() if not _refused(call)]
        assert not granted
        forwarded = attacker.stats()["forwarded"]
        granted = [name for name, call in hostile.gpushare_asked().items() if not _refused(call)]
        assert not granted
        assert attacker.stats()["forwarded"] == forwarded, "the driver was asked"
        # untouched: the client, its objects, what is charged
        assert owner.handle_class(owner.handle) == N.NV01_ROOT_CLIENT
        assert owner.handle_class(MEMORY) == N.NV01_MEMORY_LOCAL_USER
        assert (victim.charged(), attacker.charged()) == (16 * MIB, 0)


def test_files_of_another_tenant_are_none(pair: tuple[Tenant, Tenant], card: KernelCard) -> None:
    """Passed by SCM_RIGHTS, they act for their own tenant and cannot be tied to ours."""
    victim, attacker = pair
    ours, theirs = socket.socketpair()

    def give(pipe: Connection) -> None:
        with Client(victim.nodes) as client, Uvm(victim.nodes) as uvm:
            send_fds(theirs, client.ctl.fd, uvm.node.fd)
            pipe.send(client.handle)
            pipe.recv()

    with ExitStack() as stack:
        stack.callback(ours.close)
        stack.callback(theirs.close)
        child = stack.enter_context(Child(give, keep=[theirs.fileno()]))
        handle = child.number()
        ctl_fd, uvm_fd = recv_fds(ours, 2)
        ctl = stack.enter_context(Node.from_fd(ctl_fd, victim.nodes.ctl))
        space = stack.enter_context(Node.from_fd(uvm_fd, victim.nodes.uvm))
        mine = stack.enter_context(Client(attacker.nodes))
        gpu = stack.enter_context(Node(attacker.nodes.gpu(card.minor)))
        with pytest.raises(OSError, match="Invalid argument"):
            gpu.ioctl(N.NV_ESC_REGISTER_FD, make("nv_register_fd", ctl_fd=ctl.fd))
        second = stack.enter_context(Uvm(attacker.nodes, initialize=False))
        assert status_of(second.mm_initialize, space) == N.NV_ERR_INVALID_ARGUMENT
        params = make("nv0000_export_to_fd", object_type=1, fd=ctl.fd)
        command = N.NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD
        assert status_of(mine.control, mine.handle, command, params) != N.NV_OK
        # it still is what it was: the victim's control file
        lent = stack.enter_context(Client(victim.nodes, ctl=ctl))
        lent.handle = handle
        assert lent.handle_class(handle) == N.NV01_ROOT_CLIENT


def test_root_in_a_tenant_has_no_right_to_be_nice(pair: tuple[Tenant, Tenant]) -> None:
    def rights(nodes: Nodes) -> int:
        with Client(nodes) as client:
            params = make("nv0000_access_rights", h_object=client.handle, h_client=client.handle)
            client.control(client.handle, N.NV0000_CTRL_CLIENT_GET_ACCESS_RIGHTS, params)
            return params["mask"]

    assert os.geteuid() == 0
    assert rights(Nodes.real()) & NICE
    assert not rights(pair[0].nodes) & NICE


def test_two_users_of_a_tenant_have_their_own_clients(
    pair: tuple[Tenant, Tenant], card: KernelCard
) -> None:
    nodes = pair[0].nodes

    def user(uid: int) -> Callable[[Connection], None]:
        def body(pipe: Connection) -> None:
            os.setresgid(GROUP, GROUP, GROUP)
            os.setresuid(uid, uid, uid)
            with Client(nodes) as client, Card(client, card.minor) as mine:
                mine.memory(MIB)
                pipe.send(client.handle)
                foreign = pipe.recv()
                kept, client.handle = client.handle, foreign
                refused = [
                    status_of(client.handle_class, foreign),
                    status_of(client.free, foreign),
                ]
                client.handle = kept
                pipe.send((refused, client.handle_class(kept)))
                pipe.recv()  # the other one asks for it

        return body

    with Child(user(1000)) as first, Child(user(1001)) as second:
        handles = first.number(), second.number()
        assert pair[0].charged() == 2 * MIB
        for child, foreign in ((first, handles[1]), (second, handles[0])):
            answer = child.ask(foreign)
            assert answer == ([N.NV_ERR_INVALID_CLIENT] * 2, N.NV01_ROOT_CLIENT)
    pair[0].settled()


def test_poll_without_waiting_comes_back(pair: tuple[Tenant, Tenant]) -> None:
    with Client(pair[0].nodes) as client:
        client.os_event(client.ctl)
        client.event(client.handle, client.ctl, 0)
        for nonblocking in (True, False, True):
            flags = fcntl.fcntl(client.ctl.fd, fcntl.F_GETFL) & ~os.O_NONBLOCK
            fcntl.fcntl(client.ctl.fd, fcntl.F_SETFL, flags | nonblocking * os.O_NONBLOCK)
            assert client.ctl.poll(20) == 0
    with Node(pair[0].nodes.ctl, os.O_NONBLOCK) as node:
        assert node.poll(20) == 0


def test_client_of_a_forked_process_stays_its_own(pair: tuple[Tenant, Tenant]) -> None:
    with Client(pair[0].nodes) as client:

        def body(pipe: Connection) -> None:
            pipe.send(client.handle_class(client.handle))

        with Child(body, keep=[client.ctl.fd]) as child:
            assert child.number() == N.NV01_ROOT_CLIENT
        assert client.handle_class(client.handle) == N.NV01_ROOT_CLIENT


# ---- the threads that hold the driver's files ----


def _forwarding_threads() -> list[int]:
    found = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text().startswith("gpushare"):
                found.append(int(comm.parent.name))
        except OSError:
            continue  # it has just ended
    return found


def _reach(pid: int) -> list[str]:
    """Ways into another task's files that work."""
    ways = []
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR)
            ways.append(f"/proc/{pid}/fd/{fd}")
    except OSError:
        pass
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return ways
    for number in range(16):
        got = _libc.syscall(438, pidfd, number, 0)  # pidfd_getfd
        if got >= 0:
            ways.append(f"pidfd_getfd of {pid}: {number}")
            os.close(got)
    os.close(pidfd)
    if _libc.ptrace(PTRACE_ATTACH, pid, None, None) == 0:
        ways.append(f"ptrace of {pid}")
    return ways


def _drop_powers(uid: int) -> None:
    """Another user, or root without any capability."""
    if uid:
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        return
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    assert _libc.syscall(126, header, nothing) == 0  # capset


@pytest.mark.parametrize("uid", [0, 1000])
def test_forwarding_threads_are_out_of_reach(
    pair: tuple[Tenant, Tenant], card: KernelCard, uid: int
) -> None:
    nodes = pair[0].nodes

    def calling(pipe: Connection) -> None:
        """Each call that carries a descriptor, over and over."""
        with Client(nodes) as client:
            pipe.send(client.handle)
            for _ in range(ROUNDS):
                with Node(nodes.gpu(card.minor)) as gpu, Uvm(nodes) as uvm:
                    client.register(gpu)
                    with Uvm(nodes, initialize=False) as second:
                        second.mm_initialize(uvm.node)
            pipe.send("done")

    def reaching(pipe: Connection) -> None:
        _drop_powers(uid)
        looked, ways = 0, []
        while not pipe.poll():
            for pid in _forwarding_threads():
                looked += 1
                ways += _reach(pid)
        pipe.recv()
        pipe.send((looked, ways))

    with Child(calling) as caller, Child(reaching) as hunter:
        caller.number()
        assert caller.recv(300) == "done"
        answer = hunter.ask("end")
    assert isinstance(answer, tuple)
    assert answer[0] > 0, "no thread was ever seen"
    assert answer[1] == []
