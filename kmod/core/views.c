// SPDX-License-Identifier: GPL-2.0
/*
 * Replies rewritten for a tenant: see views.h. Layouts: open-gpu-kernel-modules 535.261.03,
 * src/common/sdk/nvidia/inc/ctrl/{ctrl0000/ctrl0000gpu.h,ctrl2080/ctrl2080{fb,gpu,perf}.h}, nvos.h.
 */
#include "core/views.h"
#include "nvabi/numbers.h"
#include "nvabi/structs.h"

#define NO_GPU_ID 0xffffffffu /* NV0000_CTRL_GPU_INVALID_ID */

/* ---- memory ---- */

u64 gsh_view_free_bytes(const struct gsh_view *view)
{
	if (view->charged_bytes >= view->quota_bytes)
		return 0;
	return GSH_MIN(view->quota_bytes - view->charged_bytes, view->card_free_bytes);
}

static u32 kib(u64 bytes)
{
	u64 value = bytes >> 10;

	return value > U32_MAX ? U32_MAX : (u32)value;
}

u32 gsh_view_fb_value(const struct gsh_view *view, u32 index, u32 driver_value)
{
	u32 quota = kib(view->quota_bytes);
	u32 free = kib(gsh_view_free_bytes(view));

	switch (index) {
	case NV_FB_INFO_RAM_SIZE:
	case NV_FB_INFO_TOTAL_RAM_SIZE:
	case NV_FB_INFO_HEAP_SIZE:
	case NV_FB_INFO_USABLE_RAM_SIZE:
		return quota;
	case NV_FB_INFO_HEAP_FREE: /* the driver's figure is the card's free, now */
	case NV_FB_INFO_LARGEST_FREE_SIZE:
	case NV_FB_INFO_PROTECTED_FREE:
		return GSH_MIN(free, driver_value);
	case NV_FB_INFO_MAPPABLE_HEAP_SIZE:
	case NV_FB_INFO_PROTECTED_TOTAL:
		return GSH_MIN(quota, driver_value);
	case NV_FB_INFO_FB_TAX_SIZE: /* CUDA adds it to the heap size */
	case NV_FB_INFO_RESERVED_HEAP_SIZE:
	case NV_FB_INFO_HEAP_OFFLINE_SIZE:
	case NV_FB_INFO_LARGEST_FREE_BASE: /* how the neighbours' memory lies */
		return 0;
	default:
		return driver_value;
	}
}

#define FB_PAIR_BYTES 8 /* index u32, value u32 */

int gsh_view_fb_info(const struct gsh_view *view, void *pairs, u32 count, u32 bytes)
{
	u32 i, off;

	count = GSH_MIN(count, bytes / FB_PAIR_BYTES);
	for (i = 0, off = 0; i < count; i++, off += FB_PAIR_BYTES)
		gsh_put32(pairs, off + 4,
			  gsh_view_fb_value(view, gsh_get32(pairs, off),
					    gsh_get32(pairs, off + 4)));
	return 0;
}

int gsh_view_fb_info_v2(const struct nvabi_version *v, const struct gsh_view *view, void *params,
			u32 bytes)
{
	if (bytes < v->fb_info_v2_bytes)
		return -EINVAL;
	return gsh_view_fb_info(view, (u8 *)params + 4, gsh_get32(params, 0),
				v->fb_info_v2_entries * FB_PAIR_BYTES);
}

#define REGION_BASE     0
#define REGION_LIMIT    8 /* inclusive */
#define REGION_RESERVED 16 /* bytes of it the driver keeps */
#define REGIONS_OFF     8

static u64 region_usable_bytes(const void *region)
{
	u64 base = gsh_get64(region, REGION_BASE);
	u64 limit = gsh_get64(region, REGION_LIMIT);
	u64 reserved = gsh_get64(region, REGION_RESERVED);

	if (limit < base || reserved > limit - base)
		return 0;
	return limit - base + 1 - reserved;
}

/* Regions that have nothing left of the quota vanish; the others close up. */
int gsh_view_fb_regions(const struct nvabi_version *v, const struct gsh_view *view, void *params,
			u32 bytes)
{
	u32 stride = v->fb_region_entry_bytes, count, i, kept = 0;
	u64 left = view->quota_bytes;
	u8 *regions = (u8 *)params + REGIONS_OFF;

	if (bytes < v->fb_region_bytes)
		return -EINVAL;
	count = GSH_MIN(gsh_get32(params, 0), v->fb_region_entries);
	for (i = 0; i < count; i++) {
		u8 *region = regions + i * stride;
		u64 shown = GSH_MIN(region_usable_bytes(region), left);

		if (!shown)
			continue;
		left -= shown;
		gsh_put64(region, REGION_LIMIT, gsh_get64(region, REGION_BASE) + shown - 1);
		gsh_put64(region, REGION_RESERVED, 0);
		memmove(regions + kept++ * stride, region, stride);
	}
	memset(regions + kept * stride, 0, (v->fb_region_entries - kept) * stride);
	gsh_put32(params, 0, kept);
	return 0;
}

