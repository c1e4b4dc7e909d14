// SPDX-License-Identifier: GPL-2.0
/*
 * Memory objects: size, place and pages.
 *
 * Two counts. Owners (handles, GPU mappings, exports) keep the bytes on the card's heap.
 * References keep the structure and the pages: each owner holds one, and so does each CPU
 * mapping, because its page table entries are not counted anywhere else. After the last owner
 * a mapping sees its old pages, never those of the next object.
 */

#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "nvsim/internal.h"

#define USER_PAGES_MAX (1UL << 24)

struct sim_memory *sim_memory_get(struct sim_memory *memory)
{
	kref_get(&memory->ref);
	return memory;
}

static void drop_pages(struct sim_memory *memory)
{
	struct page *page;
	unsigned long i;

	xa_for_each(&memory->pages, i, page) {
		put_page(page);
		atomic_dec(&sim_counts.pages);
	}
	xa_destroy(&memory->pages);
	if (memory->user_pages) {
		unpin_user_pages_dirty_lock(memory->user_pages, memory->user_count, true);
		kvfree(memory->user_pages);
	}
}

static void memory_release(struct kref *ref)
{
	struct sim_memory *memory = container_of(ref, struct sim_memory, ref);

	drop_pages(memory);
	mutex_destroy(&memory->lock);
	kfree(memory);
	atomic_dec(&sim_counts.memories);
}

void sim_memory_put(struct sim_memory *memory)
{
	if (memory)
		kref_put(&memory->ref, memory_release);
}

struct sim_memory *sim_memory_own(struct sim_memory *memory)
{
	atomic_inc(&memory->owners);
	return sim_memory_get(memory);
}

void sim_memory_disown(struct sim_memory *memory)
{
	if (!memory)
		return;
	if (atomic_dec_and_test(&memory->owners) && memory->kind == SIM_MEMORY_CARD)
		sim_heap_give(memory->card, memory);
	sim_memory_put(memory);
}

/* ---- sizes ---- */

static u64 huge_page_bytes(u32 attr2)
{
	switch (NVOS32_ATTR2_PAGE_SIZE_HUGE(attr2)) {
	case 2:
		return SIM_MIB(512);
	case 3:
		return SIM_MIB(256 * 1024);
	default:
		return SIM_MIB(2);
	}
}

/* Size of a card allocation; 0: too large to say. abi README 5 has the rule. */
u64 sim_memory_round(u64 bytes, u32 attr, u32 attr2, u64 *page_bytes)
{
	u64 granule;

	switch (NVOS32_ATTR_PAGE_SIZE(attr)) {
	case NVOS32_ATTR_PAGE_SIZE_4KB:
		*page_bytes = SZ_4K;
		break;
	case NVOS32_ATTR_PAGE_SIZE_HUGE:
		*page_bytes = huge_page_bytes(attr2);
		break;
	case NVOS32_ATTR_PAGE_SIZE_BIG:
		*page_bytes = SZ_64K;
		break;
	default:
		*page_bytes = bytes >= SIM_MIB(2) ? SIM_MIB(2) : SZ_64K;
	}
	granule = max_t(u64, *page_bytes, SZ_64K);
	if (bytes > U64_MAX - granule)
		return 0;
	return ALIGN(bytes, granule);
}

/* ---- making ---- */

static struct sim_memory *memory_new(const struct sim_memory_spec *spec)
{
	struct sim_memory *memory = kzalloc(sizeof(*memory), GFP_KERNEL_ACCOUNT);

