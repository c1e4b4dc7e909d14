# SPDX-License-Identifier: GPL-2.0-only
"""RM_CONTROL on a root client: what it answers, and what it says to nonsense."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from tests.driver.parity.base import NO_ID, UNKNOWN, Part
from tests.guest.rm.abi import Block, N, make, running
from tests.guest.rm.client import Client


class Controls(Part):
    """Asks the client itself."""

    def parts(self) -> tuple[Callable[[ExitStack], None], ...]:
        return (
            self.questions,
            self.wrong_controls,
        )

    # ---- controls of the client itself ----

    def questions(self, stack: ExitStack) -> None:
        client, gpu_id = self.client(stack), self.gpu_id()
        probed = Block(running()["probed_ids_bytes"])
        self.control("probed ids", client, N.NV0000_CTRL_GPU_GET_PROBED_IDS, probed)
        for when in ("", " after attach", " after detach"):
            self.step(f"attached ids{when}", client.attached_ids)
            ids = Block(4)
            self.control(f"device ids{when}", client, N.NV0000_CTRL_GPU_GET_DEVICE_IDS, ids)
            if not when:
                self._attach(client, gpu_id)
            elif when == " after attach":
                self._detach(client, gpu_id)
        for what, wanted in (("right", gpu_id), ("wrong", 0x7777)):
            for name, layout, command in (
                ("id info", "nv0000_id_info", N.NV0000_CTRL_GPU_GET_ID_INFO),
                ("id info v2", "nv0000_id_info_v2", N.NV0000_CTRL_GPU_GET_ID_INFO_V2),
                ("pci info", "nv0000_pci_info", N.NV0000_CTRL_GPU_GET_PCI_INFO),
                ("uuid", "nv0000_uuid_from_id", N.NV0000_CTRL_GPU_GET_UUID_FROM_GPU_ID),
            ):
                params = make(layout, gpu_id=wanted)
                self.control(f"{name}: {what} card", client, command, params)
            status = Block(8)
            status.set_u32(0, wanted)
            self.control(
                f"init status: {what} card", client, N.NV0000_CTRL_GPU_GET_INIT_STATUS, status
            )
            drain = Block(12)
            drain.set_u32(0, wanted)
            self.control(
                f"drain state: {what} card", client, N.NV0000_CTRL_GPU_QUERY_DRAIN_STATE, drain
            )
        self._about_the_machine(client)
        self._about_handles(client)

    def _attach(self, client: Client, gpu_id: int) -> None:
        for what, ids in (
            ("none", []),
            ("wrong", [0x7777]),
            ("right and wrong", [gpu_id, 0x7777]),
            ("right", [gpu_id]),
            ("all", [0xFFFF]),
        ):
            params = _ids(33, ids)
            self.control(f"attach: {what}", client, N.NV0000_CTRL_GPU_ATTACH_IDS, params)

    def _detach(self, client: Client, gpu_id: int) -> None:
        for what, ids in (("wrong", [0x7777]), ("right", [gpu_id]), ("all", [0xFFFF])):
            params = _ids(32, ids)
            self.control(f"detach: {what}", client, N.NV0000_CTRL_GPU_DETACH_IDS, params)

    def _about_the_machine(self, client: Client) -> None:
        for room in (64, 256, 4):
            self.step(f"build version, {room} bytes", self._build_version, client, room)
        wrong = make("nv0000_build_version", string_bytes=64)
        self.control("build version to nowhere", client, 0x101, wrong)
        self.step("build version v2", self._build_version_v2, client)
        self.step("cpu info", self._cpu_info, client)
        self.control("features", client, N.NV0000_CTRL_SYSTEM_GET_FEATURES, Block(4))
        self.control("fabric status", client, N.NV0000_CTRL_SYSTEM_GET_FABRIC_STATUS, Block(4))
        self.control("memop", client, N.NV0000_CTRL_GPU_GET_MEMOP_ENABLE, Block(4))
        for what, kind in (("lid", 0), ("power", 1), ("unknown", 9)):
            params = Block(12)
            params.set_u32(0, kind)
            self.control(f"notify of {what}", client, N.NV0000_CTRL_SYSTEM_NOTIFY_EVENT, params)

    @staticmethod
    def _build_version(client: Client, room: int) -> object:
        texts = [Block(room) for _ in range(3)]
        params = make(
            "nv0000_build_version",
            string_bytes=room,
            driver_version=texts[0].address,
            version=texts[1].address,
            title=texts[2].address,
        )
        client.control(client.handle, N.NV0000_CTRL_SYSTEM_GET_BUILD_VERSION, params)
        driver, version, title = (text.raw.split(b"\0")[0].decode() for text in texts)
        return {"driver": driver, "version": version, "title": bool(title)}

    @staticmethod
    def _build_version_v2(client: Client) -> object:
        # strings of 256 bytes up to 550
        params = Block(running().get("build_version_v2_bytes", 776))
        client.control(client.handle, N.NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_V2, params)
        return params.raw.split(b"\0")[0].decode()

    @staticmethod
    def _cpu_info(client: Client) -> object:
        params = make("nv0000_cpu_info")
        client.control(client.handle, N.NV0000_CTRL_SYSTEM_GET_CPU_INFO, params)
        return {"logical": params["num_logical_cpus"], "physical": params["num_physical_cpus"]}

    def _about_handles(self, client: Client) -> None:
        inside = client.alloc(client.handle, N.NV20_GPU_MANAGEMENT)
        for what, h_object, index in (
            ("parent of an object", inside, 1),
            ("class of an object", inside, 2),
            ("parent of the client", client.handle, 1),
            ("class of the client", client.handle, 2),
            ("nothing", inside, 0),
            ("of an unknown kind", inside, 9),
            ("of an unknown object", UNKNOWN, 2),
        ):
            self.step(f"handle info: {what}", self._handle_info, client, h_object, index)
        for what, h_object in (("object", inside), ("client", client.handle), ("none", UNKNOWN)):
            params = make("nv0000_addr_space", h_object=h_object)
            self.step(f"address space of {what}", self._kind, client, params)
            rights = make("nv0000_access_rights", h_object=h_object, h_client=client.handle)
            self.step(f"rights on {what}", self._rights, client, rights)
        pair = make("nv0000_duplicates", h_first=inside, h_second=client.handle)
        self.step("duplicates", self._duplicates, client, pair)
        same = make("nv0000_duplicates", h_first=inside, h_second=inside)
        self.step("duplicates: the same", self._duplicates, client, same)

    @staticmethod
    def _handle_info(client: Client, h_object: int, index: int) -> str:
        params = make("nv0000_handle_info", h_object=h_object, index=index)
        client.control(client.handle, N.NV0000_CTRL_CLIENT_GET_HANDLE_INFO, params)
        result = params["data_h_result"]
        return "the client" if result == client.handle else hex(result)

    @staticmethod
    def _kind(client: Client, params: Block) -> int:
        client.control(client.handle, N.NV0000_CTRL_CLIENT_GET_ADDR_SPACE_TYPE, params)
        return params["type"]

    @staticmethod
    def _rights(client: Client, params: Block) -> int:
        client.control(client.handle, N.NV0000_CTRL_CLIENT_GET_ACCESS_RIGHTS, params)
        return params["mask"]

    @staticmethod
    def _duplicates(client: Client, params: Block) -> int:
        client.control(client.handle, N.NV0000_CTRL_CLIENT_OBJECTS_ARE_DUPLICATES, params)
        return params["same"]

    def wrong_controls(self, stack: ExitStack) -> None:
        client = self.client(stack)
        probed = running()["probed_ids_bytes"]
        get_probed = N.NV0000_CTRL_GPU_GET_PROBED_IDS
        for what, size in (("short", probed - 4), ("long", probed + 4), ("empty", 0)):
            self.control(f"control: {what}", client, get_probed, Block(4096), size=size)
        self.control("control: without parameters", client, get_probed)
        self.control("control: huge", client, get_probed, Block(64), size=1 << 30)
        for what, command, size in (
            ("null", 0, 0),
            ("null of a class", 0x20800000, 0),
            ("unknown, empty", 0x0000FFFF, 0),
            ("unknown, with parameters", 0x0000FFFF, 64),
            ("of a device", 0x00800201, 16),
            ("of a subdevice", N.NV2080_CTRL_FB_GET_INFO_V2, running()["fb_info_v2_bytes"]),
            ("of no class", 0xDEAD0001, 16),
        ):
            params = Block(size) if size else None
            self.control(f"control: {what}", client, command, params)
        inside = client.alloc(client.handle, N.NV20_GPU_MANAGEMENT)
        for what, target in (
            ("to an unknown object", UNKNOWN),
            ("to object 0", 0),
            ("to an object of another class", inside),
        ):
            self.control(f"control: {what}", client, get_probed, Block(probed), target=target)
        self.step("control: parameters nowhere", self._nowhere_control, client, probed)

    @staticmethod
    def _nowhere_control(client: Client, size: int) -> str:
        block = make(
            "nvos54",
            h_client=client.handle,
            h_object=client.handle,
            p_params=8,
            cmd=N.NV0000_CTRL_GPU_GET_PROBED_IDS,
            params_size=size,
        )
        client.ctl.ioctl(N.NV_ESC_RM_CONTROL, block)
        return hex(block["status"])


def _ids(count: int, ids: list[int]) -> Block:
    params = Block(4 * count)
    for place in range(32):
        params.set_u32(4 * place, ids[place] if place < len(ids) else NO_ID)
    return params
