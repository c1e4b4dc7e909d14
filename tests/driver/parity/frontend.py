# SPDX-License-Identifier: GPL-2.0-only
"""Calls of the control node that are not the resource manager's: version, cards, descriptors."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack

from tests.driver.parity.base import CLOSED, NO_ID, QUERY, RELAXED, STRICT, Part, only, shown
from tests.guest.rm.abi import Block, N, layouts, make, running, running_version
from tests.guest.rm.client import Client
from tests.guest.rm.node import Node


class Frontend(Part):
    """Asks the operating system part of the driver."""

    def parts(self) -> tuple[Callable[[ExitStack], None], ...]:
        return (
            self.version,
            self.cards,
            self.descriptors,
            self.transfers,
            self.sizes,
        )

    # ---- calls that are not the resource manager's ----

    def version(self, stack: ExitStack) -> None:
        ctl = self.ctl(stack)
        right = running_version().encode()
        for what, command, text in (
            ("query", QUERY, b""),
            ("strict, right", STRICT, right),
            ("strict, wrong", STRICT, b"111.11"),
            ("strict, no end", STRICT, b"1" * 64),
            ("relaxed, right", RELAXED, right),
            ("relaxed, same branch", RELAXED, right.split(b".")[0] + b".99"),
            ("relaxed, wrong", RELAXED, b"111.11"),
            ("unknown command", ord("9"), right),
        ):
            block = make("nv_rm_api_version", cmd=command)
            block.put_field("version_string", text)
            self.call(f"version: {what}", ctl, N.NV_ESC_CHECK_VERSION_STR, block)
        for what, value in (("first", 1 << 27), ("again", 1 << 27), ("another", 1 << 28)):
            block = make("nv_sys_params", memblock_size=value)
            self.call(f"sys params: {what}", ctl, N.NV_ESC_SYS_PARAMS, block)

    def cards(self, stack: ExitStack) -> None:
        ctl = self.ctl(stack)
        for what, size in (("too short", 10), ("one", 72), ("odd", 73), ("none", 0)):
            self.step(f"card info: {what}", self._valid_cards, ctl, size)
        self.step("card info", self._card, ctl)
        for what, bus in (("right", 0x41), ("wrong", 0x77)):
            block = make("nv_status_code", bus=bus)
            self.call(f"status code: {what}", ctl, N.NV_ESC_STATUS_CODE, block)
        for what, ids in (("nothing", []), ("wrong", [0x7777]), ("right", [self.gpu_id()])):
            block = Block(max(4 * len(ids), 1))
            for place, gpu_id in enumerate(ids):
                block.set_u32(4 * place, gpu_id)
            self.call(
                f"attach to file: {what}",
                self.ctl(stack),
                N.NV_ESC_ATTACH_GPUS_TO_FD,
                block,
                size=4 * len(ids),
            )

    @staticmethod
    def _valid_cards(ctl: Node, size: int) -> int:
        block = Block(max(size, 1))
        ctl.ioctl(N.NV_ESC_CARD_INFO, block, size=size)
        return sum(block.raw[at] for at in range(0, size - 71, 72))

    @staticmethod
    def _card(ctl: Node) -> object:
        block = Block(32 * 72)
        ctl.ioctl(N.NV_ESC_CARD_INFO, block)
        entry = Block(72, layouts()["nv_card_info"])
        entry.put(0, block.raw[:72])
        rest = {block.raw[at] for at in range(72, 32 * 72, 72)}
        return {**only(entry, *layouts()["nv_card_info"].fields), "others": sorted(rest)}

    # ---- descriptors ----

    def descriptors(self, stack: ExitStack) -> None:
        ctl, other, third = (self.ctl(stack) for _ in range(3))
        plain = self.plain_file(stack)
        uvm = stack.enter_context(Node(self.nodes.uvm))
        for what, fd in (
            ("a closed number", CLOSED),
            ("-1", NO_ID),
            ("a plain file", plain),
            ("no device", os.open("/dev/null", os.O_RDWR)),
            ("a managed-memory file", uvm.fd),
            ("itself", ctl.fd),
            ("another", other.fd),
            ("another again", other.fd),
            ("a third", third.fd),
        ):
            block = make("nv_register_fd", ctl_fd=fd)
            self.call(f"register: {what}", ctl, N.NV_ESC_REGISTER_FD, block)
        block = make("nv_register_fd", ctl_fd=ctl.fd)
        self.call("register: one that is tied", third, N.NV_ESC_REGISTER_FD, block)
        owner = self.client(stack, other)
        asker = self.client(stack, ctl)
        asker.handle = owner.handle
        self.step("tied file uses the client", asker.handle_class, owner.handle)
        stranger = self.client(stack, third)
        stranger.handle = owner.handle
        self.step("tied to a tied file uses the client", stranger.handle_class, owner.handle)
        self.step("poll of a control file", other.poll)
        self.step("read", os.read, other.fd, 1)
        self.step("write", os.write, other.fd, b"x")
        self.step("seek", os.lseek, other.fd, 5, os.SEEK_SET)
        self.step("mmap without context", lambda: other.mmap(4096).unmap())
        self.step("private mmap without context", lambda: other.mmap(4096, private=True).unmap())
        self.step("mmap at an offset", lambda: other.mmap(4096, offset=4096).unmap())

    # ---- the call that carries another ----

    def transfers(self, stack: ExitStack) -> None:
        ctl = self.ctl(stack)
        client = self.client(stack, ctl)
        for what, cmd, size in (
            ("of nothing", 0, 0),
            ("in itself", N.NV_ESC_IOCTL_XFER_CMD, 16),
            ("of a wrong inner size", N.NV_ESC_RM_FREE, 8),
            ("just too long", N.NV_ESC_CARD_INFO, 16385),
            ("far too long", N.NV_ESC_RM_FREE, 1 << 20),
            ("of the greatest length", N.NV_ESC_CARD_INFO, 16384),
            ("unknown", 0x7F, 16),
        ):
            inner = Block(max(size, 1 << 15))
            outer = make("nv_xfer", cmd=cmd, size=size, ptr=inner.address)
            self.call(f"transfer {what}", ctl, N.NV_ESC_IOCTL_XFER_CMD, outer)
        self.call("transfer with a wrong size", ctl, N.NV_ESC_IOCTL_XFER_CMD, Block(24))
        nowhere = make("nv_xfer", cmd=N.NV_ESC_RM_FREE, size=16, ptr=8)
        self.call("transfer of nowhere", ctl, N.NV_ESC_IOCTL_XFER_CMD, nowhere)
        self.step("transferred root", self._root_transferred, ctl, client)
        version = make("nv_rm_api_version", cmd=QUERY)
        for what, command in (
            ("no direction", N.NV_ESC_CHECK_VERSION_STR | 72 << 16),
            ("another type", N.NV_ESC_CHECK_VERSION_STR | 72 << 16 | ord("X") << 8),
            ("only reading", N.NV_ESC_CHECK_VERSION_STR | 72 << 16 | 2 << 30),
        ):
            self.step(f"command with {what}", ctl.command, command, version.address)
        for nr, size in ((N.NV_ESC_RM_FREE, 16), (N.NV_ESC_CHECK_VERSION_STR, 72)):
            whole = 3 << 30 | size << 16 | ord("F") << 8 | nr
            self.step(f"structure of {nr:#x} nowhere", ctl.command, whole, 8)

    @staticmethod
    def _root_transferred(ctl: Node, client: Client) -> object:
        block = make("nvos21", h_class=N.NV01_ROOT_CLIENT)
        ctl.ioctl(N.NV_ESC_RM_ALLOC, block, xfer=True)
        client.handle = block["h_object_new"]
        return shown(block), client.handle_class(client.handle)

    # ---- every number, in right and wrong sizes ----

    def sizes(self, stack: ExitStack) -> None:
        ctl = self.ctl(stack)
        known = {
            value
            for name, value in vars(N)["_values"].items()
            if name.startswith("NV_ESC_") and value < 256
        }
        unknown = [nr for nr in range(256) if nr not in known]
        self.step("unknown numbers", self._accepted, ctl, unknown)
        for nr, size in (
            (N.NV_ESC_REGISTER_FD, 4),
            (N.NV_ESC_ALLOC_OS_EVENT, 16),
            (N.NV_ESC_FREE_OS_EVENT, 16),
            (N.NV_ESC_STATUS_CODE, 12),
            (N.NV_ESC_CHECK_VERSION_STR, 72),
            (N.NV_ESC_SYS_PARAMS, 8),
            (N.NV_ESC_RM_FREE, 16),
            (N.NV_ESC_RM_CONTROL, 32),
            (N.NV_ESC_RM_ALLOC, 32),
            (N.NV_ESC_RM_DUP_OBJECT, 28),
            (N.NV_ESC_RM_SHARE, 24),
            (N.NV_ESC_RM_IDLE_CHANNELS, 56),
            (N.NV_ESC_RM_VID_HEAP_CONTROL, 184),
            (N.NV_ESC_RM_MAP_MEMORY, 56),
            (N.NV_ESC_RM_UNMAP_MEMORY, 32),
            (N.NV_ESC_RM_GET_EVENT_DATA, 16),
            (N.NV_ESC_RM_MAP_MEMORY_DMA, running()["map_dma_bytes"]),
            (N.NV_ESC_RM_UNMAP_MEMORY_DMA, running()["unmap_dma_bytes"]),
            (N.NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO, 40),
        ):
            for what, wrong in (("no", 0), ("too few", size - 4), ("too many", size + 4)):
                if wrong or what == "no":
                    self.step(f"{what} bytes of {nr:#x}", self._wrong_size, ctl, nr, wrong)
        for nr, size in (
            (N.NV_ESC_RM_ALLOC_MEMORY, 56),
            (N.NV_ESC_NUMA_INFO, 560),
            (N.NV_ESC_QUERY_DEVICE_INTR, 8),
            (N.NV_ESC_EXPORT_TO_DMABUF_FD, running()["dmabuf_bytes"]),
        ):
            self.step(f"{nr:#x} on the control node", self._wrong_size, ctl, nr, size)

    @staticmethod
    def _accepted(ctl: Node, numbers: list[int]) -> list[str]:
        """Those that are not answered with EINVAL."""
        found = []
        for nr in numbers:
            try:
                ctl.ioctl(nr, Block(64))
            except OSError as error:
                if error.errno == 22:
                    continue
            found.append(hex(nr))
        return found
