# SPDX-License-Identifier: GPL-2.0-only
"""One card as a client sees it: its node, device and subdevice, and memory below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from tests.guest.rm.abi import Block, N, make, running
from tests.guest.rm.client import Client, Form
from tests.guest.rm.node import Mapping, Node

ATTR_PCI: Final = 1 << 25
ATTR_ANY: Final = 3 << 25
PIDS_BYTES: Final = 3812  # GPU_GET_PIDS and GPU_GET_PID_INFO: abi/README.md 6
PIDS_LIST: Final = 12
PID_INFO_BYTES: Final = 14408
PID_INFO_LIST: Final = 8


@dataclass(frozen=True)
class ProcessMemory:
    """An entry of GPU_GET_PID_INFO."""

    pid: int
    result: int
    private: int
    owned: int
    duplicated: int

    @property
    def bytes(self) -> int:
        return self.private + self.owned + self.duplicated


class Card:
    """The GPU's node stays open: the driver asks whether the caller has it."""

    def __init__(self, client: Client, minor: int = 0, *, node: Node | None = None) -> None:
        self.client = client
        self.minor = minor
        self._own = node is None
        self.node = node or Node(client.nodes.gpu(minor))
        try:
            self.device = client.alloc(
                client.handle, N.NV01_DEVICE_0, make("nv0080_alloc", device_id=minor)
            )
            self.subdevice = client.alloc(
                self.device, N.NV20_SUBDEVICE_0, make("nv2080_alloc", sub_device_id=0)
            )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._own:
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

    # ---- memory ----

    def memory(
        self,
        size: int,
        *,
        h_class: int = N.NV01_MEMORY_LOCAL_USER,
        attr: int = 0,
        attr2: int = 0,
        flags: int = 0,
        handle: int = 0,
        form: Form = Form.SHORT,
        xfer: bool = False,
        parent: int = 0,
    ) -> int:
        """RM_ALLOC of a memory class."""
        params = self.memory_params(size, attr=attr, attr2=attr2, flags=flags)
        return self.client.alloc(
            parent or self.device, h_class, params, handle=handle, form=form, xfer=xfer
        )

    @staticmethod
    def memory_params(size: int, *, attr: int = 0, attr2: int = 0, flags: int = 0) -> Block:
        params = Block(running()["memory_alloc_bytes"], make("nv_memory_alloc").layout)
        params["owner"] = 0x67707573
        params["size"] = size
        params["attr"] = attr
        params["attr2"] = attr2
        params["flags"] = flags
        return params

    def system_memory(self, size: int) -> int:
        return self.memory(size, h_class=N.NV01_MEMORY_SYSTEM, attr=ATTR_PCI)

    def heap(
        self, size: int, *, function: int = 2, flags: int = 0, attr: int = 0, xfer: bool = False
    ) -> int:
        return self.client.heap_alloc(
            self.device, size, function=function, flags=flags, attr=attr, xfer=xfer
        )

    def virtual(self) -> int:
        """Class 0x70: a range of addresses."""
        return self.client.alloc(
            self.device, N.NV01_MEMORY_VIRTUAL, make("nv_memory_virtual_alloc")
        )

    def vaspace(self) -> int:
        params = Block(running()["vaspace_alloc_bytes"], make("nv_vaspace_alloc").layout)
        return self.client.alloc(self.device, N.FERMI_VASPACE_A, params)

    def group(self, vaspace: int = 0) -> int:
        """A channel group: the driver takes context buffers for it by itself."""
        params = make("nv_channel_group_alloc", h_va_space=vaspace, engine_type=1)
        return self.client.alloc(self.device, N.KEPLER_CHANNEL_GROUP_A, params)

    def free(self, handle: int) -> None:
        self.client.free(handle, self.device)

    def map(self, memory: int, length: int, *, on: Node | None = None, offset: int = 0) -> Mapping:
        """Mapped into this process through a GPU file of its own use."""
        node = on or self.node
        self.client.map_memory(self.device, memory, length, node, offset=offset)
        return node.mmap(length)

    # ---- questions ----

    def fb_info(self, indices: Sequence[int]) -> list[int]:
        """FB_GET_INFO_V2: one value an index, sizes in KiB."""
        params = Block(running()["fb_info_v2_bytes"])
        params.set_u32(0, len(indices))
        for place, index in enumerate(indices):
            params.set_u32(4 + 8 * place, index)
        self.client.control(self.subdevice, N.NV2080_CTRL_FB_GET_INFO_V2, params)
        return [params.u32(8 + 8 * place) for place in range(len(indices))]

    def fb_info_old(self, indices: Sequence[int]) -> list[int]:
        """FB_GET_INFO: the list is behind a pointer."""
        pairs = Block(max(8 * len(indices), 8))
        for place, index in enumerate(indices):
            pairs.set_u32(8 * place, index)
        params = Block(16)
        params.set_u32(0, len(indices))
        params.set_u64(8, pairs.address if indices else 0)
        self.client.control(self.subdevice, N.NV2080_CTRL_FB_GET_INFO, params)
        return [pairs.u32(8 * place + 4) for place in range(len(indices))]

    def total_free(self) -> tuple[int, int]:
        """In bytes, as the libraries show them."""
        total, free = self.fb_info([N.NV_FB_INFO_TOTAL_RAM_SIZE, N.NV_FB_INFO_HEAP_FREE])
        return total << 10, free << 10

    def pids(self) -> list[int]:
        """Processes that have a subdevice of the card."""
        params = Block(PIDS_BYTES)
        params.set_u32(0, 0)  # by class
        params.set_u32(4, N.NV20_SUBDEVICE_0)
        self.client.control(self.subdevice, N.NV2080_CTRL_GPU_GET_PIDS, params)
        return [params.u32(PIDS_LIST + 4 * index) for index in range(params.u32(8))]

    def pid_info(self, *pids: int) -> list[ProcessMemory]:
        stride = make("nv2080_pid_info").size
        params = Block(PID_INFO_BYTES)
        params.set_u32(0, len(pids))
        for place, pid in enumerate(pids):
            params.set_u32(PID_INFO_LIST + place * stride, pid)
        self.client.control(self.subdevice, N.NV2080_CTRL_GPU_GET_PID_INFO, params)
        found = []
        for place in range(len(pids)):
            entry = make("nv2080_pid_info")
            start = PID_INFO_LIST + place * stride
            entry.put(0, params.raw[start : start + stride])
            found.append(
                ProcessMemory(
                    entry["pid"],
                    entry["result"],
                    entry["data_vid_mem_usage_mem_private"],
                    entry["data_vid_mem_usage_mem_shared_owned"],
                    entry["data_vid_mem_usage_mem_shared_duped"],
                )
            )
        return found

    def surface_size(self, memory: int) -> int:
        """SURFACE_INFO: the size of an object, from the object itself; in bytes."""
        pair = Block(8)
        pair.set_u32(0, N.NV0041_SURFACE_INFO_PHYS_SIZE)
        params = make(
            "nv0041_surface_info", surface_info_list_size=1, surface_info_list=pair.address
        )
        self.client.control(memory, N.NV0041_CTRL_GET_SURFACE_INFO, params)
        return pair.u32(4) << 12