/* What the driver left 0 stays 0: its allocating functions clear both fields. */
static void show_total_and_free(const struct gsh_view *view, void *arg, bool always)
{
	u64 total = gsh_get64(arg, NVOS32_OFF_TOTAL);
	u64 free = gsh_get64(arg, NVOS32_OFF_FREE);

	if (always || total)
		gsh_put64(arg, NVOS32_OFF_TOTAL, view->quota_bytes);
	if (free)
		gsh_put64(arg, NVOS32_OFF_FREE, GSH_MIN(gsh_view_free_bytes(view), free));
}

int gsh_view_vidheap(const struct gsh_view *view, void *arg, u32 bytes)
{
	bool info;

	if (bytes < NVOS32_SIZE)
		return -EINVAL;
	if (gsh_get32(arg, NVOS32_OFF_STATUS) != NV_OK)
		return 0;
	info = gsh_get32(arg, NVOS32_OFF_FUNCTION) == NVOS32_FUNCTION_INFO;
	show_total_and_free(view, arg, info);
	if (info) { /* largest free region: where and how much */
		gsh_put64(arg, NVOS32_OFF_INFO_OFFSET, 0);
		gsh_put64(arg, NVOS32_OFF_INFO_SIZE,
			  GSH_MIN(gsh_get64(arg, NVOS32_OFF_INFO_SIZE), gsh_view_free_bytes(view)));
	}
	return 0;
}

int gsh_view_heap_limit(const struct gsh_view *view, void *arg, u32 bytes)
{
	if (bytes < sizeof(struct nvos02_fd))
		return -EINVAL;
	if (gsh_get32(arg, offsetof(struct nvos02_fd, status)) == NV_OK)
		gsh_put64(arg, offsetof(struct nvos02_fd, limit),
			  view->quota_bytes ? view->quota_bytes - 1 : 0);
	return 0;
}

/* ---- own cards ---- */

int gsh_view_card_info(void *arg, u32 bytes, gsh_view_own_gpu own, void *ctx)
{
	u32 stride = sizeof(struct nv_card_info), count = bytes / stride, i, kept = 0;
	u8 *cards = arg;

	if (!count)
		return 0;
	for (i = 0; i < count; i++) {
		u8 *card = cards + i * stride;

		if (gsh_get8(card, 0) &&
		    own(ctx, gsh_get32(card, offsetof(struct nv_card_info, gpu_id))))
			memmove(cards + kept++ * stride, card, stride);
	}
	memset(cards + kept * stride, 0, (count - kept) * stride);
	return 0;
}

/* flags: one u32 a card beside the list, moving along; NULL: none. */
static void keep_own_ids(u8 *ids, u8 *flags, gsh_view_own_gpu own, void *ctx)
{
	u32 i, kept = 0;

	for (i = 0; i < NV_MAX_GPUS; i++) {
		u32 id = gsh_get32(ids, 4 * i);

		if (id == NO_GPU_ID || !own(ctx, id))
			continue;
		gsh_put32(ids, 4 * kept, id);
		if (flags)
			gsh_put32(flags, 4 * kept, gsh_get32(flags, 4 * i));
		kept++;
	}
	for (; kept < NV_MAX_GPUS; kept++) {
		gsh_put32(ids, 4 * kept, NO_GPU_ID);
		if (flags)
			gsh_put32(flags, 4 * kept, 0);
	}
}

#define ID_LIST_BYTES (4 * NV_MAX_GPUS)

int gsh_view_probed_ids(const struct nvabi_version *v, void *params, u32 bytes,
			gsh_view_own_gpu own, void *ctx)
{
	u8 *list = params;
	bool has_flags = v->probed_ids_bytes >= 3 * ID_LIST_BYTES;

	if (bytes < v->probed_ids_bytes)
		return -EINVAL;
	keep_own_ids(list, has_flags ? list + 2 * ID_LIST_BYTES : NULL, own, ctx);
	keep_own_ids(list + ID_LIST_BYTES, NULL, own, ctx); /* the excluded ones */
	return 0;
}

int gsh_view_attached_ids(void *params, u32 bytes, gsh_view_own_gpu own, void *ctx)
{
	if (bytes < ID_LIST_BYTES)
		return -EINVAL;
	keep_own_ids(params, NULL, own, ctx);
	return 0;
}

/* ---- own processes ---- */

#define PIDS_COUNT 8
#define PIDS_LIST  12
#define PIDS_MAX   950
#define PIDS_BYTES (PIDS_LIST + 4 * PIDS_MAX)

