/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replies rewritten for a tenant, on kernel copies, before they are copied out
 * once. All figures agree: total = quota, free = min(max(0, quota - charged),
 * the card's free), own processes, own cards. What a function does not name stays as
 * the driver wrote it, byte for byte.
 *
 * bytes is the length of the buffer; a count inside the reply that says more
 * is cut to what fits. -EINVAL: the buffer is too short for the reply's
 * fixed part; nothing was changed and the reply must not go out.
 */
#ifndef GSH_CORE_VIEWS_H
#define GSH_CORE_VIEWS_H

#include "core/types.h"
#include "nvabi/versions.h"

struct gsh_view {
	u64 quota_bytes;
	u64 charged_bytes;
	u64 card_free_bytes; /* U64_MAX when not known: the quota alone decides */
};

u64 gsh_view_free_bytes(const struct gsh_view *view);

/* One (index, KiB) pair: the value to show in place of the driver's. */
u32 gsh_view_fb_value(const struct gsh_view *view, u32 index, u32 driver_value);

/* 0x20801301: count pairs in a buffer of their own. */
int gsh_view_fb_info(const struct gsh_view *view, void *pairs, u32 count, u32 bytes);

/* 0x20801303: the whole params block. */
int gsh_view_fb_info_v2(const struct nvabi_version *v, const struct gsh_view *view, void *params,
			u32 bytes);

/*
 * 0x20801320: what is usable of each region, up to the quota in all; nothing reads as reserved,
 * and regions of which nothing is left are not listed.
 */
int gsh_view_fb_regions(const struct nvabi_version *v, const struct gsh_view *view, void *params,
			u32 bytes);

/*
 * Escape 0x4a, any function that succeeded: total and free, where the driver filled them; for
 * INFO the largest free region too.
 */
int gsh_view_vidheap(const struct gsh_view *view, void *arg, u32 bytes);

/* Escape 0x27, class 0x40, when it succeeded: limit = quota - 1. */
int gsh_view_heap_limit(const struct gsh_view *view, void *arg, u32 bytes);

/* ---- own cards ---- */

typedef bool (*gsh_view_own_gpu)(void *ctx, u32 gpu_id);

/* Escape 200: own cards move to the front, the rest of the array reads as an empty slot. */
int gsh_view_card_info(void *arg, u32 bytes, gsh_view_own_gpu own, void *ctx);

/* 0x214 (both lists) and 0x201: own ids move to the front, the rest is 0xffffffff. */
int gsh_view_probed_ids(const struct nvabi_version *v, void *params, u32 bytes,
			gsh_view_own_gpu own, void *ctx);
int gsh_view_attached_ids(void *params, u32 bytes, gsh_view_own_gpu own, void *ctx);

/* ---- own processes ---- */

/* Process id in the other world (reader's namespace or the kernel's own), 0: not to be seen. */
typedef u32 (*gsh_view_pid)(void *ctx, u32 pid);

/* 0x2080018d reply: ids as the kernel knows them become the reader's; the tail is zeroed. */
int gsh_view_pids(void *params, u32 bytes, gsh_view_pid to_reader, void *ctx);

/*
 * 0x2080018e. Request: the reader's ids become the kernel's, unseen ones an id no process has,
 * so that the driver's own answer to an unknown process is what the reader gets.
 * Reply: ids of the request return; an unseen one has no figures. original: the block as it came
 * from the reader.
 */
int gsh_view_pid_info_request(void *params, u32 bytes, gsh_view_pid to_kernel, void *ctx);
int gsh_view_pid_info_reply(void *params, const void *original, u32 bytes);

/* 0x20802096 reply: samples' process ids; a foreign process' figures read as no sample. */
int gsh_view_gpumon(const struct nvabi_version *v, void *params, u32 bytes, gsh_view_pid to_reader,
		    void *ctx);

#endif /* GSH_CORE_VIEWS_H */
