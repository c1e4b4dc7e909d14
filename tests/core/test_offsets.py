# SPDX-License-Identifier: GPL-2.0-only
"""Each value that is taken out of a block stands where that driver has it, for every row."""

from __future__ import annotations

import pytest

from tests.core import facts
from tests.core.abi import Layout
from tests.core.conftest import VERSIONS
from tests.core.native import Buffer, Core, Struct
from tests.core.test_decode import decode, rm_alloc

MEMORY = {
    "memory.type": "type",
    "memory.flags": "flags",
    "memory.attr": "attr",
    "memory.attr2": "attr2",
    "memory.size_bytes": "size",
    "memory.alignment_bytes": "alignment",
    "memory.address": "offset",
    "memory.h_vaspace": "hVASpace",
}
# class: its parameters, and our field for each of theirs
CLASSES: dict[int, tuple[str, dict[str, str]]] = {
    0x40: ("NV_MEMORY_ALLOCATION_PARAMS", MEMORY),
    0x3E: ("NV_MEMORY_ALLOCATION_PARAMS", MEMORY),
    0x50A0: ("NV_MEMORY_ALLOCATION_PARAMS", MEMORY),
    0x71: (
        "NV_OS_DESC_MEMORY_ALLOCATION_PARAMS",
        {
            "memory.type": "type",
            "memory.flags": "flags",
            "memory.attr": "attr",
            "memory.attr2": "attr2",
            "memory.address": "descriptor",
        },
    ),
    0x79: (
        "NV0005_ALLOC_PARAMETERS",
        {"h_other_client": "hParentClient", "h_other_object": "hSrcResource"},
    ),
    0x80: (
        "NV0080_ALLOC_PARAMETERS",
        {
            "device_instance": "deviceId",
            "h_client_share": "hClientShare",
            "h_target_client": "hTargetClient",
            "h_target_device": "hTargetDevice",
        },
    ),
    0x2080: ("NV2080_ALLOC_PARAMETERS", {"device_instance": "subDeviceId"}),
    0x83DE: (
        "NV83DE_ALLOC_PARAMETERS",
        {"h_other_client": "hAppClient", "h_other_object": "hClass3dObject"},
    ),
    0x9067: ("NV_CTXSHARE_ALLOCATION_PARAMETERS", {"h_vaspace": "hVASpace"}),
    0xA06C: (
        "NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS",
        {"h_error": "hObjectError", "h_vaspace": "hVASpace", "engine_type": "engineType"},
    ),
    0xC56F: (
        "NV_CHANNEL_ALLOC_PARAMS",
        {
            "h_error": "hObjectError",
            "h_ctxshare": "hContextShare",
            "h_vaspace": "hVASpace",
            "engine_type": "engineType",
        },
    ),
    0xC6B5: ("NVB0B5_ALLOCATION_PARAMETERS", {"engine_type": "engineType"}),
}
HEAP = "NVOS32_PARAMETERS"
# function of the heap: its part of the union, and our field for each of its own
FUNCTIONS = {
    2: "data.AllocSize",
    6: "data.AllocTiledPitchHeight",
    14: "data.AllocSizeRange",
}
HEAP_FIELDS = {name: theirs for name, theirs in MEMORY.items() if theirs != "hVASpace"}


def filled(layout: Layout, size: int, names: list[str]) -> tuple[bytes, list[int]]:
    """Each field another value; the block has the size that decode asks for."""
    content, values = bytearray(size), []
    for i, name in enumerate(names, start=1):
        offset, width = layout.fields[name]
        content[offset : offset + width] = (i * 0x01010101).to_bytes(width, "little")
        values.append(i * 0x01010101)
    return bytes(content), values


@pytest.mark.parametrize("name", VERSIONS)
def test_parameters_of_classes_are_read_in_their_places(name: str, core: Core) -> None:
    row, recorded = core.version(name), facts.of_record(name).structs
    for number, (struct, fields) in CLASSES.items():
        found = decode(core, row, 0x2B, rm_alloc(32, number))
        content, values = filled(recorded[struct], found["params_bytes"], list(fields.values()))
        assert found["params_bytes"] == recorded[struct].size, hex(number)
        assert found.params(content) == 0
        assert [found[ours] for ours in fields] == values, hex(number)


@pytest.mark.parametrize("name", VERSIONS)
def test_functions_of_the_heap_are_read_in_their_places(name: str, core: Core) -> None:
    row, heap = core.version(name), facts.of_record(name).structs[HEAP]
    for function, part in FUNCTIONS.items():
        fields = {ours: f"{part}.{theirs}" for ours, theirs in HEAP_FIELDS.items()}
        if function == 6:  # the size is what height and pitch make; the field is the answer's
            del fields["memory.size_bytes"]
        content, values = filled(heap, heap.size, list(fields.values()))
        block = bytearray(content)
        block[8:12] = function.to_bytes(4, "little")
        found = decode(core, row, 0x4A, bytes(block))
        assert [found[ours] for ours in fields] == values, part
        assert found["memory.size_off"] == heap.fields[f"{part}.size"][0]
        assert found["memory.limit_off"] == heap.fields[f"{part}.limit"][0]
        assert found["h_object_off"] == heap.fields[f"{part}.hMemory"][0]
        assert found["status_off"] == heap.fields["status"][0]


