/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structures of NVIDIA's driver interface, x86-64, as of driver 535.261.03.
 * Facts only; no behaviour. Source of each: open-gpu-kernel-modules 535.261.03,
 * named in the comment; layouts checked against the compiled headers
 * (tests/core/test_nvabi.py compares every offset with the recorded ones).
 *
 * A pointer of user space is a __u64. Padding is explicit.
 */
#ifndef NVABI_STRUCTS_H
#define NVABI_STRUCTS_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/build_bug.h>
#else
#include <linux/types.h>
#include <assert.h>
#endif

#define NVABI_SIZE(name, bytes) \
	static_assert(sizeof(struct name) == (bytes), #name)

struct nv_card_info { /* nv_ioctl_card_info_t */
	__u8 valid;
	__u8 pad0[3];
	__u32 pci_info_domain;
	__u8 pci_info_bus;
	__u8 pci_info_slot;
	__u8 pci_info_function;
	__u8 pad1[1];
	__u16 pci_info_vendor_id;
	__u16 pci_info_device_id;
	__u32 gpu_id;
	__u16 interrupt_line;
	__u8 pad2[2];
	__u64 reg_address;
	__u64 reg_size;
	__u64 fb_address;
	__u64 fb_size;
	__u32 minor_number;
	__u8 dev_name[10];
	__u8 pad3[2];
};
NVABI_SIZE(nv_card_info, 72);

struct nv_xfer { /* nv_ioctl_xfer_t */
	__u32 cmd;
	__u32 size;
	__u64 ptr;
};
NVABI_SIZE(nv_xfer, 16);

struct nv_register_fd { /* nv_ioctl_register_fd_t */
	__u32 ctl_fd;
};
NVABI_SIZE(nv_register_fd, 4);

struct nv_alloc_os_event { /* nv_ioctl_alloc_os_event_t */
	__u32 h_client;
	__u32 h_device;
	__u32 fd;
	__u32 status;
};
NVABI_SIZE(nv_alloc_os_event, 16);

struct nv_free_os_event { /* nv_ioctl_free_os_event_t */
	__u32 h_client;
	__u32 h_device;
	__u32 fd;
	__u32 status;
};
NVABI_SIZE(nv_free_os_event, 16);

struct nv_rm_api_version { /* nv_ioctl_rm_api_version_t */
	__u32 cmd;
	__u32 reply;
	__u8 version_string[64];
};
NVABI_SIZE(nv_rm_api_version, 72);

struct nv_sys_params { /* nv_ioctl_sys_params_t */
	__u64 memblock_size;
};
NVABI_SIZE(nv_sys_params, 8);

struct nv_status_code { /* nv_ioctl_status_code_t */
	__u32 domain;
	__u8 bus;
	__u8 slot;
	__u8 pad0[2];
	__u32 status;
};
NVABI_SIZE(nv_status_code, 12);

struct nv_numa_info { /* nv_ioctl_numa_info_t */
	__u32 nid;
	__u32 status;
	__u64 memblock_size;
	__u64 numa_mem_addr;
	__u64 numa_mem_size;
	__u8 use_auto_online;
	__u8 pad0[7];
	__u32 offline_addresses_addresses[128];
	__u32 offline_addresses_num_entries;
	__u8 pad1[4];
};
NVABI_SIZE(nv_numa_info, 560);

struct nv_query_device_intr { /* nv_ioctl_query_device_intr */
	__u32 intr_status;
	__u32 status;
};
NVABI_SIZE(nv_query_device_intr, 8);

struct nvos00 { /* NVOS00_PARAMETERS */
	__u32 h_root;
	__u32 h_object_parent;
	__u32 h_object_old;
	__u32 status;
};
NVABI_SIZE(nvos00, 16);

struct nvos02_fd { /* nv_ioctl_nvos02_parameters_with_fd */
	__u32 h_root;
	__u32 h_object_parent;
	__u32 h_object_new;
	__u32 h_class;
	__u32 flags;
	__u8 pad0[4];
	__u64 p_memory;
	__u64 limit;
	__u32 status;
	__u8 pad1[4];
	__u32 fd;
	__u8 pad2[4];
};
NVABI_SIZE(nvos02_fd, 56);

struct nvos05 { /* NVOS05_PARAMETERS */
	__u32 h_root;
	__u32 h_object_parent;
	__u32 h_object_new;
	__u32 h_class;
	__u32 status;
};
NVABI_SIZE(nvos05, 20);

struct nvos21 { /* NVOS21_PARAMETERS */
	__u32 h_root;
	__u32 h_object_parent;
	__u32 h_object_new;
	__u32 h_class;
	__u64 p_alloc_parms;
	__u32 params_size;
	__u32 status;
};
NVABI_SIZE(nvos21, 32);

struct nvos30 { /* NVOS30_PARAMETERS */
	__u32 h_client;
	__u32 h_device;
	__u32 h_channel;
	__u32 num_channels;
	__u64 ph_clients;
	__u64 ph_devices;
	__u64 ph_channels;
	__u32 flags;
	__u32 timeout;
	__u32 status;
	__u8 pad0[4];
};
NVABI_SIZE(nvos30, 56);

struct nvos33_fd { /* nv_ioctl_nvos33_parameters_with_fd */
	__u32 h_client;
	__u32 h_device;
	__u32 h_memory;
	__u8 pad0[4];
	__u64 offset;
	__u64 length;
	__u64 p_linear_address;
	__u32 status;
	__u32 flags;
	__u32 fd;
	__u8 pad1[4];
};
NVABI_SIZE(nvos33_fd, 56);

struct nvos34 { /* NVOS34_PARAMETERS */
	__u32 h_client;
	__u32 h_device;
	__u32 h_memory;
	__u8 pad0[4];
	__u64 p_linear_address;
	__u32 status;
	__u32 flags;
};
NVABI_SIZE(nvos34, 32);

struct nvos39 { /* NVOS39_PARAMETERS */
	__u32 h_object_parent;
	__u32 h_sub_device;
	__u32 h_object_new;
	__u32 h_class;
	__u32 flags;
	__u32 selector;
	__u32 h_memory;
	__u8 pad0[4];
	__u64 offset;
	__u64 limit;
	__u32 status;
	__u8 pad1[4];
};
NVABI_SIZE(nvos39, 56);

struct nvos41 { /* NVOS41_PARAMETERS */
	__u64 p_event;
	__u32 more_events;
	__u32 status;
};
NVABI_SIZE(nvos41, 16);

struct nvos49 { /* NVOS49_PARAMETERS */
	__u32 h_client;
	__u32 h_channel;
	__u32 h_ctx_dma;
	__u32 status;
};
NVABI_SIZE(nvos49, 16);

struct nvos54 { /* NVOS54_PARAMETERS */
	__u32 h_client;
	__u32 h_object;
	__u32 cmd;
	__u32 flags;
	__u64 p_params;
	__u32 params_size;
	__u32 status;
};
NVABI_SIZE(nvos54, 32);

struct nvos55 { /* NVOS55_PARAMETERS */
	__u32 h_client;
	__u32 h_parent;
	__u32 h_object;
	__u32 h_client_src;
	__u32 h_object_src;
	__u32 flags;
	__u32 status;
};
NVABI_SIZE(nvos55, 28);

struct nvos56 { /* NVOS56_PARAMETERS */
	__u32 h_client;
	__u32 h_device;
	__u32 h_memory;
	__u8 pad0[4];
	__u64 p_old_cpu_address;
	__u64 p_new_cpu_address;
	__u32 status;
	__u8 pad1[4];
};
NVABI_SIZE(nvos56, 40);

struct nvos57 { /* NVOS57_PARAMETERS */
	__u32 h_client;
	__u32 h_object;
	__u32 share_policy_target;
	__u32 share_policy_access_mask;
	__u16 share_policy_type;
	__u8 share_policy_action;
	__u8 pad0[1];
	__u32 status;
};
NVABI_SIZE(nvos57, 24);

struct nvos64 { /* NVOS64_PARAMETERS */
	__u32 h_root;
	__u32 h_object_parent;
	__u32 h_object_new;
	__u32 h_class;
	__u64 p_alloc_parms;
	__u64 p_rights_requested;
	__u32 params_size;
	__u32 flags;
	__u32 status;
	__u8 pad0[4];
};
NVABI_SIZE(nvos64, 48);

struct nvos46_v535 { /* NVOS46_PARAMETERS */ /* changes between branches, see versions.h */
	__u32 h_client;
	__u32 h_device;
	__u32 h_dma;
	__u32 h_memory;
	__u64 offset;
	__u64 length;
	__u32 flags;
	__u8 pad0[4];
	__u64 dma_offset;
	__u32 status;
	__u8 pad1[4];
};
NVABI_SIZE(nvos46_v535, 56);

struct nvos47_v535 { /* NVOS47_PARAMETERS */ /* changes between branches, see versions.h */
	__u32 h_client;
	__u32 h_device;
	__u32 h_dma;
	__u32 h_memory;
	__u32 flags;
	__u8 pad0[4];
	__u64 dma_offset;
	__u32 status;
	__u8 pad1[4];
};
NVABI_SIZE(nvos47_v535, 40);

struct nv_memory_alloc { /* NV_MEMORY_ALLOCATION_PARAMS */ /* changes between branches, see versions.h */
	__u32 owner;
	__u32 type;
	__u32 flags;
	__u32 width;
	__u32 height;
	__u32 pitch;
	__u32 attr;
	__u32 attr2;
	__u32 format;
	__u32 compr_covg;
	__u32 zcull_covg;
	__u8 pad0[4];
	__u64 range_lo;
	__u64 range_hi;
	__u64 size;
	__u64 alignment;
	__u64 offset;
	__u64 limit;
	__u64 address;
	__u32 ctag_offset;
	__u32 h_va_space;
	__u32 internalflags;
	__u32 tag;
};
NVABI_SIZE(nv_memory_alloc, 120);

struct nv_memory_virtual_alloc { /* NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS */
	__u64 offset;
	__u64 limit;
	__u32 h_va_space;
	__u8 pad0[4];
};
NVABI_SIZE(nv_memory_virtual_alloc, 24);

struct nv0080_alloc { /* NV0080_ALLOC_PARAMETERS */
	__u32 device_id;
	__u32 h_client_share;
	__u32 h_target_client;
	__u32 h_target_device;
	__u32 flags;
	__u8 pad0[4];
	__u64 va_space_size;
	__u64 va_start_internal;
	__u64 va_limit_internal;
	__u32 va_mode;
	__u8 pad1[4];
};
NVABI_SIZE(nv0080_alloc, 56);

struct nv2080_alloc { /* NV2080_ALLOC_PARAMETERS */
	__u32 sub_device_id;
};
NVABI_SIZE(nv2080_alloc, 4);

/* 64 letters, not 128, from 595: versions.h, name_string_bytes. */
struct nv2080_name_string { /* NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS */
	__u32 gpu_name_string_flags;
	__u8 name[128];
};
NVABI_SIZE(nv2080_name_string, 132);

struct nv0005_alloc { /* NV0005_ALLOC_PARAMETERS */
	__u32 h_parent_client;
	__u32 h_src_resource;
	__u32 h_class;
	__u32 notify_index;
	__u64 data;
};
NVABI_SIZE(nv0005_alloc, 24);

struct nv_channel_group_alloc { /* NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS */
	__u32 h_object_error;
	__u32 h_object_ecc_error;
	__u32 h_va_space;
	__u32 engine_type;
	__u8 b_is_calling_context_vgpu_plugin;
	__u8 pad0[3];
};
NVABI_SIZE(nv_channel_group_alloc, 20);

struct nv_ctxshare_alloc { /* NV_CTXSHARE_ALLOCATION_PARAMETERS */
	__u32 h_va_space;
	__u32 flags;
	__u32 subctx_id;
};
NVABI_SIZE(nv_ctxshare_alloc, 12);

struct nv_vaspace_alloc { /* NV_VASPACE_ALLOCATION_PARAMETERS */ /* changes between branches, see versions.h */
	__u32 index;
	__u32 flags;
	__u64 va_size;
	__u64 va_start_internal;
	__u64 va_limit_internal;
	__u32 big_page_size;
	__u8 pad0[4];
	__u64 va_base;
};
NVABI_SIZE(nv_vaspace_alloc, 48);

struct nv0041_surface_info { /* NV0041_CTRL_GET_SURFACE_INFO_PARAMS */
	__u32 surface_info_list_size;
	__u8 pad0[4];
	__u64 surface_info_list;
};
NVABI_SIZE(nv0041_surface_info, 16);

struct nv0000_handle_info { /* NV0000_CTRL_CLIENT_GET_HANDLE_INFO_PARAMS */
	__u32 h_object;
	__u32 index;
	__u32 data_h_result;
	__u8 pad0[4];
};
NVABI_SIZE(nv0000_handle_info, 16);

struct nv0000_export_to_fd { /* NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD_PARAMS */
	__u32 object_type;
	__u32 object_data_rm_object_h_device;
	__u32 object_data_rm_object_h_parent;
	__u32 object_data_rm_object_h_object;
	__u32 fd;
	__u32 flags;
};
NVABI_SIZE(nv0000_export_to_fd, 24);

struct nv0000_import_from_fd { /* NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD_PARAMS */
	__u32 fd;
	__u32 object_type;
	__u32 object_data_rm_object_h_device;
	__u32 object_data_rm_object_h_parent;
	__u32 object_data_rm_object_h_object;
};
NVABI_SIZE(nv0000_import_from_fd, 20);

struct nv2080_pid_info { /* NV2080_CTRL_GPU_PID_INFO */
	__u32 pid;
	__u32 index;
	__u32 result;
	__u8 pad0[4];
	__u64 data_vid_mem_usage_mem_private;
	__u64 data_vid_mem_usage_mem_shared_owned;
	__u64 data_vid_mem_usage_mem_shared_duped;
	__u64 data_vid_mem_usage_protected_mem_private;
	__u64 data_vid_mem_usage_protected_mem_shared_owned;
	__u64 data_vid_mem_usage_protected_mem_shared_duped;
	__u32 smc_subscription_compute_instance_id;
	__u32 smc_subscription_gpu_instance_id;
};
NVABI_SIZE(nv2080_pid_info, 72);

struct uvm_initialize { /* UVM_INITIALIZE_PARAMS */
	__u64 flags;
	__u32 rm_status;
	__u8 pad0[4];
};
NVABI_SIZE(uvm_initialize, 16);

struct uvm_mm_initialize { /* UVM_MM_INITIALIZE_PARAMS */
	__u32 uvm_fd;
	__u32 rm_status;
};
NVABI_SIZE(uvm_mm_initialize, 8);

struct uvm_register_gpu { /* UVM_REGISTER_GPU_PARAMS */
	__u8 gpu_uuid[16];
	__u8 numa_enabled;
	__u8 pad0[3];
	__u32 numa_node_id;
	__u32 rm_ctrl_fd;
	__u32 h_client;
	__u32 h_smc_part_ref;
	__u32 rm_status;
};
NVABI_SIZE(uvm_register_gpu, 40);

struct uvm_unregister_gpu { /* UVM_UNREGISTER_GPU_PARAMS */
	__u8 gpu_uuid[16];
	__u32 rm_status;
};
NVABI_SIZE(uvm_unregister_gpu, 20);

struct uvm_register_gpu_vaspace { /* UVM_REGISTER_GPU_VASPACE_PARAMS */
	__u8 gpu_uuid[16];
	__u32 rm_ctrl_fd;
	__u32 h_client;
	__u32 h_va_space;
	__u32 rm_status;
};
NVABI_SIZE(uvm_register_gpu_vaspace, 32);

struct uvm_unregister_gpu_vaspace { /* UVM_UNREGISTER_GPU_VASPACE_PARAMS */
	__u8 gpu_uuid[16];
	__u32 rm_status;
};
NVABI_SIZE(uvm_unregister_gpu_vaspace, 20);

struct uvm_register_channel { /* UVM_REGISTER_CHANNEL_PARAMS */
	__u8 gpu_uuid[16];
	__u32 rm_ctrl_fd;
	__u32 h_client;
	__u32 h_channel;
	__u8 pad0[4];
	__u64 base;
	__u64 length;
	__u32 rm_status;
	__u8 pad1[4];
};
NVABI_SIZE(uvm_register_channel, 56);

struct uvm_unregister_channel { /* UVM_UNREGISTER_CHANNEL_PARAMS */ /* changes between branches, see versions.h */
	__u8 gpu_uuid[16];
	__u32 h_client;
	__u32 h_channel;
	__u32 rm_status;
};
NVABI_SIZE(uvm_unregister_channel, 28);

struct uvm_create_external_range { /* UVM_CREATE_EXTERNAL_RANGE_PARAMS */
	__u64 base;
	__u64 length;
	__u32 rm_status;
	__u8 pad0[4];
};
NVABI_SIZE(uvm_create_external_range, 24);

struct uvm_unmap_external { /* UVM_UNMAP_EXTERNAL_PARAMS */
	__u64 base;
	__u64 length;
	__u8 gpu_uuid[16];
	__u32 rm_status;
	__u8 pad0[4];
};
NVABI_SIZE(uvm_unmap_external, 40);

struct uvm_free { /* UVM_FREE_PARAMS */ /* changes between branches, see versions.h */
	__u64 base;
	__u64 length;
	__u32 rm_status;
	__u8 pad0[4];
};
NVABI_SIZE(uvm_free, 24);

struct uvm_map_dynamic_parallelism { /* UVM_MAP_DYNAMIC_PARALLELISM_REGION_PARAMS */
	__u64 base;
	__u64 length;
	__u8 gpu_uuid[16];
	__u32 rm_status;
	__u8 pad0[4];
};
NVABI_SIZE(uvm_map_dynamic_parallelism, 40);

struct uvm_create_range_group { /* UVM_CREATE_RANGE_GROUP_PARAMS */
	__u64 range_group_id;
	__u32 rm_status;
	__u8 pad0[4];
};
NVABI_SIZE(uvm_create_range_group, 16);

struct uvm_destroy_range_group { /* UVM_DESTROY_RANGE_GROUP_PARAMS */
	__u64 range_group_id;
	__u32 rm_status;
	__u8 pad0[4];
};
NVABI_SIZE(uvm_destroy_range_group, 16);

struct uvm_set_range_group { /* UVM_SET_RANGE_GROUP_PARAMS */
	__u64 range_group_id;
	__u64 requested_base;
	__u64 length;
	__u32 rm_status;
	__u8 pad0[4];
};
NVABI_SIZE(uvm_set_range_group, 32);

struct uvm_migrate { /* UVM_MIGRATE_PARAMS */
	__u64 base;
	__u64 length;
	__u8 destination_uuid[16];
	__u32 flags;
	__u8 pad0[4];
	__u64 semaphore_address;
	__u32 semaphore_payload;
	__u32 cpu_numa_node;
	__u64 user_space_start;
	__u64 user_space_length;
	__u32 rm_status;
	__u8 pad1[4];
};
NVABI_SIZE(uvm_migrate, 80);

struct uvm_pageable_mem_access { /* UVM_PAGEABLE_MEM_ACCESS_PARAMS */
	__u8 pageable_mem_access;
	__u8 pad0[3];
	__u32 rm_status;
};
NVABI_SIZE(uvm_pageable_mem_access, 8);

struct uvm_pageable_mem_access_on_gpu { /* UVM_PAGEABLE_MEM_ACCESS_ON_GPU_PARAMS */
	__u8 gpu_uuid[16];
	__u8 pageable_mem_access;
	__u8 pad0[3];
	__u32 rm_status;
};
NVABI_SIZE(uvm_pageable_mem_access_on_gpu, 24);

struct uvm_validate_va_range { /* UVM_VALIDATE_VA_RANGE_PARAMS */
	__u64 base;
	__u64 length;
	__u32 rm_status;
	__u8 pad0[4];
};
NVABI_SIZE(uvm_validate_va_range, 24);

struct uvm_map_external_sparse { /* UVM_MAP_EXTERNAL_SPARSE_PARAMS */
	__u64 base;
	__u64 length;
	__u8 gpu_uuid[16];
	__u32 rm_status;
	__u8 pad0[4];
};
NVABI_SIZE(uvm_map_external_sparse, 40);

#endif /* NVABI_STRUCTS_H */
