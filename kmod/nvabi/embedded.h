/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parameters that point further, or that carry a descriptor. Facts only.
 *
 * A null pointer is never followed; with a count of 0 nothing is. Whether that is an error is the
 * driver's to say.
 *
 * Pointers: the driver follows them itself, as addresses of the calling thread's memory.
 * A call made on a copy needs each of them replaced by the address of a copy.
 * Sources: src/nvidia/src/kernel/rmapi/embedded_param_copy.c (pointers, directions, the 1 MiB
 * limit: param_copy.c), src/nvidia/interface/deprecated/rmapi_deprecated_control.c
 * (the converted ones); 535.54.03 to 595.45.04. Display controls (0x73, 0x5070,
 * 0xc370) are not here.
 *
 * 0x202 GPU_GET_ID_INFO and 0x2080110b DISABLE_CHANNELS have a pointer field that the
 * driver does not follow (the first: never; the second: must be 0 for user callers).
 */
#ifndef NVABI_EMBEDDED_H
#define NVABI_EMBEDDED_H

#include "nvabi/numbers.h"
#include "nvabi/versions.h"

#define NVABI_EMBEDDED_IN	0x1 /* driver reads the buffer */
#define NVABI_EMBEDDED_OUT	0x2 /* driver writes the buffer, also where it fails half-way */
#define NVABI_EMBEDDED_INOUT	0x3
#define NVABI_EMBEDDED_MAX_BYTES 0x100000 /* the driver's own limit for one buffer */
#define NVABI_EMBEDDED_MAX	4 /* pointers in one control */

enum nvabi_count {
	NVABI_COUNT_U32, /* u32 at count_off */
	NVABI_COUNT_U16, /* u16 at count_off */
	NVABI_COUNT_SQUARE, /* square of the u32 at count_off */
	NVABI_COUNT_ONE, /* one element */
};

struct nvabi_embedded {
	__u32 cmd;
	__u16 pointer_off; /* u64 */
	__u16 count_off;
	__u16 element_bytes;
	__u8 count; /* enum nvabi_count */
	__u8 direction;
	/*
	 * 0: the block's size is the caller's, and the driver refuses (0x1f) any but its own.
	 * Else a converted control: the driver takes this many bytes whatever the caller says.
	 */
	__u8 converted_bytes;
	__u16 from_branch; /* 0: always */
	__u16 until_branch; /* 0: still; else first branch without it */
};

