// SPDX-License-Identifier: GPL-2.0
/* RM_CONTROL: look the command up, copy, lock, check, call. The answers are in ctrl_*.c. */

#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "nvsim/internal.h"
#include "nvsim/refused.h"

#define PARAMS_MAX SZ_1M

static u32 check_rights(const struct sim_call *call, const struct sim_ctrl *ctrl)
{
	if ((ctrl->flags & SIM_CTRL_KERNEL) && !call->kernel)
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	if ((ctrl->flags & SIM_CTRL_ADMIN) && !call->admin)
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	if ((ctrl->flags & SIM_CTRL_NICE) && !call->kernel && !capable(CAP_SYS_NICE))
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	return NV_OK;
}

static u32 check_size(const struct sim_ctrl *ctrl, u32 size)
{
	if (ctrl->flags & SIM_CTRL_ANYSIZE)
		return size <= SZ_64K ? NV_OK : NV_ERR_INVALID_ARGUMENT;
	return size == ctrl->size ? NV_OK : NV_ERR_INVALID_ARGUMENT;
}

static bool card_is_there(const struct sim_object *object)
{
	return !object->card || !READ_ONCE(object->card->lost);
}

/* sim_rm_lock held, whichever way the command wants. */
static u32 control_locked(struct sim_call *call, const struct nvos54 *p,
			  const struct sim_ctrl *ctrl, void *params)
{
	struct sim_client *client;
	struct sim_object *object;
	u32 status = sim_client_get(call, p->h_client, &client);

	if (status)
		return status;
	object = sim_object_find(client, p->h_object);
	if (!object)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (!card_is_there(object))
		return NV_ERR_GPU_IS_LOST;
	if (!ctrl || !sim_ctrl_fits(ctrl, object)) {
		sim_refused(ctrl ? SIM_REFUSED_OBJECT : SIM_REFUSED_CONTROL, p->cmd,
			    p->params_size);
		return NV_ERR_NOT_SUPPORTED;
	}
	status = check_size(ctrl, p->params_size);
	if (status)
		sim_refused(SIM_REFUSED_SIZE, p->cmd, p->params_size);
	else
		status = check_rights(call, ctrl);
	return status ?: ctrl->handle(call, object, params);
}

static u32 control_under_lock(struct sim_call *call, const struct nvos54 *p,
			      const struct sim_ctrl *ctrl, void *params)
{
	u32 status;

	if (ctrl && (ctrl->flags & SIM_CTRL_WRITE)) {
		down_write(&sim_rm_lock);
		status = control_locked(call, p, ctrl, params);
		up_write(&sim_rm_lock);
	} else {
		down_read(&sim_rm_lock);
		status = control_locked(call, p, ctrl, params);
		up_read(&sim_rm_lock);
	}
	return status;
}

/* Parameters go back whatever the status: some handlers say there why. */
u32 sim_object_control(struct sim_call *call, struct nvos54 *p)
{
	const struct sim_ctrl *ctrl = sim_ctrl_find(p->cmd);
	bool copies = ctrl && !check_size(ctrl, p->params_size) && p->params_size;
	void *params = NULL;
	u32 status;

	/* Nothing asked of a class, whoever asks (535.261.03 src/nvidia/src/kernel/rmapi/control.c). */
	if (!(p->cmd & 0x3fff))
		return NV_OK;
	status = sim_fault_before(SIM_SITE_CONTROL, p->cmd, NULL);
	if (status || p->params_size > PARAMS_MAX)
		return status ?: NV_ERR_INVALID_ARGUMENT;
	if (copies) {
		params = kvzalloc(p->params_size, GFP_KERNEL_ACCOUNT);
		status = params ? sim_copy_in(call, params, p->p_params, p->params_size) :
				  NV_ERR_NO_MEMORY;
	}
	if (!status) {
		status = control_under_lock(call, p, ctrl, params);
		sim_fault_after(SIM_SITE_CONTROL, p->cmd);
		if (copies && sim_copy_out(call, p->p_params, params, p->params_size))
			status = status ?: NV_ERR_INVALID_ADDRESS;
	}
	kvfree(params);
	return status;
}
