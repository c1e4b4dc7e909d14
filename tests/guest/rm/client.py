# SPDX-License-Identifier: GPL-2.0-only
"""One client of the resource manager: the calls of the control node.

Each call raises Refused with the driver's status, and OSError when the ioctl itself failed: a test
that sees a status has seen the ioctl return 0.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Final, ParamSpec, Self

from tests.guest.rm.abi import Block, N, make, running
from tests.guest.rm.node import Node, Nodes

P = ParamSpec("P")


class Refused(Exception):
    """The driver answered something else than success."""

    def __init__(self, call: str, status: int) -> None:
        super().__init__(f"{call}: status {status:#x}")
        self.status = status


def status_of(call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> int:
    """The status a call ends with."""
    try:
        call(*args, **kwargs)
    except Refused as refused:
        return refused.status
    return 0


def check(call: str, status: int) -> None:
    if status:
        raise Refused(call, status)


class Form(Enum):
    """The two layouts of RM_ALLOC's parameters, told apart by their size."""

    SHORT = "nvos21"  # 32 bytes
    LONG = "nvos64"  # 48 bytes


class Heap:
    """Offsets of RM_VID_HEAP_CONTROL's allocating functions (nvabi/numbers.h)."""

    SIZE: Final = 2
    FREE: Final = 3
    INFO: Final = 5
    TILED: Final = 6
    RANGE: Final = 14


