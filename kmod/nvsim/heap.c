// SPDX-License-Identifier: GPL-2.0
/*
 * Card memory: who has which stretch, and how much is left. Everything here is under the
 * card's heap lock, the innermost mutex.
 *
 * Context buffers and managed pages are counted without a place: they could be anywhere, and
 * the sum never passes the heap, so that a counted object always finds its stretches.
 */

#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "nvsim/internal.h"

#define GRANULE SZ_64K

static u64 heap_bytes(const struct sim_card *card)
{
	return card->total_bytes - card->reserved_bytes;
}

static u64 free_bytes(const struct sim_card *card)
{
	return heap_bytes(card) - card->object_bytes - card->overhead_bytes - card->managed_bytes;
}

/* ---- managed memory on the card ---- */

static void resident_leave(struct sim_resident *resident)
{
	if (!resident->card)
		return;
	resident->card->managed_bytes -= resident->bytes;
	resident->bytes = 0;
	bitmap_zero(resident->chunks, resident->chunk_count);
	list_del_init(&resident->link);
	WRITE_ONCE(resident->card, NULL);
}

/* RM wins over managed memory: the pages go back to the host. */
static void make_room(struct sim_card *card, u64 bytes)
{
	struct sim_resident *resident, *next;

	list_for_each_entry_safe(resident, next, &card->residents, link) {
		if (free_bytes(card) >= bytes)
			return;
		resident_leave(resident);
	}
}

int sim_resident_init(struct sim_resident *resident, u64 bytes)
{
	memset(resident, 0, sizeof(*resident));
	mutex_init(&resident->move_lock);
	INIT_LIST_HEAD(&resident->link);
	resident->chunk_count = DIV_ROUND_UP_ULL(bytes, SIM_CHUNK_BYTES);
	resident->chunks =
		kvcalloc(BITS_TO_LONGS(resident->chunk_count), sizeof(long), GFP_KERNEL_ACCOUNT);
	return resident->chunks ? 0 : -ENOMEM;
}

/* The card a range stands on changes under that card's lock only: try until it held still. */
static struct sim_card *lock_resident(struct sim_resident *resident)
{
	struct sim_card *card;

	while ((card = READ_ONCE(resident->card))) {
		mutex_lock(&card->heap_lock);
		if (resident->card == card)
			return card;
		mutex_unlock(&card->heap_lock);
	}
	return NULL;
}

void sim_resident_destroy(struct sim_resident *resident)
{
	struct sim_card *card = lock_resident(resident);

	if (card) {
		resident_leave(resident);
		mutex_unlock(&card->heap_lock);
	}
	mutex_destroy(&resident->move_lock);
	kvfree(resident->chunks);
	resident->chunks = NULL;
}

static u32 chunks_arrive(struct sim_resident *resident, struct sim_card *card, unsigned long first,
			 unsigned long last)
{
	unsigned long chunk;

	for (chunk = first; chunk <= last && chunk < resident->chunk_count; chunk++) {
		if (resident->card == card && test_bit(chunk, resident->chunks))
			continue;
		make_room(card, SIM_CHUNK_BYTES);
		if (free_bytes(card) < SIM_CHUNK_BYTES)
			return NV_ERR_NO_MEMORY;
		__set_bit(chunk, resident->chunks);
		resident->bytes += SIM_CHUNK_BYTES;
		card->managed_bytes += SIM_CHUNK_BYTES;
		WRITE_ONCE(resident->card, card);
		list_move_tail(&resident->link, &card->residents);
	}
	return NV_OK;
}

static void chunks_leave(struct sim_resident *resident, unsigned long first, unsigned long last)
{
	unsigned long chunk;

	for (chunk = first; chunk <= last && chunk < resident->chunk_count; chunk++) {
		if (!__test_and_clear_bit(chunk, resident->chunks))
			continue;
		resident->bytes -= SIM_CHUNK_BYTES;
		resident->card->managed_bytes -= SIM_CHUNK_BYTES;
	}
	if (!resident->bytes)
		resident_leave(resident);
}

bool sim_resident_has(struct sim_resident *resident, struct sim_card *card, unsigned long chunk)
{
	bool has;

	mutex_lock(&card->heap_lock);
	has = resident->card == card && test_bit(chunk, resident->chunks);
	mutex_unlock(&card->heap_lock);
	return has;
}

static void leave_other(struct sim_resident *resident, struct sim_card *wanted, unsigned long first,
			unsigned long last)
{
	struct sim_card *old = lock_resident(resident);

	if (!old)
		return;
	if (!wanted)
		chunks_leave(resident, first, last);
	else if (old != wanted)
		resident_leave(resident);
	mutex_unlock(&old->heap_lock);
}

/* One range is never on two cards at once: it leaves the other one whole. */
u32 sim_resident_move(struct sim_resident *resident, struct sim_card *card, unsigned long first,
		      unsigned long last)
{
	u32 status = NV_OK;

	if (!card && !READ_ONCE(resident->card))
		return NV_OK;
	mutex_lock(&resident->move_lock);
	leave_other(resident, card, first, last);
	if (card) {
		mutex_lock(&card->heap_lock);
		status = chunks_arrive(resident, card, first, last);
		mutex_unlock(&card->heap_lock);
	}
	mutex_unlock(&resident->move_lock);
	return status;
}

/* ---- context buffers ---- */

u32 sim_overhead_take(struct sim_card *card, u64 bytes)
{
	u32 status = NV_ERR_NO_MEMORY;

	mutex_lock(&card->heap_lock);
	make_room(card, bytes);
	if (free_bytes(card) >= bytes) {
		card->overhead_bytes += bytes;
		status = NV_OK;
	}
	mutex_unlock(&card->heap_lock);
	return status;
}

