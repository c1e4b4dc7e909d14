// SPDX-License-Identifier: GPL-2.0
/* Objects: the tree below a client. sim_rm_lock guards all of it. */

#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "nvabi/classes.h"
#include "nvsim/internal.h"

struct sim_object *sim_object_find(struct sim_client *client, u32 handle)
{
	lockdep_assert_held(&sim_rm_lock);
	return xa_load(&client->objects, handle);
}

struct sim_object *sim_object_above(struct sim_object *object, u32 h_class)
{
	while (object && object->h_class != h_class)
		object = object->parent;
	return object;
}

struct sim_object *sim_device_of(struct sim_object *object)
{
	return sim_object_above(object, NV01_DEVICE_0);
}

void sim_object_init(struct sim_object *object, struct sim_client *client, u32 handle, u32 h_class)
{
	object->handle = handle;
	object->h_class = h_class;
	object->client = client;
	INIT_LIST_HEAD(&object->children);
	INIT_LIST_HEAD(&object->sibling);
	INIT_LIST_HEAD(&object->events);
	INIT_LIST_HEAD(&object->cpu_maps);
}

/* @memory is owned by the caller, and by the object from here on. */
void sim_object_set_memory(struct sim_object *object, struct sim_memory *memory)
{
	object->memory = memory;
	atomic_inc(&memory->handles);
}

/* ---- handles ---- */

static u32 choose_handle(struct sim_client *client)
{
	u32 tries, handle;

	for (tries = 0; tries < RS_HANDLE_MASK; tries++) {
		client->next_handle = (client->next_handle + 1) & RS_HANDLE_MASK;
		handle = RS_UNIQUE_HANDLE_BASE + client->next_handle;
		if (!xa_load(&client->objects, handle))
			return handle;
	}
	return 0;
}

static u32 assign_handle(struct sim_client *client, u32 *handle)
{
	if (!*handle)
		*handle = choose_handle(client);
	if (!*handle)
		return NV_ERR_INSUFFICIENT_RESOURCES;
	if (*handle == client->handle) /* measured: 535, 550 */
		return sim_abi->branch < 550 ? NV_ERR_INVALID_OBJECT_HANDLE :
					       NV_ERR_INVALID_OBJECT_PARENT;
	return xa_load(&client->objects, *handle) ? NV_ERR_INSERT_DUPLICATE_NAME : NV_OK;
}

/* ---- end of life ---- */

static void object_unlink(struct sim_object *object)
{
	xa_erase(&object->client->objects, object->handle);
	list_del(&object->sibling);
}

static void object_free(struct sim_object *object)
{
	sim_events_forget_source(object);
	sim_cpu_maps_drop(object);
	if (object->memory) {
		if (atomic_read(&object->memory->external))
			sim_vaspaces_forget(object->client->handle, object->handle);
		atomic_dec(&object->memory->handles);
		sim_memory_disown(object->memory);
	}
	if (object->vaspace)
		sim_vaspace_put(object->vaspace);
	kfree(object->data);
	kfree(object);
	atomic_dec(&sim_counts.objects);
}

static void destroy_one(struct sim_object *object)
{
	if (object->class && object->class->destruct)
		object->class->destruct(object);
	object_unlink(object);
	object_free(object);
}

/* Children first, the youngest before the older; without recursion, users choose the depth. */
void sim_object_destroy(struct sim_object *object)
{
	struct sim_object *one = object, *parent;

	lockdep_assert_held_write(&sim_rm_lock);
	for (;;) {
		while (!list_empty(&one->children))
			one = list_last_entry(&one->children, struct sim_object, sibling);
		parent = one->parent;
		if (one == object)
			break;
		destroy_one(one);
		one = parent;
	}
	destroy_one(object);
}

/* ---- making ---- */

static struct sim_object *object_new(struct sim_client *client, struct sim_object *parent,
				     u32 handle, const struct sim_class *class)
{
	struct sim_object *object = kzalloc(sizeof(*object), GFP_KERNEL_ACCOUNT);

	if (!object)
		return NULL;
	sim_object_init(object, client, handle, class->id);
	object->class = class;
	object->parent = parent;
	object->card = parent->card;
	if (xa_err(xa_store(&client->objects, handle, object, GFP_KERNEL_ACCOUNT))) {
		kfree(object);
		return NULL;
	}
	list_add_tail(&object->sibling, &parent->children);
	atomic_inc(&sim_counts.objects);
	return object;
}

u32 sim_object_create(struct sim_call *call, struct sim_client *client, struct sim_object *parent,
		      u32 *handle, const struct sim_class *class, void *params,
		      u32 (*construct)(struct sim_call *, struct sim_object *, void *),
		      struct sim_object **out)
{
	struct sim_object *object;
	u32 status;

	lockdep_assert_held_write(&sim_rm_lock);
	status = assign_handle(client, handle);
	if (status)
		return status;
	object = object_new(client, parent, *handle, class);
	if (!object)
		return NV_ERR_NO_MEMORY;
	if (!construct)
		construct = class->construct;
	status = construct ? construct(call, object, params) : NV_OK;
	if (status) {
		object_unlink(object);
		object_free(object);
		return status;
	}
	if (out)
		*out = object;
	return NV_OK;
}

