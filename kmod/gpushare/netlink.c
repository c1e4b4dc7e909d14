// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family of uapi/gpushare.yaml. Initial network namespace
 * only, CAP_NET_ADMIN in the initial user namespace, never from inside a bound
 * tenant's cgroup. Every refusal carries a text.
 */
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/genetlink.h>
#include <net/netlink.h>

#include "compat.h"
#include "gpushare.h"
#include "netlink_policy.h"

static struct genl_family family;
static bool registered;

/* ---- small helpers ---- */

static int put_u64(struct sk_buff *skb, int attr, u64 value, int pad)
{
	return nla_put_u64_64bit(skb, attr, value, pad);
}

/* The text is copied out after the operation returns, and older kernels keep
 * only a pointer: so it lies in a ring that comes round after many refusals. */
#define REFUSALS      64
#define REFUSAL_BYTES 192

void gsh_refuse(struct netlink_ext_ack *extack, const char *format, ...)
{
	static char texts[REFUSALS][REFUSAL_BYTES];
	static atomic_t next;
	char *text = texts[(u32)atomic_inc_return(&next) % REFUSALS];
	va_list args;

	if (!extack)
		return;
	va_start(args, format);
	vscnprintf(text, REFUSAL_BYTES, format, args);
	va_end(args);
	extack->_msg = text;
}

static const char *string_of(struct nlattr *attr)
{
	return attr ? nla_data(attr) : NULL;
}

/* gsh_tenants_lock held. */
static struct gsh_tenant *named_tenant(struct genl_info *info)
{
	const char *name = string_of(info->attrs[GPUSHARE_A_TENANT_NAME]);
	struct gsh_tenant *tenant;

	if (!name) {
		NL_SET_ERR_MSG(info->extack, "name must be given");
		return ERR_PTR(-EINVAL);
	}
	tenant = gsh_tenant_find(name);
	if (!tenant) {
		NL_SET_ERR_MSG(info->extack, "no such tenant");
		return ERR_PTR(-ENOENT);
	}
	return tenant;
}

/* ---- shares ---- */

static void default_share(struct gsh_share_spec *spec)
{
	*spec = (struct gsh_share_spec){
		.compute_max_permille = GPUSHARE_PERMILLE_MAX,
		.weight = GPUSHARE_WEIGHT_DEFAULT,
		.policy = GPUSHARE_POLICY_BEST_EFFORT,
	};
}

static void read_u32(struct nlattr *attr, u32 *value)
{
	if (attr)
		*value = nla_get_u32(attr);
}

static int parse_share(struct nlattr *nest, struct gsh_share_spec *spec, struct nlattr **tb,
		       struct netlink_ext_ack *extack)
{
	int err = nla_parse_nested(tb, ARRAY_SIZE(gpushare_share_nl_policy) - 1, nest,
				   gpushare_share_nl_policy, extack);

	if (err)
		return err;
	if (!tb[GPUSHARE_A_SHARE_CARD_UUID]) {
		NL_SET_ERR_MSG(extack, "card-uuid must be given");
		return -EINVAL;
	}
	spec->card = gsh_card_by_uuid(nla_data(tb[GPUSHARE_A_SHARE_CARD_UUID]));
	if (!spec->card) {
		NL_SET_ERR_MSG(extack, "no such card");
		return -ENODEV;
	}
	if (tb[GPUSHARE_A_SHARE_QUOTA_BYTES])
		spec->quota_bytes = nla_get_u64(tb[GPUSHARE_A_SHARE_QUOTA_BYTES]);
	read_u32(tb[GPUSHARE_A_SHARE_COMPUTE_MIN_PERMILLE], &spec->compute_min_permille);
	read_u32(tb[GPUSHARE_A_SHARE_COMPUTE_MAX_PERMILLE], &spec->compute_max_permille);
	read_u32(tb[GPUSHARE_A_SHARE_WEIGHT], &spec->weight);
	read_u32(tb[GPUSHARE_A_SHARE_PRIORITY], &spec->priority);
	read_u32(tb[GPUSHARE_A_SHARE_POLICY], &spec->policy);
	if (spec->compute_min_permille > spec->compute_max_permille) {
		NL_SET_ERR_MSG(extack, "compute-min-permille is above compute-max-permille");
		return -EINVAL;
	}
	return 0;
}

