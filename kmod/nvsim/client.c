// SPDX-License-Identifier: GPL-2.0
/* Clients: who made them, who may use them, and their end. sim_rm_lock guards all of it. */

#include <linux/cred.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "nvsim/internal.h"

DECLARE_RWSEM(sim_rm_lock);
LIST_HEAD(sim_clients);

static DEFINE_XARRAY(client_table); /* handle -> client */
static u32 next_client; /* of client handles */

struct sim_client *sim_client_find(u32 handle)
{
	lockdep_assert_held(&sim_rm_lock);
	return xa_load(&client_table, handle);
}

/*
 * A client belongs to a control file: the one it was made on, or the one that file is tied to.
 * (535.261.03 src/nvidia/arch/nvalloc/unix/src/escape.c, clientOSInfo.)
 */
struct sim_file *sim_call_owner(const struct sim_call *call)
{
	if (!call->file)
		return NULL;
	return READ_ONCE(call->file->ctl) ?: call->file;
}

/* Kernel callers have no owner and are not asked: rmapi/client.c, the validation of clients. */
u32 sim_client_check(struct sim_call *call, struct sim_client *client)
{
	if (call->kernel || client->owner == sim_call_owner(call))
		return NV_OK;
	return NV_ERR_INVALID_CLIENT;
}

u32 sim_client_get(struct sim_call *call, u32 handle, struct sim_client **client)
{
	*client = sim_client_find(handle);
	if (!*client)
		return NV_ERR_INVALID_CLIENT;
	return sim_client_check(call, *client);
}

/*
 * The server looks in one of 1024 sorted lists: whether a higher handle ends the search or the
 * list does gives two statuses (535.261.03 src/nvidia/src/libraries/resserv/src/rs_server.c).
 */
static u32 not_there(u32 handle)
{
	struct sim_client *client;

	list_for_each_entry(client, &sim_clients, link)
		if (!((client->handle ^ handle) & 0x3ff) && client->handle > handle)
			return NV_ERR_INVALID_OBJECT;
	return NV_ERR_INVALID_OBJECT_HANDLE;
}

u32 sim_client_acquire(struct sim_call *call, u32 handle, struct sim_client **client)
{
	*client = sim_client_find(handle);
	return *client ? sim_client_check(call, *client) : not_there(handle);
}

u32 sim_client_new_handle(void)
{
	u32 tries, handle;

	for (tries = 0; tries < RS_HANDLE_MASK; tries++) {
		next_client = (next_client + 1) & RS_HANDLE_MASK;
		handle = RS_CLIENT_HANDLE_BASE + next_client;
		if (next_client && !xa_load(&client_table, handle))
			return handle;
	}
	return 0;
}

static void describe_maker(struct sim_call *call, struct sim_client *client)
{
	client->owner = sim_call_owner(call);
	client->uid = current_euid();
	if (call->kernel) {
		strscpy(client->comm, "kernel", sizeof(client->comm));
		return;
	}
	/* Both as the driver does, which asks for each in its own way
	 * (535.261.03 kernel-open/nvidia/os-interface.c:747, 2474). */
	client->pid = get_task_pid(current, PIDTYPE_PID);
	client->tgid = current->tgid;
	get_task_comm(client->comm, current);
}

static void client_free(struct sim_client *client)
{
	xa_destroy(&client->objects);
	put_pid(client->pid);
	kfree(client->root.data);
	kfree(client);
}

/* Any number may be wished that no client has; every root class becomes 0x41 (measured). */
u32 sim_client_create(struct sim_call *call, u32 wish, struct sim_client **out)
{
	u32 handle = wish ?: sim_client_new_handle();
	struct sim_client *client;

	lockdep_assert_held_write(&sim_rm_lock);
	if (wish && sim_client_find(wish))
		return NV_ERR_INSERT_DUPLICATE_NAME;
	client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);
	if (!client)
		return NV_ERR_NO_MEMORY;
	xa_init(&client->objects);
	client->handle = handle;
	sim_object_init(&client->root, client, handle, NV01_ROOT_CLIENT);
	describe_maker(call, client);
	if (!handle ||
	    xa_err(xa_store(&client->objects, handle, &client->root, GFP_KERNEL_ACCOUNT)) ||
	    xa_err(xa_store(&client_table, handle, client, GFP_KERNEL_ACCOUNT))) {
		client_free(client);
		return NV_ERR_INSUFFICIENT_RESOURCES;
	}
	list_add_tail(&client->link, &sim_clients);
	atomic_inc(&sim_counts.clients);
	*out = client;
	return NV_OK;
}

void sim_client_destroy(struct sim_client *client)
{
	lockdep_assert_held_write(&sim_rm_lock);
	while (!list_empty(&client->root.children))
		sim_object_destroy(
			list_last_entry(&client->root.children, struct sim_object, sibling));
	sim_events_forget_source(&client->root);
	sim_events_forget_client(client->handle);
	xa_erase(&client_table, client->handle);
	list_del(&client->link);
	client_free(client);
	atomic_dec(&sim_counts.clients);
}

/* @owner NULL: those of kernel callers. */
void sim_clients_destroy_owned(struct sim_file *owner)
{
	struct sim_client *client, *next;

	down_write(&sim_rm_lock);
	list_for_each_entry_safe(client, next, &sim_clients, link)
		if (client->owner == owner)
			sim_client_destroy(client);
	up_write(&sim_rm_lock);
}

int sim_client_each(struct sim_client *client, int (*each)(struct sim_object *, void *), void *arg)
{
	struct sim_object *object;
	unsigned long handle;
	int ret;

	lockdep_assert_held(&sim_rm_lock);
	xa_for_each(&client->objects, handle, object) {
		ret = each(object, arg);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Without a policy: the same client, the same process, the same user, or whoever the source
 * shares with. The driver's default policy is the user's security token
 * (rmapi/client_resource.c); root is not special there, kernel callers are.
 */
bool sim_client_may_dup(const struct sim_call *call, const struct sim_client *to,
			const struct sim_client *from)
{
	if (call->kernel || to == from || from->share_all)
		return true;
	if (!from->pid)
		return false;
	return to->tgid == from->tgid || uid_eq(to->uid, from->uid);
}
