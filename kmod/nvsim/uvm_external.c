// SPDX-License-Identifier: GPL-2.0
/*
 * External ranges (memory of RM seen at an address), semaphore pools, and plain reservations.
 * A mapping of RM memory keeps that memory, whatever becomes of its handle.
 */

#include "compat.h"
#include "nvsim/uvm.h"

struct attributes { /* UvmGpuMappingAttributes: uvm_types.h */
	u8 uuid[16];
	u32 mapping, caching, format, element_bits, compression;
};
static_assert(sizeof(struct attributes) == UVM_GPU_MAPPING_ATTRIBUTES_BYTES);

static u32 insert(struct sim_uvm_space *space, enum uvm_range_type type, u64 base, u64 bytes)
{
	struct uvm_range *range;
	u32 status;

	if (uvm_bad_range(base, bytes))
		return NV_ERR_INVALID_ADDRESS;
	down_write(&space->ranges_lock);
	status = uvm_range_insert(space, type, base, bytes, &range);
	up_write(&space->ranges_lock);
	return status;
}

u32 uvm_create_external(struct sim_uvm_space *space, void *params)
{
	struct uvm_create_external_range *p = params;

	return insert(space, UVM_RANGE_EXTERNAL, p->base, p->length);
}

u32 uvm_map_reflected(struct sim_uvm_space *space, void *params)
{
	struct uvm_map_dynamic_parallelism *p = params;
	bool ready;

	down_read(&space->lock);
	ready = uvm_vaspace(space, p->gpu_uuid);
	up_read(&space->lock);
	if (!ready)
		return NV_ERR_INVALID_DEVICE;
	return insert(space, UVM_RANGE_REFLECTED, p->base, p->length);
}

static bool lies_in(struct sim_uvm_space *space, enum uvm_range_type type, u64 base, u64 bytes)
{
	struct uvm_range *range;
	bool fits;

	down_read(&space->ranges_lock);
	range = uvm_range_find(space, base);
	fits = range && range->type == type && range->node.last >= base + bytes - 1;
	up_read(&space->ranges_lock);
	return fits;
}

/* ---- RM memory ---- */

static u32 memory_get(u32 h_client, u32 h_memory, u64 offset, u64 bytes, struct sim_memory **out)
{
	struct sim_client *client;
	struct sim_object *object = NULL;
	u32 status = NV_OK;

	down_read(&sim_rm_lock);
	client = sim_client_find(h_client);
	if (client)
		object = sim_object_find(client, h_memory);
	if (!client)
		status = NV_ERR_INVALID_CLIENT;
	else if (!uvm_client_usable(client))
		status = NV_ERR_INSUFFICIENT_PERMISSIONS;
	else if (!object || !object->memory)
		status = NV_ERR_OBJECT_NOT_FOUND;
	else if (offset > object->memory->bytes || bytes > object->memory->bytes - offset)
		status = NV_ERR_INVALID_OFFSET;
	else
		*out = sim_memory_own(object->memory);
	up_read(&sim_rm_lock);
	return status;
}

static u32 map_on(struct sim_vaspace *vaspace, struct sim_memory *memory, u64 base, u64 bytes,
		  u64 offset)
{
	struct sim_va_map map = { .memory = memory, .offset = offset, .uvm = true };

	map.node.start = base;
	map.node.last = base + bytes - 1;
	sim_vaspace_unmap(vaspace, base, map.node.last, true, 0, 0);
	return sim_vaspace_map(vaspace, &map);
}

struct external { /* the arguments of MAP_EXTERNAL_ALLOCATION of any version */
	u64 base, bytes, offset, count;
	u32 h_client, h_memory;
	const struct attributes *gpus;
};

static struct external external_of(const void *p)
{
	return (struct external){
		.base = get_unaligned((const u64 *)p),
		.bytes = get_unaligned((const u64 *)(p + 8)),
		.offset = get_unaligned((const u64 *)(p + 16)),
		.gpus = p + 24,
		.count = get_unaligned((const u64 *)(p + sim_abi->uvm_map_external_count_off)),
		.h_client = get_unaligned((const u32 *)(p + sim_abi->uvm_map_external_client_off)),
		.h_memory =
			get_unaligned((const u32 *)(p + sim_abi->uvm_map_external_client_off + 4)),
	};
}

static u64 most_gpus(void)
{
	return (sim_abi->uvm_map_external_count_off - 24) / sizeof(struct attributes);
}

/* Each GPU that is named must have an address space here; that is asked first. */
static bool gpus_known(struct sim_uvm_space *space, const struct attributes *gpus, u64 count)
{
	bool known = true;
	u64 i;

	down_read(&space->lock);
	for (i = 0; i < count; i++)
		known = known && uvm_vaspace(space, gpus[i].uuid);
	up_read(&space->lock);
	return known;
}

