// SPDX-License-Identifier: GPL-2.0
/*
 * The managed-memory node: open, ioctl table, release. Commands are raw numbers; a structure is
 * copied in once, its status is set, and all of it goes back with ioctl result 0
 * (535.261.03 kernel-open/nvidia-uvm/uvm.c, uvm_api.h).
 */

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "nvsim/uvm.h"

enum { MM_NONE, MM_ALIVE, MM_RELEASED };

static dev_t first_number;
static struct cdev node;

/* Operations first, private data after: as the driver does with files it is handed. */
static struct uvm_file *file_of(struct file *filp)
{
	return filp && filp->f_op == &sim_uvm_ops ? filp->private_data : NULL;
}

bool uvm_mm_released(const struct sim_uvm_space *space)
{
	return READ_ONCE(space->mm_state) == MM_RELEASED;
}

struct sim_uvm_space *uvm_space_of(struct file *filp)
{
	struct uvm_file *file = file_of(filp);

	if (!file || smp_load_acquire(&file->type) != UVM_FILE_SPACE)
		return NULL;
	return file->space;
}

/* ---- spaces ---- */

static struct sim_uvm_space *space_create(u64 flags, struct address_space *mapping)
{
	struct sim_uvm_space *space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);

	if (!space)
		return NULL;
	space->flags = flags;
	space->mapping = mapping;
	init_rwsem(&space->lock);
	init_rwsem(&space->ranges_lock);
	space->ranges = RB_ROOT_CACHED;
	xa_init_flags(&space->groups, XA_FLAGS_ALLOC1);
	if (!(flags & UVM_INIT_FLAG_MULTI_PROCESS)) {
		space->mm = current->mm;
		mmgrab(space->mm);
	}
	atomic_inc(&sim_counts.uvm_spaces);
	return space;
}

static void space_destroy(struct sim_uvm_space *space)
{
	uvm_gpus_remove_all(space);
	uvm_ranges_remove_all(space);
	xa_destroy(&space->groups);
	if (space->mm)
		mmdrop(space->mm);
	kfree(space);
	atomic_dec(&sim_counts.uvm_spaces);
}

static u32 initialize(struct file *filp, void *params)
{
	struct uvm_initialize *p = params;
	struct uvm_file *file = filp->private_data;
	u32 status = NV_OK;

	if (p->flags & ~(u64)(UVM_INIT_FLAG_DISABLE_HMM | UVM_INIT_FLAG_MULTI_PROCESS))
		return NV_ERR_INVALID_ARGUMENT;
	mutex_lock(&file->lock);
	if (file->type == UVM_FILE_NEW) {
		file->space = space_create(p->flags, &file->mapping);
		if (file->space)
			smp_store_release(&file->type, UVM_FILE_SPACE);
		else
			status = NV_ERR_NO_MEMORY;
	} else if (file->type == UVM_FILE_MM || file->space->flags != p->flags) {
		status = NV_ERR_INVALID_ARGUMENT;
	}
	mutex_unlock(&file->lock);
	return status;
}

/* A second descriptor keeps the address space alive until it closes: once in a space's life. */
static u32 tie_mm(struct uvm_file *file, struct file *space_filp)
{
	struct sim_uvm_space *space = uvm_space_of(space_filp);
	u32 status = NV_OK;

	if (!space)
		return NV_ERR_INVALID_ARGUMENT;
	if (!space->mm)
		return NV_WARN_NOTHING_TO_DO;
	mutex_lock(&file->lock);
	down_write(&space->lock);
	if (file->type != UVM_FILE_NEW)
		status = NV_ERR_IN_USE;
	else if (space->mm_state == MM_ALIVE)
		status = NV_ERR_INVALID_STATE;
	else if (space->mm_state == MM_RELEASED || !mmget_not_zero(space->mm))
		status = NV_ERR_PAGE_TABLE_NOT_AVAIL;
	if (!status) {
		space->mm_state = MM_ALIVE;
		file->space_filp = space_filp;
		smp_store_release(&file->type, UVM_FILE_MM);
	}
	up_write(&space->lock);
	mutex_unlock(&file->lock);
	return status;
}

static u32 mm_initialize(struct file *filp, void *params)
{
	struct uvm_mm_initialize *p = params;
	struct file *space_filp = fget(p->uvm_fd);
	u32 status = NV_ERR_INVALID_ARGUMENT;

	if (space_filp)
		status = tie_mm(filp->private_data, space_filp);
	if (status && space_filp)
		fput(space_filp);
	return status;
}

static void untie_mm(struct file *space_filp)
{
	struct sim_uvm_space *space = uvm_space_of(space_filp);
	struct mm_struct *mm = space->mm;

	down_write(&space->lock);
	space->mm_state = MM_RELEASED;
	up_write(&space->lock);
	mmput(mm); /* may be the last: mappings of the space end here */
	fput(space_filp);
}

/* ---- ioctl ---- */

struct route {
	u32 cmd;
	u16 bytes, status; /* when the fields below are 0 */
	u16 bytes_field, status_field; /* else: offsets in struct nvabi_version */
	uvm_handler handle; /* NULL: answer 0x56 */
};

