// SPDX-License-Identifier: GPL-2.0
/* Accounts never pass a quota by permission, never wrap, and always add up. */
#include <linux/module.h>
#include <linux/sizes.h>

#include "core/books.h"
#include "kunit/books_soak.h"
#include "kunit/kunit.h"

#define OBJECT  GSH_CHARGE_OBJECT
#define MANAGED GSH_CHARGE_MANAGED

static void expect_sum(struct kunit *test, const struct gsh_account *account)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < GSH_CHARGE_KINDS; i++)
		sum += account->by_kind_bytes[i];
	KUNIT_EXPECT_EQ(test, account->charged_bytes, sum);
	KUNIT_EXPECT_GE(test, account->peak_bytes, account->charged_bytes);
}

static void reserve_up_to_the_quota(struct kunit *test)
{
	struct gsh_account account;

	gsh_account_init(&account, SZ_512M);
	KUNIT_EXPECT_EQ(test, gsh_account_reserve(&account, 300 * SZ_1M), 0);
	KUNIT_EXPECT_EQ(test, gsh_account_reserve(&account, 212 * SZ_1M + 1), -EDQUOT);
	KUNIT_EXPECT_EQ(test, gsh_account_reserve(&account, 212 * SZ_1M), 0);
	KUNIT_EXPECT_EQ(test, gsh_account_reserve(&account, 1), -EDQUOT);
	KUNIT_EXPECT_EQ(test, gsh_account_reserve(&account, U64_MAX), -EDQUOT);
	KUNIT_EXPECT_EQ(test, account.refusals, 3);
	KUNIT_EXPECT_EQ(test, account.reserved_bytes, (u64)SZ_512M);
}

static void settle_charges_the_true_size(struct kunit *test)
{
	static const struct {
		u64 reserved, actual;
		bool within;
	} rows[] = {
		{ SZ_8M, SZ_8M, true },  { SZ_8M, SZ_4M, true },       { SZ_8M, 0, true },
		{ SZ_8M, SZ_16M, true }, { SZ_8M, SZ_16M + 1, false }, { SZ_8M, U64_MAX, false },
	};
	struct gsh_account account;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		gsh_account_init(&account, SZ_16M);
		KUNIT_EXPECT_EQ(test, gsh_account_reserve(&account, rows[i].reserved), 0);
		KUNIT_EXPECT_EQ(test,
				gsh_account_settle(&account, OBJECT, rows[i].reserved,
						   rows[i].actual),
				rows[i].within);
		KUNIT_EXPECT_EQ(test, account.reserved_bytes, 0);
		KUNIT_EXPECT_EQ(test, account.charged_bytes, rows[i].actual);
		KUNIT_EXPECT_EQ(test, gsh_account_over(&account), !rows[i].within);
		KUNIT_EXPECT_EQ(test, gsh_account_fits(&account, 0), rows[i].within);
		expect_sum(test, &account);
	}
}

static void a_release_takes_no_more_than_there_is(struct kunit *test)
{
	struct gsh_account account;

	gsh_account_init(&account, SZ_1G);
	gsh_account_charge(&account, OBJECT, 100);
	gsh_account_charge(&account, MANAGED, 50);
	KUNIT_EXPECT_EQ(test, gsh_account_release(&account, OBJECT, 100), 100);
	KUNIT_EXPECT_EQ(test, gsh_account_release(&account, OBJECT, 100), 0);
	KUNIT_EXPECT_EQ(test, account.charged_bytes, 50);
	KUNIT_EXPECT_EQ(test, gsh_account_move(&account, MANAGED, OBJECT, 60), 50);
	gsh_account_unreserve(&account, 1);
	KUNIT_EXPECT_EQ(test, account.reserved_bytes, 0);
	KUNIT_EXPECT_EQ(test, account.faults, 3);
	expect_sum(test, &account);
}

static void charges_saturate(struct kunit *test)
{
	struct gsh_account account;

	gsh_account_init(&account, U64_MAX);
	gsh_account_charge(&account, OBJECT, U64_MAX - 10);
	gsh_account_charge(&account, MANAGED, U64_MAX);
	KUNIT_EXPECT_EQ(test, account.charged_bytes, U64_MAX);
	KUNIT_EXPECT_EQ(test, account.by_kind_bytes[MANAGED], 10);
	KUNIT_EXPECT_EQ(test, account.faults, 1);
	KUNIT_EXPECT_EQ(test, gsh_account_reserve(&account, 1), -EDQUOT);
	KUNIT_EXPECT_FALSE(test, gsh_account_over(&account));
	KUNIT_EXPECT_TRUE(test, gsh_account_set_kind(&account, OBJECT, 0));
	KUNIT_EXPECT_EQ(test, account.charged_bytes, 10);
	expect_sum(test, &account);
}

