# SPDX-License-Identifier: GPL-2.0-only
"""Where each field of struct nvabi_version comes from: the row that a driver must have."""

from __future__ import annotations

from typing import Final

from tests.core.facts import Facts

GPUMON: Final = "NV2080_CTRL_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2_PARAMS"
GPUMON_SAMPLE: Final = "NV2080_CTRL_PERF_GPUMON_PERFMON_UTIL_SAMPLE"
GPUMON_ENGINE: Final = "NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE"
REGIONS: Final = "NV2080_CTRL_CMD_FB_GET_FB_REGION_INFO_PARAMS"
REGION: Final = "NV2080_CTRL_CMD_FB_GET_FB_REGION_FB_REGION_INFO"
UVM_MAP: Final = "UVM_MAP_EXTERNAL_ALLOCATION_PARAMS"
UVM_TABLE: Final = "UVM_TOOLS_GET_PROCESSOR_UUID_TABLE_PARAMS"
# field: struct, and the member whose offset it is (none: the size). 0: the driver has no such one.
BY_LAYOUT: Final[dict[str, tuple[str, str]]] = {
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
    "ofa_alloc_bytes": ("NV_OFA_ALLOCATION_PARAMETERS", ""),
    "host_vgpu_alloc_bytes": ("NVA084_ALLOC_PARAMETERS", ""),
    "display_dma_alloc_bytes": ("NV50VAIO_CHANNELDMA_ALLOCATION_PARAMETERS", ""),
    "fb_info_v2_bytes": ("NV2080_CTRL_FB_GET_INFO_V2_PARAMS", ""),
    "fb_region_bytes": (REGIONS, ""),
    "fb_region_entry_bytes": (REGION, ""),
    "probed_ids_bytes": ("NV0000_CTRL_GPU_GET_PROBED_IDS_PARAMS", ""),
    "gpu_info_v2_bytes": ("NV2080_CTRL_GPU_GET_INFO_V2_PARAMS", ""),
    "name_string_bytes": ("NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS", ""),
    "classlist_v2_bytes": ("NV0080_CTRL_GPU_GET_CLASSLIST_V2_PARAMS", ""),
    "export_info_bytes": ("NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS", ""),
    "gpfifo_schedule_bytes": ("NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS", ""),
    "reset_channel_bytes": ("NV906F_CTRL_CMD_RESET_CHANNEL_PARAMS", ""),
    "gpumon_bytes": (GPUMON, ""),
    "gpumon_samples_off": (GPUMON, "samples"),
    "gpumon_stride": (GPUMON_SAMPLE, ""),
    "gpumon_engine_off": (GPUMON_SAMPLE, "fb"),
    "gpumon_engine_bytes": (GPUMON_ENGINE, ""),
    "gpumon_pid_off": (GPUMON_ENGINE, "procId"),
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
    "uvm_processor_table_bytes": (UVM_TABLE, ""),
    "uvm_processor_table_status_off": (UVM_TABLE, "rmStatus"),
    "uvm_alloc_device_p2p_bytes": ("UVM_ALLOC_DEVICE_P2P_PARAMS", ""),
}
# field: the ioctl or struct that the driver has or has not
BY_PRESENCE: Final = {
    "has_wait_open_complete": "NV_ESC_WAIT_OPEN_COMPLETE",
    "uvm_has_system_wide_atomics": "UVM_ENABLE_SYSTEM_WIDE_ATOMICS",
    "uvm_has_processor_table_v2": "UVM_TOOLS_GET_PROCESSOR_UUID_TABLE_V2",
    "uvm_has_clear_access_counters": "UVM_CLEAR_ALL_ACCESS_COUNTERS",
    "uvm_has_discard": "UVM_DISCARD",
}
# string and verified are not facts of the driver's
NO_FACTS: Final = {"string", "verified"}
FB_GET_INFO: Final = 0x20801301
PAIR_BYTES: Final = 8


def structs() -> set[str]:
    """NVIDIA's names of the structs that fields are taken from."""
    return {struct for struct, _ in BY_LAYOUT.values()}


def taken(facts: Facts, struct: str, member: str) -> int:
    layout = facts.structs.get(struct)
    if layout is None:
        return 0
    return layout.fields.get(member, (0, 0))[0] if member else layout.size


def row(facts: Facts) -> dict[str, int]:
    """What struct nvabi_version must hold for this driver, by field."""
    found = {name: taken(facts, *where) for name, where in BY_LAYOUT.items()}
    numbers = set(facts.escapes) | set(facts.uvm)
    found |= {name: int(number in numbers) for name, number in BY_PRESENCE.items()}
    pointers = facts.pointers.get(FB_GET_INFO, ())
    engines = found["gpumon_stride"] - found["gpumon_engine_off"]
    return found | {
        "branch": int(facts.version.partition(".")[0]),
        "presence": int(not facts.kernel.presence_by_number),
        "alloc_is_nvos64": int(facts.kernel.alloc_struct == "NVOS64_PARAMETERS"),
        "open_gpu_has_bool": int(facts.kernel.open_gpu_has_bool),
        "rm_op_bytes": facts.kernel.op_bytes,
        "checks_ioctl_sizes": int(facts.kernel.ioctls_are_listed),
        "converts_fb_get_info": int(any(one.converted_bytes for one in pointers)),
        "fb_info_v2_entries": (found["fb_info_v2_bytes"] - 4) // PAIR_BYTES,
        "fb_region_entries": (found["fb_region_bytes"] - 8)
        // (found["fb_region_entry_bytes"] or 1),
        "gpumon_engines": engines // (found["gpumon_engine_bytes"] or 1),
    }
