// SPDX-License-Identifier: GPL-2.0
/* Replies show the share as the card, and touch nothing else. */
#include <linux/module.h>
#include <linux/sizes.h>

#include "core/views.h"
#include "kunit/kunit.h"
#include "nvabi/numbers.h"
#include "nvabi/structs.h"

#define QUOTA   (3072ULL * SZ_1M)
#define CHARGED (500ULL * SZ_1M)
#define KIB(x)  ((u32)((x) >> 10))

static const struct gsh_view share = { QUOTA, CHARGED, 70ULL * SZ_1G };

static u32 word(const void *block, u32 off)
{
	return gsh_get32(block, off);
}

/* ---- sizes ---- */

static void size_items_read_the_quota(struct kunit *test)
{
	static const struct {
		u32 index, driver, shown;
	} rows[] = {
		{ NV_FB_INFO_RAM_SIZE, 80u << 20, KIB(QUOTA) },
		{ NV_FB_INFO_TOTAL_RAM_SIZE, 80u << 20, KIB(QUOTA) },
		{ NV_FB_INFO_HEAP_SIZE, 80u << 20, KIB(QUOTA) },
		{ NV_FB_INFO_HEAP_FREE, 80u << 20, KIB(QUOTA - CHARGED) },
		{ NV_FB_INFO_HEAP_FREE, 17, 17 },
		{ NV_FB_INFO_LARGEST_FREE_SIZE, 80u << 20, KIB(QUOTA - CHARGED) },
		{ NV_FB_INFO_MAPPABLE_HEAP_SIZE, 4, 4 },
		{ NV_FB_INFO_FB_TAX_SIZE, 99, 0 },
		{ NV_FB_INFO_LARGEST_FREE_BASE, 99, 0 },
		{ 0x1e, 0xdeadbeef, 0xdeadbeef },
		{ U32_MAX, 5, 5 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, gsh_view_fb_value(&share, rows[i].index, rows[i].driver),
				    rows[i].shown, "index %#x", rows[i].index);
}

static void free_is_never_more_than_there_is(struct kunit *test)
{
	static const struct {
		u64 quota, charged, card, free;
	} rows[] = {
		{ 10, 4, U64_MAX, 6 },  { 10, 4, 5, 5 },      { 10, 10, U64_MAX, 0 },
		{ 10, 11, U64_MAX, 0 }, { 0, 0, U64_MAX, 0 }, { U64_MAX, 0, U64_MAX, U64_MAX },
		{ 10, U64_MAX, 5, 0 },  { U64_MAX, 1, 3, 3 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gsh_view view = { rows[i].quota, rows[i].charged, rows[i].card };

		KUNIT_EXPECT_EQ(test, gsh_view_free_bytes(&view), rows[i].free);
	}
}

static void a_list_longer_than_the_format_stays_inside(struct kunit *test)
{
	const struct nvabi_version *v = test->param_value;
	u32 bytes = v->fb_info_v2_bytes, i;
	u8 *params = gsh_block(test, bytes);

	gsh_put32(params, 0, U32_MAX);
	for (i = 0; i < v->fb_info_v2_entries; i++)
		gsh_put32(params, 4 + 8 * i, NV_FB_INFO_RAM_SIZE);
	KUNIT_EXPECT_EQ(test, gsh_view_fb_info_v2(v, &share, params, bytes - 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, word(params, 8), 0);
	KUNIT_EXPECT_EQ(test, gsh_view_fb_info_v2(v, &share, params, bytes), 0);
	for (i = 0; i < v->fb_info_v2_entries; i++)
		KUNIT_EXPECT_EQ(test, word(params, 8 + 8 * i), KIB(QUOTA));
	kfree(params);
}

static u64 regions_sum(const struct nvabi_version *v, const u8 *params)
{
	u32 i, count = word(params, 0);
	u64 sum = 0;

	for (i = 0; i < count; i++) {
		const u8 *region = params + 8 + i * v->fb_region_entry_bytes;

		sum += gsh_get64(region, 8) - gsh_get64(region, 0) + 1;
	}
	return sum;
}

static void regions_sum_to_the_quota_at_most(struct kunit *test)
{
	const struct nvabi_version *v = test->param_value;
	u8 *params = gsh_block(test, v->fb_region_bytes);
	u64 state = 6, at;
	u32 round, i;

	KUNIT_EXPECT_EQ(test, gsh_view_fb_regions(v, &share, params, v->fb_region_bytes - 1),
			-EINVAL);
	for (round = 0; round < 500; round++) {
		gsh_random_fill(&state, params, v->fb_region_bytes);
		if (round & 1) { /* a list as the driver makes it */
			gsh_put32(params, 0, v->fb_region_entries);
			for (i = 0, at = 0; i < v->fb_region_entries; i++, at += SZ_1G) {
				u8 *region = params + 8 + i * v->fb_region_entry_bytes;

				gsh_put64(region, 0, at);
				gsh_put64(region, 8, at + SZ_512M);
				gsh_put64(region, 16, gsh_random(&state) % SZ_1G);
			}
		}
		KUNIT_EXPECT_EQ(test, gsh_view_fb_regions(v, &share, params, v->fb_region_bytes),
				0);
		KUNIT_EXPECT_LE(test, word(params, 0), (u32)v->fb_region_entries);
		KUNIT_EXPECT_LE(test, regions_sum(v, params), QUOTA);
	}
	kfree(params);
}

static void a_heap_call_shows_quota_and_free(struct kunit *test)
{
	u8 *arg = gsh_block(test, NVOS32_SIZE);

	gsh_put32(arg, NVOS32_OFF_FUNCTION, NVOS32_FUNCTION_INFO);
	gsh_put64(arg, NVOS32_OFF_TOTAL, 80ULL * SZ_1G);
	gsh_put64(arg, NVOS32_OFF_FREE, 79ULL * SZ_1G);
	KUNIT_EXPECT_EQ(test, gsh_view_vidheap(&share, arg, NVOS32_SIZE - 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, gsh_get64(arg, NVOS32_OFF_TOTAL), 80ULL * SZ_1G);
	KUNIT_EXPECT_EQ(test, gsh_view_vidheap(&share, arg, NVOS32_SIZE), 0);
	KUNIT_EXPECT_EQ(test, gsh_get64(arg, NVOS32_OFF_TOTAL), QUOTA);
	KUNIT_EXPECT_EQ(test, gsh_get64(arg, NVOS32_OFF_FREE), QUOTA - CHARGED);
	kfree(arg);
}

/* ---- own cards ---- */

static bool is_even(void *ctx, u32 id)
{
	return !(id & 1);
}

static void foreign_cards_vanish(struct kunit *test)
{
	const struct nvabi_version *v = test->param_value;
	u8 *ids = gsh_block(test, v->probed_ids_bytes);
	u32 i;

	for (i = 0; i < v->probed_ids_bytes / 4; i++)
		gsh_put32(ids, 4 * i, 100 + i);
	KUNIT_EXPECT_EQ(test, gsh_view_probed_ids(v, ids, v->probed_ids_bytes - 1, is_even, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, gsh_view_probed_ids(v, ids, v->probed_ids_bytes, is_even, NULL), 0);
	for (i = 0; i < NV_MAX_GPUS; i++) {
		u32 id = word(ids, 4 * i);

		KUNIT_EXPECT_EQ(test, id, i < NV_MAX_GPUS / 2 ? 100 + 2 * i : U32_MAX);
	}
	kfree(ids);
}

static void card_slots_close_up(struct kunit *test)
{
	const u32 bytes = NV_MAX_GPUS * sizeof(struct nv_card_info);
	struct nv_card_info *cards = (void *)gsh_block(test, bytes);
	u32 i;

	for (i = 0; i < NV_MAX_GPUS; i++)
		cards[i] = (struct nv_card_info){ .valid = 1, .gpu_id = i, .minor_number = i };
	KUNIT_EXPECT_EQ(test, gsh_view_card_info(cards, bytes - 1, is_even, NULL), 0);
	for (i = 0; i < NV_MAX_GPUS - 1; i++) {
		KUNIT_EXPECT_EQ(test, cards[i].valid, i < NV_MAX_GPUS / 2);
		KUNIT_EXPECT_EQ(test, cards[i].gpu_id, i < NV_MAX_GPUS / 2 ? 2 * i : 0);
	}
	kfree(cards);
}

/* ---- own processes ---- */

static u32 above_1000(void *ctx, u32 pid)
{
	return pid > 1000 ? pid - 1000 : 0;
}

#define PIDS_BYTES (12 + 4 * 950)

static void foreign_processes_vanish(struct kunit *test)
{
	u8 *params = gsh_block(test, PIDS_BYTES);
	u32 i;

	for (i = 0; i < 950; i++)
		gsh_put32(params, 12 + 4 * i, i & 1 ? 2000 + i : 7);
	gsh_put32(params, 8, U32_MAX);
	KUNIT_EXPECT_EQ(test, gsh_view_pids(params, PIDS_BYTES - 1, above_1000, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, gsh_view_pids(params, PIDS_BYTES, above_1000, NULL), 0);
	KUNIT_EXPECT_EQ(test, word(params, 8), 475);
	for (i = 0; i < 950; i++)
		KUNIT_EXPECT_EQ(test, word(params, 12 + 4 * i), i < 475 ? 1001 + 2 * i : 0);
	kfree(params);
}

/* No number of a foreign process is left, wherever it stood. */
static void samples_of_others_are_nobodys(struct kunit *test)
{
	const struct nvabi_version *v = test->param_value;
	u8 *params = gsh_block(test, v->gpumon_bytes);
	u32 i, e, pid;
	u64 state = 8;

	gsh_random_fill(&state, params, v->gpumon_bytes);
	KUNIT_EXPECT_EQ(test, gsh_view_gpumon(v, params, v->gpumon_bytes - 1, above_1000, NULL),
			-EINVAL);
	for (i = 0; i < 72; i++)
		for (e = 0; e < v->gpumon_engines; e++)
			gsh_put32(params,
				  v->gpumon_samples_off + i * v->gpumon_stride +
					  v->gpumon_engine_off + e * v->gpumon_engine_bytes +
					  v->gpumon_pid_off,
				  e & 1 ? 5 : 1500);
	KUNIT_EXPECT_EQ(test, gsh_view_gpumon(v, params, v->gpumon_bytes, above_1000, NULL), 0);
	for (i = 0; i < 72; i++)
		for (e = 0; e < v->gpumon_engines; e++) {
			pid = word(params, v->gpumon_samples_off + i * v->gpumon_stride +
						   v->gpumon_engine_off +
						   e * v->gpumon_engine_bytes + v->gpumon_pid_off);
			KUNIT_EXPECT_EQ(test, pid, e & 1 ? U32_MAX : 500);
		}
	kfree(params);
}

static struct kunit_case cases[] = { KUNIT_CASE(size_items_read_the_quota),
				     KUNIT_CASE(free_is_never_more_than_there_is),
				     GSH_CASE_EACH_VERSION(
					     a_list_longer_than_the_format_stays_inside),
				     GSH_CASE_EACH_VERSION(regions_sum_to_the_quota_at_most),
				     KUNIT_CASE(a_heap_call_shows_quota_and_free),
				     GSH_CASE_EACH_VERSION(foreign_cards_vanish),
				     KUNIT_CASE(card_slots_close_up),
				     KUNIT_CASE(foreign_processes_vanish),
				     GSH_CASE_EACH_VERSION(samples_of_others_are_nobodys),
				     {} };

static struct kunit_suite suite = { .name = "gpushare_views", .test_cases = cases };
kunit_test_suite(suite);
