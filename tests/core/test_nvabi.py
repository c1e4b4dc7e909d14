# SPDX-License-Identifier: GPL-2.0-only
"""kmod/nvabi says what was recorded from NVIDIA's headers: every struct, number and size."""

from __future__ import annotations

import ctypes
import subprocess

import pytest

from tests.conftest import needed
from tests.core import headers
from tests.core.abi import Abi, plain
from tests.core.conftest import VERSIONS
from tests.core.native import Core, Struct

V535 = "535.261.03"
STRUCTS = headers.structs("nvabi/structs.h")
NUMBERS = headers.numbers("nvabi/numbers.h")


# ---- structs.h ----


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, tuple[int, int]]]:
    """Our structs as the compiler lays them out."""
    folder = tmp_path_factory.mktemp("structs")
    lines = []
    for struct in STRUCTS:
        lines.append(f'printf("{struct.name}  0 %zu\\n", sizeof(struct {struct.name}));')
        lines += [
            f'printf("{struct.name} {field} %zu %zu\\n", offsetof(struct {struct.name}, {field}),'
            f" sizeof(((struct {struct.name} *)0)->{field}));"
            for field in struct.fields
        ]
    source = folder / "layouts.c"
    source.write_text(
        "#include <stdio.h>\n#include <stddef.h>\n"
        '#include "nvabi/structs.h"\nint main(void) {' + "\n".join(lines) + "return 0; }\n"
    )
    program = folder / "layouts"
    subprocess.run(
        [needed("gcc"), "-std=gnu11", f"-I{headers.KMOD}", str(source), "-o", str(program)],
        check=True,
    )
    output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for line in output.splitlines():
        name, field, offset, size = line.split(" ")
        found.setdefault(name, {})[field] = (int(offset), int(size))
    return found


def test_there_are_structs() -> None:
    assert len(STRUCTS) > 50
    assert all(struct.fields for struct in STRUCTS)


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: str(struct.name))
def test_struct_is_as_recorded(
    struct: headers.Struct, layouts: dict[str, dict[str, tuple[int, int]]], abi: Abi
) -> None:
    recorded = abi.layout(struct.vendor, V535)
    assert recorded is not None, struct.vendor
    ours = dict(layouts[struct.name])
    assert ours.pop("")[1] == recorded.size
    leaves = recorded.leaves()
    # of a union we name one member: each of ours is recorded, and none of the recorded is left out
    assert set(ours.values()) <= set(leaves.values())
    assert {offset for offset, _ in ours.values()} == {offset for offset, _ in leaves.values()}
    # names agree but for nested structs we flattened under another name
    by_name = {plain(name): at for name, at in ours.items()}
    shared = set(by_name) & set(leaves)
    assert len(shared) >= len(ours) // 2, (sorted(by_name), sorted(leaves))
    assert {name: by_name[name] for name in shared} == {name: leaves[name] for name in shared}


# ---- numbers.h ----

