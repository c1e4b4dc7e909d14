// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's kernel interface. The only file that knows it.
 *
 * Calls run with kernel privilege and no owner: the driver checks nothing, so
 * nothing that a tenant chose is ever acted on here. gpushare asks for free
 * memory and for whether a handle is still alive, and nothing more.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "gpushare.h"
#include "nvabi/rm_ops.h"

const struct nvabi_version *gsh_version;
char gsh_driver_string[64];
const char *gsh_driver_flavour;

static struct nv_rm_ops ops;

/* For when the driver has no memory for one: what must be given back is given back. A
 * stack may be NULL: the driver's way of saying that it needs none. */
static void *spare_stack; /* spare_lock */
static DEFINE_MUTEX(spare_lock);

struct stack {
	void *sp;
	bool spare;
};

static struct stack stack_get(void)
{
	struct stack stack = {};

	stack.spare = ops.alloc_stack(&stack.sp);
	if (stack.spare) {
		mutex_lock(&spare_lock);
		stack.sp = spare_stack;
	}
	return stack;
}

static void stack_put(struct stack stack)
{
	if (stack.spare)
		mutex_unlock(&spare_lock);
	else
		ops.free_stack(stack.sp);
}

/* The driver may know a longer structure than ours. Each call fills its own of the union whole:
 * GCC 15 zeroes no more of a union than its first member. */
union op_buffer {
	struct nv_rm_op op;
	u8 room[128];
};

static void run(union op_buffer *b)
{
	struct stack stack = stack_get();

	ops.op(stack.sp, b);
	stack_put(stack);
}

u32 gsh_rm_control(u32 h_client, u32 h_object, u32 cmd, void *params, u32 size)
{
	union op_buffer b = { .op.op = NV_RMOP_CONTROL };
	struct nvos54 *c = &b.op.u.control;

	*c = (struct nvos54){
		.h_client = h_client,
		.h_object = h_object,
		.cmd = cmd,
		.p_params = (uintptr_t)params,
		.params_size = size,
		.status = NV_ERR_GENERIC,
	};
	run(&b);
	return c->status;
}

u32 gsh_rm_alloc(u32 h_client, u32 h_parent, u32 *h_new, u32 h_class, void *params, u32 size)
{
	union op_buffer b = { .op.op = NV_RMOP_ALLOC };

	if (gsh_version->alloc_is_nvos64) {
		struct nvos64 *a = &b.op.u.alloc64;

		*a = (struct nvos64){
			.h_root = h_client,
			.h_object_parent = h_parent,
			.h_object_new = *h_new,
			.h_class = h_class,
			.p_alloc_parms = (uintptr_t)params,
			.params_size = size,
			.status = NV_ERR_GENERIC,
		};
		run(&b);
		*h_new = a->h_object_new;
		return a->status;
	}
	b.op.u.alloc21 = (struct nvos21){
		.h_root = h_client,
		.h_object_parent = h_parent,
		.h_object_new = *h_new,
		.h_class = h_class,
		.p_alloc_parms = (uintptr_t)params,
		.params_size = size,
		.status = NV_ERR_GENERIC,
	};
	run(&b);
	*h_new = b.op.u.alloc21.h_object_new;
	return b.op.u.alloc21.status;
}

u32 gsh_rm_free(u32 h_client, u32 h_parent, u32 h_object)
{
	union op_buffer b = { .op.op = NV_RMOP_FREE };

	b.op.u.free = (struct nvos00){
		.h_root = h_client,
		.h_object_parent = h_parent,
		.h_object_old = h_object,
		.status = NV_ERR_GENERIC,
	};
	run(&b);
	return b.op.u.free.status;
}

/*
 * A control that names a client which is gone costs an error line in the kernel log
 * (src/nvidia/interface/deprecated/rmapi_deprecated_control.c, RmDeprecatedGetControlHandler).
 * Sharing the object 0, which no client has, finds the client first and is silent
 * (src/nvidia/src/libraries/resserv/src/rs_server.c, serverShareResourceAccess).
 */
