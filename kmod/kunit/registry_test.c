// SPDX-License-Identifier: GPL-2.0
/* Memory is charged once and until the last of what keeps it alive is gone. */
#include <linux/module.h>
#include <linux/sizes.h>

#include "kunit/kunit.h"
#include "kunit/mock_host.h"

#define CLIENT 0xc1d00001u
#define OTHER  0xc1d00002u
#define DEVICE 0x80u
#define MEMORY 0x40u

static struct gsh_client *make_client(struct kunit *test, struct mock_tenant *m, u32 handle)
{
	struct gsh_client *client = gsh_client_create(&m->real, handle, task_pid(current));

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, client);
	return client;
}

static struct gsh_obj *make_obj(struct kunit *test, struct gsh_client *client, u32 handle,
				u32 parent, u32 h_class)
{
	struct gsh_obj *obj = gsh_obj_create(client, handle, parent, h_class);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	return obj;
}

/* A device with charged memory below it. */
static struct gsh_obj *make_memory(struct kunit *test, struct mock_tenant *m,
				   struct gsh_client *client, u64 bytes)
{
	struct gsh_obj *device = make_obj(test, client, DEVICE, client->handle, NV01_DEVICE_0);
	struct gsh_obj *obj = make_obj(test, client, MEMORY, DEVICE, NV01_MEMORY_LOCAL_USER);
	struct gsh_mem *mem = gsh_mem_create(&m->share, bytes);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mem);
	device->card = &m->card;
	KUNIT_ASSERT_TRUE(test, gsh_share_reserve(&m->share, bytes));
	gsh_share_settle(&m->share, GSH_CHARGE_OBJECT, bytes, bytes);
	obj->mem = mem;
	obj->card = &m->card;
	gsh_mem_get(mem, true);
	return obj;
}

static u64 charged(struct mock_tenant *m, enum gsh_charge_kind kind)
{
	return gsh_share_account(&m->share).by_kind_bytes[kind];
}

static void expect_empty(struct kunit *test, struct mock_tenant *m)
{
	struct gsh_account account = gsh_share_account(&m->share);

	KUNIT_EXPECT_EQ(test, account.charged_bytes, 0);
	KUNIT_EXPECT_EQ(test, account.reserved_bytes, 0);
	KUNIT_EXPECT_EQ(test, account.faults, 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&m->card.charged), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->real.clients));
	KUNIT_EXPECT_TRUE(test, xa_empty(&m->tenant.clients));
	KUNIT_EXPECT_EQ(test, kref_read(&m->real.ref), 1);
}

static void a_parent_takes_its_children_along(struct kunit *test)
{
	struct mock_tenant *m = mock_tenant_create(test, SZ_1G);
	struct gsh_client *client;

	mutex_lock(&m->tenant.registry);
	client = make_client(test, m, CLIENT);
	make_memory(test, m, client, SZ_64M);
	KUNIT_EXPECT_PTR_EQ(test, gsh_obj_card(client, MEMORY), &m->card);
	KUNIT_EXPECT_EQ(test, client->nobjects, 2);
	KUNIT_EXPECT_EQ(test, charged(m, GSH_CHARGE_OBJECT), (u64)SZ_64M);
	gsh_obj_destroy(gsh_obj_find(client, DEVICE));
	KUNIT_EXPECT_EQ(test, client->nobjects, 0);
	KUNIT_EXPECT_EQ(test, charged(m, GSH_CHARGE_OBJECT), 0);
	gsh_client_destroy(client);
	mutex_unlock(&m->tenant.registry);
	expect_empty(test, m);
}

static void a_second_handle_is_charged_once(struct kunit *test)
{
	struct mock_tenant *m = mock_tenant_create(test, SZ_1G);
	struct gsh_client *client, *other;
	struct gsh_obj *obj, *copy;

	mutex_lock(&m->tenant.registry);
	client = make_client(test, m, CLIENT);
	other = make_client(test, m, OTHER);
	obj = make_memory(test, m, client, SZ_64M);
	copy = make_obj(test, other, MEMORY, OTHER, NV01_MEMORY_LOCAL_USER);
	copy->mem = obj->mem;
	copy->borrowed = true;
	gsh_mem_get(copy->mem, true);
	gsh_client_destroy(client);
	KUNIT_EXPECT_EQ(test, charged(m, GSH_CHARGE_OBJECT), (u64)SZ_64M);
	gsh_client_destroy(other);
	mutex_unlock(&m->tenant.registry);
	expect_empty(test, m);
}

