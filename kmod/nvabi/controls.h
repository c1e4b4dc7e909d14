/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Controls that the simulated driver answers and numbers.h does not name, and
 * the layouts of the parameters it looks into. Facts only. Source, unless a line
 * says otherwise: open-gpu-kernel-modules 535.261.03,
 * src/common/sdk/nvidia/inc/ctrl, in the file of the class (ctrl0000, ctrl0080,
 * ctrl2080 ...). "observed": absent from the open headers; number, size and the
 * words that matter were found by trying answers on genuine libraries.
 */
#ifndef NVABI_CONTROLS_H
#define NVABI_CONTROLS_H

#include "nvabi/numbers.h"
#include "nvabi/structs.h"

/* ctrl0000: system, gpu, client */
#define NV0000_CTRL_SYSTEM_GET_CPU_INFO		0x00000102
#define NV0000_CTRL_SYSTEM_NOTIFY_EVENT		0x00000110
#define NV0000_CTRL_GPU_GET_INIT_STATUS		0x00000203
#define NV0000_CTRL_EVENT_SET_NOTIFICATION	0x00000501
#define NV0000_CTRL_SYSTEM_GET_CHIPSET_INFO	0x00000104
#define NV0000_CTRL_SYSTEM_GET_P2P_CAPS		0x00000127
#define NV0000_CTRL_SYSTEM_GET_FEATURES		0x000001f0 /* bits: SLI, UEFI, started by EFI */
#define NV0000_CTRL_SYSTEM_GET_FABRIC_STATUS	0x00000136
#define NV0000_CTRL_SYSTEM_GET_P2P_CAPS_MATRIX	0x0000013a
#define NV0000_CTRL_GPU_GET_MEMOP_ENABLE	0x0000027b
#define NV0000_CTRL_SYNC_GPU_BOOST_GROUP_INFO	0x00000a04
#define NV0000_CTRL_GPUACCT_FAMILY		0x00000b00	/* 0xb01 to 0xb05: accounting */
#define NV0000_FABRIC_STATUS_SKIP		1

/* ctrl0041 and nvos.h: what a memory object says of itself */
#define NV0041_SURFACE_INFO_ATTRS		1
#define NV0041_SURFACE_INFO_COMPR_COVERAGE	5
#define NV0041_SURFACE_INFO_PHYS_SIZE		7	/* in 4 KiB */
#define NV0041_SURFACE_INFO_PHYS_ATTR		8
#define NV0041_SURFACE_INFO_ADDR_SPACE_TYPE	9
#define NV0000_ADDR_SPACE_INVALID		0
#define NV0000_ADDR_SPACE_SYSMEM		1
#define NV0000_ADDR_SPACE_VIDMEM		2
#define NV0000_ADDR_SPACE_REGMEM		3
#define NV0000_HANDLE_INFO_PARENT		1
#define NV0000_HANDLE_INFO_CLASS		2

/* ctrl0073: display */
#define NV0073_CTRL_SYSTEM_GET_NUM_HEADS	0x00730102	/* count at 8 */
#define NV0073_CTRL_SYSTEM_GET_SUPPORTED	0x00730120	/* mask at 4 */

