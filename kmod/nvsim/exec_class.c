// SPDX-License-Identifier: GPL-2.0-only
/* Objects of the executor: channel groups, context shares, channels, engine objects. */

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "nvsim/exec.h"

#define TIMESLICE_US  1024 /* of a new group */
#define IDLE_CHECK_US 200

/* ---- groups ---- */

static u32 group_construct(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct nv_channel_group_alloc *p = params;
	struct sim_vaspace *vaspace;
	struct sim_group *group;
	u32 status;

	vaspace = sim_vaspace_lookup(object->client, sim_object_above(object, NV01_DEVICE_0),
				     p ? p->h_va_space : 0);
	if (!vaspace)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	group = kzalloc(sizeof(*group), GFP_KERNEL);
	if (!group)
		return NV_ERR_NO_MEMORY;
	group->overhead_bytes = (u64)sim_params.group_overhead_kib << 10;
	status = sim_overhead_take(object->card, group->overhead_bytes);
	if (status != NV_OK) {
		kfree(group);
		return status;
	}
	group->vaspace = sim_vaspace_get(vaspace);
	group->timeslice_us = TIMESLICE_US;
	group->engine = p ? p->engine_type : 0;
	object->exec = group;
	return NV_OK;
}

static void group_destruct(struct sim_object *object)
{
	struct sim_group *group = object->exec;

	if (!group)
		return;
	sim_overhead_give(object->card, group->overhead_bytes);
	sim_vaspace_put(group->vaspace);
	object->exec = NULL;
	kfree(group);
}

struct sim_group *sim_group_of(struct sim_object *object)
{
	return object && object->h_class == KEPLER_CHANNEL_GROUP_A ? object->exec : NULL;
}

/* ---- context shares ---- */

static u32 share_construct(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct nv_ctxshare_alloc *p = params;
	struct sim_group *group = sim_group_of(object->parent);
	struct sim_vaspace *vaspace = group ? group->vaspace : NULL;
	struct sim_share *share;

	if (p && p->h_va_space)
		vaspace = sim_vaspace_lookup(object->client,
					     sim_object_above(object, NV01_DEVICE_0),
					     p->h_va_space);
	if (!vaspace)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	share = kzalloc(sizeof(*share), GFP_KERNEL);
	if (!share)
		return NV_ERR_NO_MEMORY;
	share->vaspace = sim_vaspace_get(vaspace);
	object->exec = share;
	return NV_OK;
}

static void share_destruct(struct sim_object *object)
{
	struct sim_share *share = object->exec;

	if (!share)
		return;
	sim_vaspace_put(share->vaspace);
	object->exec = NULL;
	kfree(share);
}

/* ---- channels ---- */

/* From the context share, else named, else the group's, else the device's. */
static struct sim_vaspace *channel_vaspace(struct sim_object *object,
					   const struct nv_channel_alloc_head *p)
{
	struct sim_group *group = sim_group_of(object->parent);
	struct sim_object *share;

	if (p->h_context_share) {
		share = sim_object_find(object->client, p->h_context_share);
		if (!share || share->h_class != FERMI_CONTEXT_SHARE_A)
			return NULL;
		return ((struct sim_share *)share->exec)->vaspace;
	}
	if (!p->h_va_space && group)
		return group->vaspace;
	return sim_vaspace_lookup(object->client, sim_object_above(object, NV01_DEVICE_0),
				  p->h_va_space);
}

/* The user area: client memory that both sides look into. */
static u32 channel_userd(struct sim_channel *channel, struct sim_object *object,
			 const struct nv_channel_alloc_head *p)
{
	struct sim_object *memory = sim_object_find(object->client, p->h_userd_memory[0]);
	u64 offset = p->userd_offset[0];
	struct page *page;
	u8 *area;

	if (!memory || !memory->memory)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	if (offset % NVC56F_USERD_BYTES || offset >= memory->memory->bytes ||
	    memory->memory->bytes - offset < NVC56F_USERD_BYTES)
		return NV_ERR_INVALID_ARGUMENT;
	page = sim_memory_page(memory->memory, offset >> PAGE_SHIFT);
	if (!page)
		return NV_ERR_NO_MEMORY;
	channel->userd = sim_memory_get(memory->memory);
	area = (u8 *)page_address(page) + offset_in_page(offset);
	channel->put = (u32 *)(area + NVC56F_USERD_GP_PUT);
	channel->get = (u32 *)(area + NVC56F_USERD_GP_GET);
	channel->at = 0;
	WRITE_ONCE(*channel->get, 0);
	return NV_OK;
}

static void channel_notifier(struct sim_channel *channel, struct sim_object *object, u32 h_error)
{
	struct sim_object *memory = h_error ? sim_object_find(object->client, h_error) : NULL;

	if (memory && memory->memory)
		channel->notifier = sim_memory_get(memory->memory);
}

static void channel_free(struct sim_channel *channel)
{
	if (channel->userd)
		sim_memory_put(channel->userd);
	if (channel->notifier)
		sim_memory_put(channel->notifier);
	if (channel->vaspace)
		sim_vaspace_put(channel->vaspace);
	if (channel->overhead_bytes)
		sim_overhead_give(channel->card, channel->overhead_bytes);
	kvfree(channel);
}