static u32 map_on_all(struct sim_uvm_space *space, const struct external *e,
		      struct sim_memory *memory)
{
	struct sim_vaspace *vaspace;
	u32 status = NV_OK;
	u64 i;

	for (i = 0; i < e->count && !status; i++) {
		vaspace = uvm_vaspace(space, e->gpus[i].uuid);
		status = vaspace ? map_on(vaspace, memory, e->base, e->bytes, e->offset) :
				   NV_ERR_INVALID_DEVICE;
	}
	if (!status)
		return NV_OK;
	for (i--; i-- > 0;) /* those that went well */
		sim_vaspace_unmap(uvm_vaspace(space, e->gpus[i].uuid), e->base,
				  e->base + e->bytes - 1, true, 0, 0);
	return status;
}

u32 uvm_map_external(struct sim_uvm_space *space, void *params)
{
	struct external e = external_of(params);
	struct sim_memory *memory;
	u32 status;

	if (uvm_bad_range(e.base, e.bytes))
		return NV_ERR_INVALID_ADDRESS;
	if (!e.count || e.count > most_gpus())
		return NV_ERR_INVALID_ARGUMENT;
	if (!lies_in(space, UVM_RANGE_EXTERNAL, e.base, e.bytes))
		return NV_ERR_INVALID_ADDRESS;
	if (!gpus_known(space, e.gpus, e.count))
		return NV_ERR_INVALID_DEVICE;
	status = memory_get(e.h_client, e.h_memory, e.offset, e.bytes, &memory);
	if (status)
		return status;
	down_write(&space->lock);
	/* freed meanwhile: nothing may be mapped outside a range */
	status = lies_in(space, UVM_RANGE_EXTERNAL, e.base, e.bytes) ? NV_OK :
								       NV_ERR_INVALID_ADDRESS;
	if (!status)
		status = map_on_all(space, &e, memory);
	up_write(&space->lock);
	sim_memory_disown(memory);
	return status;
}

u32 uvm_map_sparse(struct sim_uvm_space *space, void *params)
{
	struct uvm_map_external_sparse *p = params;
	struct sim_vaspace *vaspace;
	u32 status;

	if (uvm_bad_range(p->base, p->length) || (p->base | p->length) & (SZ_64K - 1) ||
	    !lies_in(space, UVM_RANGE_EXTERNAL, p->base, p->length))
		return NV_ERR_INVALID_ADDRESS;
	down_write(&space->lock);
	vaspace = uvm_vaspace(space, p->gpu_uuid);
	status = vaspace ? map_on(vaspace, NULL, p->base, p->length, 0) : NV_ERR_INVALID_DEVICE;
	up_write(&space->lock);
	return status;
}

u32 uvm_unmap_external(struct sim_uvm_space *space, void *params)
{
	struct uvm_unmap_external *p = params;
	struct sim_vaspace *vaspace;

	if (uvm_bad_range(p->base, p->length) ||
	    !lies_in(space, UVM_RANGE_EXTERNAL, p->base, p->length))
		return NV_ERR_INVALID_ADDRESS;
	down_write(&space->lock);
	vaspace = uvm_vaspace(space, p->gpu_uuid);
	if (vaspace)
		sim_vaspace_unmap(vaspace, p->base, p->base + p->length - 1, true, 0, 0);
	up_write(&space->lock);
	return vaspace ? NV_OK : NV_ERR_INVALID_DEVICE;
}

/* ---- UVM_FREE ---- */

static u32 take_out(struct sim_uvm_space *space, u64 base, u64 last)
{
	struct uvm_range *range = uvm_range_find(space, base);

	if (!range || range->type == UVM_RANGE_MANAGED || range->node.start != base ||
	    (last && range->node.last != last))
		return NV_ERR_INVALID_ADDRESS;
	if (range->on_cpu)
		return NV_ERR_INVALID_ARGUMENT; /* munmap first */
	uvm_range_remove(space, range);
	return NV_OK;
}

static void unmap_everywhere(struct sim_uvm_space *space, u64 base, u64 last)
{
	struct sim_card *card;
	unsigned int i;

	sim_for_each_card(card, i)
		if (space->gpus[i].vaspace)
			sim_vaspace_unmap(space->gpus[i].vaspace, base, last, true, 0, 0);
}

static u64 last_of(struct sim_uvm_space *space, u64 base)
{
	struct uvm_range *range = uvm_range_find(space, base);

	return range ? range->node.last : base;
}

