// SPDX-License-Identifier: GPL-2.0
/*
 * Tenants and their shares: made whole or not at all, changed while running,
 * gone when the last file, mapping and call of theirs is gone.
 */
#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/uuid.h>

#include "compat.h"
#include "gpushare.h"

DEFINE_MUTEX(gsh_tenants_lock);
LIST_HEAD(gsh_tenants);

static unsigned int ntenants; /* gsh_tenants_lock */

#define MIB(bytes) ((bytes) >> 20)

/* [a-z0-9][a-z0-9._-]{0,62}: it becomes a folder below /dev and in sysfs. */
bool gsh_name_valid(const char *name)
{
	size_t len = strlen(name), i;

	if (!len || len > GPUSHARE_NAME_MAX)
		return false;
	for (i = 0; i < len; i++) {
		char c = name[i];
		bool alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

		if (!alnum && (!i || (c != '.' && c != '_' && c != '-')))
			return false;
	}
	return true;
}

/* ---- lifetime ---- */

/* What nobody could say was given back: the driver has closed all files, so it is. */
static void uncharge_rest(struct gsh_tenant *tenant)
{
	unsigned int i;

	for (i = 0; i < tenant->nshares; i++) {
		struct gsh_share *share = &tenant->shares[i];

		if (share->card)
			atomic64_sub(share->account.charged_bytes, &share->card->charged);
	}
}

static void tenant_free(struct work_struct *work)
{
	struct gsh_tenant *tenant = container_of(work, struct gsh_tenant, free_work);

	uncharge_rest(tenant);
	gsh_fwd_shutdown(&tenant->fwd);
	gsh_tenant_unbind(tenant);
	xa_destroy(&tenant->clients);
	kfree(tenant->nodes);
	kfree(tenant->shares);
	kfree(tenant);
}

/* From a work item: the last reference may go in one of the tenant's own threads. */
static void tenant_release(struct kref *ref)
{
	struct gsh_tenant *tenant = container_of(ref, struct gsh_tenant, ref);

	queue_work(gsh_wq, &tenant->free_work);
}

void gsh_tenant_get(struct gsh_tenant *tenant)
{
	kref_get(&tenant->ref);
}

void gsh_tenant_put(struct gsh_tenant *tenant)
{
	kref_put(&tenant->ref, tenant_release);
}

struct gsh_tenant *gsh_tenant_find(const char *name)
{
	struct gsh_tenant *tenant;

	lockdep_assert_held(&gsh_tenants_lock);
	list_for_each_entry(tenant, &gsh_tenants, link)
		if (!strcmp(tenant->name, name))
			return tenant;
	return NULL;
}

struct gsh_share *gsh_tenant_share(struct gsh_tenant *tenant, const struct gsh_card *card)
{
	unsigned int i;

	for (i = 0; i < tenant->nshares; i++)
		if (tenant->shares[i].card == card)
			return &tenant->shares[i];
	return NULL;
}

bool gsh_tenant_owns_gpu(void *tenant, u32 gpu_id)
{
	struct gsh_card *card = gsh_card_by_gpu_id(gpu_id);

	return card && gsh_tenant_share(tenant, card);
}

/* ---- admission ---- */

static int grant(struct gsh_card *card, u64 from, u64 to, struct netlink_ext_ack *extack)
{
	int err = gsh_card_grant_change(&card->books, from, to);

	lockdep_assert_held(&gsh_tenants_lock);
	if (err)
		gsh_refuse(
			extack,
			"quota of %llu MiB does not fit: %llu MiB of %llu MiB left to grant on %.8s",
			MIB(to), MIB(gsh_card_ungranted_bytes(&card->books) + from),
			MIB(gsh_card_grantable_bytes(&card->books)), card->uuid + 4);
	return err;
}

static void ungrant_shares(struct gsh_tenant *tenant, unsigned int n)
{
	while (n--) {
		struct gsh_share *share = &tenant->shares[n];

		gsh_card_grant_change(&share->card->books, share->account.quota_bytes, 0);
		share->card->shares--;
	}
}