# our short names for long ones
RENAMED = {
    "NV_ESC_RM_DIAGNOSTIC": "NV_ESC_RM_LOCKLESS_DIAGNOSTIC",
    "NV20_GPU_MANAGEMENT": "NV0020_GPU_MANAGEMENT",
    "NV2080_CTRL_PERF_GPUMON_UTIL_SAMPLES_V2": (
        "NV2080_CTRL_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2"
    ),
    "UVM_PREVENT_MIGRATION": "UVM_PREVENT_MIGRATION_RANGE_GROUPS",
    "UVM_ALLOW_MIGRATION": "UVM_ALLOW_MIGRATION_RANGE_GROUPS",
    "UVM_TOOLS_GET_PROCESSOR_TABLE": "UVM_TOOLS_GET_PROCESSOR_UUID_TABLE",
    "UVM_TOOLS_GET_PROCESSOR_TABLE_V2": "UVM_TOOLS_GET_PROCESSOR_UUID_TABLE_V2",
    "UVM_MAP_DYNAMIC_PARALLELISM": "UVM_MAP_DYNAMIC_PARALLELISM_REGION",
    "UVM_CLEAN_UP_ZOMBIES": "UVM_CLEAN_UP_ZOMBIE_RESOURCES",
}
# not in the record: read in the headers that numbers.h names
UNRECORDED = {
    "NV0000_CTRL_GPU_GET_UUID_INFO",
    "NV0000_CTRL_GPU_ASYNC_ATTACH_ID",
    "NV0080_CTRL_GPU_GET_CLASSLIST",
    "NV0080_CTRL_FIFO_GET_CHANNELLIST",
    "NV2080_CTRL_GPU_GET_ID",
    "NV2080_CTRL_UTILISATION_OBSERVED",
    "NV20_GPU_MANAGEMENT",
    "NV04_DISPLAY_COMMON",
}
FB_INFO = {
    "FB_TAX_SIZE": "FB_TAX_SIZE_KB",
    "HEAP_BASE": "HEAP_BASE_KB",
    "LARGEST_FREE_SIZE": "LARGEST_FREE_REGION_SIZE_KB",
    "LARGEST_FREE_BASE": "LARGEST_FREE_REGION_BASE_KB",
    "RESERVED_HEAP_SIZE": "VISTA_RESERVED_HEAP_SIZE",
    "BAR1_MAX_AVAIL": "BAR1_MAX_CONTIGUOUS_AVAIL_SIZE",
    "PROTECTED_TOTAL": "PROTECTED_MEM_SIZE_TOTAL_KB",
    "PROTECTED_FREE": "PROTECTED_MEM_SIZE_FREE_KB",
}


def recorded_numbers(abi: Abi) -> dict[str, int]:
    """Every number of the record by name; CMD_ is dropped from controls as numbers.h does."""
    numbers = {name: entry["nr"] for name, entry in abi.json["frontend_ioctls"].items()}
    numbers |= {name: entry["cmd"] for name, entry in abi.json["uvm_ioctls"].items()}
    numbers |= {name: entry["id"] for name, entry in abi.json["classes"].items()}
    for number, control in abi.json["controls"].items():
        numbers[control["name"].replace("_CTRL_CMD_", "_CTRL_")] = int(number, 16)
    return numbers


def section(start: str, end: str) -> list[str]:
    """Names defined between two comments of numbers.h."""
    text = headers.text("nvabi/numbers.h")
    part = text[text.index(start) : text.index(end)]
    return [name for name in NUMBERS if f"#define {name}\t" in part or f"#define {name} " in part]


COMPARED = [
    *section("/* ioctl numbers", "#define NV_XFER_MAX_BYTES"),
    *section("/* Object classes", "/* Kernel interface op codes"),
    *section("/* Controls:", "#define NV_CTRL_LEGACY"),
    *section("#define UVM_INITIALIZE", "#define UVM_INIT_FLAG_DISABLE_HMM"),
]


def test_the_sections_are_found() -> None:
    assert len(COMPARED) > 180


@pytest.mark.parametrize("name", COMPARED)
def test_number_is_as_recorded(name: str, abi: Abi) -> None:
    numbers = recorded_numbers(abi)
    recorded = numbers.get(RENAMED.get(name, name))
    if recorded is None:
        assert name in UNRECORDED, f"{name} is neither recorded nor excused"
    else:
        assert NUMBERS[name] == recorded


@pytest.mark.parametrize("name", [name for name in NUMBERS if name.startswith("NV_FB_INFO_")])
def test_fb_info_index_is_as_recorded(name: str, abi: Abi) -> None:
    short = name.removeprefix("NV_FB_INFO_")
    assert NUMBERS[name] == abi.json["fb_info_index"][FB_INFO.get(short, short)]


