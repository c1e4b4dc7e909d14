/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a tenant may ask. Decides from numbers alone; knows no tenant, keeps no
 * state. The list of rules is in filter.c, each with its reason.
 *
 * The rule for what is in no list:
 *   escape    unknown to the driver too: gsh_decode() has refused it already
 *   class     allowed, flagged UNKNOWN; parameters only as far as the caller
 *             states a size (none for 0: the driver then refuses the class)
 *   control   allowed, flagged UNKNOWN; the copied parameters hold no pointer
 *             of the tenant's
 *   control with bit 0x8000 (undocumented, handed to the firmware)
 *             refused 0x56, flagged UNKNOWN and LEGACY: nobody can say whether it
 *             tells a neighbour's size or load. Those the genuine libraries need
 *             are listed
 *   managed-memory command   unknown to the driver too: gsh_uvm_bytes() refuses
 */
#ifndef GSH_CORE_FILTER_H
#define GSH_CORE_FILTER_H

#include "core/types.h"
#include "nvabi/versions.h"

enum gsh_action {
	GSH_ALLOW, /* forward */
	GSH_DENY, /* answer status (or err) without the driver */
	GSH_ABSORB, /* answer status 0 without the driver; the params stay as they came */
	GSH_VIEW, /* forward on the copy, rewrite the answer (views.h), copy out once */
	GSH_LOCAL, /* forward only after a check of its contents (flag CHECK_*), else DENY's status */
};

/* Which rewriting or check. At most one of each a verdict. */
enum gsh_view_kind {
	GSH_VIEW_NONE,
	GSH_VIEW_FB_INFO, /* 0x20801301: pairs behind a pointer */
	GSH_VIEW_FB_INFO_V2, /* 0x20801303 */
	GSH_VIEW_FB_REGIONS, /* 0x20801320 */
	GSH_VIEW_PIDS, /* 0x2080018d */
	GSH_VIEW_PID_INFO, /* 0x2080018e: request and reply */
	GSH_VIEW_GPUMON, /* 0x20802096 */
	GSH_VIEW_PROBED_IDS, /* 0x214 */
	GSH_VIEW_ATTACHED_IDS, /* 0x201 */
	GSH_VIEW_CARD_INFO, /* escape 200 */
	GSH_VIEW_VIDHEAP, /* escape 0x4a: total and free of every reply, INFO's fields */
	GSH_VIEW_HEAP_LIMIT, /* escape 0x27 class 0x40 */
};

/* What else the caller has to do; checks compare with what the tenant has. */
#define GSH_VERDICT_UNKNOWN        0x01u /* met by the rule for unknown numbers: count, show */
#define GSH_VERDICT_LEGACY         0x02u /* bit 0x8000 */
#define GSH_VERDICT_TRACK          0x04u /* changes what keeps memory alive */
#define GSH_VERDICT_CHECK_CHANNELS 0x08u /* names (client, channel) pairs */
#define GSH_VERDICT_CHECK_GPU_ID   0x10u /* names cards by id */
#define GSH_VERDICT_CHECK_CLIENT   0x20u /* names other clients, see below */
#define GSH_VERDICT_SCHEDULING     0x40u /* changes scheduling: compute limits look at it */

/*
 * CHECK_CLIENT, after gsh_decode_alloc_params(): h_other_client, h_client_share and h_target_client
 * are each 0, the calling client or another client of the same tenant.
 */

struct gsh_verdict {
	u8 action; /* enum gsh_action */
	u8 view; /* enum gsh_view_kind */
	u16 flags; /* GSH_VERDICT_* */
	u32 status; /* NV status to write when action is DENY (0 when err is used) */
	s32 err; /* DENY without a status field to write: the ioctl's value, negative errno */
};

/* By escape number, after gsh_decode(). RM_ALLOC, RM_CONTROL: the next two decide. */
struct gsh_verdict gsh_filter_escape(const struct nvabi_version *v, u32 nr);

/* RM_ALLOC, RM_ALLOC_OBJECT, RM_ALLOC_MEMORY, RM_ALLOC_CONTEXT_DMA2 by class. */
struct gsh_verdict gsh_filter_class(const struct nvabi_version *v, u32 class_id);

/*
 * RM_CONTROL by command and NVOS54 flags. Serialised parameters (flag 0x4) would carry
 * pointers and replies in a form nobody here reads: refused 0x56.
 */
struct gsh_verdict gsh_filter_control(const struct nvabi_version *v, u32 cmd, u32 flags);

struct gsh_verdict gsh_filter_uvm(const struct nvabi_version *v, u32 cmd);

/*
 * Memory flags an ordinary caller may ask for, since the call may be made with
 * the kernel's rights: returns flags without those the driver grants to the kernel only.
 */
u32 gsh_filter_memory_flags(u32 flags);

#endif /* GSH_CORE_FILTER_H */
