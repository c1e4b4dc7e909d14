# SPDX-License-Identifier: GPL-2.0-only
"""Calls with arguments that are wrong on purpose: refused as by the driver, and nothing is charged.

What is sent to the tenant's node is sent to the driver's own node too. An answer is right when it
is EFAULT, EINVAL or what the driver itself answers.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Final, ParamSpec

import pytest

from tests.guest.rm import truth
from tests.guest.rm.abi import MIB, NVABI, PAGE, Block, N, make, running
from tests.guest.rm.card import PID_INFO_BYTES, PIDS_BYTES, Card
from tests.guest.rm.client import Client, Heap, Refused
from tests.guest.rm.node import Node, Nodes, escape
from tests.guest.rm.tenant import MakeTenant, Tenant
from tests.guest.rm.uvm import Uvm
from tests.guest.suite.scale import scaled

P = ParamSpec("P")
KERNEL: Final = 0xFFFF_8880_0000_1000
NON_CANONICAL: Final = 0x8000_0000_0000_0000
# around the sizes that structures have
FEW: Final = (0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 47, 48, 49, 56, 72, 16383)
SIZES: Final = (*range(200), 16383) if scaled(0, 1) else FEW
HUGE: Final = (1 << 31, (1 << 32) - 1)
LEVELS: Final = 5
FINE: Final = {errno.EFAULT, errno.EINVAL}
# those of all drivers, beside them, and one of tests in the driver
UVM_NUMBERS: Final = (N.UVM_INITIALIZE, 0x30000003, *range(0x50 + 2), 66, 255)
# what a tenant is refused whatever the arguments: test_denied.py
DENIED: Final = {N.NV_ESC_SET_NUMA_STATUS, N.NV_ESC_RM_ACCESS_REGISTRY, N.NV_ESC_RM_I2C_ACCESS}

Answer = int
"""0, or the errno; a status of the driver is 0x1000 more than itself."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class EdgePage:
    """A page after which nothing is mapped that may be touched."""

    def __init__(self) -> None:
        self._pages = mmap.mmap(-1, 2 * PAGE)
        self._view = ctypes.c_char.from_buffer(self._pages)
        self.start = ctypes.addressof(self._view)
        self.end = self.start + PAGE
        assert _libc.mprotect(self.end, PAGE, 0) == 0

    def clear(self) -> None:
        ctypes.memset(self.start, 0, PAGE)

    def addresses(self) -> tuple[int, ...]:
        """NULL, odd, the kernel's, none at all, the last byte, past the end, a good one."""
        last = self.end - 1
        return (0, self.start + 1, KERNEL, NON_CANONICAL, last, self.end, self.start)


@pytest.fixture(scope="module")
def edge() -> EdgePage:
    return EdgePage()


@pytest.fixture
def unharmed(make: MakeTenant) -> Iterator[Tenant]:
    """A tenant that holds something; the account and the driver agree before and after."""
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        card.memory(4 * MIB)
        before = owner.charged()
        assert before == truth.memory().objects == 4 * MIB
        yield owner
        owner.settled(before)
        assert truth.memory().objects == 4 * MIB