/* One pointer a line: */
/* clang-format off */
static inline const struct nvabi_embedded *nvabi_embedded(__u32 *count)
{
#define U32	NVABI_COUNT_U32
#define U16	NVABI_COUNT_U16
#define IN	NVABI_EMBEDDED_IN
#define OUT	NVABI_EMBEDDED_OUT
#define INOUT	NVABI_EMBEDDED_INOUT
	/* Sorted by command; pointers of one command stand together. */
	static const struct nvabi_embedded rows[] = {
		/* cmd, pointer, count at, element, count, direction, converted, from, until */
		{ NV0000_CTRL_SYSTEM_GET_BUILD_VERSION, 8, 0, 1, U32, OUT, 40, 0, 0 },
		{ NV0000_CTRL_SYSTEM_GET_BUILD_VERSION, 16, 0, 1, U32, OUT, 40, 0, 0 },
		{ NV0000_CTRL_SYSTEM_GET_BUILD_VERSION, 24, 0, 1, U32, OUT, 40, 0, 0 },
		{ /* SYSTEM_GET_P2P_CAPS */ 0x00000127, 160, 128, 4, NVABI_COUNT_SQUARE, OUT, 0, 0, 0 },
		{ /* SYSTEM_GET_P2P_CAPS */ 0x00000127, 168, 128, 4, NVABI_COUNT_SQUARE, OUT, 0, 550, 0 },
		{ /* SYSTEM_EXECUTE_ACPI_METHOD */ 0x00000130, 8, 16, 1, U16, IN, 0, 0, 0 },
		{ /* SYSTEM_EXECUTE_ACPI_METHOD */ 0x00000130, 24, 32, 1, U16, OUT, 0, 0, 0 },
		{ /* NVD_GET_DUMP */ 0x00000602, 0, 12, 1, U32, OUT, 0, 0, 0 },
		{ NV0041_CTRL_GET_SURFACE_INFO, 8, 0, 8, U32, INOUT, 0, 0, 0 },
		{ NV0080_CTRL_GPU_GET_CLASSLIST, 8, 0, 4, U32, INOUT, 0, 0, 0 },
		{ /* GR_GET_CAPS */ 0x00801102, 8, 0, 1, U32, OUT, 0, 0, 0 },
		{ /* GR_GET_INFO */ 0x00801104, 8, 0, 8, U32, INOUT, 0, 0, 0 },
		{ /* FB_GET_CAPS */ 0x00801301, 8, 0, 1, U32, OUT, 0, 0, 0 },
		{ /* HOST_GET_CAPS */ 0x00801401, 8, 0, 1, U32, OUT, 0, 0, 0 },
		{ /* FIFO_GET_CAPS */ 0x00801701, 8, 0, 1, U32, OUT, 0, 0, 0 },
		{ /* FIFO_START_SELECTED_CHANNELS */ 0x00801705, 40, 0, 4, U32, INOUT, 0, 0, 570 },
		{ NV0080_CTRL_FIFO_GET_CHANNELLIST, 8, 0, 4, U32, IN, 0, 0, 0 },
		{ NV0080_CTRL_FIFO_GET_CHANNELLIST, 16, 0, 4, U32, INOUT, 0, 0, 0 },
		{ /* DMA_UPDATE_PDE_2 */ 0x0080180f, 48, 0, 16, NVABI_COUNT_ONE, OUT, 0, 0, 0 },
		{ /* MSENC_GET_CAPS */ 0x00801b01, 8, 0, 1, U32, OUT, 0, 0, 550 },
		{ /* MSENC_GET_CAPS */ 0x00801b01, 8, 0, 1, U32, INOUT, 16, 550, 0 },
		{ /* BSP_GET_CAPS */ 0x00801c01, 8, 0, 1, U32, INOUT, 24, 0, 0 },
		{ /* GPU_GET_INFO */ 0x20800101, 8, 0, 8, U32, INOUT, 16, 0, 0 },
		{ /* GPU_EXEC_REG_OPS */ 0x20800122, 24, 20, 32, U32, INOUT, 0, 0, 0 },
		{ /* GPU_GET_ENGINES */ 0x20800123, 8, 0, 4, U32, INOUT, 0, 0, 0 },
		{ /* GPU_GET_ENGINE_CLASSLIST */ 0x20800124, 8, 4, 4, U32, INOUT, 0, 0, 0 },
		{ /* GPU_GET_NVENC_SW_SESSION_INFO */ 0x2080016e, 8, 0, 32, U32, OUT, 0, 550, 0 },
		{ /* GPU_RPC_GSP_TEST */ 0x208001e8, 24, 4, 4, U32, INOUT, 0, 580, 0 },
		{ /* I2C_ACCESS */ 0x20800610, 16, 28, 1, U32, INOUT, 0, 0, 0 },
		{ /* BIOS_GET_INFO */ 0x20800802, 8, 0, 8, U32, INOUT, 16, 0, 0 },
		{ /* BIOS_GET_NBSI */ 0x20800803, 1048, 1056, 1, U32, OUT, 0, 0, 0 },
		{ /* BIOS_GET_NBSI_OBJ */ 0x20800806, 16, 24, 1, U32, OUT, 0, 0, 0 },
		{ /* GR_GET_INFO */ 0x20801201, 8, 0, 8, U32, INOUT, 0, 0, 0 },
		{ NV2080_CTRL_FB_GET_INFO, 8, 0, 8, U32, INOUT, 0, 0, 550 },
		{ NV2080_CTRL_FB_GET_INFO, 8, 0, 8, U32, INOUT, 16, 550, 0 },
		{ /* BUS_GET_INFO */ 0x20801802, 8, 0, 8, U32, INOUT, 16, 0, 0 },
		{ /* RC_READ_VIRTUAL_MEM */ 0x20802204, 16, 24, 1, U32, OUT, 0, 0, 0 },
		{ /* NVD_GET_DUMP */ 0x20802402, 0, 12, 1, U32, OUT, 0, 0, 0 },
		{ /* CE_GET_CAPS */ 0x20802a01, 8, 4, 1, U32, OUT, 0, 0, 0 },
		{ /* I2C_INDEXED */ 0x402c0102, 24, 16, 1, U32, INOUT, 0, 0, 0 },
		{ /* DEBUG_READ_MEMORY */ 0x83de0315, 16, 4, 1, U32, OUT, 0, 0, 0 },
		{ /* DEBUG_WRITE_MEMORY */ 0x83de0316, 16, 4, 1, U32, IN, 0, 0, 0 },
		{ /* DEBUG_READ_BATCH_MEMORY */ 0x83de0326, 0, 8, 1, U32, OUT, 0, 0, 0 },
		{ /* DEBUG_WRITE_BATCH_MEMORY */ 0x83de0327, 0, 8, 1, U32, IN, 0, 0, 0 },
		{ /* VIRTUAL_DISPLAY_GET_DEFAULT_EDID */ 0xa0830103, 0, 8, 1, U32, OUT, 0, 595, 0 },
		{ /* NVENC_SW_SESSION_UPDATE_INFO */ 0xa0bc0101, 24, 16, 16, U32, INOUT, 0, 550, 0 },
		{ /* GET_ENGINE_CTX_DATA */ 0xb06f010c, 8, 4, 1, U32, OUT, 0, 0, 0 },
		{ /* MIGRATE_ENGINE_CTX_DATA */ 0xb06f010d, 8, 4, 1, U32, INOUT, 0, 0, 0 },
	};
#undef U32
#undef U16
#undef IN
#undef OUT
#undef INOUT

	*count = sizeof(rows) / sizeof(rows[0]);
	return rows;
}
/* clang-format on */

