# SPDX-License-Identifier: GPL-2.0-only
"""The managed-memory node: address space, external mappings, managed mappings."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from tests.guest.rm.abi import Block, N, make, running
from tests.guest.rm.client import check
from tests.guest.rm.node import Mapping, Node, Nodes, map_fd, reserve


class Uvm:
    """One open managed-memory file, initialised as libcuda does it."""

    def __init__(self, nodes: Nodes, *, initialize: bool = True, node: Node | None = None) -> None:
        self.nodes = nodes
        self.node = node or Node(nodes.uvm)
        try:
            if initialize:
                self.initialize()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.node.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _call(self, name: str, block: Block, status_off: int | None = None) -> None:
        number: int = getattr(N, f"UVM_{name}")
        self.node.command(number, block.address)
        check(name, block["rm_status"] if status_off is None else block.u32(status_off))

    def initialize(self, flags: int = 0) -> None:
        self._call("INITIALIZE", make("uvm_initialize", flags=flags))

    def mm_initialize(self, other: Node) -> None:
        """On a second file, naming the first."""
        self._call("MM_INITIALIZE", make("uvm_mm_initialize", uvm_fd=other.fd))

    def register_gpu(self, uuid: bytes, *, h_client: int = 0, ctl_fd: int = -1) -> None:
        block = make("uvm_register_gpu", h_client=h_client, rm_ctrl_fd=ctl_fd)
        block.put_field("gpu_uuid", uuid)
        self._call("REGISTER_GPU", block)

    def unregister_gpu(self, uuid: bytes) -> None:
        block = make("uvm_unregister_gpu")
        block.put_field("gpu_uuid", uuid)
        self._call("UNREGISTER_GPU", block)

    def register_vaspace(
        self, uuid: bytes, h_client: int, h_vaspace: int, *, ctl_fd: int = -1
    ) -> None:
        block = make(
            "uvm_register_gpu_vaspace", h_client=h_client, h_va_space=h_vaspace, rm_ctrl_fd=ctl_fd
        )
        block.put_field("gpu_uuid", uuid)
        self._call("REGISTER_GPU_VASPACE", block)

    def create_external(self, base: int, length: int) -> None:
        self._call(
            "CREATE_EXTERNAL_RANGE", make("uvm_create_external_range", base=base, length=length)
        )

    def map_external(
        self, base: int, length: int, uuid: bytes, h_client: int, memory: int, *, offset: int = 0
    ) -> None:
        row = running()
        block = Block(row["uvm_map_external_bytes"])
        block.set_u64(0, base)
        block.set_u64(8, length)
        block.set_u64(16, offset)
        block.put(24, uuid)  # first of the per-GPU attributes, the rest of it is 0: defaults
        block.set_u64(row["uvm_map_external_count_off"], 1)
        block.set_u32(row["uvm_map_external_fd_off"], 0xFFFFFFFF)
        block.set_u32(row["uvm_map_external_client_off"], h_client)
        block.set_u32(row["uvm_map_external_client_off"] + 4, memory)
        self._call("MAP_EXTERNAL_ALLOCATION", block, row["uvm_map_external_status_off"])

    def semaphore_pool(self, base: int, length: int, uuid: bytes) -> None:
        """Makes the range one that is no managed memory; then it may be mapped."""
        row = running()
        block = Block(row["uvm_semaphore_pool_bytes"])
        block.set_u64(0, base)
        block.set_u64(8, length)
        block.put(16, uuid)
        block.set_u64(row["uvm_semaphore_pool_status_off"] - 8, 1)  # how many GPUs are named
        self._call("ALLOC_SEMAPHORE_POOL", block, row["uvm_semaphore_pool_status_off"])

    def unmap_external(self, base: int, length: int, uuid: bytes) -> None:
        block = make("uvm_unmap_external", base=base, length=length)
        block.put_field("gpu_uuid", uuid)
        self._call("UNMAP_EXTERNAL", block)

    def free(self, base: int, length: int) -> None:
        row = running()
        block = Block(row["uvm_free_bytes"])
        block.set_u64(0, base)
        if row["uvm_free_length_off"]:
            block.set_u64(row["uvm_free_length_off"], length)
        self._call("FREE", block, row["uvm_free_status_off"])

    def managed(self, length: int, *, address: int = 0) -> Mapping:
        """Managed memory: a mapping whose offset is its address."""
        address = address or reserve(length)
        return map_fd(self.node.fd, length, offset=address, address=address)


class CardSpace:
    """What libcuda sets up before its first allocation: a GPU address space tied to UVM."""

    def __init__(self, uvm: Uvm, h_client: int, uuid: bytes, vaspace: int) -> None:
        self.uvm = uvm
        self.h_client = h_client
        self.uuid = uuid
        uvm.register_gpu(uuid)
        uvm.register_vaspace(uuid, h_client, vaspace)

    def map(self, memory: int, length: int) -> int:
        """An external mapping of its own range: the address."""
        base = reserve(length)
        self.uvm.create_external(base, length)
        self.uvm.map_external(base, length, self.uuid, self.h_client, memory)
        return base

    def unmap(self, base: int, length: int) -> None:
        self.uvm.free(base, length)
