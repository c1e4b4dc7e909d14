// SPDX-License-Identifier: GPL-2.0
/*
 * RM calls of the device files: one table, number -> which node, size, what to do.
 * Sources: 535.261.03 src/nvidia/arch/nvalloc/unix/src/escape.c; what the numbers mean is in
 * nvabi. A status travels inside the structure and the ioctl returns 0; a wrong node, size or
 * number is -EINVAL.
 */

#include "compat.h"
#include "nvsim/internal.h"

#define ON_CTL  1
#define ON_GPU  2
#define ON_BOTH 3

struct escape {
	u32 nr, node;
	u32 size; /* 0: the handler looks at it */
	int (*handle)(struct sim_call *call, void *p, u32 size);
};

static int rm_alloc_memory(struct sim_call *call, void *p, u32 size)
{
	struct nvos02_fd *a = p;
	u32 failed = sim_alloc_memory(call, p);

	sim_note("alloc memory", a->h_class, a->h_object_parent, a->status);
	return failed ? -EINVAL : 0;
}

static int rm_alloc_object(struct sim_call *call, void *p, u32 size)
{
	struct nvos05 *a = p;
	struct sim_alloc alloc = { a->h_root, a->h_object_parent, a->h_object_new, a->h_class };

	a->status = sim_object_alloc(call, &alloc);
	a->h_object_new = alloc.h_object;
	return 0;
}

static int rm_free(struct sim_call *call, void *p, u32 size)
{
	struct nvos00 *a = p;

	a->status = sim_note("free", 0, a->h_object_old,
			     sim_object_free(call, a->h_root, a->h_object_old));
	return 0;
}

static int rm_control(struct sim_call *call, void *p, u32 size)
{
	struct nvos54 *a = p;

	a->status = sim_note("control", a->cmd, a->h_object, sim_object_control(call, a));
	return 0;
}

static bool class_on_gpu_node(u32 h_class)
{
	return h_class == NV01_EVENT || h_class == NV01_EVENT_OS_EVENT || h_class == 0x78 ||
	       h_class == 0x7e;
}

/* NVOS21 and NVOS64 are told apart by size; their beginnings agree. */
static int rm_alloc(struct sim_call *call, void *p, u32 size)
{
	struct nvos21 *a = p;
	struct nvos64 *b = p;
	struct sim_alloc alloc;
	u32 status;

	if (size != sizeof(*a) && size != sizeof(*b))
		return -EINVAL;
	if (call->file->card && !class_on_gpu_node(a->h_class))
		return -EINVAL;
	alloc = (struct sim_alloc){ a->h_root, a->h_object_parent, a->h_object_new, a->h_class,
				    a->p_alloc_parms };
	status = sim_note("alloc", a->h_class, a->h_object_parent, sim_object_alloc(call, &alloc));
	if (size == sizeof(*a))
		a->status = status;
	else
		b->status = status;
	a->h_object_new = alloc.h_object;
	/* measured: the other root classes are answered with the one that they become */
	if (!status && (a->h_class == NV01_ROOT || a->h_class == NV01_ROOT_NON_PRIV))
		a->h_class = NV01_ROOT_CLIENT;
	return 0;
}

static int rm_dup(struct sim_call *call, void *p, u32 size)
{
	struct nvos55 *a = p;

	a->status = sim_note("dup", 0, a->h_object_src, sim_object_dup(call, a));
	return 0;
}

static int rm_share(struct sim_call *call, void *p, u32 size)
{
	struct nvos57 *a = p;

	a->status = sim_object_share(call, a);
	return 0;
}

static int rm_vid_heap_control(struct sim_call *call, void *p, u32 size)
{
	sim_note("vid heap", get_unaligned((u32 *)(p + NVOS32_OFF_FUNCTION)),
		 get_unaligned((u32 *)(p + NVOS32_OFF_PARENT)), sim_vid_heap_control(call, p));
	return 0;
}