static u32 channel_fill(struct sim_channel *channel, struct sim_object *object,
			const struct nv_channel_alloc_head *p)
{
	struct sim_vaspace *vaspace = channel_vaspace(object, p);
	u64 overhead = (u64)sim_params.channel_overhead_kib << 10;
	u32 status;

	if (!vaspace)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	if (!p->gpfifo_entries)
		return NV_ERR_INVALID_ARGUMENT;
	channel->object = object;
	channel->card = object->card;
	channel->group = sim_group_of(object->parent);
	channel->vaspace = sim_vaspace_get(vaspace);
	channel->ring_va = p->gpfifo_offset;
	channel->entries = p->gpfifo_entries;
	channel->engine = p->engine_type;
	status = channel_userd(channel, object, p);
	if (status == NV_OK)
		status = sim_overhead_take(channel->card, overhead);
	if (status != NV_OK)
		return status;
	channel->overhead_bytes = overhead;
	channel_notifier(channel, object, p->h_error);
	return NV_OK;
}

static void channel_join(struct sim_channel *channel)
{
	struct sim_exec *exec = channel->card->exec;

	mutex_lock(&exec->lock);
	channel->id = exec->next_id++;
	channel->scheduled = channel->group && channel->group->scheduled;
	list_add_tail(&channel->link, &exec->channels);
	WRITE_ONCE(exec->channel_count, exec->channel_count + 1);
	mutex_unlock(&exec->lock);
	sim_exec_kick(channel->card);
}

static u32 channel_construct(struct sim_call *call, struct sim_object *object, void *params)
{
	struct sim_channel *channel;
	u32 status;

	if (!params)
		return NV_ERR_INVALID_ARGUMENT;
	channel = kvzalloc(sizeof(*channel), GFP_KERNEL);
	if (!channel)
		return NV_ERR_NO_MEMORY;
	status = channel_fill(channel, object, params);
	if (status != NV_OK) {
		channel->card = object->card;
		channel_free(channel);
		return status;
	}
	object->exec = channel;
	channel_join(channel);
	return NV_OK;
}

static void channel_destruct(struct sim_object *object)
{
	struct sim_channel *channel = object->exec;
	struct sim_exec *exec = object->card->exec;

	if (!channel)
		return;
	mutex_lock(&exec->lock);
	list_del(&channel->link);
	WRITE_ONCE(exec->channel_count, exec->channel_count - 1);
	mutex_unlock(&exec->lock);
	object->exec = NULL;
	channel_free(channel);
}

struct sim_channel *sim_channel_of(struct sim_object *object)
{
	return object && object->class && object->class->construct == channel_construct ?
		       object->exec :
		       NULL;
}

/* As long as asked, but a client can't hold everyone for more than a second. */
u32 sim_channel_idle(struct sim_object *object, u32 timeout_us)
{
	struct sim_channel *channel = sim_channel_of(object);
	u64 end = ktime_get_ns() + min(timeout_us, 1000000u) * 1000ULL;
	bool idle;

	if (!channel)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	for (;;) {
		mutex_lock(&channel->card->exec->lock);
		idle = sim_channel_is_idle(channel);
		mutex_unlock(&channel->card->exec->lock);
		if (idle)
			return NV_OK;
		if (ktime_get_ns() >= end)
			return NV_ERR_TIMEOUT;
		usleep_range(IDLE_CHECK_US, IDLE_CHECK_US * 2);
	}
}

/* ---- the classes ---- */

#define CHANNEL(number)                                      \
	{ .id = (number),                                    \
	  .flags = SIM_CLASS_ON_DEVICE | SIM_CLASS_ON_GROUP, \
	  .construct = channel_construct,                    \
	  .destruct = channel_destruct }
/* An engine object is no more than a name on a channel. */
#define ENGINE(number) { .id = (number), .flags = SIM_CLASS_ON_CHANNEL }

static const struct sim_class classes[] = {
	{ .id = KEPLER_CHANNEL_GROUP_A,
	  .flags = SIM_CLASS_ON_DEVICE,
	  .construct = group_construct,
	  .destruct = group_destruct },
	{ .id = FERMI_CONTEXT_SHARE_A,
	  .flags = SIM_CLASS_ON_GROUP,
	  .construct = share_construct,
	  .destruct = share_destruct },
	CHANNEL(VOLTA_CHANNEL_GPFIFO_A),
	CHANNEL(TURING_CHANNEL_GPFIFO_A),
	CHANNEL(AMPERE_CHANNEL_GPFIFO_A),
	ENGINE(AMPERE_COMPUTE_A),
	ENGINE(AMPERE_COMPUTE_B),
	ENGINE(AMPERE_DMA_COPY_A),
	ENGINE(AMPERE_DMA_COPY_B),
	ENGINE(FERMI_TWOD_A),
	ENGINE(KEPLER_INLINE_TO_MEMORY_B),
	ENGINE(AMPERE_A),
	ENGINE(AMPERE_B),
	ENGINE(AMPERE_NVDEC),
	ENGINE(NVENC_AMPERE),
};

int sim_exec_init(void)
{
	sim_class_add(classes, ARRAY_SIZE(classes));
	return 0;
}

void sim_exec_exit(void)
{
}