/* ctrl0080 */
#define NV0080_CTRL_GPU_GET_NUM_SUBDEVICES	0x00800280
#define NV0080_CTRL_GPU_MODIFY_PERSISTENCE	0x00800287
#define NV0080_CTRL_GPU_QUERY_PERSISTENCE	0x00800288
#define NV0080_PERSISTENCE_ENABLED		0
#define NV0080_PERSISTENCE_DISABLED		1
#define NV0080_CTRL_GPU_GET_VIRTUALIZATION_MODE	0x00800289
#define NV0080_CTRL_GPU_GET_VGX_CAPS		0x0080028e
#define NV0080_CTRL_GPU_GET_BRAND_CAPS		0x00800294
#define NV0080_CTRL_GR_GET_CAPS			0x00801102
#define NV0080_CTRL_GR_GET_CAPS_V2		0x00801109
#define NV0080_CTRL_FB_GET_CAPS			0x00801301
#define NV0080_CTRL_FB_GET_CAPS_V2		0x00801307
#define NV0080_CTRL_HOST_GET_CAPS		0x00801401
#define NV0080_CTRL_HOST_GET_CAPS_V2		0x00801402
#define NV0080_CTRL_FIFO_GET_CAPS		0x00801701
#define NV0080_CTRL_FIFO_GET_CAPS_V2		0x00801713
#define NV0080_CTRL_DMA_GET_CAPS		0x0080180d
#define NV0080_CTRL_BSP_GET_CAPS_V2		0x00801c02
#define NV0080_CTRL_PERF_CUDA_LIMIT_OBSERVED	0x00809909	/* observed: status only */
#define NV0080_CTRL_PERF_CUDA_LIMIT_SET_CONTROL	0x00801909	/* from 550 */
#define NV0080_GR_CAPS_BYTES			23
#define NV0080_FB_CAPS_BYTES			3
#define NV0080_HOST_CAPS_BYTES			3
#define NV0080_FIFO_CAPS_BYTES			2

/* ctrl2080 */
#define NV2080_CTRL_GPU_GET_INFO		0x20800101
#define NV2080_CTRL_GPU_GET_SHORT_NAME_STRING	0x20800111
#define NV2080_CTRL_GPU_GET_SIMULATION_INFO	0x20800119
#define NV2080_CTRL_GPU_GET_ENGINES		0x20800123
#define NV2080_CTRL_GPU_QUERY_ECC_STATUS	0x2080012f
#define NV2080_CTRL_GPU_QUERY_COMPUTE_MODE	0x20800131
#define NV2080_CTRL_GPU_GET_0145_OBSERVED	0x20800145	/* observed: status only */
#define NV2080_CTRL_GPU_GET_ENGINES_V2		0x20800170
#define NV2080_CTRL_GPU_GET_MAX_PAGE_SIZE	0x20800188
#define NV2080_CTRL_EVENT_SET_NOTIFICATION	0x20800301
#define NV2080_CTRL_TIMER_GET_TIME		0x20800403
#define NV2080_CTRL_TIMER_GET_CORRELATION	0x20800406
#define NV2080_CLOCK_OS_TIME			1	/* clock 3:0: microseconds since 1970 */
#define NV2080_CLOCK_TSC			2
#define NV2080_CLOCK_PLATFORM			3
#define NV2080_CTRL_BIOS_GET_INFO		0x20800802
#define NV2080_CTRL_FIFO_RUNLIST_SET_POLICY	0x20801115
#define NV2080_CTRL_FIFO_DISABLE_USERMODE	0x20801117
#define NV2080_CTRL_FIFO_GET_ALLOCATED_CHANNELS	0x20801119
#define NV2080_CTRL_GR_GET_INFO			0x20801201
#define NV2080_CTRL_GR_SET_CTXSW_PREEMPTION	0x20801210
#define NV2080_CTRL_GR_GET_CTX_BUFFER_SIZE	0x20801218
#define NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER	0x2080121b
#define NV2080_CTRL_GR_GET_CAPS_V2		0x20801227
#define NV2080_CTRL_GR_GET_INFO_V2		0x20801228
#define NV2080_CTRL_GR_GET_GPC_MASK		0x2080122a
#define NV2080_CTRL_GR_GET_TPC_MASK		0x2080122b
#define NV2080_CTRL_FB_GET_SEMAPHORE_LAYOUT	0x20801352
#define NV2080_CTRL_MC_GET_ARCH_INFO		0x20801701
#define NV2080_CTRL_MC_SERVICE_INTERRUPTS	0x20801702
#define NV2080_CTRL_BUS_GET_PCI_INFO		0x20801801
#define NV2080_CTRL_BUS_GET_INFO		0x20801802
#define NV2080_CTRL_BUS_GET_INFO_V2		0x20801823
#define NV2080_CTRL_PERF_BOOST			0x2080200a
#define NV2080_CTRL_CE_GET_CAPS			0x20802a01
#define NV2080_CTRL_CE_GET_CAPS_V2		0x20802a03
#define NV2080_CTRL_CE_GET_ALL_CAPS		0x20802a0a
#define NV2080_CTRL_GSP_GET_FEATURES		0x20803601
#define NV2080_CTRL_8159_OBSERVED		0x20808159	/* observed: status only */
#define NV2080_CTRL_CLK_9001_OBSERVED		0x20809001	/* observed: word 0 not zero */
#define NV2080_CTRL_CLK_DOMAINS_OBSERVED	0x20809009	/* observed: word 1 a mask */
#define NV2080_CTRL_CLK_INFO_OBSERVED		0x20809064	/* observed: status only */
#define NV2080_CTRL_PERF_STATE_OBSERVED		0x2080a068	/* observed: word 0; 1 is P0 */
#define NV2080_CTRL_CODEC_LOAD_OBSERVED		0x2080a087	/* observed: percent, period in us */

