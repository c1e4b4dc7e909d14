// SPDX-License-Identifier: GPL-2.0
/* Ranges of a managed-memory space, and the pages behind managed ones. */

#include <linux/mm.h>
#include <linux/slab.h>

#include "nvsim/uvm.h"

bool uvm_bad_range(u64 base, u64 bytes)
{
	/* A range that ends with the last address has no address behind it: walks go on there. */
	return !base || !bytes || (base | bytes) & ~PAGE_MASK || base + bytes <= base;
}

/* ---- backing ---- */

struct uvm_backing *uvm_backing_create(u64 base, u64 bytes)
{
	struct uvm_backing *backing = kzalloc(sizeof(*backing), GFP_KERNEL_ACCOUNT);

	if (!backing)
		return NULL;
	if (sim_resident_init(&backing->resident, bytes)) {
		kfree(backing);
		return NULL;
	}
	kref_init(&backing->ref);
	backing->base = base;
	backing->bytes = bytes;
	mutex_init(&backing->lock);
	xa_init(&backing->pages);
	return backing;
}

static void drop_pages(struct uvm_backing *backing, u64 start, u64 last)
{
	struct page *page;
	unsigned long i;

	mutex_lock(&backing->lock);
	xa_for_each_range(&backing->pages, i, page, (start - backing->base) >> PAGE_SHIFT,
			  (last - backing->base) >> PAGE_SHIFT)
	{
		xa_erase(&backing->pages, i);
		put_page(page);
		atomic_dec(&sim_counts.pages);
	}
	mutex_unlock(&backing->lock);
}

static void backing_release(struct kref *ref)
{
	struct uvm_backing *backing = container_of(ref, struct uvm_backing, ref);

	drop_pages(backing, backing->base, backing->base + backing->bytes - 1);
	sim_resident_destroy(&backing->resident);
	xa_destroy(&backing->pages);
	mutex_destroy(&backing->lock);
	kfree(backing);
}

unsigned long uvm_chunk_of(const struct uvm_backing *backing, u64 va)
{
	return div_u64(va - backing->base, SIM_CHUNK_BYTES);
}

/* Part of a backing goes: its pages at once, its place on a card where whole chunks are free. */
static void backing_trim(struct uvm_backing *backing, u64 start, u64 last)
{
	unsigned long first = DIV_ROUND_UP_ULL(start - backing->base, SIM_CHUNK_BYTES);
	unsigned long end = uvm_chunk_of(backing, last + 1);

	if (last + 1 == backing->base + backing->bytes)
		end = backing->resident.chunk_count;
	drop_pages(backing, start, last);
	if (first < end)
		sim_resident_move(&backing->resident, NULL, first, end - 1);
}

static struct page *page_new(struct uvm_backing *backing, unsigned long i)
{
	struct page *page = alloc_page(GFP_USER | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);

	if (!page)
		return NULL;
	if (xa_err(xa_store(&backing->pages, i, page, GFP_KERNEL_ACCOUNT))) {
		put_page(page);
		return NULL;
	}
	atomic_inc(&sim_counts.pages);
	return page;
}

/* Referenced. */
struct page *uvm_backing_page(struct uvm_backing *backing, u64 va)
{
	unsigned long i = (va - backing->base) >> PAGE_SHIFT;
	struct page *page;

	mutex_lock(&backing->lock);
	page = xa_load(&backing->pages, i) ?: page_new(backing, i);
	if (page)
		get_page(page);
	mutex_unlock(&backing->lock);
	return page;
}

/* ---- ranges ---- */

struct uvm_range *uvm_range_first(struct sim_uvm_space *space, u64 first, u64 last)
{
	struct interval_tree_node *found;

	lockdep_assert_held(&space->ranges_lock);
	found = interval_tree_iter_first(&space->ranges, first, last);
	return found ? container_of(found, struct uvm_range, node) : NULL;
}

struct uvm_range *uvm_range_find(struct sim_uvm_space *space, u64 va)
{
	return uvm_range_first(space, va, va);
}

u32 uvm_range_insert(struct sim_uvm_space *space, enum uvm_range_type type, u64 base, u64 bytes,
		     struct uvm_range **out)
{
	struct uvm_range *range;

	lockdep_assert_held_write(&space->ranges_lock);
	if (uvm_range_first(space, base, base + bytes - 1))
		return NV_ERR_UVM_ADDRESS_IN_USE;
	range = kzalloc(sizeof(*range), GFP_KERNEL_ACCOUNT);
	if (!range)
		return NV_ERR_NO_MEMORY;
	range->type = type;
	range->node.start = base;
	range->node.last = base + bytes - 1;
	interval_tree_insert(&range->node, &space->ranges);
	*out = range;
	return NV_OK;
}

void uvm_range_remove(struct sim_uvm_space *space, struct uvm_range *range)
{
	lockdep_assert_held_write(&space->ranges_lock);
	interval_tree_remove(&range->node, &space->ranges);
	if (range->backing) {
		backing_trim(range->backing, range->node.start, range->node.last);
		kref_put(&range->backing->ref, backing_release);
	}
	sim_memory_disown(range->memory);
	kfree(range);
}

void uvm_ranges_remove_all(struct sim_uvm_space *space)
{
	struct uvm_range *range;

	down_write(&space->ranges_lock);
	while ((range = uvm_range_first(space, 0, ULONG_MAX)))
		uvm_range_remove(space, range);
	up_write(&space->ranges_lock);
}

/* Called where failure cannot be told (a mapping is being split): small allocations that wait. */
void uvm_range_split(struct sim_uvm_space *space, u64 boundary)
{
	struct uvm_range *left = uvm_range_find(space, boundary), *right;

	if (!left || left->type != UVM_RANGE_MANAGED || left->node.start == boundary)
		return;
	right = kmemdup(left, sizeof(*left), GFP_KERNEL | __GFP_NOFAIL);
	kref_get(&left->backing->ref);
	interval_tree_remove(&left->node, &space->ranges);
	left->node.last = boundary - 1;
	right->node.start = boundary;
	interval_tree_insert(&left->node, &space->ranges);
	interval_tree_insert(&right->node, &space->ranges);
}
