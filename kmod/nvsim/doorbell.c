// SPDX-License-Identifier: GPL-2.0
/* Usermode objects: the page whose word at 0x90 tells a card that there is work. */

#include <linux/mm.h>
#include <linux/slab.h>

#include "nvsim/internal.h"

#define REGION_BYTES SZ_64K /* NVC361: src/common/sdk/nvidia/inc/class/clc361.h */
#define TOKEN_OFFSET 0x90

LIST_HEAD(sim_doorbells);
DEFINE_SPINLOCK(sim_doorbell_lock);

static u32 construct_usermode(struct sim_call *call, struct sim_object *object, void *params)
{
	struct sim_memory_spec spec = {
		.kind = SIM_MEMORY_DOORBELL,
		.card = object->card,
		.bytes = REGION_BYTES,
		.h_client = object->client->handle,
		.h_object = object->handle,
		.h_class = object->h_class,
	};
	struct sim_doorbell *doorbell = kzalloc(sizeof(*doorbell), GFP_KERNEL_ACCOUNT);
	struct page *page = NULL;
	struct sim_memory *memory;
	u32 status = NV_ERR_NO_MEMORY;

	if (doorbell)
		status = sim_memory_create(&spec, &memory);
	if (status)
		goto free;
	page = sim_memory_page(memory, 0);
	if (!page) {
		sim_memory_disown(memory);
		status = NV_ERR_NO_MEMORY;
		goto free;
	}
	sim_object_set_memory(object, memory);
	doorbell->card = object->card;
	doorbell->h_client = object->client->handle;
	doorbell->memory = sim_memory_get(memory);
	doorbell->token = page_address(page) + TOKEN_OFFSET;
	object->core = doorbell;
	spin_lock(&sim_doorbell_lock);
	list_add_tail(&doorbell->link, &sim_doorbells);
	spin_unlock(&sim_doorbell_lock);
	atomic_inc(&sim_counts.doorbells);
	return NV_OK;
free:
	kfree(doorbell);
	return status;
}

static void destruct_usermode(struct sim_object *object)
{
	struct sim_doorbell *doorbell = object->core;

	if (!doorbell) /* a duplicate: the first one rings */
		return;
	object->core = NULL;
	spin_lock(&sim_doorbell_lock);
	list_del(&doorbell->link);
	spin_unlock(&sim_doorbell_lock);
	sim_memory_put(doorbell->memory);
	kfree(doorbell);
	atomic_dec(&sim_counts.doorbells);
}

#define USERMODE(number)                                      \
	{ .id = (number),                                     \
	  .flags = SIM_CLASS_ON_DEVICE | SIM_CLASS_ON_SUBDEV, \
	  .construct = construct_usermode,                    \
	  .destruct = destruct_usermode }

const struct sim_class sim_usermode_classes[] = {
	USERMODE(VOLTA_USERMODE_A),  USERMODE(TURING_USERMODE_A),    USERMODE(AMPERE_USERMODE_A),
	USERMODE(HOPPER_USERMODE_A), USERMODE(BLACKWELL_USERMODE_A),
};
const size_t sim_usermode_class_count = ARRAY_SIZE(sim_usermode_classes);
