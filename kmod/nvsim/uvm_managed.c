// SPDX-License-Identifier: GPL-2.0
/* Managed memory: where it is and shall be. Policies are checked and otherwise forgotten. */

#include <linux/mm.h>

#include "compat.h"
#include "nvsim/uvm.h"

/* No simulated card reaches memory that was not allocated for it. */
u32 uvm_pageable(struct sim_uvm_space *space, void *params)
{
	struct uvm_pageable_mem_access *p = params;

	p->pageable_mem_access = 0;
	return NV_OK;
}

u32 uvm_pageable_on_gpu(struct sim_uvm_space *space, void *params)
{
	struct uvm_pageable_mem_access_on_gpu *p = params;
	bool known;

	down_read(&space->lock);
	known = uvm_card(space, p->gpu_uuid);
	up_read(&space->lock);
	p->pageable_mem_access = 0;
	return known ? NV_OK : NV_ERR_INVALID_DEVICE;
}

/* ---- ranges ---- */

typedef u32 (*each_range)(struct sim_uvm_space *space, struct uvm_range *range, u64 first, u64 last,
			  void *arg);

/* Every byte must be managed: first all are looked at, then each is handed to @each. */
static u32 managed_each(struct sim_uvm_space *space, u64 first, u64 last, each_range each,
			void *arg)
{
	struct uvm_range *range;
	u32 status = NV_OK;
	u64 at = first;

	while (at <= last && !status) {
		range = uvm_range_find(space, at);
		if (!range || range->type != UVM_RANGE_MANAGED)
			return NV_ERR_INVALID_ADDRESS;
		if (each)
			status = each(space, range, at, min_t(u64, last, range->node.last), arg);
		at = range->node.last + 1;
	}
	return status;
}

static u32 managed_check(struct sim_uvm_space *space, u64 base, u64 bytes)
{
	u32 status;

	if (uvm_bad_range(base, bytes))
		return NV_ERR_INVALID_ADDRESS;
	down_read(&space->ranges_lock);
	status = managed_each(space, base, base + bytes - 1, NULL, NULL);
	up_read(&space->ranges_lock);
	return status;
}

struct plain { /* how all the policy commands begin: uvm_ioctl.h */
	u64 base, bytes;
	u8 uuid[16];
};

static u32 check_processor(struct sim_uvm_space *space, const u8 *uuid)
{
	bool known;

	down_read(&space->lock);
	known = uvm_is_cpu(uuid) || uvm_card(space, uuid);
	up_read(&space->lock);
	return known ? NV_OK : NV_ERR_INVALID_DEVICE;
}

u32 uvm_policy_range(struct sim_uvm_space *space, void *params)
{
	const struct plain *p = params;

	return managed_check(space, p->base, p->bytes);
}

u32 uvm_set_preferred(struct sim_uvm_space *space, void *params)
{
	const struct plain *p = params;

	return managed_check(space, p->base, p->bytes) ?: check_processor(space, p->uuid);
}

u32 uvm_accessed_by(struct sim_uvm_space *space, void *params)
{
	return uvm_set_preferred(space, params);
}

/* ---- migration ---- */

static u32 move_range(struct sim_uvm_space *space, struct uvm_range *range, u64 first, u64 last,
		      void *card)
{
	struct uvm_backing *backing = range->backing;
	u32 status = sim_resident_move(&backing->resident, card, uvm_chunk_of(backing, first),
				       uvm_chunk_of(backing, last));

	if (!status && card)
		unmap_mapping_range(space->mapping, first, last - first + 1, 1);
	return status;
}

/* @uuid: a registered card with an address space, or the processor (card NULL). */
static u32 destination(struct sim_uvm_space *space, const u8 *uuid, struct sim_card **card)
{
	u32 status = NV_OK;

	*card = NULL;
	if (uvm_is_cpu(uuid))
		return NV_OK;
	down_read(&space->lock);
	if (uvm_vaspace(space, uuid))
		*card = uvm_card(space, uuid);
	else
		status = NV_ERR_INVALID_DEVICE;
	up_read(&space->lock);
	return status;
}

static u32 move(struct sim_uvm_space *space, u64 base, u64 bytes, struct sim_card *card)
{
	u64 last = base + bytes - 1;
	u32 status;

	down_read(&space->ranges_lock);
	status = managed_each(space, base, last, NULL, NULL) ?:
			 managed_each(space, base, last, move_range, card);
	up_read(&space->ranges_lock);
	return status;
}

