// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel interface: nvidia_get_rm_ops(). Its callers have kernel privilege and no owner, so
 * any live client can be named; pointers in parameters are kernel pointers.
 * (nvabi/rm_ops.h has layouts and sources; real-driver measurements are pinned by tests.)
 */

#include <linux/module.h>
#include <linux/slab.h>

#include "nvabi/rm_ops.h"
#include "nvsim/internal.h"

struct stack { /* one a thread, as the driver wants it; nothing is in it here */
	u32 magic;
};

#define SP_MAGIC 0x5369536b

static int alloc_stack(void **sp)
{
	struct stack *stack = kmalloc(sizeof(*stack), GFP_KERNEL);

	if (!stack)
		return -ENOMEM;
	stack->magic = SP_MAGIC;
	*sp = stack;
	return 0;
}

static void free_stack(void *sp)
{
	struct stack *stack = sp;

	if (stack)
		WARN_ON(stack->magic != SP_MAGIC);
	kfree(stack);
}

static u32 enumerate_gpus(struct nv_gpu_info *info)
{
	struct sim_card *card;
	unsigned int i;

	sim_for_each_card(card, i) {
		memset(&info[i], 0, sizeof(info[i]));
		info[i].gpu_id = card->gpu_id;
		info[i].pci.domain = card->domain;
		info[i].pci.bus = card->bus;
		info[i].pci.slot = card->slot;
		info[i].pci.function = card->function;
	}
	return sim_params.cards;
}

static int open_gpu(u32 gpu_id, void *sp)
{
	struct sim_card *card = sim_card_by_gpu_id(gpu_id);

	might_sleep();
	if (!card)
		return -ENODEV;
	if (READ_ONCE(card->lost))
		return -EIO;
	atomic_inc(&card->opens);
	return 0;
}

static void close_gpu(u32 gpu_id, void *sp)
{
	struct sim_card *card = sim_card_by_gpu_id(gpu_id);

	if (card)
		atomic_dec(&card->opens);
}

static void op_alloc(struct sim_call *call, struct nv_rm_op *op)
{
	struct nvos21 *a = &op->u.alloc21;
	struct sim_alloc alloc = { a->h_root, a->h_object_parent, a->h_object_new, a->h_class,
				   a->p_alloc_parms };
	u32 status = sim_object_alloc(call, &alloc);

	a->h_object_new = alloc.h_object;
	if (sim_abi->alloc_is_nvos64)
		op->u.alloc64.status = status;
	else
		a->status = status;
}

static void op_map(struct sim_call *call, struct nvos33_fd *p)
{
	struct nvos33_fd copy = *p; /* without the descriptor, which kernel callers do not have */

	copy.fd = 0;
	sim_map_memory(call, &copy);
	p->p_linear_address = copy.p_linear_address;
	p->status = copy.status;
}

static void op_map_dma(struct sim_call *call, void *p, bool unmap)
{
	struct nvos46_v535 *a = p;
	struct nvos47_v535 *b = p;
	struct sim_dma_args args = {
		.h_client = a->h_client,
		.h_device = a->h_device,
		.h_dma = a->h_dma,
		.h_memory = a->h_memory,
	};

	if (unmap) {
		args.flags = b->flags;
		args.dma_offset = *(u64 *)(p + sim_abi->unmap_dma_address_off);
		*(u32 *)(p + sim_abi->unmap_dma_status_off) = sim_unmap_dma(call, &args);
		return;
	}
	args.flags = a->flags;
	args.offset = a->offset;
	args.bytes = a->length;
	args.dma_offset = *(u64 *)(p + sim_abi->map_dma_address_off);
	*(u32 *)(p + sim_abi->map_dma_status_off) = sim_map_dma(call, &args);
	*(u64 *)(p + sim_abi->map_dma_address_off) = args.dma_offset;
}

static void run(struct sim_call *call, struct nv_rm_op *op)
{
	void *p = op->u.raw;

	switch (op->op) {
	case NV_RMOP_FREE:
		op->u.free.status =
			sim_object_free(call, op->u.free.h_root, op->u.free.h_object_old);
		return;
	case NV_RMOP_ALLOC:
		op_alloc(call, op);
		return;
	case NV_RMOP_ALLOC_MEMORY:
		((struct nvos02_fd *)p)->flags |= NVOS02_FLAGS_MAPPING_NO_MAP << 30;
		sim_alloc_memory(call, p);
		return;
	case NV_RMOP_VID_HEAP_CONTROL: /* too large for the union: behind a pointer */
		sim_vid_heap_control(call, op->u.vid_heap);
		return;
	case NV_RMOP_CONTROL:
		op->u.control.status = sim_object_control(call, &op->u.control);
		return;
	case NV_RMOP_DUP_OBJECT:
		op->u.dup.status = sim_object_dup(call, &op->u.dup);
		return;
	case NV_RMOP_SHARE:
		((struct nvos57 *)p)->status = sim_object_share(call, p);
		return;
	case NV_RMOP_MAP_MEMORY:
		op_map(call, p);
		return;
	case NV_RMOP_UNMAP_MEMORY:
		sim_unmap_memory(call, p);
		return;
	case NV_RMOP_MAP_MEMORY_DMA:
	case NV_RMOP_UNMAP_MEMORY_DMA:
		op_map_dma(call, p, op->op == NV_RMOP_UNMAP_MEMORY_DMA);
		return;
	}
}

static void op(void *sp, void *ops_cmd)
{
	struct sim_call call = { .kernel = true, .admin = true };
	struct nv_rm_op *op = ops_cmd;

	might_sleep();
	sim_fault_after(SIM_SITE_KERNEL_OP, op->op); /* delays and hangs; it has no one status */
	run(&call, op);
}

static int set_callbacks(const void *callbacks)
{
	return 0;
}

u32 nvidia_get_rm_ops(struct nv_rm_ops *rm_ops)
{
	const char *theirs = rm_ops->version_string;

	rm_ops->version_string = sim_params.version;
	if (!theirs || strcmp(theirs, sim_params.version))
		return NV_ERR_GENERIC;
	rm_ops->system_info.allow_write_combining = 1;
	rm_ops->alloc_stack = alloc_stack;
	rm_ops->free_stack = free_stack;
	rm_ops->enumerate_gpus = enumerate_gpus;
	rm_ops->open_gpu = open_gpu;
	rm_ops->close_gpu = close_gpu;
	rm_ops->op = op;
	rm_ops->set_callbacks = set_callbacks;
	return NV_OK;
}
EXPORT_SYMBOL(nvidia_get_rm_ops);

/* Whoever used the interface is gone; what it forgot goes too. */
void sim_rm_ops_exit(void)
{
	sim_clients_destroy_owned(NULL);
}