static int put_share(struct sk_buff *skb, struct gsh_share *share)
{
	struct gsh_account account = gsh_share_account(share);
	struct nlattr *nest = nla_nest_start(skb, GPUSHARE_A_TENANT_SHARE);
	const int pad = GPUSHARE_A_SHARE_PAD;
	u64 card_free = U64_MAX;

	if (!nest)
		return -EMSGSIZE;
	gsh_card_free_bytes(share->card, &card_free);
	if (nla_put_string(skb, GPUSHARE_A_SHARE_CARD_UUID, share->card->uuid) ||
	    nla_put_u32(skb, GPUSHARE_A_SHARE_CARD_MINOR, share->card->minor) ||
	    put_u64(skb, GPUSHARE_A_SHARE_QUOTA_BYTES, account.quota_bytes, pad) ||
	    put_u64(skb, GPUSHARE_A_SHARE_CHARGED_BYTES, account.charged_bytes, pad) ||
	    put_u64(skb, GPUSHARE_A_SHARE_OBJECT_BYTES, account.by_kind_bytes[GSH_CHARGE_OBJECT],
		    pad) ||
	    put_u64(skb, GPUSHARE_A_SHARE_MANAGED_BYTES, account.by_kind_bytes[GSH_CHARGE_MANAGED],
		    pad) ||
	    put_u64(skb, GPUSHARE_A_SHARE_OVERHEAD_BYTES,
		    account.by_kind_bytes[GSH_CHARGE_OVERHEAD], pad) ||
	    put_u64(skb, GPUSHARE_A_SHARE_LINGERING_BYTES,
		    account.by_kind_bytes[GSH_CHARGE_LINGERING], pad) ||
	    put_u64(skb, GPUSHARE_A_SHARE_FREE_BYTES, gsh_account_free_bytes(&account, card_free),
		    pad) ||
	    put_u64(skb, GPUSHARE_A_SHARE_PEAK_BYTES, account.peak_bytes, pad) ||
	    put_u64(skb, GPUSHARE_A_SHARE_REFUSALS, account.refusals, pad) ||
	    nla_put_u8(skb, GPUSHARE_A_SHARE_OVER_QUOTA, gsh_account_over(&account)) ||
	    nla_put_u32(skb, GPUSHARE_A_SHARE_COMPUTE_MIN_PERMILLE, share->compute_min_permille) ||
	    nla_put_u32(skb, GPUSHARE_A_SHARE_COMPUTE_MAX_PERMILLE, share->compute_max_permille) ||
	    nla_put_u32(skb, GPUSHARE_A_SHARE_WEIGHT, share->weight) ||
	    nla_put_u32(skb, GPUSHARE_A_SHARE_PRIORITY, share->priority) ||
	    nla_put_u32(skb, GPUSHARE_A_SHARE_POLICY, share->policy))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* ---- tenants ---- */

static int put_node(struct sk_buff *skb, struct gsh_vnode *node)
{
	struct nlattr *nest = nla_nest_start(skb, GPUSHARE_A_TENANT_NODE);
	char path[GPUSHARE_NAME_MAX + 48];

	if (!nest)
		return -EMSGSIZE;
	gsh_node_path(node, path, sizeof(path));
	if (nla_put_string(skb, GPUSHARE_A_NODE_PATH, path) ||
	    nla_put_u32(skb, GPUSHARE_A_NODE_MAJOR, MAJOR(node->devt)) ||
	    nla_put_u32(skb, GPUSHARE_A_NODE_MINOR, MINOR(node->devt)) ||
	    nla_put_u32(skb, GPUSHARE_A_NODE_KIND, node->kind))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static const char *tenant_state(struct gsh_tenant *tenant)
{
	unsigned int i;

	if (tenant->dying)
		return "dying";
	for (i = 0; i < tenant->nshares; i++) {
		struct gsh_account account = gsh_share_account(&tenant->shares[i]);

		if (gsh_account_over(&account))
			return "over-quota";
	}
	return "ok";
}

static int put_tenant(struct sk_buff *skb, struct gsh_tenant *tenant)
{
	u64 cgroup = gsh_tenant_cgroup_id(tenant);
	unsigned int i;

	if (nla_put_string(skb, GPUSHARE_A_TENANT_NAME, tenant->name) ||
	    nla_put_string(skb, GPUSHARE_A_TENANT_UUID, tenant->uuid) ||
	    nla_put_u32(skb, GPUSHARE_A_TENANT_OWNER_UID,
			from_kuid_munged(&init_user_ns, tenant->uid)) ||
	    nla_put_u32(skb, GPUSHARE_A_TENANT_OWNER_GID,
			from_kgid_munged(&init_user_ns, tenant->gid)) ||
	    nla_put_u32(skb, GPUSHARE_A_TENANT_MODE, tenant->mode) ||
	    nla_put_string(skb, GPUSHARE_A_TENANT_STATE, tenant_state(tenant)) ||
	    nla_put_u32(skb, GPUSHARE_A_TENANT_OPEN_FILES, atomic_read(&tenant->open_files)))
		return -EMSGSIZE;
	if (cgroup && put_u64(skb, GPUSHARE_A_TENANT_CGROUP_ID, cgroup, GPUSHARE_A_TENANT_PAD))
		return -EMSGSIZE;
	for (i = 0; i < tenant->nshares; i++)
		if (put_share(skb, &tenant->shares[i]))
			return -EMSGSIZE;
	for (i = 0; i < tenant->nnodes; i++)
		if (put_node(skb, &tenant->nodes[i]))
			return -EMSGSIZE;
	return 0;
}

static int reply_tenant(struct genl_info *info, struct gsh_tenant *tenant)
{
	/* A tenant may have a share on each of 32 cards. */
	struct sk_buff *skb = genlmsg_new(1024 + tenant->nshares * 640, GFP_KERNEL);
	void *head;

	if (!skb)
		return -ENOMEM;
	head = genlmsg_put_reply(skb, info, &family, 0, info->genlhdr->cmd);
	if (!head || put_tenant(skb, tenant)) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, head);
	return genlmsg_reply(skb, info);
}

/* A UUID that a request brings: 36 characters, hexadecimal, dashes in place. */
static bool uuid_valid(const char *uuid)
{
	return strlen(uuid) == GPUSHARE_UUID_LEN && uuid_is_valid(uuid);
}

static int collect_shares(struct genl_info *info, struct gsh_share_spec *shares, unsigned int *n)
{
	struct nlattr *tb[ARRAY_SIZE(gpushare_share_nl_policy)], *attr;
	int rem, err;

	*n = 0;
	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem)
	{
		if (nla_type(attr) != GPUSHARE_A_TENANT_SHARE)
			continue;
		if (*n == GPUSHARE_SHARES_MAX) {
			NL_SET_ERR_MSG(info->extack, "too many shares");
			return -E2BIG;
		}
		default_share(&shares[*n]);
		err = parse_share(attr, &shares[*n], tb, info->extack);
		if (err)
			return err;
		if (!tb[GPUSHARE_A_SHARE_QUOTA_BYTES]) {
			NL_SET_ERR_MSG(info->extack,
				       "quota-bytes must be given: there is no default");
			return -EINVAL;
		}
		(*n)++;
	}
	if (!*n) {
		NL_SET_ERR_MSG(info->extack, "a tenant needs at least one share");
		return -EINVAL;
	}
	return 0;
}