	if (!memory)
		return NULL;
	kref_init(&memory->ref);
	atomic_set(&memory->owners, 1);
	memory->kind = spec->kind;
	memory->card = spec->card;
	memory->asked_bytes = spec->bytes;
	memory->bytes = ALIGN(spec->bytes, PAGE_SIZE);
	memory->page_bytes = PAGE_SIZE;
	memory->address = spec->address;
	memory->owner_tag = spec->owner_tag;
	memory->type = spec->type;
	memory->attr = spec->attr;
	memory->attr2 = spec->attr2;
	memory->flags = spec->flags;
	memory->tgid = spec->tgid;
	memory->h_client = spec->h_client;
	memory->h_object = spec->h_object;
	memory->h_class = spec->h_class;
	INIT_LIST_HEAD(&memory->extents);
	INIT_LIST_HEAD(&memory->card_link);
	mutex_init(&memory->lock);
	xa_init(&memory->pages);
	atomic_inc(&sim_counts.memories);
	return memory;
}

u32 sim_memory_create(const struct sim_memory_spec *spec, struct sim_memory **out)
{
	struct sim_memory *memory;
	u32 status = NV_OK;

	if (!spec->bytes)
		return NV_ERR_INVALID_ARGUMENT;
	if (spec->bytes > U64_MAX - PAGE_SIZE)
		return NV_ERR_NO_MEMORY;
	memory = memory_new(spec);
	if (!memory)
		return NV_ERR_NO_MEMORY;
	if (spec->kind == SIM_MEMORY_CARD) {
		memory->bytes =
			sim_memory_round(spec->bytes, spec->attr, spec->attr2, &memory->page_bytes);
		status = memory->bytes ? sim_heap_take(spec->card, memory) : NV_ERR_NO_MEMORY;
	} else if (spec->kind == SIM_MEMORY_SYSTEM &&
		   spec->bytes >> PAGE_SHIFT > totalram_pages()) {
		status = NV_ERR_NO_MEMORY;
	}
	if (status) {
		sim_memory_put(memory);
		return status;
	}
	*out = memory;
	return NV_OK;
}

/*
 * Before any lock of the driver's: a page that its owner does not let come (FUSE,
 * userfaultfd) stops its owner alone. Only faults the pages in; pin() takes them.
 * (535.261.03 src/nvidia/arch/nvalloc/unix/src/escape.c: os_lock_user_pages() first.)
 */
void sim_user_pages_fault_in(u64 address, u64 bytes)
{
	u64 end = address + min_t(u64, bytes, (u64)USER_PAGES_MAX << PAGE_SHIFT);
	struct page *page;

	for (; address < end && !fatal_signal_pending(current); address += PAGE_SIZE) {
		if (pin_user_pages_fast(address, 1, FOLL_WRITE | FOLL_LONGTERM, &page) != 1 &&
		    pin_user_pages_fast(address, 1, FOLL_LONGTERM, &page) != 1)
			return;
		unpin_user_page(page);
	}
}

static u32 pin(struct sim_memory *memory, u64 address)
{
	unsigned long count = memory->bytes >> PAGE_SHIFT;
	unsigned int flags = FOLL_LONGTERM;
	long pinned = 0, got;

	/* ATTR2_PROTECTION_USER: nvos.h, bits 31:30... read-only is 1. */
	if (!(memory->attr2 & NVOS32_ATTR2_PROTECTION_USER_READ_ONLY))
		flags |= FOLL_WRITE;
	if (!count || count > USER_PAGES_MAX)
		return NV_ERR_INVALID_LIMIT;
	memory->user_pages = kvcalloc(count, sizeof(struct page *), GFP_KERNEL_ACCOUNT);
	if (!memory->user_pages)
		return NV_ERR_NO_MEMORY;
	while (pinned < count) {
		got = compat_pin_user_pages_nofault(address + pinned * PAGE_SIZE,
						    min_t(unsigned long, count - pinned, INT_MAX),
						    flags, memory->user_pages + pinned);
		if (got <= 0)
			break;
		pinned += got;
	}
	memory->user_count = pinned;
	return pinned == count ? NV_OK : NV_ERR_INVALID_ADDRESS;
}