void sim_overhead_give(struct sim_card *card, u64 bytes)
{
	mutex_lock(&card->heap_lock);
	card->overhead_bytes -= bytes;
	mutex_unlock(&card->heap_lock);
}

/* ---- stretches ---- */

static struct sim_extent *extent_of(struct rb_node *rb)
{
	return rb ? rb_entry(rb, struct sim_extent, node.rb) : NULL;
}

struct gap {
	u64 start, bytes;
};

/* The first hole of at least @wanted after rounding up to @alignment; else bytes is 0. */
static struct gap find_gap(struct sim_card *card, u64 wanted, u64 alignment)
{
	struct rb_node *rb = rb_first_cached(&card->extents);
	struct gap gap = { 0 };
	u64 end = 0, next;

	for (;; rb = rb_next(rb)) {
		next = rb ? extent_of(rb)->node.start : heap_bytes(card);
		gap.start = ALIGN(end, alignment);
		gap.bytes = next > gap.start ? next - gap.start : 0;
		if (gap.bytes >= wanted)
			return gap;
		if (!rb)
			return (struct gap){ 0 };
		end = extent_of(rb)->node.last + 1;
	}
}

static int extent_add(struct sim_card *card, struct sim_memory *memory, u64 start, u64 bytes)
{
	struct sim_extent *extent = kzalloc(sizeof(*extent), GFP_KERNEL_ACCOUNT);

	if (!extent)
		return -ENOMEM;
	extent->node.start = start;
	extent->node.last = start + bytes - 1;
	extent->memory = memory;
	interval_tree_insert(&extent->node, &card->extents);
	list_add_tail(&extent->link, &memory->extents);
	return 0;
}

static void extents_drop(struct sim_card *card, struct sim_memory *memory)
{
	struct sim_extent *extent, *next;

	list_for_each_entry_safe(extent, next, &memory->extents, link) {
		interval_tree_remove(&extent->node, &card->extents);
		list_del(&extent->link);
		kfree(extent);
	}
}

static int extents_take(struct sim_card *card, struct sim_memory *memory, u64 alignment)
{
	struct gap gap = find_gap(card, memory->bytes, max_t(u64, alignment, GRANULE));
	u64 left = memory->bytes;

	if (gap.bytes)
		return extent_add(card, memory, gap.start, memory->bytes);
	while (left) { /* in pieces */
		gap = find_gap(card, GRANULE, GRANULE);
		gap.bytes = min(gap.bytes, left);
		if (!gap.bytes || extent_add(card, memory, gap.start, gap.bytes))
			return -ENOMEM;
		left -= gap.bytes;
	}
	return 0;
}

static u64 first_address(const struct sim_memory *memory)
{
	return list_first_entry(&memory->extents, struct sim_extent, link)->node.start;
}

/* Count @memory on the heap. NV_ERR_NO_MEMORY. */
u32 sim_heap_take(struct sim_card *card, struct sim_memory *memory)
{
	u32 status = NV_ERR_NO_MEMORY;

	mutex_lock(&card->heap_lock);
	if (memory->bytes <= heap_bytes(card))
		make_room(card, memory->bytes);
	if (free_bytes(card) < memory->bytes)
		goto unlock;
	if (extents_take(card, memory, memory->page_bytes)) {
		extents_drop(card, memory);
		goto unlock;
	}
	memory->address = first_address(memory);
	card->object_bytes += memory->bytes;
	list_add_tail(&memory->card_link, &card->memories);
	status = NV_OK;
unlock:
	mutex_unlock(&card->heap_lock);
	return status;
}

void sim_heap_give(struct sim_card *card, struct sim_memory *memory)
{
	mutex_lock(&card->heap_lock);
	extents_drop(card, memory);
	list_del_init(&memory->card_link);
	card->object_bytes -= memory->bytes;
	mutex_unlock(&card->heap_lock);
}

static u64 offset_in(const struct sim_extent *wanted)
{
	struct sim_extent *extent;
	u64 offset = 0;

	list_for_each_entry(extent, &wanted->memory->extents, link) {
		if (extent == wanted)
			break;
		offset += extent->node.last - extent->node.start + 1;
	}
	return offset;
}

struct sim_memory *sim_heap_lookup(struct sim_card *card, u64 address, u64 *offset)
{
	struct sim_memory *memory = NULL;
	struct interval_tree_node *node;
	struct sim_extent *extent;

	mutex_lock(&card->heap_lock);
	node = interval_tree_iter_first(&card->extents, address, address);
	if (node) {
		extent = container_of(node, struct sim_extent, node);
		memory = sim_memory_get(extent->memory);
		*offset = offset_in(extent) + (address - node->start);
	}
	mutex_unlock(&card->heap_lock);
	return memory;
}

void sim_heap_figures(struct sim_card *card, struct sim_heap_figures *figures)
{
	mutex_lock(&card->heap_lock);
	figures->total = card->total_bytes;
	figures->reserved = card->reserved_bytes;
	figures->heap = heap_bytes(card);
	figures->objects = card->object_bytes;
	figures->overhead = card->overhead_bytes;
	figures->managed = card->managed_bytes;
	figures->free = free_bytes(card);
	mutex_unlock(&card->heap_lock);
	figures->largest_free = figures->free;
	figures->bar1_total = sim_model_bar1_bytes(card->model);
	figures->bar1_free = figures->bar1_total;
}