static int fill_spec(struct genl_info *info, struct gsh_tenant_spec *spec)
{
	struct nlattr **a = info->attrs;

	spec->name = string_of(a[GPUSHARE_A_TENANT_NAME]);
	spec->uuid = string_of(a[GPUSHARE_A_TENANT_UUID]);
	if (!spec->name) {
		NL_SET_ERR_MSG(info->extack, "name must be given");
		return -EINVAL;
	}
	if (spec->uuid && !uuid_valid(spec->uuid)) {
		NL_SET_ERR_MSG(info->extack, "uuid must be in text form, 36 characters");
		return -EINVAL;
	}
	spec->uid = make_kuid(&init_user_ns, a[GPUSHARE_A_TENANT_OWNER_UID] ?
						     nla_get_u32(a[GPUSHARE_A_TENANT_OWNER_UID]) :
						     0);
	spec->gid = make_kgid(&init_user_ns, a[GPUSHARE_A_TENANT_OWNER_GID] ?
						     nla_get_u32(a[GPUSHARE_A_TENANT_OWNER_GID]) :
						     0);
	if (!uid_valid(spec->uid) || !gid_valid(spec->gid)) {
		NL_SET_ERR_MSG(info->extack, "owner-uid or owner-gid is out of range");
		return -EINVAL;
	}
	spec->mode = a[GPUSHARE_A_TENANT_MODE] ? nla_get_u32(a[GPUSHARE_A_TENANT_MODE]) :
						 GPUSHARE_MODE_DEFAULT;
	return 0;
}

static int do_tenant_new(struct sk_buff *skb, struct genl_info *info)
{
	struct gsh_tenant_spec spec = {};
	struct gsh_tenant *tenant;
	int err;

	spec.shares = kcalloc(GPUSHARE_SHARES_MAX, sizeof(*spec.shares), GFP_KERNEL);
	if (!spec.shares)
		return -ENOMEM;
	/* Without a supported driver there are no cards to find: say that first. */
	mutex_lock(&gsh_tenants_lock);
	err = fill_spec(info, &spec);
	if (!err && gsh_version)
		err = collect_shares(info, spec.shares, &spec.nshares);
	if (!err)
		err = gsh_tenant_create(&spec, &tenant, info->extack);
	if (!err) {
		err = reply_tenant(info, tenant);
		if (err) /* all or nothing, as far as the caller can tell */
			gsh_tenant_delete(tenant, true, NULL);
	}
	mutex_unlock(&gsh_tenants_lock);
	kfree(spec.shares);
	return err;
}

