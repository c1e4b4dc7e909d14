// SPDX-License-Identifier: GPL-2.0
/*
 * GPU address spaces: what lies at a GPU virtual address. RM's maps and UVM's stand in one
 * tree; managed ranges are asked of the UVM file the space is registered with.
 */

#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "nvsim/internal.h"

/* Where maps without a wish begin: above what the libraries choose themselves. */
#define FIRST_VA (1ULL << 40)

static DEFINE_MUTEX(spaces_lock); /* outside every vaspace lock */
static LIST_HEAD(spaces);

struct sim_vaspace *sim_vaspace_create(struct sim_card *card)
{
	struct sim_vaspace *vaspace = kzalloc(sizeof(*vaspace), GFP_KERNEL_ACCOUNT);

	if (!vaspace)
		return NULL;
	kref_init(&vaspace->ref);
	init_rwsem(&vaspace->lock);
	vaspace->card = card;
	vaspace->maps = RB_ROOT_CACHED;
	vaspace->next_va = FIRST_VA;
	mutex_lock(&spaces_lock);
	list_add_tail(&vaspace->link, &spaces);
	mutex_unlock(&spaces_lock);
	atomic_inc(&sim_counts.vaspaces);
	return vaspace;
}

struct sim_vaspace *sim_vaspace_get(struct sim_vaspace *vaspace)
{
	kref_get(&vaspace->ref);
	return vaspace;
}

static struct sim_va_map *first_map(struct sim_vaspace *vaspace, u64 start, u64 last)
{
	struct interval_tree_node *node = interval_tree_iter_first(&vaspace->maps, start, last);

	return node ? container_of(node, struct sim_va_map, node) : NULL;
}

static struct sim_va_map *next_map(struct sim_va_map *map, u64 start, u64 last)
{
	struct interval_tree_node *node = interval_tree_iter_next(&map->node, start, last);

	return node ? container_of(node, struct sim_va_map, node) : NULL;
}

static void map_drop(struct sim_vaspace *vaspace, struct sim_va_map *map)
{
	interval_tree_remove(&map->node, &vaspace->maps);
	if (map->memory) {
		atomic_dec(&map->memory->external);
		sim_memory_disown(map->memory);
	}
	kfree(map);
}

static void vaspace_release(struct kref *ref)
{
	struct sim_vaspace *vaspace = container_of(ref, struct sim_vaspace, ref);
	struct sim_va_map *map;

	list_del(&vaspace->link);
	mutex_unlock(&spaces_lock);
	while ((map = first_map(vaspace, 0, ULONG_MAX)))
		map_drop(vaspace, map);
	kfree(vaspace);
	atomic_dec(&sim_counts.vaspaces);
}

void sim_vaspace_put(struct sim_vaspace *vaspace)
{
	if (vaspace)
		kref_put_mutex(&vaspace->ref, vaspace_release, &spaces_lock);
}

struct sim_vaspace *sim_vaspace_lookup(struct sim_client *client, struct sim_object *device,
				       u32 h_vaspace)
{
	struct sim_object *object = h_vaspace ? sim_object_find(client, h_vaspace) :
						sim_device_of(device);

	return object ? object->vaspace : NULL;
}

/* ---- maps ---- */

u32 sim_vaspace_map(struct sim_vaspace *vaspace, const struct sim_va_map *wanted)
{
	struct sim_va_map *map = kmemdup(wanted, sizeof(*wanted), GFP_KERNEL_ACCOUNT);

	if (!map)
		return NV_ERR_NO_MEMORY;
	down_write(&vaspace->lock);
	if (first_map(vaspace, map->node.start, map->node.last)) {
		up_write(&vaspace->lock);
		kfree(map);
		return NV_ERR_UVM_ADDRESS_IN_USE;
	}
	if (map->memory) {
		sim_memory_own(map->memory);
		atomic_inc(&map->memory->external);
	}
	interval_tree_insert(&map->node, &vaspace->maps);
	up_write(&vaspace->lock);
	return NV_OK;
}

static bool is_of(const struct sim_va_map *map, bool uvm, u32 h_client, u32 h_dma)
{
	if (uvm || map->uvm)
		return uvm && map->uvm;
	return map->h_client == h_client && map->h_dma == h_dma;
}

