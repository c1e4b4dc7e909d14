// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/gpushare/<tenant>/<card uuid>/: one value a file.
 *   quota_bytes     (writable by root)    charged_bytes  free_bytes
 *   peak_bytes  object_bytes  managed_bytes  overhead_bytes  lingering_bytes
 *   refusals
 * and /sys/kernel/gpushare/driver_version.
 *
 * A folder goes before its tenant: tenant_delete() removes it under
 * gsh_tenants_lock, so a file never shows a tenant that is gone.
 */
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "gpushare.h"

static struct kobject *root;

struct share_kobj {
	struct kobject kobj;
	struct gsh_share *share;
};

struct share_attr {
	struct attribute attr;
	u64 (*show)(struct gsh_share *share, const struct gsh_account *account);
	int (*store)(struct gsh_share *share, u64 value);
};

/* ---- values ---- */

static u64 show_quota(struct gsh_share *share, const struct gsh_account *a)
{
	return a->quota_bytes;
}

static u64 show_charged(struct gsh_share *share, const struct gsh_account *a)
{
	return a->charged_bytes;
}

static u64 show_free(struct gsh_share *share, const struct gsh_account *a)
{
	struct gsh_view view = gsh_share_view(share);

	return gsh_view_free_bytes(&view);
}

static u64 show_peak(struct gsh_share *share, const struct gsh_account *a)
{
	return a->peak_bytes;
}

static u64 show_object(struct gsh_share *share, const struct gsh_account *a)
{
	return a->by_kind_bytes[GSH_CHARGE_OBJECT];
}

static u64 show_managed(struct gsh_share *share, const struct gsh_account *a)
{
	return a->by_kind_bytes[GSH_CHARGE_MANAGED];
}

static u64 show_overhead(struct gsh_share *share, const struct gsh_account *a)
{
	return a->by_kind_bytes[GSH_CHARGE_OVERHEAD];
}

static u64 show_lingering(struct gsh_share *share, const struct gsh_account *a)
{
	return a->by_kind_bytes[GSH_CHARGE_LINGERING];
}

static u64 show_refusals(struct gsh_share *share, const struct gsh_account *a)
{
	return a->refusals;
}

/* The lock is only tried for: removing this very file waits for us while it is held. */
static int store_quota(struct gsh_share *share, u64 value)
{
	int err;

	if (!mutex_trylock(&gsh_tenants_lock))
		return restart_syscall();
	err = gsh_current_is_bound_locked() ? -EPERM : gsh_share_set_quota(share, value, NULL);
	if (!err)
		gsh_event(GPUSHARE_EVENT_TYPE_TENANT_CHANGED, share->tenant, share->card, value,
			  NULL);
	mutex_unlock(&gsh_tenants_lock);
	return err;
}

#define SHARE_RO(name) static struct share_attr attr_##name = { { #name, 0444 }, show_##name, NULL }
#define SHARE_BYTES(name) \
	static struct share_attr attr_##name = { { #name "_bytes", 0444 }, show_##name, NULL }

static struct share_attr attr_quota = { { "quota_bytes", 0644 }, show_quota, store_quota };
SHARE_BYTES(charged);
SHARE_BYTES(free);
SHARE_BYTES(peak);
SHARE_BYTES(object);
SHARE_BYTES(managed);
SHARE_BYTES(overhead);
SHARE_BYTES(lingering);
SHARE_RO(refusals);

static struct attribute *share_attrs[] = {
	&attr_quota.attr,    &attr_charged.attr,
	&attr_free.attr,     &attr_peak.attr,
	&attr_object.attr,   &attr_managed.attr,
	&attr_overhead.attr, &attr_lingering.attr,
	&attr_refusals.attr, NULL,
};
ATTRIBUTE_GROUPS(share);

/* ---- the folders ---- */

static ssize_t share_show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct share_kobj *s = container_of(kobj, struct share_kobj, kobj);
	struct share_attr *a = container_of(attr, struct share_attr, attr);
	struct gsh_account account = gsh_share_account(s->share);

	return sysfs_emit(buf, "%llu\n", a->show(s->share, &account));
}

static ssize_t share_store(struct kobject *kobj, struct attribute *attr, const char *buf,
			   size_t count)
{
	struct share_kobj *s = container_of(kobj, struct share_kobj, kobj);
	struct share_attr *a = container_of(attr, struct share_attr, attr);
	u64 value;
	int err;

	if (!a->store)
		return -EACCES;
	err = kstrtou64(buf, 10, &value) ?: a->store(s->share, value);
	return err ?: count;
}

static void share_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct share_kobj, kobj));
}

static const struct sysfs_ops share_ops = { .show = share_show, .store = share_store };

static struct kobj_type share_type = {
	.release = share_release,
	.sysfs_ops = &share_ops,
	.default_groups = share_groups,
};

static int share_add(struct gsh_share *share)
{
	struct share_kobj *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int err;

	if (!s)
		return -ENOMEM;
	s->share = share;
	err = kobject_init_and_add(&s->kobj, &share_type, share->tenant->kobj, "%s",
				   share->card->uuid);
	if (err) {
		kobject_put(&s->kobj);
		return err;
	}
	share->kobj = &s->kobj;
	return 0;
}

int gsh_sysfs_tenant_add(struct gsh_tenant *tenant)
{
	unsigned int i;
	int err;

	tenant->kobj = kobject_create_and_add(tenant->name, root);
	if (!tenant->kobj)
		return -ENOMEM;
	for (i = 0; i < tenant->nshares; i++) {
		err = share_add(&tenant->shares[i]);
		if (err) {
			gsh_sysfs_tenant_del(tenant);
			return err;
		}
	}
	return 0;
}

void gsh_sysfs_tenant_del(struct gsh_tenant *tenant)
{
	unsigned int i;

	for (i = 0; i < tenant->nshares; i++) {
		struct kobject *kobj = tenant->shares[i].kobj;

		if (!kobj)
			continue;
		kobject_del(kobj); /* waits for readers */
		kobject_put(kobj);
		tenant->shares[i].kobj = NULL;
	}
	kobject_del(tenant->kobj);
	kobject_put(tenant->kobj);
	tenant->kobj = NULL;
}

static ssize_t driver_version_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", gsh_driver_string);
}

static struct kobj_attribute driver_version = __ATTR_RO(driver_version);

int gsh_sysfs_init(void)
{
	int err;

	root = kobject_create_and_add("gpushare", kernel_kobj);
	if (!root)
		return -ENOMEM;
	err = sysfs_create_file(root, &driver_version.attr);
	if (err)
		kobject_put(root);
	return err;
}

void gsh_sysfs_exit(void)
{
	kobject_put(root);
}
