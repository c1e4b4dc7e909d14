/* SPDX-License-Identifier: GPL-2.0 */
/* The only place that knows kernel versions: 6.1 to 6.12. */
#ifndef NVSIM_COMPAT_H
#define NVSIM_COMPAT_H

#include <linux/device/class.h>
#include <linux/mm.h>
#include <linux/version.h>

/* 6.3 made vm_flags read-only: bc292ab00f6c. */
static inline void sim_vma_set_flags(struct vm_area_struct *vma, unsigned long set)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, set);
#else
	vma->vm_flags |= set;
#endif
}

static inline void sim_vma_clear_flags(struct vm_area_struct *vma, unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_clear(vma, clear);
#else
	vma->vm_flags &= ~clear;
#endif
}

/* 6.4 dropped the owner: 1aaba11da9aa. */
static inline struct class *sim_class_create(const char *name)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return class_create(name);
#else
	return class_create(THIS_MODULE, name);
#endif
}

/* 6.2 made the device constant in devnode(): ff62b8e6588f. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define SIM_DEVNODE_DEVICE const struct device
#else
#define SIM_DEVNODE_DEVICE struct device
#endif

/* 6.12 moved it: 5f60d5f6bbc1. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* NVSIM_COMPAT_H */