static int grant_shares(struct gsh_tenant *tenant, const struct gsh_tenant_spec *spec,
			struct netlink_ext_ack *extack)
{
	unsigned int i;
	int err;

	for (i = 0; i < spec->nshares; i++) {
		const struct gsh_share_spec *from = &spec->shares[i];
		struct gsh_share *share = &tenant->shares[i];

		err = grant(from->card, 0, from->quota_bytes, extack);
		if (err) {
			ungrant_shares(tenant, i);
			return err;
		}
		from->card->shares++;
		share->tenant = tenant;
		share->card = from->card;
		spin_lock_init(&share->lock);
		gsh_account_init(&share->account, from->quota_bytes);
		share->compute_min_permille = from->compute_min_permille;
		share->compute_max_permille = from->compute_max_permille;
		share->weight = from->weight;
		share->priority = from->priority;
		share->policy = from->policy;
	}
	return 0;
}

int gsh_share_set_quota(struct gsh_share *share, u64 bytes, struct netlink_ext_ack *extack)
{
	int err;

	lockdep_assert_held(&gsh_tenants_lock);
	if (!bytes) {
		NL_SET_ERR_MSG(extack,
			       "a quota of 0 is refused: give a size, or delete the tenant");
		return -EINVAL;
	}
	err = grant(share->card, share->account.quota_bytes, bytes, extack);
	if (err)
		return err;
	spin_lock(&share->lock);
	gsh_account_set_quota(&share->account, bytes);
	spin_unlock(&share->lock);
	return 0;
}

/* ---- making one ---- */

static struct gsh_tenant *tenant_alloc(const struct gsh_tenant_spec *spec)
{
	struct gsh_tenant *tenant = kzalloc(sizeof(*tenant), GFP_KERNEL);
	uuid_t uuid;

	if (!tenant)
		return NULL;
	tenant->nshares = spec->nshares;
	tenant->nnodes = spec->nshares + 2;
	tenant->shares = kcalloc(tenant->nshares, sizeof(*tenant->shares), GFP_KERNEL);
	tenant->nodes = kcalloc(tenant->nnodes, sizeof(*tenant->nodes), GFP_KERNEL);
	if (!tenant->shares || !tenant->nodes) {
		kfree(tenant->shares);
		kfree(tenant->nodes);
		kfree(tenant);
		return NULL;
	}
	kref_init(&tenant->ref);
	strscpy(tenant->name, spec->name, sizeof(tenant->name));
	uuid_gen(&uuid);
	if (spec->uuid)
		strscpy(tenant->uuid, spec->uuid, sizeof(tenant->uuid));
	else
		snprintf(tenant->uuid, sizeof(tenant->uuid), "%pUb", &uuid);
	tenant->uid = spec->uid;
	tenant->gid = spec->gid;
	tenant->mode = spec->mode;
	spin_lock_init(&tenant->gate_lock);
	sema_init(&tenant->memory, 1);
	mutex_init(&tenant->registry);
	xa_init(&tenant->clients);
	INIT_LIST_HEAD(&tenant->files);
	INIT_LIST_HEAD(&tenant->reals);
	gsh_fwd_setup(&tenant->fwd);
	INIT_WORK(&tenant->free_work, tenant_free);
	return tenant;
}

static void destroy_nodes(struct gsh_tenant *tenant)
{
	unsigned int i;

	for (i = 0; i < tenant->nnodes; i++)
		gsh_node_destroy(&tenant->nodes[i]);
}

static int create_nodes(struct gsh_tenant *tenant)
{
	unsigned int i;
	int err;

	for (i = 0; i < tenant->nnodes; i++) {
		struct gsh_vnode *node = &tenant->nodes[i];

		node->tenant = tenant;
		if (i == 0)
			node->kind = GPUSHARE_NODE_KIND_CTL;
		else if (i == 1)
			node->kind = GPUSHARE_NODE_KIND_UVM;
		else {
			node->kind = GPUSHARE_NODE_KIND_GPU;
			node->card = tenant->shares[i - 2].card;
		}
		err = gsh_node_create(node);
		if (err) {
			destroy_nodes(tenant);
			return err;
		}
	}
	return 0;
}