#define NV2080_GPU_GID_FORMAT_BINARY		0x2	/* flags 1:0, ctrl2080gpu.h */
#define NV2080_GPU_PIDS_BY_CLASS		0
#define NV2080_GPU_PIDS_MAX			950
#define NV2080_GPU_PID_INFO_MAX			200
#define NV2080_GPU_PID_INFO_MEMORY		0
#define NV2080_CE_CAPS_BYTES			2	/* ctrl2080ce.h */
#define NV2080_CE_CAPS_0_GRCE			0x01
#define NV2080_CE_CAPS_0_SYSMEM_READ		0x04
#define NV2080_CE_CAPS_0_SYSMEM_WRITE		0x08
#define NV2080_CE_CAPS_0_SYSMEM			0x20
#define NV2080_CE_CAPS_0_BL_OVER_64K		0x80
#define NV2080_CE_CAPS_1_NONPIPELINED_BL	0x01
#define NV2080_CE_CAPS_1_PIPELINED_BL		0x02
#define NV2080_GPU_INFO_SMC_MODE		0x2a	/* 0: not supported */
#define NV2080_GPU_INFO_SM_VERSION		0x2c
#define NV2080_FIFO_DISABLE_MAX			64

/* Engine types: class/cl2080_notification.h */
#define NV2080_ENGINE_GRAPHICS			0x01
#define NV2080_ENGINE_COPY0			0x09
#define NV2080_ENGINE_NVDEC0			0x13
#define NV2080_ENGINE_NVENC0			0x1b
#define NV2080_ENGINE_SW			0x22

/* Notifiers of a subdevice: class/cl2080_notification.h */
#define NV2080_NOTIFIER_GRAPHICS		12
#define NV2080_NOTIFIER_CE0			23
#define NV2080_NOTIFIER_FIFO_METHOD		35

