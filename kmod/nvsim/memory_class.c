// SPDX-License-Identifier: GPL-2.0
/* The memory classes of RM_ALLOC: card, system, pinned user pages, and root's windows. */

#include "nvsim/internal.h"

struct os_desc_params { /* NV_OS_DESC_MEMORY_ALLOCATION_PARAMS: nvos.h */
	u32 type, flags, attr, attr2;
	u64 descriptor, limit;
	u32 descriptor_type, tag;
};

struct window_params { /* NV_PHYSICAL_MEMORY_ALLOCATION_PARAMS: nvos.h */
	u64 bytes;
	u32 format, pad;
	u64 page_bytes;
};

struct list_params { /* NV_MEMORY_LIST_ALLOCATION_PARAMS: nvos.h */
	u32 skipped[17];
	u32 page_count; /* 68 */
	u32 skipped2[14];
	u64 page_numbers; /* 128: a pointer to u64 */
	u64 limit;
	u32 flags, pad;
};

static struct sim_memory_spec spec_of(const struct sim_call *call, const struct sim_object *object)
{
	return (struct sim_memory_spec){
		.card = object->card,
		.h_client = object->client->handle,
		.h_object = object->handle,
		.h_class = object->h_class,
		.tgid = call->kernel ? 0 : task_tgid_nr(current),
	};
}

static enum sim_memory_kind kind_of(u32 h_class)
{
	return h_class == NV01_MEMORY_LOCAL_USER ? SIM_MEMORY_CARD : SIM_MEMORY_SYSTEM;
}

static u32 check_args(u32 h_class, const struct sim_alloc_args *args)
{
	u32 location = NVOS32_ATTR_LOCATION(args->attr);

	if (args->flags & NVOS32_FLAGS_VIRTUAL)
		return NV_ERR_INVALID_ARGUMENT;
	if (kind_of(h_class) == SIM_MEMORY_CARD)
		return location == NVOS32_ATTR_LOCATION_PCI ? NV_ERR_INVALID_ARGUMENT : NV_OK;
	return location == NVOS32_ATTR_LOCATION_VIDMEM ? NV_ERR_INVALID_ARGUMENT : NV_OK;
}

static u32 page_attr(u32 attr, const struct sim_memory *memory)
{
	attr &= ~(3u << 23 | 3u << 25);
	if (memory->kind != SIM_MEMORY_CARD)
		return attr | NVOS32_ATTR_LOCATION_PCI << 25 | NVOS32_ATTR_PAGE_SIZE_4KB << 23;
	if (memory->page_bytes == SZ_4K)
		return attr | NVOS32_ATTR_PAGE_SIZE_4KB << 23;
	if (memory->page_bytes == SZ_64K)
		return attr | NVOS32_ATTR_PAGE_SIZE_BIG << 23;
	return attr | NVOS32_ATTR_PAGE_SIZE_HUGE << 23;
}

/* Both ways of allocating end here; what came out goes back into @args. */
u32 sim_memory_object(struct sim_call *call, struct sim_object *object, struct sim_alloc_args *args)
{
	struct sim_memory_spec spec = spec_of(call, object);
	struct sim_memory *memory;
	u32 status = check_args(object->h_class, args);

	if (status)
		return status;
	spec.kind = kind_of(object->h_class);
	spec.bytes = args->bytes;
	spec.alignment = args->alignment;
	spec.owner_tag = args->owner;
	spec.type = args->type;
	spec.attr = args->attr;
	spec.attr2 = args->attr2;
	spec.flags = args->flags;
	status = sim_memory_create(&spec, &memory);
	if (status)
		return status;
	sim_object_set_memory(object, memory);
	memory->attr = page_attr(args->attr, memory);
	args->attr = memory->attr;
	args->bytes = memory->bytes;
	args->limit = memory->bytes - 1;
	args->offset = memory->address;
	return NV_OK;
}

static u32 construct_memory(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv_memory_alloc *p = params;
	struct sim_alloc_args args = {
		.owner = p->owner,
		.type = p->type,
		.flags = p->flags,
		.attr = p->attr,
		.attr2 = p->attr2,
		.bytes = p->size,
		.alignment = p->alignment,
	};
	u32 status = sim_memory_object(call, object, &args);

	if (status)
		return status;
	p->attr = args.attr;
	p->size = args.bytes;
	p->limit = args.limit;
	p->offset = args.offset;
	return NV_OK;
}