static void below_the_charge_nothing_more_is_given(struct kunit *test)
{
	struct gsh_account account;

	gsh_account_init(&account, SZ_1G);
	gsh_account_charge(&account, OBJECT, 600 * SZ_1M);
	KUNIT_EXPECT_EQ(test, gsh_account_free_bytes(&account, U64_MAX), (u64)424 * SZ_1M);
	KUNIT_EXPECT_EQ(test, gsh_account_free_bytes(&account, 5), 5);
	gsh_account_set_quota(&account, SZ_256M);
	KUNIT_EXPECT_EQ(test, gsh_account_free_bytes(&account, U64_MAX), 0);
	KUNIT_EXPECT_EQ(test, gsh_account_reserve(&account, 0), -EDQUOT);
	KUNIT_EXPECT_EQ(test, account.charged_bytes, (u64)600 * SZ_1M);
	gsh_account_peak_reset(&account);
	KUNIT_EXPECT_EQ(test, account.peak_bytes, account.charged_bytes);
}

static void random_life_agrees_with_a_model(struct kunit *test)
{
	const u64 operations = 100000;
	u64 seed;

	for (seed = 1; seed <= 3; seed++)
		KUNIT_EXPECT_EQ(test, gsh_books_soak(seed, operations), operations);
}

/* ---- a card ---- */

static void grants_sum_to_what_the_card_has(struct kunit *test)
{
	const u64 gib = SZ_1G;
	struct gsh_card_books card;

	gsh_card_books_init(&card, 80 * gib, 2 * gib, 1000);
	KUNIT_EXPECT_EQ(test, gsh_card_grantable_bytes(&card), 78 * gib);
	KUNIT_EXPECT_EQ(test, gsh_card_grant_change(&card, 0, 40 * gib), 0);
	KUNIT_EXPECT_EQ(test, gsh_card_grant_change(&card, 0, 38 * gib + 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, gsh_card_grant_change(&card, 0, 38 * gib), 0);
	KUNIT_EXPECT_EQ(test, gsh_card_grant_change(&card, 40 * gib, 41 * gib), -ENOSPC);
	KUNIT_EXPECT_EQ(test, gsh_card_grant_change(&card, 79 * gib, 0), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, gsh_card_grant_change(&card, 0, U64_MAX), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, card.granted_bytes, 78 * gib);
	card.overcommit_permille = 500;
	KUNIT_EXPECT_EQ(test, gsh_card_grant_change(&card, 40 * gib, 39 * gib), 0);
	KUNIT_EXPECT_EQ(test, gsh_card_ungranted_bytes(&card), 0);
}

static void what_can_be_granted_saturates(struct kunit *test)
{
	static const struct {
		u64 total, reserved;
		u32 permille;
		u64 grantable;
	} rows[] = {
		{ 1000, 0, 1500, 1500 },
		{ 999, 0, 1001, 999 },
		{ 10, 10, 1000, 0 },
		{ 10, 11, 1000, 0 },
		{ 10, U64_MAX, 1000, 0 },
		{ U64_MAX, 0, 1000, U64_MAX },
		{ U64_MAX, 1, 1000, U64_MAX - 1 },
		{ U64_MAX, 0, 1001, U64_MAX },
		{ U64_MAX, 0, U32_MAX, U64_MAX },
		{ SZ_1G, 0, 0, 0 },
		{ 10, 0, U32_MAX, 1000 }, /* the factor is cut to 100 */
	};
	struct gsh_card_books card;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		gsh_card_books_init(&card, rows[i].total, rows[i].reserved, rows[i].permille);
		KUNIT_EXPECT_EQ(test, gsh_card_grantable_bytes(&card), rows[i].grantable);
	}
}

/* ---- one request ---- */

static void bounds_enclose_the_size(struct kunit *test)
{
	static const u64 edges[] = { 0,     1,         SZ_4K,       SZ_64K, SZ_2M - 1,
				     SZ_2M, SZ_2M + 1, U64_MAX - 1, U64_MAX };
	u64 state = 7, lower, upper, size;
	u32 i;

	for (i = 0; i < 100000; i++) {
		size = i < ARRAY_SIZE(edges) ? edges[i] :
					       gsh_random(&state) >> gsh_random(&state) % 64;
		gsh_memory_bounds(size, gsh_random(&state), gsh_random(&state), &lower, &upper);
		if (lower < size || upper < lower)
			KUNIT_FAIL(test, "%llx: %llx %llx", size, lower, upper);
	}
	gsh_memory_bounds(1, 0, 0, &lower, &upper);
	KUNIT_EXPECT_EQ(test, upper, (u64)SZ_128K);
	gsh_memory_bounds(SZ_2M + 1, 0, 0, &lower, &upper);
	KUNIT_EXPECT_EQ(test, upper, (u64)SZ_4M);
	gsh_memory_bounds(U64_MAX, 0, 0, &lower, &upper);
	KUNIT_EXPECT_EQ(test, lower, U64_MAX);
}

static struct kunit_case cases[] = { KUNIT_CASE(reserve_up_to_the_quota),
				     KUNIT_CASE(settle_charges_the_true_size),
				     KUNIT_CASE(a_release_takes_no_more_than_there_is),
				     KUNIT_CASE(charges_saturate),
				     KUNIT_CASE(below_the_charge_nothing_more_is_given),
				     KUNIT_CASE(random_life_agrees_with_a_model),
				     KUNIT_CASE(grants_sum_to_what_the_card_has),
				     KUNIT_CASE(what_can_be_granted_saturates),
				     KUNIT_CASE(bounds_enclose_the_size),
				     {} };

static struct kunit_suite suite = { .name = "gpushare_books", .test_cases = cases };
kunit_test_suite(suite);