/* GR info: ctrl0080gr.h; only those with a value other than 0 here */
#define NV_GR_INFO_MAXCLIPS			0x00
#define NV_GR_INFO_BUFFER_ALIGNMENT		0x03
#define NV_GR_INFO_GPC_COUNT			0x07	/* SHADER_PIPE_COUNT */
#define NV_GR_INFO_STACK_SCALING		0x08	/* THREAD_STACK_SCALING_FACTOR */
#define NV_GR_INFO_TPC_COUNT			0x09	/* SHADER_PIPE_SUB_COUNT */
#define NV_GR_INFO_SM_REG_BANKS			0x0a
#define NV_GR_INFO_SM_REG_BANK_REGS		0x0b
#define NV_GR_INFO_SM_VERSION			0x0c
#define NV_GR_INFO_MAX_WARPS_PER_SM		0x0d
#define NV_GR_INFO_THREADS_PER_WARP		0x0e
#define NV_GR_INFO_MAX_SP_PER_SM		0x13
#define NV_GR_INFO_LITTER_GPCS			0x14
#define NV_GR_INFO_LITTER_FBPS			0x15
#define NV_GR_INFO_LITTER_TPC_PER_GPC		0x17
#define NV_GR_INFO_TIMESLICE_ENABLED		0x1a
#define NV_GR_INFO_LITTER_FBPAS			0x1b
#define NV_GR_INFO_GPU_CORE_COUNT		0x1d
#define NV_GR_INFO_LITTER_SM_PER_TPC		0x20
#define NV_GR_INFO_RT_CORE_COUNT		0x22
#define NV_GR_INFO_TENSOR_CORE_COUNT		0x23
#define NV_GR_INFO_LITTER_GRS			0x24
#define NV_GR_INFO_LITTER_LTCS			0x25
#define NV_GR_INFO_LITTER_LTC_SLICES		0x26
#define NV_GR_INFO_FAMILY_MAX_TPC_PER_GPC	0x2a
#define NV_GR_INFO_MAX_SUBCONTEXTS		0x2c
#define NV_GR_INFO_MAX_LEGACY_SUBCONTEXTS	0x2d
#define NV_GR_INFO_MAX_ENGINE_SUBCONTEXTS	0x2e
#define NV_GR_INFO_SLICES_PER_LTC		0x32
#define NV_GR_INFO_COUNT			0x35

/* FB info that only the simulated card needs: ctrl2080fb.h */
#define NV_FB_INFO_PARTITION_COUNT		0x04
#define NV_FB_INFO_BUS_WIDTH			0x0b
#define NV_FB_INFO_RAM_TYPE			0x0d
#define NV_FB_INFO_PARTITION_MASK		0x14
#define NV_FB_INFO_FBP_COUNT			0x19
#define NV_FB_INFO_FBP_MASK			0x1a
#define NV_FB_INFO_L2_CACHE_SIZE		0x1b	/* bytes */
#define NV_FB_INFO_LTC_COUNT			0x22
#define NV_FB_INFO_LTS_COUNT			0x23
#define NV_FB_INFO_LTC_MASK			0x2b
#define NV_FB_INFO_COUNT_535			0x36
#define NV_RAM_TYPE_GDDR6			0x11

/* Bus info: ctrl2080bus.h */
#define NV_BUS_INFO_TYPE			0x00	/* 3: PCI Express */
#define NV_BUS_INFO_INTLINE			0x01
#define NV_BUS_INFO_CAPS			0x02
#define NV_BUS_INFO_GPU_LINK_CAPS		0x03
#define NV_BUS_INFO_ROOT_LINK_CAPS		0x04
#define NV_BUS_INFO_GPU_LINK_STATUS		0x07
#define NV_BUS_INFO_COHERENT_DMA_FLAGS		0x0b
#define NV_BUS_INFO_NONCOHERENT_DMA_FLAGS	0x0c
#define NV_BUS_INFO_GART_SIZE			0x0d
#define NV_BUS_INFO_BUS_NUMBER			0x0f
#define NV_BUS_INFO_DEVICE_NUMBER		0x10
#define NV_BUS_INFO_INTERFACE_TYPE		0x13
#define NV_BUS_INFO_DOMAIN_NUMBER		0x2c
#define NV_BUS_INFO_GPU_GEN_INFO		0x2d
#define NV_BUS_INFO_GPU_INTERFACE_TYPE		0x2e
#define NV_BUS_INFO_COUNT			0x34

