// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's files behind the virtual ones.
 *
 * They are opened without a path: the inode belongs to a file system of our
 * own, its device number is the driver's, and opening it reaches the driver
 * in any mount namespace. SB_I_NODEV makes every later open through /proc
 * fail. When the inode is evicted the driver's release has run: then, and not
 * when the virtual file closes, what the file held can be given back.
 */
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>
#include <linux/slab.h>

#include "compat.h"
#include "gpushare.h"
#include "trace.h"

#define GONE_RETRY_MS 50

struct workqueue_struct *gsh_wq;

static struct vfsmount *host_mnt;
static struct vfsmount *proc_mnt; /* our own view of /proc/devices */

/* ---- real files ---- */

void gsh_real_get(struct gsh_real *real)
{
	kref_get(&real->ref);
}

static void real_release(struct kref *ref)
{
	struct gsh_real *real = container_of(ref, struct gsh_real, ref);

	if (real->tenant)
		gsh_tenant_put(real->tenant);
	kfree(real);
	module_put(THIS_MODULE);
}

void gsh_real_put(struct gsh_real *real)
{
	kref_put(&real->ref, real_release);
}

/* The driver may finish a close later. Its word is what counts: a client is
 * given up once it says that there is no such client. */
static bool clients_gone(struct gsh_real *real)
{
	struct gsh_client *client, *next;

	list_for_each_entry_safe(client, next, &real->clients, link) {
		gsh_client_disown(client); /* waited for, but nobody's to name any more */
		if (gsh_client_superseded(client) || !gsh_rm_exists(client->handle, 0, NULL))
			gsh_client_destroy(client);
	}
	return list_empty(&real->clients);
}

static void real_gone(struct work_struct *work)
{
	struct gsh_real *real = container_of(to_delayed_work(work), struct gsh_real, gone_work);
	struct gsh_tenant *tenant = real->tenant;
	struct gsh_uvm *uvm = NULL;
	bool done = true;
	unsigned int i;

	if (tenant) {
		mutex_lock(&tenant->registry);
		swap(uvm, real->uvm);
		done = clients_gone(real);
		if (done) {
			gsh_holds_drop(&real->exports);
			gsh_holds_drop(&real->kept);
			list_del_init(&real->link);
		}
		mutex_unlock(&tenant->registry);
		if (uvm)
			gsh_uvm_gone(uvm);
		for (i = 0; i < tenant->nshares; i++)
			gsh_charging_disturb(tenant->shares[i].card);
	}
	if (done) {
		if (tenant)
			trace_gpushare_gone(tenant, real->kind, 0);
		gsh_real_put(real);
	} else {
		queue_delayed_work(gsh_wq, &real->gone_work, msecs_to_jiffies(GONE_RETRY_MS));
	}
}

static void evict(struct inode *inode)
{
	struct gsh_real *real = inode->i_private;

	truncate_inode_pages_final(&inode->i_data);
	clear_inode(inode);
	if (real)
		queue_delayed_work(gsh_wq, &real->gone_work, 0);
}

/* An inode goes with its last file: none is kept for the next open. */
static int drop_at_once(struct inode *inode)
{
	return 1;
}

static const struct super_operations host_super_ops = {
	.statfs = simple_statfs,
	.drop_inode = drop_at_once,
	.evict_inode = evict,
};

static int host_init_fs_context(struct fs_context *fc)
{
	struct pseudo_fs_context *ctx = init_pseudo(fc, 0x67707573 /* "gpus" */);

	if (!ctx)
		return -ENOMEM;
	ctx->ops = &host_super_ops;
	return 0;
}

/* No .owner: the mount of our own would keep the module from ever leaving.
 * Each real file holds a module reference instead. */
static struct file_system_type host_fs = {
	.name = "gpushare_host",
	.init_fs_context = host_init_fs_context,
	.kill_sb = kill_anon_super,
};

static struct gsh_real *real_new(struct gsh_tenant *tenant, enum gpushare_node_kind kind,
				 struct gsh_card *card)
{
	struct gsh_real *real = kzalloc(sizeof(*real), GFP_KERNEL_ACCOUNT);

	if (!real)
		return NULL;
	kref_init(&real->ref);
	real->tenant = tenant;
	real->kind = kind;
	real->card = card;
	INIT_LIST_HEAD(&real->link);
	INIT_LIST_HEAD(&real->clients);
	INIT_LIST_HEAD(&real->exports);
	INIT_LIST_HEAD(&real->kept);
	INIT_DELAYED_WORK(&real->gone_work, real_gone);
	__module_get(THIS_MODULE);
	if (tenant) {
		gsh_tenant_get(tenant);
		mutex_lock(&tenant->registry);
		list_add_tail(&real->link, &tenant->reals);
		mutex_unlock(&tenant->registry);
	}
	return real;
}

static dev_t real_devt(enum gpushare_node_kind kind, struct gsh_card *card)
{
	int major;

	switch (kind) {
	case GPUSHARE_NODE_KIND_CTL:
		return MKDEV(NV_MAJOR, NV_MINOR_CTL);
	case GPUSHARE_NODE_KIND_GPU:
		return MKDEV(NV_MAJOR, card->minor);
	default:
		major = gsh_uvm_major();
		return major > 0 ? MKDEV(major, UVM_MINOR) : 0;
	}
}

