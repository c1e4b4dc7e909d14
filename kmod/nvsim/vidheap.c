// SPDX-License-Identifier: GPL-2.0
/* RM_VID_HEAP_CONTROL and RM_ALLOC_MEMORY: the older ways to memory objects. */

#include "compat.h"
#include "nvsim/internal.h"

/* NVOS32 is a union of many layouts: fields by offset, see nvabi/numbers.h. */
static u32 get32(const u8 *p, u32 offset)
{
	return get_unaligned((const u32 *)(p + offset));
}

static u64 get64(const u8 *p, u32 offset)
{
	return get_unaligned((const u64 *)(p + offset));
}

static void put32(u8 *p, u32 offset, u32 value)
{
	put_unaligned(value, (u32 *)(p + offset));
}

static void put64(u8 *p, u32 offset, u64 value)
{
	put_unaligned(value, (u64 *)(p + offset));
}

struct layout { /* where one allocating function keeps its arguments */
	u32 attr, attr2, size, alignment, offset, limit, address, lo, hi;
};

static const struct layout plain_layout = { 56, 144, 88, 96, 104, 112, 120, 128, 136 };
static const struct layout tiled_layout = { 64, 144, 88, 96, 104, 112, 120, 128, 136 };
static const struct layout range_layout = { 56, 136, 80, 88, 96, 104, 128, 112, 120 };

static struct sim_alloc_args args_of(const u8 *p, const struct layout *l)
{
	return (struct sim_alloc_args){
		.owner = get32(p, NVOS32_OFF_ALLOC_OWNER),
		.type = get32(p, NVOS32_OFF_ALLOC_TYPE),
		.flags = get32(p, NVOS32_OFF_ALLOC_FLAGS),
		.attr = get32(p, l->attr),
		.attr2 = get32(p, l->attr2),
		.bytes = get64(p, l->size),
		.alignment = get64(p, l->alignment),
		.offset = get64(p, l->offset),
		.range_lo = get64(p, l->lo),
		.range_hi = get64(p, l->hi),
		.h_vaspace = get32(p, NVOS32_OFF_VASPACE),
	};
}

static void answer(u8 *p, const struct layout *l, const struct sim_alloc_args *args)
{
	put32(p, l->attr, args->attr);
	put32(p, l->attr2, args->attr2);
	put64(p, l->size, args->bytes);
	put64(p, l->offset, args->offset);
	put64(p, l->limit, args->limit);
}

static u32 construct(struct sim_call *call, struct sim_object *object, void *params)
{
	struct sim_alloc_args *args = params;

	if (object->h_class == NV50_MEMORY_VIRTUAL)
		return sim_virtual_object(object, args);
	return sim_memory_object(call, object, args);
}

static u32 class_for(const struct sim_alloc_args *args)
{
	if (args->flags & NVOS32_FLAGS_VIRTUAL)
		return NV50_MEMORY_VIRTUAL;
	/* Any other place than VIDMEM, "any" too, is system memory
	 * (535.261.03 src/nvidia/interface/deprecated/rmapi_deprecated_vidheapctrl.c:138). */
	if (NVOS32_ATTR_LOCATION(args->attr) != NVOS32_ATTR_LOCATION_VIDMEM)
		return NV01_MEMORY_SYSTEM;
	return NV01_MEMORY_LOCAL_USER;
}

static u32 heap_alloc(struct sim_call *call, struct sim_client *client, struct sim_object *parent,
		      u8 *p, const struct layout *l)
{
	struct sim_alloc_args args = args_of(p, l);
	u32 handle = get32(p, NVOS32_OFF_ALLOC_MEMORY);
	u32 status;

	if (!(args.flags & NVOS32_FLAGS_HANDLE_PROVIDED))
		handle = 0;
	status = sim_object_create(call, client, parent, &handle, sim_class_find(class_for(&args)),
				   &args, construct, NULL);
	if (status)
		return status;
	put32(p, NVOS32_OFF_ALLOC_MEMORY, handle);
	answer(p, l, &args);
	return NV_OK;
}

static u32 heap_free(struct sim_client *client, const u8 *p)
{
	struct sim_object *object = sim_object_find(client, get32(p, NVOS32_OFF_FREE_MEMORY));

	if (!object)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (!object->memory && !object->core)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	sim_object_destroy(object);
	return NV_OK;
}

static void put_figures(struct sim_card *card, u8 *p)
{
	struct sim_heap_figures figures;

	sim_heap_figures(card, &figures);
	put64(p, NVOS32_OFF_TOTAL, figures.heap);
	put64(p, NVOS32_OFF_FREE, figures.free);
}

static u32 heap_info(struct sim_card *card, u8 *p)
{
	struct sim_heap_figures figures;

	sim_heap_figures(card, &figures);
	put64(p, NVOS32_OFF_INFO_OFFSET, 0);
	put64(p, NVOS32_OFF_INFO_SIZE, figures.largest_free);
	put64(p, NVOS32_OFF_INFO_BASE, 0);
	return NV_OK;
}

static u32 heap_function(struct sim_call *call, struct sim_client *client,
			 struct sim_object *parent, u8 *p)
{
	switch (get32(p, NVOS32_OFF_FUNCTION)) {
	case NVOS32_FUNCTION_ALLOC_SIZE:
		return heap_alloc(call, client, parent, p, &plain_layout);
	case NVOS32_FUNCTION_ALLOC_TILED:
		return heap_alloc(call, client, parent, p, &tiled_layout);
	case NVOS32_FUNCTION_ALLOC_SIZE_RANGE:
		return heap_alloc(call, client, parent, p, &range_layout);
	case NVOS32_FUNCTION_FREE:
		return heap_free(client, p);
	case NVOS32_FUNCTION_INFO:
		return heap_info(parent->card, p);
	default:
		return NV_ERR_NOT_SUPPORTED;
	}
}