/* Channels: ctrla06c, ctrla06f, ctrl906f, ctrlc36f. The GPFIFO family is one. */
#define NVA06C_CTRL_GET_TIMESLICE		0xa06c0104
#define NVA06C_CTRL_SET_INTERLEAVE		0xa06c0107
#define NVA06F_CTRL_GPFIFO_SCHEDULE		0xa06f0103
#define NVA06F_CTRL_BIND			0xa06f0104
#define NVA06F_CTRL_STOP_CHANNEL		0xa06f0112
#define NVA06F_CTRL_EVENT_SET_NOTIFICATION	0xa06f0205
#define NV906F_CTRL_GET_CLASS_ENGINEID		0x906f0101
#define NV906F_CTRL_RESET_CHANNEL		0x906f0102
#define NVC36F_CTRL_GET_CLASS_ENGINEID		0xc36f0101
#define NVC36F_CTRL_RESET_CHANNEL		0xc36f0102
#define NVC36F_CTRL_GPFIFO_SCHEDULE		0xc36f0103
#define NVC36F_CTRL_BIND			0xc36f0104
#define NVC36F_CTRL_GET_MMU_FAULT_INFO		0xc36f0107
#define NVC36F_CTRL_GET_WORK_SUBMIT_TOKEN	0xc36f0108
#define NVC36F_CTRL_SET_TOKEN_NOTIF_INDEX	0xc36f010a
#define NVC36F_CTRL_EVENT_SET_NOTIFICATION	0xc36f0205

/* Others: ctrlcb33, ctrl83de, ctrl90f1 */
#define NVCB33_CTRL_SYSTEM_GET_CAPABILITIES	0xcb330101
#define NVCB33_CTRL_SYSTEM_GET_GPUS_STATE	0xcb330104
#define NV83DE_CTRL_SET_EXCEPTION_MASK		0x83de0309
#define NV83DE_CTRL_READ_ALL_SM_ERRORS		0x83de030c

/* Further classes: class/ */
#define FERMI_TWOD_A				0x902d
#define NV_RM_USER_SHARED_DATA			0x00de
#define KEPLER_INLINE_TO_MEMORY_B		0xa140
#define AMPERE_A				0xc697
#define AMPERE_B				0xc797
#define MAXWELL_PROFILER_DEVICE			0xb2cc
#define GF100_ZBC_CLEAR				0x9096
#define AMPERE_NVDEC				0xc6b0
#define NVENC_AMPERE				0xc7b7

/* ---- layouts ---- */

struct nv_info_pair { /* every ..._INFO list: index, data */
	__u32 index;
	__u32 data;
};
NVABI_SIZE(nv_info_pair, 8);

struct nv_list_pointer { /* the pointer forms: FB, GPU, BUS info; classes; engines; caps */
	__u32 count;
	__u32 pad0;
	__u64 list;
};
NVABI_SIZE(nv_list_pointer, 16);

struct nv0000_cpu_info { /* NV0000_CTRL_SYSTEM_GET_CPU_INFO_PARAMS */
	__u32 type;
	__u32 capabilities;
	__u32 clock;
	__u32 l1_data_cache_size;
	__u32 l2_data_cache_size;
	__u32 data_cache_line_size;
	__u32 num_logical_cpus;
	__u32 num_physical_cpus;
	__u8 name[52];
	__u32 family;
	__u32 model;
	__u8 stepping;
	__u8 pad0[3];
	__u32 cores_on_die;
	__u8 sev_enabled;
	__u8 pad1[3];
};
NVABI_SIZE(nv0000_cpu_info, 104);

struct nv0000_build_version { /* NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_PARAMS */
	__u32 string_bytes;
	__u32 pad0;
	__u64 driver_version;
	__u64 version;
	__u64 title;
	__u32 changelist;
	__u32 official_changelist;
};
NVABI_SIZE(nv0000_build_version, 40);

/* NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_V2_PARAMS: three or (from 570) four strings, then this. */
#define NV0000_BUILD_VERSION_V2_TEXT 256

struct nv0000_build_version_v2_end {
	__u32 changelist;
	__u32 official_changelist;
};
NVABI_SIZE(nv0000_build_version_v2_end, 8);

