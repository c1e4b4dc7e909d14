# SPDX-License-Identifier: GPL-2.0-only
"""A script of raw calls: every kind, right and wrong, in one order, on any set of nodes."""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Final

from tests.guest.rm import truth
from tests.guest.rm.abi import GIB, MIB, PAGE, Block, N, make, running
from tests.guest.rm.card import ATTR_ANY, ATTR_PCI, Card
from tests.guest.rm.client import Client, Form, Heap, Refused
from tests.guest.rm.node import Mapping, Node, Nodes, reserve
from tests.guest.rm.steps import Steps, sent
from tests.guest.rm.tenant import KernelCard
from tests.guest.rm.uvm import CardSpace, Uvm

UNKNOWN: Final = 0x0BAD0001
CLOSED: Final = 777  # a descriptor's number that nobody has
NO_CPU_MAPPING: Final = 1 << 30
NOTIFIER: Final = 34
NON_STALL: Final = 0x08000000


def asked(
    client: Client,
    target: int,
    command: int,
    size: int,
    *,
    first: int = 0,
    given: int | None = None,
) -> bytes:
    """What a control writes back; first is the parameters' first word."""
    params = Block(size)
    params.set_u32(0, first)
    client.control(target, command, params, size=given)
    return params.raw


def through(mapping: Mapping) -> bytes:
    """A mapping carries data."""
    mapping.write(0, b"through")
    try:
        return mapping.read(0, 8)
    finally:
        mapping.unmap()


