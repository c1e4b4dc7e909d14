/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel interface of NVIDIA's driver: one exported symbol that fills a
 * table of functions. Layouts: open-gpu-kernel-modules 535.261.03,
 * kernel-open/common/inc/nv-modeset-interface.h and
 * src/nvidia/arch/nvalloc/unix/include/nv-kernel-rmapi-ops.h.
 * The op structure is 64 bytes up to 575 and 72 from 580.65.06: hand over the
 * larger buffer always. From 575.51.02 alloc carries NVOS64, before NVOS21.
 */
#ifndef NVABI_RM_OPS_H
#define NVABI_RM_OPS_H

#include "nvabi/structs.h"

struct nv_gpu_info { /* nv_gpu_info_t, 32 entries at most */
	__u32 gpu_id;
	struct {
		__u32 domain;
		__u8 bus, slot, function;
		__u8 pad;
	} pci;
	__u32 pad1;
	void *os_device_ptr;
};

struct nv_rm_op { /* nvidia_kernel_rmapi_ops_t */
	__u32 op;
	__u32 pad;
	union {
		struct nvos00 free;
		struct nvos21 alloc21;
		struct nvos64 alloc64;
		void *vid_heap; /* NVOS32, 184 bytes */
		struct nvos54 control;
		struct nvos55 dup;
		__u8 raw[64];
	} u;
};

struct nv_rm_ops { /* nvidia_modeset_rm_ops_t */
	const char *version_string; /* in: caller's; out: driver's */
	struct { __u8 allow_write_combining; } system_info; /* 1 byte at 8 */
	__u8 pad[7];
	int (*alloc_stack)(void **sp);
	void (*free_stack)(void *sp);
	__u32 (*enumerate_gpus)(struct nv_gpu_info *info);
	union {
		int (*open_gpu)(__u32 gpu_id, void *sp);
		/* From 595.44.02; aware: a reset of the card does not count this one. */
		int (*open_gpu_595)(__u32 gpu_id, void *sp, __u8 reset_aware);
	};
	union {
		void (*close_gpu)(__u32 gpu_id, void *sp);
		void (*close_gpu_595)(__u32 gpu_id, void *sp, __u8 reset_aware);
	};
	void (*op)(void *sp, void *ops_cmd);
	int (*set_callbacks)(const void *cb);
};

/* 0 when the version strings are equal; else an NV status, string replaced. */
__u32 nvidia_get_rm_ops(struct nv_rm_ops *rm_ops);

#endif /* NVABI_RM_OPS_H */