static int set_owner(struct gsh_tenant *tenant, struct genl_info *info)
{
	struct nlattr **a = info->attrs;
	kuid_t uid = tenant->uid;
	kgid_t gid = tenant->gid;

	if (a[GPUSHARE_A_TENANT_OWNER_UID])
		uid = make_kuid(&init_user_ns, nla_get_u32(a[GPUSHARE_A_TENANT_OWNER_UID]));
	if (a[GPUSHARE_A_TENANT_OWNER_GID])
		gid = make_kgid(&init_user_ns, nla_get_u32(a[GPUSHARE_A_TENANT_OWNER_GID]));
	if (!uid_valid(uid) || !gid_valid(gid)) {
		NL_SET_ERR_MSG(info->extack, "owner-uid or owner-gid is out of range");
		return -EINVAL;
	}
	tenant->uid = uid;
	tenant->gid = gid;
	if (a[GPUSHARE_A_TENANT_MODE])
		WRITE_ONCE(tenant->mode, nla_get_u32(a[GPUSHARE_A_TENANT_MODE]));
	return 0;
}

static int set_gate(struct gsh_tenant *tenant, struct genl_info *info)
{
	struct nlattr *id = info->attrs[GPUSHARE_A_TENANT_CGROUP_ID];
	bool unbind = info->attrs[GPUSHARE_A_TENANT_UNBIND];

	if (id && unbind) {
		NL_SET_ERR_MSG(info->extack, "cgroup-id and unbind exclude each other");
		return -EINVAL;
	}
	if (unbind)
		gsh_tenant_unbind(tenant);
	return id ? gsh_tenant_bind(tenant, nla_get_u64(id), info->extack) : 0;
}

static int do_tenant_set(struct sk_buff *skb, struct genl_info *info)
{
	struct gsh_tenant *tenant;
	int err;

	mutex_lock(&gsh_tenants_lock);
	tenant = named_tenant(info);
	err = PTR_ERR_OR_ZERO(tenant);
	if (!err)
		err = set_gate(tenant, info);
	if (!err)
		err = set_owner(tenant, info);
	if (!err)
		gsh_event(GPUSHARE_EVENT_TYPE_TENANT_CHANGED, tenant, NULL, 0, NULL);
	mutex_unlock(&gsh_tenants_lock);
	return err;
}

static int do_tenant_del(struct sk_buff *skb, struct genl_info *info)
{
	struct gsh_tenant *tenant;
	int err;

	mutex_lock(&gsh_tenants_lock);
	tenant = named_tenant(info);
	err = PTR_ERR_OR_ZERO(tenant);
	if (!err)
		err = gsh_tenant_delete(tenant, info->attrs[GPUSHARE_A_TENANT_FORCE], info->extack);
	mutex_unlock(&gsh_tenants_lock);
	return err;
}

static int do_tenant_get(struct sk_buff *skb, struct genl_info *info)
{
	struct gsh_tenant *tenant;
	int err;

	mutex_lock(&gsh_tenants_lock);
	tenant = named_tenant(info);
	err = PTR_ERR_OR_ZERO(tenant);
	if (!err)
		err = reply_tenant(info, tenant);
	mutex_unlock(&gsh_tenants_lock);
	return err;
}

static int do_share_set(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[ARRAY_SIZE(gpushare_share_nl_policy)];
	struct nlattr *nest = info->attrs[GPUSHARE_A_TENANT_SHARE];
	struct gsh_share_spec spec;
	struct gsh_tenant *tenant;
	struct gsh_share *share;
	int err;

	if (!nest) {
		NL_SET_ERR_MSG(info->extack, "share must be given");
		return -EINVAL;
	}
	mutex_lock(&gsh_tenants_lock);
	tenant = named_tenant(info);
	err = PTR_ERR_OR_ZERO(tenant);
	if (err)
		goto unlock;
	default_share(&spec);
	err = parse_share(nest, &spec, tb, info->extack);
	/* What is not given keeps its value: parse again over the present ones. */
	share = err ? NULL : gsh_tenant_share(tenant, spec.card);
	if (!err && !share) {
		NL_SET_ERR_MSG(info->extack, "the tenant has no share of this card");
		err = -ENOENT;
	}
	if (err)
		goto unlock;
	spec = (struct gsh_share_spec){
		.quota_bytes = share->account.quota_bytes,
		.compute_min_permille = share->compute_min_permille,
		.compute_max_permille = share->compute_max_permille,
		.weight = share->weight,
		.priority = share->priority,
		.policy = share->policy,
	};
	err = parse_share(nest, &spec, tb, info->extack);
	if (!err && tb[GPUSHARE_A_SHARE_QUOTA_BYTES])
		err = gsh_share_set_quota(share, spec.quota_bytes, info->extack);
	if (err)
		goto unlock;
	share->compute_min_permille = spec.compute_min_permille;
	share->compute_max_permille = spec.compute_max_permille;
	share->weight = spec.weight;
	share->priority = spec.priority;
	share->policy = spec.policy;
	gsh_event(GPUSHARE_EVENT_TYPE_TENANT_CHANGED, tenant, share->card, 0, NULL);
unlock:
	mutex_unlock(&gsh_tenants_lock);
	return err;
}

