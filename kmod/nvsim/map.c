// SPDX-License-Identifier: GPL-2.0
/*
 * CPU mappings. RM_MAP_MEMORY leaves a context in the file it names; that file's mmap uses it.
 * A file takes one context in its life (535.261.03 kernel-open/nvidia/nv-usermap.c), and the
 * mapping's operations read it from the mapping's file, as the driver's do (nv-mmap.c).
 */

#include <linux/file.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "nvsim/internal.h"

/* ---- RM_MAP_MEMORY ---- */

static atomic64_t next_cookie = ATOMIC64_INIT(0);

/* A made-up bus address, different for every mapping; the offset in a page is the caller's. */
static u64 new_address(u64 offset)
{
	return 0x380000000000ULL + ((u64)atomic64_inc_return(&next_cookie) << 21) +
	       (offset & ~PAGE_MASK);
}

static u32 leave_context(struct sim_file *file, struct sim_memory *memory,
			 const struct nvos33_fd *p)
{
	u64 start = p->offset & PAGE_MASK;
	u32 status = NV_OK;

	mutex_lock(&file->lock);
	if (file->context.valid) {
		status = NV_ERR_STATE_IN_USE;
	} else {
		file->context.memory = sim_memory_get(memory);
		file->context.offset = start;
		file->context.bytes = PAGE_ALIGN(p->offset + p->length) - start;
		file->context.writable = NVOS33_FLAGS_ACCESS(p->flags) !=
					 NVOS33_FLAGS_ACCESS_READ_ONLY;
		file->context.eager = memory->kind == SIM_MEMORY_DOORBELL;
		/* mmap and faults look without the lock: the rest never changes after this */
		smp_store_release(&file->context.valid, true);
	}
	mutex_unlock(&file->lock);
	return status;
}

/* Card memory maps through the card's node, system memory through the control node. */
static u32 context_for_fd(struct sim_memory *memory, const struct nvos33_fd *p)
{
	bool on_card = sim_memory_on_card(memory);
	struct sim_file *file;
	struct file *filp = sim_fget(p->fd, on_card ? -1 : NV_MINOR_CTL, &file);
	u32 status = NV_ERR_INVALID_ARGUMENT;

	if (!filp)
		return NV_ERR_INVALID_ARGUMENT;
	if (!on_card || file->card == memory->card)
		status = leave_context(file, memory, p);
	fput(filp);
	return status;
}

static u32 check_range(const struct sim_memory *memory, const struct nvos33_fd *p)
{
	if (!p->length || p->offset > memory->bytes || p->length > memory->bytes - p->offset)
		return NV_ERR_INVALID_LIMIT;
	return NV_OK;
}

static u32 map_object(struct sim_call *call, struct sim_object *object, struct nvos33_fd *p)
{
	struct sim_cpu_map *map;
	u32 status = check_range(object->memory, p);

	if (object->card && READ_ONCE(object->card->lost))
		return NV_ERR_GPU_IS_LOST;
	if (status)
		return status;
	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return NV_ERR_NO_MEMORY;
	/* Kernel callers get a cookie: nothing of theirs is mapped. */
	status = call->kernel ? NV_OK : context_for_fd(object->memory, p);
	if (status) {
		kfree(map);
		return status;
	}
	map->address = new_address(p->offset);
	map->bytes = p->length;
	list_add(&map->link, &object->cpu_maps);
	p->p_linear_address = map->address;
	return NV_OK;
}

static u32 find_memory(struct sim_call *call, u32 h_client, u32 h_device, u32 h_memory,
		       struct sim_object **object)
{
	struct sim_client *client;
	u32 status = sim_client_get(call, h_client, &client);

	if (status)
		return status;
	*object = sim_object_find(client, h_memory);
	if (!*object || !sim_object_find(client, h_device))
		return NV_ERR_OBJECT_NOT_FOUND;
	return (*object)->memory ? NV_OK : NV_ERR_INVALID_OBJECT_HANDLE;
}

u32 sim_map_memory(struct sim_call *call, struct nvos33_fd *p)
{
	struct sim_object *object;
	u32 status = sim_fault_before(SIM_SITE_MAP, 0, NULL);

	if (!status) {
		down_write(&sim_rm_lock);
		status = find_memory(call, p->h_client, p->h_device, p->h_memory, &object);
		if (!status)
			status = map_object(call, object, p);
		up_write(&sim_rm_lock);
		sim_fault_after(SIM_SITE_MAP, 0);
	}
	p->status = status;
	return status;
}

static struct sim_cpu_map *find_map(struct sim_object *object, u64 address)
{
	struct sim_cpu_map *map;

	list_for_each_entry(map, &object->cpu_maps, link)
		if (map->address == address)
			return map;
	return NULL;
}

static void map_drop(struct sim_cpu_map *map)
{
	list_del(&map->link);
	kfree(map);
}

void sim_cpu_maps_drop(struct sim_object *object)
{
	struct sim_cpu_map *map, *next;

	list_for_each_entry_safe(map, next, &object->cpu_maps, link)
		map_drop(map);
}