static void an_export_keeps_it_lingering(struct kunit *test)
{
	struct mock_tenant *m = mock_tenant_create(test, SZ_1G);
	struct gsh_hold *hold = kzalloc(sizeof(*hold), GFP_KERNEL);
	struct gsh_client *client;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, hold);
	mutex_lock(&m->tenant.registry);
	client = make_client(test, m, CLIENT);
	hold->mem = make_memory(test, m, client, SZ_64M)->mem;
	gsh_mem_get(hold->mem, false);
	list_add(&hold->link, &m->real.exports);
	gsh_client_destroy(client);
	KUNIT_EXPECT_EQ(test, charged(m, GSH_CHARGE_OBJECT), 0);
	KUNIT_EXPECT_EQ(test, charged(m, GSH_CHARGE_LINGERING), (u64)SZ_64M);
	/* an import gives it a handle again */
	gsh_mem_get(hold->mem, true);
	KUNIT_EXPECT_EQ(test, charged(m, GSH_CHARGE_OBJECT), (u64)SZ_64M);
	gsh_mem_put(hold->mem, true);
	gsh_holds_drop(&m->real.exports);
	mutex_unlock(&m->tenant.registry);
	expect_empty(test, m);
}

static void a_handle_taken_anew_ends_the_old_object(struct kunit *test)
{
	struct mock_tenant *m = mock_tenant_create(test, SZ_1G);
	struct gsh_client *client;

	mutex_lock(&m->tenant.registry);
	client = make_client(test, m, CLIENT);
	make_memory(test, m, client, SZ_64M);
	make_obj(test, client, MEMORY, DEVICE, NV01_MEMORY_SYSTEM);
	KUNIT_EXPECT_EQ(test, charged(m, GSH_CHARGE_OBJECT), 0);
	KUNIT_EXPECT_EQ(test, client->nobjects, 2);
	gsh_client_destroy(client);
	mutex_unlock(&m->tenant.registry);
	expect_empty(test, m);
}

static void the_audit_drops_what_the_driver_forgot(struct kunit *test)
{
	struct mock_tenant *m = mock_tenant_create(test, SZ_1G);
	struct gsh_client *client;

	mutex_lock(&m->tenant.registry);
	client = make_client(test, m, CLIENT);
	make_memory(test, m, client, SZ_64M);
	KUNIT_EXPECT_FALSE(test, gsh_registry_audit(&m->tenant));
	mock_driver_forget(CLIENT, MEMORY);
	KUNIT_EXPECT_TRUE(test, gsh_registry_audit(&m->tenant));
	KUNIT_EXPECT_EQ(test, charged(m, GSH_CHARGE_OBJECT), 0);
	KUNIT_EXPECT_PTR_EQ(test, gsh_client_find(&m->tenant, CLIENT), client);
	mock_driver_forget(CLIENT, 0);
	KUNIT_EXPECT_TRUE(test, gsh_registry_audit(&m->tenant));
	KUNIT_EXPECT_PTR_EQ(test, gsh_client_find(&m->tenant, CLIENT), NULL);
	mutex_unlock(&m->tenant.registry);
	expect_empty(test, m);
}

static void a_newer_client_supersedes_one_that_is_waited_for(struct kunit *test)
{
	struct mock_tenant *m = mock_tenant_create(test, SZ_1G);
	struct gsh_client *old, *new;

	mutex_lock(&m->tenant.registry);
	old = make_client(test, m, CLIENT);
	gsh_client_disown(old);
	KUNIT_EXPECT_PTR_EQ(test, gsh_client_find(&m->tenant, CLIENT), NULL);
	new = make_client(test, m, CLIENT);
	KUNIT_EXPECT_TRUE(test, gsh_client_superseded(old));
	KUNIT_EXPECT_FALSE(test, gsh_client_superseded(new));
	gsh_client_destroy(old);
	KUNIT_EXPECT_PTR_EQ(test, gsh_client_find(&m->tenant, CLIENT), new);
	gsh_client_destroy(new);
	mutex_unlock(&m->tenant.registry);
	expect_empty(test, m);
}

static void usage_is_told_apart(struct kunit *test)
{
	struct mock_tenant *m = mock_tenant_create(test, SZ_1G);
	struct gsh_client *client;
	struct gsh_usage usage;
	struct gsh_obj *obj;

	mutex_lock(&m->tenant.registry);
	client = make_client(test, m, CLIENT);
	obj = make_memory(test, m, client, SZ_64M);
	usage = gsh_usage_of(&m->tenant, task_pid(current), &m->card);
	KUNIT_EXPECT_EQ(test, usage.private_bytes, (u64)SZ_64M);
	gsh_mem_get(obj->mem, false);
	usage = gsh_usage_of(&m->tenant, task_pid(current), &m->card);
	KUNIT_EXPECT_EQ(test, usage.private_bytes, 0);
	KUNIT_EXPECT_EQ(test, usage.shared_bytes, (u64)SZ_64M);
	usage = gsh_usage_of(&m->tenant, NULL, &m->card);
	KUNIT_EXPECT_EQ(test, usage.shared_bytes, 0);
	gsh_mem_put(obj->mem, false);
	gsh_client_destroy(client);
	mutex_unlock(&m->tenant.registry);
	expect_empty(test, m);
}

