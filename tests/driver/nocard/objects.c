// SPDX-License-Identifier: GPL-2.0
/*
 * Devices, subdevices and memory without a card, below clients that are the
 * driver's own. Both ways in are met: calls from user space (rm_ioctl) and
 * from other modules (rm_kernel_rmapi_op). Whose a client is, whether it
 * lives, and every other class and call stays with the driver.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "nocard.h"

#define PARAMS_MAX   SZ_64K
#define NO_SUCH      0x0000eeee /* a control of the client's class that does not exist */
#define FIRST_HANDLE 0x6e000001 /* for callers that leave the choice to the driver */
#define GRANULE      SZ_64K

DEFINE_MUTEX(nc_objects_lock);
const struct nvabi_version *nc_version;

static LIST_HEAD(objects); /* nc_objects_lock */
static u32 next_handle = FIRST_HANDLE; /* nc_objects_lock */

static struct nc_redirect *ioctl_redirect, *op_redirect, *cleanup_redirect;

/* Where a call comes from, and so where its pointers point. */
struct caller {
	bool user;
	void *sp, *state, *file; /* the driver's own words; the last two from user space only */
};

/* ---- the driver's own functions ---- */

static u32 genuine_ioctl(const struct caller *c, u32 nr, void *data, u32 size)
{
	u32 (*call)(void *, void *, void *, u32, void *, u32) = ioctl_redirect->genuine;
	struct nc_inside inside;
	u32 status;

	nc_inside_begin(&inside);
	status = call(c->sp, c->state, c->file, nr, data, size);
	nc_inside_end(&inside);
	return status;
}

static void genuine_op(void *sp, void *op)
{
	void (*call)(void *, void *) = op_redirect->genuine;
	struct nc_inside inside;

	nc_inside_begin(&inside);
	call(sp, op);
	nc_inside_end(&inside);
}

/* What a control that no client has is answered with tells whether the client is the caller's. */
static bool owns(const struct caller *c, u32 client)
{
	struct nvos54 probe = { .h_client = client, .h_object = client, .cmd = NO_SUCH };

	if (!c->user)
		return true;
	return !genuine_ioctl(c, NV_ESC_RM_CONTROL, &probe, sizeof(probe)) &&
	       probe.status == NV_ERR_NOT_SUPPORTED;
}

union op_buffer { /* the driver may know a longer structure */
	struct nv_rm_op op;
	u8 room[128];
};

/* Is there such an object, by the driver's word? Of a client that lives. */
static bool has_object(void *sp, u32 client, u32 handle)
{
	struct nv0000_handle_info info = { .h_object = handle, .index = NV0000_HANDLE_INFO_CLASS };
	union op_buffer b = { .op.op = NV_RMOP_CONTROL };

	b.op.u.control = (struct nvos54){
		.h_client = client,
		.h_object = client,
		.cmd = NV0000_CTRL_CLIENT_GET_HANDLE_INFO,
		.p_params = (uintptr_t)&info,
		.params_size = sizeof(info),
		.status = NV_ERR_GENERIC,
	};
	genuine_op(sp, &b);
	return b.op.u.control.status == NV_OK;
}

/*
 * Is there such a client? Any control that names one which is gone costs a line
 * in the kernel log (src/nvidia/interface/deprecated/rmapi_deprecated_control.c,
 * RmDeprecatedGetControlHandler). Sharing the object 0, which nobody has, does not: the client
 * is looked up first (src/nvidia/src/libraries/resserv/src/rs_server.c,
 * serverShareResourceAccess).
 */
static bool lives(void *sp, u32 client)
{
	union op_buffer b = { .op.op = NV_RMOP_SHARE };
	struct nvos57 *share = (struct nvos57 *)b.op.u.raw;

	*share = (struct nvos57){
		.h_client = client,
		.status = NV_ERR_GENERIC,
	};
	genuine_op(sp, &b);
	return share->status == NV_ERR_OBJECT_NOT_FOUND;
}

/* ---- the books; nc_objects_lock held ---- */

struct nc_object *nc_object_find(u32 client, u32 handle)
{
	struct nc_object *object;

	list_for_each_entry(object, &objects, link)
		if (object->client == client && object->handle == handle)
			return object;
	return NULL;
}

