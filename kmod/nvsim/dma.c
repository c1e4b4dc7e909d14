// SPDX-License-Identifier: GPL-2.0
/* Virtual memory objects (0x70, 0x50a0) and the maps RM makes in them. */

#include <linux/slab.h>

#include "nvsim/internal.h"

static struct sim_vaspace *space_named(struct sim_object *object, u32 h_vaspace)
{
	return sim_vaspace_lookup(object->client, object, h_vaspace);
}

static u32 virtual_init(struct sim_object *object, u32 h_vaspace, u64 base, u64 bytes)
{
	struct sim_vaspace *vaspace = space_named(object, h_vaspace);
	struct sim_virtual *virtual;

	if (!vaspace)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	virtual = kzalloc(sizeof(*virtual), GFP_KERNEL_ACCOUNT);
	if (!virtual)
		return NV_ERR_NO_MEMORY;
	virtual->base = base;
	virtual->bytes = bytes;
	object->core = virtual;
	object->vaspace = sim_vaspace_get(vaspace);
	return NV_OK;
}

/* Addresses only: nothing of the card is taken. */
u32 sim_virtual_object(struct sim_object *object, struct sim_alloc_args *args)
{
	struct sim_vaspace *vaspace = space_named(object, args->h_vaspace);
	u64 page_bytes, bytes = sim_memory_round(args->bytes, args->attr, args->attr2, &page_bytes);
	u32 status;

	if (!vaspace)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	if (!args->bytes || !bytes || bytes > 1ULL << 47)
		return NV_ERR_INVALID_ARGUMENT;
	if (!(args->flags & NVOS32_FLAGS_FIXED_ADDRESS))
		args->offset =
			sim_vaspace_reserve(vaspace, bytes, max(args->alignment, page_bytes));
	if (args->offset > (1ULL << 48) - bytes)
		return NV_ERR_INVALID_OFFSET;
	status = virtual_init(object, args->h_vaspace, args->offset, bytes);
	args->bytes = bytes;
	args->limit = args->offset + bytes - 1;
	return status;
}

static u32 construct_virtual(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv_memory_alloc *p = params;
	struct sim_alloc_args args = {
		.flags = p->flags,
		.attr = p->attr,
		.attr2 = p->attr2,
		.bytes = p->size,
		.alignment = p->alignment,
		.offset = p->offset,
		.h_vaspace = p->h_va_space,
	};
	u32 status = sim_virtual_object(object, &args);

	if (status)
		return status;
	p->size = args.bytes;
	p->offset = args.offset;
	p->limit = args.limit;
	return NV_OK;
}

static u32 construct_dma_space(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv_memory_virtual_alloc *p = params;

	if (!p->limit)
		p->limit = (1ULL << 47) - 1;
	return virtual_init(object, p->h_va_space, 0, 0);
}

static void destruct_virtual(struct sim_object *object)
{
	sim_vaspaces_forget(object->client->handle, object->handle);
	kfree(object->core);
	object->core = NULL;
}

const struct sim_class sim_virtual_classes[] = {
	{ .id = NV01_MEMORY_VIRTUAL,
	  .flags = SIM_CLASS_ON_DEVICE,
	  .construct = construct_dma_space,
	  .destruct = destruct_virtual },
	{ .id = NV50_MEMORY_VIRTUAL,
	  .flags = SIM_CLASS_ON_DEVICE,
	  .construct = construct_virtual,
	  .destruct = destruct_virtual },
};
const size_t sim_virtual_class_count = ARRAY_SIZE(sim_virtual_classes);

/* ---- RM_MAP_MEMORY_DMA ---- */

static u64 place(struct sim_object *dma, const struct sim_dma_args *args)
{
	const struct sim_virtual *virtual = dma->core;

	if (args->flags & NVOS46_FLAGS_DMA_OFFSET_FIXED)
		return args->dma_offset;
	if (virtual->bytes)
		return virtual->base + args->dma_offset;
	return sim_vaspace_reserve(dma->vaspace, args->bytes, SIM_MIB(2));
}

static u32 map_into(struct sim_object *dma, struct sim_memory *memory, struct sim_dma_args *args)
{
	const struct sim_virtual *virtual = dma->core;
	struct sim_va_map map = {
		.memory = memory,
		.offset = args->offset,
		.h_client = args->h_client,
		.h_dma = args->h_dma,
		.h_memory = args->h_memory,
	};

	args->dma_offset = place(dma, args);
	map.node.start = args->dma_offset;
	map.node.last = args->dma_offset + args->bytes - 1;
	if (map.node.last < map.node.start || map.node.last >> 48)
		return NV_ERR_INVALID_OFFSET;
	if (virtual->bytes &&
	    (map.node.start < virtual->base || map.node.last > virtual->base + virtual->bytes - 1))
		return NV_ERR_INVALID_OFFSET;
	return sim_vaspace_map(dma->vaspace, &map);
}

static u32 find_dma(struct sim_call *call, const struct sim_dma_args *args,
		    struct sim_client **client, struct sim_object **dma)
{
	u32 status = sim_client_get(call, args->h_client, client);

	if (status)
		return status;
	if (!sim_object_find(*client, args->h_device))
		return NV_ERR_OBJECT_NOT_FOUND;
	*dma = sim_object_find(*client, args->h_dma);
	if (!*dma)
		return NV_ERR_OBJECT_NOT_FOUND;
	return (*dma)->vaspace && (*dma)->core ? NV_OK : NV_ERR_INVALID_OBJECT_HANDLE;
}

static u32 map_locked(struct sim_call *call, struct sim_dma_args *args)
{
	struct sim_object *dma, *object;
	struct sim_client *client;
	u32 status = find_dma(call, args, &client, &dma);

	if (status)
		return status;
	object = sim_object_find(client, args->h_memory);
	if (!object || !object->memory)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (!args->bytes || args->offset & ~PAGE_MASK || args->offset > object->memory->bytes ||
	    args->bytes > object->memory->bytes - args->offset)
		return NV_ERR_INVALID_LIMIT;
	return map_into(dma, object->memory, args);
}

u32 sim_map_dma(struct sim_call *call, struct sim_dma_args *args)
{
	u32 status = sim_fault_before(SIM_SITE_MAP, 0, NULL);

	if (status)
		return status;
	down_write(&sim_rm_lock);
	status = map_locked(call, args);
	up_write(&sim_rm_lock);
	sim_fault_after(SIM_SITE_MAP, 0);
	return status;
}

u32 sim_unmap_dma(struct sim_call *call, struct sim_dma_args *args)
{
	struct sim_client *client;
	struct sim_object *dma;
	u64 last = args->bytes ? args->dma_offset + args->bytes - 1 : ULONG_MAX;
	u32 status;

	down_write(&sim_rm_lock);
	status = find_dma(call, args, &client, &dma);
	if (!status && !sim_vaspace_unmap(dma->vaspace, args->dma_offset, last, false,
					  args->h_client, args->h_dma))
		status = NV_ERR_OBJECT_NOT_FOUND;
	up_write(&sim_rm_lock);
	return status;
}