/* An entry that does not fit an empty message must not end the dump in silence. */
static int dumped(struct sk_buff *skb, bool left)
{
	return left && !skb->len ? -EMSGSIZE : skb->len;
}

static bool tenant_is_left(struct gsh_tenant *tenant)
{
	return !list_entry_is_head(tenant, &gsh_tenants, link);
}

/* One entry of a dump; false: the message is full. */
#define put_entry(skb, cb, cmd, put, what)                       \
	({                                                       \
		void *_head = entry_begin(skb, cb, cmd);         \
		entry_end(skb, _head, !_head || put(skb, what)); \
	})

static void *entry_begin(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &family,
			   NLM_F_MULTI, cmd);
}

static bool entry_end(struct sk_buff *skb, void *head, bool full)
{
	if (!full)
		genlmsg_end(skb, head);
	else if (head)
		genlmsg_cancel(skb, head);
	return !full;
}

static int dump_each_tenant(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
			    int (*put)(struct sk_buff *skb, struct gsh_tenant *tenant))
{
	struct gsh_tenant *tenant;
	long index = 0;

	mutex_lock(&gsh_tenants_lock);
	list_for_each_entry(tenant, &gsh_tenants, link) {
		if (index++ < cb->args[0])
			continue;
		if (!put_entry(skb, cb, cmd, put, tenant))
			break;
		cb->args[0] = index;
	}
	mutex_unlock(&gsh_tenants_lock);
	return dumped(skb, tenant_is_left(tenant));
}

static int dump_tenants(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_each_tenant(skb, cb, GPUSHARE_CMD_TENANT_GET, put_tenant);
}

/* ---- info and cards ---- */

static int do_info_get(struct sk_buff *in, struct genl_info *info)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	bool v2 = IS_ENABLED(CONFIG_CGROUPS);
	const struct nvabi_version *known;
	u32 n, i;
	void *head;

	if (!skb)
		return -ENOMEM;
	head = genlmsg_put_reply(skb, info, &family, 0, GPUSHARE_CMD_INFO_GET);
	if (!head || nla_put_u32(skb, GPUSHARE_A_INFO_ABI_VERSION, GPUSHARE_ABI_VERSION) ||
	    nla_put_string(skb, GPUSHARE_A_INFO_MODULE_VERSION, THIS_MODULE->version) ||
	    nla_put_u8(skb, GPUSHARE_A_INFO_DRIVER_SUPPORTED, gsh_version != NULL) ||
	    nla_put_u8(skb, GPUSHARE_A_INFO_CGROUP_GATE, v2))
		goto fail;
	if (gsh_driver_string[0] &&
	    nla_put_string(skb, GPUSHARE_A_INFO_DRIVER_VERSION, gsh_driver_string))
		goto fail;
	if (gsh_driver_flavour &&
	    nla_put_string(skb, GPUSHARE_A_INFO_DRIVER_FLAVOUR, gsh_driver_flavour))
		goto fail;
	known = gsh_versions(&n);
	for (i = 0; i < n; i++)
		if (nla_put_string(skb, GPUSHARE_A_INFO_SUPPORTED_VERSIONS, known[i].string))
			goto fail;
	genlmsg_end(skb, head);
	return genlmsg_reply(skb, info);
fail:
	nlmsg_free(skb);
	return -EMSGSIZE;
}