u64 nc_used_bytes(unsigned int card)
{
	struct nc_object *object;
	u64 bytes = 0;

	list_for_each_entry(object, &objects, link)
		if (object->card == card)
			bytes += object->bytes;
	return bytes;
}

static void forget(struct nc_object *object)
{
	list_del(&object->link);
	kfree(object);
}

/* An object and all below it: children stand behind their parents in the list. */
static void forget_tree(struct nc_object *top)
{
	struct nc_object *object, *next;
	LIST_HEAD(gone);

	list_move(&top->link, &gone);
	list_for_each_entry_safe(object, next, &objects, link) {
		struct nc_object *parent;

		list_for_each_entry(parent, &gone, link) {
			if (parent->client == object->client && parent->handle == object->parent) {
				list_move_tail(&object->link, &gone);
				break;
			}
		}
	}
	list_for_each_entry_safe(object, next, &gone, link)
		forget(object);
}

/* The driver ends clients in several ways, one of them later: it is asked. */
static void sweep(void *sp)
{
	struct nc_object *object, *next;

	mutex_lock(&nc_objects_lock);
	list_for_each_entry_safe(object, next, &objects, link)
		if (!lives(sp, object->client))
			forget(object);
	mutex_unlock(&nc_objects_lock);
}

/* ---- allocation ---- */

struct request {
	u32 client, parent, handle, h_class;
	u64 params;
	u32 size; /* 0: the class says */
	union {
		struct nv0080_alloc device;
		struct nv_memory_alloc memory;
		u8 room[256];
	} p; /* what params points to */
};

/* NVOS21 and NVOS64 name these alike. */
#define REQUEST(a)                              \
	{                                       \
		.client = (a)->h_root,          \
		.parent = (a)->h_object_parent, \
		.handle = (a)->h_object_new,    \
		.h_class = (a)->h_class,        \
		.params = (a)->p_alloc_parms,   \
		.size = (a)->params_size,       \
	}

static bool copy_params(const struct caller *c, void *to, u64 from, u32 size)
{
	if (c->user)
		return !copy_from_user(to, u64_to_user_ptr(from), size);
	memcpy(to, (void *)(uintptr_t)from, size);
	return true;
}

static bool return_params(const struct caller *c, u64 to, const void *from, u32 size)
{
	if (c->user)
		return !copy_to_user(u64_to_user_ptr(to), from, size);
	memcpy((void *)(uintptr_t)to, from, size);
	return true;
}

static bool is_memory(u32 h_class)
{
	return h_class == NV01_MEMORY_LOCAL_USER || h_class == NV01_MEMORY_SYSTEM;
}

static bool ours(u32 h_class)
{
	return h_class == NV01_DEVICE_0 || h_class == NV20_SUBDEVICE_0 || is_memory(h_class);
}

static u32 params_bytes(u32 h_class)
{
	if (h_class == NV01_DEVICE_0)
		return sizeof(struct nv0080_alloc);
	return is_memory(h_class) ? nc_version->memory_alloc_bytes : sizeof(struct nv2080_alloc);
}

static u32 fetch(const struct caller *c, struct request *r)
{
	u32 size = params_bytes(r->h_class);

	if (!r->params)
		return is_memory(r->h_class) ? NV_ERR_INVALID_ARGUMENT : NV_OK;
	if ((r->size && r->size != size) || size > sizeof(r->p))
		return NV_ERR_INVALID_ARGUMENT;
	return copy_params(c, &r->p, r->params, size) ? NV_OK : NV_ERR_INVALID_ADDRESS;
}

static u32 make_device(const struct request *r, struct nc_object *new)
{
	if (r->parent != r->client)
		return NV_ERR_INVALID_OBJECT_PARENT;
	new->card = r->p.device.device_id;
	return new->card < nc_cards ? NV_OK : NV_ERR_INVALID_CLASS;
}

static u32 make_below_device(const struct request *r, struct nc_object *new)
{
	struct nc_object *device = nc_object_find(r->client, r->parent);

	if (!device || device->h_class != NV01_DEVICE_0)
		return NV_ERR_INVALID_OBJECT_PARENT;
	new->card = device->card;
	return NV_OK;
}