@pytest.mark.parametrize("name", VERSIONS)
def test_pinned_memory_of_the_heap_is_read_in_its_places(name: str, core: Core) -> None:
    row, heap = core.version(name), facts.of_record(name).structs[HEAP]
    part = "data.AllocOsDesc"
    names = [f"{part}.{field}" for field in ("hMemory", "descriptor", "limit")]
    content, values = filled(heap, heap.size, names)
    block = bytearray(content)
    block[8:12] = (27).to_bytes(4, "little")
    found = decode(core, row, 0x4A, bytes(block))
    assert [found["h_object"], found["address"], found["length"] - 1] == values
    assert found["address_off"] == heap.fields[f"{part}.descriptor"][0]
    assert found["limit_off"] == heap.fields[f"{part}.limit"][0]


@pytest.mark.parametrize("name", VERSIONS)
def test_statuses_of_refused_calls_are_written_in_their_places(name: str, core: Core) -> None:
    row, recorded = core.version(name), facts.of_record(name).structs
    for number, struct, node in (
        (0x39, "NVOS_I2C_ACCESS_PARAMS", 1),
        (0x4D, "NVOS38_PARAMETERS", 0),
        (217, "nv_ioctl_export_to_dma_buf_fd_t", 1),
    ):
        layout = recorded[struct]
        found = decode(core, row, number, bytes(layout.size), node)
        assert found["status_off"] == layout.fields["status"][0], struct
    event = decode(core, row, 0x52, (1 << 32).to_bytes(16, "little"))
    assert event["params_bytes"] == recorded["NvUnixEvent"].size


@pytest.mark.parametrize("name", VERSIONS)
def test_descriptors_of_managed_memory_are_where_recorded(name: str, core: Core) -> None:
    row, recorded = core.version(name), facts.of_record(name).structs
    for cmd, struct, field in (
        (0x4B, "UVM_MM_INITIALIZE_PARAMS", "uvmFd"),
        (0x25, "UVM_REGISTER_GPU_PARAMS", "rmCtrlFd"),
        (0x19, "UVM_REGISTER_GPU_VASPACE_PARAMS", "rmCtrlFd"),
        (0x1B, "UVM_REGISTER_CHANNEL_PARAMS", "rmCtrlFd"),
        (0x21, "UVM_MAP_EXTERNAL_ALLOCATION_PARAMS", "rmCtrlFd"),
        (0x4E, "UVM_ALLOC_DEVICE_P2P_PARAMS", "rmCtrlFd"),
    ):
        if struct not in recorded:
            continue
        layout = recorded[struct]
        request: Struct = core.struct("gsh_uvm_request")
        block = Buffer(bytes(layout.size))
        assert core.call("gsh_decode_uvm", row, cmd, block, layout.size, request) == 0
        assert request["fd_off"] == layout.fields[field][0], struct


@pytest.mark.parametrize("name", VERSIONS)
def test_views_know_their_lists(name: str) -> None:
    """What views.c counts itself: lists of processes, of cards, of sizes."""
    recorded = facts.of_record(name).structs
    pids = recorded["NV2080_CTRL_GPU_GET_PIDS_PARAMS"]
    assert pids.fields["pidTblCount"] == (8, 4)
    assert pids.fields["pidTbl"] == (12, 950 * 4)
    infos = recorded["NV2080_CTRL_GPU_GET_PID_INFO_PARAMS"]
    assert infos.fields["pidInfoListCount"] == (0, 4)
    assert infos.fields["pidInfoList"] == (8, 200 * recorded["NV2080_CTRL_GPU_PID_INFO"].size)
    sizes = recorded["NV2080_CTRL_FB_GET_INFO_V2_PARAMS"]
    assert sizes.fields["fbInfoListSize"] == (0, 4)
    assert sizes.fields["fbInfoList"][0] == 4
    assert recorded["NV2080_CTRL_FB_INFO"].fields == {"index": (0, 4), "data": (4, 4)}
    probed = recorded["NV0000_CTRL_GPU_GET_PROBED_IDS_PARAMS"]
    assert probed.fields["gpuIds"] == (0, 128)
    assert probed.fields["excludedGpuIds"] == (128, 128)
    assert probed.fields.get("gpuFlags", (256, 128)) == (256, 128)
    regions = recorded["NV2080_CTRL_CMD_FB_GET_FB_REGION_INFO_PARAMS"]
    assert regions.fields["numFBRegions"] == (0, 4)
    assert regions.fields["fbRegion"][0] == 8
