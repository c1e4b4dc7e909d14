// SPDX-License-Identifier: GPL-2.0
/* What gpushare/registry.c and charge.c ask of the rest of the module. */
#include <linux/module.h>

#include "kunit/mock_host.h"

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("gpushare's tests that run in a kernel");

#define FORGOTTEN_MAX 16

u64 mock_card_free_bytes = U64_MAX;
unsigned int mock_events;

static struct {
	u32 h_client, h_object;
} forgotten[FORGOTTEN_MAX];
static unsigned int nforgotten;

void mock_driver_reset(void)
{
	nforgotten = 0;
	mock_card_free_bytes = U64_MAX;
	mock_events = 0;
}

void mock_driver_forget(u32 h_client, u32 h_object)
{
	forgotten[nforgotten].h_client = h_client;
	forgotten[nforgotten++].h_object = h_object;
}

bool gsh_rm_exists(u32 h_client, u32 h_object, u32 *h_class)
{
	unsigned int i;

	if (h_class)
		*h_class = NV01_MEMORY_LOCAL_USER;
	for (i = 0; i < nforgotten; i++)
		if (forgotten[i].h_client == h_client &&
		    (!forgotten[i].h_object || forgotten[i].h_object == h_object))
			return false;
	return true;
}

int gsh_card_free_bytes(struct gsh_card *card, u64 *bytes)
{
	*bytes = mock_card_free_bytes;
	return mock_card_free_bytes == U64_MAX ? -EIO : 0;
}

void gsh_event(enum gpushare_event_type type, struct gsh_tenant *tenant, struct gsh_card *card,
	       u64 bytes, const char *detail)
{
	mock_events++;
}

void gsh_real_get(struct gsh_real *real)
{
	kref_get(&real->ref);
}

/* The tests look at the count. */
void gsh_real_put(struct gsh_real *real)
{
	atomic_dec(&real->ref.refcount.refs);
}

struct gsh_share *gsh_tenant_share(struct gsh_tenant *tenant, const struct gsh_card *card)
{
	return tenant->shares->card == card ? tenant->shares : NULL;
}

struct mock_tenant *mock_tenant_create(struct kunit *test, u64 quota_bytes)
{
	struct mock_tenant *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, m);
	mock_driver_reset();
	spin_lock_init(&m->card.overhead_lock);
	for (i = 0; i < GSH_OVERHEAD_KINDS; i++)
		m->card.overhead_known[i] = U64_MAX;
	spin_lock_init(&m->share.lock);
	m->share.tenant = &m->tenant;
	m->share.card = &m->card;
	gsh_account_init(&m->share.account, quota_bytes);
	strscpy(m->tenant.name, "mock", sizeof(m->tenant.name));
	m->tenant.nshares = 1;
	m->tenant.shares = &m->share;
	mutex_init(&m->tenant.registry);
	xa_init(&m->tenant.clients);
	kref_init(&m->real.ref);
	m->real.tenant = &m->tenant;
	INIT_LIST_HEAD(&m->real.clients);
	INIT_LIST_HEAD(&m->real.exports);
	INIT_LIST_HEAD(&m->real.kept);
	return m;
}