/* The caller's own pages, from page-aligned @address. */
u32 sim_memory_create_user(const struct sim_memory_spec *spec, u64 address, struct sim_memory **out)
{
	struct sim_memory *memory;
	u32 status;

	if (!spec->bytes || spec->bytes > U64_MAX - PAGE_SIZE)
		return NV_ERR_INVALID_LIMIT;
	memory = memory_new(spec);
	if (!memory)
		return NV_ERR_NO_MEMORY;
	status = pin(memory, address);
	if (status) {
		sim_memory_put(memory);
		return status;
	}
	*out = memory;
	return NV_OK;
}

bool sim_memory_on_card(const struct sim_memory *memory)
{
	return memory->kind == SIM_MEMORY_CARD || memory->kind == SIM_MEMORY_WINDOW ||
	       memory->kind == SIM_MEMORY_DOORBELL;
}

/* ---- pages ---- */

static struct page *page_store(struct sim_memory *memory, pgoff_t index, struct page *page)
{
	if (xa_err(xa_store(&memory->pages, index, page, GFP_KERNEL_ACCOUNT))) {
		put_page(page);
		return NULL;
	}
	atomic_inc(&sim_counts.pages);
	return page;
}

static struct page *page_new(struct sim_memory *memory, pgoff_t index)
{
	/* A card may be larger than the machine: fail the access, wake no OOM killer. */
	struct page *page = alloc_page(GFP_USER | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);

	return page ? page_store(memory, index, page) : NULL;
}

/* What lies at a physical address now. A window holds on to the pages it has shown. */
static struct page *window_target(struct sim_memory *window, pgoff_t index)
{
	struct sim_memory *target;
	struct page *page = NULL;
	u64 offset;

	target = sim_heap_lookup(window->card, window->address + ((u64)index << PAGE_SHIFT),
				 &offset);
	if (!target)
		return NULL;
	page = sim_memory_page(target, offset >> PAGE_SHIFT);
	if (page)
		get_page(page);
	sim_memory_put(target);
	return page;
}

static struct page *page_make(struct sim_memory *memory, pgoff_t index, struct page *shown)
{
	struct page *page;

	mutex_lock(&memory->lock);
	page = xa_load(&memory->pages, index);
	if (page && shown)
		put_page(shown);
	else if (shown)
		page = page_store(memory, index, shown);
	else if (!page)
		page = page_new(memory, index);
	mutex_unlock(&memory->lock);
	return page;
}

struct page *sim_memory_page(struct sim_memory *memory, pgoff_t index)
{
	struct page *page, *shown = NULL;

	if (index >= memory->bytes >> PAGE_SHIFT)
		return NULL;
	if (memory->user_pages)
		return memory->user_pages[index];
	page = xa_load(&memory->pages, index);
	if (page)
		return page;
	if (memory->kind == SIM_MEMORY_WINDOW)
		shown = window_target(memory, index);
	return page_make(memory, index, shown);
}

bool sim_memory_untouched(struct sim_memory *memory, pgoff_t index)
{
	return index < memory->bytes >> PAGE_SHIFT && !memory->user_pages &&
	       memory->kind != SIM_MEMORY_WINDOW && !xa_load(&memory->pages, index);
}

static int memory_copy(struct sim_memory *memory, u64 offset, void *buffer, size_t bytes,
		       bool write)
{
	while (bytes) {
		size_t in_page = offset & ~PAGE_MASK;
		size_t part = min_t(size_t, bytes, PAGE_SIZE - in_page);
		struct page *page = sim_memory_page(memory, offset >> PAGE_SHIFT);

		if (!page)
			return -EFAULT;
		if (write)
			memcpy_to_page(page, in_page, buffer, part);
		else
			memcpy_from_page(buffer, page, in_page, part);
		offset += part;
		buffer += part;
		bytes -= part;
	}
	return 0;
}

int sim_memory_read(struct sim_memory *memory, u64 offset, void *to, size_t bytes)
{
	return memory_copy(memory, offset, to, bytes, false);
}

int sim_memory_write(struct sim_memory *memory, u64 offset, const void *from, size_t bytes)
{
	return memory_copy(memory, offset, (void *)from, bytes, true);
}
