/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the supported drivers: one row a driver, by full
 * version string (sizes change inside a branch too). A row is its parent plus edits. Facts only.
 * Sizes and offsets in bytes, x86-64. Source: open-gpu-kernel-modules at the tag that
 * the row names; tests/core/test_nvabi.py compares each field with the recorded layouts.
 */
#ifndef NVABI_VERSIONS_H
#define NVABI_VERSIONS_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/string.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <linux/types.h>
#endif

/* How the driver looks for an open GPU in the caller's descriptor table (kernel-open/nvidia/nv.c). */
enum nvabi_presence {
	NVABI_PRESENCE_DEVICE_NUMBER, /* inode's major 195 and the GPU's private data */
	NVABI_PRESENCE_OPERATIONS, /* NVIDIA's own file operations and the GPU's private data */
};

struct nvabi_version {
	const char *string;
	__u16 branch;
	bool verified; /* tests run against this driver's own modules or libraries */

	/* Kernel interface: src/nvidia/arch/nvalloc/unix/include/nv-kernel-rmapi-ops.h */
	enum nvabi_presence presence;
	bool alloc_is_nvos64; /* op ALLOC carries NVOS64, before 575.51.02 NVOS21 */
	bool open_gpu_has_bool; /* open_gpu, close_gpu: one more argument from 595.44.02 */
	__u16 rm_op_bytes;

	/* ioctls: kernel-open/common/inc/nv-ioctl.h, src/common/sdk/nvidia/inc/nvos.h */
	bool has_wait_open_complete; /* number 218, from 550 */
	bool converts_fb_get_info; /* 0x20801301 ends as 0x20801303 inside the driver, from 550 */
	__u16 dmabuf_bytes; /* number 217 */
	__u16 dmabuf_status_off;
	__u16 map_dma_bytes; /* NVOS46 */
	__u16 map_dma_address_off; /* dmaOffset */
	__u16 map_dma_status_off;
	__u16 unmap_dma_bytes; /* NVOS47 */
	__u16 unmap_dma_address_off;
	__u16 unmap_dma_status_off;

	/* RM_ALLOC parameters: nvos.h, src/common/sdk/nvidia/inc/class */
	__u16 memory_alloc_bytes; /* NV_MEMORY_ALLOCATION_PARAMS */
	__u16 channel_alloc_bytes; /* NV_CHANNEL_ALLOC_PARAMS */
	__u16 channel_ctxshare_off;
	__u16 channel_vaspace_off;
	__u16 channel_engine_off;
	__u16 vaspace_alloc_bytes; /* NV_VASPACE_ALLOCATION_PARAMETERS */
	__u16 multicast_alloc_bytes; /* NV00FD_ALLOCATION_PARAMETERS */
	__u16 multicast_event_off; /* pOsEvent, a label */
	__u16 memory_mapper_alloc_bytes;
	__u16 p2p_alloc_bytes; /* NV503B_ALLOC_PARAMETERS */
	__u16 user_shared_alloc_bytes; /* NV00DE_ALLOC_PARAMETERS */
	__u16 ofa_alloc_bytes; /* NV_OFA_ALLOCATION_PARAMETERS */
	__u16 host_vgpu_alloc_bytes; /* NVA084_ALLOC_PARAMETERS */
	__u16 display_dma_alloc_bytes; /* NV50VAIO_CHANNELDMA_ALLOCATION_PARAMETERS */

	/* RM_CONTROL parameters: src/common/sdk/nvidia/inc/ctrl */
	__u16 fb_info_v2_bytes;
	__u16 fb_info_v2_entries;
	__u16 fb_region_bytes; /* FB_GET_FB_REGION_INFO */
	__u16 fb_region_entry_bytes;
	__u16 fb_region_entries;
	__u16 probed_ids_bytes;
	__u16 gpu_info_v2_bytes;
	__u16 classlist_v2_bytes;
	__u16 export_info_bytes; /* GET_EXPORT_OBJECT_INFO */
	__u16 gpfifo_schedule_bytes; /* channel and group */
	__u16 reset_channel_bytes;
	__u32 gpumon_bytes; /* GPUMON_PERFMON_UTIL_SAMPLES_V2 */
	__u16 gpumon_samples_off;
	__u16 gpumon_stride; /* one sample of 72 */
	__u16 gpumon_engine_off; /* first engine's figures in a sample */
	__u16 gpumon_engine_bytes; /* figures of one engine */
	__u16 gpumon_engines;
	__u16 gpumon_pid_off; /* in one engine's figures */

