/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Made by generate.py from gpushare.yaml: change that, not this. */
/* clang-format off */
#ifndef _UAPI_GPUSHARE_H
#define _UAPI_GPUSHARE_H

#define GPUSHARE_FAMILY_NAME "gpushare"
#define GPUSHARE_FAMILY_VERSION 1
#define GPUSHARE_MCGRP_EVENTS "events"

/* Version of this interface, reported by info-get */
#define GPUSHARE_ABI_VERSION 1
/* Longest tenant name in bytes, [a-z0-9][a-z0-9._-]* */
#define GPUSHARE_NAME_MAX 63
#define GPUSHARE_UUID_LEN 36 /* Length of a tenant's UUID in text form */
/* Longest card UUID in text form, "GPU-" and 36 characters */
#define GPUSHARE_CARD_UUID_MAX 40
#define GPUSHARE_SHARES_MAX 32 /* Most shares (cards) of one tenant */
#define GPUSHARE_TENANTS_MAX 1024 /* Most tenants that can be defined */
#define GPUSHARE_PERMILLE_MAX 1000 /* The whole compute time of a card */
#define GPUSHARE_WEIGHT_MAX 10000
#define GPUSHARE_WEIGHT_DEFAULT 100
/* Highest priority; a higher number goes first, 0 is the default */
#define GPUSHARE_PRIORITY_MAX 7
/* Permission bits that a node may have (octal 0666) */
#define GPUSHARE_MODE_MASK 0666
/* Permission bits of a tenant's nodes when none are given (octal 0660) */
#define GPUSHARE_MODE_DEFAULT 0660

/* Preset of a share's compute */
enum gpushare_policy {
	GPUSHARE_POLICY_FIXED, /* min equals max */
	GPUSHARE_POLICY_BURST, /* min is guaranteed, max is what is free */
	GPUSHARE_POLICY_BEST_EFFORT, /* min is 0 */

	__GPUSHARE_POLICY_MAX,
	GPUSHARE_POLICY_MAX = (__GPUSHARE_POLICY_MAX - 1)
};

/* Which of the driver's nodes a virtual node stands for */
enum gpushare_node_kind {
	GPUSHARE_NODE_KIND_CTL,
	GPUSHARE_NODE_KIND_GPU,
	GPUSHARE_NODE_KIND_UVM,

	__GPUSHARE_NODE_KIND_MAX,
	GPUSHARE_NODE_KIND_MAX = (__GPUSHARE_NODE_KIND_MAX - 1)
};

/* What happened */
enum gpushare_event_type {
	GPUSHARE_EVENT_TYPE_TENANT_NEW,
	GPUSHARE_EVENT_TYPE_TENANT_DEL,
	GPUSHARE_EVENT_TYPE_TENANT_CHANGED,
	/* an allocation would have passed the quota */
	GPUSHARE_EVENT_TYPE_QUOTA_REFUSED,
	/* an open from outside the bound cgroup */
	GPUSHARE_EVENT_TYPE_OPEN_DENIED,
	/* a class or command on the deny list, or unknown */
	GPUSHARE_EVENT_TYPE_CALL_DENIED,
	/* the charge is above the quota and could not be held back */
	GPUSHARE_EVENT_TYPE_OVER_QUOTA,
	/* NVIDIA's driver is leaving or lost the card */
	GPUSHARE_EVENT_TYPE_DRIVER_GONE,

	__GPUSHARE_EVENT_TYPE_MAX,
	GPUSHARE_EVENT_TYPE_MAX = (__GPUSHARE_EVENT_TYPE_MAX - 1)
};

enum {
	GPUSHARE_A_INFO_ABI_VERSION = 1, /* u32 */
	GPUSHARE_A_INFO_MODULE_VERSION, /* string */
	/*
	 * string: Version of the driver that was found; absent when there is
	 * none
	 */
	GPUSHARE_A_INFO_DRIVER_VERSION,
	/* u8: 1 if tenants can be created with this driver */
	GPUSHARE_A_INFO_DRIVER_SUPPORTED,
	/* string, repeated: Driver versions this module knows */
	GPUSHARE_A_INFO_SUPPORTED_VERSIONS,
	/* u8: 1 if tenants can be bound to a cgroup (cgroup v2) */
	GPUSHARE_A_INFO_CGROUP_GATE,
	/* string: open, proprietary or nvsim; absent when there is no driver */
	GPUSHARE_A_INFO_DRIVER_FLAVOUR,

	__GPUSHARE_A_INFO_MAX,
	GPUSHARE_A_INFO_MAX = (__GPUSHARE_A_INFO_MAX - 1)
};