static u32 parent_kind(const struct sim_object *parent)
{
	const struct nvabi_class *row = nvabi_class_find(parent->h_class);
	u32 flags = row ? row->flags : 0;

	if (flags & NVABI_CLASS_ROOT)
		return SIM_CLASS_ON_CLIENT;
	if (flags & NVABI_CLASS_DEVICE)
		return SIM_CLASS_ON_DEVICE;
	if (flags & NVABI_CLASS_SUBDEVICE)
		return SIM_CLASS_ON_SUBDEV;
	if (flags & NVABI_CLASS_CHANNEL)
		return SIM_CLASS_ON_CHANNEL;
	if (flags & NVABI_CLASS_GROUP)
		return SIM_CLASS_ON_GROUP;
	return SIM_CLASS_ON_OTHER;
}

static u32 check_rights(const struct sim_call *call, const struct nvabi_class *row)
{
	if ((row->flags & NVABI_CLASS_KERNEL) && !call->kernel)
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	if ((row->flags & NVABI_CLASS_PRIVILEGED) && !call->admin)
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	return NV_OK;
}

/* ---- RM_ALLOC ---- */

struct class_params {
	const struct sim_class *class;
	const struct nvabi_class *row;
	void *copy; /* NULL: none given */
	u32 bytes;
};

static u32 params_in(struct sim_call *call, const struct sim_alloc *alloc, struct class_params *p)
{
	p->row = nvabi_class_find(alloc->h_class);
	p->class = sim_class_find(alloc->h_class);
	if (!p->row || !p->class)
		return NV_ERR_INVALID_CLASS;
	p->bytes = p->class->params_size ?: nvabi_class_bytes(sim_abi, p->row);
	if (alloc->kernel_params || !alloc->params || !p->bytes)
		return (p->row->flags & NVABI_CLASS_REQUIRED) && !alloc->kernel_params ?
			       NV_ERR_INVALID_ARGUMENT :
			       NV_OK;
	p->copy = kvzalloc(p->bytes, GFP_KERNEL_ACCOUNT);
	if (!p->copy)
		return NV_ERR_NO_MEMORY;
	return sim_copy_in(call, p->copy, alloc->params, p->bytes);
}

/* The wish stands where other calls name their client; one in the new handle is ignored. */
static u32 alloc_client(struct sim_call *call, struct sim_alloc *alloc)
{
	struct sim_client *client;
	u32 status;

	alloc->h_object = 0;
	if (alloc->h_parent && alloc->h_parent != alloc->h_client) {
		/* the number is given out before the parent is looked for (measured) */
		alloc->h_object = alloc->h_client ?: sim_client_new_handle();
		return NV_ERR_OBJECT_NOT_FOUND;
	}
	status = sim_client_create(call, alloc->h_client, &client);
	if (!status)
		alloc->h_object = client->handle;
	return status;
}

static bool is_there(const struct sim_object *parent, u32 h_class)
{
	const struct sim_object *child;

	list_for_each_entry(child, &parent->children, sibling)
		if (child->h_class == h_class)
			return true;
	return false;
}

static u32 alloc_object(struct sim_call *call, struct sim_alloc *alloc, struct class_params *p)
{
	struct sim_client *client;
	struct sim_object *parent;
	u32 status;

	if (p->row->flags & NVABI_CLASS_ROOT)
		return alloc_client(call, alloc);
	status = sim_client_acquire(call, alloc->h_client, &client);
	if (status)
		return status;
	parent = sim_object_find(client, alloc->h_parent);
	if (!parent)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (!(p->class->flags & parent_kind(parent)))
		return NV_ERR_INVALID_OBJECT_PARENT;
	if ((p->class->flags & SIM_CLASS_ONCE) && is_there(parent, p->class->id))
		return NV_ERR_STATE_IN_USE;
	if (parent->card && READ_ONCE(parent->card->lost))
		return NV_ERR_GPU_IS_LOST;
	status = check_rights(call, p->row);
	if (status)
		return status;
	return sim_object_create(call, client, parent, &alloc->h_object, p->class,
				 alloc->kernel_params ?: p->copy, NULL, NULL);
}

/*
 * The class decides how many bytes of parameters there are, the size in the call is ignored
 * (535.261.03 src/nvidia/src/kernel/rmapi/alloc_free.c). They go back on success.
 */
u32 sim_object_alloc(struct sim_call *call, struct sim_alloc *alloc)
{
	struct class_params p = { 0 };
	u32 status;

	status = sim_fault_before(SIM_SITE_ALLOC, alloc->h_class, NULL);
	if (!status)
		status = params_in(call, alloc, &p);
	if (status)
		goto out;
	down_write(&sim_rm_lock);
	status = alloc_object(call, alloc, &p);
	up_write(&sim_rm_lock);
	sim_fault_after(SIM_SITE_ALLOC, alloc->h_class);
	if (!status && p.copy)
		status = sim_copy_out(call, alloc->params, p.copy, p.bytes);
out:
	kvfree(p.copy);
	return status;
}

