/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a channel's ring and push buffer hold: entries, headers, and the methods
 * that have an effect outside the engine. Facts only. Source:
 * open-gpu-kernel-modules 535.261.03, src/common/sdk/nvidia/inc/class,
 * clc56f.h (host), clc7c0.h (compute), clc7b5.h (copy); launch descriptor (QMD,
 * version 3.0): NVIDIA/open-gpu-doc classes/compute/clc9c0qmd.h.
 */
#ifndef NVABI_METHODS_H
#define NVABI_METHODS_H

/* User area of a channel (USERD): clc56f.h, Nvc56fControl */
#define NVC56F_USERD_GP_GET		0x88
#define NVC56F_USERD_GP_PUT		0x8c
#define NVC56F_USERD_BYTES		0x200

/* Ring entry, two words */
#define NVC56F_GP_GET_LO(word0)		((word0) & ~3u)
#define NVC56F_GP_GET_HI(word1)		((word1) & 0xff)
#define NVC56F_GP_WORDS(word1)		(((word1) >> 10) & 0x1fffff)	/* 0: control entry */

/* Method header */
#define NVC56F_OP(header)		((header) >> 29)
#define NVC56F_OP_INCREMENT		1
#define NVC56F_OP_FIXED			3
#define NVC56F_OP_IMMEDIATE		4
#define NVC56F_OP_INCREMENT_ONCE	5
#define NVC56F_OP_END_SEGMENT		7
#define NVC56F_COUNT(header)		(((header) >> 16) & 0x1fff)	/* or immediate data */
#define NVC56F_SUBCHANNEL(header)	(((header) >> 13) & 7)
#define NVC56F_METHOD(header)		(((header) & 0xfff) << 2)

/* Host methods: on any subchannel, below 0x100 */
#define NVC56F_HOST_LIMIT		0x100
#define NVC56F_SET_OBJECT		0x00
#define NVC56F_SEMAPHOREA		0x10
#define NVC56F_SEMAPHOREB		0x14
#define NVC56F_SEMAPHOREC		0x18
#define NVC56F_SEMAPHORED		0x1c
#define NVC56F_NON_STALL_INTERRUPT	0x20
#define NVC56F_SEM_ADDR_LO		0x5c
#define NVC56F_SEM_ADDR_HI		0x60
#define NVC56F_SEM_PAYLOAD_LO		0x64
#define NVC56F_SEM_PAYLOAD_HI		0x68
#define NVC56F_SEM_EXECUTE		0x6c
#define NVC56F_SEM_OP(value)		((value) & 7)
#define NVC56F_SEM_OP_ACQUIRE		0	/* equal */
#define NVC56F_SEM_OP_RELEASE		1
#define NVC56F_SEM_OP_ACQ_STRICT_GEQ	2	/* unsigned >= */
#define NVC56F_SEM_OP_ACQ_CIRC_GEQ	3	/* difference not negative */
#define NVC56F_SEM_OP_ACQ_AND		4	/* common bits */
#define NVC56F_SEM_OP_ACQ_NOR		5
#define NVC56F_SEM_OP_REDUCTION		6
#define NVC56F_SEM_64BIT		(1u << 24)
#define NVC56F_SEM_TIMESTAMP		(1u << 25)
#define NVC56F_SEM_REDUCTION(value)	(((value) >> 27) & 0xf)
#define NVC56F_SEM_UNSIGNED		(1u << 31)
#define NVC56F_SEMD_ACQUIRE		0x01
#define NVC56F_SEMD_RELEASE		0x02
#define NVC56F_SEMD_ACQ_GEQ		0x04
#define NVC56F_SEMD_ACQ_AND		0x08
#define NVC56F_SEMD_ONE_WORD		(1u << 24)

/* Reductions of host semaphores */
#define NV_REDUCE_MIN			0
#define NV_REDUCE_MAX			1
#define NV_REDUCE_XOR			2
#define NV_REDUCE_AND			3
#define NV_REDUCE_OR			4
#define NV_REDUCE_ADD			5
#define NV_REDUCE_INC			6
#define NV_REDUCE_DEC			7

/* Subchannels as libraries use them; a class bound by SET_OBJECT counts more */
#define NV_SUBCHANNEL_COMPUTE		1
#define NV_SUBCHANNEL_COPY		4