class Client:
    """A root client on a control node of its own, or on one that is handed in."""

    def __init__(self, nodes: Nodes, *, ctl: Node | None = None) -> None:
        self.nodes = nodes
        self._own = ctl is None
        self.ctl = ctl or Node(nodes.ctl)
        try:
            self.handle = self.root()
        except BaseException:
            if self._own:
                self.ctl.close()
            raise

    def root(self) -> int:
        """Another root client on the same file: its handle."""
        block = make("nvos21", h_class=N.NV01_ROOT_CLIENT)
        self.ctl.ioctl(N.NV_ESC_RM_ALLOC, block)
        check("root", block["status"])
        return block["h_object_new"]

    def close(self) -> None:
        if self._own:
            self.ctl.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ---- objects ----

    def alloc(
        self,
        parent: int,
        h_class: int,
        params: Block | None = None,
        *,
        handle: int = 0,
        form: Form = Form.SHORT,
        xfer: bool = False,
    ) -> int:
        """RM_ALLOC: the new object's handle. What the driver changed is in params."""
        block = make(
            form.value,
            h_root=self.handle,
            h_object_parent=parent,
            h_object_new=handle,
            h_class=h_class,
        )
        if params is not None:
            block["p_alloc_parms"] = params.address
        self.ctl.ioctl(N.NV_ESC_RM_ALLOC, block, xfer=xfer)
        check(f"alloc of class {h_class:#x}", block["status"])
        return block["h_object_new"]

    def free(self, handle: int, parent: int = 0) -> None:
        block = make("nvos00", h_root=self.handle, h_object_parent=parent, h_object_old=handle)
        self.ctl.ioctl(N.NV_ESC_RM_FREE, block)
        check("free", block["status"])

    def control(
        self,
        handle: int,
        command: int,
        params: Block | None = None,
        *,
        size: int | None = None,
        flags: int = 0,
    ) -> None:
        block = make("nvos54", h_client=self.handle, h_object=handle, cmd=command, flags=flags)
        if params is not None:
            block["p_params"] = params.address
            block["params_size"] = params.size if size is None else size
        self.ctl.ioctl(N.NV_ESC_RM_CONTROL, block)
        check(f"control {command:#x}", block["status"])

    def dup(self, parent: int, source_client: int, source: int, *, handle: int = 0) -> int:
        """A second handle on the same object."""
        block = make(
            "nvos55",
            h_client=self.handle,
            h_parent=parent,
            h_object=handle,
            h_client_src=source_client,
            h_object_src=source,
        )
        self.ctl.ioctl(N.NV_ESC_RM_DUP_OBJECT, block)
        check("dup", block["status"])
        return block["h_object"]

    def share(
        self,
        handle: int,
        kind: int,
        *,
        target: int = 0,
        revoke: bool = False,
        rights: int = 1,
    ) -> None:
        """What rights the policy gives: a mask, 1 is duplication (rs_access.h)."""
        block = make(
            "nvos57",
            h_client=self.handle,
            h_object=handle,
            share_policy_target=target,
            share_policy_access_mask=rights,
            share_policy_type=kind,
            share_policy_action=int(revoke),
        )
        self.ctl.ioctl(N.NV_ESC_RM_SHARE, block)
        check("share", block["status"])

    # ---- the heap call of the older libraries ----

    def heap(
        self,
        parent: int,
        function: int,
        fields: dict[int, int] | None = None,
        wide: dict[int, int] | None = None,
        *,
        xfer: bool = False,
    ) -> Block:
        """RM_VID_HEAP_CONTROL with fields (32 bits) and wide fields (64 bits) by offset."""
        block = Block(N.NVOS32_SIZE)
        block.set_u32(N.NVOS32_OFF_ROOT, self.handle)
        block.set_u32(N.NVOS32_OFF_PARENT, parent)
        block.set_u32(N.NVOS32_OFF_FUNCTION, function)
        for offset, value in (fields or {}).items():
            block.set_u32(offset, value)
        for offset, value in (wide or {}).items():
            block.set_u64(offset, value)
        self.ctl.ioctl(N.NV_ESC_RM_VID_HEAP_CONTROL, block, xfer=xfer)
        check(f"heap function {function}", block.u32(N.NVOS32_OFF_STATUS))
        return block

    def heap_alloc(
        self,
        parent: int,
        size: int,
        *,
        function: int = Heap.SIZE,
        flags: int = 0,
        attr: int = 0,
        handle: int = 0,
        xfer: bool = False,
    ) -> int:
        """Memory by one of the three allocating functions."""
        if handle:
            flags |= N.NVOS32_FLAGS_HANDLE_PROVIDED
        fields = {
            N.NVOS32_OFF_ALLOC_OWNER: 0x67707573,
            N.NVOS32_OFF_ALLOC_MEMORY: handle,
            N.NVOS32_OFF_ALLOC_FLAGS: flags,
        }
        wide = {}
        if function == Heap.TILED:
            # rows of 64 KiB
            fields |= {
                N.NVOS32_OFF_TILED_HEIGHT: size >> 16,
                N.NVOS32_OFF_TILED_PITCH: 1 << 16,
                N.NVOS32_OFF_TILED_ATTR: attr,
            }
            wide[N.NVOS32_OFF_ALLOC_SIZE] = size
        elif function == Heap.RANGE:
            fields[N.NVOS32_OFF_ALLOC_ATTR] = attr
            wide[N.NVOS32_OFF_RANGE_SIZE] = size
        else:
            fields[N.NVOS32_OFF_ALLOC_ATTR] = attr
            wide[N.NVOS32_OFF_ALLOC_SIZE] = size
        block = self.heap(parent, function, fields, wide, xfer=xfer)
        return block.u32(N.NVOS32_OFF_ALLOC_MEMORY)

    def heap_free(self, parent: int, handle: int) -> None:
        self.heap(parent, Heap.FREE, {N.NVOS32_OFF_FREE_MEMORY: handle})

    # ---- system memory by the oldest call ----

    def alloc_memory(
        self,
        parent: int,
        h_class: int,
        *,
        limit: int,
        flags: int,
        address: int = 0,
        on: Node | None = None,
        fd: int = -1,
    ) -> Block:
        """RM_ALLOC_MEMORY; the node that takes it is the GPU's."""
        block = make(
            "nvos02_fd",
            h_root=self.handle,
            h_object_parent=parent,
            h_class=h_class,
            flags=flags,
            p_memory=address,
            limit=limit,
            fd=fd,
        )
        (on or self.ctl).ioctl(N.NV_ESC_RM_ALLOC_MEMORY, block)
        check("alloc memory", block["status"])
        return block

    # ---- mapping into the process ----

    def map_memory(
        self, device: int, memory: int, length: int, on: Node, *, offset: int = 0, flags: int = 0
    ) -> int:
        """RM_MAP_MEMORY: leaves a context on that node's file for one mmap; the address to
        name in unmap_memory()."""
        block = make(
            "nvos33_fd",
            h_client=self.handle,
            h_device=device,
            h_memory=memory,
            offset=offset,
            length=length,
            flags=flags,
            fd=on.fd,
        )
        self.ctl.ioctl(N.NV_ESC_RM_MAP_MEMORY, block)
        check("map memory", block["status"])
        return block["p_linear_address"]

    def unmap_memory(self, device: int, memory: int, address: int) -> None:
        block = make(
            "nvos34",
            h_client=self.handle,
            h_device=device,
            h_memory=memory,
            p_linear_address=address,
        )
        self.ctl.ioctl(N.NV_ESC_RM_UNMAP_MEMORY, block)
        check("unmap memory", block["status"])

    def map_dma(self, device: int, dma: int, memory: int, length: int) -> int:
        """The GPU address."""
        size = running()["map_dma_bytes"]
        block = Block(size)
        for offset, value in ((0, self.handle), (4, device), (8, dma), (12, memory)):
            block.set_u32(offset, value)
        block.set_u64(24, length)
        self.ctl.ioctl(N.NV_ESC_RM_MAP_MEMORY_DMA, block)
        check("map dma", block.u32(running()["map_dma_status_off"]))
        return block.u64(running()["map_dma_address_off"])

    # ---- descriptors ----

    def register(self, node: Node) -> None:
        """Ties a file to this control file: it may then act for its clients."""
        node.ioctl(N.NV_ESC_REGISTER_FD, make("nv_register_fd", ctl_fd=self.ctl.fd))

    def os_event(self, node: Node) -> None:
        """ALLOC_OS_EVENT on a file: events may be delivered to it."""
        block = make("nv_alloc_os_event", h_client=self.handle, fd=node.fd)
        node.ioctl(N.NV_ESC_ALLOC_OS_EVENT, block)
        check("alloc os event", block["status"])

    def free_os_event(self, node: Node) -> None:
        block = make("nv_free_os_event", h_client=self.handle, fd=node.fd)
        node.ioctl(N.NV_ESC_FREE_OS_EVENT, block)
        check("free os event", block["status"])

    def event(self, source: int, node: Node, index: int) -> int:
        """An event object on source that wakes node."""
        params = make(
            "nv0005_alloc",
            h_parent_client=self.handle,
            h_src_resource=source,
            h_class=N.NV01_EVENT_OS_EVENT,
            notify_index=index,
            data=node.fd,
        )
        return self.alloc(source, N.NV01_EVENT_OS_EVENT, params)

    def export(self, device: int, parent: int, memory: int, to: Node) -> None:
        """Control 0x3d05: the memory becomes reachable through a control file."""
        params = make(
            "nv0000_export_to_fd",
            object_type=1,
            fd=to.fd,
            object_data_rm_object_h_device=device,
            object_data_rm_object_h_parent=parent,
            object_data_rm_object_h_object=memory,
        )
        self.control(self.handle, N.NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD, params)

    def import_from(self, device: int, parent: int, source: Node, *, handle: int) -> int:
        params = make(
            "nv0000_import_from_fd",
            object_type=1,
            fd=source.fd,
            object_data_rm_object_h_device=device,
            object_data_rm_object_h_parent=parent,
            object_data_rm_object_h_object=handle,
        )
        self.control(self.handle, N.NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD, params)
        return params["object_data_rm_object_h_object"]

    # ---- questions ----

    def probed_ids(self) -> list[int]:
        params = Block(running()["probed_ids_bytes"])
        self.control(self.handle, N.NV0000_CTRL_GPU_GET_PROBED_IDS, params)
        return _ids(params, 32)

    def attach(self, *gpu_ids: int) -> None:
        """GPU_ATTACH_IDS; without ids all cards there are."""
        params = Block(4 * 33)
        for index in range(32):
            params.set_u32(4 * index, 0xFFFFFFFF)
        if not gpu_ids:
            params.set_u32(0, 0xFFFF)
        for index, gpu_id in enumerate(gpu_ids):
            params.set_u32(4 * index, gpu_id)
        self.control(self.handle, N.NV0000_CTRL_GPU_ATTACH_IDS, params)

    def attached_ids(self) -> list[int]:
        params = Block(4 * 32)
        self.control(self.handle, N.NV0000_CTRL_GPU_GET_ATTACHED_IDS, params)
        return _ids(params, 32)

    def card_info(self) -> list[Block]:
        """CARD_INFO: the valid entries."""
        entry = make("nv_card_info")
        block = Block(32 * entry.size)
        self.ctl.ioctl(N.NV_ESC_CARD_INFO, block)
        cards = []
        for index in range(32):
            card = make("nv_card_info")
            card.put(0, block.raw[index * entry.size : (index + 1) * entry.size])
            if card["valid"]:
                cards.append(card)
        return cards

    def handle_class(self, handle: int) -> int:
        """CLIENT_GET_HANDLE_INFO: which class an object is of."""
        params = make("nv0000_handle_info", h_object=handle, index=2)
        self.control(self.handle, N.NV0000_CTRL_CLIENT_GET_HANDLE_INFO, params)
        return params["data_h_result"]


def _ids(params: Block, count: int) -> list[int]:
    ids = (params.u32(4 * index) for index in range(count))
    return [one for one in ids if one != 0xFFFFFFFF]