static int check_spec(const struct gsh_tenant_spec *spec, struct netlink_ext_ack *extack)
{
	unsigned int i, j;
	char nearest[48];

	if (!gsh_version) {
		gsh_version_nearest(nearest, sizeof(nearest));
		gsh_refuse(
			extack,
			"driver %.16s is not supported, %s is: install that, or a gpushare that knows yours",
			gsh_driver_string[0] ? gsh_driver_string : "(none)", nearest);
		return -EOPNOTSUPP;
	}
	if (!gsh_name_valid(spec->name)) {
		NL_SET_ERR_MSG(extack, "name must match [a-z0-9][a-z0-9._-]{0,62}");
		return -EINVAL;
	}
	if (gsh_tenant_find(spec->name)) {
		NL_SET_ERR_MSG(extack,
			       "a tenant of this name exists: delete it or take another name");
		return -EEXIST;
	}
	if (ntenants >= GPUSHARE_TENANTS_MAX) {
		NL_SET_ERR_MSG(extack, "too many tenants: delete some first");
		return -ENOSPC;
	}
	for (i = 0; i < spec->nshares; i++) {
		if (!spec->shares[i].quota_bytes) {
			NL_SET_ERR_MSG(extack, "quota-bytes must be given and not 0");
			return -EINVAL;
		}
		for (j = 0; j < i; j++)
			if (spec->shares[i].card == spec->shares[j].card) {
				NL_SET_ERR_MSG(extack, "a card is named twice");
				return -EINVAL;
			}
	}
	return 0;
}

int gsh_tenant_create(const struct gsh_tenant_spec *spec, struct gsh_tenant **out,
		      struct netlink_ext_ack *extack)
{
	struct gsh_tenant *tenant;
	int err;

	lockdep_assert_held(&gsh_tenants_lock);
	err = check_spec(spec, extack);
	if (err)
		return err;
	tenant = tenant_alloc(spec);
	if (!tenant)
		return -ENOMEM;
	err = grant_shares(tenant, spec, extack);
	if (err)
		goto put;
	err = create_nodes(tenant);
	if (err) {
		NL_SET_ERR_MSG(extack, "the tenant's device nodes could not be made");
		goto ungrant;
	}
	err = gsh_sysfs_tenant_add(tenant);
	if (err) {
		NL_SET_ERR_MSG(extack, "the tenant's sysfs folder could not be made");
		goto nodes;
	}
	list_add_tail(&tenant->link, &gsh_tenants);
	ntenants++;
	gsh_event(GPUSHARE_EVENT_TYPE_TENANT_NEW, tenant, NULL, 0, NULL);
	*out = tenant;
	return 0;
nodes:
	mutex_lock(&tenant->registry);
	WRITE_ONCE(tenant->dying, true); /* a file may have been opened meanwhile */
	mutex_unlock(&tenant->registry);
	destroy_nodes(tenant);
ungrant:
	ungrant_shares(tenant, tenant->nshares);
put:
	gsh_tenant_put(tenant);
	return err;
}

/*
 * Deleting takes the name, the nodes and the grant at once. What processes
 * still hold stays charged to the card until they let go of it; their calls
 * fail from now on.
 */
int gsh_tenant_delete(struct gsh_tenant *tenant, bool force, struct netlink_ext_ack *extack)
{
	int files;

	lockdep_assert_held(&gsh_tenants_lock);
	mutex_lock(&tenant->registry);
	files = atomic_read(&tenant->open_files);
	if (!files || force)
		WRITE_ONCE(tenant->dying, true);
	mutex_unlock(&tenant->registry);
	if (files && !force) {
		gsh_refuse(extack, "%d files are open: end the tenant's processes, or force",
			   files);
		return -EBUSY;
	}
	list_del(&tenant->link);
	ntenants--;
	gsh_sysfs_tenant_del(tenant);
	destroy_nodes(tenant);
	ungrant_shares(tenant, tenant->nshares);
	gsh_event(GPUSHARE_EVENT_TYPE_TENANT_DEL, tenant, NULL, 0, NULL);
	gsh_tenant_put(tenant);
	return 0;
}