enum {
	GPUSHARE_A_CARD_UUID = 1, /* string: The card's name, "GPU-..." */
	GPUSHARE_A_CARD_MINOR, /* u32: N of /dev/nvidiaN */
	GPUSHARE_A_CARD_GPU_ID, /* u32: The driver's number for the card */
	GPUSHARE_A_CARD_PCI, /* string: PCI address, "0000:01:00.0" */
	GPUSHARE_A_CARD_NAME, /* string: Model name */
	GPUSHARE_A_CARD_TOTAL_BYTES, /* u64 */
	GPUSHARE_A_CARD_RESERVED_BYTES, /* u64: Kept by the driver for itself */
	GPUSHARE_A_CARD_GRANTABLE_BYTES, /* u64: What quotas may sum up to */
	GPUSHARE_A_CARD_GRANTED_BYTES, /* u64: Sum of the quotas on the card */
	GPUSHARE_A_CARD_FREE_BYTES, /* u64: The card's free memory now */
	GPUSHARE_A_CARD_CHARGED_BYTES, /* u64: Charged to all tenants now */
	GPUSHARE_A_CARD_OUTSIDE_BYTES, /* u64: In use outside any tenant */
	/* s64: What the audit can explain by nothing else; may be negative */
	GPUSHARE_A_CARD_RESIDUE_BYTES,
	GPUSHARE_A_CARD_SHARES, /* u32: Number of shares on the card */
	GPUSHARE_A_CARD_STATE, /* string: ok, degraded or gone */
	/* string: Why the state is not ok; absent when it is */
	GPUSHARE_A_CARD_REASON,
	GPUSHARE_A_CARD_PAD, /* pad */

	__GPUSHARE_A_CARD_MAX,
	GPUSHARE_A_CARD_MAX = (__GPUSHARE_A_CARD_MAX - 1)
};

enum {
	GPUSHARE_A_SHARE_CARD_UUID = 1, /* string: Which card */
	/* u64: The memory of the share; zero is refused */
	GPUSHARE_A_SHARE_QUOTA_BYTES,
	/* u32: Guaranteed part of the card's time */
	GPUSHARE_A_SHARE_COMPUTE_MIN_PERMILLE,
	/* u32: Most that the share may get */
	GPUSHARE_A_SHARE_COMPUTE_MAX_PERMILLE,
	/* u32: Part in leftover time within a priority level */
	GPUSHARE_A_SHARE_WEIGHT,
	GPUSHARE_A_SHARE_PRIORITY, /* u32: Higher goes first */
	GPUSHARE_A_SHARE_POLICY, /* policy */
	GPUSHARE_A_SHARE_CARD_MINOR, /* u32: N of /dev/nvidiaN */
	/* u64: Counted against the quota now; the sum of the next four */
	GPUSHARE_A_SHARE_CHARGED_BYTES,
	GPUSHARE_A_SHARE_OBJECT_BYTES, /* u64: Of it, memory objects */
	GPUSHARE_A_SHARE_MANAGED_BYTES, /* u64: Of it, managed memory */
	/* u64: Of it, what the driver took for contexts by itself */
	GPUSHARE_A_SHARE_OVERHEAD_BYTES,
	/*
	 * u64: Of it, kept alive by an export or external mapping, or not yet
	 * released by the driver
	 */
	GPUSHARE_A_SHARE_LINGERING_BYTES,
	GPUSHARE_A_SHARE_FREE_BYTES, /* u64: What the tenant is told is free */
	GPUSHARE_A_SHARE_PEAK_BYTES, /* u64: Highest charge so far */
	GPUSHARE_A_SHARE_REFUSALS, /* u64: Allocations refused for this quota */
	/* u8: 1 while the charge is above the quota */
	GPUSHARE_A_SHARE_OVER_QUOTA,
	GPUSHARE_A_SHARE_PAD, /* pad */

	__GPUSHARE_A_SHARE_MAX,
	GPUSHARE_A_SHARE_MAX = (__GPUSHARE_A_SHARE_MAX - 1)
};

enum {
	/* string: Path on the host, "/dev/gpushare/..." */
	GPUSHARE_A_NODE_PATH = 1,
	GPUSHARE_A_NODE_MAJOR, /* u32 */
	GPUSHARE_A_NODE_MINOR, /* u32 */
	GPUSHARE_A_NODE_KIND, /* node-kind */

	__GPUSHARE_A_NODE_MAX,
	GPUSHARE_A_NODE_MAX = (__GPUSHARE_A_NODE_MAX - 1)
};

enum {
	GPUSHARE_A_TENANT_NAME = 1, /* string */
	/* string: Text form, lower case, 36 characters */
	GPUSHARE_A_TENANT_UUID,
	GPUSHARE_A_TENANT_OWNER_UID, /* u32: Owner of the nodes */
	GPUSHARE_A_TENANT_OWNER_GID, /* u32 */
	GPUSHARE_A_TENANT_MODE, /* u32: Permission bits of the nodes */
	/* u64: cgroup v2 to which the tenant is bound; absent when unbound */
	GPUSHARE_A_TENANT_CGROUP_ID,
	GPUSHARE_A_TENANT_UNBIND, /* flag: Take the binding away */
	GPUSHARE_A_TENANT_FORCE, /* flag: Delete although files are open */
	GPUSHARE_A_TENANT_STATE, /* string: ok, over-quota or dying */
	GPUSHARE_A_TENANT_OPEN_FILES, /* u32 */
	GPUSHARE_A_TENANT_SHARE, /* share, repeated */
	GPUSHARE_A_TENANT_NODE, /* node, repeated */
	GPUSHARE_A_TENANT_PAD, /* pad */

