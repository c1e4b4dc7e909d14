# SPDX-License-Identifier: GPL-2.0-only
"""What a tenant may not do, although the driver would let root, or anyone, do it."""

from __future__ import annotations

import os
from typing import Final

import pytest

from tests.guest.rm import truth
from tests.guest.rm.abi import MIB, Block, N, running
from tests.guest.rm.abi import make as make_block
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, status_of
from tests.guest.rm.node import Node, Nodes
from tests.guest.rm.tenant import KernelCard, MakeTenant
from tests.guest.rm.uvm import Uvm

PERM: Final = N.NV_ERR_INSUFFICIENT_PERMISSIONS
NOSUP: Final = N.NV_ERR_NOT_SUPPORTED
WINDOWS: Final = {
    N.NV01_MEMORY_LOCAL_PHYSICAL: 24,
    N.NV01_MEMORY_LIST_SYSTEM: 152,
    N.NV01_MEMORY_LIST_FBMEM: 152,
    N.NV01_MEMORY_LIST_OBJECT: 152,
}
REFERENCES: Final = (
    N.NV_MEMORY_EXPORT,
    N.NV01_MEMORY_FLA,
    N.NV_MEMORY_FABRIC,
    N.NV_MEMORY_FABRIC_IMPORT_V2,
    N.NV_MEMORY_FABRIC_IMPORTED_REF,
    N.NV_MEMORY_MULTICAST_FABRIC,
    N.NV50_THIRD_PARTY_P2P,
    N.NV_MEMORY_EXTENDED_USER,
)
FIRMWARE: Final = (N.NV2082_BINAPI_PRIVILEGED,)
CAPABILITIES: Final = (
    N.AMPERE_SMC_PARTITION_REF,
    N.AMPERE_SMC_EXEC_PARTITION_REF,
    N.AMPERE_SMC_CONFIG_SESSION,
    N.AMPERE_SMC_MONITOR_SESSION,
)


def test_root_has_no_window_on_physical_memory(make: MakeTenant) -> None:
    """The same calls by the same root user on the driver's own node work: that is the danger."""
    owner = make("c1", 64 * MIB)
    with Client(Nodes.real()) as real, Card(real) as whole:
        params = Block(24)
        params.set_u64(0, 2 * MIB)
        assert status_of(real.alloc, whole.device, N.NV01_MEMORY_LOCAL_PHYSICAL, params) == 0
    with Client(owner.nodes) as client, Card(client) as card:
        for h_class, size in WINDOWS.items():
            params = Block(size)
            params.set_u64(0, 2 * MIB)
            for parent in (card.device, card.subdevice):
                assert status_of(client.alloc, parent, h_class, params) == PERM, hex(h_class)
        assert owner.charged() == 0


def test_tenant_is_nobody_special_to_the_driver(make: MakeTenant) -> None:
    """No capability of the caller reaches it: a control for administrators is refused by it."""
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        for command, size in ((0x20801119, 516), (0x20801117, 1)):
            assert status_of(client.control, card.subdevice, command, Block(size)) in (PERM, NOSUP)


@pytest.mark.parametrize("h_class", [*REFERENCES, *FIRMWARE, *CAPABILITIES], ids=hex)
def test_denied_class_is_refused_by_status(make: MakeTenant, h_class: int) -> None:
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        for parent in (client.handle, card.device, card.subdevice):
            assert status_of(client.alloc, parent, h_class, Block(512)) in (PERM, NOSUP)
        assert owner.stats()["refused_denied"] == 3


@pytest.mark.parametrize(
    ("command", "size"),
    [
        pytest.param(0xB02, 8, id="accounting state"),
        pytest.param(0xB04, 16016, id="accounting pids"),
        pytest.param(0x20801115, 8, id="runlist policy"),
        pytest.param(0x20801102, 64, id="any channel's fifo"),
        pytest.param(N.NV2080_CTRL_UTILISATION_OBSERVED, 64, id="load of the card"),
        pytest.param(0x20808001, 64, id="undocumented"),
        pytest.param(N.NV0000_CTRL_OS_UNIX_CREATE_EXPORT_OBJECT_FD, 76, id="export of many"),
        pytest.param(0x20810101, 16, id="firmware interface"),
    ],
)
def test_denied_control_is_refused_by_status(make: MakeTenant, command: int, size: int) -> None:
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        params = Block(size)
        target = client.handle if command >> 16 == 0 else card.subdevice
        assert status_of(client.control, target, command, params) in (PERM, NOSUP)
        assert params.raw == bytes(size)


def test_serialized_controls_are_refused(make: MakeTenant) -> None:
    """Their parameters would not be what is decoded."""
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as card:
        params = Block(running()["fb_info_v2_bytes"])
        assert (
            status_of(client.control, card.subdevice, N.NV2080_CTRL_FB_GET_INFO_V2, params, flags=4)
            == NOSUP
        )