static int rm_map_memory(struct sim_call *call, void *p, u32 size)
{
	struct nvos33_fd *a = p;

	sim_note("map", a->flags, a->h_memory, sim_map_memory(call, p));
	return 0;
}

static int rm_unmap_memory(struct sim_call *call, void *p, u32 size)
{
	struct nvos34 *a = p;

	sim_note("unmap", a->flags, a->h_memory, sim_unmap_memory(call, p));
	return 0;
}

static int rm_update_mapping(struct sim_call *call, void *p, u32 size)
{
	sim_update_mapping(call, p);
	return 0;
}

static u64 get64(const void *p, u32 offset)
{
	return get_unaligned((const u64 *)(p + offset));
}

static int rm_map_dma(struct sim_call *call, void *p, u32 size)
{
	const struct nvos46_v535 *a = p; /* the beginning is the same in all versions */
	struct sim_dma_args args = {
		.h_client = a->h_client,
		.h_device = a->h_device,
		.h_dma = a->h_dma,
		.h_memory = a->h_memory,
		.flags = a->flags,
		.offset = a->offset,
		.bytes = a->length,
		.dma_offset = get64(p, sim_abi->map_dma_address_off),
	};

	if (size != sim_abi->map_dma_bytes)
		return -EINVAL;
	put_unaligned(sim_note("map dma", a->flags, a->h_memory, sim_map_dma(call, &args)),
		      (u32 *)(p + sim_abi->map_dma_status_off));
	put_unaligned(args.dma_offset, (u64 *)(p + sim_abi->map_dma_address_off));
	return 0;
}

static int rm_unmap_dma(struct sim_call *call, void *p, u32 size)
{
	const struct nvos47_v535 *a = p;
	struct sim_dma_args args = {
		.h_client = a->h_client,
		.h_device = a->h_device,
		.h_dma = a->h_dma,
		.h_memory = a->h_memory,
		.flags = a->flags,
		.dma_offset = get64(p, sim_abi->unmap_dma_address_off),
	};

	if (size != sim_abi->unmap_dma_bytes)
		return -EINVAL;
	/* a length came in 550, between address and status */
	if (sim_abi->unmap_dma_status_off > sim_abi->unmap_dma_address_off + 8)
		args.bytes = get64(p, sim_abi->unmap_dma_address_off + 8);
	put_unaligned(sim_unmap_dma(call, &args), (u32 *)(p + sim_abi->unmap_dma_status_off));
	return 0;
}

/* A context DMA is an object that names memory; nothing here looks through it. */
static int rm_alloc_context_dma(struct sim_call *call, void *p, u32 size)
{
	struct nvos39 *a = p;

	a->status = NV_ERR_NOT_SUPPORTED;
	return 0;
}

static int rm_bind_context_dma(struct sim_call *call, void *p, u32 size)
{
	struct nvos49 *a = p;
	struct sim_client *client;

	down_read(&sim_rm_lock);
	a->status = sim_client_get(call, a->h_client, &client);
	if (!a->status &&
	    (!sim_object_find(client, a->h_channel) || !sim_object_find(client, a->h_ctx_dma)))
		a->status = NV_ERR_OBJECT_NOT_FOUND;
	up_read(&sim_rm_lock);
	return 0;
}

static u32 idle_one(struct sim_call *call, u32 h_client, u32 h_channel, u32 timeout_us)
{
	struct sim_client *client;
	struct sim_object *channel;
	u32 status = sim_client_get(call, h_client, &client);

	if (status)
		return status;
	channel = sim_object_find(client, h_channel);
	return channel && channel->exec ? sim_channel_idle(channel, timeout_us) :
					  NV_ERR_INVALID_CHANNEL;
}

