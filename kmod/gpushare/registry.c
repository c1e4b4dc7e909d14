// SPDX-License-Identifier: GPL-2.0
/*
 * What a tenant has in the driver: clients, their objects, and the memory that
 * handles, external mappings and exports keep alive. Functions here are called with
 * tenant->registry held, but for the few that are marked.
 *
 * It follows the driver, never leads it: an object enters once the driver has
 * answered success to a call whose arguments were ours, and leaves once the
 * driver has freed it. What the driver frees along (dependants) is found by
 * the audit, which asks the driver for each handle.
 */
#include <linux/slab.h>

#include "gpushare.h"
#include "trace.h"

/* ---- memory ---- */

struct gsh_mem *gsh_mem_create(struct gsh_share *share, u64 bytes)
{
	struct gsh_mem *mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);

	if (!mem)
		return NULL;
	mem->share = share;
	mem->bytes = bytes;
	mem->kind = GSH_CHARGE_OBJECT;
	return mem;
}

static void mem_move(struct gsh_mem *mem, enum gsh_charge_kind kind)
{
	if (mem->kind == kind)
		return;
	gsh_share_move(mem->share, mem->kind, kind, mem->bytes);
	mem->kind = kind;
}

void gsh_mem_get(struct gsh_mem *mem, bool handle)
{
	mem->refs++;
	if (handle) {
		mem->handles++;
		mem_move(mem, GSH_CHARGE_OBJECT);
	}
}

void gsh_mem_put(struct gsh_mem *mem, bool handle)
{
	if (handle)
		mem->handles--;
	if (--mem->refs) {
		if (!mem->handles)
			mem_move(mem, GSH_CHARGE_LINGERING);
		return;
	}
	gsh_share_release(mem->share, mem->kind, mem->bytes);
	kfree(mem);
}

void gsh_holds_drop(struct list_head *list)
{
	struct gsh_hold *hold, *next;

	list_for_each_entry_safe(hold, next, list, link) {
		list_del(&hold->link);
		gsh_mem_put(hold->mem, false);
		kfree(hold);
	}
}

/* ---- objects ---- */

struct gsh_obj *gsh_obj_find(struct gsh_client *client, u32 handle)
{
	return xa_load(&client->objects, handle);
}

static void obj_free(struct gsh_obj *obj)
{
	struct gsh_client *client = obj->client;

	trace_gpushare_object_gone(client, obj->handle, obj->parent, obj->h_class,
				   obj->mem ? obj->mem->bytes : 0);
	xa_erase(&client->objects, obj->handle);
	list_del(&obj->sibling);
	client->nobjects--;
	if (obj->mem)
		gsh_mem_put(obj->mem, true);
	if (obj->overhead_bytes)
		gsh_share_release(obj->overhead_share, GSH_CHARGE_OVERHEAD, obj->overhead_bytes);
	kfree(obj);
}

/* NULL when there is no memory for it: the caller undoes the driver's call. */
struct gsh_obj *gsh_obj_create(struct gsh_client *client, u32 handle, u32 parent, u32 h_class)
{
	struct gsh_obj *old = gsh_obj_find(client, handle);
	struct gsh_obj *obj, *above;

	if (old) /* the driver gave the handle anew: the old one went with another */
		gsh_obj_destroy(old);
	obj = kzalloc(sizeof(*obj), GFP_KERNEL_ACCOUNT);
	if (!obj)
		return NULL;
	obj->handle = handle;
	obj->parent = parent;
	obj->h_class = h_class;
	obj->client = client;
	INIT_LIST_HEAD(&obj->sibling);
	INIT_LIST_HEAD(&obj->children);
	if (xa_err(xa_store(&client->objects, handle, obj, GFP_KERNEL_ACCOUNT))) {
		kfree(obj);
		return NULL;
	}
	above = gsh_obj_find(client, parent);
	if (above)
		list_add(&obj->sibling, &above->children);
	client->nobjects++;
	trace_gpushare_object_new(client, handle, parent, h_class, 0);
	return obj;
}

/* As the driver does, with all below it. One after the other, not by calling itself: what the
 * driver has freed along may have made chains here that are longer than any of the driver's. */
void gsh_obj_destroy(struct gsh_obj *obj)
{
	LIST_HEAD(doomed);

	list_move(&obj->sibling, &doomed);
	while (!list_empty(&doomed)) {
		obj = list_first_entry(&doomed, struct gsh_obj, sibling);
		list_splice_init(&obj->children, &doomed);
		obj_free(obj);
		cond_resched();
	}
}

/* The card of a device, a subdevice, or anything below one. */
struct gsh_card *gsh_obj_card(struct gsh_client *client, u32 handle)
{
	struct gsh_obj *obj;
	int depth;

	for (depth = 0; depth < 8; depth++) {
		obj = gsh_obj_find(client, handle);
		if (!obj)
			return NULL;
		if (obj->card)
			return obj->card;
		handle = obj->parent;
	}
	return NULL;
}

struct gsh_obj *gsh_obj_at(struct gsh_tenant *tenant, u32 h_client, u32 handle)
{
	struct gsh_client *client = gsh_client_find(tenant, h_client);

	return client ? gsh_obj_find(client, handle) : NULL;
}

/* ---- questions from outside: these take the registry lock themselves ---- */