/*
 * Rows of one command at one version: fills row[] with up to NVABI_EMBEDDED_MAX, returns how
 * many. 0: the command has no pointer.
 */
static inline __u32 nvabi_embedded_find(const struct nvabi_version *v, __u32 cmd,
					const struct nvabi_embedded *row[NVABI_EMBEDDED_MAX])
{
	__u32 low = 0, total, high, found = 0;
	const struct nvabi_embedded *rows = nvabi_embedded(&total);

	high = total;
	while (low < high) { /* first row that is not below cmd */
		__u32 middle = low + (high - low) / 2;

		if (rows[middle].cmd < cmd)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < total && rows[low].cmd == cmd && found < NVABI_EMBEDDED_MAX; low++) {
		if (rows[low].from_branch && v->branch < rows[low].from_branch)
			continue;
		if (rows[low].until_branch && v->branch >= rows[low].until_branch)
			continue;
		row[found++] = &rows[low];
	}
	return found;
}

/* ---- descriptors ---- */

enum nvabi_fd_kind {
	NVABI_FD_NONE,
	NVABI_FD_NVIDIA_FILE, /* looked up in the caller's table: inode's number and private data */
	NVABI_FD_UVM_FILE, /* same, and the file's operations are compared */
	NVABI_FD_LABEL, /* remembered as a number, never opened */
	NVABI_FD_UNUSED, /* stored and dropped */
	NVABI_FD_DMA_BUF, /* ordinary descriptor; -1 asks for a new one */
	NVABI_FD_CAPS_FILE, /* file of the capability driver */
};

enum nvabi_fd_want {
	NVABI_WANT_NONE,
	NVABI_WANT_CTL,
	NVABI_WANT_GPU,
	NVABI_WANT_EITHER, /* control for system memory, the GPU's node for its memory */
	NVABI_WANT_UVM,
};

struct nvabi_fd_field {
	__u32 number; /* control command or class */
	__u16 off;
	__u8 width; /* 4 or 8 */
	__u8 kind; /* enum nvabi_fd_kind */
	__u8 want; /* enum nvabi_fd_want */
};

