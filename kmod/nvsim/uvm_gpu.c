// SPDX-License-Identifier: GPL-2.0
/* GPUs, GPU address spaces and channels of a managed-memory space. */

#include <linux/cred.h>
#include <linux/sched.h>

#include "nvsim/uvm.h"

/* NV_PROCESSOR_UUID_CPU_DEFAULT: kernel-open/nvidia-uvm/nvCpuUuid.c */
static const u8 cpu_uuid[16] = {
	0xa6, 0x5e, 0x0f, 0x4e, 0xd7, 0xd4, 0x7b, 0xa2,
	0x50, 0x47, 0x41, 0x2c, 0x14, 0x2a, 0x77, 0x73,
};

bool uvm_is_cpu(const u8 *uuid)
{
	return !memcmp(uuid, cpu_uuid, sizeof(cpu_uuid));
}

struct sim_card *uvm_card(struct sim_uvm_space *space, const u8 *uuid)
{
	struct sim_card *card = sim_card_by_uuid(uuid);

	lockdep_assert_held(&space->lock);
	return card && space->gpus[card->index].registered ? card : NULL;
}

struct sim_vaspace *uvm_vaspace(struct sim_uvm_space *space, const u8 *uuid)
{
	struct sim_card *card = uvm_card(space, uuid);

	return card ? space->gpus[card->index].vaspace : NULL;
}

/* UVM duplicates with the caller's own rights (flag "reject kernel privilege"). */
bool uvm_client_usable(const struct sim_client *client)
{
	if (!client->pid)
		return false;
	return client->tgid == current->tgid || uid_eq(client->uid, current_euid()) ||
	       client->share_all;
}

/* ---- GPUs ---- */

u32 uvm_register_gpu(struct sim_uvm_space *space, void *params)
{
	struct uvm_register_gpu *p = params;
	struct sim_card *card = sim_card_by_uuid(p->gpu_uuid);
	u32 status = NV_OK;

	if (!card)
		return NV_ERR_GENERIC; /* measured */
	if (READ_ONCE(card->lost))
		return NV_ERR_GPU_IS_LOST;
	if (!sim_card_open_here(card))
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	down_write(&space->lock);
	if (space->gpus[card->index].registered)
		status = NV_ERR_INVALID_DEVICE;
	else
		space->gpus[card->index].registered = true;
	up_write(&space->lock);
	p->numa_enabled = 0;
	p->numa_node_id = U32_MAX;
	return status;
}

static void forget_vaspace(struct uvm_gpu *gpu)
{
	if (!gpu->vaspace)
		return;
	sim_vaspace_unmap(gpu->vaspace, 0, ULONG_MAX, true, 0, 0);
	down_write(&gpu->vaspace->lock);
	gpu->vaspace->uvm = NULL;
	up_write(&gpu->vaspace->lock);
	sim_vaspace_put(gpu->vaspace);
	gpu->vaspace = NULL;
}

static void move_off(struct sim_uvm_space *space, struct sim_card *card)
{
	struct uvm_range *range;
	u64 from = 0;

	down_read(&space->ranges_lock);
	while ((range = uvm_range_first(space, from, ULONG_MAX))) {
		if (range->backing && READ_ONCE(range->backing->resident.card) == card)
			sim_resident_move(&range->backing->resident, NULL, 0, ULONG_MAX);
		if (range->node.last == ULONG_MAX)
			break;
		from = range->node.last + 1;
	}
	up_read(&space->ranges_lock);
}

static void gpu_remove(struct sim_uvm_space *space, struct sim_card *card)
{
	struct uvm_gpu *gpu = &space->gpus[card->index];

	forget_vaspace(gpu);
	gpu->registered = false;
	move_off(space, card);
}

u32 uvm_unregister_gpu(struct sim_uvm_space *space, void *params)
{
	struct uvm_unregister_gpu *p = params;
	struct sim_card *card;

	down_write(&space->lock);
	card = uvm_card(space, p->gpu_uuid);
	if (card)
		gpu_remove(space, card);
	up_write(&space->lock);
	return card ? NV_OK : NV_ERR_INVALID_DEVICE;
}