unsigned int sim_vaspace_unmap(struct sim_vaspace *vaspace, u64 va, u64 last, bool uvm,
			       u32 h_client, u32 h_dma)
{
	struct sim_va_map *map, *next;
	unsigned int count = 0;

	down_write(&vaspace->lock);
	for (map = first_map(vaspace, va, last); map; map = next) {
		next = next_map(map, va, last);
		if (map->node.start < va || map->node.last > last ||
		    !is_of(map, uvm, h_client, h_dma))
			continue;
		map_drop(vaspace, map);
		count++;
	}
	up_write(&vaspace->lock);
	return count;
}

static void forget_in(struct sim_vaspace *vaspace, u32 h_client, u32 handle)
{
	struct sim_va_map *map, *next;

	down_write(&vaspace->lock);
	for (map = first_map(vaspace, 0, ULONG_MAX); map; map = next) {
		next = next_map(map, 0, ULONG_MAX);
		if (!map->uvm && map->h_client == h_client &&
		    (map->h_dma == handle || map->h_memory == handle))
			map_drop(vaspace, map);
	}
	up_write(&vaspace->lock);
}

/* RM's maps end with the memory or the virtual object they were made from. */
void sim_vaspaces_forget(u32 h_client, u32 handle)
{
	struct sim_vaspace *vaspace;

	mutex_lock(&spaces_lock);
	list_for_each_entry(vaspace, &spaces, link)
		forget_in(vaspace, h_client, handle);
	mutex_unlock(&spaces_lock);
}

u64 sim_vaspace_reserve(struct sim_vaspace *vaspace, u64 bytes, u64 alignment)
{
	u64 va;

	alignment = roundup_pow_of_two(clamp_t(u64, alignment, SIM_MIB(2), SIM_MIB(1024)));
	down_write(&vaspace->lock);
	va = ALIGN(vaspace->next_va, alignment);
	vaspace->next_va = va + ALIGN(bytes, SIM_MIB(2));
	up_write(&vaspace->lock);
	return va;
}

/* ---- access ---- */

static struct page *page_at(struct sim_vaspace *vaspace, u64 va)
{
	struct sim_va_map *map = first_map(vaspace, va, va);
	struct page *page;
	u64 offset;

	if (!map)
		return vaspace->uvm ? sim_uvm_managed_page(vaspace->uvm, vaspace->card, va) : NULL;
	if (!map->memory)
		return NULL;
	offset = map->offset + (va - map->node.start);
	page = sim_memory_page(map->memory, offset >> PAGE_SHIFT);
	if (page)
		get_page(page);
	return page;
}

struct page *sim_va_page(struct sim_vaspace *vaspace, u64 va)
{
	struct page *page;

	down_read(&vaspace->lock);
	page = page_at(vaspace, va);
	up_read(&vaspace->lock);
	return page;
}

bool sim_va_untouched(struct sim_vaspace *vaspace, u64 va)
{
	struct sim_va_map *map;
	bool untouched = false;

	down_read(&vaspace->lock);
	map = first_map(vaspace, va, va);
	if (map && map->memory)
		untouched =
			sim_memory_untouched(map->memory,
					     (map->offset + va - map->node.start) >> PAGE_SHIFT);
	up_read(&vaspace->lock);
	return untouched;
}

static int copy_at(struct sim_vaspace *vaspace, u64 va, void *buffer, size_t bytes, bool write,
		   u64 *fault_va)
{
	while (bytes) {
		size_t in_page = va & ~PAGE_MASK;
		size_t part = min_t(size_t, bytes, PAGE_SIZE - in_page);
		struct page *page = sim_va_page(vaspace, va);

		if (!page) {
			*fault_va = va;
			return -EFAULT;
		}
		if (write)
			memcpy_to_page(page, in_page, buffer, part);
		else
			memcpy_from_page(buffer, page, in_page, part);
		put_page(page);
		va += part;
		buffer += part;
		bytes -= part;
	}
	return 0;
}

int sim_va_read(struct sim_vaspace *vaspace, u64 va, void *to, size_t bytes, u64 *fault_va)
{
	return copy_at(vaspace, va, to, bytes, false, fault_va);
}

int sim_va_write(struct sim_vaspace *vaspace, u64 va, const void *from, size_t bytes, u64 *fault_va)
{
	return copy_at(vaspace, va, (void *)from, bytes, true, fault_va);
}