/* The size grows to whole granules and goes back to the caller, as the driver's does. */
static u32 make_memory(struct request *r, struct nc_object *new)
{
	struct nv_memory_alloc *memory = &r->p.memory;
	u64 heap = nc_memory_bytes - NC_RESERVE_BYTES;
	u32 status = make_below_device(r, new);

	if (status || !memory->size)
		return status ?: NV_ERR_INVALID_ARGUMENT;
	if (memory->size > heap)
		return NV_ERR_NO_MEMORY;
	memory->size = ALIGN(memory->size, GRANULE);
	memory->limit = memory->size - 1;
	if (r->h_class != NV01_MEMORY_LOCAL_USER)
		return NV_OK;
	if (nc_used_bytes(new->card) + memory->size > heap)
		return NV_ERR_NO_MEMORY;
	new->bytes = memory->size;
	return NV_OK;
}

static u32 make(struct request *r, struct nc_object *new)
{
	if (r->h_class == NV01_DEVICE_0)
		return make_device(r, new);
	return is_memory(r->h_class) ? make_memory(r, new) : make_below_device(r, new);
}

/* nc_objects_lock held. */
static u32 enter(void *sp, struct request *r)
{
	struct nc_object *new;
	u32 status;

	if (!r->handle)
		r->handle = next_handle++;
	if (nc_object_find(r->client, r->handle) || has_object(sp, r->client, r->handle))
		return NV_ERR_INSERT_DUPLICATE_NAME;
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return NV_ERR_NO_MEMORY;
	new->client = r->client;
	new->parent = r->parent;
	new->handle = r->handle;
	new->h_class = r->h_class;
	status = make(r, new);
	if (status)
		kfree(new);
	else
		list_add_tail(&new->link, &objects);
	return status;
}

/* False: the driver's to answer, also where the client is not the caller's. */
static bool alloc(const struct caller *c, struct request *r, u32 *status)
{
	if (!ours(r->h_class) || !owns(c, r->client) || !lives(c->sp, r->client))
		return false;
	*status = fetch(c, r);
	if (*status)
		return true;
	mutex_lock(&nc_objects_lock);
	*status = enter(c->sp, r);
	mutex_unlock(&nc_objects_lock);
	if (!*status && is_memory(r->h_class) &&
	    !return_params(c, r->params, &r->p, params_bytes(r->h_class)))
		*status = NV_ERR_INVALID_ADDRESS; /* it stays until its client goes */
	return true;
}

static bool alloc21_call(const struct caller *c, struct nvos21 *a)
{
	struct request r = REQUEST(a);
	bool done = alloc(c, &r, &a->status);

	if (done)
		a->h_object_new = r.handle;
	return done;
}

static bool alloc64_call(const struct caller *c, struct nvos64 *a)
{
	struct request r = REQUEST(a);
	bool done = alloc(c, &r, &a->status);

	if (done)
		a->h_object_new = r.handle;
	return done;
}

/* ---- the end of an object ---- */

static bool free_call(const struct caller *c, struct nvos00 *f)
{
	struct nc_object *object;
	bool known;

	mutex_lock(&nc_objects_lock);
	known = nc_object_find(f->h_root, f->h_object_old);
	mutex_unlock(&nc_objects_lock);
	if (!known || !owns(c, f->h_root))
		return false;
	mutex_lock(&nc_objects_lock);
	object = nc_object_find(f->h_root, f->h_object_old);
	if (object)
		forget_tree(object);
	mutex_unlock(&nc_objects_lock);
	f->status = object ? NV_OK : NV_ERR_OBJECT_NOT_FOUND;
	return true;
}

/* ---- controls ---- */

static bool may_answer(const struct nvos54 *n)
{
	bool may;

	mutex_lock(&nc_objects_lock);
	may = nc_may_answer(n->h_client, n->h_object, n->cmd, n->params_size);
	mutex_unlock(&nc_objects_lock);
	return may;
}