void uvm_gpus_remove_all(struct sim_uvm_space *space)
{
	struct sim_card *card;
	unsigned int i;

	down_write(&space->lock);
	sim_for_each_card(card, i)
		gpu_remove(space, card);
	up_write(&space->lock);
}

u32 uvm_peer_access(struct sim_uvm_space *space, void *params)
{
	const u8 *p = params;
	bool fine;

	down_read(&space->lock);
	fine = uvm_card(space, p) && uvm_card(space, p + 16) && memcmp(p, p + 16, 16);
	up_read(&space->lock);
	return fine ? NV_OK : NV_ERR_INVALID_DEVICE;
}

/* ---- address spaces ---- */

static u32 vaspace_get(u32 h_client, u32 h_vaspace, struct sim_card *card,
		       struct sim_vaspace **vaspace)
{
	struct sim_client *client;
	struct sim_object *object = NULL;
	u32 status = NV_OK;

	down_read(&sim_rm_lock);
	client = sim_client_find(h_client);
	if (client)
		object = sim_object_find(client, h_vaspace);
	if (!client)
		status = NV_ERR_INVALID_CLIENT;
	else if (!uvm_client_usable(client))
		status = NV_ERR_INSUFFICIENT_PERMISSIONS;
	else if (!object || !object->vaspace)
		status = NV_ERR_OBJECT_NOT_FOUND;
	else if (object->vaspace->card != card)
		status = NV_ERR_OTHER_DEVICE_FOUND;
	else
		*vaspace = sim_vaspace_get(object->vaspace);
	up_read(&sim_rm_lock);
	return status;
}

static u32 vaspace_tie(struct sim_uvm_space *space, struct sim_vaspace *vaspace)
{
	bool taken;

	down_write(&vaspace->lock);
	taken = vaspace->uvm;
	if (!taken)
		vaspace->uvm = space;
	up_write(&vaspace->lock);
	return taken ? NV_ERR_INVALID_STATE : uvm_semaphores_on_gpu(space, vaspace);
}

u32 uvm_register_vaspace(struct sim_uvm_space *space, void *params)
{
	struct uvm_register_gpu_vaspace *p = params;
	struct sim_vaspace *vaspace = NULL;
	struct uvm_gpu *gpu;
	struct sim_card *card;
	u32 status = NV_ERR_INVALID_DEVICE;

	down_write(&space->lock);
	card = uvm_card(space, p->gpu_uuid);
	gpu = card ? &space->gpus[card->index] : NULL;
	if (gpu && !gpu->vaspace)
		status = vaspace_get(p->h_client, p->h_va_space, card, &vaspace);
	if (!status)
		status = vaspace_tie(space, vaspace);
	if (!status)
		gpu->vaspace = vaspace;
	else
		sim_vaspace_put(vaspace);
	up_write(&space->lock);
	return status;
}

u32 uvm_unregister_vaspace(struct sim_uvm_space *space, void *params)
{
	struct uvm_unregister_gpu_vaspace *p = params;
	struct sim_card *card;
	u32 status = NV_ERR_INVALID_DEVICE;

	down_write(&space->lock);
	card = uvm_card(space, p->gpu_uuid);
	if (card && space->gpus[card->index].vaspace) {
		forget_vaspace(&space->gpus[card->index]);
		status = NV_OK;
	}
	up_write(&space->lock);
	return status;
}

/* ---- channels: only that they are there ---- */

u32 uvm_register_channel(struct sim_uvm_space *space, void *params)
{
	struct uvm_register_channel *p = params;
	struct sim_client *client;
	struct sim_object *object = NULL;
	bool ready;

	down_read(&space->lock);
	ready = uvm_vaspace(space, p->gpu_uuid);
	up_read(&space->lock);
	if (!ready)
		return NV_ERR_INVALID_DEVICE;
	down_read(&sim_rm_lock);
	client = sim_client_find(p->h_client);
	if (client && uvm_client_usable(client))
		object = sim_object_find(client, p->h_channel);
	if (object && !object->exec)
		object = NULL;
	up_read(&sim_rm_lock);
	return object ? NV_OK : NV_ERR_INVALID_CHANNEL;
}

u32 uvm_unregister_channel(struct sim_uvm_space *space, void *params)
{
	return NV_OK;
}