/* Compute */
#define NVC7C0_REPORT_PAYLOAD_LOWER	0x0158
#define NVC7C0_REPORT_PAYLOAD_UPPER	0x015c
#define NVC7C0_REPORT_ADDRESS_LOWER	0x0160
#define NVC7C0_REPORT_ADDRESS_UPPER	0x0164
#define NVC7C0_REPORT_EXECUTE		0x0168
#define NVC7C0_REPORT_STRUCTURE(value)	(((value) >> 3) & 3)
#define NVC7C0_REPORT_PAYLOAD_64	(1u << 12)
#define NVC7C0_LINE_LENGTH_IN		0x0180
#define NVC7C0_LINE_COUNT		0x0184
#define NVC7C0_OFFSET_OUT_UPPER		0x0188
#define NVC7C0_OFFSET_OUT		0x018c
#define NVC7C0_PITCH_OUT		0x0190
#define NVC7C0_LAUNCH_DMA		0x01b0
#define NVC7C0_LAUNCH_DMA_COMPLETION(value) (((value) >> 4) & 3)
#define NVC7C0_LAUNCH_DMA_RELEASE	2
#define NVC7C0_LAUNCH_DMA_ONE_WORD	(1u << 12)
#define NVC7C0_LOAD_INLINE_DATA		0x01b4
#define NVC7C0_I2M_SEMAPHORE_A		0x01dc
#define NVC7C0_I2M_SEMAPHORE_B		0x01e0
#define NVC7C0_I2M_SEMAPHORE_C		0x01e4
#define NVC7C0_SEND_PCAS_A		0x02b4	/* descriptor's address >> 8 */
#define NVC7C0_SEND_SIGNALING_PCAS_B	0x02bc
#define NVC7C0_PCAS_B_SCHEDULE		0x2
#define NVC7C0_SEND_SIGNALING_PCAS2_B	0x02c0
#define NVC7C0_PCAS2_ACTION(value)	((value) & 0xf)
#define NVC7C0_INLINE_QMD_ADDRESS_A	0x0318
#define NVC7C0_INLINE_QMD_ADDRESS_B	0x031c
#define NVC7C0_LOAD_INLINE_QMD_DATA	0x0320	/* 64 words */
#define NVC7C0_SET_REPORT_A		0x1b00
#define NVC7C0_SET_REPORT_B		0x1b04
#define NVC7C0_SET_REPORT_C		0x1b08
#define NVC7C0_SET_REPORT_D		0x1b0c
#define NVC7C0_REPORT_OPERATION(value)	((value) & 3)
#define NVC7C0_REPORT_RELEASE		0
#define NVC7C0_REPORT_TRAP		3	/* interrupt */
#define NVC7C0_REPORT_D_ONE_WORD	(1u << 28)
#define NVC7C0_REPORT_D_AWAKEN		(1u << 20)

/* Actions of SEND_SIGNALING_PCAS2_B that start the descriptor */
#define NVC7C0_PCAS2_SCHEDULE		0x2
#define NVC7C0_PCAS2_COPY_SCHEDULE	0x3
#define NVC7C0_PCAS2_PREFETCH_SCHEDULE	0x9
#define NVC7C0_PCAS2_PREFETCH_COPY_SCHEDULE 0xa