static int rm_idle_channels(struct sim_call *call, void *p, u32 size)
{
	struct nvos30 *a = p;
	u32 i, h_client = a->h_client, h_channel = a->h_channel;

	if (a->num_channels > 512)
		a->num_channels = 512;
	down_read(&sim_rm_lock);
	a->status = NV_OK;
	if (!a->num_channels)
		a->status = idle_one(call, h_client, h_channel, a->timeout);
	for (i = 0; i < a->num_channels && !a->status; i++) {
		a->status = sim_copy_in(call, &h_client, a->ph_clients + 4ULL * i, 4)           ?:
				    sim_copy_in(call, &h_channel, a->ph_channels + 4ULL * i, 4) ?:
				    idle_one(call, h_client, h_channel, a->timeout);
	}
	up_read(&sim_rm_lock);
	return 0;
}

static int rm_get_event_data(struct sim_call *call, void *p, u32 size)
{
	struct nvos41 *a = p;

	a->status = sim_event_data(call, a);
	return 0;
}

static int rm_access_registry(struct sim_call *call, void *p, u32 size)
{
	put_unaligned(NV_ERR_NOT_SUPPORTED, (u32 *)(p + 64)); /* NVOS38: nvos.h */
	return 0;
}

static const struct escape escapes[] = {
	{ NV_ESC_RM_ALLOC_MEMORY, ON_GPU, sizeof(struct nvos02_fd), rm_alloc_memory },
	{ NV_ESC_RM_ALLOC_OBJECT, ON_CTL, sizeof(struct nvos05), rm_alloc_object },
	{ NV_ESC_RM_FREE, ON_CTL, sizeof(struct nvos00), rm_free },
	{ NV_ESC_RM_CONTROL, ON_CTL, sizeof(struct nvos54), rm_control },
	{ NV_ESC_RM_ALLOC, ON_BOTH, 0, rm_alloc },
	{ NV_ESC_RM_DUP_OBJECT, ON_CTL, sizeof(struct nvos55), rm_dup },
	{ NV_ESC_RM_SHARE, ON_CTL, sizeof(struct nvos57), rm_share },
	{ NV_ESC_RM_IDLE_CHANNELS, ON_CTL, sizeof(struct nvos30), rm_idle_channels },
	{ NV_ESC_RM_VID_HEAP_CONTROL, ON_CTL, NVOS32_SIZE, rm_vid_heap_control },
	{ NV_ESC_RM_ACCESS_REGISTRY, ON_CTL, 72, rm_access_registry },
	{ NV_ESC_RM_MAP_MEMORY, ON_CTL, sizeof(struct nvos33_fd), rm_map_memory },
	{ NV_ESC_RM_UNMAP_MEMORY, ON_CTL, sizeof(struct nvos34), rm_unmap_memory },
	{ NV_ESC_RM_GET_EVENT_DATA, ON_BOTH, sizeof(struct nvos41), rm_get_event_data },
	{ NV_ESC_RM_ALLOC_CONTEXT_DMA2, ON_CTL, sizeof(struct nvos39), rm_alloc_context_dma },
	{ NV_ESC_RM_MAP_MEMORY_DMA, ON_CTL, 0, rm_map_dma },
	{ NV_ESC_RM_UNMAP_MEMORY_DMA, ON_CTL, 0, rm_unmap_dma },
	{ NV_ESC_RM_BIND_CONTEXT_DMA, ON_CTL, sizeof(struct nvos49), rm_bind_context_dma },
	{ NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO, ON_CTL, sizeof(struct nvos56), rm_update_mapping },
};

int sim_escape(struct sim_call *call, u32 nr, void *p, u32 size)
{
	u32 node = call->file->card ? ON_GPU : ON_CTL;
	const struct escape *escape;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(escapes); i++) {
		escape = &escapes[i];
		if (escape->nr != nr)
			continue;
		if (!(escape->node & node) || (escape->size && escape->size != size))
			return -EINVAL;
		return escape->handle(call, p, size);
	}
	return -EINVAL;
}

/* For whoever wonders why a program gave up: modprobe nvsim dyndbg=+p. */
u32 sim_note(const char *what, u32 number, u32 object, u32 status)
{
	if (status)
		pr_debug("nvsim: %s 0x%x of 0x%x: status 0x%x\n", what, number, object, status);
	return status;
}
