/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Controls whose parameters have not the same size in every driver, where only the
 * simulated driver asks for it; sizes that gpushare needs too are fields of
 * struct nvabi_version. The driver refuses every other size.
 * Source: paramSize in src/nvidia/generated/g_*_nvoc.c of 535.261.03, 550.163.01,
 * 570.211.01, 580.126.20 and 595.45.04, the structs being those of
 * src/common/sdk/nvidia/inc/ctrl of the same tag.
 */
#ifndef NVABI_CONTROL_SIZES_H
#define NVABI_CONTROL_SIZES_H

#include "nvabi/controls.h"
#include "nvabi/versions.h"

#define NVABI_CONTROL_GONE 0xffffffffu /* this driver has no such control */

struct nvabi_control_sizes {
	__u32 cmd;
	__u32 from_535, from_550, from_570, from_580, from_595;
};

static inline const struct nvabi_control_sizes *nvabi_control_sizes(__u32 *count)
{
	static const struct nvabi_control_sizes rows[] = {
		{ NV0000_CTRL_SYSTEM_GET_CPU_INFO, 104, 104, 108, 108, 108 },
		{ NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_V2, 776, 776, 1032, 1032, 1032 },
		{ NV0000_CTRL_GPU_ASYNC_ATTACH_ID, NVABI_CONTROL_GONE, 4, 4, 4, 4 },
		/* from 570 the number is another control's */
		{ NV0073_CTRL_SYSTEM_GET_SUPPORTED, 12, 12, NVABI_CONTROL_GONE, NVABI_CONTROL_GONE,
		  NVABI_CONTROL_GONE },
		{ NV0080_CTRL_PERF_CUDA_LIMIT_SET_CONTROL, NVABI_CONTROL_GONE, 1, 1, 1, 1 },
		{ NV0080_CTRL_GPU_GET_VIRTUALIZATION_MODE, 4, 4, 8, 8, 8 },
		{ NV2080_CTRL_GPU_GET_NAME_STRING, 132, 132, 132, 132, 68 },
		{ NV2080_CTRL_GPU_GET_ENGINES_V2, 252, 260, 340, 340, 340 },
		{ NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER, 6168, 6168, 6168, 9240, 9240 },
		{ NV2080_CTRL_GR_GET_INFO_V2, 448, 472, 488, 488, 496 },
		{ NV2080_CTRL_CE_GET_ALL_CAPS, 68, 136, 136, 136, 136 },
		{ NVC36F_CTRL_GET_CLASS_ENGINEID, 16, 16, NVABI_CONTROL_GONE, NVABI_CONTROL_GONE,
		  NVABI_CONTROL_GONE },
		{ NVC36F_CTRL_RESET_CHANNEL, 12, 16, NVABI_CONTROL_GONE, NVABI_CONTROL_GONE,
		  NVABI_CONTROL_GONE },
		{ NVC36F_CTRL_GPFIFO_SCHEDULE, 2, 2, NVABI_CONTROL_GONE, NVABI_CONTROL_GONE,
		  NVABI_CONTROL_GONE },
		{ NVC36F_CTRL_BIND, 4, 4, NVABI_CONTROL_GONE, NVABI_CONTROL_GONE,
		  NVABI_CONTROL_GONE },
		{ NVCB33_CTRL_SYSTEM_GET_CAPABILITIES, 5, 6, 6, 6, 6 },
	};

	*count = sizeof(rows) / sizeof(rows[0]);
	return rows;
}

static inline __u32 nvabi_control_row_bytes(const struct nvabi_version *abi,
					    const struct nvabi_control_sizes *row)
{
	if (abi->branch < 550)
		return row->from_535;
	if (abi->branch < 570)
		return row->from_550;
	if (abi->branch < 580)
		return row->from_570;
	return abi->branch < 595 ? row->from_580 : row->from_595;
}

/* Bytes of a control's parameters: @otherwise when all drivers agree. */
static inline __u32 nvabi_control_bytes(const struct nvabi_version *abi, __u32 cmd, __u32 otherwise)
{
	__u32 count, i;
	const struct nvabi_control_sizes *rows = nvabi_control_sizes(&count);

	for (i = 0; i < count; i++)
		if (rows[i].cmd == cmd)
			return nvabi_control_row_bytes(abi, &rows[i]);
	return otherwise;
}

#endif /* NVABI_CONTROL_SIZES_H */
