/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only file that knows kernel versions; both modules use it. Each entry names what changed,
 * and where its meaning differs on some kernels, what is lost there.
 */
#ifndef KMOD_COMPAT_H
#define KMOD_COMPAT_H

#include <linux/cgroup.h>
#include <linux/device.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mount.h>
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

/* 6.1: mappings are in a tree: d0cf3dd47f0d. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
#define COMPAT_VMA_ITERATOR(name, mm)  VMA_ITERATOR(name, mm, 0)
#define compat_for_each_vma(iter, vma) for_each_vma(iter, vma)
#else
#define COMPAT_VMA_ITERATOR(name, mm)  struct vm_area_struct *(name) = (mm)->mmap
#define compat_for_each_vma(iter, vma) for ((vma) = (iter); (vma); (vma) = (vma)->vm_next)
#endif

/*
 * 5.11: 295992fb815e. After a failed mmap() the kernel drops the file that the mapping has; before
 * 5.11 the one that mmap() was called with, so that one has to be put back.
 */
static inline void compat_vma_set_file(struct vm_area_struct *vma, struct file *file)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
	vma_set_file(vma, file);
#else
	get_file(file);
	swap(vma->vm_file, file);
	fput(file);
#endif
}

static inline void compat_vma_unset_file(struct vm_area_struct *vma, struct file *was)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 11, 0)
	compat_vma_set_file(vma, was);
#endif
}

/* 6.17 renamed call_mmap() and lets it look for mmap_prepare(), which the driver's files have not. */
static inline int compat_call_mmap(struct file *file, struct vm_area_struct *vma)
{
	return file->f_op->mmap ? file->f_op->mmap(file, vma) : -ENODEV;
}

/* 5.16: FOLL_NOFAULT, 55b8fe703bc5. Before, only the fast way without its fall-back is sure not to
 * fault: it may give up where the other would not. */
static inline int compat_pin_user_pages_nofault(unsigned long start, int count, unsigned int flags,
						struct page **pages)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 16, 0)
	return pin_user_pages_fast(start, count, flags | FOLL_NOFAULT, pages);
#else
	return pin_user_pages_fast_only(start, count, flags, pages);
#endif
}

/* 5.12: 6a0996db6879. */
static inline void compat_memcpy_page(struct page *to, size_t to_offset, struct page *from,
				      size_t from_offset, size_t bytes)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0)
	memcpy_page(to, to_offset, from, from_offset, bytes);
#else
	char *dst = kmap_atomic(to), *src = kmap_atomic(from);

	memcpy(dst + to_offset, src + from_offset, bytes);
	kunmap_atomic(src);
	kunmap_atomic(dst);
#endif
}

/* ---- files and groups ---- */

/* 5.14: ffb37ca3bd16. */
static inline struct file *compat_file_open_root(struct vfsmount *mnt, const char *name, int flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 14, 0)
	return file_open_root_mnt(mnt, name, flags, 0);
#else
	return file_open_root(mnt->mnt_root, mnt, name, flags, 0);
#endif
}

/* 5.15: 6b658c4863c1. Before, the groups are looked through. */
static inline struct cgroup *compat_cgroup_get_from_id(u64 id)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 15, 0)
	return cgroup_get_from_id(id);
#else
	struct cgroup *found = ERR_PTR(-ENOENT);
	struct cgroup_subsys_state *css;

	rcu_read_lock();
	css_for_each_descendant_pre(css, &cgrp_dfl_root.cgrp.self)
	{
		if (cgroup_id(css->cgroup) == id && cgroup_tryget(css->cgroup)) {
			found = css->cgroup;
			break;
		}
	}
	rcu_read_unlock();
	return found;
#endif
}

/* ---- generic netlink ---- */

/* 6.1: commands below this one take messages that today's checks would refuse: 9c5d03d36251. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
#define COMPAT_GENL_STRICT_FROM(command) .resv_start_op = (command),
#else
#define COMPAT_GENL_STRICT_FROM(command)
#endif

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

/* ---- threads ---- */

/* 5.17 renamed module_put_and_exit(); stable branches of earlier kernels have followed. */
#ifndef module_put_and_kthread_exit
#define module_put_and_kthread_exit(code) module_put_and_exit(code)
#endif

/* ---- work ---- */

/* 6.17: the queue that is bound to no processor has a new name, 128ea9f6ccfb; later kernels
 * tell the log of whoever uses the old one. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define compat_unbound_wq system_dfl_wq
#else
#define compat_unbound_wq system_unbound_wq
#endif

/* ---- headers that moved ---- */

#if __has_include(<linux/hex.h>)
#include <linux/hex.h>
#else
#include <linux/kernel.h>
#endif

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
