/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only file that knows kernel versions. Each entry names what changed.
 */
#ifndef GSH_COMPAT_H
#define GSH_COMPAT_H

#include <linux/device.h>
#include <linux/mm.h>
#include <linux/version.h>

/* 6.2: device_type.devnode takes a const device. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
typedef const struct device gsh_const_device;
#else
typedef struct device gsh_const_device;
#endif

/* 6.4: class_create() lost its owner argument. */
static inline struct class *gsh_class_create(const char *name)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return class_create(name);
#else
	return class_create(THIS_MODULE, name);
#endif
}

/* 6.3: vm_flags is written through functions only. */
static inline void gsh_vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

/* 6.4 took mmap_write_trylock() away. From 6.13 on a writer also has to count, which
 * only mmap_write_lock() does: there readers have to do, and a mapping that munmap()
 * has taken out of the tree but not yet ended is no longer counted. */
static inline bool gsh_mmap_trylock(struct mm_struct *mm)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	return mmap_read_trylock(mm);
#else
	return down_write_trylock(&mm->mmap_lock);
#endif
}

static inline void gsh_mmap_unlock(struct mm_struct *mm)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	mmap_read_unlock(mm);
#else
	mmap_write_unlock(mm);
#endif
}

/* 6.2: pre_doit is given the split operation. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define gsh_genl_ops_arg const struct genl_split_ops
#else
#define gsh_genl_ops_arg const struct genl_ops
#endif

/* 6.6: the attributes of a dump moved into its genl_info. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define gsh_dumpit_attrs(dump) ((dump)->info.attrs)
#else
#define gsh_dumpit_attrs(dump) ((dump)->attrs)
#endif

#endif /* GSH_COMPAT_H */