def answer(call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> Answer:
    try:
        call(*args, **kwargs)
    except OSError as error:
        return error.errno or -1
    except Refused as refused:
        return 0x1000 + refused.status
    return 0


def known(prefix: str) -> list[int]:
    """The numbers in kmod/nvabi with that prefix."""
    text = (NVABI / "numbers.h").read_text(encoding="utf-8")
    return sorted(
        {getattr(N, name) for name in re.findall(rf"^#define ({prefix}\w+)\s", text, re.M)}
    )


def judge(ours: list[tuple[object, Answer]], theirs: list[tuple[object, Answer]]) -> None:
    assert len(ours) == len(theirs)
    wrong = [
        f"{what}: {mine}, the driver {its}"
        for (what, mine), (_, its) in zip(ours, theirs, strict=True)
        if mine not in FINE and mine != its
    ]
    assert not wrong, "\n".join(wrong[:20])


def _every_number(nodes: Nodes, edge: EdgePage) -> list[tuple[object, Answer]]:
    found: list[tuple[object, Answer]] = []
    for path in (nodes.ctl, nodes.gpu(0)):
        for nr in [one for one in known("NV_ESC_") if one not in DENIED]:
            with Node(path) as node:
                for size in SIZES:
                    for address in edge.addresses():
                        if size not in (0, 1, 16383) and address == edge.start:
                            continue  # a zeroed structure of the right size is a real call
                        edge.clear()
                        command = escape(nr, size)
                        got = answer(node.command, command, address)
                        found.append(((path.name, nr, size, address - edge.start), got))
    return found


@pytest.mark.case("KS-02")
def test_known_number_with_any_size_and_address(unharmed: Tenant, edge: EdgePage) -> None:
    judge(_every_number(unharmed.nodes, edge), _every_number(Nodes.real(), edge))


@pytest.mark.case("KS-02")
def test_unknown_numbers_are_refused(unharmed: Tenant, edge: EdgePage) -> None:
    unknown = [nr for nr in range(256) if nr not in known("NV_ESC_")]

    def ask(nodes: Nodes) -> list[tuple[object, Answer]]:
        found: list[tuple[object, Answer]] = []
        for path in (nodes.ctl, nodes.gpu(0)):
            with Node(path) as node:
                for nr in unknown:
                    for size in (4, 128):
                        edge.clear()
                        command = escape(nr, size)
                        got = answer(node.command, command, edge.start)
                        found.append(((path.name, nr, size), got))
        return found

    ours = ask(unharmed.nodes)
    judge(ours, ask(Nodes.real()))
    assert all(got for _, got in ours)


def _transfers(nodes: Nodes, edge: EdgePage) -> list[tuple[object, Answer]]:
    found: list[tuple[object, Answer]] = []
    outer = make("nv_xfer")
    with Node(nodes.ctl) as node:
        command = escape(N.NV_ESC_IOCTL_XFER_CMD, outer.size)
        for nr in (N.NV_ESC_RM_CONTROL, N.NV_ESC_RM_ALLOC, N.NV_ESC_IOCTL_XFER_CMD, 5):
            for size in (0, 1, 31, 33, 16383, 16384, 1 << 20, *HUGE):
                for address in (*edge.addresses(), outer.address):
                    edge.clear()
                    outer["cmd"], outer["size"], outer["ptr"] = nr, size, address
                    got = answer(node.command, command, outer.address)
                    found.append(((nr, size, address - edge.start), got))
        levels = [make("nv_xfer") for _ in range(LEVELS)]
        inner = make("nvos54")
        for level, block in enumerate(levels):
            last = level == LEVELS - 1
            below = inner if last else levels[level + 1]
            block["cmd"] = N.NV_ESC_RM_CONTROL if last else N.NV_ESC_IOCTL_XFER_CMD
            block["size"], block["ptr"] = below.size, below.address
        found.append(("five deep", answer(node.command, command, levels[0].address)))
    return found


@pytest.mark.case("KS-02")
def test_transfer_escape_with_any_contents(unharmed: Tenant, edge: EdgePage) -> None:
    ours = _transfers(unharmed.nodes, edge)
    judge(ours, _transfers(Nodes.real(), edge))
    assert ours[-1] == ("five deep", errno.EINVAL)


def _controls(nodes: Nodes, edge: EdgePage) -> list[tuple[object, Answer]]:
    """Parameters of the controls whose contents the module reads or writes."""
    found: list[tuple[object, Answer]] = []
    sizes = {
        N.NV2080_CTRL_FB_GET_INFO_V2: running()["fb_info_v2_bytes"],
        N.NV2080_CTRL_FB_GET_INFO: 16,
        N.NV2080_CTRL_GPU_GET_PIDS: PIDS_BYTES,
        N.NV2080_CTRL_GPU_GET_PID_INFO: PID_INFO_BYTES,
        N.NV2080_CTRL_FIFO_DISABLE_CHANNELS: 536,
        N.NV0000_CTRL_GPU_GET_PROBED_IDS: 256,
        N.NV0000_CTRL_GPU_GET_ATTACHED_IDS: 128,
        N.NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD: 16,
        N.NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD: 16,
    }
    with Client(nodes) as client, Card(client) as card:
        for command, right in sizes.items():
            target = client.handle if command >> 16 == 0 else card.subdevice
            for size in (0, 1, right - 1, right + 1, 16383, *HUGE, right):
                for address in edge.addresses()[:-1]:
                    block = make("nvos54", h_client=client.handle, h_object=target, cmd=command)
                    block["p_params"], block["params_size"] = address, size
                    edge.clear()

                    def send(block: Block = block) -> None:
                        client.ctl.ioctl(N.NV_ESC_RM_CONTROL, block)
                        if block["status"]:
                            raise Refused("control", block["status"])

                    found.append(((hex(command), size, address - edge.start), answer(send)))
    return found


@pytest.mark.case("KS-02")
def test_control_parameters_from_anywhere(unharmed: Tenant, edge: EdgePage) -> None:
    """A wrong size or address is refused; by which of the two refusals is the module's choice."""
    ours, theirs = _controls(unharmed.nodes, edge), _controls(Nodes.real(), edge)
    wrong = [
        f"{what}: {mine:#x}, the driver {its:#x}"
        for (what, mine), (_, its) in zip(ours, theirs, strict=True)
        if not mine and its
    ]
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.case("KS-02")
def test_allocation_parameters_from_anywhere(unharmed: Tenant, edge: EdgePage) -> None:
    with Client(unharmed.nodes) as client, Card(client) as card:
        for h_class in (N.NV01_MEMORY_LOCAL_USER, N.NV01_MEMORY_SYSTEM, N.FERMI_VASPACE_A):
            for address in edge.addresses()[1:6]:
                block = make(
                    "nvos21",
                    h_root=client.handle,
                    h_object_parent=card.device,
                    h_class=h_class,
                    p_alloc_parms=address,
                )
                got = answer(client.ctl.ioctl, N.NV_ESC_RM_ALLOC, block)
                # an odd address is a good one to the processor: zeroes are asked for
                odd = address == edge.start + 1
                assert got in FINE or block["status"] or odd
                if not got and not block["status"]:
                    client.free(block["h_object_new"], card.device)
        for function in (Heap.SIZE, Heap.TILED, Heap.RANGE, Heap.FREE, Heap.INFO, 0, 99):
            for size in (0, 1, N.NVOS32_SIZE - 1, N.NVOS32_SIZE + 1, 16383):
                edge.clear()
                ctypes.memmove(edge.start + N.NVOS32_OFF_FUNCTION, bytes([function, 0, 0, 0]), 4)
                command = escape(N.NV_ESC_RM_VID_HEAP_CONTROL, size)
                assert answer(client.ctl.command, command, edge.start) in FINE


@pytest.mark.case("KS-02")
def test_managed_memory_calls_from_anywhere(unharmed: Tenant, edge: EdgePage) -> None:
    def ask(nodes: Nodes) -> list[tuple[object, Answer]]:
        found: list[tuple[object, Answer]] = []
        with Uvm(nodes) as uvm:
            for number in UVM_NUMBERS:
                for address in edge.addresses()[:-1]:
                    got = answer(uvm.node.command, number, address)
                    found.append(((number, address - edge.start), got))
        return found

    judge(ask(unharmed.nodes), ask(Nodes.real()))


@pytest.mark.case("KS-02")
def test_hostile_32_bit_program(unharmed: Tenant) -> None:
    nodes = unharmed.nodes
    done = subprocess.run(
        ["compat32", nodes.ctl, nodes.gpu(0)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ended = dict(line.split() for line in done.stdout.splitlines()[1:])
    assert {"EFAULT", "EINVAL"} <= set(ended)