	/* Managed memory: kernel-open/nvidia-uvm/uvm_ioctl.h; 0: no such command */
	__u16 uvm_map_external_bytes;
	__u16 uvm_map_external_count_off; /* gpuAttributesCount u64 */
	__u16 uvm_map_external_fd_off;
	__u16 uvm_map_external_client_off; /* hMemory follows */
	__u16 uvm_map_external_status_off;
	__u16 uvm_semaphore_pool_bytes;
	__u16 uvm_semaphore_pool_status_off;
	__u16 uvm_free_bytes;
	__u16 uvm_free_length_off; /* 0: gone */
	__u16 uvm_free_status_off;
	__u16 uvm_unregister_channel_bytes;
	__u16 uvm_unregister_channel_client_off; /* hChannel follows */
	__u16 uvm_unregister_channel_status_off;
	__u16 uvm_preferred_location_status_off;
	__u16 uvm_processor_table_bytes;
	__u16 uvm_processor_table_status_off;
	__u16 uvm_alloc_device_p2p_bytes;
	bool uvm_has_processor_table_v2;
	bool uvm_has_clear_access_counters;
	bool uvm_has_discard;
};

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init" /* "parent plus edits" is what it forbids */
#endif

/* A field a line, so that an edit is one line of difference: */
/* clang-format off */
#define NVABI_535_261_03						\
	.branch = 535,							\
	.presence = NVABI_PRESENCE_DEVICE_NUMBER,			\
	.rm_op_bytes = 64,						\
	.dmabuf_bytes = 2600,						\
	.dmabuf_status_off = 2592,					\
	.map_dma_bytes = 56,						\
	.map_dma_address_off = 40,					\
	.map_dma_status_off = 48,					\
	.unmap_dma_bytes = 40,						\
	.unmap_dma_address_off = 24,					\
	.unmap_dma_status_off = 32,					\
	.memory_alloc_bytes = 120,					\
	.channel_alloc_bytes = 360,					\
	.channel_ctxshare_off = 24,					\
	.channel_vaspace_off = 28,					\
	.channel_engine_off = 128,					\
	.vaspace_alloc_bytes = 48,					\
	.multicast_alloc_bytes = 40,					\
	.multicast_event_off = 32,					\
	.memory_mapper_alloc_bytes = 1,					\
	.p2p_alloc_bytes = 72,						\
	.user_shared_alloc_bytes = 4,					\
	.ofa_alloc_bytes = 8,						\
	.host_vgpu_alloc_bytes = 1672,					\
	.display_dma_alloc_bytes = 32,					\
	.fb_info_v2_bytes = 436,					\
	.fb_info_v2_entries = 54,					\
	.fb_region_bytes = 776,						\
	.fb_region_entry_bytes = 48,					\
	.fb_region_entries = 16,					\
	.probed_ids_bytes = 256,					\
	.gpu_info_v2_bytes = 516,					\
	.classlist_v2_bytes = 644,					\
	.export_info_bytes = 76,					\
	.gpfifo_schedule_bytes = 2,					\
	.reset_channel_bytes = 12,					\
	.gpumon_bytes = 34000,						\
	.gpumon_samples_off = 16,					\
	.gpumon_stride = 472,						\
	.gpumon_engine_off = 8,						\
	.gpumon_engine_bytes = 116,					\
	.gpumon_engines = 4,						\
	.gpumon_pid_off = 8,						\
	.uvm_map_external_bytes = 1200,					\
	.uvm_map_external_count_off = 1176,				\
	.uvm_map_external_fd_off = 1184,				\
	.uvm_map_external_client_off = 1188,				\
	.uvm_map_external_status_off = 1196,				\
	.uvm_semaphore_pool_bytes = 1184,				\
	.uvm_semaphore_pool_status_off = 1176,				\
	.uvm_free_bytes = 24,						\
	.uvm_free_length_off = 8,					\
	.uvm_free_status_off = 16,					\
	.uvm_unregister_channel_bytes = 28,				\
	.uvm_unregister_channel_client_off = 16,			\
	.uvm_unregister_channel_status_off = 24,			\
	.uvm_preferred_location_status_off = 32,			\
	.uvm_processor_table_bytes = 16,				\
	.uvm_processor_table_status_off = 12