struct nv0000_id_info { /* NV0000_CTRL_GPU_GET_ID_INFO_PARAMS */
	__u32 gpu_id;
	__u32 gpu_flags;
	__u32 device_instance;
	__u32 subdevice_instance;
	__u64 name;
	__u32 sli_status;
	__u32 board_id;
	__u32 gpu_instance;
	__s32 numa_id;
};
NVABI_SIZE(nv0000_id_info, 40);

struct nv0000_id_info_v2 { /* NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS */
	__u32 gpu_id;
	__u32 gpu_flags;
	__u32 device_instance;
	__u32 subdevice_instance;
	__u32 sli_status;
	__u32 board_id;
	__u32 gpu_instance;
	__s32 numa_id;
};
NVABI_SIZE(nv0000_id_info_v2, 32);

struct nv0000_pci_info { /* NV0000_CTRL_GPU_GET_PCI_INFO_PARAMS */
	__u32 gpu_id;
	__u32 domain;
	__u16 bus;
	__u16 slot;
};
NVABI_SIZE(nv0000_pci_info, 12);

struct nv0000_uuid_info { /* NV0000_CTRL_GPU_GET_UUID_INFO_PARAMS */
	__u8 uuid[256];
	__u32 flags;
	__u32 gpu_id;
	__u32 device_instance;
	__u32 subdevice_instance;
};
NVABI_SIZE(nv0000_uuid_info, 272);

struct nv0000_uuid_from_id { /* NV0000_CTRL_GPU_GET_UUID_FROM_GPU_ID_PARAMS */
	__u32 gpu_id;
	__u32 flags;
	__u8 uuid[256];
	__u32 length;
};
NVABI_SIZE(nv0000_uuid_from_id, 268);

struct nv0000_addr_space { /* NV0000_CTRL_CLIENT_GET_ADDR_SPACE_TYPE_PARAMS */
	__u32 h_object;
	__u32 map_flags;
	__u32 type;
};
NVABI_SIZE(nv0000_addr_space, 12);

struct nv0000_access_rights { /* NV0000_CTRL_CLIENT_GET_ACCESS_RIGHTS_PARAMS */
	__u32 h_object;
	__u32 h_client;
	__u32 mask;
};
NVABI_SIZE(nv0000_access_rights, 12);

struct nv0000_duplicates { /* NV0000_CTRL_CLIENT_OBJECTS_ARE_DUPLICATES_PARAMS */
	__u32 h_first;
	__u32 h_second;
	__u8 same;
	__u8 pad0[3];
};
NVABI_SIZE(nv0000_duplicates, 12);

struct nv0080_channel_list { /* NV0080_CTRL_FIFO_GET_CHANNELLIST_PARAMS */
	__u32 count;
	__u32 pad0;
	__u64 handles;
	__u64 channels;
};
NVABI_SIZE(nv0080_channel_list, 24);

struct nv2080_gid_info { /* NV2080_CTRL_GPU_GET_GID_INFO_PARAMS */
	__u32 index;
	__u32 flags;
	__u32 length;
	__u8 data[256];
};
NVABI_SIZE(nv2080_gid_info, 268);

struct nv2080_pids { /* NV2080_CTRL_GPU_GET_PIDS_PARAMS */
	__u32 id_type;
	__u32 id;
	__u32 count;
	__u32 pids[NV2080_GPU_PIDS_MAX];
};
NVABI_SIZE(nv2080_pids, 3812);

struct nv2080_pid_info_list { /* NV2080_CTRL_GPU_GET_PID_INFO_PARAMS */
	__u32 count;
	__u32 pad0;
	struct nv2080_pid_info entries[NV2080_GPU_PID_INFO_MAX];
};
NVABI_SIZE(nv2080_pid_info_list, 14408);

struct nv2080_fb_region { /* NV2080_CTRL_CMD_FB_GET_FB_REGION_FB_REGION_INFO; 56 bytes from 580 */
	__u64 base;
	__u64 limit;
	__u64 reserved;
	__u32 performance;
	__u8 compressed;
	__u8 iso;
	__u8 is_protected;
	__u8 black_list[17];
};
NVABI_SIZE(nv2080_fb_region, 48);

