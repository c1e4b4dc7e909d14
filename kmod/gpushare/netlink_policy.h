/* SPDX-License-Identifier: GPL-2.0-only */
/* Made by kmod/uapi/generate.py from gpushare.yaml: change that, not this. */
/*
 * One table for each nest that requests carry and for each operation with
 * attributes; an operation without a table takes none. maxattr is
 * ARRAY_SIZE(table) - 1.
 */
/* clang-format off */
#ifndef GPUSHARE_NETLINK_POLICY_H
#define GPUSHARE_NETLINK_POLICY_H

#include <net/netlink.h>

#include "../uapi/gpushare.h"

static const struct nla_policy gpushare_share_nl_policy[GPUSHARE_A_SHARE_POLICY + 1] = {
	[GPUSHARE_A_SHARE_CARD_UUID] = { .type = NLA_NUL_STRING, .len = GPUSHARE_CARD_UUID_MAX },
	[GPUSHARE_A_SHARE_QUOTA_BYTES] = NLA_POLICY_MIN(NLA_U64, 1),
	[GPUSHARE_A_SHARE_COMPUTE_MIN_PERMILLE] = NLA_POLICY_MAX(NLA_U32, GPUSHARE_PERMILLE_MAX),
	[GPUSHARE_A_SHARE_COMPUTE_MAX_PERMILLE] = NLA_POLICY_RANGE(NLA_U32, 1, GPUSHARE_PERMILLE_MAX),
	[GPUSHARE_A_SHARE_WEIGHT] = NLA_POLICY_RANGE(NLA_U32, 1, GPUSHARE_WEIGHT_MAX),
	[GPUSHARE_A_SHARE_PRIORITY] = NLA_POLICY_MAX(NLA_U32, GPUSHARE_PRIORITY_MAX),
	[GPUSHARE_A_SHARE_POLICY] = NLA_POLICY_MAX(NLA_U32, GPUSHARE_POLICY_MAX),
};

/* GPUSHARE_CMD_TENANT_NEW */
static const struct nla_policy gpushare_tenant_new_nl_policy[GPUSHARE_A_TENANT_SHARE + 1] = {
	[GPUSHARE_A_TENANT_NAME] = { .type = NLA_NUL_STRING, .len = GPUSHARE_NAME_MAX },
	[GPUSHARE_A_TENANT_UUID] = { .type = NLA_NUL_STRING, .len = GPUSHARE_UUID_LEN },
	[GPUSHARE_A_TENANT_OWNER_UID] = { .type = NLA_U32 },
	[GPUSHARE_A_TENANT_OWNER_GID] = { .type = NLA_U32 },
	[GPUSHARE_A_TENANT_MODE] = NLA_POLICY_MASK(NLA_U32, GPUSHARE_MODE_MASK),
	[GPUSHARE_A_TENANT_SHARE] = NLA_POLICY_NESTED(gpushare_share_nl_policy),
};

/* GPUSHARE_CMD_TENANT_SET */
static const struct nla_policy gpushare_tenant_set_nl_policy[GPUSHARE_A_TENANT_UNBIND + 1] = {
	[GPUSHARE_A_TENANT_NAME] = { .type = NLA_NUL_STRING, .len = GPUSHARE_NAME_MAX },
	[GPUSHARE_A_TENANT_OWNER_UID] = { .type = NLA_U32 },
	[GPUSHARE_A_TENANT_OWNER_GID] = { .type = NLA_U32 },
	[GPUSHARE_A_TENANT_MODE] = NLA_POLICY_MASK(NLA_U32, GPUSHARE_MODE_MASK),
	[GPUSHARE_A_TENANT_CGROUP_ID] = NLA_POLICY_MIN(NLA_U64, 1),
	[GPUSHARE_A_TENANT_UNBIND] = { .type = NLA_FLAG },
};

/* GPUSHARE_CMD_TENANT_DEL */
static const struct nla_policy gpushare_tenant_del_nl_policy[GPUSHARE_A_TENANT_FORCE + 1] = {
	[GPUSHARE_A_TENANT_NAME] = { .type = NLA_NUL_STRING, .len = GPUSHARE_NAME_MAX },
	[GPUSHARE_A_TENANT_FORCE] = { .type = NLA_FLAG },
};

/* GPUSHARE_CMD_TENANT_GET */
static const struct nla_policy gpushare_tenant_get_nl_policy[GPUSHARE_A_TENANT_NAME + 1] = {
	[GPUSHARE_A_TENANT_NAME] = { .type = NLA_NUL_STRING, .len = GPUSHARE_NAME_MAX },
};

/* GPUSHARE_CMD_SHARE_SET */
static const struct nla_policy gpushare_share_set_nl_policy[GPUSHARE_A_TENANT_SHARE + 1] = {
	[GPUSHARE_A_TENANT_NAME] = { .type = NLA_NUL_STRING, .len = GPUSHARE_NAME_MAX },
	[GPUSHARE_A_TENANT_SHARE] = NLA_POLICY_NESTED(gpushare_share_nl_policy),
};

/* GPUSHARE_CMD_CLIENT_GET */
static const struct nla_policy gpushare_client_get_nl_policy[GPUSHARE_A_CLIENT_TENANT + 1] = {
	[GPUSHARE_A_CLIENT_TENANT] = { .type = NLA_NUL_STRING, .len = GPUSHARE_NAME_MAX },
};

#endif /* GPUSHARE_NETLINK_POLICY_H */
