// SPDX-License-Identifier: GPL-2.0-only
/*
 * Controls of channel groups and channels, and the subdevice's over them. What they set
 * is looked at by the executor under its lock: when a call that stops a channel returns,
 * the channel does not run.
 */

#include "nvsim/ctrl.h"
#include "nvsim/exec.h"

#define PREEMPT_MAX_US    1000000
#define INTERLEAVE_LEVELS 3

static struct sim_exec *exec_of(const struct sim_object *object)
{
	return object->card->exec;
}

/* ---- groups ---- */

static u32 group_schedule(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct nva06c_schedule *p = params;
	struct sim_group *group = object->exec;
	struct sim_exec *exec = exec_of(object);
	struct sim_channel *channel;

	mutex_lock(&exec->lock);
	group->scheduled = p->enable;
	list_for_each_entry(channel, &exec->channels, link)
		if (channel->group == group)
			channel->scheduled = p->enable;
	mutex_unlock(&exec->lock);
	sim_exec_kick(object->card);
	return NV_OK;
}

static u32 set_timeslice(struct sim_call *call, struct sim_object *object, void *params)
{
	struct sim_group *group = object->exec;
	u64 us = *(u64 *)params;

	if (!us)
		return NV_ERR_INVALID_ARGUMENT;
	mutex_lock(&exec_of(object)->lock);
	group->timeslice_us = us;
	mutex_unlock(&exec_of(object)->lock);
	return NV_OK;
}

static u32 get_timeslice(struct sim_call *call, struct sim_object *object, void *params)
{
	struct sim_group *group = object->exec;

	mutex_lock(&exec_of(object)->lock);
	*(u64 *)params = group->timeslice_us;
	mutex_unlock(&exec_of(object)->lock);
	return NV_OK;
}

/* Having had the lock, the group was off the engine for a moment. */
static u32 preempt(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct nva06c_preempt *p = params;
	struct sim_group *group = object->exec;

	if (p->own_timeout && p->timeout_us > PREEMPT_MAX_US)
		return NV_ERR_INVALID_ARGUMENT;
	mutex_lock(&exec_of(object)->lock);
	group->preempts++;
	mutex_unlock(&exec_of(object)->lock);
	return NV_OK;
}

static u32 set_interleave(struct sim_call *call, struct sim_object *object, void *params)
{
	struct sim_group *group = object->exec;
	u32 level = *(u32 *)params;

	if (level >= INTERLEAVE_LEVELS)
		return NV_ERR_INVALID_ARGUMENT;
	mutex_lock(&exec_of(object)->lock);
	group->interleave = level;
	mutex_unlock(&exec_of(object)->lock);
	return NV_OK;
}

/* ---- channels ---- */

static u32 channel_schedule(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct nva06c_schedule *p = params;
	struct sim_channel *channel = object->exec;

	mutex_lock(&exec_of(object)->lock);
	channel->scheduled = p->enable;
	mutex_unlock(&exec_of(object)->lock);
	sim_exec_kick(object->card);
	return NV_OK;
}

static u32 channel_stop(struct sim_call *call, struct sim_object *object, void *params)
{
	struct sim_channel *channel = object->exec;

	mutex_lock(&exec_of(object)->lock);
	channel->stopped = true;
	mutex_unlock(&exec_of(object)->lock);
	return NV_OK;
}

/* Its work is dropped; it runs on with what comes after. */
static u32 channel_reset(struct sim_call *call, struct sim_object *object, void *params)
{
	struct sim_channel *channel = object->exec;

	mutex_lock(&exec_of(object)->lock);
	sim_channel_forget_work(channel);
	mutex_unlock(&exec_of(object)->lock);
	return NV_OK;
}

static u32 submit_token(struct sim_call *call, struct sim_object *object, void *params)
{
	struct sim_channel *channel = object->exec;

	*(u32 *)params = channel->id;
	return NV_OK;
}

/* What a client puts into SET_OBJECT for an object of its own. */
static u32 class_engine(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv906f_class_engine *p = params;
	struct sim_object *engine = sim_object_find(object->client, p->h_object);

	if (!engine || engine->parent != object)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	p->class_id = engine->h_class;
	p->engine = (engine->h_class & 0xff) == 0xb5 ? NV2080_ENGINE_COPY0 : NV2080_ENGINE_GRAPHICS;
	p->class_engine = engine->h_class;
	return NV_OK;
}

static u32 fault_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct sim_channel *channel = object->exec;
	u32 *p = params; /* address upper, lower, type; a text and addresses of programs */

	memset(p, 0, 104);
	mutex_lock(&exec_of(object)->lock);
	p[0] = upper_32_bits(channel->fault_va);
	p[1] = lower_32_bits(channel->fault_va);
	mutex_unlock(&exec_of(object)->lock);
	return NV_OK;
}

static u32 channel_notification(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct nva06f_set_notification *p = params;

	return sim_event_arm(object, p->event, p->action);
}