def test_offsets_of_the_vid_heap_are_as_recorded(abi: Abi) -> None:
    layout = abi.layout("NVOS32_PARAMETERS", V535)
    assert layout is not None
    where = {name: offset for name, (offset, _) in layout.fields.items()}
    assert NUMBERS["NVOS32_SIZE"] == layout.size
    for ours, theirs in {
        "ROOT": "hRoot",
        "PARENT": "hObjectParent",
        "FUNCTION": "function",
        "VASPACE": "hVASpace",
        "STATUS": "status",
        "TOTAL": "total",
        "FREE": "free",
        "ALLOC_OWNER": "data.AllocSize.owner",
        "ALLOC_MEMORY": "data.AllocSize.hMemory",
        "ALLOC_TYPE": "data.AllocSize.type",
        "ALLOC_FLAGS": "data.AllocSize.flags",
        "ALLOC_ATTR": "data.AllocSize.attr",
        "ALLOC_SIZE": "data.AllocSize.size",
        "ALLOC_ALIGNMENT": "data.AllocSize.alignment",
        "ALLOC_OFFSET": "data.AllocSize.offset",
        "ALLOC_LIMIT": "data.AllocSize.limit",
        "ALLOC_ADDRESS": "data.AllocSize.address",
        "ALLOC_ATTR2": "data.AllocSize.attr2",
        "TILED_HEIGHT": "data.AllocTiledPitchHeight.height",
        "TILED_PITCH": "data.AllocTiledPitchHeight.pitch",
        "TILED_ATTR": "data.AllocTiledPitchHeight.attr",
        "RANGE_SIZE": "data.AllocSizeRange.size",
        "RANGE_ATTR2": "data.AllocSizeRange.attr2",
        "FREE_MEMORY": "data.Free.hMemory",
        "INFO_ATTR": "data.Info.attr",
        "INFO_OFFSET": "data.Info.offset",
        "INFO_SIZE": "data.Info.size",
        "INFO_BASE": "data.Info.base",
    }.items():
        assert NUMBERS[f"NVOS32_OFF_{ours}"] == where[theirs], ours


# ---- versions.h ----