static int put_card(struct sk_buff *skb, struct gsh_card *card)
{
	static const char *const states[] = { "ok", "degraded", "gone" };
	const u64 total = card->books.total_bytes, kept = card->books.driver_reserved_bytes;
	const u64 charged = atomic64_read(&card->charged);
	const int pad = GPUSHARE_A_CARD_PAD;
	u64 free = 0, used;

	if (nla_put_string(skb, GPUSHARE_A_CARD_UUID, card->uuid) ||
	    nla_put_u32(skb, GPUSHARE_A_CARD_MINOR, card->minor) ||
	    nla_put_u32(skb, GPUSHARE_A_CARD_GPU_ID, card->gpu_id) ||
	    nla_put_string(skb, GPUSHARE_A_CARD_PCI, card->pci) ||
	    nla_put_string(skb, GPUSHARE_A_CARD_NAME, card->name) ||
	    put_u64(skb, GPUSHARE_A_CARD_TOTAL_BYTES, total, pad) ||
	    put_u64(skb, GPUSHARE_A_CARD_RESERVED_BYTES, kept, pad) ||
	    put_u64(skb, GPUSHARE_A_CARD_GRANTABLE_BYTES, gsh_card_grantable_bytes(&card->books),
		    pad) ||
	    put_u64(skb, GPUSHARE_A_CARD_GRANTED_BYTES, card->books.granted_bytes, pad) ||
	    put_u64(skb, GPUSHARE_A_CARD_CHARGED_BYTES, charged, pad) ||
	    nla_put_u32(skb, GPUSHARE_A_CARD_SHARES, card->shares))
		return -EMSGSIZE;
	if (!gsh_card_free_bytes(card, &free)) {
		/* Managed memory is charged whether or not it is on the card now, so
		 * less in use than charged is no fault; more is use outside tenants,
		 * or something that the books do not know. The two cannot be told
		 * apart from here: both figures carry the surplus. */
		used = total - kept - min(free, total - kept);
		if (put_u64(skb, GPUSHARE_A_CARD_FREE_BYTES, free, pad) ||
		    put_u64(skb, GPUSHARE_A_CARD_OUTSIDE_BYTES, used > charged ? used - charged : 0,
			    pad) ||
		    nla_put_s64(skb, GPUSHARE_A_CARD_RESIDUE_BYTES, (s64)(used - charged), pad))
			return -EMSGSIZE;
	}
	if (nla_put_string(skb, GPUSHARE_A_CARD_STATE, states[card->state]))
		return -EMSGSIZE;
	if (card->state != GSH_CARD_OK &&
	    nla_put_string(skb, GPUSHARE_A_CARD_REASON, "the driver says that the card is lost"))
		return -EMSGSIZE;
	return 0;
}

static int dump_cards(struct sk_buff *skb, struct netlink_callback *cb)
{
	mutex_lock(&gsh_tenants_lock);
	for (; cb->args[0] < gsh_cards_count(); cb->args[0]++)
		if (!put_entry(skb, cb, GPUSHARE_CMD_CARD_GET, put_card, gsh_card_at(cb->args[0])))
			break;
	mutex_unlock(&gsh_tenants_lock);
	return dumped(skb, cb->args[0] < gsh_cards_count());
}

/* ---- processes and counters ---- */

static void count_clients(struct gsh_file *f, u32 *clients, u32 *objects, u64 *bytes)
{
	struct gsh_client *client;
	struct gsh_obj *obj;
	unsigned long index;

	list_for_each_entry(client, &f->r->clients, link) {
		(*clients)++;
		xa_for_each(&client->objects, index, obj) {
			if (!obj->mem)
				continue;
			(*objects)++;
			*bytes += obj->mem->bytes;
		}
	}
}

static int put_file(struct sk_buff *skb, struct gsh_file *f)
{
	struct pid *holder = gsh_file_holder(f);
	u32 clients = 0, objects = 0, pid = pid_nr(holder);
	u64 bytes = 0;

	put_pid(holder);
	count_clients(f, &clients, &objects, &bytes);
	if (nla_put_string(skb, GPUSHARE_A_CLIENT_TENANT, f->tenant->name) ||
	    nla_put_u32(skb, GPUSHARE_A_CLIENT_PID, pid) ||
	    nla_put_u32(skb, GPUSHARE_A_CLIENT_TGID, pid) ||
	    nla_put_string(skb, GPUSHARE_A_CLIENT_COMM, f->comm) ||
	    nla_put_u32(skb, GPUSHARE_A_CLIENT_KIND, f->kind) ||
	    nla_put_u32(skb, GPUSHARE_A_CLIENT_FILES, 1) ||
	    nla_put_u32(skb, GPUSHARE_A_CLIENT_CLIENTS, clients) ||
	    nla_put_u32(skb, GPUSHARE_A_CLIENT_OBJECTS, objects) ||
	    put_u64(skb, GPUSHARE_A_CLIENT_BYTES, bytes, GPUSHARE_A_CLIENT_PAD))
		return -EMSGSIZE;
	if (f->card && nla_put_string(skb, GPUSHARE_A_CLIENT_CARD_UUID, f->card->uuid))
		return -EMSGSIZE;
	return 0;
}