struct nv2080_fb_regions { /* NV2080_CTRL_CMD_FB_GET_FB_REGION_INFO_PARAMS */
	__u32 count;
	__u32 pad0;
	struct nv2080_fb_region regions[16];
};
NVABI_SIZE(nv2080_fb_regions, 776);

struct nv2080_bar { /* NV2080_CTRL_BUS_PCI_BAR_INFO */
	__u32 flags;
	__u32 mebibytes;
	__u64 bytes;
	__u64 offset;
};
NVABI_SIZE(nv2080_bar, 24);

struct nv2080_bars { /* NV2080_CTRL_BUS_GET_PCI_BAR_INFO_PARAMS */
	__u32 count;
	__u32 pad0;
	struct nv2080_bar bars[8];
};
NVABI_SIZE(nv2080_bars, 200);

struct nv2080_bus_pci_info { /* NV2080_CTRL_BUS_GET_PCI_INFO_PARAMS */
	__u32 device_id;
	__u32 subsystem_id;
	__u32 revision_id;
	__u32 ext_device_id;
};
NVABI_SIZE(nv2080_bus_pci_info, 16);

struct nv2080_arch_info { /* NV2080_CTRL_MC_GET_ARCH_INFO_PARAMS */
	__u32 architecture;
	__u32 implementation;
	__u32 revision;
	__u8 subrevision;
	__u8 pad0[3];
};
NVABI_SIZE(nv2080_arch_info, 16);

/*
 * NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER_PARAMS: 512 places, then the end. From 580 each place has
 * three more numbers behind these.
 */
#define NV2080_SM_ORDER_MAX 512

struct nv2080_sm_place {
	__u16 gpc, local_tpc, local_sm, global_tpc, virtual_gpc, migratable_tpc;
};
NVABI_SIZE(nv2080_sm_place, 12);

struct nv2080_sm_order_end {
	__u16 sm_count;
	__u16 tpc_count;
	__u32 pad0;
	__u32 route_flags;
	__u32 pad1;
	__u64 route;
};
NVABI_SIZE(nv2080_sm_order_end, 24);

struct nv2080_gr_info { /* NV2080_CTRL_GR_GET_INFO_PARAMS */
	__u32 count;
	__u32 pad0;
	__u64 list;
	__u32 route_flags;
	__u32 pad1;
	__u64 route;
};
NVABI_SIZE(nv2080_gr_info, 32);

struct nv2080_gpc_mask { /* NV2080_CTRL_GR_GET_GPC_MASK_PARAMS */
	__u32 route_flags;
	__u32 pad0;
	__u64 route;
	__u32 mask;
	__u32 pad1;
};
NVABI_SIZE(nv2080_gpc_mask, 24);

struct nv2080_tpc_mask { /* NV2080_CTRL_GR_GET_TPC_MASK_PARAMS */
	__u32 route_flags;
	__u32 pad0;
	__u64 route;
	__u32 gpc;
	__u32 mask;
};
NVABI_SIZE(nv2080_tpc_mask, 24);

struct nv2080_ctx_buffer_size { /* NV2080_CTRL_GR_GET_CTX_BUFFER_SIZE_PARAMS */
	__u32 h_channel;
	__u32 pad0;
	__u64 bytes;
};
NVABI_SIZE(nv2080_ctx_buffer_size, 16);

struct nv2080_correlation { /* NV2080_CTRL_TIMER_GET_GPU_CPU_TIME_CORRELATION_INFO_PARAMS */
	__u8 clock;
	__u8 count;
	__u8 pad0[6];
	struct {
		__u64 cpu, gpu;
	} samples[16];
};
NVABI_SIZE(nv2080_correlation, 264);

struct nv2080_set_notification { /* NV2080_CTRL_EVENT_SET_NOTIFICATION_PARAMS */
	__u32 event;
	__u32 action;
	__u8 state;
	__u8 pad0[3];
	__u32 info32;
	__u16 info16;
	__u16 pad1;
};
NVABI_SIZE(nv2080_set_notification, 20);

