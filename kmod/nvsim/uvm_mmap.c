// SPDX-License-Identifier: GPL-2.0
/*
 * CPU mappings of the managed-memory node. Three kinds, told apart by their operations: managed
 * (faulted in), semaphore pools (filled at mmap, no faults), and disabled ones (a child of fork,
 * a moved mapping). The operations reach their space through the mapping's file.
 * (535.261.03 kernel-open/nvidia-uvm/uvm.c.)
 */

#include <linux/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "nvsim/uvm.h"

struct identity { /* so that open() of a copy finds what it was copied from */
	struct vm_area_struct *vma;
};

static const struct vm_operations_struct managed_ops;
static const struct vm_operations_struct semaphore_ops;

static vm_fault_t fault_refused(struct vm_fault *vmf)
{
	return VM_FAULT_SIGBUS;
}

static const struct vm_operations_struct disabled_ops = { .fault = fault_refused };

/*
 * The driver takes the mapping's file and operations for its own without looking, and hangs a
 * processor when they are not: here that is a warning, which fails a guest run.
 */
static struct sim_uvm_space *space_of(struct vm_area_struct *vma,
				      const struct vm_operations_struct *ops)
{
	if (WARN_ONCE(vma->vm_file->f_op != &sim_uvm_ops || vma->vm_ops != ops,
		      "nvsim: managed mapping with another file or other operations\n"))
		return NULL;
	return uvm_space_of(vma->vm_file);
}

static void disable(struct vm_area_struct *vma)
{
	unmap_mapping_range(vma->vm_file->f_mapping, (loff_t)vma->vm_pgoff << PAGE_SHIFT,
			    vma->vm_end - vma->vm_start, 1);
	vma->vm_ops = &disabled_ops;
	vma->vm_private_data = NULL;
}

/* ---- managed ---- */

static void managed_open(struct vm_area_struct *vma)
{
	struct vm_area_struct *original = ((struct identity *)vma->vm_private_data)->vma;
	struct sim_uvm_space *space = space_of(vma, &managed_ops);
	struct identity *identity;

	vma->vm_private_data = NULL;
	atomic_inc(&sim_counts.mappings);
	if (!space || vma->vm_mm != original->vm_mm ||
	    (vma->vm_start != original->vm_start && vma->vm_end != original->vm_end)) {
		disable(vma);
		atomic_dec(&sim_counts.mappings);
		return;
	}
	identity = kmalloc(sizeof(*identity), GFP_KERNEL | __GFP_NOFAIL);
	identity->vma = vma;
	vma->vm_private_data = identity;
	down_write(&space->ranges_lock);
	uvm_range_split(space, vma->vm_start == original->vm_start ? vma->vm_end : vma->vm_start);
	up_write(&space->ranges_lock);
}

static void managed_close(struct vm_area_struct *vma)
{
	struct sim_uvm_space *space = space_of(vma, &managed_ops);
	struct uvm_range *range;

	kfree(vma->vm_private_data);
	vma->vm_private_data = NULL;
	atomic_dec(&sim_counts.mappings);
	if (!space)
		return;
	down_write(&space->ranges_lock);
	while ((range = uvm_range_first(space, vma->vm_start, vma->vm_end - 1)))
		uvm_range_remove(space, range);
	up_write(&space->ranges_lock);
}

static vm_fault_t fault_in(struct sim_uvm_space *space, struct vm_fault *vmf)
{
	struct uvm_range *range = uvm_range_find(space, vmf->address);
	unsigned long chunk;

	if (!range || range->type != UVM_RANGE_MANAGED)
		return VM_FAULT_SIGBUS;
	chunk = uvm_chunk_of(range->backing, vmf->address);
	sim_resident_move(&range->backing->resident, NULL, chunk, chunk);
	vmf->page = uvm_backing_page(range->backing, vmf->address);
	return vmf->page ? 0 : VM_FAULT_OOM;
}

/* The processor touches it: it comes back from the card. */
static vm_fault_t managed_fault(struct vm_fault *vmf)
{
	struct sim_uvm_space *space = space_of(vmf->vma, &managed_ops);
	vm_fault_t ret;

	if (!space)
		return VM_FAULT_SIGBUS;
	down_read(&space->ranges_lock);
	ret = fault_in(space, vmf);
	up_read(&space->ranges_lock);
	return ret;
}

static const struct vm_operations_struct managed_ops = {
	.open = managed_open,
	.close = managed_close,
	.fault = managed_fault,
};

/* ---- semaphore pools ---- */

static void semaphore_open(struct vm_area_struct *vma)
{
	disable(vma); /* fork and split are not for pools */
}