/* ---- of the whole card ---- */

/* Channels may be any client's: the driver does not ask whose (abi, section 8). */
static u32 find_channel(const struct sim_object *subdevice, u32 h_client, u32 h_channel,
			struct sim_channel **channel)
{
	struct sim_client *client = sim_client_find(h_client);

	if (!client)
		return NV_ERR_INVALID_CLIENT;
	*channel = sim_channel_of(sim_object_find(client, h_channel));
	if (!*channel || (*channel)->card != subdevice->card)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	return NV_OK;
}

static void disable_one(struct sim_channel *channel, const struct nv2080_disable_channels *p)
{
	channel->disabled = p->disable;
	if (p->disable && p->rewind)
		sim_channel_forget_work(channel);
}

/* All or none. */
static u32 disable_channels(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct nv2080_disable_channels *p = params;
	struct sim_exec *exec = exec_of(object);
	struct sim_channel *channel;
	u32 i, status;

	if (p->event && !call->kernel)
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	if (p->count > NV2080_FIFO_DISABLE_MAX)
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < p->count; i++) {
		status = find_channel(object, p->clients[i], p->channels[i], &channel);
		if (status != NV_OK)
			return status;
	}
	mutex_lock(&exec->lock);
	for (i = 0; i < p->count; i++)
		if (find_channel(object, p->clients[i], p->channels[i], &channel) == NV_OK)
			disable_one(channel, p);
	mutex_unlock(&exec->lock);
	sim_exec_kick(object->card);
	return NV_OK;
}

static u32 allocated_channels(struct sim_call *call, struct sim_object *object, void *params)
{
	struct sim_exec *exec = exec_of(object);
	u32 *p = params, *mask = p + 1; /* run list, then a bit for each channel */
	struct sim_channel *channel;

	memset(mask, 0, 512);
	mutex_lock(&exec->lock);
	list_for_each_entry(channel, &exec->channels, link)
		if (channel->id < 4096)
			mask[channel->id / 32] |= BIT(channel->id % 32);
	mutex_unlock(&exec->lock);
	return NV_OK;
}

const struct sim_ctrl sim_ctrl_fifo[] = {
	{ NVA06C_CTRL_GPFIFO_SCHEDULE, 2, 0, group_schedule },
	{ NVA06C_CTRL_SET_TIMESLICE, 8, 0, set_timeslice },
	{ NVA06C_CTRL_GET_TIMESLICE, 8, 0, get_timeslice },
	{ NVA06C_CTRL_PREEMPT, 8, 0, preempt },
	{ NVA06C_CTRL_SET_INTERLEAVE, 4, SIM_CTRL_NICE, set_interleave },
	{ NVA06F_CTRL_GPFIFO_SCHEDULE, 2, 0, channel_schedule },
	{ NVA06F_CTRL_BIND, 4, 0, sim_ctrl_accept },
	{ NVA06F_CTRL_STOP_CHANNEL, 1, 0, channel_stop },
	{ NVA06F_CTRL_EVENT_SET_NOTIFICATION, 8, SIM_CTRL_WRITE, channel_notification },
	{ NV906F_CTRL_GET_CLASS_ENGINEID, 16, 0, class_engine },
	{ NV906F_CTRL_RESET_CHANNEL, 12, 0, channel_reset },
	{ NVC36F_CTRL_GET_CLASS_ENGINEID, 16, 0, class_engine },
	{ NVC36F_CTRL_RESET_CHANNEL, 12, 0, channel_reset },
	{ NVC36F_CTRL_GPFIFO_SCHEDULE, 2, 0, channel_schedule },
	{ NVC36F_CTRL_BIND, 4, 0, sim_ctrl_accept },
	{ NVC36F_CTRL_GET_MMU_FAULT_INFO, 104, 0, fault_info },
	{ NVC36F_CTRL_GET_WORK_SUBMIT_TOKEN, 4, 0, submit_token },
	{ NVC36F_CTRL_SET_TOKEN_NOTIF_INDEX, 4, 0, sim_ctrl_accept },
	{ NVC36F_CTRL_EVENT_SET_NOTIFICATION, 8, SIM_CTRL_WRITE, channel_notification },
	{ NV2080_CTRL_FIFO_DISABLE_CHANNELS, 536, 0, disable_channels },
	{ NV2080_CTRL_FIFO_RUNLIST_SET_POLICY, 8, SIM_CTRL_NICE, sim_ctrl_accept },
	{ NV2080_CTRL_FIFO_DISABLE_USERMODE, 1, SIM_CTRL_KERNEL, sim_ctrl_accept },
	{ NV2080_CTRL_FIFO_GET_ALLOCATED_CHANNELS, 516, SIM_CTRL_ADMIN, allocated_channels },
};
const size_t sim_ctrl_fifo_count = ARRAY_SIZE(sim_ctrl_fifo);
