// SPDX-License-Identifier: GPL-2.0
/*
 * What a tenant may ask: see filter.h. Every rule is a row with its reason; what is in no row
 * meets the rule for unknown numbers in filter.h.
 *
 * The driver itself refuses what needs CAP_SYS_ADMIN: calls are made with the tenant's
 * ids and without it. The rows below are for what the driver grants to anyone, because on a card
 * that one user has to himself it does no harm.
 */
#include "core/filter.h"
#include "nvabi/classes.h"
#include "nvabi/numbers.h"

#define NVOS54_FLAG_SERIALIZED 0x4u /* NVOS54_FLAGS_FINN_SERIALIZED, nvos.h */

static struct gsh_verdict allow(u16 flags)
{
	struct gsh_verdict verdict = { .action = GSH_ALLOW, .flags = flags };

	return verdict;
}

static struct gsh_verdict deny(u32 status)
{
	struct gsh_verdict verdict = { .action = GSH_DENY, .status = status };

	return verdict;
}

static struct gsh_verdict deny_err(s32 err)
{
	struct gsh_verdict verdict = { .action = GSH_DENY, .err = err };

	return verdict;
}

static struct gsh_verdict view(enum gsh_view_kind kind)
{
	struct gsh_verdict verdict = { .action = GSH_VIEW, .view = (u8)kind };

	return verdict;
}

/* Forward when the check passes; status is the answer when it does not. */
static struct gsh_verdict check(u16 flags, u32 status)
{
	struct gsh_verdict verdict = { .action = GSH_LOCAL, .flags = flags, .status = status };

	return verdict;
}

/* ---- ioctl numbers ---- */

struct gsh_verdict gsh_filter_escape(const struct nvabi_version *v, u32 nr)
{
	switch (nr) {
	case NV_ESC_CARD_INFO:
		return view(GSH_VIEW_CARD_INFO);
	case NV_ESC_RM_VID_HEAP_CONTROL:
		return view(GSH_VIEW_VIDHEAP);
	case NV_ESC_RM_ALLOC_MEMORY: /* only class 0x40 answers with a size */
		return view(GSH_VIEW_HEAP_LIMIT);
	case NV_ESC_RM_I2C_ACCESS: /* buses of the board */
	case NV_ESC_RM_ACCESS_REGISTRY: /* the driver's own settings */
		return deny(NV_ERR_INSUFFICIENT_PERMISSIONS);
	case NV_ESC_RM_DIAGNOSTIC: /* as the driver answers anyone without CAP_SYS_ADMIN */
		return deny_err(-EINVAL);
	case NV_ESC_SET_NUMA_STATUS: /* as the driver answers anyone without CAP_SYS_ADMIN */
		return deny_err(-EACCES);
	case NV_ESC_EXPORT_TO_DMABUF_FD: /* keeps memory alive where no book sees it */
		return deny(NV_ERR_NOT_SUPPORTED);
	case NV_ESC_ATTACH_GPUS_TO_FD: /* powers cards up by id */
		return check(GSH_VERDICT_CHECK_GPU_ID, 0);
	case NV_ESC_STATUS_CODE: /* names a card by its PCI address */
		return check(GSH_VERDICT_CHECK_GPU_ID, 0);
	case NV_ESC_RM_IDLE_CHANNELS: /* names (client, channel) pairs */
		return check(GSH_VERDICT_CHECK_CHANNELS, NV_ERR_INVALID_CLIENT);
	default:
		return allow(0);
	}
}

/* ---- classes ---- */

