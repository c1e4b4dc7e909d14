# SPDX-License-Identifier: GPL-2.0-only
"""kmod/nvabi says what was recorded from NVIDIA's headers: every struct, number and size."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from tests.conftest import needed
from tests.core import facts, headers
from tests.core.abi import Abi, plain
from tests.core.conftest import VERSIONS
from tests.core.native import Buffer, Core, Struct
from tests.core.source import COMPUTED

V535 = "535.261.03"
STRUCTS = [struct for name in headers.LAYOUTS for struct in headers.structs(name)]
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
        '#include "nvabi/controls.h"\nint main(void) {' + "\n".join(lines) + "return 0; }\n"
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


# Layouts that change, each with what makes up for it. All others are the same from 535 to 595.
MOVING = {
    "NVOS46_PARAMETERS": "versions.h: map_dma_*",
    "NVOS47_PARAMETERS": "versions.h: unmap_dma_*",
    "NV_MEMORY_ALLOCATION_PARAMS": "grows at its end; versions.h: memory_alloc_bytes",
    "NV_VASPACE_ALLOCATION_PARAMETERS": "grows at its end; versions.h: vaspace_alloc_bytes",
    "UVM_FREE_PARAMS": "versions.h: uvm_free_*",
    "UVM_UNREGISTER_CHANNEL_PARAMS": "versions.h: uvm_unregister_channel_*",
    "NV2080_CTRL_CMD_FB_GET_FB_REGION_INFO_PARAMS": "versions.h: fb_region_*",
    "NV2080_CTRL_CMD_FB_GET_FB_REGION_FB_REGION_INFO": "grows at its end; versions.h: fb_region_*",
    "NV2080_CTRL_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2_PARAMS": "versions.h: gpumon_*",
    "NV2080_CTRL_PERF_GPUMON_PERFMON_UTIL_SAMPLE": "versions.h: gpumon_*",
    "NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE": "grows at its end; versions.h: gpumon_*",
    "NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS": "grows at its end; versions.h: gpfifo_schedule_bytes",
    "NV0000_CTRL_SYSTEM_GET_CPU_INFO_PARAMS": "grows at its end; control_sizes.h",
    "NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS": "ends earlier; versions.h: name_string_bytes",
    "NVA06F_CTRL_EVENT_SET_NOTIFICATION_PARAMS": "from 580; nvsim alone has it",
}


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: str(struct.name))
def test_struct_is_as_recorded(
    struct: headers.Struct, layouts: dict[str, dict[str, tuple[int, int]]]
) -> None:
    recorded = facts.of_record(V535).structs.get(struct.vendor)
    assert recorded is not None, f"{struct.vendor}: name it in facts.WATCHED, record anew"
    ours = dict(layouts[struct.name])
    assert ours.pop("")[1] == recorded.size
    assert set(ours.values()) <= set(recorded.fields.values())
    leaves = recorded.leaves()
    # of a union we name one member, of nested structs the whole: nothing recorded is left out
    for name, (offset, _) in leaves.items():
        assert any(at <= offset < at + size for at, size in ours.values()), name
    by_name = {plain(name): at for name, at in ours.items()}
    shared = set(by_name) & set(leaves)
    assert {name: by_name[name] for name in shared} == {name: leaves[name] for name in shared}
    # names agree but for nested structs we flattened; controls.h has names of its own
    assert len(shared) >= len(ours) // 2 or struct in headers.structs("nvabi/controls.h"), (
        sorted(by_name),
        sorted(leaves),
    )


@pytest.mark.parametrize("name", VERSIONS)
def test_structs_are_the_same_for_every_driver_or_known_to_move(name: str) -> None:
    base, found = facts.of_record(V535).structs, facts.of_record(name).structs
    there = [struct.vendor for struct in STRUCTS if struct.vendor in found]
    assert {vendor for vendor in there if found[vendor] != base[vendor]} <= set(MOVING)


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
    for version in VERSIONS:
        classes = facts.of_record(version).classes
        numbers |= {one.name: number for number, one in classes.items()}
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


# ---- classes.h ----


def test_classes_are_sorted_and_unique(core: Core) -> None:
    ids = [row["id"] for row in core.rows("shim_classes", "nvabi_class")]
    assert ids == sorted(set(ids))
    assert len(ids) > 180


@pytest.mark.parametrize("name", VERSIONS)
def test_every_class_is_there_with_its_size(name: str, core: Core) -> None:
    row = core.version(name)
    for number, recorded in facts.of_record(name).classes.items():
        assert core.call("shim_class_bytes", row, number) == recorded.bytes, recorded.name


# ours is the stricter one: who may not allocate it here may not in any driver
STRICTER = {
    "NV01_MEMORY_FRAMEBUFFER_CONSOLE",  # root at first, kernel from 570
    "MMU_VIDMEM_ACCESS_BIT_BUFFER",  # root at first, anyone from 580: who touched what on the card
}


@pytest.mark.parametrize("name", VERSIONS)
def test_class_rights_and_parameters_are_as_recorded(name: str, core: Core) -> None:
    flags = {row["id"]: row["flags"] for row in core.rows("shim_classes", "nvabi_class")}
    root, kernel = core.names["NVABI_CLASS_PRIVILEGED"], core.names["NVABI_CLASS_KERNEL"]
    bits = {"none": 0, "root": root, "kernel": kernel}
    for number, recorded in facts.of_record(name).classes.items():
        if recorded.name in STRICTER:
            assert flags[number] & (root | kernel)
        else:
            assert flags[number] & (root | kernel) == bits[recorded.privilege], recorded.name
        required = bool(flags[number] & core.names["NVABI_CLASS_REQUIRED"])
        assert required == (recorded.params == "required"), recorded.name


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


# Not in embedded.h: display and I2C, whose classes are refused; FB_GET_AMAP_CONF, compiled out.
NOT_EMBEDDED = {0x20801336}
DISPLAY_AND_I2C = {0x73, 0x402C}


@pytest.mark.parametrize("name", VERSIONS)
def test_embedded_pointers_are_as_recorded(name: str, core: Core) -> None:
    row = core.version(name)
    out = ctypes.create_string_buffer(8 * 4)
    kinds = {1: "in", 2: "out", 3: "inout"}
    for number, recorded in facts.of_record(name).pointers.items():
        if number >> 16 in DISPLAY_AND_I2C or number in NOT_EMBEDDED:
            continue
        count = core.call("shim_embedded_find", row, number, ctypes.addressof(out))
        addresses = [int.from_bytes(out.raw[8 * i : 8 * i + 8], "little") for i in range(count)]
        found = [Struct(core, "nvabi_embedded", address) for address in addresses]
        ours = {
            (
                one["pointer_off"],
                one["element_bytes"],
                kinds[one["direction"]],
                one["converted_bytes"],
            )
            for one in found
        }
        counts = {one["pointer_off"]: one["count_off"] for one in found}
        # the second pointer of P2P_CAPS is followed from 550.90.07; our row begins with 550
        theirs = {
            (one.off, one.element_bytes, one.direction, one.converted_bytes) for one in recorded
        }
        assert theirs == ours or (number == 0x127 and theirs < ours), hex(number)
        for one in recorded:
            assert one.count_off in {COMPUTED, counts[one.off]}, hex(number)


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


# ---- rm_ops.h ----


def test_the_kernel_interface_is_as_recorded(tmp_path: Path) -> None:
    """Members by place; the card's list entry; room for the larger op structure."""
    base = facts.of_record(V535).structs
    table, card = base["nvidia_modeset_rm_ops_t"], base["nv_gpu_info_t"]
    checks = [
        f"sizeof(struct nv_rm_ops) == {table.size}",
        f"sizeof(struct nv_gpu_info) == {card.size}",
    ]
    members = ("version_string", "system_info", "alloc_stack", "free_stack", "enumerate_gpus")
    for member in (*members, "open_gpu", "close_gpu", "op", "set_callbacks"):
        at, size = table.fields[member]
        checks.append(f"offsetof(struct nv_rm_ops, {member}) == {at}")
        checks.append(f"sizeof(((struct nv_rm_ops *)0)->{member}) == {size}")
    checks += ["offsetof(struct nv_rm_ops, open_gpu_595) == offsetof(struct nv_rm_ops, open_gpu)"]
    for ours, theirs in {
        "gpu_id": "gpu_id",
        "pci": "pci_info",
        "os_device_ptr": "os_device_ptr",
    }.items():
        checks.append(f"offsetof(struct nv_gpu_info, {ours}) == {card.fields[theirs][0]}")
    most = max(facts.of_record(name).kernel.op_bytes for name in VERSIONS)
    checks += [f"sizeof(struct nv_rm_op) >= {most}", "offsetof(struct nv_rm_op, u) == 8"]
    source = tmp_path / "ops.c"
    source.write_text(
        '#include <stddef.h>\n#include "nvabi/rm_ops.h"\n'
        + "\n".join(f'_Static_assert({check}, "{check}");' for check in checks)
    )
    command = [needed("gcc"), "-std=gnu11", f"-I{headers.KMOD}", "-fsyntax-only", str(source)]
    assert subprocess.run(command, check=False).returncode == 0