u32 sim_user_memory_object(struct sim_call *call, struct sim_object *object, u64 address, u64 limit,
			   u32 attr, u32 attr2)
{
	struct sim_memory_spec spec = spec_of(call, object);
	struct sim_memory *memory;
	u32 status;

	/* escape.c: the address must be on a page, the limit must not wrap */
	if (call->kernel || (address & ~PAGE_MASK))
		return NV_ERR_NOT_SUPPORTED;
	if (limit + 1 == 0)
		return NV_ERR_INVALID_LIMIT;
	spec.kind = SIM_MEMORY_USER;
	spec.bytes = limit + 1;
	spec.attr = attr;
	spec.attr2 = attr2;
	status = sim_memory_create_user(&spec, address, &memory);
	if (!status)
		sim_object_set_memory(object, memory);
	return status;
}

static u32 construct_user_memory(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct os_desc_params *p = params;

	return sim_user_memory_object(call, object, p->descriptor, p->limit, p->attr, p->attr2);
}

static u32 window_object(struct sim_call *call, struct sim_object *object, u64 address, u64 bytes)
{
	struct sim_memory_spec spec = spec_of(call, object);
	struct sim_memory *memory;
	u32 status;

	if (!object->card)
		return NV_ERR_INVALID_OBJECT_PARENT;
	if (!bytes || bytes > object->card->total_bytes ||
	    address > object->card->total_bytes - bytes)
		return NV_ERR_INVALID_LIMIT;
	spec.kind = SIM_MEMORY_WINDOW;
	spec.bytes = bytes;
	spec.address = address;
	status = sim_memory_create(&spec, &memory);
	if (!status)
		sim_object_set_memory(object, memory);
	return status;
}

/* Class 0xc2: all of the card's memory, or as much from its start as was asked for. */
static u32 construct_window(struct sim_call *call, struct sim_object *object, void *params)
{
	struct window_params *p = params;
	u64 bytes = p->bytes ?: object->card ? object->card->total_bytes : 0;
	u32 status = window_object(call, object, 0, bytes);

	if (!status)
		p->bytes = bytes;
	return status;
}

/* Class 0x82 names pages; one stretch from the first of them is simulated. */
static u32 construct_page_list(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct list_params *p = params;
	u64 first;
	u32 status;

	if (!p->page_count)
		return NV_ERR_INVALID_ARGUMENT;
	status = sim_copy_in(call, &first, p->page_numbers, sizeof(first));
	if (status)
		return status;
	if (first > U64_MAX >> PAGE_SHIFT)
		return NV_ERR_INVALID_LIMIT;
	return window_object(call, object, first << PAGE_SHIFT, (u64)p->page_count << PAGE_SHIFT);
}

#define ON_DEVICE (SIM_CLASS_ON_DEVICE | SIM_CLASS_ON_SUBDEV | SIM_CLASS_DUP)

const struct sim_class sim_memory_classes[] = {
	{ .id = NV01_MEMORY_LOCAL_USER, .flags = ON_DEVICE, .construct = construct_memory },
	{ .id = NV01_MEMORY_SYSTEM, .flags = ON_DEVICE, .construct = construct_memory },
	{ .id = NV01_MEMORY_DEVICELESS,
	  .flags = SIM_CLASS_ON_CLIENT | SIM_CLASS_DUP,
	  .construct = construct_memory },
	{ .id = NV01_MEMORY_SYSTEM_OS_DESCRIPTOR,
	  .flags = ON_DEVICE,
	  .construct = construct_user_memory },
	{ .id = NV01_MEMORY_LOCAL_PHYSICAL, .flags = ON_DEVICE, .construct = construct_window },
	{ .id = NV01_MEMORY_LIST_FBMEM, .flags = ON_DEVICE, .construct = construct_page_list },
	{ .id = NV01_MEMORY_LIST_OBJECT, .flags = ON_DEVICE, .construct = construct_page_list },
};
const size_t sim_memory_class_count = ARRAY_SIZE(sim_memory_classes);
