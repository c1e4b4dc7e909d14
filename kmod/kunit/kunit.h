/* SPDX-License-Identifier: GPL-2.0 */
/* What the suites share: blocks that end where their last byte is, and numbers that repeat. */
#ifndef GSH_KUNIT_H
#define GSH_KUNIT_H

#include <kunit/test.h>
#include <linux/slab.h>

#include "nvabi/versions.h"

/* xorshift64*: the same sequence everywhere. */
static inline u64 gsh_random(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

static inline void gsh_random_fill(u64 *state, u8 *block, u32 bytes)
{
	u32 i;

	for (i = 0; i < bytes; i++)
		block[i] = gsh_random(state);
}

/*
 * Freed by the caller: thousands of them a test. Under KASAN a read or write one
 * byte beyond is reported, which fails the whole run.
 */
static inline u8 *gsh_block(struct kunit *test, u32 bytes)
{
	u8 *block = kzalloc(bytes, GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, block);
	return block;
}

/* A test is run for each supported driver. */
static inline const void *gsh_version_params(const void *previous, char *text)
{
	const struct nvabi_version *rows, *row = previous;
	u32 count;

	rows = nvabi_versions(&count);
	row = row ? row + 1 : rows;
	if (row == rows + count)
		return NULL;
	snprintf(text, KUNIT_PARAM_DESC_SIZE, "%s", row->string);
	return row;
}

#define GSH_CASE_EACH_VERSION(name) KUNIT_CASE_PARAM(name, gsh_version_params)

#endif /* GSH_KUNIT_H */