int gsh_view_pids(void *params, u32 bytes, gsh_view_pid to_reader, void *ctx)
{
	u8 *list = (u8 *)params + PIDS_LIST;
	u32 count, i, kept = 0;

	if (bytes < PIDS_BYTES)
		return -EINVAL;
	count = GSH_MIN(gsh_get32(params, PIDS_COUNT), (u32)PIDS_MAX);
	for (i = 0; i < count; i++) {
		u32 pid = to_reader(ctx, gsh_get32(list, 4 * i));

		if (pid)
			gsh_put32(list, 4 * kept++, pid);
	}
	memset(list + 4 * kept, 0, 4 * (PIDS_MAX - kept));
	gsh_put32(params, PIDS_COUNT, kept);
	return 0;
}

#define PID_INFO_LIST   8
#define PID_INFO_MAX    200
#define PID_INFO_STRIDE ((u32)sizeof(struct nv2080_pid_info))
#define PID_INFO_BYTES  (PID_INFO_LIST + PID_INFO_MAX * PID_INFO_STRIDE)
#define PID_INFO_DATA   16 /* figures, to the entry's end */
#define NOBODY \
	0x7fffffffu /* above every id the kernel gives out: the driver knows no such process */

static u32 pid_info_count(const void *params)
{
	return GSH_MIN(gsh_get32(params, 0), (u32)PID_INFO_MAX);
}

int gsh_view_pid_info_request(void *params, u32 bytes, gsh_view_pid to_kernel, void *ctx)
{
	u32 count, i;

	if (bytes < PID_INFO_BYTES)
		return -EINVAL;
	count = pid_info_count(params);
	for (i = 0; i < count; i++) {
		u32 off = PID_INFO_LIST + i * PID_INFO_STRIDE;
		u32 pid = to_kernel(ctx, gsh_get32(params, off));

		gsh_put32(params, off, pid ? pid : NOBODY);
	}
	return 0;
}

int gsh_view_pid_info_reply(void *params, const void *original, u32 bytes)
{
	u32 count, i;

	if (bytes < PID_INFO_BYTES)
		return -EINVAL;
	count = pid_info_count(params);
	for (i = 0; i < count; i++) {
		u8 *entry = (u8 *)params + PID_INFO_LIST + i * PID_INFO_STRIDE;

		if (gsh_get32(entry, 0) == NOBODY)
			memset(entry + PID_INFO_DATA, 0, PID_INFO_STRIDE - PID_INFO_DATA);
		gsh_put32(entry, 0, gsh_get32(original, PID_INFO_LIST + i * PID_INFO_STRIDE));
	}
	return 0;
}

#define GPUMON_SAMPLES    72
#define GPUMON_NO_PID     0xffffffffu
#define GPUMON_UTIL       0
#define GPUMON_SUB_PID    12
#define GPUMON_NAME       16
#define GPUMON_NAME_BYTES 100
#define GPUMON_KERNEL_PTR 120 /* where an engine's figures are that long */

static void show_engine(const struct nvabi_version *v, u8 *engine, gsh_view_pid to_reader,
			void *ctx)
{
	u32 pid = gsh_get32(engine, v->gpumon_pid_off);
	u32 shown;

	if (v->gpumon_engine_bytes >= GPUMON_KERNEL_PTR + 8)
		gsh_put64(engine, GPUMON_KERNEL_PTR, 0);
	if (pid == GPUMON_NO_PID || (pid == 0 && gsh_get32(engine, GPUMON_UTIL) == 0))
		return; /* nobody, or a slot never filled */
	shown = to_reader(ctx, pid);
	if (shown) {
		gsh_put32(engine, v->gpumon_pid_off, shown);
		return;
	}
	gsh_put32(engine, GPUMON_UTIL, 0);
	gsh_put32(engine, v->gpumon_pid_off, GPUMON_NO_PID);
	gsh_put32(engine, GPUMON_SUB_PID, GPUMON_NO_PID);
	memset(engine + GPUMON_NAME, 0, GPUMON_NAME_BYTES);
}

int gsh_view_gpumon(const struct nvabi_version *v, void *params, u32 bytes, gsh_view_pid to_reader,
		    void *ctx)
{
	u32 i, engine;

	if (bytes < v->gpumon_bytes)
		return -EINVAL;
	for (i = 0; i < GPUMON_SAMPLES; i++) {
		u8 *sample = (u8 *)params + v->gpumon_samples_off + i * v->gpumon_stride;

		for (engine = 0; engine < v->gpumon_engines; engine++)
			show_engine(v,
				    sample + v->gpumon_engine_off + engine * v->gpumon_engine_bytes,
				    to_reader, ctx);
	}
	return 0;
}