/* ---- charging ---- */

static void managed_memory_grows_within_the_quota_only(struct kunit *test)
{
	struct mock_tenant *m = mock_tenant_create(test, SZ_64M);

	KUNIT_EXPECT_TRUE(test, gsh_share_set_managed(&m->share, 0, SZ_64M));
	KUNIT_EXPECT_FALSE(test, gsh_share_set_managed(&m->share, SZ_64M, SZ_64M + 1));
	KUNIT_EXPECT_EQ(test, charged(m, GSH_CHARGE_MANAGED), (u64)SZ_64M);
	KUNIT_EXPECT_FALSE(test, gsh_share_reserve(&m->share, 1));
	gsh_share_refused(&m->share, 1);
	KUNIT_EXPECT_EQ(test, mock_events, 1);
	KUNIT_EXPECT_TRUE(test, gsh_share_set_managed(&m->share, SZ_64M, 0));
	expect_empty(test, m);
}

static void a_view_is_no_more_than_the_card_has(struct kunit *test)
{
	struct mock_tenant *m = mock_tenant_create(test, SZ_1G);
	struct gsh_view view = gsh_share_view(&m->share);

	KUNIT_EXPECT_EQ(test, gsh_view_free_bytes(&view), (u64)SZ_1G);
	mock_card_free_bytes = SZ_4M;
	view = gsh_share_view(&m->share);
	KUNIT_EXPECT_EQ(test, gsh_view_free_bytes(&view), (u64)SZ_4M);
	expect_empty(test, m);
}

static void one_figure_at_most_doubles_what_is_known(struct kunit *test)
{
	struct mock_tenant *m = mock_tenant_create(test, SZ_1G);
	struct gsh_card *card = &m->card;
	u64 first = gsh_overhead_estimate(card, GSH_OVERHEAD_GROUP);

	KUNIT_EXPECT_GT(test, first, 0);
	KUNIT_EXPECT_EQ(test, gsh_overhead_learn(card, GSH_OVERHEAD_GROUP, U64_MAX), (u64)SZ_512M);
	KUNIT_EXPECT_EQ(test, gsh_overhead_learn(card, GSH_OVERHEAD_GROUP, 0), (u64)SZ_256M);
	KUNIT_EXPECT_EQ(test, gsh_overhead_learn(card, GSH_OVERHEAD_GROUP, SZ_2G), (u64)SZ_512M);
	KUNIT_EXPECT_EQ(test, gsh_overhead_estimate(card, GSH_OVERHEAD_GROUP), (u64)SZ_512M);
}

static void a_figure_counts_only_when_nothing_else_ran(struct kunit *test)
{
	struct mock_tenant *m = mock_tenant_create(test, SZ_1G);
	u64 first, second;

	gsh_charging_begin(&m->card, &first);
	KUNIT_EXPECT_TRUE(test, gsh_charging_end(&m->card, first));
	gsh_charging_begin(&m->card, &first);
	gsh_charging_begin(&m->card, &second);
	KUNIT_EXPECT_FALSE(test, gsh_charging_end(&m->card, second));
	KUNIT_EXPECT_FALSE(test, gsh_charging_end(&m->card, first));
	gsh_charging_begin(&m->card, &first);
	gsh_charging_disturb(&m->card);
	KUNIT_EXPECT_FALSE(test, gsh_charging_end(&m->card, first));
}

static struct kunit_case cases[] = { KUNIT_CASE(a_parent_takes_its_children_along),
				     KUNIT_CASE(a_second_handle_is_charged_once),
				     KUNIT_CASE(an_export_keeps_it_lingering),
				     KUNIT_CASE(a_handle_taken_anew_ends_the_old_object),
				     KUNIT_CASE(the_audit_drops_what_the_driver_forgot),
				     KUNIT_CASE(a_newer_client_supersedes_one_that_is_waited_for),
				     KUNIT_CASE(usage_is_told_apart),
				     KUNIT_CASE(managed_memory_grows_within_the_quota_only),
				     KUNIT_CASE(a_view_is_no_more_than_the_card_has),
				     KUNIT_CASE(one_figure_at_most_doubles_what_is_known),
				     KUNIT_CASE(a_figure_counts_only_when_nothing_else_ran),
				     {} };

static struct kunit_suite suite = { .name = "gpushare_registry", .test_cases = cases };
kunit_test_suite(suite);