/* Kinds of class no tenant needs, with the status of the refusal. */
static const struct {
	u32 what;
	u32 status;
} denied_kinds[] = {
	/* windows on any physical memory, other people's included */
	{ NVABI_CLASS_MEM_WINDOW, NV_ERR_INSUFFICIENT_PERMISSIONS },
	/* memory that is not the card's and has no book */
	{ NVABI_CLASS_MEM_EXTENDED, NV_ERR_NOT_SUPPORTED },
	/* second handles that keep memory alive beyond its object */
	{ NVABI_CLASS_MEM_REFERENCE, NV_ERR_NOT_SUPPORTED },
	/* undocumented commands to the firmware */
	{ NVABI_CLASS_PASSTHROUGH, NV_ERR_INSUFFICIENT_PERMISSIONS },
	/* MIG, fabric manager, IMEX: machine-wide, by a descriptor tenants cannot have */
	{ NVABI_CLASS_CAPS_FILE, NV_ERR_INSUFFICIENT_PERMISSIONS },
	/* would run controls later, behind this filter's back */
	{ NVABI_CLASS_DEFERRED, NV_ERR_NOT_SUPPORTED },
	/* counts what everybody on the card does; clock gating of the whole card */
	{ NVABI_CLASS_PROFILER, NV_ERR_INSUFFICIENT_PERMISSIONS },
	{ NVABI_CLASS_VGPU_HOST, NV_ERR_NOT_SUPPORTED },
};

struct gsh_verdict gsh_filter_class(const struct nvabi_version *v, u32 class_id)
{
	const struct nvabi_class *row = nvabi_class_find(class_id);
	u32 i;

	if (!row)
		return allow(GSH_VERDICT_UNKNOWN);
	if (row->flags & (NVABI_CLASS_KERNEL | NVABI_CLASS_PRIVILEGED))
		return deny(NV_ERR_INSUFFICIENT_PERMISSIONS); /* the driver's own answer */
	/* An empty handle, its commands are refused below; libcuda 550 gives up without it (measured). */
	if (class_id == NV2081_BINAPI)
		return allow(0);
	for (i = 0; i < GSH_ARRAY_SIZE(denied_kinds); i++)
		if (row->flags & denied_kinds[i].what)
			return deny(denied_kinds[i].status);
	switch (class_id) {
	case 0x402c: /* NV40_I2C: buses of the board */
	case 0xcbca: /* NV_COUNTER_COLLECTION_UNIT: load of the whole card */
		return deny(NV_ERR_INSUFFICIENT_PERMISSIONS);
	case HOPPER_MMU_VIDMEM_ACCESS_BIT_BUFFER: /* who touched which memory, of the whole card */
		return deny(NV_ERR_INSUFFICIENT_PERMISSIONS);
	case LOCK_STRESS_OBJECT: /* holds the driver's locks as a test */
	case LOCK_TEST_RELAXED_DUP_OBJECT:
		return deny(NV_ERR_NOT_SUPPORTED);
	case 0x00de: /* RM_USER_SHARED_DATA: a page with the card's free memory and load; no view of it */
		return deny(NV_ERR_NOT_SUPPORTED);
	default:
		break;
	}
	if (row->flags & (NVABI_CLASS_DEVICE | NVABI_CLASS_EVENT | NVABI_CLASS_DEBUGGER))
		return check(GSH_VERDICT_CHECK_CLIENT, NV_ERR_INVALID_CLIENT);
	return allow(0);
}

/* ---- controls ---- */

/* Short names for the table's columns. */
#define PERM  NV_ERR_INSUFFICIENT_PERMISSIONS
#define NOSUP NV_ERR_NOT_SUPPORTED

enum rule {
	RULE_DENY,
	RULE_ABSORB,
	RULE_ALLOW,
	RULE_CHECK,
	RULE_VIEW,
};

struct control {
	u32 cmd;
	u8 rule;
	u8 view;
	u16 flags;
	u32 status;
};

