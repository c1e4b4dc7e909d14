# SPDX-License-Identifier: GPL-2.0-only
"""The managed-memory node without a GPU: address spaces, mappings, ranges, policies."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from tests.driver.parity.base import CLOSED, NO_ID, Part, in_child
from tests.guest.rm.abi import MIB, PAGE, Block, N, make, running
from tests.guest.rm.client import check
from tests.guest.rm.node import BLOCK, Mapping, Node, reserve
from tests.guest.rm.uvm import Uvm

# NV_PROCESSOR_UUID_CPU_DEFAULT: 535.261.03 kernel-open/nvidia-uvm/nvCpuUuid.c
CPU: Final = bytes.fromhex("a65e0f4ed7d47ba25047412c142a7773")
NOBODY: Final = bytes.fromhex("deadbeef" * 4)
# plain policy calls: what they are, where the length, an UUID and the status stand
# (535.261.03 kernel-open/nvidia-uvm/uvm_ioctl.h)
POLICIES: Final = (
    ("preferred location", 0x2A, 40, 16, 0),  # the status moved in 545
    ("no preferred location", 0x2B, 24, 0, 16),
    ("read duplication", 0x2C, 24, 0, 16),
    ("no read duplication", 0x2D, 24, 0, 16),
    ("accessed by", 0x2E, 40, 16, 32),
    ("not accessed by", 0x2F, 40, 16, 32),
)


class Managed(Part):
    """Asks the managed-memory node."""

    def parts(self) -> tuple[Callable[[ExitStack], None], ...]:
        return (
            self.beginning,
            self.second_files,
            self.mappings,
            self.external_ranges,
            self.groups,
            self.policies,
            self.wrong_calls,
        )

    def uvm(self, stack: ExitStack, *, initialize: bool = True) -> Uvm:
        return stack.enter_context(Uvm(self.nodes, initialize=initialize))

    @staticmethod
    def called(uvm: Uvm, command: int, block: Block, status_off: int) -> str:
        uvm.node.command(command, block.address)
        return f"status {block.u32(status_off):#x}"

    def plain(
        self, name: str, uvm: Uvm, command: int, size: int, status_off: int, *words: int
    ) -> None:
        """A call whose parameters are 64-bit words and a status."""
        block = Block(size)
        for place, word in enumerate(words):
            block.set_u64(8 * place, word)
        self.step(name, self.called, uvm, command, block, status_off)

    # ---- initialising ----

    def beginning(self, stack: ExitStack) -> None:
        raw = self.uvm(stack, initialize=False)
        self.step("uvm: range before initialize", raw.create_external, reserve(PAGE), PAGE)
        self.step("uvm: mmap before initialize", lambda: raw.managed(2 * MIB).unmap())
        self.step("uvm: flags unknown", raw.initialize, 0x80)
        self.step("uvm: initialize", raw.initialize)
        self.step("uvm: initialize again", raw.initialize)
        self.step("uvm: initialize with other flags", raw.initialize, 1)
        self.step("uvm: deinitialize", raw.node.command, N.UVM_DEINITIALIZE, 0)
        self.step("uvm: initialize nowhere", raw.node.command, N.UVM_INITIALIZE, 8)
        shared = self.uvm(stack, initialize=False)
        self.step("uvm: initialize for several processes", shared.initialize, 2)
        mine = self.uvm(stack)
        self.step("uvm: initialize in a child", in_child, lambda: self._anew(mine))
        self.step("uvm: poll", mine.node.poll)
        self.step("uvm: read", os.read, mine.node.fd, 1)
        block = make("uvm_pageable_mem_access")
        self.step("uvm: pageable", self.called, mine, N.UVM_PAGEABLE_MEM_ACCESS, block, 4)
        self.answers["uvm: pageable access"] = block["pageable_mem_access"]
        for what, uuid in (("nobody", NOBODY), ("the processor", CPU)):
            on_gpu = make("uvm_pageable_mem_access_on_gpu")
            on_gpu.put_field("gpu_uuid", uuid)
            self.step(
                f"uvm: pageable on {what}",
                self.called,
                mine,
                N.UVM_PAGEABLE_MEM_ACCESS_ON_GPU,
                on_gpu,
                20,
            )

    @staticmethod
    def _anew(uvm: Uvm) -> int:
        """In a child: the space is the parent's."""
        block = make("uvm_initialize")
        uvm.node.command(N.UVM_INITIALIZE, block.address)
        return block["rm_status"]

    def second_files(self, stack: ExitStack) -> None:
        uvm = self.uvm(stack)
        plain = self.plain_file(stack)
        ctl = self.ctl(stack)
        raw = self.uvm(stack, initialize=False)
        second = self.uvm(stack, initialize=False)
        for what, fd in (
            ("a closed number", CLOSED),
            ("-1", NO_ID),
            ("a plain file", plain),
            ("a control file", ctl.fd),
            ("itself", second.node.fd),
            ("one not initialised", raw.node.fd),
            ("a space", uvm.node.fd),
            ("a space again", uvm.node.fd),
        ):
            block = make("uvm_mm_initialize", uvm_fd=fd)
            self.step(f"uvm: mm of {what}", self.called, second, N.UVM_MM_INITIALIZE, block, 4)
        block = make("uvm_mm_initialize", uvm_fd=uvm.node.fd)
        third = self.uvm(stack, initialize=False)
        self.step(
            "uvm: mm of a space that has one", self.called, third, N.UVM_MM_INITIALIZE, block, 4
        )
        self.step("uvm: initialize a second file", second.initialize)
        self.step("uvm: mm on a space", self.called, uvm, N.UVM_MM_INITIALIZE, block, 4)
        self.step("uvm: range on a second file", second.create_external, reserve(PAGE), PAGE)
        self.step("uvm: mmap of a second file", lambda: second.managed(2 * MIB).unmap())
        second.close()
        fourth = self.uvm(stack, initialize=False)
        self.step(
            "uvm: mm after the second file closed",
            self.called,
            fourth,
            N.UVM_MM_INITIALIZE,
            block,
            4,
        )
        self.step("uvm: mmap after the second file closed", lambda: uvm.managed(2 * MIB).unmap())
        shared = self.uvm(stack, initialize=False)
        shared.initialize(2)
        several = make("uvm_mm_initialize", uvm_fd=shared.node.fd)
        fifth = self.uvm(stack, initialize=False)
        self.step(
            "uvm: mm of a space of several", self.called, fifth, N.UVM_MM_INITIALIZE, several, 4
        )

    # ---- managed memory ----

    def mappings(self, stack: ExitStack) -> None:
        uvm = self.uvm(stack)
        for size in (PAGE, 2 * MIB, 4 * MIB + PAGE):
            self.step(f"uvm: {size} bytes", self._written, uvm, size)
        at = reserve(8 * MIB)
        for what, offset, address, private in (
            ("at another address", at, at + BLOCK, False),
            ("private", at, at, True),
            ("at offset 0", 0, 0, False),
        ):
            self.step(f"uvm: mmap {what}", self._unmapped, uvm, offset, address, private)
        whole = uvm.managed(4 * MIB)
        whole.write(0, b"first")
        whole.write(3 * MIB, b"last")
        self.step("uvm: child sees it", in_child, lambda: whole.read(0, 1)[0])
        whole.unmap(offset=MIB, length=MIB)
        self.step("uvm: after a hole", lambda: whole.read(0, 5) + whole.read(3 * MIB, 4))
        self.step("uvm: free of managed", uvm.free, whole.address, 4 * MIB)
        self.step("uvm: over a mapping", uvm.create_external, whole.address, MIB)
        for what, base, length in (
            ("managed", whole.address, MIB),
            ("with a hole", whole.address, 4 * MIB),
            ("nothing", at, PAGE),
        ):
            self.plain(f"uvm: validate {what}", uvm, N.UVM_VALIDATE_VA_RANGE, 24, 16, base, length)
        self.step("uvm: in another process", in_child, lambda: _mmap_errno(uvm))

    @staticmethod
    def _unmapped(uvm: Uvm, offset: int, address: int, private: bool) -> None:
        uvm.node.mmap(PAGE, offset=offset, address=address, private=private).unmap()

    @staticmethod
    def _written(uvm: Uvm, size: int) -> bytes:
        mapping: Mapping = uvm.managed(size)
        mapping.write(size - 8, b"carried!")
        try:
            return mapping.read(size - 8, 8) + mapping.read(0, 1)
        finally:
            mapping.unmap()

    # ---- external ranges ----

    def external_ranges(self, stack: ExitStack) -> None:
        uvm = self.uvm(stack)
        base = reserve(8 * MIB)
        for what, at, length in (
            ("plain", base, 2 * MIB),
            ("again", base, 2 * MIB),
            ("over a part", base + MIB, 2 * MIB),
            ("of a page", base + 4 * MIB, PAGE),
            ("of nothing", base + 5 * MIB, 0),
            ("not on a page", base + 5 * MIB + 1, PAGE),
            ("of a length off a page", base + 5 * MIB, 100),
            ("at 0", 0, PAGE),
            ("past the end", (1 << 64) - PAGE, 2 * PAGE),
        ):
            self.step(f"uvm: range {what}", uvm.create_external, at, length)
        self.step("uvm: map nobody's memory", uvm.map_external, base, 2 * MIB, NOBODY, 1, 1)
        self.step("uvm: unmap of nobody", uvm.unmap_external, base, 2 * MIB, NOBODY)
        self.step("uvm: mmap over a range", lambda: uvm.managed(MIB, address=base).unmap())
        for what, at in (("inside", base + PAGE), ("unknown", base + 6 * MIB), ("plain", base)):
            self.step(f"uvm: free {what}", uvm.free, at, 2 * MIB)
        self.step("uvm: free again", uvm.free, base, 2 * MIB)
        self.step("uvm: free with a wrong length", uvm.free, base + 4 * MIB, 2 * MIB)
        self.step("uvm: mmap where a range was", lambda: uvm.managed(MIB, address=base).unmap())
        self.step("uvm: pool without a GPU", uvm.semaphore_pool, base, 2 * MIB, NOBODY)
        self.step("uvm: register an address space", uvm.register_vaspace, NOBODY, 1, 1)
        self.step("uvm: unregister nobody", uvm.unregister_gpu, NOBODY)
        block = make("uvm_unregister_gpu_vaspace")
        block.put_field("gpu_uuid", NOBODY)
        self.step(
            "uvm: unregister an address space",
            self.called,
            uvm,
            N.UVM_UNREGISTER_GPU_VASPACE,
            block,
            16,
        )
        channel = make("uvm_register_channel", base=base, length=MIB)
        channel.put_field("gpu_uuid", NOBODY)
        self.step(
            "uvm: register a channel",
            self.called,
            uvm,
            N.UVM_REGISTER_CHANNEL,
            channel,
            channel.size - 8 + 4,
        )

    # ---- range groups ----

    def groups(self, stack: ExitStack) -> None:
        uvm = self.uvm(stack)
        ids = [self._group(uvm) for _ in range(2)]
        self.answers["uvm: group numbers"] = ids
        managed = uvm.managed(4 * MIB)
        for what, group, base, length in (
            ("to a group", ids[0], managed.address, 2 * MIB),
            ("to another", ids[1], managed.address, 2 * MIB),
            ("to no group", 0, managed.address, 4 * MIB),
            ("to an unknown group", 99, managed.address, 2 * MIB),
            ("of nothing", ids[0], managed.address, 0),
            ("not on a page", ids[0], managed.address + 1, PAGE),
            ("not managed", ids[0], reserve(MIB), PAGE),
        ):
            self.plain(
                f"uvm: grouped {what}", uvm, N.UVM_SET_RANGE_GROUP, 32, 24, group, base, length
            )
        for what, command in (("prevent", 0x28), ("allow", 0x29)):
            for which, group in (("a group", ids[0]), ("no group", 99)):
                block = Block(272)
                block.set_u64(0, group)
                block.set_u64(256, 1)
                self.step(f"uvm: {what} for {which}", self.called, uvm, command, block, 264)
            block = Block(272)
            block.set_u64(256, 33)
            self.step(f"uvm: {what} for too many", self.called, uvm, command, block, 264)
        for what, group in (("one", ids[0]), ("again", ids[0]), ("unknown", 99)):
            self.plain(f"uvm: end of group: {what}", uvm, N.UVM_DESTROY_RANGE_GROUP, 16, 8, group)
        self.plain("uvm: migrate a group", uvm, N.UVM_MIGRATE_RANGE_GROUP, 32, 24, ids[1])

    @staticmethod
    def _group(uvm: Uvm) -> int:
        block = make("uvm_create_range_group")
        uvm.node.command(N.UVM_CREATE_RANGE_GROUP, block.address)
        check("group", block["rm_status"])
        return block["range_group_id"]

    # ---- where managed memory shall be ----

    def policies(self, stack: ExitStack) -> None:
        uvm = self.uvm(stack)
        managed = uvm.managed(4 * MIB)
        elsewhere = reserve(2 * MIB)
        preferred = running()["uvm_preferred_location_status_off"]
        for name, command, size, uuid_off, fixed_off in POLICIES:
            status_off = fixed_off or preferred
            for where, base, length in (
                ("managed", managed.address, 2 * MIB),
                ("nothing", managed.address, 0),
                ("off a page", managed.address + 1, PAGE),
                ("not managed", elsewhere, PAGE),
                ("past the end", managed.address, 8 * MIB),
            ):
                for who, uuid in (("cpu", CPU), ("nobody", NOBODY)) if uuid_off else (("", b""),):
                    block = Block(size)
                    block.set_u64(0, base)
                    block.set_u64(8, length)
                    block.put(uuid_off, uuid)
                    full = f"uvm: {name} {who}, {where}".replace(" ,", ",")
                    self.step(full, self.called, uvm, command, block, status_off)
        for who, uuid in (("cpu", CPU), ("nobody", NOBODY)):
            for where, base, length in (
                ("managed", managed.address, 2 * MIB),
                ("not managed", elsewhere, PAGE),
                ("off a page", managed.address + 1, PAGE),
            ):
                block = make("uvm_migrate", base=base, length=length)
                block.put_field("destination_uuid", uuid)
                self.step(
                    f"uvm: migrate to {who}, {where}", self.called, uvm, N.UVM_MIGRATE, block, 72
                )
        managed.write(0, b"kept")
        self.step("uvm: still there", managed.read, 0, 4)

    # ---- nonsense ----

    def wrong_calls(self, stack: ExitStack) -> None:
        uvm = self.uvm(stack)
        raw = self.uvm(stack, initialize=False)
        known = {
            value
            for name, value in vars(N)["_values"].items()
            if name.startswith("UVM_") and value < 0x100
        }
        unknown = [nr for nr in (*range(0x100), 0x7777, 0xC0184B00) if nr not in known]
        self.step("uvm: unknown numbers", self._accepted_by, uvm.node, unknown)
        self.step("uvm: unknown numbers before initialize", self._accepted_by, raw.node, unknown)
        for name in ("CREATE_EXTERNAL_RANGE", "FREE", "PAGEABLE_MEM_ACCESS", "MM_INITIALIZE"):
            command: int = getattr(N, f"UVM_{name}")
            for what, address in (("null", 0), ("low", 8), ("kernel", 0xFFFF888000000000)):
                self.step(f"uvm: {name} at {what}", uvm.node.command, command, address)
        table = Block(running()["uvm_processor_table_bytes"])
        self.step(
            "uvm: processor table",
            self.called,
            uvm,
            N.UVM_TOOLS_GET_PROCESSOR_TABLE,
            table,
            running()["uvm_processor_table_status_off"],
        )

    @staticmethod
    def _accepted_by(node: Node, numbers: list[int]) -> list[str]:
        found = []
        for nr in numbers:
            try:
                node.command(nr, Block(16384).address)
            except OSError as error:
                if error.errno == 22:
                    continue
                found.append(f"{nr:#x}: {error.errno}")
            else:
                found.append(hex(nr))
        return found


def _mmap_errno(uvm: Uvm) -> int:
    try:
        uvm.managed(2 * MIB).unmap()
    except OSError as error:
        return error.errno or 0
    return 0