static void semaphore_close(struct vm_area_struct *vma)
{
	struct sim_uvm_space *space = space_of(vma, &semaphore_ops);
	struct uvm_range *range;

	atomic_dec(&sim_counts.mappings);
	if (!space)
		return;
	down_write(&space->ranges_lock);
	range = uvm_range_find(space, vma->vm_start);
	if (range && range->type == UVM_RANGE_SEMAPHORES)
		range->on_cpu = false;
	up_write(&space->ranges_lock);
}

static const struct vm_operations_struct semaphore_ops = {
	.open = semaphore_open,
	.close = semaphore_close,
	.fault = fault_refused,
};

static int map_semaphores(struct uvm_range *range, struct vm_area_struct *vma)
{
	unsigned long address;
	struct page *page;
	int err;

	for (address = vma->vm_start; address < vma->vm_end; address += PAGE_SIZE) {
		page = sim_memory_page(range->memory, (address - vma->vm_start) >> PAGE_SHIFT);
		err = page ? vm_insert_page(vma, address, page) : -ENOMEM;
		if (err)
			return err;
	}
	range->on_cpu = true;
	vma->vm_ops = &semaphore_ops;
	vma->vm_private_data = NULL;
	return 0;
}

/* ---- mmap ---- */

static int map_managed(struct sim_uvm_space *space, struct vm_area_struct *vma)
{
	u64 bytes = vma->vm_end - vma->vm_start;
	struct identity *identity = kmalloc(sizeof(*identity), GFP_KERNEL_ACCOUNT);
	struct uvm_backing *backing = uvm_backing_create(vma->vm_start, bytes);
	struct uvm_range *range;

	if (!identity || !backing ||
	    uvm_range_insert(space, UVM_RANGE_MANAGED, vma->vm_start, bytes, &range)) {
		if (backing)
			sim_resident_destroy(&backing->resident);
		kfree(backing);
		kfree(identity);
		return -ENOMEM;
	}
	range->backing = backing;
	identity->vma = vma;
	vma->vm_private_data = identity;
	vma->vm_ops = &managed_ops;
	return 0;
}

static int map_range(struct sim_uvm_space *space, struct vm_area_struct *vma)
{
	struct uvm_range *range = uvm_range_first(space, vma->vm_start, vma->vm_end - 1);

	if (!range)
		return map_managed(space, vma);
	if (range->type != UVM_RANGE_SEMAPHORES)
		return -EADDRINUSE;
	if (range->on_cpu || range->node.start != vma->vm_start ||
	    range->node.last != vma->vm_end - 1)
		return -EINVAL;
	return map_semaphores(range, vma);
}

/*
 * -EBADFD     not initialised
 * -EOPNOTSUPP another process than the one of INITIALIZE, or MM_INITIALIZE's file is closed
 * -EADDRINUSE a range of another kind is there
 * -EINVAL     offset is not the address, not shared and read-write, or the range is in use
 */
int uvm_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct sim_uvm_space *space = uvm_space_of(filp);
	unsigned long need = VM_SHARED | VM_READ | VM_WRITE;
	int err;

	if (!space)
		return -EBADFD;
	if (space->mm && (space->mm != current->mm || uvm_mm_released(space)))
		return -EOPNOTSUPP;
	if (vma->vm_start != vma->vm_pgoff << PAGE_SHIFT || (vma->vm_flags & need) != need)
		return -EINVAL;
	compat_vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTCOPY);
	down_write(&space->ranges_lock);
	err = map_range(space, vma);
	up_write(&space->ranges_lock);
	if (!err)
		atomic_inc(&sim_counts.mappings);
	return err;
}

/* ---- the card touches managed memory ---- */

static void move_to_card(struct sim_uvm_space *space, struct uvm_backing *backing,
			 struct sim_card *card, unsigned long chunk)
{
	u64 start = backing->base + (u64)chunk * SIM_CHUNK_BYTES;

	if (sim_resident_has(&backing->resident, card, chunk))
		return;
	/* When the card is full of what RM allocated, it reaches over the bus instead. */
	if (sim_resident_move(&backing->resident, card, chunk, chunk))
		return;
	unmap_mapping_range(space->mapping, start, SIM_CHUNK_BYTES, 1);
}

struct page *sim_uvm_managed_page(struct sim_uvm_space *space, struct sim_card *card, u64 va)
{
	struct uvm_range *range;
	struct page *page = NULL;

	down_read(&space->ranges_lock);
	range = uvm_range_find(space, va);
	if (range && range->type == UVM_RANGE_MANAGED) {
		move_to_card(space, range->backing, card, uvm_chunk_of(range->backing, va));
		page = uvm_backing_page(range->backing, va);
	}
	up_read(&space->ranges_lock);
	return page;
}