#define DENY(cmd, status)         { cmd, RULE_DENY, GSH_VIEW_NONE, 0, status }
#define ABSORB(cmd)               { cmd, RULE_ABSORB, GSH_VIEW_NONE, 0, 0 }
#define ALLOW(cmd, flags)         { cmd, RULE_ALLOW, GSH_VIEW_NONE, flags, 0 }
#define CHECK(cmd, flags, status) { cmd, RULE_CHECK, GSH_VIEW_NONE, flags, status }
#define VIEW(cmd, kind)           { cmd, RULE_VIEW, kind, 0, 0 }
#define SCHED                     GSH_VERDICT_SCHEDULING
#define GPU_ID                    GSH_VERDICT_CHECK_GPU_ID
#define CHANNELS                  GSH_VERDICT_CHECK_CHANNELS
#define TRACK                     GSH_VERDICT_TRACK

/*
 * Names and numbers: open-gpu-kernel-modules 535.261.03 (or the branch in brackets), src/common/sdk/nvidia/inc/ctrl;
 * who may call: src/nvidia/generated. Controls that change a state of the whole card or machine
 * are refused PERM, as on a machine whose operator has reserved them; replies about neighbours
 * NOSUP, which tools show as "N/A".
 */
/* One control a line: */
/* clang-format off */
static const struct control controls[] = { /* sorted by command */
	/* 0x0000: the whole machine */
	DENY(0x00000110, PERM), /* SYSTEM_NOTIFY_EVENT: lid, power or dock changed */
	DENY(0x00000121, PERM), /* SYSTEM_DEBUG_RMMSG_CTRL: the driver's log */
	DENY(0x00000122, NOSUP), /* SYSTEM_GPS_CONTROL: power policy, as the next five */
	DENY(0x00000123, NOSUP), /* SYSTEM_GPS_BATCH_CONTROL */
	DENY(0x0000012a, NOSUP), /* SYSTEM_GPS_CTRL */
	DENY(0x0000012d, NOSUP), /* SYSTEM_GPS_CALL_ACPI */
	DENY(0x00000130, PERM), /* SYSTEM_EXECUTE_ACPI_METHOD: the firmware of the machine */
	DENY(0x00000132, NOSUP), /* SYSTEM_GPS_SET_FRM_DATA */
	DENY(0x00000138, PERM), /* VGPU_SET_VGPU_VERSION */
	DENY(0x00000140, NOSUP), /* SYSTEM_PFM_REQ_HNDLR_*: power policy */
	DENY(0x00000141, NOSUP),
	DENY(0x00000142, NOSUP),
	DENY(0x00000143, NOSUP),
	DENY(0x00000144, NOSUP),
	DENY(0x00000145, NOSUP),
	VIEW(NV0000_CTRL_GPU_GET_ATTACHED_IDS, GSH_VIEW_ATTACHED_IDS),
	CHECK(NV0000_CTRL_GPU_GET_ID_INFO, GPU_ID, NV_ERR_INVALID_ARGUMENT),
	CHECK(0x00000203, GPU_ID, NV_ERR_INVALID_ARGUMENT), /* GPU_GET_INIT_STATUS */
	CHECK(NV0000_CTRL_GPU_GET_ID_INFO_V2, GPU_ID, NV_ERR_INVALID_ARGUMENT),
	VIEW(NV0000_CTRL_GPU_GET_PROBED_IDS, GSH_VIEW_PROBED_IDS),
	CHECK(NV0000_CTRL_GPU_ATTACH_IDS, GPU_ID, NV_ERR_INVALID_ARGUMENT),
	CHECK(NV0000_CTRL_GPU_DETACH_IDS, GPU_ID, NV_ERR_INVALID_ARGUMENT),
	CHECK(NV0000_CTRL_GPU_GET_PCI_INFO, GPU_ID, NV_ERR_OBJECT_NOT_FOUND),
	CHECK(NV0000_CTRL_GPU_GET_UUID_FROM_GPU_ID, GPU_ID, NV_ERR_OBJECT_NOT_FOUND),
	CHECK(NV0000_CTRL_GPU_QUERY_DRAIN_STATE, GPU_ID, NV_ERR_OBJECT_NOT_FOUND),
	DENY(0x00000281, PERM), /* GPU_DISABLE_NVLINK_INIT */
	DENY(0x00000282, NOSUP), /* GPU_LEGACY_CONFIG: pointers of unknown meaning */
	DENY(0x00000283, NOSUP), /* GPU_IDLE_CHANNELS: names any client's channels, by pointers */
	DENY(0x00000285, PERM), /* GPU_PUSH_GSP_UCODE */
	DENY(0x00000288, NOSUP), /* GPU_GET_ACTIVE_DEVICE_IDS: every card of the machine (550) */
	CHECK(NV0000_CTRL_GPU_ASYNC_ATTACH_ID, GPU_ID, NV_ERR_INVALID_ARGUMENT),
	CHECK(0x00000290, GPU_ID, NV_ERR_INVALID_ARGUMENT), /* GPU_WAIT_ATTACH_ID (550) */
	DENY(0x00000488, PERM), /* DIAG_PROFILE_RPC: everybody's calls to the firmware (550) */
	DENY(0x00000489, PERM), /* DIAG_DUMP_RPC */
	DENY(0x00000607, NOSUP), /* NVD_GET_RCERR_RPT: other processes' faults */
	DENY(0x00000b01, NOSUP), /* GPUACCT_SET_ACCOUNTING_STATE: this family tells who else ran */
	DENY(0x00000b02, NOSUP), /* GPUACCT_GET_ACCOUNTING_STATE */
	DENY(0x00000b03, NOSUP), /* GPUACCT_GET_PROC_ACCOUNTING_INFO */
	DENY(0x00000b04, NOSUP), /* GPUACCT_GET_ACCOUNTING_PIDS */
	DENY(0x00000b05, NOSUP), /* GPUACCT_CLEAR_ACCOUNTING_DATA */
	DENY(0x00000b06, NOSUP), /* GPUACCT_* */
	DENY(0x00000d08, PERM), /* CLIENT_SUBSCRIBE_TO_IMEX_CHANNEL: descriptor of the capability driver */
	ALLOW(NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD, TRACK),
	ALLOW(NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD, TRACK),
	ALLOW(NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO, TRACK),
	DENY(NV0000_CTRL_OS_UNIX_CREATE_EXPORT_OBJECT_FD, NOSUP), /* many objects behind one file: no book yet */
	DENY(NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD, NOSUP),
	DENY(NV0000_CTRL_OS_UNIX_IMPORT_OBJECTS_FROM_FD, NOSUP),
	/* 0x0080: a device */
	ALLOW(0x00801705, SCHED), /* FIFO_START_SELECTED_CHANNELS */
	DENY(0x0080200a, PERM), /* INTERNAL_MEMSYS_SET_ZBC_REFERENCED: clear colours of the whole card (580) */
	ALLOW(0x00809909, 0), /* undocumented; libcuda cannot do without (observed) */
	DENY(0x00e00101, NOSUP), /* EXPORT_MEM: keeps memory alive */
	DENY(0x00fd0104, NOSUP), /* ATTACH_GPU: multicast over several cards */
	/* 0x2080: a card, shared with others */
	DENY(0x20800112, PERM), /* GPU_SET_POWER */
	DENY(0x20800155, PERM), /* GPU_SET_ILLUM */
	DENY(0x2080016d, NOSUP), /* GPU_GET_NVENC_SW_SESSION_STATS: everybody's encoders */
	DENY(0x2080016e, NOSUP), /* GPU_GET_NVENC_SW_SESSION_INFO */
	DENY(0x2080016f, PERM), /* GPU_SET_FABRIC_BASE_ADDR */
	DENY(0x20800174, PERM), /* GPU_SET_PARTITIONS: MIG */
	DENY(0x2080017b, NOSUP), /* GPU_GET_NVFBC_SW_SESSION_STATS: everybody's screen captures */
	DENY(0x2080017c, NOSUP), /* GPU_GET_NVFBC_SW_SESSION_INFO */
	VIEW(NV2080_CTRL_GPU_GET_PIDS, GSH_VIEW_PIDS),
	VIEW(NV2080_CTRL_GPU_GET_PID_INFO, GSH_VIEW_PID_INFO),
	DENY(0x20800192, PERM), /* GPU_HANDLE_VF_PRI_FAULT */
	DENY(0x20800199, PERM), /* GPU_SET_EGM_GPA_FABRIC_BASE_ADDR */
	DENY(0x208001a9, PERM), /* GPU_MARK_DEVICE_FOR_RESET and its three kin (570) */
	DENY(0x208001aa, PERM),
	DENY(0x208001ac, PERM),
	DENY(0x208001ad, PERM),
	DENY(0x208001af, NOSUP), /* GPU_GET_NVENC_SW_SESSION_INFO_V2 */
	DENY(0x208001e8, PERM), /* GPU_RPC_GSP_TEST: load on the firmware, by pointers (580) */
	DENY(0x208001e9, PERM), /* GPU_RPC_GSP_QUERY_SIZES */
	DENY(0x20800309, PERM), /* EVENT_VIDEO_BIND_EVTBUF: everybody's video engines (550) */
	DENY(0x20800407, PERM), /* TIMER_SET_GR_TICK_FREQ */
	DENY(0x20800601, PERM), /* I2C_*: buses of the board */
	DENY(0x20800602, PERM),
	DENY(0x20800603, PERM),
	DENY(0x20800604, PERM),
	DENY(0x20800610, PERM),
	DENY(0x20800ada, NOSUP), /* INTERNAL_SPDM_RETRIEVE_TRANSCRIPT (570) */
	DENY(0x20801102, NOSUP), /* SET_GPFIFO: names any channel */
	DENY(0x20801103, NOSUP), /* FIFO_BIND_ENGINES: names any client's channels */
	CHECK(NV2080_CTRL_FIFO_DISABLE_CHANNELS, CHANNELS | SCHED, NV_ERR_INVALID_CLIENT),
	DENY(0x2080110e, NOSUP), /* FIFO_OBJSCHED_SW_GET_LOG (550) */
	DENY(0x20801115, PERM), /* FIFO_RUNLIST_SET_SCHED_POLICY: the driver asks for the nice right */
	DENY(0x20801118, PERM), /* FIFO_SETUP_VF_ZOMBIE_SUBCTX_PDB */
	DENY(0x2080111a, PERM), /* FIFO_DISABLE_CHANNELS_FOR_KEY_ROTATION (550) */
	DENY(0x2080111b, PERM), /* FIFO_DISABLE_CHANNELS_FOR_KEY_ROTATION_V2 */
	DENY(0x2080111c, PERM), /* FIFO_ROTATE_KEYS: disables any client's channels (595) */
	DENY(0x20801121, PERM), /* FIFO_OBJSCHED_SET_STATE: scheduling of the whole card (550) */
	DENY(0x20801123, NOSUP), /* FIFO_GET_CHANNEL_GROUP_UNIQUE_ID_INFO: names any client's (570) */
	DENY(0x20801124, NOSUP), /* FIFO_QUERY_CHANNEL_UNIQUE_ID */
	DENY(0x2080121c, NOSUP), /* GR_GET_CURRENT_RESIDENT_CHANNEL: who runs now */
	DENY(0x20801231, PERM), /* GR_FECS_BIND_EVTBUF_FOR_UID: context switches of the whole card */
	DENY(0x20801238, PERM), /* GR_FECS_BIND_EVTBUF_FOR_UID_V2 */
	DENY(0x2080123e, PERM), /* GR_TEST_CTXSW_ERROR_LOGS (595) */
	VIEW(NV2080_CTRL_FB_GET_INFO, GSH_VIEW_FB_INFO),
	VIEW(NV2080_CTRL_FB_GET_INFO_V2, GSH_VIEW_FB_INFO_V2),
	DENY(0x2080130f, PERM), /* FB_SET_GPU_CACHE_ALLOC_POLICY */
	DENY(0x20801318, PERM), /* FB_SET_GPU_CACHE_ALLOC_POLICY_V2 */
	VIEW(NV2080_CTRL_FB_GET_FB_REGION_INFO, GSH_VIEW_FB_REGIONS),
	DENY(0x20801349, NOSUP), /* FB_GET_CLIENT_ALLOCATION_INFO: everybody's memory, by pointers */
	DENY(0x20801353, PERM), /* GMMU_COMMIT_TLB_INVALIDATE: everybody's address spaces (570) */
	DENY(0x20801360, NOSUP), /* FB_GET_CARVEOUT_REGION_INFO: physical regions (580) */
	DENY(0x20801362, NOSUP), /* FB_GET_UGPU_MEMORY_INFO: total and free memory of the card (595) */
	DENY(0x20801709, PERM), /* MC_SET_HOSTCLK_SLOWDOWN_STATUS */
	DENY(0x20801806, PERM), /* BUS_SET_HWBC_UPSTREAM_PCIE_SPEED */
	DENY(0x20801812, PERM), /* BUS_SERVICE_GPU_MULTIFUNC_STATE */
	DENY(0x20801814, PERM), /* BUS_CLEAR_PEX_COUNTERS */
	DENY(0x20801815, PERM), /* BUS_FREEZE_PEX_COUNTERS */
	DENY(0x20801818, PERM), /* BUS_SET_PCIE_LTR_LATENCY */
	DENY(0x20801819, NOSUP), /* BUS_GET_PEX_UTIL_COUNTERS: everybody's transfers */
	DENY(0x20801820, PERM), /* BUS_CLEAR_PEX_UTIL_COUNTERS */
	DENY(0x20801824, PERM), /* BUS_CONTROL_PUBLIC_ASPM_BITS */
	DENY(0x20801826, PERM), /* BUS_SET_EOM_PARAMETERS */
	DENY(0x20801832, PERM), /* BUS_SET_C2C_LPWR_STATE_VOTE: power of the whole card (580) */
	DENY(0x20801836, PERM), /* BUS_SET_C2C_LPWR_IDLE_THRESHOLD (595) */
	DENY(0x20801837, NOSUP), /* BUS_GET_C2C_PACKET_COUNTERS: everybody's transfers (595) */
	DENY(0x2080205b, PERM), /* PERF_SET_POWERSTATE */
	DENY(0x20802069, NOSUP), /* PERF_GET_TEGRA_PERFMON_SAMPLE: load of the whole card (580) */
	DENY(0x2080206f, PERM), /* PERF_RATED_TDP_SET_CONTROL */
	DENY(0x20802087, NOSUP), /* PERF_GET_VIDEO_ENGINE_PERFMON_SAMPLE: everybody's (550) */
	DENY(0x20802092, PERM), /* PERF_SET_AUX_POWER_STATE */
	DENY(0x20802093, PERM), /* PERF_RESERVE_PERFMON_HW */
	VIEW(NV2080_CTRL_PERF_GPUMON_UTIL_SAMPLES_V2, GSH_VIEW_GPUMON),
	DENY(0x20802204, NOSUP), /* RC_READ_VIRTUAL_MEM: memory of any channel */
	ABSORB(0x2080220a), /* RC_DISABLE_WATCHDOG: everybody's; a library that asks gets its yes */
	ABSORB(0x2080220b), /* RC_ENABLE_WATCHDOG */
	DENY(0x20802213, NOSUP), /* RC_GET_ERROR_V2: other processes' faults */
	DENY(0x2080270c, PERM), /* GPU_PROCESS_POST_GC6_EXIT_TASKS (550) */
	DENY(0x20803504, NOSUP), /* FLA_GET_FABRIC_MEM_STATS: total and free of the card's fabric memory */
	DENY(0x20803602, NOSUP), /* GSP_GET_RM_HEAP_STATS */
	DENY(0x20803604, NOSUP), /* GSP_GET_LIBOS_HEAP_STATS (570) */
	DENY(0x20803a01, NOSUP), /* DMABUF_EXPORT_OBJECTS_TO_FD */
	DENY(0x20803d02, PERM), /* OS_UNIX_ALLOW_DISALLOW_GCOFF */
	DENY(0x20804102, PERM), /* SET_EC_THROTTLE_MODE (550) */
	/* Undocumented ones the genuine libraries cannot do without (535, 550; observed) */
	ALLOW(0x20808159, 0),
	ALLOW(0x20809001, 0),
	ALLOW(0x20809009, 0),
	ALLOW(0x20809064, 0),
	ALLOW(0x2080a068, 0),
	ALLOW(0x2080a087, 0),
	DENY(NV2080_CTRL_UTILISATION_OBSERVED, NOSUP), /* load of the whole card */
	/* Channels and groups of one's own */
	ALLOW(0x506f0105, SCHED), /* RESET_ISOLATED_CHANNEL */
	ALLOW(0x906f0102, SCHED), /* RESET_CHANNEL */
	ALLOW(NVA06C_CTRL_GPFIFO_SCHEDULE, SCHED),
	ALLOW(NVA06C_CTRL_SET_TIMESLICE, SCHED),
	ALLOW(NVA06C_CTRL_PREEMPT, SCHED),
	ALLOW(0xa06c0107, SCHED), /* SET_INTERLEAVE_LEVEL: the driver asks for the nice right */
	DENY(0xa06c0110, PERM), /* MAKE_REALTIME: ahead of everybody */
	ALLOW(0xa06f0102, SCHED), /* RESET_CHANNEL */
	ALLOW(0xa06f0103, SCHED), /* GPFIFO_SCHEDULE */
	ALLOW(0xa06f0109, SCHED), /* SET_INTERLEAVE_LEVEL */
	ALLOW(0xa06f0111, SCHED), /* RESTART_RUNLIST */
	ALLOW(0xa06f0112, SCHED), /* STOP_CHANNEL */
	ALLOW(0xa16f0102, SCHED), /* RESET_CHANNEL and GPFIFO_SCHEDULE under newer channel classes */
	ALLOW(0xa16f0103, SCHED),
	ALLOW(0xa26f0102, SCHED),
	ALLOW(0xa26f0103, SCHED),
	ALLOW(0xb06f0102, SCHED),
	ALLOW(0xb06f0103, SCHED),
	ALLOW(0xc06f0102, SCHED),
	ALLOW(0xc06f0103, SCHED),
	ALLOW(0xc36f0102, SCHED),
	ALLOW(0xc36f0103, SCHED),
	DENY(0xcb330106, NOSUP), /* CONF_COMPUTE GPU_GET_VIDMEM_SIZE */
};
/* clang-format on */

