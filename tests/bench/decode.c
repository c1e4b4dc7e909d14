// SPDX-License-Identifier: GPL-2.0-only
/*
 * What reading and judging one call costs, natively: the common ones, with their second stage.
 * Prints "NAME NANOSECONDS" once a case and run; the caller takes medians.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/books.h"
#include "core/decode.h"
#include "core/filter.h"
#include "core/views.h"

#define ARG_BYTES 9264

static const struct nvabi_version *v;
static u8 arg[ARG_BYTES];
static u8 params[4096];
static volatile u64 sink; /* keeps the work */

static void put32(u8 *base, u32 off, u32 value)
{
	gsh_put32(base, off, value);
}

static void prepare_alloc(void)
{
	put32(arg, 12, 0x40);
	gsh_put64(arg, 16, 0x1000);
	gsh_put64(params, 64, 300ULL << 20);
}

static void run_alloc(void)
{
	struct gsh_request req;
	struct gsh_verdict verdict;
	u64 lower, upper;

	if (gsh_decode(v, 0x2b, GSH_NODE_CTL, arg, 32, &req))
		abort();
	verdict = gsh_filter_escape(v, req.nr);
	verdict = gsh_filter_class(v, req.h_class);
	gsh_decode_alloc_params(v, &req, params, req.params_bytes);
	gsh_memory_bounds(req.memory.size_bytes, req.memory.attr, req.memory.attr2, &lower, &upper);
	sink += upper + verdict.action;
}

static void prepare_channel(void)
{
	put32(arg, 12, 0xc56f);
	gsh_put64(arg, 16, 0x1000);
}

static void run_channel(void)
{
	struct gsh_request req;

	if (gsh_decode(v, 0x2b, GSH_NODE_CTL, arg, 48, &req))
		abort();
	sink += gsh_filter_class(v, req.h_class).action;
	gsh_decode_alloc_params(v, &req, params, req.params_bytes);
	sink += req.engine_type;
}

static void prepare_heap(void)
{
	put32(arg, 8, 2);
	gsh_put64(arg, 88, 300ULL << 20);
}

static void run_heap(void)
{
	struct gsh_request req;
	u64 lower, upper;

	if (gsh_decode(v, 0x4a, GSH_NODE_CTL, arg, 184, &req))
		abort();
	sink += gsh_filter_escape(v, req.nr).action;
	gsh_memory_bounds(req.memory.size_bytes, req.memory.attr, req.memory.attr2, &lower, &upper);
	sink += upper;
}

static void prepare_control(u32 cmd, u32 bytes)
{
	put32(arg, 8, cmd);
	gsh_put64(arg, 16, 0x1000);
	put32(arg, 24, bytes);
}

static void run_control(void)
{
	struct gsh_request req;
	struct gsh_verdict verdict;

	if (gsh_decode(v, 0x2a, GSH_NODE_CTL, arg, 32, &req))
		abort();
	verdict = gsh_filter_control(v, req.cmd, req.flags);
	gsh_decode_control_params(v, &req, params, req.params_bytes);
	sink += verdict.action + req.params_bytes;
}

static void prepare_fb_info(void)
{
	prepare_control(0x20801303, 436);
}

static void prepare_unlisted(void)
{
	prepare_control(0x20801702, 8);
}

static void prepare_embedded(void)
{
	prepare_control(0x101, 40);
	put32(params, 0, 64);
	gsh_put64(params, 8, 0x1000);
	gsh_put64(params, 16, 0x2000);
	gsh_put64(params, 24, 0x3000);
}

static void run_embedded(void)
{
	const struct nvabi_embedded *row[NVABI_EMBEDDED_MAX];
	u32 count, bytes, i;
	u64 pointer;

	run_control();
	count = nvabi_embedded_find(v, 0x101, row);
	for (i = 0; i < count; i++) {
		if (gsh_embedded_bytes(row[i], params, 40, &pointer, &bytes))
			abort();
		sink += bytes;
	}
}

static void prepare_nothing(void)
{
}

static void run_free(void)
{
	struct gsh_request req;

	if (gsh_decode(v, 0x29, GSH_NODE_CTL, arg, 16, &req))
		abort();
	sink += gsh_filter_escape(v, req.nr).action;
}

static void run_map(void)
{
	struct gsh_request req;

	if (gsh_decode(v, 0x4e, GSH_NODE_CTL, arg, 56, &req))
		abort();
	sink += gsh_filter_escape(v, req.nr).action;
}

static void run_uvm_map(void)
{
	struct gsh_uvm_request req;

	if (gsh_decode_uvm(v, 0x21, arg, v->uvm_map_external_bytes, &req))
		abort();
	sink += gsh_filter_uvm(v, 0x21).action + req.bytes;
}

static void run_account(void)
{
	static struct gsh_account account = { .quota_bytes = 1ULL << 40 };

	if (gsh_account_reserve(&account, 2 << 20))
		abort();
	gsh_account_settle(&account, GSH_CHARGE_OBJECT, 2 << 20, 2 << 20);
	gsh_account_release(&account, GSH_CHARGE_OBJECT, 2 << 20);
	sink += account.charged_bytes;
}

static void prepare_view(void)
{
	u32 i;

	put32(params, 0, 54);
	for (i = 0; i < 54; i++)
		put32(params, 4 + 8 * i, i);
}

static void run_view(void)
{
	static const struct gsh_view view = { 8ULL << 30, 1ULL << 30, 70ULL << 30 };

	if (gsh_view_fb_info_v2(v, &view, params, v->fb_info_v2_bytes))
		abort();
	sink += params[8];
}

static const struct {
	const char *name;
	void (*prepare)(void);
	void (*run)(void);
} cases[] = {
	{ "alloc-vidmem", prepare_alloc, run_alloc },
	{ "alloc-channel", prepare_channel, run_channel },
	{ "vidheap-alloc", prepare_heap, run_heap },
	{ "control-fb-info", prepare_fb_info, run_control },
	{ "control-unlisted", prepare_unlisted, run_control },
	{ "control-three-pointers", prepare_embedded, run_embedded },
	{ "free", prepare_nothing, run_free },
	{ "map-memory", prepare_nothing, run_map },
	{ "uvm-map-external", prepare_nothing, run_uvm_map },
	{ "account-round", prepare_nothing, run_account },
	{ "view-fb-info-54", prepare_view, run_view },
};

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* what others do meanwhile is not ours */
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

int main(int argc, char **argv)
{
	u32 runs = argc > 2 ? (u32)atoi(argv[1]) : 21;
	u32 calls = argc > 2 ? (u32)atoi(argv[2]) : 100000, i, r, n;

	v = nvabi_version_find("535.261.03");
	for (i = 0; i < GSH_ARRAY_SIZE(cases); i++) {
		memset(arg, 0, sizeof(arg));
		memset(params, 0, sizeof(params));
		cases[i].prepare();
		for (r = 0; r < runs; r++) {
			u64 start = now_ns();

			for (n = 0; n < calls; n++)
				cases[i].run();
			printf("%s %.2f\n", cases[i].name, (double)(now_ns() - start) / calls);
		}
	}
	return 0;
}