/*
 * Descriptors inside RM_CONTROL parameters: src/nvidia/arch/nvalloc/unix/src/os.c, escape.c.
 * In the ioctl structs themselves: known to core/decode.c by struct. NULL: none.
 */
static inline const struct nvabi_fd_field *nvabi_control_fd(__u32 cmd)
{
	/* One field a line: */
	/* clang-format off */
	static const struct nvabi_fd_field rows[] = {
		{ /* SUBSCRIBE_TO_IMEX_CHANNEL */ 0x00000d08, 0, 8, NVABI_FD_CAPS_FILE, NVABI_WANT_NONE },
		{ NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD, 16, 4, NVABI_FD_NVIDIA_FILE, NVABI_WANT_CTL },
		{ NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD, 0, 4, NVABI_FD_NVIDIA_FILE, NVABI_WANT_CTL },
		{ NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO, 0, 4, NVABI_FD_NVIDIA_FILE, NVABI_WANT_CTL },
		{ NV0000_CTRL_OS_UNIX_CREATE_EXPORT_OBJECT_FD, 72, 4, NVABI_FD_NVIDIA_FILE, NVABI_WANT_CTL },
		{ NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD, 0, 4, NVABI_FD_NVIDIA_FILE, NVABI_WANT_CTL },
		{ NV0000_CTRL_OS_UNIX_IMPORT_OBJECTS_FROM_FD, 0, 4, NVABI_FD_NVIDIA_FILE, NVABI_WANT_CTL },
		{ /* EXPORT_MEM */ 0x00e00101, 1040, 8, NVABI_FD_NVIDIA_FILE, NVABI_WANT_GPU },
		{ /* REGISTER_EVENT */ 0x00fd0103, 0, 8, NVABI_FD_LABEL, NVABI_WANT_NONE },
		{ /* ATTACH_GPU */ 0x00fd0104, 8, 8, NVABI_FD_NVIDIA_FILE, NVABI_WANT_GPU },
		{ /* DMABUF_EXPORT_OBJECTS_TO_FD */ 0x20803a01, 0, 4, NVABI_FD_DMA_BUF, NVABI_WANT_NONE },
	};
	/* clang-format on */
	__u32 i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].number == cmd)
			return &rows[i];
	return NULL;
}

/* Descriptors inside RM_ALLOC parameters. 0xfd's moves: see multicast_event_off. NULL: none. */
static inline const struct nvabi_fd_field *nvabi_class_fd(__u32 id)
{
	/* One field a line: */
	/* clang-format off */
	static const struct nvabi_fd_field rows[] = {
		{ NV01_EVENT, 16, 8, NVABI_FD_LABEL, NVABI_WANT_NONE },
		{ NV01_EVENT_OS_EVENT, 16, 8, NVABI_FD_LABEL, NVABI_WANT_NONE },
		{ /* FABRIC_MANAGER_SESSION */ 0x0000000f, 0, 8, NVABI_FD_CAPS_FILE, NVABI_WANT_NONE },
		{ /* NV_IMEX_SESSION */ 0x000000f1, 0, 8, NVABI_FD_CAPS_FILE, NVABI_WANT_NONE },
		{ NV_MEMORY_FABRIC_IMPORT_V2, 48, 8, NVABI_FD_LABEL, NVABI_WANT_NONE },
		{ NV_EVENT_BUFFER, 40, 8, NVABI_FD_LABEL, NVABI_WANT_NONE },
		{ AMPERE_SMC_PARTITION_REF, 0, 8, NVABI_FD_CAPS_FILE, NVABI_WANT_NONE },
		{ AMPERE_SMC_EXEC_PARTITION_REF, 0, 8, NVABI_FD_CAPS_FILE, NVABI_WANT_NONE },
		{ AMPERE_SMC_CONFIG_SESSION, 0, 8, NVABI_FD_CAPS_FILE, NVABI_WANT_NONE },
		{ AMPERE_SMC_MONITOR_SESSION, 0, 8, NVABI_FD_CAPS_FILE, NVABI_WANT_NONE },
	};
	/* clang-format on */
	__u32 i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].number == id)
			return &rows[i];
	return NULL;
}

#endif /* NVABI_EMBEDDED_H */