static struct file *open_inode(struct inode *inode, unsigned int flags, const struct cred *cred)
{
	struct dentry *dentry = d_alloc_anon(host_mnt->mnt_sb);
	struct path path = { .mnt = host_mnt, .dentry = dentry };
	struct file *file;

	if (!dentry) {
		iput(inode);
		return ERR_PTR(-ENOMEM);
	}
	d_instantiate(dentry, inode);
	file = dentry_open(&path, O_RDWR | (flags & O_NONBLOCK), cred);
	dput(dentry); /* the file has its own reference; without one, evict runs */
	return file;
}

/*
 * Opens the driver's file. The returned real has a reference for the caller;
 * the one of the inode goes when the inode is evicted, on failure at once.
 */
struct file *gsh_real_open(struct gsh_tenant *tenant, enum gpushare_node_kind kind,
			   struct gsh_card *card, unsigned int flags, const struct cred *cred,
			   struct gsh_real **out)
{
	dev_t devt = real_devt(kind, card);
	struct gsh_real *real;
	struct inode *inode;
	struct file *file;

	if (!devt)
		return ERR_PTR(-ENODEV);
	inode = new_inode(host_mnt->mnt_sb);
	if (!inode)
		return ERR_PTR(-ENOMEM);
	real = real_new(tenant, kind, card);
	if (!real) {
		iput(inode);
		return ERR_PTR(-ENOMEM);
	}
	inode->i_ino = get_next_ino();
	inode->i_private = real;
	init_special_inode(inode, S_IFCHR | 0600, devt);
	gsh_real_get(real);
	file = open_inode(inode, flags, cred);
	if (IS_ERR(file)) {
		gsh_real_put(real);
		return file;
	}
	*out = real;
	return file;
}

/* ---- the managed-memory node's number ---- */

/* /proc/devices is the only place that tells it; read through a mount of our
 * own, so that nobody's mount namespace matters. */
static int find_major(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	int major = 0;

	if (!line || (line != text && line[-1] != ' '))
		return -ENODEV;
	while (line > text && line[-1] != '\n')
		line--;
	return sscanf(line, "%d", &major) == 1 ? major : -ENODEV;
}

static int read_uvm_major(void)
{
	int major = -ENODEV;
	struct file *file;
	loff_t pos = 0;
	char *text;

	text = kzalloc(PAGE_SIZE, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	file = compat_file_open_root(proc_mnt, "devices", O_RDONLY);
	if (IS_ERR(file)) {
		kfree(text);
		return PTR_ERR(file);
	}
	if (kernel_read(file, text, PAGE_SIZE - 1, &pos) > 0)
		major = find_major(text, "nvidia-uvm\n");
	fput(file);
	kfree(text);
	return major;
}

/* The number is kept until a module comes or goes: any of them may bring, take or reuse it. */
static atomic_t modules_seen = ATOMIC_INIT(1);
static u64 kept_major; /* modules_seen when it was read, then the number: one word, no lock */

static int module_event(struct notifier_block *block, unsigned long action, void *module)
{
	if (action == MODULE_STATE_COMING || action == MODULE_STATE_GOING)
		atomic_inc(&modules_seen);
	return NOTIFY_DONE;
}

static struct notifier_block module_notifier = { .notifier_call = module_event };

int gsh_uvm_major(void)
{
	u32 seen = atomic_read(&modules_seen);
	u64 kept = READ_ONCE(kept_major);
	int major;

	if (kept >> 32 == seen)
		return (u32)kept;
	major = read_uvm_major();
	if (major > 0)
		WRITE_ONCE(kept_major, (u64)seen << 32 | major);
	return major;
}

static int mount_proc(void)
{
	struct file_system_type *type = get_fs_type("proc");
	struct vfsmount *mnt;

	if (!type)
		return -ENODEV;
	mnt = kern_mount(type);
	if (IS_ERR(mnt))
		return PTR_ERR(mnt);
	proc_mnt = mnt;
	return 0;
}

int gsh_host_init(void)
{
	int err = mount_proc();

	if (err)
		return err;
	gsh_wq = alloc_workqueue("gpushare", WQ_UNBOUND, 0);
	if (!gsh_wq) {
		err = -ENOMEM;
		goto proc;
	}
	host_mnt = kern_mount(&host_fs);
	if (IS_ERR(host_mnt)) {
		err = PTR_ERR(host_mnt);
		goto wq;
	}
	host_mnt->mnt_sb->s_iflags |= SB_I_NODEV | SB_I_NOEXEC;
	err = register_module_notifier(&module_notifier);
	if (err)
		goto mnt;
	return 0;
mnt:
	kern_unmount(host_mnt);
wq:
	destroy_workqueue(gsh_wq);
proc:
	kern_unmount(proc_mnt);
	return err;
}

/* No real file is left: each holds the module. */
void gsh_host_exit(void)
{
	unregister_module_notifier(&module_notifier);
	kern_unmount(host_mnt);
	destroy_workqueue(gsh_wq);
	kern_unmount(proc_mnt);
}