GPUMON = "NV2080_CTRL_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2_PARAMS"
REGIONS = "NV2080_CTRL_CMD_FB_GET_FB_REGION_INFO_PARAMS"
REGION = "NV2080_CTRL_CMD_FB_GET_FB_REGION_FB_REGION_INFO"
UVM_MAP = "UVM_MAP_EXTERNAL_ALLOCATION_PARAMS"
# field of struct nvabi_version: struct, and the field whose offset it is (none: the size)
BY_LAYOUT = {
    "dmabuf_bytes": ("nv_ioctl_export_to_dma_buf_fd_t", ""),
    "dmabuf_status_off": ("nv_ioctl_export_to_dma_buf_fd_t", "status"),
    "map_dma_bytes": ("NVOS46_PARAMETERS", ""),
    "map_dma_address_off": ("NVOS46_PARAMETERS", "dmaOffset"),
    "map_dma_status_off": ("NVOS46_PARAMETERS", "status"),
    "unmap_dma_bytes": ("NVOS47_PARAMETERS", ""),
    "unmap_dma_address_off": ("NVOS47_PARAMETERS", "dmaOffset"),
    "unmap_dma_status_off": ("NVOS47_PARAMETERS", "status"),
    "memory_alloc_bytes": ("NV_MEMORY_ALLOCATION_PARAMS", ""),
    "channel_alloc_bytes": ("NV_CHANNEL_ALLOC_PARAMS", ""),
    "channel_ctxshare_off": ("NV_CHANNEL_ALLOC_PARAMS", "hContextShare"),
    "channel_vaspace_off": ("NV_CHANNEL_ALLOC_PARAMS", "hVASpace"),
    "channel_engine_off": ("NV_CHANNEL_ALLOC_PARAMS", "engineType"),
    "vaspace_alloc_bytes": ("NV_VASPACE_ALLOCATION_PARAMETERS", ""),
    "multicast_alloc_bytes": ("NV00FD_ALLOCATION_PARAMETERS", ""),
    "multicast_event_off": ("NV00FD_ALLOCATION_PARAMETERS", "pOsEvent"),
    "memory_mapper_alloc_bytes": ("NV_MEMORY_MAPPER_ALLOCATION_PARAMS", ""),
    "p2p_alloc_bytes": ("NV503B_ALLOC_PARAMETERS", ""),
    "user_shared_alloc_bytes": ("NV00DE_ALLOC_PARAMETERS", ""),
    "fb_info_v2_bytes": ("NV2080_CTRL_FB_GET_INFO_V2_PARAMS", ""),
    "fb_region_bytes": (REGIONS, ""),
    "fb_region_entry_bytes": (REGION, ""),
    "probed_ids_bytes": ("NV0000_CTRL_GPU_GET_PROBED_IDS_PARAMS", ""),
    "gpu_info_v2_bytes": ("NV2080_CTRL_GPU_GET_INFO_V2_PARAMS", ""),
    "export_info_bytes": ("NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS", ""),
    "gpfifo_schedule_bytes": ("NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS", ""),
    "reset_channel_bytes": ("NV906F_CTRL_CMD_RESET_CHANNEL_PARAMS", ""),
    "gpumon_bytes": (GPUMON, ""),
    "gpumon_samples_off": (GPUMON, "samples"),
    "uvm_map_external_bytes": (UVM_MAP, ""),
    "uvm_map_external_count_off": (UVM_MAP, "gpuAttributesCount"),
    "uvm_map_external_fd_off": (UVM_MAP, "rmCtrlFd"),
    "uvm_map_external_client_off": (UVM_MAP, "hClient"),
    "uvm_map_external_status_off": (UVM_MAP, "rmStatus"),
    "uvm_semaphore_pool_bytes": ("UVM_ALLOC_SEMAPHORE_POOL_PARAMS", ""),
    "uvm_semaphore_pool_status_off": ("UVM_ALLOC_SEMAPHORE_POOL_PARAMS", "rmStatus"),
    "uvm_free_bytes": ("UVM_FREE_PARAMS", ""),
    "uvm_free_length_off": ("UVM_FREE_PARAMS", "length"),
    "uvm_free_status_off": ("UVM_FREE_PARAMS", "rmStatus"),
    "uvm_unregister_channel_bytes": ("UVM_UNREGISTER_CHANNEL_PARAMS", ""),
    "uvm_unregister_channel_client_off": ("UVM_UNREGISTER_CHANNEL_PARAMS", "hClient"),
    "uvm_unregister_channel_status_off": ("UVM_UNREGISTER_CHANNEL_PARAMS", "rmStatus"),
    "uvm_preferred_location_status_off": ("UVM_SET_PREFERRED_LOCATION_PARAMS", "rmStatus"),
    "uvm_processor_table_bytes": ("UVM_TOOLS_GET_PROCESSOR_UUID_TABLE_PARAMS", ""),
    "uvm_processor_table_status_off": ("UVM_TOOLS_GET_PROCESSOR_UUID_TABLE_PARAMS", "rmStatus"),
    "uvm_alloc_device_p2p_bytes": ("UVM_ALLOC_DEVICE_P2P_PARAMS", ""),
}
# read in the headers, not in the record
READ_ONLY = {
    "classlist_v2_bytes": [644, 700, 404],
    "ofa_alloc_bytes": [8, 12, 12],
    "host_vgpu_alloc_bytes": [1672, 1680, 1696],
    "display_dma_alloc_bytes": [32, 32, 40],
    "gpumon_engine_off": [8, 8, 8],
    "gpumon_engine_bytes": [116, 116, 128],
    "gpumon_engines": [4, 6, 6],
    "gpumon_pid_off": [8, 8, 8],
}