bool gsh_tenant_has_client(struct gsh_tenant *tenant, u32 h_client)
{
	bool has;

	mutex_lock(&tenant->registry);
	has = gsh_client_find(tenant, h_client);
	mutex_unlock(&tenant->registry);
	return has;
}

struct gsh_share *gsh_share_at(struct gsh_tenant *tenant, u32 h_client, u32 handle, u32 *status)
{
	struct gsh_client *client;
	struct gsh_card *card = NULL;

	mutex_lock(&tenant->registry);
	client = gsh_client_find(tenant, h_client);
	if (client)
		card = gsh_obj_card(client, handle);
	mutex_unlock(&tenant->registry);
	if (status)
		*status = client ? NV_ERR_INVALID_OBJECT_PARENT : NV_ERR_INVALID_CLIENT;
	return card ? gsh_tenant_share(tenant, card) : NULL;
}

/* ---- clients ---- */

struct gsh_client *gsh_client_find(struct gsh_tenant *tenant, u32 handle)
{
	return xa_load(&tenant->clients, handle);
}

/* The driver's handles are machine-wide and are used again. A client that is
 * still waited for here, when the driver gives its handle to a newer one, is gone. */
static DEFINE_XARRAY(by_handle);

static void publish(struct gsh_client *client)
{
	struct gsh_client *old;

	xa_lock(&by_handle);
	old = __xa_store(&by_handle, client->handle, client, GFP_KERNEL);
	if (old && !xa_is_err(old) && old != client)
		WRITE_ONCE(old->superseded, true);
	xa_unlock(&by_handle);
}

static void unpublish(struct gsh_client *client)
{
	xa_cmpxchg(&by_handle, client->handle, client, NULL, GFP_KERNEL);
}

bool gsh_client_superseded(struct gsh_client *client)
{
	return READ_ONCE(client->superseded);
}

void gsh_client_disown(struct gsh_client *client)
{
	xa_cmpxchg(&client->tenant->clients, client->handle, client, NULL, GFP_KERNEL);
}

struct gsh_client *gsh_client_create(struct gsh_real *real, u32 handle, struct pid *pid)
{
	struct gsh_tenant *tenant = real->tenant;
	struct gsh_client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);

	if (!client)
		return NULL;
	client->handle = handle;
	client->tenant = tenant;
	client->real = real;
	xa_init(&client->objects);
	if (xa_err(xa_store(&tenant->clients, handle, client, GFP_KERNEL_ACCOUNT))) {
		kfree(client);
		return NULL;
	}
	publish(client);
	gsh_real_get(real);
	client->pid = get_pid(pid);
	list_add_tail(&client->link, &real->clients);
	trace_gpushare_object_new(client, handle, 0, NV01_ROOT_CLIENT, 0);
	return client;
}

void gsh_client_destroy(struct gsh_client *client)
{
	struct gsh_obj *obj;
	unsigned long index;

	xa_for_each(&client->objects, index, obj)
		gsh_obj_destroy(obj);
	xa_destroy(&client->objects);
	trace_gpushare_object_gone(client, client->handle, 0, NV01_ROOT_CLIENT, 0);
	gsh_client_disown(client);
	unpublish(client);
	list_del(&client->link);
	put_pid(client->pid);
	gsh_real_put(client->real);
	kfree(client);
}

static bool obj_alive(struct gsh_obj *obj)
{
	u32 h_class = 0;

	if (!gsh_rm_exists(obj->client->handle, obj->handle, &h_class))
		return false;
	/* A handle that now means something else was freed and taken again. */
	return !obj->mem || h_class == NV01_MEMORY_LOCAL_USER || !h_class;
}

static bool client_audit(struct gsh_client *client)
{
	struct gsh_obj *obj;
	unsigned long index;
	bool any = false;

	if (!gsh_rm_exists(client->handle, 0, NULL)) {
		gsh_client_destroy(client);
		return true;
	}
	xa_for_each(&client->objects, index, obj)
		if ((obj->mem || obj->overhead_bytes) && !obj_alive(obj)) {
			gsh_obj_destroy(obj);
			any = true;
		}
	return any;
}

bool gsh_registry_audit(struct gsh_tenant *tenant)
{
	struct gsh_client *client;
	unsigned long index;
	bool any = false;

	xa_for_each(&tenant->clients, index, client)
		any |= client_audit(client);
	return any;
}

bool gsh_tenant_owns_pid(struct gsh_tenant *tenant, struct pid *pid)
{
	struct gsh_client *client;
	unsigned long index;

	xa_for_each(&tenant->clients, index, client)
		if (client->pid == pid)
			return true;
	return false;
}

static void add_usage(struct gsh_usage *usage, const struct gsh_obj *obj)
{
	if (obj->borrowed)
		usage->borrowed_bytes += obj->mem->bytes;
	else if (obj->mem->refs > 1)
		usage->shared_bytes += obj->mem->bytes;
	else
		usage->private_bytes += obj->mem->bytes;
}

struct gsh_usage gsh_usage_of(struct gsh_tenant *tenant, struct pid *pid,
			      const struct gsh_card *card)
{
	struct gsh_usage usage = {};
	struct gsh_client *client;
	struct gsh_obj *obj;
	unsigned long i, j;

	xa_for_each(&tenant->clients, i, client) {
		if (client->pid != pid)
			continue;
		xa_for_each(&client->objects, j, obj)
			if (obj->mem && obj->card == card)
				add_usage(&usage, obj);
	}
	return usage;
}