#define NVABI_550_163_01						\
	NVABI_535_261_03,						\
	.branch = 550,							\
	.presence = NVABI_PRESENCE_OPERATIONS,				\
	.has_wait_open_complete = true,					\
	.converts_fb_get_info = true,					\
	.unmap_dma_bytes = 48,						\
	.unmap_dma_status_off = 40,					\
	.memory_alloc_bytes = 128,					\
	.multicast_alloc_bytes = 80,					\
	.multicast_event_off = 72,					\
	.memory_mapper_alloc_bytes = 8,					\
	.user_shared_alloc_bytes = 8,					\
	.ofa_alloc_bytes = 12,						\
	.host_vgpu_alloc_bytes = 1680,					\
	.fb_info_v2_bytes = 444,					\
	.fb_info_v2_entries = 55,					\
	.gpu_info_v2_bytes = 524,					\
	.classlist_v2_bytes = 700,					\
	.export_info_bytes = 80,					\
	.reset_channel_bytes = 16,					\
	.gpumon_bytes = 50704,						\
	.gpumon_stride = 704,						\
	.gpumon_engines = 6,						\
	.uvm_map_external_bytes = 9264,					\
	.uvm_map_external_count_off = 9240,				\
	.uvm_map_external_fd_off = 9248,				\
	.uvm_map_external_client_off = 9252,				\
	.uvm_map_external_status_off = 9260,				\
	.uvm_semaphore_pool_bytes = 9248,				\
	.uvm_semaphore_pool_status_off = 9240,				\
	.uvm_preferred_location_status_off = 36,			\
	.uvm_processor_table_bytes = 24

#define NVABI_570_211_01						\
	NVABI_550_163_01,						\
	.branch = 570,							\
	.dmabuf_bytes = 2608,						\
	.dmabuf_status_off = 2600,					\
	.channel_alloc_bytes = 368,					\
	.memory_mapper_alloc_bytes = 24,				\
	.host_vgpu_alloc_bytes = 1696,					\
	.display_dma_alloc_bytes = 40,					\
	.fb_info_v2_bytes = 460,					\
	.fb_info_v2_entries = 57,					\
	.classlist_v2_bytes = 404,					\
	.gpumon_bytes = 55888,						\
	.gpumon_stride = 776,						\
	.gpumon_engine_bytes = 128,					\
	.uvm_processor_table_bytes = 16,				\
	.uvm_processor_table_status_off = 8,				\
	.uvm_alloc_device_p2p_bytes = 56,				\
	.uvm_has_processor_table_v2 = true,				\
	.uvm_has_clear_access_counters = true
/* clang-format on */

static inline const struct nvabi_version *nvabi_versions(__u32 *count)
{
	static const struct nvabi_version rows[] = {
		{ .string = "535.261.03", NVABI_535_261_03, .verified = true },
#ifndef __CHECKER__ /* sparse cannot be told that an edit is meant */
		{ .string = "550.163.01", NVABI_550_163_01 },
		{ .string = "570.211.01", NVABI_570_211_01 },
#endif
	};

	*count = sizeof(rows) / sizeof(rows[0]);
	return rows;
}

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* Exact match or NULL: a driver nobody has checked is refused, by name (nvabi_version_list). */
static inline const struct nvabi_version *nvabi_version_find(const char *string)
{
	__u32 count, i;
	const struct nvabi_version *rows = nvabi_versions(&count);

	for (i = 0; i < count; i++)
		if (strcmp(rows[i].string, string) == 0)
			return &rows[i];
	return NULL;
}

static inline __u32 nvabi_append(char *text, __u32 used, __u32 bytes, const char *from)
{
	while (*from && used + 1 < bytes)
		text[used++] = *from++;
	return used;
}

/* "535.261.03, 550.163.01, ..." into text; cut where bytes end, always terminated (bytes > 0). */
static inline void nvabi_version_list(char *text, __u32 bytes)
{
	__u32 count, i, used = 0;
	const struct nvabi_version *rows = nvabi_versions(&count);

	for (i = 0; i < count; i++) {
		used = nvabi_append(text, used, bytes, i ? ", " : "");
		used = nvabi_append(text, used, bytes, rows[i].string);
	}
	text[used] = '\0';
}

#endif /* NVABI_VERSIONS_H */