	__GPUSHARE_A_TENANT_MAX,
	GPUSHARE_A_TENANT_MAX = (__GPUSHARE_A_TENANT_MAX - 1)
};

enum {
	/* string: Name of the tenant; in a request, show only this one */
	GPUSHARE_A_CLIENT_TENANT = 1,
	/* u32: Process that opened, in the initial pid namespace */
	GPUSHARE_A_CLIENT_PID,
	GPUSHARE_A_CLIENT_TGID, /* u32 */
	GPUSHARE_A_CLIENT_COMM, /* string */
	GPUSHARE_A_CLIENT_KIND, /* node-kind */
	GPUSHARE_A_CLIENT_FILES, /* u32: Open files of the process */
	GPUSHARE_A_CLIENT_CLIENTS, /* u32: The driver's clients behind them */
	GPUSHARE_A_CLIENT_OBJECTS, /* u32: Charged objects behind them */
	GPUSHARE_A_CLIENT_BYTES, /* u64: Charged for them */
	/* string: Card the figures are about; absent for what has no card */
	GPUSHARE_A_CLIENT_CARD_UUID,
	GPUSHARE_A_CLIENT_PAD, /* pad */

	__GPUSHARE_A_CLIENT_MAX,
	GPUSHARE_A_CLIENT_MAX = (__GPUSHARE_A_CLIENT_MAX - 1)
};

enum {
	GPUSHARE_A_STATS_NAME = 1, /* string: Name of the tenant */
	GPUSHARE_A_STATS_IOCTLS, /* u64 */
	GPUSHARE_A_STATS_FORWARDED, /* u64 */
	GPUSHARE_A_STATS_REFUSED_QUOTA, /* u64 */
	GPUSHARE_A_STATS_REFUSED_DENIED, /* u64: Refused by the deny list */
	/* u64: Refused because the driver version's table has no entry */
	GPUSHARE_A_STATS_REFUSED_UNKNOWN,
	GPUSHARE_A_STATS_OPEN_DENIED, /* u64 */
	GPUSHARE_A_STATS_PAD, /* pad */

	__GPUSHARE_A_STATS_MAX,
	GPUSHARE_A_STATS_MAX = (__GPUSHARE_A_STATS_MAX - 1)
};

enum {
	GPUSHARE_A_EVENT_TYPE = 1, /* event-type */
	/* string: Name of the tenant; absent when it is about none */
	GPUSHARE_A_EVENT_TENANT,
	GPUSHARE_A_EVENT_CARD_UUID, /* string */
	GPUSHARE_A_EVENT_PID, /* u32: In the initial pid namespace */
	/* u64: Size asked for, or the amount over the quota */
	GPUSHARE_A_EVENT_BYTES,
	GPUSHARE_A_EVENT_DETAIL, /* string: For people */
	GPUSHARE_A_EVENT_TIME_NS, /* u64: CLOCK_BOOTTIME */
	GPUSHARE_A_EVENT_PAD, /* pad */

	__GPUSHARE_A_EVENT_MAX,
	GPUSHARE_A_EVENT_MAX = (__GPUSHARE_A_EVENT_MAX - 1)
};

enum {
	GPUSHARE_CMD_INFO_GET = 1, /* Module, driver and what they can do */
	/* The cards and what is granted and used of them */
	GPUSHARE_CMD_CARD_GET,
	/*
	 * Make a tenant with at least one share and its nodes; all or nothing
	 */
	GPUSHARE_CMD_TENANT_NEW,
	/*
	 * Change what is given of a tenant; cgroup-id binds, unbind takes the
	 * binding away, both together are refused
	 */
	GPUSHARE_CMD_TENANT_SET,
	/* Delete a tenant; EBUSY while files are open unless forced */
	GPUSHARE_CMD_TENANT_DEL,
	GPUSHARE_CMD_TENANT_GET, /* One tenant, or all */
	/*
	 * Change what is given of one share; the nest names its card. A quota
	 * below the charge is accepted and refuses new allocations
	 */
	GPUSHARE_CMD_SHARE_SET,
	/* Processes with open files, by tenant, node kind and card */
	GPUSHARE_CMD_CLIENT_GET,
	GPUSHARE_CMD_STATS_GET, /* Counters by tenant */
	/* Sent to the group events with sequence number 0 */
	GPUSHARE_CMD_EVENT,

	__GPUSHARE_CMD_MAX,
	GPUSHARE_CMD_MAX = (__GPUSHARE_CMD_MAX - 1)
};

#endif /* _UAPI_GPUSHARE_H */
