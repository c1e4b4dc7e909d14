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
	bool checks_ioctl_sizes; /* number and size against a table first, from 595.44.02 */
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
	__u16 name_string_bytes; /* GPU_GET_NAME_STRING: text from 4 */
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
	bool uvm_has_system_wide_atomics; /* until 590 */
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
	.name_string_bytes = 132,					\
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
	.uvm_processor_table_status_off = 12,				\
	.uvm_has_system_wide_atomics = true

/* Older ones, as edits of a younger parent: */
#define NVABI_535_86_05							\
	NVABI_535_261_03,						\
	.host_vgpu_alloc_bytes = 1656

#define NVABI_535_54_03							\
	NVABI_535_86_05,						\
	.channel_alloc_bytes = 304

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

#define NVABI_550_54_14							\
	NVABI_550_163_01,						\
	.host_vgpu_alloc_bytes = 1664

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

#define NVABI_580_126_20						\
	NVABI_570_211_01,						\
	.branch = 580,							\
	.alloc_is_nvos64 = true,					\
	.rm_op_bytes = 72,						\
	.map_dma_bytes = 64,						\
	.map_dma_address_off = 48,					\
	.map_dma_status_off = 56,					\
	.vaspace_alloc_bytes = 56,					\
	.host_vgpu_alloc_bytes = 88,					\
	.fb_info_v2_bytes = 1028,					\
	.fb_info_v2_entries = 128,					\
	.fb_region_bytes = 904,						\
	.fb_region_entry_bytes = 56,					\
	.probed_ids_bytes = 384,					\
	.gpu_info_v2_bytes = 564,					\
	.classlist_v2_bytes = 804,					\
	.gpfifo_schedule_bytes = 3,					\
	.uvm_has_discard = true

#define NVABI_595_45_04							\
	NVABI_580_126_20,						\
	.branch = 595,							\
	.open_gpu_has_bool = true,					\
	.checks_ioctl_sizes = true,					\
	.p2p_alloc_bytes = 88,						\
	.name_string_bytes = 68,					\
	.uvm_free_bytes = 16,						\
	.uvm_free_length_off = 0,					\
	.uvm_free_status_off = 8,					\
	.uvm_unregister_channel_bytes = 12,				\
	.uvm_unregister_channel_client_off = 0,				\
	.uvm_unregister_channel_status_off = 8,				\
	.uvm_has_system_wide_atomics = false
/* clang-format on */

static inline const struct nvabi_version *nvabi_versions(__u32 *count)
{
	/* Sorted; the releases of five branches. One line each, what is equal named by the row it equals. */
	/* clang-format off */
	static const struct nvabi_version rows[] = {
#ifndef __CHECKER__ /* sparse cannot be told that an edit is meant */
		{ .string = "535.54.03", NVABI_535_54_03 },
		{ .string = "535.86.05", NVABI_535_86_05 },
		{ .string = "535.86.10", NVABI_535_86_05 },
		{ .string = "535.98", NVABI_535_86_05 },
		{ .string = "535.104.05", NVABI_535_86_05 },
		{ .string = "535.104.12", NVABI_535_86_05 },
		{ .string = "535.113.01", NVABI_535_86_05 },
		{ .string = "535.129.03", NVABI_535_86_05 },
		{ .string = "535.146.02", NVABI_535_86_05 },
		{ .string = "535.154.05", NVABI_535_86_05 },
		{ .string = "535.161.07", NVABI_535_86_05 },
		{ .string = "535.161.08", NVABI_535_86_05 },
		{ .string = "535.171.04", NVABI_535_86_05 },
		{ .string = "535.179", NVABI_535_86_05 },
		{ .string = "535.183.01", NVABI_535_86_05 },
		{ .string = "535.183.06", NVABI_535_86_05 },
		{ .string = "535.216.01", NVABI_535_261_03 },
		{ .string = "535.216.03", NVABI_535_261_03 },
		{ .string = "535.230.02", NVABI_535_261_03 },
		{ .string = "535.247.01", NVABI_535_261_03 },
#endif
		{ .string = "535.261.03", NVABI_535_261_03, .verified = true },
#ifndef __CHECKER__
		{ .string = "535.274.02", NVABI_535_261_03 },
		{ .string = "535.288.01", NVABI_535_261_03 },
		{ .string = "550.54.14", NVABI_550_54_14 },
		{ .string = "550.54.15", NVABI_550_54_14 },
		{ .string = "550.67", NVABI_550_54_14 },
		{ .string = "550.76", NVABI_550_54_14 },
		{ .string = "550.78", NVABI_550_54_14 },
		{ .string = "550.90.07", NVABI_550_163_01 },
		{ .string = "550.90.12", NVABI_550_163_01 },
		{ .string = "550.100", NVABI_550_163_01 },
		{ .string = "550.107.02", NVABI_550_163_01 },
		{ .string = "550.120", NVABI_550_163_01 },
		{ .string = "550.127.05", NVABI_550_163_01 },
		{ .string = "550.127.08", NVABI_550_163_01 },
		{ .string = "550.135", NVABI_550_163_01 },
		{ .string = "550.142", NVABI_550_163_01 },
		{ .string = "550.144.03", NVABI_550_163_01 },
		{ .string = "550.163.01", NVABI_550_163_01, .verified = true },
		{ .string = "570.86.15", NVABI_570_211_01 },
		{ .string = "570.86.16", NVABI_570_211_01 },
		{ .string = "570.124.04", NVABI_570_211_01 },
		{ .string = "570.124.06", NVABI_570_211_01 },
		{ .string = "570.133.07", NVABI_570_211_01 },
		{ .string = "570.133.20", NVABI_570_211_01 },
		{ .string = "570.144", NVABI_570_211_01 },
		{ .string = "570.148.08", NVABI_570_211_01 },
		{ .string = "570.153.02", NVABI_570_211_01 },
		{ .string = "570.158.01", NVABI_570_211_01 },
		{ .string = "570.169", NVABI_570_211_01 },
		{ .string = "570.172.08", NVABI_570_211_01 },
		{ .string = "570.181", NVABI_570_211_01 },
		{ .string = "570.190", NVABI_570_211_01 },
		{ .string = "570.195.03", NVABI_570_211_01 },
		{ .string = "570.207", NVABI_570_211_01 },
		{ .string = "570.211.01", NVABI_570_211_01 },
		{ .string = "580.65.06", NVABI_580_126_20 },
		{ .string = "580.76.05", NVABI_580_126_20 },
		{ .string = "580.82.07", NVABI_580_126_20 },
		{ .string = "580.82.09", NVABI_580_126_20 },
		{ .string = "580.95.05", NVABI_580_126_20 },
		{ .string = "580.105.08", NVABI_580_126_20 },
		{ .string = "580.119.02", NVABI_580_126_20 },
		{ .string = "580.126.09", NVABI_580_126_20 },
		{ .string = "580.126.16", NVABI_580_126_20 },
		{ .string = "580.126.18", NVABI_580_126_20 },
		{ .string = "580.126.20", NVABI_580_126_20 },
		{ .string = "580.142", NVABI_580_126_20 },
		{ .string = "595.44.02", NVABI_595_45_04 },
		{ .string = "595.44.03", NVABI_595_45_04 },
		{ .string = "595.45.04", NVABI_595_45_04 },
#endif
	};
	/* clang-format on */

	*count = sizeof(rows) / sizeof(rows[0]);
	return rows;
}

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* Exact match or NULL: a driver nobody has checked is refused, by name (nvabi_version_nearest). */
static inline const struct nvabi_version *nvabi_version_find(const char *string)
{
	__u32 count, i;
	const struct nvabi_version *rows = nvabi_versions(&count);

	for (i = 0; i < count; i++)
		if (strcmp(rows[i].string, string) == 0)
			return &rows[i];
	return NULL;
}