/* False when the message is full. */
static bool dump_files(struct sk_buff *skb, struct netlink_callback *cb, struct gsh_tenant *tenant,
		       long *index)
{
	struct gsh_file *f;
	bool room = true;

	mutex_lock(&tenant->registry);
	list_for_each_entry(f, &tenant->files, link) {
		if (!f->r || (*index)++ < cb->args[0])
			continue;
		room = put_entry(skb, cb, GPUSHARE_CMD_CLIENT_GET, put_file, f);
		if (!room)
			break;
		cb->args[0] = *index;
	}
	mutex_unlock(&tenant->registry);
	return room;
}

/* The n-th tenant, with a reference: its registry is not waited for under the
 * lock that everybody needs. */
static struct gsh_tenant *nth_tenant(long n, const char *only)
{
	struct gsh_tenant *tenant, *found = NULL;

	mutex_lock(&gsh_tenants_lock);
	list_for_each_entry(tenant, &gsh_tenants, link) {
		if ((only && strcmp(only, tenant->name)) || n--)
			continue;
		found = tenant;
		gsh_tenant_get(found);
		break;
	}
	mutex_unlock(&gsh_tenants_lock);
	return found;
}

/* args: 0 the next file of the tenant, 1 the tenant. */
static int dump_clients(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genl_dumpit_info *info = genl_dumpit_info(cb);
	const char *only = string_of(compat_dumpit_attrs(info)[GPUSHARE_A_CLIENT_TENANT]);
	struct gsh_tenant *tenant;
	bool room = true;

	while (room) {
		long index = 0;

		tenant = nth_tenant(cb->args[1], only);
		if (!tenant)
			break;
		room = dump_files(skb, cb, tenant, &index);
		gsh_tenant_put(tenant);
		if (room) {
			cb->args[0] = 0;
			cb->args[1]++;
		}
	}
	return dumped(skb, !room);
}

static int put_stats(struct sk_buff *skb, struct gsh_tenant *tenant)
{
	struct gsh_stats *s = &tenant->stats;
	const int pad = GPUSHARE_A_STATS_PAD;

	return nla_put_string(skb, GPUSHARE_A_STATS_NAME, tenant->name) ||
	       put_u64(skb, GPUSHARE_A_STATS_IOCTLS, atomic64_read(&s->ioctls), pad) ||
	       put_u64(skb, GPUSHARE_A_STATS_FORWARDED, atomic64_read(&s->forwarded), pad) ||
	       put_u64(skb, GPUSHARE_A_STATS_REFUSED_QUOTA, atomic64_read(&s->refused_quota),
		       pad) ||
	       put_u64(skb, GPUSHARE_A_STATS_REFUSED_DENIED, atomic64_read(&s->refused_denied),
		       pad) ||
	       put_u64(skb, GPUSHARE_A_STATS_REFUSED_UNKNOWN, atomic64_read(&s->refused_unknown),
		       pad) ||
	       put_u64(skb, GPUSHARE_A_STATS_OPEN_DENIED, atomic64_read(&s->open_denied), pad);
}

static int dump_stats(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_each_tenant(skb, cb, GPUSHARE_CMD_STATS_GET, put_stats);
}

/* ---- events ---- */

/* A tenant can make the refusals that are told here; their number is in the statistics. */
static struct ratelimit_state event_limit =
	RATELIMIT_STATE_INIT_FLAGS(event_limit, HZ, 100, RATELIMIT_MSG_ON_RELEASE);

static bool is_tenants_doing(enum gpushare_event_type type)
{
	return type == GPUSHARE_EVENT_TYPE_QUOTA_REFUSED ||
	       type == GPUSHARE_EVENT_TYPE_OPEN_DENIED || type == GPUSHARE_EVENT_TYPE_CALL_DENIED;
}

static int put_event(struct sk_buff *skb, enum gpushare_event_type type, struct gsh_tenant *tenant,
		     struct gsh_card *card, u64 bytes, const char *detail)
{
	const int pad = GPUSHARE_A_EVENT_PAD;

	if (nla_put_u32(skb, GPUSHARE_A_EVENT_TYPE, type) ||
	    nla_put_u32(skb, GPUSHARE_A_EVENT_PID, task_tgid_nr(current)) ||
	    put_u64(skb, GPUSHARE_A_EVENT_TIME_NS, ktime_get_boottime_ns(), pad))
		return -EMSGSIZE;
	if (tenant && nla_put_string(skb, GPUSHARE_A_EVENT_TENANT, tenant->name))
		return -EMSGSIZE;
	if (card && nla_put_string(skb, GPUSHARE_A_EVENT_CARD_UUID, card->uuid))
		return -EMSGSIZE;
	if (bytes && put_u64(skb, GPUSHARE_A_EVENT_BYTES, bytes, pad))
		return -EMSGSIZE;
	if (detail && nla_put_string(skb, GPUSHARE_A_EVENT_DETAIL, detail))
		return -EMSGSIZE;
	return 0;
}