@pytest.mark.parametrize(
    "nr",
    [
        pytest.param(N.NV_ESC_RM_I2C_ACCESS, id="i2c"),
        pytest.param(N.NV_ESC_SET_NUMA_STATUS, id="numa"),
        pytest.param(N.NV_ESC_RM_ACCESS_REGISTRY, id="registry"),
        pytest.param(N.NV_ESC_RM_DIAGNOSTIC, id="diagnostic"),
        pytest.param(N.NV_ESC_EXPORT_TO_DMABUF_FD, id="dma-buf"),
    ],
)
def test_denied_ioctl_never_succeeds(make: MakeTenant, nr: int) -> None:
    owner = make("c1", 64 * MIB)
    sizes = {
        N.NV_ESC_SET_NUMA_STATUS: 4,
        N.NV_ESC_RM_ACCESS_REGISTRY: 72,
        N.NV_ESC_EXPORT_TO_DMABUF_FD: running()["dmabuf_bytes"],
    }
    with Client(owner.nodes) as client, Card(client) as card:
        for node in (client.ctl, card.node):
            block = Block(sizes.get(nr, 64))
            for xfer in (False, True):
                try:
                    node.ioctl(nr, block, xfer=xfer)
                except OSError:
                    continue
                assert any(block.raw), "an ioctl that returns 0 tells a status"


def test_managed_memory_tools_are_refused(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    with Uvm(owner.nodes) as uvm:
        for command, size, status_off in (
            (N.UVM_TOOLS_READ_PROCESS_MEMORY, 40, 32),
            (N.UVM_TOOLS_WRITE_PROCESS_MEMORY, 40, 32),
        ):
            block = Block(size)
            uvm.node.command(command, block.address)
            assert block.u32(status_off) == NOSUP


def test_clients_of_neighbours_cannot_be_named(make: MakeTenant, card: KernelCard) -> None:
    """In no call that names a client besides the caller's: as if there were none."""
    c1, c2 = make("c1", 64 * MIB), make("c2", 64 * MIB)
    gone = N.NV_ERR_INVALID_CLIENT
    with (
        Client(c1.nodes) as mine,
        Card(mine) as own,
        Client(c2.nodes) as theirs,
        Card(theirs) as other,
        Uvm(c1.nodes) as uvm,
    ):
        memory = other.memory(2 * MIB)
        assert status_of(mine.dup, own.device, theirs.handle, memory) == gone
        vaspace = other.vaspace()
        uvm.register_gpu(card.uuid_bytes)
        assert status_of(uvm.register_vaspace, card.uuid_bytes, theirs.handle, vaspace) == gone
        base = 0x7000_0000_0000
        uvm.create_external(base, 2 * MIB)
        assert (
            status_of(uvm.map_external, base, 2 * MIB, card.uuid_bytes, theirs.handle, memory)
            == gone
        )
        for field in ("h_client_share", "h_target_client"):
            device = make_block("nv0080_alloc", device_id=card.minor)
            device[field] = theirs.handle
            assert status_of(mine.alloc, mine.handle, N.NV01_DEVICE_0, device) != 0
        disable = Block(536)
        disable.set_u32(0, 1)
        disable.set_u32(4, 1)
        disable.set_u32(24, theirs.handle)
        assert (
            status_of(mine.control, own.subdevice, N.NV2080_CTRL_FIFO_DISABLE_CHANNELS, disable)
            == gone
        )
        # handle and file don't fit: as in the driver
        mine_handle, mine.handle = mine.handle, theirs.handle
        assert (
            status_of(
                mine.control,
                theirs.handle,
                N.NV0000_CTRL_GPU_GET_PROBED_IDS,
                Block(running()["probed_ids_bytes"]),
            )
            == gone
        )
        assert status_of(mine.free, memory) == gone
        mine.handle = mine_handle
        assert c2.charged() == 2 * MIB
        assert truth.memory().objects == 2 * MIB


def test_real_files_are_out_of_reach(make: MakeTenant) -> None:
    """Neither the driver's numbers nor its files show in a tenant's process."""
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client), Uvm(owner.nodes):
        for fd in os.listdir("/proc/self/fd"):
            try:
                status = os.stat(f"/proc/self/fd/{fd}")
            except FileNotFoundError:
                continue
            assert os.major(status.st_rdev) != 195
        assert client.handle


def test_virtual_nodes_have_no_read_or_write(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    with Node(owner.nodes.ctl) as node:
        for call in (lambda: os.read(node.fd, 1), lambda: os.write(node.fd, b"x")):
            with pytest.raises(OSError, match="Invalid argument"):
                call()