static bool client_exists(u32 h_client)
{
	union op_buffer b = { .op.op = NV_RMOP_SHARE };
	struct nvos57 *share = (struct nvos57 *)b.op.u.raw;

	*share = (struct nvos57){ .h_client = h_client, .status = NV_ERR_GENERIC };
	run(&b);
	/* Only a clear "no such" counts: whatever else it is stays charged. The last is
	 * 535's word where a later client is in the same bucket (_serverFindClientEntry). */
	return share->status != NV_ERR_INVALID_CLIENT &&
	       share->status != NV_ERR_INVALID_OBJECT_HANDLE &&
	       share->status != NV_ERR_INVALID_OBJECT;
}

bool gsh_rm_exists(u32 h_client, u32 h_object, u32 *h_class)
{
	struct nv0000_handle_info info = { .h_object = h_object, .index = 2 };
	u32 status;

	if (!h_object)
		return client_exists(h_client);
	status = gsh_rm_control(h_client, h_client, NV0000_CTRL_CLIENT_GET_HANDLE_INFO, &info,
				sizeof(info));
	if (h_class)
		*h_class = info.data_h_result;
	return status != NV_ERR_INVALID_CLIENT && status != NV_ERR_OBJECT_NOT_FOUND &&
	       status != NV_ERR_INVALID_OBJECT_HANDLE;
}

int gsh_rm_enumerate(u32 *gpu_ids, u32 max)
{
	struct nv_gpu_info *info = kcalloc(NV_MAX_GPUS, sizeof(*info), GFP_KERNEL);
	u32 i, n;

	if (!info)
		return -ENOMEM;
	n = min(ops.enumerate_gpus(info), max);
	for (i = 0; i < n; i++)
		gpu_ids[i] = info[i].gpu_id;
	kfree(info);
	return n;
}

int gsh_rm_open_gpu(u32 gpu_id)
{
	struct stack stack = stack_get();
	int err;

	if (gsh_version->open_gpu_has_bool)
		err = ops.open_gpu_595(gpu_id, stack.sp, false);
	else
		err = ops.open_gpu(gpu_id, stack.sp);
	stack_put(stack);
	return err;
}

void gsh_rm_close_gpu(u32 gpu_id)
{
	struct stack stack = stack_get();

	if (gsh_version->open_gpu_has_bool)
		ops.close_gpu_595(gpu_id, stack.sp, false);
	else
		ops.close_gpu(gpu_id, stack.sp);
	stack_put(stack);
}

/* The table is a header's: these are the one place that has it in this module. */
const struct nvabi_version *gsh_versions(u32 *count)
{
	return nvabi_versions(count);
}

void gsh_version_nearest(char *text, u32 bytes)
{
	nvabi_version_nearest(gsh_driver_string, text, bytes);
}

/* By the module that answers. The proprietary flavour has the same name, but from 565
 * on it does not let a GPL module link, and before that a GPL-only symbol of ours
 * keeps it out. */
static const char *flavour(void)
{
	char name[64]; /* "symbol [module]" */

	snprintf(name, sizeof(name), "%ps", (void *)nvidia_get_rm_ops);
	return strstr(name, "[nvsim]") ? "nvsim" : strstr(name, "[nvidia]") ? "open" : NULL;
}

/* A wrong version string is answered with the driver's own. */
int gsh_rmops_init(void)
{
	ops.version_string = "";
	nvidia_get_rm_ops(&ops);
	if (!ops.version_string)
		return -ENODEV;
	strscpy(gsh_driver_string, ops.version_string, sizeof(gsh_driver_string));
	gsh_driver_flavour = flavour();
	gsh_version = nvabi_version_find(gsh_driver_string);
	if (!gsh_version)
		return 0; /* shown by info; creating a tenant is refused */
	ops.version_string = gsh_driver_string;
	if (nvidia_get_rm_ops(&ops) != NV_OK)
		return -EPROTO;
	return ops.alloc_stack(&spare_stack) ? -ENOMEM : 0;
}

void gsh_rmops_exit(void)
{
	if (gsh_version)
		ops.free_stack(spare_stack);
}