/* ---- RM_FREE ---- */

static u32 free_locked(struct sim_call *call, u32 h_client, u32 h_object)
{
	struct sim_client *client;
	struct sim_object *object;
	u32 status;

	status = sim_client_acquire(call, h_client, &client);
	if (status)
		return status;
	if (h_object == h_client) {
		sim_client_destroy(client);
		return NV_OK;
	}
	object = sim_object_find(client, h_object);
	if (object) /* freeing nothing is no error, whatever the parent (measured) */
		sim_object_destroy(object);
	return NV_OK;
}

u32 sim_object_free(struct sim_call *call, u32 h_client, u32 h_object)
{
	u32 status = sim_fault_before(SIM_SITE_FREE, 0, NULL);

	if (status)
		return status;
	down_write(&sim_rm_lock);
	status = free_locked(call, h_client, h_object);
	up_write(&sim_rm_lock);
	sim_fault_after(SIM_SITE_FREE, 0);
	return status;
}

/* ---- RM_DUP_OBJECT ---- */

/* @params is the source. */
static u32 construct_dup(struct sim_call *call, struct sim_object *object, void *params)
{
	struct sim_object *source = params;

	if (source->card != object->card && source->memory)
		return NV_ERR_INVALID_OBJECT_PARENT;
	if (object->card && READ_ONCE(object->card->lost))
		return NV_ERR_GPU_IS_LOST;
	if (source->memory)
		sim_object_set_memory(object, sim_memory_own(source->memory));
	if (source->vaspace)
		object->vaspace = sim_vaspace_get(source->vaspace);
	return NV_OK;
}

static u32 dup_locked(struct sim_call *call, struct nvos55 *p)
{
	struct sim_client *to, *from = sim_client_find(p->h_client_src);
	struct sim_object *parent, *source;
	u32 status;

	if (!from)
		return NV_ERR_INVALID_CLIENT;
	status = sim_client_acquire(call, p->h_client, &to);
	if (status)
		return status;
	source = sim_object_find(from, p->h_object_src);
	if (!source)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (!source->class || !(source->class->flags & SIM_CLASS_DUP))
		return NV_ERR_INVALID_ARGUMENT;
	parent = sim_object_find(to, p->h_parent);
	if (!parent)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (!sim_client_may_dup(call, to, from))
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	return sim_object_create(call, to, parent, &p->h_object, source->class, source,
				 construct_dup, NULL);
}

u32 sim_object_dup(struct sim_call *call, struct nvos55 *p)
{
	u32 status = sim_fault_before(SIM_SITE_DUP, 0, NULL);

	if (status)
		return status;
	down_write(&sim_rm_lock);
	status = dup_locked(call, p);
	up_write(&sim_rm_lock);
	sim_fault_after(SIM_SITE_DUP, 0);
	return status;
}

/* ---- RM_SHARE and control 0xd04 ---- */

struct policy { /* RS_SHARE_POLICY: rs_access.h */
	u32 target, access_mask;
	u16 type;
	u8 action, pad;
};

/* Duplicate, nice, debug; nice is for those who may raise priorities (measured; rs_access.h). */
u32 sim_call_rights(void)
{
	return 0x5 | (capable(CAP_SYS_NICE) ? 0x2 : 0);
}

/* Nobody grants what he may not himself. sim_rm_lock held. */
static u32 policy_apply(struct sim_call *call, struct sim_client *client,
			const struct policy *policy)
{
	struct sim_client *target;
	u32 status;

	if (policy->type >= RS_SHARE_TYPE_MAX)
		return NV_ERR_INVALID_ARGUMENT;
	if (!call->kernel && (policy->access_mask & 0x7 & ~sim_call_rights()))
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	if (policy->type == RS_SHARE_TYPE_CLIENT) {
		status = sim_client_acquire(call, policy->target, &target);
		if (!target)
			return status;
	}
	if (policy->type == RS_SHARE_TYPE_ALL || policy->type == RS_SHARE_TYPE_CLIENT)
		client->share_all = !(policy->action & RS_SHARE_ACTION_REVOKE);
	return NV_OK;
}

u32 sim_share_policy(struct sim_call *call, struct sim_object *object, void *params)
{
	return policy_apply(call, object->client, params);
}

u32 sim_object_share(struct sim_call *call, struct nvos57 *p)
{
	struct policy policy = { p->share_policy_target, p->share_policy_access_mask,
				 p->share_policy_type, p->share_policy_action };
	struct sim_client *client;
	u32 status;

	down_write(&sim_rm_lock);
	status = sim_client_acquire(call, p->h_client, &client);
	if (!status && !sim_object_find(client, p->h_object))
		status = NV_ERR_OBJECT_NOT_FOUND;
	if (!status)
		status = policy_apply(call, client, &policy);
	up_write(&sim_rm_lock);
	return status;
}