void gsh_event(enum gpushare_event_type type, struct gsh_tenant *tenant, struct gsh_card *card,
	       u64 bytes, const char *detail)
{
	struct sk_buff *skb;
	void *head;

	if (!READ_ONCE(registered) || !genl_has_listeners(&family, &init_net, 0))
		return;
	if (is_tenants_doing(type) && !__ratelimit(&event_limit))
		return;
	skb = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!skb)
		return;
	head = genlmsg_put(skb, 0, 0, &family, 0, GPUSHARE_CMD_EVENT);
	if (!head || put_event(skb, type, tenant, card, bytes, detail)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, head);
	genlmsg_multicast(&family, skb, 0, 0, GFP_KERNEL);
}

/* ---- the family ---- */

/* Kernels before 6.2 do not run pre_doit for a dump. */
static int start_dump(struct netlink_callback *cb)
{
	return gsh_current_is_bound() ? -EPERM : 0;
}

static int refuse_tenants(compat_genl_ops_arg *ops, struct sk_buff *skb, struct genl_info *info)
{
	if (!gsh_current_is_bound())
		return 0;
	NL_SET_ERR_MSG(info->extack, "not from inside a tenant's cgroup");
	return -EPERM;
}

#define DO(op, fn, table)                   \
	{ .cmd = op,                        \
	  .flags = GENL_ADMIN_PERM,         \
	  .doit = fn,                       \
	  .policy = table,                  \
	  .maxattr = ARRAY_SIZE(table) - 1, \
	  .validate = 0 }

static const struct genl_ops family_ops[] = {
	DO(GPUSHARE_CMD_TENANT_NEW, do_tenant_new, gpushare_tenant_new_nl_policy),
	DO(GPUSHARE_CMD_TENANT_SET, do_tenant_set, gpushare_tenant_set_nl_policy),
	DO(GPUSHARE_CMD_TENANT_DEL, do_tenant_del, gpushare_tenant_del_nl_policy),
	DO(GPUSHARE_CMD_SHARE_SET, do_share_set, gpushare_share_set_nl_policy),
	{
		.cmd = GPUSHARE_CMD_TENANT_GET,
		.flags = GENL_ADMIN_PERM,
		.doit = do_tenant_get,
		.start = start_dump,
		.dumpit = dump_tenants,
		.policy = gpushare_tenant_get_nl_policy,
		.maxattr = ARRAY_SIZE(gpushare_tenant_get_nl_policy) - 1,
	},
	{
		.cmd = GPUSHARE_CMD_CLIENT_GET,
		.flags = GENL_ADMIN_PERM,
		.start = start_dump,
		.dumpit = dump_clients,
		.policy = gpushare_client_get_nl_policy,
		.maxattr = ARRAY_SIZE(gpushare_client_get_nl_policy) - 1,
	},
	{ .cmd = GPUSHARE_CMD_INFO_GET, .flags = GENL_ADMIN_PERM, .doit = do_info_get },
	{ .cmd = GPUSHARE_CMD_CARD_GET,
	  .flags = GENL_ADMIN_PERM,
	  .start = start_dump,
	  .dumpit = dump_cards },
	{ .cmd = GPUSHARE_CMD_STATS_GET,
	  .flags = GENL_ADMIN_PERM,
	  .start = start_dump,
	  .dumpit = dump_stats },
};

static const struct genl_multicast_group groups[] = {
	{ .name = GPUSHARE_MCGRP_EVENTS },
};

/* netnsok stays off: other network namespaces do not see the family. */
static struct genl_family family = {
	.name = GPUSHARE_FAMILY_NAME,
	.version = GPUSHARE_FAMILY_VERSION,
	.module = THIS_MODULE,
	.ops = family_ops,
	.n_ops = ARRAY_SIZE(family_ops),
	.mcgrps = groups,
	.n_mcgrps = ARRAY_SIZE(groups),
	.pre_doit = refuse_tenants,
	COMPAT_GENL_STRICT_FROM(__GPUSHARE_CMD_MAX).parallel_ops = true,
};

int gsh_netlink_init(void)
{
	int err = genl_register_family(&family);

	WRITE_ONCE(registered, !err);
	return err;
}

void gsh_netlink_exit(void)
{
	WRITE_ONCE(registered, false);
	genl_unregister_family(&family);
}