/* Page tables and the file's context stay: only RM forgets. */
u32 sim_unmap_memory(struct sim_call *call, struct nvos34 *p)
{
	struct sim_object *object;
	struct sim_cpu_map *map = NULL;

	down_write(&sim_rm_lock);
	p->status = find_memory(call, p->h_client, p->h_device, p->h_memory, &object);
	if (!p->status) {
		map = find_map(object, p->p_linear_address);
		if (map)
			map_drop(map);
		else
			p->status = NV_ERR_OBJECT_NOT_FOUND;
	}
	up_write(&sim_rm_lock);
	return p->status;
}

/* The library tells where mmap put it, and unmaps by that address later. */
u32 sim_update_mapping(struct sim_call *call, struct nvos56 *p)
{
	struct sim_object *object;
	struct sim_cpu_map *map;

	down_write(&sim_rm_lock);
	p->status = find_memory(call, p->h_client, p->h_device, p->h_memory, &object);
	if (!p->status) {
		map = find_map(object, p->p_old_cpu_address);
		if (map)
			map->address = p->p_new_cpu_address;
		else
			p->status = NV_ERR_OBJECT_NOT_FOUND;
	}
	up_write(&sim_rm_lock);
	return p->status;
}

/* ---- mmap ---- */

static bool file_is_ours(struct vm_area_struct *vma)
{
	/* The driver would read someone else's private data here: be loud instead. */
	return !WARN_ONCE(vma->vm_file->f_op != &sim_file_ops,
			  "nvsim: mapping operations on a file of another driver\n");
}

static const struct sim_map_context *context_of(struct vm_area_struct *vma)
{
	struct sim_file *file = vma->vm_file->private_data;

	return &file->context;
}

static struct page *vma_page(struct vm_area_struct *vma, pgoff_t index)
{
	const struct sim_map_context *context = context_of(vma);

	return sim_memory_page(context->memory, (context->offset >> PAGE_SHIFT) + index);
}

static void mapping_open(struct vm_area_struct *vma)
{
	sim_memory_get(vma->vm_private_data);
	atomic_inc(&sim_counts.mappings);
}

static void mapping_close(struct vm_area_struct *vma)
{
	sim_memory_put(vma->vm_private_data);
	atomic_dec(&sim_counts.mappings);
}

/* Also after the entries were zapped: they come back with the next touch. */
static vm_fault_t mapping_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct page *page;

	if (!file_is_ours(vma))
		return VM_FAULT_SIGBUS;
	page = vma_page(vma, vmf->pgoff);
	if (!page)
		return VM_FAULT_SIGBUS;
	if (vma->vm_flags & VM_PFNMAP)
		return vmf_insert_pfn(vma, vmf->address, page_to_pfn(page));
	get_page(page);
	vmf->page = page;
	return 0;
}

static int mapping_access(struct vm_area_struct *vma, unsigned long address, void *buffer,
			  int bytes, int write)
{
	const struct sim_map_context *context = context_of(vma);
	u64 offset = context->offset + (vma->vm_pgoff << PAGE_SHIFT) + (address - vma->vm_start);
	int err;

	if (!file_is_ours(vma) || (write && !context->writable))
		return -EACCES;
	if (write)
		err = sim_memory_write(context->memory, offset, buffer, bytes);
	else
		err = sim_memory_read(context->memory, offset, buffer, bytes);
	return err ?: bytes;
}

static const struct vm_operations_struct mapping_ops = {
	.open = mapping_open,
	.close = mapping_close,
	.fault = mapping_fault,
	.access = mapping_access,
};

static int insert_all(struct vm_area_struct *vma)
{
	unsigned long address;
	struct page *page;

	for (address = vma->vm_start; address < vma->vm_end; address += PAGE_SIZE) {
		page = vma_page(vma, (address - vma->vm_start) >> PAGE_SHIFT);
		if (!page || (vmf_insert_pfn(vma, address, page_to_pfn(page)) & VM_FAULT_ERROR))
			return -EAGAIN;
	}
	return 0;
}

static int check_mmap(const struct sim_file *file, struct vm_area_struct *vma)
{
	u64 bytes = vma->vm_end - vma->vm_start;

	if (!smp_load_acquire(&file->context.valid) || READ_ONCE(file->exports) || vma->vm_pgoff)
		return -EINVAL;
	if (file->card && READ_ONCE(file->card->lost))
		return -EIO;
	if (!(vma->vm_flags & VM_SHARED) && (vma->vm_flags & VM_MAYWRITE))
		return -EINVAL; /* entries without pages cannot be copied on write */
	if (file->card && bytes != file->context.bytes)
		return -ENXIO;
	return bytes > file->context.bytes ? -ERANGE : 0;
}

/*
 * -EINVAL  no context, an offset, a private mapping, or a file that holds exports
 * -EIO     the card is lost
 * -ENXIO   not the size that was mapped (card)
 * -ERANGE  more than was mapped (system memory)
 */
int sim_file_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct sim_file *file = filp->private_data;
	int err = check_mmap(file, vma);

	if (err)
		return err;
	/* Card memory is behind a bus: no page of it can be pinned through the mapping. */
	if (file->card)
		compat_vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND);
	else
		compat_vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	if (!file->context.writable) {
		compat_vm_flags_clear(vma, VM_WRITE | VM_MAYWRITE);
		vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	}
	vma->vm_ops = &mapping_ops;
	vma->vm_private_data = file->context.memory;
	if (file->context.eager)
		err = insert_all(vma);
	if (err)
		return err;
	mapping_open(vma);
	return 0;
}