static bool answer(const struct caller *c, struct nvos54 *n, void *params)
{
	u32 status = NV_OK;
	bool done;

	if (n->params_size && !copy_params(c, params, n->p_params, n->params_size)) {
		n->status = NV_ERR_INVALID_ADDRESS;
		return true;
	}
	mutex_lock(&nc_objects_lock);
	done = nc_answer(n->h_client, n->h_object, n->cmd, params, n->params_size, &status);
	mutex_unlock(&nc_objects_lock);
	if (!done)
		return false;
	if (!status && !return_params(c, n->p_params, params, n->params_size))
		status = NV_ERR_INVALID_ADDRESS;
	n->status = status;
	return true;
}

static bool control_call(const struct caller *c, struct nvos54 *n)
{
	void *params;
	bool done;

	if (!may_answer(n) || n->params_size > PARAMS_MAX || !owns(c, n->h_client))
		return false;
	if (!lives(c->sp, n->h_client))
		return false;
	params = kvzalloc(max_t(u32, n->params_size, 1), GFP_KERNEL);
	if (!params)
		return false;
	done = answer(c, n, params);
	kvfree(params);
	return done;
}

/* ---- what is called in the driver's place ---- */

static bool try_ioctl(const struct caller *c, u32 nr, void *data, u32 size)
{
	if (nr == NV_ESC_RM_ALLOC && size == sizeof(struct nvos21))
		return alloc21_call(c, data);
	if (nr == NV_ESC_RM_ALLOC && size == sizeof(struct nvos64))
		return alloc64_call(c, data);
	if (nr == NV_ESC_RM_FREE && size == sizeof(struct nvos00))
		return free_call(c, data);
	if (nr == NV_ESC_RM_CONTROL && size == sizeof(struct nvos54))
		return control_call(c, data);
	return false;
}

static bool ended_client(const struct nvos00 *f)
{
	return f->h_root == f->h_object_old && f->status == NV_OK;
}

static u32 our_ioctl(void *sp, void *state, void *file, u32 nr, void *data, u32 size)
{
	struct caller c = { .user = true, .sp = sp, .state = state, .file = file };
	u32 status;

	if (try_ioctl(&c, nr, data, size))
		return NV_OK;
	status = genuine_ioctl(&c, nr, data, size);
	if (nr == NV_ESC_RM_FREE && size == sizeof(struct nvos00) && ended_client(data))
		sweep(sp);
	return status;
}

static bool try_op(const struct caller *c, struct nv_rm_op *op)
{
	switch (op->op) {
	case NV_RMOP_ALLOC:
		return nc_version->alloc_is_nvos64 ? alloc64_call(c, &op->u.alloc64) :
						     alloc21_call(c, &op->u.alloc21);
	case NV_RMOP_FREE:
		return free_call(c, &op->u.free);
	case NV_RMOP_CONTROL:
		return control_call(c, &op->u.control);
	default:
		return false;
	}
}

static void our_op(void *sp, struct nv_rm_op *op)
{
	struct caller c = { .sp = sp };

	if (try_op(&c, op))
		return;
	genuine_op(sp, op);
	if (op->op == NV_RMOP_FREE && ended_client(&op->u.free))
		sweep(sp);
}

static void our_cleanup(void *sp, void *state, void *file)
{
	void (*call)(void *, void *, void *) = cleanup_redirect->genuine;
	struct nc_inside inside;

	nc_inside_begin(&inside);
	call(sp, state, file);
	nc_inside_end(&inside);
	sweep(sp);
}

struct nc_redirect nc_object_redirects[] = {
	{ .symbol = "rm_ioctl", .target = our_ioctl },
	{ .symbol = "rm_kernel_rmapi_op", .target = our_op },
	{ .symbol = "rm_cleanup_file_private", .target = our_cleanup },
};

const unsigned int nc_object_count = ARRAY_SIZE(nc_object_redirects);

void nc_objects_start(const struct nvabi_version *version)
{
	nc_version = version;
	ioctl_redirect = &nc_object_redirects[0];
	op_redirect = &nc_object_redirects[1];
	cleanup_redirect = &nc_object_redirects[2];
}

void nc_objects_stop(void)
{
	struct nc_object *object, *next;

	mutex_lock(&nc_objects_lock);
	list_for_each_entry_safe(object, next, &objects, link)
		forget(object);
	mutex_unlock(&nc_objects_lock);
}