#define SAME(command, type, handler)                  \
	{ .cmd = (command),                           \
	  .bytes = sizeof(struct type),               \
	  .status = offsetof(struct type, rm_status), \
	  .handle = (handler) }
#define PLAIN(command, size, at, handler) \
	{ .cmd = (command), .bytes = (size), .status = (at), .handle = (handler) }
#define VARIES(command, field, at_field, handler)                   \
	{ .cmd = (command),                                         \
	  .bytes_field = offsetof(struct nvabi_version, field),     \
	  .status_field = offsetof(struct nvabi_version, at_field), \
	  .handle = (handler) }

/* Sizes without a struct in nvabi: kernel-open/nvidia-uvm/uvm_ioctl.h. */
static const struct route routes[] = {
	SAME(UVM_CREATE_RANGE_GROUP, uvm_create_range_group, uvm_create_group),
	SAME(UVM_DESTROY_RANGE_GROUP, uvm_destroy_range_group, uvm_destroy_group),
	SAME(UVM_SET_RANGE_GROUP, uvm_set_range_group, uvm_set_group),
	SAME(UVM_REGISTER_GPU_VASPACE, uvm_register_gpu_vaspace, uvm_register_vaspace),
	SAME(UVM_UNREGISTER_GPU_VASPACE, uvm_unregister_gpu_vaspace, uvm_unregister_vaspace),
	SAME(UVM_REGISTER_CHANNEL, uvm_register_channel, uvm_register_channel),
	VARIES(UVM_UNREGISTER_CHANNEL, uvm_unregister_channel_bytes,
	       uvm_unregister_channel_status_off, uvm_unregister_channel),
	PLAIN(UVM_ENABLE_PEER_ACCESS, 36, 32, uvm_peer_access),
	PLAIN(UVM_DISABLE_PEER_ACCESS, 36, 32, uvm_peer_access),
	VARIES(UVM_MAP_EXTERNAL_ALLOCATION, uvm_map_external_bytes, uvm_map_external_status_off,
	       uvm_map_external),
	VARIES(UVM_FREE, uvm_free_bytes, uvm_free_status_off, uvm_free),
	SAME(UVM_REGISTER_GPU, uvm_register_gpu, uvm_register_gpu),
	SAME(UVM_UNREGISTER_GPU, uvm_unregister_gpu, uvm_unregister_gpu),
	SAME(UVM_PAGEABLE_MEM_ACCESS, uvm_pageable_mem_access, uvm_pageable),
	SAME(UVM_PAGEABLE_MEM_ACCESS_ON_GPU, uvm_pageable_mem_access_on_gpu, uvm_pageable_on_gpu),
	PLAIN(UVM_PREVENT_MIGRATION, 272, 264, uvm_migration_of_groups),
	PLAIN(UVM_ALLOW_MIGRATION, 272, 264, uvm_migration_of_groups),
	{ .cmd = UVM_SET_PREFERRED_LOCATION,
	  .bytes = 40,
	  .status_field = offsetof(struct nvabi_version, uvm_preferred_location_status_off),
	  .handle = uvm_set_preferred },
	PLAIN(UVM_UNSET_PREFERRED_LOCATION, 24, 16, uvm_policy_range),
	PLAIN(UVM_ENABLE_READ_DUPLICATION, 24, 16, uvm_policy_range),
	PLAIN(UVM_DISABLE_READ_DUPLICATION, 24, 16, uvm_policy_range),
	PLAIN(UVM_SET_ACCESSED_BY, 40, 32, uvm_accessed_by),
	PLAIN(UVM_UNSET_ACCESSED_BY, 40, 32, uvm_accessed_by),
	SAME(UVM_MIGRATE, uvm_migrate, uvm_migrate),
	PLAIN(UVM_MIGRATE_RANGE_GROUP, 32, 24, uvm_migrate_group),
	PLAIN(UVM_ENABLE_SYSTEM_WIDE_ATOMICS, 20, 16, NULL),
	PLAIN(UVM_DISABLE_SYSTEM_WIDE_ATOMICS, 20, 16, NULL),
	PLAIN(UVM_TOOLS_READ_PROCESS_MEMORY, 40, 32, NULL),
	PLAIN(UVM_TOOLS_WRITE_PROCESS_MEMORY, 40, 32, NULL),
	VARIES(UVM_TOOLS_GET_PROCESSOR_TABLE, uvm_processor_table_bytes,
	       uvm_processor_table_status_off, NULL),
	SAME(UVM_MAP_DYNAMIC_PARALLELISM, uvm_map_dynamic_parallelism, uvm_map_reflected),
	SAME(UVM_UNMAP_EXTERNAL, uvm_unmap_external, uvm_unmap_external),
	PLAIN(UVM_TOOLS_FLUSH_EVENTS, 4, 0, NULL),
	VARIES(UVM_ALLOC_SEMAPHORE_POOL, uvm_semaphore_pool_bytes, uvm_semaphore_pool_status_off,
	       uvm_alloc_semaphores),
	PLAIN(UVM_CLEAN_UP_ZOMBIES, 4, 0, NULL),
	PLAIN(UVM_POPULATE_PAGEABLE, 24, 20, NULL),
	SAME(UVM_VALIDATE_VA_RANGE, uvm_validate_va_range, uvm_validate),
	SAME(UVM_CREATE_EXTERNAL_RANGE, uvm_create_external_range, uvm_create_external),
	SAME(UVM_MAP_EXTERNAL_SPARSE, uvm_map_external_sparse, uvm_map_sparse),
};