struct nva06f_set_notification { /* NVA06F_CTRL_EVENT_SET_NOTIFICATION_PARAMS */
	__u32 event;
	__u32 action;
};
NVABI_SIZE(nva06f_set_notification, 8);

struct nv2080_gsp_features { /* NV2080_CTRL_GSP_GET_FEATURES_PARAMS */
	__u32 features;
	__u8 valid;
	__u8 is_default;
	__u8 firmware_version[64];
	__u8 pad0[2];
};
NVABI_SIZE(nv2080_gsp_features, 72);

struct nv2080_disable_channels { /* NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS */
	__u8 disable;
	__u8 pad0[3];
	__u32 count;
	__u8 only_scheduling;
	__u8 rewind;
	__u8 pad1[6];
	__u64 event;
	__u32 clients[NV2080_FIFO_DISABLE_MAX];
	__u32 channels[NV2080_FIFO_DISABLE_MAX];
};
NVABI_SIZE(nv2080_disable_channels, 536);

struct nva06c_schedule { /* NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS; a third byte from 575 */
	__u8 enable;
	__u8 skip_submit;
};
NVABI_SIZE(nva06c_schedule, 2);

struct nva06c_preempt { /* NVA06C_CTRL_PREEMPT_PARAMS */
	__u8 wait;
	__u8 own_timeout;
	__u8 pad0[2];
	__u32 timeout_us;
};
NVABI_SIZE(nva06c_preempt, 8);

struct nv906f_class_engine { /* NV906F_CTRL_GET_CLASS_ENGINEID_PARAMS */
	__u32 h_object;
	__u32 class_engine;
	__u32 class_id;
	__u32 engine;
};
NVABI_SIZE(nv906f_class_engine, 16);

struct nv2080_gpumon_engine { /* NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE, 116 bytes in 535 */
	__u32 utilisation; /* 1/100 % */
	__u32 vgpu_scale;
	__u32 pid;
	__u8 rest[104];
};
NVABI_SIZE(nv2080_gpumon_engine, 116);

struct nv2080_gpumon_sample { /* NV2080_CTRL_PERF_GPUMON_PERFMON_UTIL_SAMPLE */
	__u64 time_ns; /* of the card's clock: observed */
	struct nv2080_gpumon_engine fb, gr, nvenc, nvdec;
};
NVABI_SIZE(nv2080_gpumon_sample, 472);

struct nv2080_gpumon_samples { /* NV2080_CTRL_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2_PARAMS */
	__u8 type;
	__u8 pad0[3];
	__u32 bytes;
	__u32 count;
	__u32 tracker;
	struct nv2080_gpumon_sample samples[72];
};
NVABI_SIZE(nv2080_gpumon_samples, 34000);

/* alloc/alloc_channel.h: NV_CHANNEL_ALLOC_PARAMS, the part that is looked at. The whole is
 * 304 bytes at first, 360 from 535.129.03, 368 from 570.86.16. */
struct nv_channel_alloc_head {
	__u32 h_error;
	__u32 h_buffer;
	__u64 gpfifo_offset;
	__u32 gpfifo_entries;
	__u32 flags;
	__u32 h_context_share;
	__u32 h_va_space;
	__u32 h_userd_memory[8];
	__u64 userd_offset[8];
	__u32 engine_type;
	__u32 channel_id;
	__u32 subdevice_id;
	__u32 h_ecc_error;
};
NVABI_SIZE(nv_channel_alloc_head, 144);
#define NV_CHANNEL_ALLOC_SIZE_535_129 360

/* NvNotification of nvtypes: what lies in an error notifier */
struct nv_notification {
	__u32 time_lo, time_hi;
	__u32 info32;
	__u16 info16;
	__u16 status;
};
NVABI_SIZE(nv_notification, 16);

#endif /* NVABI_CONTROLS_H */