#define NVABI_VERSION_PARTS 3
#define NVABI_VERSION_DIGITS 6 /* of one part; more is no version of a driver */

/* "535.261.03" to its numbers, a missing one is 0. false: anything else, such as "N/A". */
static inline bool nvabi_version_parse(const char *string, __u32 part[NVABI_VERSION_PARTS])
{
	__u32 i, digits;

	memset(part, 0, NVABI_VERSION_PARTS * sizeof(*part));
	for (i = 0; i < NVABI_VERSION_PARTS; i++) {
		for (digits = 0; *string >= '0' && *string <= '9'; digits++)
			part[i] = part[i] * 10 + (__u32)(*string++ - '0');
		if (!digits || digits > NVABI_VERSION_DIGITS)
			return false;
		if (*string == '\0')
			return true;
		if (*string++ != '.')
			return false;
	}
	return false;
}

/* Below 0, 0 or above 0, number by number: 595.8 comes before 595.71. */
static inline int nvabi_version_compare(const __u32 a[NVABI_VERSION_PARTS],
					const __u32 b[NVABI_VERSION_PARTS])
{
	__u32 i;

	for (i = 0; i < NVABI_VERSION_PARTS; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static inline __u32 nvabi_append(char *text, __u32 used, __u32 bytes, const char *from)
{
	while (*from && used + 1 < bytes)
		text[used++] = *from++;
	return used;
}

/*
 * The supported ones next to an unsupported one, "570.211.01 or 580.65.06", or the only one there is
 * on its side; the oldest and the newest when it is no version. Cut where bytes end, always
 * terminated (bytes > 0).
 */
static inline void nvabi_version_nearest(const char *string, char *text, __u32 bytes)
{
	__u32 count, i, used, part[NVABI_VERSION_PARTS], other[NVABI_VERSION_PARTS];
	const struct nvabi_version *rows = nvabi_versions(&count), *below = NULL, *above = NULL;
	bool known = nvabi_version_parse(string, part);

	for (i = 0; known && i < count; i++) {
		if (!nvabi_version_parse(rows[i].string, other))
			continue;
		if (nvabi_version_compare(other, part) <= 0)
			below = &rows[i];
		else if (!above)
			above = &rows[i];
	}
	if (!known) {
		below = &rows[0];
		above = &rows[count - 1];
	}
	used = nvabi_append(text, 0, bytes, below ? below->string : "");
	if (below && above)
		used = nvabi_append(text, used, bytes, known ? " or " : " to ");
	used = nvabi_append(text, used, bytes, above ? above->string : "");
	text[used] = '\0';
}

#endif /* NVABI_VERSIONS_H */
