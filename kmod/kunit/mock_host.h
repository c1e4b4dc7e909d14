/* SPDX-License-Identifier: GPL-2.0 */
/* A driver that knows the handles it is told of, and the tenant that the tests work on. */
#ifndef GSH_KUNIT_MOCK_HOST_H
#define GSH_KUNIT_MOCK_HOST_H

#include <kunit/test.h>

#include "gpushare/gpushare.h"

struct mock_tenant {
	struct gsh_tenant tenant;
	struct gsh_share share;
	struct gsh_card card;
	struct gsh_real real;
};

/* Lives as long as the test; its registry is locked, as the functions under test want it. */
struct mock_tenant *mock_tenant_create(struct kunit *test, u64 quota_bytes);

/* What the driver says of a handle from now on. */
void mock_driver_forget(u32 h_client, u32 h_object);
void mock_driver_reset(void);

extern u64 mock_card_free_bytes; /* U64_MAX: the card does not answer */
extern unsigned int mock_events;

#endif /* GSH_KUNIT_MOCK_HOST_H */
