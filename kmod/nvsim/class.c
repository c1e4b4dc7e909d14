// SPDX-License-Identifier: GPL-2.0
/* Which classes there are, and devices. nvabi/classes.h says how many bytes each takes. */

#include <linux/slab.h>

#include "nvsim/internal.h"

struct class_table {
	struct list_head link;
	const struct sim_class *classes;
	size_t count;
};

static LIST_HEAD(tables); /* filled while the module starts, then read only */

void sim_class_add(const struct sim_class *classes, size_t count)
{
	struct class_table *table = kzalloc(sizeof(*table), GFP_KERNEL | __GFP_NOFAIL);

	table->classes = classes;
	table->count = count;
	list_add(&table->link, &tables);
}

const struct sim_class *sim_class_find(u32 id)
{
	struct class_table *table;
	size_t i;

	list_for_each_entry(table, &tables, link)
		for (i = 0; i < table->count; i++)
			if (table->classes[i].id == id)
				return &table->classes[i];
	return NULL;
}

static u32 no_such_device(void)
{
	/* Measured: 535 says class, 550 says state. */
	return sim_abi->branch < 550 ? NV_ERR_INVALID_CLASS : NV_ERR_INVALID_STATE;
}

static u32 construct_device(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct nv0080_alloc *p = params;
	struct sim_card *card = sim_card_by_instance(p ? p->device_id : 0);

	if (!card)
		return no_such_device();
	if (READ_ONCE(card->lost))
		return NV_ERR_GPU_IS_LOST;
	/* src/nvidia/src/kernel/gpu/device.c: users must have the card open themselves */
	if (!call->kernel && !sim_card_open_here(card))
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	object->card = card;
	object->vaspace = sim_vaspace_create(card);
	return object->vaspace ? NV_OK : NV_ERR_NO_MEMORY;
}

static u32 construct_subdevice(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct nv2080_alloc *p = params;

	return p && p->sub_device_id ? NV_ERR_INVALID_ARGUMENT : NV_OK;
}

static u32 construct_vaspace(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv_vaspace_alloc *p = params;

	object->vaspace = sim_vaspace_create(object->card);
	if (!object->vaspace)
		return NV_ERR_NO_MEMORY;
	if (!p->va_size)
		p->va_size = 1ULL << 47;
	if (!p->big_page_size)
		p->big_page_size = SZ_64K;
	return NV_OK;
}

/* What needs hardware that no simulated card has: fabric, display, MIG. */
static u32 construct_unsupported(struct sim_call *call, struct sim_object *object, void *params)
{
	return NV_ERR_NOT_SUPPORTED;
}

#define PLAIN(number, parents) { .id = (number), .flags = (parents) }
#define UNSUPPORTED_ON(number, parents) \
	{ .id = (number), .flags = (parents), .construct = construct_unsupported }
#define UNSUPPORTED(number) UNSUPPORTED_ON(number, SIM_CLASS_ON_ANY)

static const struct sim_class builtin[] = {
	PLAIN(NV01_ROOT, 0),
	PLAIN(NV01_ROOT_NON_PRIV, 0),
	PLAIN(NV01_ROOT_CLIENT, 0),
	{ .id = NV01_DEVICE_0, .flags = SIM_CLASS_ON_CLIENT, .construct = construct_device },
	{ .id = NV20_SUBDEVICE_0, .flags = SIM_CLASS_ON_DEVICE, .construct = construct_subdevice },
	{ .id = FERMI_VASPACE_A,
	  .flags = SIM_CLASS_ON_DEVICE | SIM_CLASS_DUP,
	  .construct = construct_vaspace },
	PLAIN(NV01_CONTEXT_DMA, SIM_CLASS_ON_ANY),
	PLAIN(NV20_GPU_MANAGEMENT, SIM_CLASS_ON_CLIENT | SIM_CLASS_ONCE),
	PLAIN(NV0060_SYNC_GPU_BOOST, SIM_CLASS_ON_CLIENT),
	PLAIN(NV_CONFIDENTIAL_COMPUTE, SIM_CLASS_ON_CLIENT),
	PLAIN(MPS_COMPUTE, SIM_CLASS_ON_CLIENT | SIM_CLASS_ONCE),
	PLAIN(NV04_DISPLAY_COMMON, SIM_CLASS_ON_DEVICE),
	PLAIN(NV20_SUBDEVICE_DIAG, SIM_CLASS_ON_SUBDEV),
	PLAIN(NV2081_BINAPI, SIM_CLASS_ON_SUBDEV),
	PLAIN(NV2082_BINAPI_PRIVILEGED, SIM_CLASS_ON_SUBDEV),
	PLAIN(GT200_DEBUGGER, SIM_CLASS_ON_DEVICE | SIM_CLASS_ON_CHANNEL),
	PLAIN(NV50_P2P, SIM_CLASS_ON_CLIENT),
	PLAIN(NV50_THIRD_PARTY_P2P, SIM_CLASS_ON_SUBDEV),
	UNSUPPORTED_ON(NV_MEMORY_FABRIC, SIM_CLASS_ON_SUBDEV),
	UNSUPPORTED(NV_MEMORY_FABRIC_IMPORT_V2),
	UNSUPPORTED(NV_MEMORY_FABRIC_IMPORTED_REF),
	UNSUPPORTED(NV_MEMORY_MULTICAST_FABRIC),
	UNSUPPORTED(NV_MEMORY_EXPORT),
	UNSUPPORTED(NV01_MEMORY_FLA),
	UNSUPPORTED(NV_MEMORY_EXTENDED_USER),
	UNSUPPORTED(NV_MEMORY_MAPPER),
	UNSUPPORTED_ON(AMPERE_SMC_PARTITION_REF, SIM_CLASS_ON_SUBDEV),
	UNSUPPORTED_ON(NV_EVENT_BUFFER, SIM_CLASS_ON_CLIENT),
	UNSUPPORTED(AMPERE_SMC_EXEC_PARTITION_REF),
	UNSUPPORTED(AMPERE_SMC_CONFIG_SESSION),
	UNSUPPORTED(AMPERE_SMC_MONITOR_SESSION),
};

int sim_classes_init(void)
{
	sim_class_add(builtin, ARRAY_SIZE(builtin));
	sim_class_add(sim_memory_classes, sim_memory_class_count);
	sim_class_add(sim_virtual_classes, sim_virtual_class_count);
	sim_class_add(sim_event_classes, sim_event_class_count);
	sim_class_add(sim_usermode_classes, sim_usermode_class_count);
	return 0;
}

void sim_classes_exit(void)
{
	struct class_table *table, *next;

	list_for_each_entry_safe(table, next, &tables, link) {
		list_del(&table->link);
		kfree(table);
	}
}