static const struct control *find_control(u32 cmd)
{
	u32 low = 0, high = GSH_ARRAY_SIZE(controls);

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (controls[middle].cmd == cmd)
			return &controls[middle];
		if (controls[middle].cmd < cmd)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static struct gsh_verdict listed(const struct control *row)
{
	struct gsh_verdict verdict = { .flags = row->flags, .status = row->status };

	switch (row->rule) {
	case RULE_DENY:
		verdict.action = GSH_DENY;
		break;
	case RULE_ABSORB:
		verdict.action = GSH_ABSORB;
		break;
	case RULE_CHECK:
		verdict.action = GSH_LOCAL;
		break;
	case RULE_VIEW:
		verdict.action = GSH_VIEW;
		verdict.view = row->view;
		break;
	default:
		verdict.action = GSH_ALLOW;
		break;
	}
	return verdict;
}

/* Whole interfaces (the command's upper half) whose class is refused or that serve diagnosis. */
static bool interface_is_denied(u32 cmd)
{
	switch (cmd >> 16) {
	case 0x0100: /* holds the driver's locks as a test */
	case 0x208f: /* diagnosis: cache control, PCI configuration writes */
	case 0x2082: /* undocumented */
	case 0x402c: /* I2C */
	case 0x5080: /* controls to be run later */
	case 0xa080: /* vGPU */
	case 0xa081:
	case 0xa082:
	case 0xa083:
	case 0xa084:
		return true;
	default:
		return false;
	}
}

/* Is the command one that a row, or the driver's own tables, knows about? */
static struct gsh_verdict unlisted(u32 cmd)
{
	struct gsh_verdict verdict;

	if (!(cmd & NV_CTRL_LEGACY_NON_PRIVILEGED_BIT))
		return allow(GSH_VERDICT_UNKNOWN);
	verdict = deny(NV_ERR_NOT_SUPPORTED);
	verdict.flags = GSH_VERDICT_UNKNOWN | GSH_VERDICT_LEGACY;
	return verdict;
}

struct gsh_verdict gsh_filter_control(const struct nvabi_version *v, u32 cmd, u32 flags)
{
	const struct control *row;

	if (flags & NVOS54_FLAG_SERIALIZED)
		return deny(NV_ERR_NOT_SUPPORTED);
	if (cmd >> 16 == NV2081_BINAPI) /* undocumented; libraries do without */
		return deny(NV_ERR_NOT_SUPPORTED);
	if (interface_is_denied(cmd))
		return deny(NV_ERR_INSUFFICIENT_PERMISSIONS);
	row = find_control(cmd);
	return row ? listed(row) : unlisted(cmd);
}

/* ---- managed memory ---- */

struct gsh_verdict gsh_filter_uvm(const struct nvabi_version *v, u32 cmd)
{
	struct gsh_verdict absorbed = { .action = GSH_ABSORB };

	switch (cmd) {
	case UVM_TOOLS_READ_PROCESS_MEMORY: /* a debugger's, with pointers */
	case UVM_TOOLS_WRITE_PROCESS_MEMORY:
	case UVM_TOOLS_GET_PROCESSOR_TABLE: /* every card of the machine */
	case UVM_TOOLS_GET_PROCESSOR_TABLE_V2:
	case UVM_CLEAR_ALL_ACCESS_COUNTERS: /* everybody's */
	case UVM_ALLOC_DEVICE_P2P: /* keeps memory alive where no book sees it */
		return deny(NV_ERR_NOT_SUPPORTED);
	case UVM_TOOLS_FLUSH_EVENTS: /* nobody of the tenant's listens */
	case UVM_CLEAN_UP_ZOMBIES: /* everybody's */
		return absorbed;
	case UVM_CREATE_EXTERNAL_RANGE:
	case UVM_MAP_EXTERNAL_ALLOCATION:
	case UVM_UNMAP_EXTERNAL:
	case UVM_FREE:
		return allow(GSH_VERDICT_TRACK);
	default:
		return allow(0);
	}
}

/* ---- memory flags ---- */

/* nvos.h, NVOS32_ALLOC_FLAGS: kernel-only mapping, memory nobody frees, no memory at all. */
#define FLAG_ALLOCATE_KERNEL_PRIVILEGED 0x08000000u

u32 gsh_filter_memory_flags(u32 flags)
{
	return flags & ~(FLAG_ALLOCATE_KERNEL_PRIVILEGED | NVOS32_FLAGS_PERSISTENT_VIDMEM |
			 NVOS32_FLAGS_EXTERNALLY_MANAGED | NVOS32_FLAGS_SKIP_RESOURCE_ALLOC);
}