/* Copy */
#define NVC7B5_SET_SEMAPHORE_A		0x0240
#define NVC7B5_SET_SEMAPHORE_B		0x0244
#define NVC7B5_SEMAPHORE_PAYLOAD	0x0248
#define NVC7B5_SEMAPHORE_PAYLOAD_UPPER	0x024c
#define NVC7B5_LAUNCH_DMA		0x0300
#define NVC7B5_LAUNCH_TRANSFER(value)	((value) & 3)	/* 0: none */
#define NVC7B5_LAUNCH_SEMAPHORE(value)	(((value) >> 3) & 3)
#define NVC7B5_LAUNCH_INTERRUPT(value)	(((value) >> 5) & 3)
#define NVC7B5_LAUNCH_SRC_PITCH		(1u << 7)
#define NVC7B5_LAUNCH_DST_PITCH		(1u << 8)
#define NVC7B5_LAUNCH_MULTI_LINE	(1u << 9)
#define NVC7B5_LAUNCH_REMAP		(1u << 10)
#define NVC7B5_LAUNCH_SRC_PHYSICAL	(1u << 12)
#define NVC7B5_LAUNCH_DST_PHYSICAL	(1u << 13)
#define NVC7B5_LAUNCH_SEMAPHORE_REDUCTION(value) (((value) >> 14) & 0xf)
#define NVC7B5_LAUNCH_SEMAPHORE_REDUCE	(1u << 19)
#define NVC7B5_LAUNCH_PAYLOAD_64	(1u << 27)
#define NVC7B5_OFFSET_IN_UPPER		0x0400
#define NVC7B5_OFFSET_IN_LOWER		0x0404
#define NVC7B5_OFFSET_OUT_UPPER		0x0408
#define NVC7B5_OFFSET_OUT_LOWER		0x040c
#define NVC7B5_PITCH_IN			0x0410
#define NVC7B5_PITCH_OUT		0x0414
#define NVC7B5_LINE_LENGTH_IN		0x0418
#define NVC7B5_LINE_COUNT		0x041c
#define NVC7B5_REMAP_CONST_A		0x0700
#define NVC7B5_REMAP_CONST_B		0x0704
#define NVC7B5_REMAP_COMPONENTS		0x0708
#define NVC7B5_REMAP_DST(value, i)	(((value) >> ((i) * 4)) & 7)
#define NVC7B5_REMAP_CONST_A_SELECTED	4
#define NVC7B5_REMAP_CONST_B_SELECTED	5
#define NVC7B5_REMAP_NO_WRITE		6
#define NVC7B5_REMAP_COMPONENT_BYTES(value) ((((value) >> 16) & 3) + 1)
#define NVC7B5_REMAP_SRC_COMPONENTS(value) ((((value) >> 20) & 3) + 1)
#define NVC7B5_REMAP_DST_COMPONENTS(value) ((((value) >> 24) & 3) + 1)
#define NVC7B5_DST_BLOCK_SIZE		0x070c	/* then width, height, depth, layer, origin */
#define NVC7B5_SRC_BLOCK_SIZE		0x0728	/* then width, height, depth, layer, origin */

/* Launch descriptor (QMD 3.0): 64 words; words and bits of what the executor reads */
#define NV_QMD3_WORDS			64
#define NV_QMD3_GRID_WIDTH		12
#define NV_QMD3_GRID_HEIGHT(word13)	((word13) & 0xffff)
#define NV_QMD3_GRID_DEPTH(word14)	((word14) & 0xffff)
#define NV_QMD3_DEPENDENT0_POINTER	15	/* address >> 8 */
#define NV_QMD3_DEPENDENT		16	/* word of the two bits below */
#define NV_QMD3_DEPENDENT0_ENABLE	(1u << 0)
#define NV_QMD3_DEPENDENT0_ACTION(word)	(((word) >> 1) & 7)
#define NV_QMD3_RELEASE0		24	/* lower, upper and flags, payload lower, upper */
#define NV_QMD3_RELEASE1		28
#define NV_QMD3_RELEASE_ENABLE		(1u << 23)
#define NV_QMD3_RELEASE_REDUCE_OP(word)	(((word) >> 20) & 7)
#define NV_QMD3_RELEASE_REDUCE		(1u << 26)
#define NV_QMD3_RELEASE_TRAP(word)	(((word) >> 27) & 3)
#define NV_QMD3_RELEASE_64		(1u << 29)
#define NV_QMD3_RELEASE_STRUCTURE(word)	((word) >> 30)
#define NV_STRUCTURE_FOUR_WORDS		0	/* payload, 0, time stamp */
#define NV_STRUCTURE_ONE_WORD		1
#define NV_STRUCTURE_TWO_WORDS		2

/* Reductions of reports and launch descriptors */
#define NV_QMD3_REDUCE_ADD		0
#define NV_QMD3_REDUCE_MIN		1
#define NV_QMD3_REDUCE_MAX		2
#define NV_QMD3_REDUCE_INC		3
#define NV_QMD3_REDUCE_DEC		4
#define NV_QMD3_REDUCE_AND		5
#define NV_QMD3_REDUCE_OR		6
#define NV_QMD3_REDUCE_XOR		7

/* Doorbell: usermode page, clc361.h .. clc561.h */
#define NVC361_NOTIFY_CHANNEL_PENDING	0x90

/* Error notifier codes: nverror.h */
#define NV_XID_FIFO_MMU_FAULT		31
#define NV_XID_PUSHBUFFER		32

#endif /* NVABI_METHODS_H */