class Script(Steps):
    """The parts, in order; answers by step."""

    def __init__(self, nodes: Nodes, card: KernelCard, other: KernelCard) -> None:
        super().__init__()
        self.nodes = nodes
        self.kernel_card = card
        self.other = other
        self.client = Client(nodes)
        self.second = Client(nodes)
        self.card = Card(self.client, card.minor)
        self.ctl = self.client.ctl

    def close(self) -> None:
        self.card.close()
        self.second.close()
        self.client.close()

    def gpu_file(self) -> Node:
        return Node(self.nodes.gpu(self.kernel_card.minor))

    def run(self) -> dict[str, object]:
        for part in (
            self.front,
            self.clients,
            self.questions,
            self.memory,
            self.heap,
            self.pinned,
            self.sharing,
            self.mapping,
            self.events,
            self.addresses,
            self.managed,
            self.external,
            self.nonsense,
            self.nowhere,
            self.refused,
        ):
            part()
        return self.answers

    # ---- calls that are not the resource manager's ----

    def front(self) -> None:
        for what, command in (("query", ord("2")), ("strict", 0), ("relaxed", ord("1"))):
            block = make("nv_rm_api_version", cmd=command)
            block.put_field("version_string", b"111.11")
            self.step(f"version {what}", sent, self.ctl, N.NV_ESC_CHECK_VERSION_STR, block)
        self.step("sys params", sent, self.ctl, N.NV_ESC_SYS_PARAMS, make("nv_sys_params"))
        self.step("card info", sent, self.ctl, N.NV_ESC_CARD_INFO, Block(32 * 72))
        self.step("too short card info", sent, self.ctl, N.NV_ESC_CARD_INFO, Block(10))
        self.step("numa info", sent, self.card.node, N.NV_ESC_NUMA_INFO, make("nv_numa_info"))
        self.step("numa info on ctl", sent, self.ctl, N.NV_ESC_NUMA_INFO, make("nv_numa_info"))
        self.step(
            "interrupts",
            sent,
            self.card.node,
            N.NV_ESC_QUERY_DEVICE_INTR,
            make("nv_query_device_intr"),
        )
        self.step("register", self.client.register, self.card.node)
        self.step("register again", self.client.register, self.card.node)
        with self.gpu_file() as spare:
            for what, fd in (
                ("a closed number", CLOSED),
                ("a gpu file", self.card.node.fd),
                ("no device", 0),
            ):
                self.step(
                    f"register {what}",
                    sent,
                    spare,
                    N.NV_ESC_REGISTER_FD,
                    make("nv_register_fd", ctl_fd=fd),
                )
        self.step("poll", self.ctl.poll)
        self.step("poll gpu", self.card.node.poll)

    # ---- clients and objects ----

    def clients(self) -> None:
        client, second, card = self.client, self.second, self.card
        self.step("root class", client.handle_class, client.handle)
        for root in (N.NV01_ROOT, N.NV01_ROOT_NON_PRIV):
            self.number(f"root {root:#x}", self._root, "nvos21", root)
        self.number("root in long form", self._root, "nvos64", N.NV01_ROOT_CLIENT)
        self.step(
            "device of no card",
            second.alloc,
            second.handle,
            N.NV01_DEVICE_0,
            make("nv0080_alloc", device_id=31),
        )
        self.step("unknown class", client.alloc, card.device, 0xFFFE)
        self.step("unknown parent", client.alloc, UNKNOWN, N.NV20_SUBDEVICE_0)
        self.step(
            "used handle",
            client.alloc,
            client.handle,
            N.NV01_DEVICE_0,
            make("nv0080_alloc", device_id=card.minor),
            handle=card.device,
        )
        self.step(
            "memory on the client",
            client.alloc,
            client.handle,
            N.NV01_MEMORY_LOCAL_USER,
            Card.memory_params(MIB),
        )
        self.step("memory without parameters", client.alloc, card.device, N.NV01_MEMORY_LOCAL_USER)
        self.step("subdevice class", client.handle_class, card.subdevice)
        self.step("free unknown", client.free, UNKNOWN)
        self.step("control on unknown", client.control, UNKNOWN, N.NV0000_CTRL_GPU_GET_PROBED_IDS)
        mine = client.handle
        client.handle = UNKNOWN
        self.step("unknown client: control", client.handle_class, UNKNOWN)
        self.step("unknown client: free", client.free, UNKNOWN)
        self.step("unknown client: alloc", card.memory, MIB)
        client.handle = second.handle
        self.step("client of another file: control", client.handle_class, second.handle)
        self.step("client of another file: free", client.free, second.handle)
        client.handle = mine

    def _root(self, form: str, h_class: int) -> int:
        block = make(form, h_class=h_class)
        self.ctl.ioctl(N.NV_ESC_RM_ALLOC, block)
        if block["status"]:
            raise Refused("root", block["status"])
        return block["h_object_new"]

    # ---- controls ----

    def questions(self) -> None:
        client, card, gpu_id = self.client, self.card, self.kernel_card.gpu_id
        self.step("probed ids", client.probed_ids)
        self.step("attach", client.attach, gpu_id)
        self.step("attached ids", client.attached_ids)
        self.step("attach another card", client.attach, self.other.gpu_id)
        self.step("attach none such", client.attach, 0x1234)
        root, sub = client.handle, card.subdevice
        for name, target, command, size in (
            ("id info", root, N.NV0000_CTRL_GPU_GET_ID_INFO_V2, 32),
            ("pci info", root, N.NV0000_CTRL_GPU_GET_PCI_INFO, 12),
            ("name", sub, N.NV2080_CTRL_GPU_GET_NAME_STRING, 132),
            ("gpu id", sub, N.NV2080_CTRL_GPU_GET_ID, 4),
            ("uuid", sub, N.NV2080_CTRL_GPU_GET_GID_INFO, 268),
            ("null control", sub, 0x20800000, 8),
            ("unknown control", sub, 0x20807F7F, 64),
            ("control of another class", card.device, N.NV2080_CTRL_GPU_GET_ID, 4),
        ):
            self.step(
                name, asked, client, target, command, size, first=gpu_id if target == root else 0
            )
        self.step("wrong size", asked, client, sub, N.NV2080_CTRL_GPU_GET_ID, 64, given=8)
        self.step("no parameters", client.control, sub, N.NV2080_CTRL_GPU_GET_ID)
        self.step("sizes", card.fb_info, [7, 8, 9, 0x16, 0x20])
        self.step("sizes behind a pointer", card.fb_info_old, [7, 8, 9, 0x16])
        self.step("other figures", card.fb_info, [1, 5, 0xD, 0x1E, 0x2A, 0x14])
        self.step("other figures behind a pointer", card.fb_info_old, [1, 5, 0xD, 0x1E])
        self.step(
            "regions",
            asked,
            client,
            sub,
            N.NV2080_CTRL_FB_GET_FB_REGION_INFO,
            running()["fb_region_bytes"],
        )
        self.step("own pid", lambda: os.getpid() in card.pids())
        self.step("pid info of nobody", card.pid_info, 0x7FFFFF)
        self.step("classes", self._classes)

    def _classes(self) -> list[int]:
        count = Block(16)
        self.client.control(self.card.device, N.NV0080_CTRL_GPU_GET_CLASSLIST, count)
        listed = Block(4 * count.u32(0))
        count.set_u64(8, listed.address)
        self.client.control(self.card.device, N.NV0080_CTRL_GPU_GET_CLASSLIST, count)
        return [listed.u32(4 * index) for index in range(count.u32(0))]

    # ---- memory ----

    def memory(self) -> None:
        card = self.card
        for size in (1, 4096, 65537, MIB, 2 * MIB, 3 * MIB + 1):
            for form in Form:
                for xfer in (False, True):
                    self.step(f"memory {size} {form.name} {xfer}", self._memory, size, form, xfer)
        for attr in (1 << 23, 2 << 23, 3 << 23, ATTR_PCI, ATTR_ANY):
            self.step(f"memory with attr {attr:#x}", self._memory, 3 * MIB, Form.SHORT, False, attr)
        self.step("size 0", card.memory, 0)
        self.step("size all ones", card.memory, (1 << 64) - 1)
        self.step("more than any card", card.memory, 1 << 50)
        self.step("virtual class 0x40", card.memory, MIB, flags=N.NVOS32_FLAGS_VIRTUAL)
        self.number("system memory", card.system_memory, 5 * MIB)
        self.step("class 0x3e on the card", card.memory, MIB, h_class=N.NV01_MEMORY_SYSTEM)

    def _memory(self, size: int, form: Form, xfer: bool, attr: int = 0) -> tuple[bytes, int]:
        """What the driver wrote back, less the place, and the object's own size."""
        params = Card.memory_params(size, attr=attr)
        handle = self.client.alloc(
            self.card.device, N.NV01_MEMORY_LOCAL_USER, params, form=form, xfer=xfer
        )
        params["offset"] = 0
        surface = self.card.surface_size(handle)
        self.card.free(handle)
        return params.raw, surface

    def heap(self) -> None:
        client, card = self.client, self.card
        for function in (Heap.SIZE, Heap.TILED, Heap.RANGE):
            for xfer in (False, True):
                got = self.number(
                    f"heap {function} {xfer}", card.heap, 2 * MIB, function=function, xfer=xfer
                )
                self.step(f"heap {function} {xfer} free", client.heap_free, card.device, got)
        self.step("heap free unknown", client.heap_free, card.device, UNKNOWN)
        self.step("heap unknown function", lambda: client.heap(card.device, 99).raw[4:])
        self.step("heap info", lambda: client.heap(card.device, Heap.INFO).raw[12:80])
        self.step("heap below nothing", lambda: client.heap(UNKNOWN, Heap.INFO).raw)
        limit = make(
            "nvos02_fd",
            h_root=client.handle,
            h_object_parent=card.device,
            h_class=N.NV01_MEMORY_LOCAL_USER,
            fd=-1,
        )
        self.step("heap limit", lambda: sent(card.node, N.NV_ESC_RM_ALLOC_MEMORY, limit)[16:])

    def pinned(self) -> None:
        pages = mmap.mmap(-1, 4 * PAGE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        old = self.number("pinned memory", self._pin, address)
        self.step("pinned size", self.card.surface_size, old)
        self.step("free pinned", self.client.free, old)
        self.number("pin nothing", self._pin, 0x1000)
        self.number("pin past a page", self._pin, address + 8)
        params = Block(40)
        params.set_u32(8, ATTR_PCI)
        params.set_u64(16, address)
        params.set_u64(24, 4 * PAGE - 1)
        new = self.number(
            "pinned memory by RM_ALLOC",
            self.client.alloc,
            self.card.device,
            N.NV01_MEMORY_SYSTEM_OS_DESCRIPTOR,
            params,
        )
        if new:
            self.client.free(new)

    def _pin(self, address: int) -> int:
        return self.client.alloc_memory(
            self.card.device,
            N.NV01_MEMORY_SYSTEM_OS_DESCRIPTOR,
            limit=4 * PAGE - 1,
            flags=NO_CPU_MAPPING,
            address=address,
            on=self.card.node,
        )["h_object_new"]

    # ---- second handles, exports ----

    def sharing(self) -> None:
        client, second, card = self.client, self.second, self.card
        memory = card.memory(2 * MIB)
        with Card(second, card.minor) as theirs, Client(self.nodes) as holder:
            copy = self.number("dup", second.dup, theirs.device, client.handle, memory)
            self.step("dup's size", theirs.surface_size, copy)
            self.step("dup unknown", second.dup, theirs.device, client.handle, UNKNOWN)
            self.step("dup from nobody", second.dup, theirs.device, UNKNOWN, memory)
            self.step(
                "dup to a used handle",
                second.dup,
                theirs.device,
                client.handle,
                memory,
                handle=copy,
            )
            self.step("dup a device", second.dup, second.handle, client.handle, card.device)
            self.step("free dup", second.free, copy)
            self.step("share", client.share, client.handle, N.RS_SHARE_TYPE_ALL)
            self.step("share unknown", client.share, UNKNOWN, N.RS_SHARE_TYPE_ALL)
            self.step("share by no type", client.share, client.handle, 77)
            self.step("export", client.export, card.device, card.device, memory, holder.ctl)
            got = self.number(
                "import",
                second.import_from,
                theirs.device,
                theirs.device,
                holder.ctl,
                handle=0x5001,
            )
            self.step("imported size", theirs.surface_size, got)
            self.step("free imported", second.free, got)
            self.step(
                "import from nothing",
                second.import_from,
                theirs.device,
                theirs.device,
                second.ctl,
                handle=0x5002,
            )
            self.step(
                "export to a closed number",
                client.control,
                client.handle,
                N.NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD,
                make("nv0000_export_to_fd", object_type=1, fd=CLOSED),
            )
        card.free(memory)

    # ---- mapping into the process ----

    def mapping(self) -> None:
        client, card = self.client, self.card
        memory, system = card.memory(4 * MIB), card.system_memory(4 * PAGE)
        with self.gpu_file() as node, Node(self.nodes.ctl) as ctl, self.gpu_file() as third:
            self.step("mmap without context", lambda: node.mmap(PAGE).unmap())
            address = self.number("map", client.map_memory, card.device, memory, 4 * MIB, node)
            self.number("map on a used file", client.map_memory, card.device, memory, 4 * MIB, node)
            self.step("mmap", lambda: through(node.mmap(4 * MIB)))
            self.step("mmap of another length", lambda: node.mmap(2 * MIB).unmap())
            self.step("mmap at an offset", lambda: node.mmap(4 * MIB, offset=PAGE).unmap())
            self.step("unmap", client.unmap_memory, card.device, memory, address)
            self.step("unmap again", client.unmap_memory, card.device, memory, address)
            self.number(
                "map system memory on a gpu file",
                client.map_memory,
                card.device,
                system,
                PAGE,
                third,
            )
            self.number("map system memory", client.map_memory, card.device, system, 4 * PAGE, ctl)
            self.step("mmap system memory", lambda: through(ctl.mmap(4 * PAGE)))
            self.number("map past the end", client.map_memory, card.device, memory, 8 * MIB, third)
            self.number("map unknown", client.map_memory, card.device, UNKNOWN, PAGE, third)
            self.number(
                "map a part", client.map_memory, card.device, memory, PAGE, third, offset=PAGE
            )
            self.step("mmap a part", lambda: through(third.mmap(PAGE)))
        card.free(memory)
        card.free(system)

    # ---- events ----

    def events(self) -> None:
        client, card = self.client, self.card
        data = Block(16)
        get = make("nvos41", p_event=data.address)
        with Node(self.nodes.ctl) as node:
            self.number("event without os event", client.event, card.subdevice, node, NOTIFIER)
        self.step("os event", client.os_event, self.ctl)
        self.step("os event again", client.os_event, self.ctl)
        event = self.number("event", client.event, card.subdevice, self.ctl, NOTIFIER | NON_STALL)
        self.step("nothing to poll", self.ctl.poll)
        truth.raise_event(client.handle, card.subdevice, NOTIFIER)
        self.step("poll finds it", self.ctl.poll, 2000)
        self.step("event data", lambda: sent(self.ctl, N.NV_ESC_RM_GET_EVENT_DATA, get)[8:])
        self.step("free event", client.free, event)
        self.step("free os event", client.free_os_event, self.ctl)
        self.step("free os event again", client.free_os_event, self.ctl)
        self.step("no event data", lambda: sent(self.ctl, N.NV_ESC_RM_GET_EVENT_DATA, get)[8:])

    # ---- address spaces and channels ----

    def addresses(self) -> None:
        card, client = self.card, self.client
        vaspace = self.number("vaspace", card.vaspace)
        virtual = self.number("virtual", card.virtual)
        memory = card.memory(2 * MIB)
        self.number("map dma", client.map_dma, card.device, virtual, memory, 2 * MIB)
        self.number("map dma unknown", client.map_dma, card.device, virtual, UNKNOWN, PAGE)
        self.number(
            "64 GiB of addresses",
            card.memory,
            64 * GIB,
            h_class=N.NV50_MEMORY_VIRTUAL,
            flags=N.NVOS32_FLAGS_VIRTUAL,
        )
        group = self.number("group", card.group, vaspace)
        self.step("time slice", asked, client, group, N.NVA06C_CTRL_SET_TIMESLICE, 8, first=1000)
        share = make("nv_ctxshare_alloc", h_va_space=vaspace)
        self.number("context share", client.alloc, group, N.FERMI_CONTEXT_SHARE_A, share)
        self.step("free group", client.free, group)
        self.step("free vaspace", client.free, vaspace)
        card.free(memory)

    # ---- the managed-memory node ----

    def managed(self) -> None:
        with Uvm(self.nodes, initialize=False) as raw:
            self.step("uvm before initialize", raw.create_external, reserve(PAGE), PAGE)
            self.step("managed before initialize", lambda: raw.managed(2 * MIB).unmap())
        with Uvm(self.nodes) as uvm:
            self.step("initialize again", uvm.initialize)
            for what, node in (("it", uvm.node), ("a control file", self.ctl)):
                with Uvm(self.nodes, initialize=False) as other:
                    self.step(f"mm initialize of {what}", other.mm_initialize, node)
            self.step("pageable", self._pageable, uvm)
            self.step("unknown uvm call", uvm.node.command, 0x7777, Block(64).address)
            self.step("register no card", uvm.register_gpu, bytes(16))
            self.step("managed", lambda: through(uvm.managed(4 * MIB)))
            at = reserve(4 * MIB)
            self.step(
                "managed at a wrong offset",
                lambda: uvm.node.mmap(2 * MIB, offset=at, address=at + PAGE).unmap(),
            )
            self.step(
                "managed, private",
                lambda: uvm.node.mmap(2 * MIB, offset=at, address=at, private=True).unmap(),
            )

    @staticmethod
    def _pageable(uvm: Uvm) -> bytes:
        block = make("uvm_pageable_mem_access")
        uvm.node.command(N.UVM_PAGEABLE_MEM_ACCESS, block.address)
        return block.raw

    def external(self) -> None:
        uuid, h_client = self.kernel_card.uuid_bytes, self.client.handle
        memory = self.card.memory(2 * MIB)
        with Uvm(self.nodes) as uvm:
            space = CardSpace(uvm, h_client, uuid, self.card.vaspace())
            self.step("register card again", uvm.register_gpu, uuid)
            base = self.number("external map", space.map, memory, 2 * MIB)
            for what, client, handle in (
                ("of unknown", h_client, UNKNOWN),
                ("by nobody", UNKNOWN, memory),
            ):
                self.step(
                    f"external map {what}", uvm.map_external, base, 2 * MIB, uuid, client, handle
                )
            self.step(
                "external map outside",
                uvm.map_external,
                reserve(2 * MIB),
                2 * MIB,
                uuid,
                h_client,
                memory,
            )
            self.step("range over a range", uvm.create_external, base, 2 * MIB)
            self.step("unmap external", uvm.unmap_external, base, 2 * MIB, uuid)
            self.step("free range", uvm.free, base, 2 * MIB)
            self.step("free range again", uvm.free, base, 2 * MIB)
            self.step("vaspace of nobody", uvm.register_vaspace, uuid, UNKNOWN, 1)
            self.step("unregister", uvm.unregister_gpu, uuid)
        self.card.free(memory)

    # ---- nonsense ----

    def nonsense(self) -> None:
        for nr in (0, 1, 0x26, 0x7F, 0xC0, 0xFF):
            self.step(f"escape {nr:#x}", sent, self.ctl, nr, Block(64))
        for nr, size in (
            (N.NV_ESC_RM_ALLOC, 31),
            (N.NV_ESC_RM_FREE, 8),
            (N.NV_ESC_RM_CONTROL, 64),
            (N.NV_ESC_REGISTER_FD, 8),
            (N.NV_ESC_RM_VID_HEAP_CONTROL, 100),
        ):
            self.step(f"{size} bytes of {nr:#x}", sent, self.ctl, nr, Block(128), size=size)
        for nr, size in (
            (N.NV_ESC_RM_FREE, 16),
            (N.NV_ESC_RM_CONTROL, 32),
            (N.NV_ESC_CARD_INFO, 72),
            (N.NV_ESC_SYS_PARAMS, 8),
        ):
            self.step(f"{nr:#x} on the gpu's node", sent, self.card.node, nr, Block(size))
        inner = make("nvos00", h_root=UNKNOWN)
        for what, cmd, size in (
            ("too long", N.NV_ESC_RM_FREE, 1 << 20),
            ("in itself", N.NV_ESC_IOCTL_XFER_CMD, 16),
            ("of nothing", 0, 0),
        ):
            outer = make("nv_xfer", cmd=cmd, size=size, ptr=inner.address)
            self.step(f"transfer {what}", self._transfer, outer)
        self.step("transfer of a wrong size", sent, self.ctl, N.NV_ESC_IOCTL_XFER_CMD, Block(24))
        self.step(
            "any type and direction",
            self.ctl.command,
            8 << 16 | N.NV_ESC_SYS_PARAMS,
            make("nv_sys_params").address,
        )
        self.step("read", os.read, self.ctl.fd, 1)
        self.step("write", os.write, self.ctl.fd, b"x")

    def _transfer(self, outer: Block) -> bytes:
        return sent(self.ctl, N.NV_ESC_IOCTL_XFER_CMD, outer)[:8]

    def nowhere(self) -> None:
        """Addresses that the caller doesn't have."""
        client, card = self.client, self.card
        free = 3 << 30 | 16 << 16 | ord("F") << 8 | N.NV_ESC_RM_FREE
        self.step("structure nowhere", self.ctl.command, free, 8)
        control = make(
            "nvos54",
            h_client=client.handle,
            h_object=client.handle,
            p_params=8,
            cmd=N.NV0000_CTRL_GPU_GET_PROBED_IDS,
            params_size=running()["probed_ids_bytes"],
        )
        self.step(
            "control's parameters nowhere", lambda: sent(self.ctl, N.NV_ESC_RM_CONTROL, control)[8:]
        )
        alloc = make(
            "nvos21",
            h_root=client.handle,
            h_object_parent=card.device,
            p_alloc_parms=8,
            h_class=N.NV01_MEMORY_LOCAL_USER,
        )
        self.step(
            "alloc's parameters nowhere", lambda: sent(self.ctl, N.NV_ESC_RM_ALLOC, alloc)[8:]
        )
        pairs = Block(16)
        pairs.set_u32(0, 2)
        pairs.set_u64(8, 8)
        self.step("list nowhere", client.control, card.subdevice, N.NV2080_CTRL_FB_GET_INFO, pairs)
        self.step("uvm structure nowhere", self._uvm_nowhere)

    def _uvm_nowhere(self) -> None:
        with Uvm(self.nodes) as uvm:
            uvm.node.command(N.UVM_CREATE_EXTERNAL_RANGE, 8)

    # ---- what gpushare refuses ----

    def refused(self) -> None:
        client, card = self.client, self.card
        window = Block(24)
        window.set_u64(0, MIB)
        self.number(
            "window on physical memory",
            client.alloc,
            card.device,
            N.NV01_MEMORY_LOCAL_PHYSICAL,
            window,
        )
        self.number("firmware interface", client.alloc, card.subdevice, N.NV2081_BINAPI, Block(4))
        self.step(
            "dma-buf",
            sent,
            card.node,
            N.NV_ESC_EXPORT_TO_DMABUF_FD,
            Block(running()["dmabuf_bytes"]),
        )
        self.step("accounting", asked, client, client.handle, 0xB02, 8)
