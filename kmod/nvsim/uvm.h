/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The managed-memory node. Locks of one space, outermost first:
 *   lock          GPUs and groups; ioctls
 *   (vaspace lock of an address space registered with it)
 *   ranges_lock   the range tree; also taken by faults, mmap and munmap
 *   backing lock  pages of one managed backing
 */
#ifndef NVSIM_UVM_H
#define NVSIM_UVM_H

#include <linux/fs.h>

#include "nvsim/internal.h"

enum uvm_range_type {
	UVM_RANGE_MANAGED, /* one mapping, or a part of one after a split */
	UVM_RANGE_EXTERNAL, /* addresses for MAP_EXTERNAL_ALLOCATION */
	UVM_RANGE_SEMAPHORES, /* a pool: system memory on CPU and GPUs */
	UVM_RANGE_REFLECTED, /* MAP_DYNAMIC_PARALLELISM_REGION: addresses only */
};

struct uvm_backing { /* pages of what was one mapping; parts of it share this */
	struct kref ref;
	u64 base, bytes;
	struct mutex lock;
	struct xarray pages; /* by page from base */
	struct sim_resident resident;
};

struct uvm_range {
	struct interval_tree_node node; /* inclusive bytes */
	enum uvm_range_type type;
	struct uvm_backing *backing; /* managed */
	struct sim_memory *memory; /* semaphores; owned */
	bool on_cpu; /* semaphores: mapped */
	u64 group; /* managed: range group, 0: none */
};

struct uvm_gpu {
	bool registered;
	struct sim_vaspace *vaspace; /* referenced; NULL: not registered */
};

struct sim_uvm_space {
	u64 flags; /* of INITIALIZE */
	struct mm_struct *mm; /* counted (mm_count); NULL: any process may map */
	int mm_state; /* lock */
	struct address_space *mapping; /* of the file */
	struct rw_semaphore lock;
	struct uvm_gpu gpus[SIM_MAX_CARDS]; /* lock */
	struct xarray groups; /* lock */
	u32 next_group;
	struct rw_semaphore ranges_lock;
	struct rb_root_cached ranges;
};

enum uvm_file_type { UVM_FILE_NEW, UVM_FILE_SPACE, UVM_FILE_MM };

struct uvm_file {
	struct address_space mapping;
	struct mutex lock; /* type */
	enum uvm_file_type type;
	struct sim_uvm_space *space; /* UVM_FILE_SPACE */
	struct file *space_filp; /* UVM_FILE_MM: counted, with its mm_users */
};

extern const struct file_operations sim_uvm_ops;
struct sim_uvm_space *uvm_space_of(struct file *filp); /* NULL: not initialised */

/* uvm_range.c */
struct uvm_range *uvm_range_find(struct sim_uvm_space *space, u64 va); /* ranges_lock */
struct uvm_range *uvm_range_first(struct sim_uvm_space *space, u64 first, u64 last);
u32 uvm_range_insert(struct sim_uvm_space *space, enum uvm_range_type type, u64 base, u64 bytes,
		     struct uvm_range **range); /* ranges_lock for writing; 0x68 */
void uvm_range_remove(struct sim_uvm_space *space, struct uvm_range *range);
void uvm_range_split(struct sim_uvm_space *space, u64 boundary); /* first byte of the right part */
void uvm_ranges_remove_all(struct sim_uvm_space *space);
bool uvm_bad_range(u64 base, u64 bytes); /* not pages, empty or wrapping */

struct uvm_backing *uvm_backing_create(u64 base, u64 bytes);
struct page *uvm_backing_page(struct uvm_backing *backing, u64 va);
unsigned long uvm_chunk_of(const struct uvm_backing *backing, u64 va);

/* uvm_mmap.c */
int uvm_mmap(struct file *filp, struct vm_area_struct *vma);

/* ioctl handlers: uvm_gpu.c, uvm_external.c, uvm_managed.c */
typedef u32 (*uvm_handler)(struct sim_uvm_space *space, void *params);
u32 uvm_register_gpu(struct sim_uvm_space *space, void *params);
u32 uvm_unregister_gpu(struct sim_uvm_space *space, void *params);
u32 uvm_register_vaspace(struct sim_uvm_space *space, void *params);
u32 uvm_unregister_vaspace(struct sim_uvm_space *space, void *params);
u32 uvm_register_channel(struct sim_uvm_space *space, void *params);
u32 uvm_unregister_channel(struct sim_uvm_space *space, void *params);
u32 uvm_peer_access(struct sim_uvm_space *space, void *params);
void uvm_gpus_remove_all(struct sim_uvm_space *space);
struct sim_card *uvm_card(struct sim_uvm_space *space, const u8 *uuid); /* registered; lock */
struct sim_vaspace *uvm_vaspace(struct sim_uvm_space *space, const u8 *uuid); /* lock */
bool uvm_is_cpu(const u8 *uuid);
bool uvm_mm_released(const struct sim_uvm_space *space); /* MM_INITIALIZE's file is closed */
bool uvm_client_usable(const struct sim_client *client);

u32 uvm_create_external(struct sim_uvm_space *space, void *params);
u32 uvm_map_external(struct sim_uvm_space *space, void *params);
u32 uvm_map_sparse(struct sim_uvm_space *space, void *params);
u32 uvm_unmap_external(struct sim_uvm_space *space, void *params);
u32 uvm_free(struct sim_uvm_space *space, void *params);
u32 uvm_alloc_semaphores(struct sim_uvm_space *space, void *params);
u32 uvm_map_reflected(struct sim_uvm_space *space, void *params);
u32 uvm_validate(struct sim_uvm_space *space, void *params);
u32 uvm_semaphores_on_gpu(struct sim_uvm_space *space, struct sim_vaspace *vaspace);
u32 uvm_semaphore_release(struct sim_uvm_space *space, u64 va, u32 payload);

u32 uvm_pageable(struct sim_uvm_space *space, void *params);
u32 uvm_pageable_on_gpu(struct sim_uvm_space *space, void *params);
u32 uvm_create_group(struct sim_uvm_space *space, void *params);
u32 uvm_destroy_group(struct sim_uvm_space *space, void *params);
u32 uvm_set_group(struct sim_uvm_space *space, void *params);
u32 uvm_migration_of_groups(struct sim_uvm_space *space, void *params);
u32 uvm_set_preferred(struct sim_uvm_space *space, void *params);
u32 uvm_policy_range(struct sim_uvm_space *space, void *params);
u32 uvm_accessed_by(struct sim_uvm_space *space, void *params);
u32 uvm_migrate(struct sim_uvm_space *space, void *params);
u32 uvm_migrate_group(struct sim_uvm_space *space, void *params);

#endif /* NVSIM_UVM_H */