u32 uvm_migrate(struct sim_uvm_space *space, void *params)
{
	struct uvm_migrate *p = params;
	bool async = p->flags & UVM_MIGRATE_FLAG_ASYNC;
	struct sim_card *card;
	u32 status;

	if ((p->length || !async || !p->semaphore_address) && uvm_bad_range(p->base, p->length))
		return NV_ERR_INVALID_ADDRESS;
	if (p->flags & ~UVM_MIGRATE_FLAGS_ALL || (!async && p->semaphore_address) ||
	    (async && !p->semaphore_address && p->semaphore_payload))
		return NV_ERR_INVALID_ARGUMENT;
	status = destination(space, p->destination_uuid, &card);
	if (!status && p->length)
		status = move(space, p->base, p->length, card);
	if (!status && p->semaphore_address)
		status = uvm_semaphore_release(space, p->semaphore_address, p->semaphore_payload);
	return status;
}

/* ---- range groups ---- */

static bool group_exists(struct sim_uvm_space *space, u64 group)
{
	bool exists;

	down_read(&space->lock);
	exists = group && group <= U32_MAX && xa_load(&space->groups, group);
	up_read(&space->lock);
	return exists;
}

u32 uvm_create_group(struct sim_uvm_space *space, void *params)
{
	struct uvm_create_range_group *p = params;
	u32 group;
	int err;

	down_write(&space->lock);
	err = xa_alloc_cyclic(&space->groups, &group, xa_mk_value(1), XA_LIMIT(1, INT_MAX),
			      &space->next_group, GFP_KERNEL_ACCOUNT);
	up_write(&space->lock);
	if (err < 0)
		return NV_ERR_NO_MEMORY;
	p->range_group_id = group;
	return NV_OK;
}

static void leave_group(struct sim_uvm_space *space, u64 group)
{
	struct uvm_range *range;
	u64 from = 0;

	down_write(&space->ranges_lock);
	while ((range = uvm_range_first(space, from, ULONG_MAX))) {
		if (range->group == group)
			range->group = 0;
		from = range->node.last + 1;
	}
	up_write(&space->ranges_lock);
}

u32 uvm_destroy_group(struct sim_uvm_space *space, void *params)
{
	struct uvm_destroy_range_group *p = params;

	if (!group_exists(space, p->range_group_id))
		return NV_ERR_OBJECT_NOT_FOUND;
	down_write(&space->lock);
	xa_erase(&space->groups, p->range_group_id);
	up_write(&space->lock);
	leave_group(space, p->range_group_id);
	return NV_OK;
}

static u32 set_group(struct sim_uvm_space *space, struct uvm_range *range, u64 first, u64 last,
		     void *group)
{
	range->group = *(u64 *)group;
	return NV_OK;
}

/* Whole ranges join: a part of one would have to be split, which nothing here needs. */
u32 uvm_set_group(struct sim_uvm_space *space, void *params)
{
	struct uvm_set_range_group *p = params;
	u64 last = p->requested_base + p->length - 1;
	u32 status;

	if (uvm_bad_range(p->requested_base, p->length))
		return NV_ERR_INVALID_ADDRESS;
	if (p->range_group_id && !group_exists(space, p->range_group_id))
		return NV_ERR_OBJECT_NOT_FOUND;
	down_write(&space->ranges_lock);
	status =
		managed_each(space, p->requested_base, last, NULL, NULL) ?:
			managed_each(space, p->requested_base, last, set_group, &p->range_group_id);
	up_write(&space->ranges_lock);
	return status;
}

struct groups { /* UVM_PREVENT_MIGRATION_RANGE_GROUPS_PARAMS: uvm_ioctl.h */
	u64 ids[32], count;
};

u32 uvm_migration_of_groups(struct sim_uvm_space *space, void *params)
{
	const struct groups *p = params;
	u64 i;

	if (!p->count || p->count > ARRAY_SIZE(p->ids))
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < p->count; i++)
		if (!group_exists(space, p->ids[i]))
			return NV_ERR_OBJECT_NOT_FOUND;
	return NV_OK;
}

struct group_move { /* UVM_MIGRATE_RANGE_GROUP_PARAMS: uvm_ioctl.h */
	u64 id;
	u8 uuid[16];
};

u32 uvm_migrate_group(struct sim_uvm_space *space, void *params)
{
	const struct group_move *p = params;
	struct uvm_range *range;
	struct sim_card *card;
	u32 status = destination(space, p->uuid, &card);
	u64 from = 0;

	if (!status && !group_exists(space, p->id))
		status = NV_ERR_OBJECT_NOT_FOUND;
	down_read(&space->ranges_lock);
	while (!status && (range = uvm_range_first(space, from, ULONG_MAX))) {
		if (range->group == p->id)
			status =
				move_range(space, range, range->node.start, range->node.last, card);
		from = range->node.last + 1;
	}
	up_read(&space->ranges_lock);
	return status;
}