@pytest.mark.parametrize("name", VERSIONS)
def test_version_row_is_as_recorded(name: str, core: Core, abi: Abi) -> None:
    row = core.version(name)
    recorded = abi.json["versions"][name]
    rm_ops = recorded["rm_ops"]
    assert row["branch"] == recorded["branch"]
    assert row["rm_op_bytes"] == rm_ops["op_size"]
    assert bool(row["alloc_is_nvos64"]) == (rm_ops["alloc_struct"] == "NVOS64_PARAMETERS")
    assert bool(row["open_gpu_has_bool"]) == rm_ops["open_gpu_reset_aware_arg"]
    by_number = core.names["NVABI_PRESENCE_DEVICE_NUMBER"]
    assert (row["presence"] == by_number) == (rm_ops["presence_check"] == "device number")
    for field, (struct, member) in BY_LAYOUT.items():
        expected = abi.offset(struct, member, name) if member else abi.size(struct, name)
        assert row[field] == expected, field
    for field, values in READ_ONLY.items():
        assert row[field] == values[VERSIONS.index(name)], field


@pytest.mark.parametrize("name", VERSIONS)
def test_version_row_fits_itself(name: str, core: Core, abi: Abi) -> None:
    row = core.version(name)
    assert row["fb_info_v2_bytes"] == 4 + 8 * row["fb_info_v2_entries"]
    assert row["fb_region_bytes"] == 8 + row["fb_region_entry_bytes"] * row["fb_region_entries"]
    assert row["gpumon_bytes"] == row["gpumon_samples_off"] + 72 * row["gpumon_stride"]
    assert row["gpumon_stride"] == (
        row["gpumon_engine_off"] + row["gpumon_engines"] * row["gpumon_engine_bytes"]
    )
    for flag, struct in {
        "has_wait_open_complete": "nv_ioctl_wait_open_complete_t",
        "uvm_has_clear_access_counters": "UVM_CLEAR_ALL_ACCESS_COUNTERS_PARAMS",
        "uvm_has_discard": "UVM_DISCARD_PARAMS",
    }.items():
        assert bool(row[flag]) == bool(abi.size(struct, name)), flag


def test_every_field_of_a_version_is_compared() -> None:
    elsewhere = {
        "string",
        "branch",
        "verified",
        "presence",
        "alloc_is_nvos64",
        "open_gpu_has_bool",
        "rm_op_bytes",
        "has_wait_open_complete",
        "converts_fb_get_info",
        "gpumon_stride",
        "fb_info_v2_entries",
        "fb_region_entries",
        "uvm_has_processor_table_v2",
        "uvm_has_clear_access_counters",
        "uvm_has_discard",
    }
    assert set(headers.version_fields()) == set(BY_LAYOUT) | set(READ_ONLY) | elsewhere


def test_only_exact_version_strings_are_known(core: Core) -> None:
    for string in ("535.261.04", "535.261.0", "535.261.03 ", "", "580.126.20"):
        assert core.call("shim_version", string.encode()) == 0


@pytest.mark.parametrize("size", [1, 2, 5, 11, 12, 13, 24, 64])
def test_list_of_versions_is_cut_where_it_must(core: Core, size: int) -> None:
    text = ctypes.create_string_buffer(b"x" * 80)
    core.call("shim_version_list", ctypes.addressof(text), size)
    assert ", ".join(VERSIONS).startswith(text.value.decode())
    assert len(text.value) < size
    assert text.raw[size:80] == b"x" * (80 - size)


# ---- classes.h ----


def test_classes_are_sorted_and_unique(core: Core) -> None:
    ids = [row["id"] for row in core.rows("shim_classes", "nvabi_class")]
    assert ids == sorted(set(ids))
    assert len(ids) > 180