/* From 590 there is no length: the range is the one that begins there. */
u32 uvm_free(struct sim_uvm_space *space, void *params)
{
	u64 base = get_unaligned((u64 *)params), last = 0, end;
	u32 status;

	if (sim_abi->uvm_free_length_off) {
		u64 bytes = get_unaligned((u64 *)(params + sim_abi->uvm_free_length_off));

		if (uvm_bad_range(base, bytes))
			return NV_ERR_INVALID_ADDRESS;
		last = base + bytes - 1;
	}
	down_write(&space->lock);
	down_write(&space->ranges_lock);
	end = last_of(space, base);
	status = take_out(space, base, last);
	up_write(&space->ranges_lock);
	if (!status)
		unmap_everywhere(space, base, end);
	up_write(&space->lock);
	return status;
}

/* ---- semaphore pools ---- */

u32 uvm_semaphores_on_gpu(struct sim_uvm_space *space, struct sim_vaspace *vaspace)
{
	struct sim_memory *memory;
	struct uvm_range *range;
	u64 from = 0, start, last;
	u32 status = NV_OK;

	/* Pools are made and freed under it; managed ranges come and go with their
	 * mappings, so nothing of a range is looked at outside ranges_lock. */
	lockdep_assert_held_write(&space->lock);
	while (!status) {
		down_read(&space->ranges_lock);
		range = uvm_range_first(space, from, ULONG_MAX);
		if (range) {
			memory = range->type == UVM_RANGE_SEMAPHORES ? range->memory : NULL;
			start = range->node.start;
			last = range->node.last;
		}
		up_read(&space->ranges_lock);
		if (!range)
			break;
		if (memory)
			status = map_on(vaspace, memory, start, last - start + 1, 0);
		from = last + 1;
	}
	return status;
}

static u32 pool_insert(struct sim_uvm_space *space, u64 base, u64 bytes)
{
	struct sim_memory_spec spec = { .kind = SIM_MEMORY_SYSTEM, .bytes = bytes };
	struct sim_memory *memory;
	struct uvm_range *range;
	u32 status = sim_memory_create(&spec, &memory);

	if (status)
		return status;
	down_write(&space->ranges_lock);
	status = uvm_range_insert(space, UVM_RANGE_SEMAPHORES, base, bytes, &range);
	if (status)
		sim_memory_disown(memory);
	else
		range->memory = memory;
	up_write(&space->ranges_lock);
	return status;
}

static u32 pool_map(struct sim_uvm_space *space, u64 base, u64 bytes)
{
	struct uvm_range *range;
	struct sim_memory *memory;
	struct sim_card *card;
	unsigned int i;
	u32 status = NV_OK;

	down_read(&space->ranges_lock);
	range = uvm_range_find(space, base);
	memory = range->memory;
	up_read(&space->ranges_lock);
	sim_for_each_card(card, i)
		if (space->gpus[i].vaspace && !status)
			status = map_on(space->gpus[i].vaspace, memory, base, bytes, 0);
	return status;
}

u32 uvm_alloc_semaphores(struct sim_uvm_space *space, void *params)
{
	u64 base = get_unaligned((u64 *)params), bytes = get_unaligned((u64 *)(params + 8));
	u32 count_off = sim_abi->uvm_semaphore_pool_status_off - 8;
	u64 count = get_unaligned((u64 *)(params + count_off));
	u32 status;

	if (uvm_bad_range(base, bytes))
		return NV_ERR_INVALID_ADDRESS;
	if (count > (count_off - 16) / sizeof(struct attributes))
		return NV_ERR_INVALID_ARGUMENT;
	if (!gpus_known(space, params + 16, count))
		return NV_ERR_INVALID_DEVICE;
	down_write(&space->lock);
	status = pool_insert(space, base, bytes);
	if (!status) {
		status = pool_map(space, base, bytes);
		if (status) {
			unmap_everywhere(space, base, base + bytes - 1);
			down_write(&space->ranges_lock);
			take_out(space, base, 0);
			up_write(&space->ranges_lock);
		}
	}
	up_write(&space->lock);
	return status;
}

u32 uvm_semaphore_release(struct sim_uvm_space *space, u64 va, u32 payload)
{
	struct uvm_range *range;
	u32 status = NV_ERR_INVALID_ADDRESS;

	down_read(&space->ranges_lock);
	range = uvm_range_find(space, va);
	if (range && range->type == UVM_RANGE_SEMAPHORES && !(va & 3) &&
	    !sim_memory_write(range->memory, va - range->node.start, &payload, sizeof(payload)))
		status = NV_OK;
	up_read(&space->ranges_lock);
	return status;
}

u32 uvm_validate(struct sim_uvm_space *space, void *params)
{
	struct uvm_validate_va_range *p = params;
	struct uvm_range *range;
	bool same;

	if (uvm_bad_range(p->base, p->length))
		return NV_ERR_INVALID_ADDRESS;
	down_read(&space->ranges_lock);
	range = uvm_range_find(space, p->base);
	same = range && range->node.start == p->base && range->node.last == p->base + p->length - 1;
	up_read(&space->ranges_lock);
	return same ? NV_OK : NV_ERR_INVALID_ADDRESS;
}
