/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only file that knows kernel versions; both modules use it. Each entry names what changed,
 * and where its meaning differs on some kernels, what is lost there.
 */
#ifndef KMOD_COMPAT_H
#define KMOD_COMPAT_H

#include <linux/device.h>
#include <linux/mm.h>
#include <linux/version.h>

/* ---- devices ---- */

/* 6.2: devnode() of classes and device types takes a const device: ff62b8e6588f. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
typedef const struct device compat_const_device;
#else
typedef struct device compat_const_device;
#endif

/* 6.4: class_create() lost its owner argument: 1aaba11da9aa. */
static inline struct class *compat_class_create(const char *name)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return class_create(name);
#else
	return class_create(THIS_MODULE, name);
#endif
}

/* ---- mappings ---- */

/* 6.3: vm_flags is written through functions only: bc292ab00f6c. */
static inline void compat_vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

static inline void compat_vm_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_clear(vma, flags);
#else
	vma->vm_flags &= ~flags;
#endif
}

/* 6.4 took mmap_write_trylock() away. From 6.13 on a writer also has to count, which
 * only mmap_write_lock() does: there readers have to do, and a mapping that munmap()
 * has taken out of the tree but not yet ended is no longer counted. */
static inline bool compat_mmap_trylock(struct mm_struct *mm)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	return mmap_read_trylock(mm);
#else
	return down_write_trylock(&mm->mmap_lock);
#endif
}

static inline void compat_mmap_unlock(struct mm_struct *mm)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	mmap_read_unlock(mm);
#else
	mmap_write_unlock(mm);
#endif
}

/* ---- generic netlink ---- */

/* 6.2: pre_doit is given the split operation. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define compat_genl_ops_arg const struct genl_split_ops
#else
#define compat_genl_ops_arg const struct genl_ops
#endif

/* 6.6: the attributes of a dump moved into its genl_info. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define compat_dumpit_attrs(dump) ((dump)->info.attrs)
#else
#define compat_dumpit_attrs(dump) ((dump)->attrs)
#endif

/* ---- headers that moved ---- */

/* 6.12: 5f60d5f6bbc1. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* 6.10: __assign_str() knows its source by itself. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define compat_assign_str(name, source) __assign_str(name)
#else
#define compat_assign_str(name, source) __assign_str(name, source)
#endif

#endif /* KMOD_COMPAT_H */
