// SPDX-License-Identifier: GPL-2.0
/* The simulated cards: identity and figures. */

#include <linux/slab.h>

#include "nvsim/internal.h"

/* Where the cards sit on the pretended PCI bus: 0000:41:00.0, 0000:42:00.0 and on. */
#define FIRST_BUS 0x41

struct sim_card *sim_cards[SIM_MAX_CARDS];

/* Fixed for an index, so that tests may name it. */
static void make_uuid(struct sim_card *card)
{
	static const u8 seed[16] = {
		0x6e, 0x76, 0x73, 0x69, 0x6d, 0x00, 0x40, 0x00,
		0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};

	memcpy(card->uuid, seed, sizeof(card->uuid));
	card->uuid[15] = card->index + 1;
	snprintf(card->uuid_text, sizeof(card->uuid_text), "GPU-%pUb", card->uuid);
}

static void card_destroy(struct sim_card *card)
{
	WARN_ON(card->object_bytes || card->overhead_bytes || card->managed_bytes);
	mutex_destroy(&card->heap_lock);
	kfree(card);
}

static int card_create(unsigned int index)
{
	struct sim_card *card = kzalloc(sizeof(*card), GFP_KERNEL);
	int err;

	if (!card)
		return -ENOMEM;
	card->index = index;
	card->minor = index;
	card->bus = FIRST_BUS + index;
	card->gpu_id = card->domain << 16 | card->bus << 8 | card->slot;
	make_uuid(card);
	card->total_bytes = SIM_MIB(sim_params.memory_mib);
	card->reserved_bytes = SIM_MIB(sim_params.reserved_mib);
	mutex_init(&card->heap_lock);
	card->extents = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&card->memories);
	INIT_LIST_HEAD(&card->residents);
	card->model = sim_model_find(sim_params.model);
	sim_debugfs_card(card);
	err = card->model ? sim_exec_card_start(card) : -EINVAL;
	if (err) {
		card_destroy(card);
		return err;
	}
	sim_cards[index] = card;
	return 0;
}

void sim_cards_destroy(void)
{
	unsigned int i = SIM_MAX_CARDS;

	sim_rm_ops_exit();
	while (i--) {
		if (!sim_cards[i])
			continue;
		sim_exec_card_stop(sim_cards[i]);
		card_destroy(sim_cards[i]);
		sim_cards[i] = NULL;
	}
}

int sim_cards_create(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < sim_params.cards; i++) {
		err = card_create(i);
		if (err) {
			sim_cards_destroy();
			return err;
		}
	}
	return 0;
}

struct sim_card *sim_card_by_gpu_id(u32 gpu_id)
{
	struct sim_card *card;
	unsigned int i;

	sim_for_each_card(card, i)
		if (card->gpu_id == gpu_id)
			return card;
	return NULL;
}

struct sim_card *sim_card_by_minor(unsigned int minor)
{
	return minor < SIM_MAX_CARDS ? sim_cards[minor] : NULL;
}

struct sim_card *sim_card_by_instance(u32 instance)
{
	return sim_card_by_minor(instance);
}

struct sim_card *sim_card_by_uuid(const u8 uuid[16])
{
	struct sim_card *card;
	unsigned int i;

	sim_for_each_card(card, i)
		if (!memcmp(card->uuid, uuid, sizeof(card->uuid)))
			return card;
	return NULL;
}