static u32 control_locked(struct sim_call *call, u8 *p)
{
	struct sim_client *client;
	struct sim_object *parent;
	u32 status;

	status = sim_client_get(call, get32(p, NVOS32_OFF_ROOT), &client);
	if (status)
		return status;
	parent = sim_object_find(client, get32(p, NVOS32_OFF_PARENT));
	if (!parent || !parent->card)
		return NV_ERR_INVALID_OBJECT_PARENT;
	if (READ_ONCE(parent->card->lost))
		return NV_ERR_GPU_IS_LOST;
	status = heap_function(call, client, parent, p);
	put_figures(parent->card, p);
	return status;
}

u32 sim_vid_heap_control(struct sim_call *call, u8 *p)
{
	u32 function = get32(p, NVOS32_OFF_FUNCTION);
	u32 status = sim_fault_before(SIM_SITE_VID_HEAP, function, NULL);

	if (!status) {
		down_write(&sim_rm_lock);
		status = control_locked(call, p);
		up_write(&sim_rm_lock);
		sim_fault_after(SIM_SITE_VID_HEAP, function);
	}
	put32(p, NVOS32_OFF_STATUS, status);
	return status;
}

/* ---- RM_ALLOC_MEMORY ---- */

static u32 construct_os02(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct nvos02_fd *p = params;
	struct sim_alloc_args args = {
		.bytes = p->limit + 1,
		.attr = NVOS32_ATTR_LOCATION_PCI << 25,
	};
	u32 read_only = p->flags & NVOS02_FLAGS_ALLOC_USER_READ_ONLY;

	if (object->h_class == NV01_MEMORY_SYSTEM_OS_DESCRIPTOR)
		return sim_user_memory_object(call, object, p->p_memory, p->limit, args.attr,
					      read_only ? NVOS32_ATTR2_PROTECTION_USER_READ_ONLY :
							  0);
	return sim_memory_object(call, object, &args);
}

/* Class 0x40 here takes nothing: it tells how large the heap is. */
static u32 heap_limit(struct sim_object *parent, struct nvos02_fd *p)
{
	struct sim_heap_figures figures;

	if (!parent->card)
		return NV_ERR_INVALID_OBJECT_PARENT;
	sim_heap_figures(parent->card, &figures);
	p->limit = figures.heap - 1;
	return NV_OK;
}

static u32 alloc_memory_locked(struct sim_call *call, struct nvos02_fd *p)
{
	struct sim_client *client;
	struct sim_object *parent;
	u32 status = sim_client_get(call, p->h_root, &client);

	if (status)
		return status;
	parent = sim_object_find(client, p->h_object_parent);
	if (!parent || !parent->card)
		return NV_ERR_INVALID_OBJECT_PARENT;
	switch (p->h_class) {
	case NV01_MEMORY_LOCAL_USER:
		return heap_limit(parent, p);
	case NV01_MEMORY_SYSTEM_OS_DESCRIPTOR:
		if (NVOS02_FLAGS_MAPPING(p->flags) != NVOS02_FLAGS_MAPPING_NO_MAP)
			return NV_ERR_INVALID_FLAGS;
		fallthrough;
	case NV01_MEMORY_SYSTEM:
		if (NVOS02_FLAGS_LOCATION(p->flags) != NVOS02_FLAGS_LOCATION_PCI)
			return NV_ERR_INVALID_FLAGS;
		return sim_object_create(call, client, parent, &p->h_object_new,
					 sim_class_find(p->h_class), p, construct_os02, NULL);
	default:
		return NV_ERR_INVALID_CLASS;
	}
}

static bool wants_mapping(const struct nvos02_fd *p)
{
	return p->h_class == NV01_MEMORY_SYSTEM &&
	       NVOS02_FLAGS_ALLOC(p->flags) != NVOS02_FLAGS_ALLOC_NONE &&
	       NVOS02_FLAGS_MAPPING(p->flags) != NVOS02_FLAGS_MAPPING_NO_MAP;
}

/* The ioctl fails (and says nothing of it in the status) when the mapping cannot be left. */
u32 sim_alloc_memory(struct sim_call *call, struct nvos02_fd *p)
{
	struct nvos33_fd map;

	p->status = sim_fault_before(SIM_SITE_ALLOC, p->h_class, NULL);
	if (p->status)
		return NV_OK;
	if (p->h_class == NV01_MEMORY_SYSTEM_OS_DESCRIPTOR && !call->kernel)
		sim_user_pages_fault_in(p->p_memory, p->limit + 1);
	down_write(&sim_rm_lock);
	p->status = alloc_memory_locked(call, p);
	up_write(&sim_rm_lock);
	sim_fault_after(SIM_SITE_ALLOC, p->h_class);
	if (p->status || !wants_mapping(p))
		return NV_OK;
	map = (struct nvos33_fd){
		.h_client = p->h_root,
		.h_device = p->h_object_parent,
		.h_memory = p->h_object_new,
		.length = p->limit + 1,
		.fd = p->fd,
	};
	if (sim_map_memory(call, &map))
		return NV_ERR_INVALID_ARGUMENT;
	p->p_memory = map.p_linear_address;
	return NV_OK;
}