# ---- every number, every driver ----


APART = {
    "NVOS32_ATTR2_PROTECTION_USER_READ_ONLY",  # ours stands in its place; theirs is the value alone
    "NV0073_CTRL_SYSTEM_GET_SUPPORTED",  # 0x00730107 from 570; the simulated driver alone has it
}


@pytest.mark.parametrize("name", VERSIONS)
def test_numbers_hold_for_every_driver(name: str) -> None:
    """Whatever NVIDIA's headers name as we do has the value that we give it."""
    recorded = facts.of_record(name).numbers
    ours = {
        key: value for header in facts.NUMBERS for key, value in headers.numbers(header).items()
    }
    shared = (set(ours) & set(recorded)) - APART
    assert len(shared) > 300
    assert {key: ours[key] for key in shared} == {key: recorded[key] for key in shared}


@pytest.mark.parametrize("name", VERSIONS)
def test_listed_ioctls_are_decoded_with_the_listed_sizes(name: str, core: Core) -> None:
    """From 595 the driver checks number and size first: what it lists is what decode takes."""
    row = core.version(name)
    listed = facts.of_record(name).listed
    assert bool(listed) == bool(row["checks_ioctl_sizes"])
    wrapped = {211}  # unwrapped before decode
    any_size = {0x5F}  # refused for everybody who is not root, with the same value
    for number, (size, many) in listed.items():
        if number in wrapped | any_size:
            continue
        request = core.struct("gsh_request")
        nodes = (core.names["GSH_NODE_CTL"], core.names["GSH_NODE_GPU"])
        for wrong in (size - 1, size + 1, 0):
            block = Buffer(bytes(wrong))
            refused = [
                core.call("gsh_decode", row, number, n, block, wrong, request) for n in nodes
            ]
            assert all(refused), (number, wrong)
        sizes = (size, 2 * size) if many else (size,)
        for right in sizes:
            block = Buffer(bytes(right))
            taken = [core.call("gsh_decode", row, number, n, block, right, request) for n in nodes]
            assert 0 in taken, (number, right)