static u16 abi_field(u16 offset)
{
	return *(const u16 *)((const char *)sim_abi + offset);
}

static const struct route *route_find(u32 cmd)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(routes); i++)
		if (routes[i].cmd == cmd)
			return &routes[i];
	return NULL;
}

static u32 answer(struct file *filp, const struct route *route, void *params)
{
	struct sim_uvm_space *space = uvm_space_of(filp);
	u32 status;

	if (!space)
		return NV_ERR_ILLEGAL_ACTION;
	status = sim_fault_before(SIM_SITE_UVM, route->cmd, NULL);
	if (!status)
		status = route->handle ? route->handle(space, params) : NV_ERR_NOT_SUPPORTED;
	sim_fault_after(SIM_SITE_UVM, route->cmd);
	return sim_note("uvm", route->cmd, 0, status);
}

static int with_copy(struct file *filp, void __user *at, u32 bytes, u32 status_at,
		     const struct route *route, u32 (*act)(struct file *, void *))
{
	void *params = kvzalloc(bytes, GFP_KERNEL_ACCOUNT);
	int ret = -EFAULT;
	u32 status;

	if (!params)
		return -ENOMEM;
	if (!copy_from_user(params, at, bytes)) {
		status = act ? act(filp, params) : answer(filp, route, params);
		memcpy(params + status_at, &status, sizeof(status));
		ret = copy_to_user(at, params, bytes) ? -EFAULT : 0;
	}
	kvfree(params);
	return ret;
}

/*
 * -EINVAL  unknown command
 * -EFAULT  memory that is not the caller's
 */
static long uvm_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	void __user *at = (void __user *)arg;
	const struct route *route;
	u32 bytes, status_at;

	switch (cmd) {
	case UVM_DEINITIALIZE:
		return 0;
	case UVM_INITIALIZE:
		return with_copy(filp, at, sizeof(struct uvm_initialize),
				 offsetof(struct uvm_initialize, rm_status), NULL, initialize);
	case UVM_MM_INITIALIZE:
		return with_copy(filp, at, sizeof(struct uvm_mm_initialize),
				 offsetof(struct uvm_mm_initialize, rm_status), NULL,
				 mm_initialize);
	}
	route = route_find(cmd);
	if (!route)
		return -EINVAL;
	bytes = route->bytes ?: abi_field(route->bytes_field);
	status_at = route->status_field ? abi_field(route->status_field) : route->status;
	return with_copy(filp, at, bytes, status_at, route, NULL);
}

/* ---- files ---- */

static int uvm_open(struct inode *inode, struct file *filp)
{
	struct uvm_file *file;

	if (iminor(inode) != UVM_MINOR)
		return -ENODEV;
	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	mutex_init(&file->lock);
	address_space_init_once(&file->mapping);
	file->mapping.host = inode;
	file->mapping.a_ops = inode->i_mapping->a_ops;
	filp->f_mapping = &file->mapping;
	filp->private_data = file;
	atomic_inc(&sim_counts.opens);
	return 0;
}

static int uvm_release(struct inode *inode, struct file *filp)
{
	struct uvm_file *file = filp->private_data;

	filp->f_mapping = inode->i_mapping;
	if (file->type == UVM_FILE_MM)
		untie_mm(file->space_filp);
	else if (file->type == UVM_FILE_SPACE)
		space_destroy(file->space);
	mutex_destroy(&file->lock);
	kfree(file);
	atomic_dec(&sim_counts.opens);
	return 0;
}

const struct file_operations sim_uvm_ops = {
	.owner = THIS_MODULE,
	.open = uvm_open,
	.release = uvm_release,
	.unlocked_ioctl = uvm_ioctl,
	.mmap = uvm_mmap,
};

int sim_uvm_init(void)
{
	struct device *device;
	int err = alloc_chrdev_region(&first_number, 0, 2, "nvidia-uvm");

	if (err)
		return err;
	cdev_init(&node, &sim_uvm_ops);
	node.owner = THIS_MODULE;
	err = cdev_add(&node, first_number, 2);
	if (err)
		goto region;
	device = device_create(sim_device_class, NULL, first_number, NULL, "nvidia-uvm");
	if (!IS_ERR(device))
		return 0;
	err = PTR_ERR(device);
	cdev_del(&node);
region:
	unregister_chrdev_region(first_number, 2);
	return err;
}

void sim_uvm_exit(void)
{
	device_destroy(sim_device_class, first_number);
	cdev_del(&node);
	unregister_chrdev_region(first_number, 2);
}