@pytest.mark.parametrize("name", VERSIONS)
def test_class_sizes_are_as_recorded(name: str, core: Core, abi: Abi) -> None:
    row = core.version(name)
    for label, entry in abi.json["classes"].items():
        recorded = abi.layout(entry.get("alloc_struct", ""), name)
        if recorded is not None:
            assert core.call("shim_class_bytes", row, entry["id"]) == recorded.size, label


def test_class_privileges_are_as_recorded(core: Core, abi: Abi) -> None:
    flags = {row["id"]: row["flags"] for row in core.rows("shim_classes", "nvabi_class")}
    bits = {
        "none": 0,
        "root": core.names["NVABI_CLASS_PRIVILEGED"],
        "kernel": core.names["NVABI_CLASS_KERNEL"],
    }
    mask = bits["root"] | bits["kernel"]
    for label, entry in abi.json["classes"].items():
        if label != "NV01_MEMORY_FRAMEBUFFER_CONSOLE":  # root at first, kernel from 570 on
            assert flags[entry["id"]] & mask == bits[entry["privilege"]], label


def test_a_class_is_one_thing(core: Core) -> None:
    what = core.names["NVABI_CLASS_WHAT"]
    for row in core.rows("shim_classes", "nvabi_class"):
        assert (row["flags"] & what).bit_count() <= 1, hex(row["id"])


# ---- embedded.h ----


def test_embedded_pointers_are_sorted(core: Core) -> None:
    rows = [row.values() for row in core.rows("shim_embedded", "nvabi_embedded")]
    assert [row["cmd"] for row in rows] == sorted(row["cmd"] for row in rows)
    for row in rows:
        assert row["pointer_off"] % 8 == 0
        assert row["element_bytes"] > 0
        assert row["direction"] in {1, 2, 3}


def test_one_command_has_at_most_four_pointers(core: Core, version: Struct) -> None:
    commands = {row["cmd"] for row in core.rows("shim_embedded", "nvabi_embedded")}
    out = ctypes.create_string_buffer(8 * 4)
    for cmd in commands:
        count = core.call("shim_embedded_find", version, cmd, ctypes.addressof(out))
        assert count <= 4
        addresses = [int.from_bytes(out.raw[8 * i : 8 * i + 8], "little") for i in range(count)]
        found = [Struct(core, "nvabi_embedded", address).values() for address in addresses]
        assert len({row["pointer_off"] for row in found}) == count
        assert {row["cmd"] for row in found} <= {cmd}
        assert len({row["converted_bytes"] for row in found}) <= 1


def test_unknown_commands_have_no_pointers(core: Core, version: Struct) -> None:
    out = ctypes.create_string_buffer(8 * 4)
    for cmd in (0, 0x100, 0x102, 0x20801303, 0xFFFFFFFF):
        assert core.call("shim_embedded_find", version, cmd, ctypes.addressof(out)) == 0


KINDS = {
    "nvidia_file": "NVABI_FD_NVIDIA_FILE",
    "label": "NVABI_FD_LABEL",
    "dma_buf": "NVABI_FD_DMA_BUF",
    "caps_file": "NVABI_FD_CAPS_FILE",
}


def test_descriptors_are_where_recorded(core: Core, abi: Abi) -> None:
    for entry in abi.json["fd_fields"]:
        call = entry["call"]
        if call.startswith("0x"):
            function, numbers = "shim_control_fd", [int(call, 16)]
        elif call == "alloc 0xf1" and entry["kind"] == "label":
            continue  # a second one; the class is refused for the first
        elif call.startswith("alloc ") and call != "alloc 0xfd":
            function = "shim_class_fd"
            numbers = [int(part, 16) for part in call.removeprefix("alloc ").split("/")]
        else:
            continue  # in an ioctl struct: test_decode.py; 0xfd moves: versions.h
        for number in numbers:
            address = core.call(function, number)
            assert address, call
            row = Struct(core, "nvabi_fd_field", address)
            assert {row["off"]} == set(entry["offset"].values()), call
            assert row["kind"] == core.names[KINDS[entry["kind"]]], call