/* ---- the cgroup gate ---- */

int gsh_tenant_bind(struct gsh_tenant *tenant, u64 cgroup_id, struct netlink_ext_ack *extack)
{
	struct cgroup *cgroup = compat_cgroup_get_from_id(cgroup_id), *old;
	bool ours;

	if (IS_ERR(cgroup)) {
		NL_SET_ERR_MSG(extack, "no such cgroup v2: give the inode number of its folder");
		return PTR_ERR(cgroup);
	}
	rcu_read_lock();
	ours = task_under_cgroup_hierarchy(current, cgroup);
	rcu_read_unlock();
	if (ours) {
		NL_SET_ERR_MSG(extack, "this cgroup contains the caller: it would lock itself out");
		cgroup_put(cgroup);
		return -EINVAL;
	}
	spin_lock(&tenant->gate_lock);
	old = tenant->cgroup;
	tenant->cgroup = cgroup;
	spin_unlock(&tenant->gate_lock);
	if (old)
		cgroup_put(old);
	return 0;
}

void gsh_tenant_unbind(struct gsh_tenant *tenant)
{
	struct cgroup *old;

	spin_lock(&tenant->gate_lock);
	old = tenant->cgroup;
	tenant->cgroup = NULL;
	spin_unlock(&tenant->gate_lock);
	if (old)
		cgroup_put(old);
}

/* A group that went takes its binding with it. */
static bool is_online(struct cgroup *cgroup)
{
	return cgroup->self.flags & CSS_ONLINE;
}

u64 gsh_tenant_cgroup_id(struct gsh_tenant *tenant)
{
	u64 id;

	spin_lock(&tenant->gate_lock);
	id = tenant->cgroup && is_online(tenant->cgroup) ? cgroup_id(tenant->cgroup) : 0;
	spin_unlock(&tenant->gate_lock);
	return id;
}

static bool current_is_inside(struct gsh_tenant *tenant, bool *bound)
{
	bool inside = false;

	rcu_read_lock();
	spin_lock(&tenant->gate_lock);
	*bound = tenant->cgroup && is_online(tenant->cgroup);
	if (*bound)
		inside = task_under_cgroup_hierarchy(current, tenant->cgroup);
	spin_unlock(&tenant->gate_lock);
	rcu_read_unlock();
	return inside;
}

/* Nodes that everybody may open are closed until the tenant is bound. */
bool gsh_tenant_admits(struct gsh_tenant *tenant)
{
	bool bound, inside = current_is_inside(tenant, &bound);

	return bound ? inside : !(READ_ONCE(tenant->mode) & 0006);
}

bool gsh_current_is_bound_locked(void)
{
	struct gsh_tenant *tenant;
	bool inside = false, bound;

	lockdep_assert_held(&gsh_tenants_lock);
	list_for_each_entry(tenant, &gsh_tenants, link)
		inside |= current_is_inside(tenant, &bound);
	return inside;
}

bool gsh_current_is_bound(void)
{
	bool inside;

	mutex_lock(&gsh_tenants_lock);
	inside = gsh_current_is_bound_locked();
	mutex_unlock(&gsh_tenants_lock);
	return inside;
}

/* ---- start and stop ---- */

int gsh_tenants_init(void)
{
	return 0;
}

/* No file is open: each would hold the module. Tenants have only their list reference. */
void gsh_tenants_exit(void)
{
	struct gsh_tenant *tenant, *next;

	mutex_lock(&gsh_tenants_lock);
	list_for_each_entry_safe(tenant, next, &gsh_tenants, link)
		gsh_tenant_delete(tenant, true, NULL);
	mutex_unlock(&gsh_tenants_lock);
	flush_workqueue(gsh_wq); /* tenant_free() */
}
