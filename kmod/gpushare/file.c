// SPDX-License-Identifier: GPL-2.0
/*
 * An open virtual file and the driver's file behind it.
 *
 * open: the node names the tenant, the gate admits or refuses the opener, the
 * real file is opened with the opener's credentials less a few powers. poll
 * and mmap go to the real file. release drops it; what the driver still holds
 * is given back when the real file's inode goes (host.c).
 */
#include <linux/capability.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat.h"
#include "gpushare.h"
#include "trace.h"

/* ---- credentials ---- */

/* To NVIDIA's driver, CAP_SYS_ADMIN may map any physical memory, CAP_SYS_NICE
 * may raise its channels' interleave level, CAP_SYS_RAWIO may touch hardware.
 * A tenant that is root has none of these towards it. */
static const int withheld[] = { CAP_SYS_ADMIN, CAP_SYS_NICE, CAP_SYS_RAWIO };

static struct cred *lesser_cred(void)
{
	struct cred *cred = prepare_creds();
	unsigned int i;

	if (!cred)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(withheld); i++) {
		cap_lower(cred->cap_effective, withheld[i]);
		cap_lower(cred->cap_permitted, withheld[i]);
	}
	return cred;
}

/* Returns a reference; the pair of the last caller is kept. NULL: no memory. */
const struct cred *gsh_file_cred(struct gsh_file *f)
{
	const struct cred *cred = NULL, *old_src, *old;

	spin_lock(&f->cred_lock);
	if (f->cred_src == current_cred())
		cred = get_cred(f->cred);
	spin_unlock(&f->cred_lock);
	if (cred)
		return cred;
	cred = lesser_cred();
	if (!cred)
		return NULL;
	spin_lock(&f->cred_lock);
	old_src = f->cred_src;
	old = f->cred;
	f->cred_src = get_current_cred();
	f->cred = get_cred(cred);
	spin_unlock(&f->cred_lock);
	if (old_src) {
		put_cred(old_src);
		put_cred(old);
	}
	return cred;
}

/* ---- open and release ---- */

static int admit(struct gsh_tenant *tenant)
{
	if (gsh_tenant_admits(tenant))
		return 0;
	atomic64_inc(&tenant->stats.open_denied);
	gsh_event(GPUSHARE_EVENT_TYPE_OPEN_DENIED, tenant, NULL, 0,
		  "open from outside the tenant's cgroup");
	return -EACCES;
}

/* Under the registry lock, so that a deletion sees each file or is seen by it. */
static int enlist(struct gsh_file *f)
{
	struct gsh_tenant *tenant = f->tenant;
	int err = 0;

	mutex_lock(&tenant->registry);
	if (tenant->dying) {
		err = -ENODEV;
	} else {
		atomic_inc(&tenant->open_files);
		list_add_tail(&f->link, &tenant->files);
	}
	mutex_unlock(&tenant->registry);
	return err;
}

static void delist(struct gsh_file *f)
{
	mutex_lock(&f->tenant->registry);
	list_del(&f->link);
	atomic_dec(&f->tenant->open_files);
	mutex_unlock(&f->tenant->registry);
}

static void file_free(struct gsh_file *f)
{
	if (f->cred_src) {
		put_cred(f->cred_src);
		put_cred(f->cred);
	}
	if (f->ctl)
		gsh_real_put(f->ctl);
	if (f->r)
		gsh_real_put(f->r);
	put_pid(f->pid);
	gsh_tenant_put(f->tenant);
	kfree(f);
}

static struct gsh_file *file_new(struct gsh_vnode *node)
{
	struct gsh_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return NULL;
	f->tenant = node->tenant;
	f->kind = node->kind;
	f->card = node->card;
	INIT_LIST_HEAD(&f->link);
	spin_lock_init(&f->cred_lock);
	f->pid = get_pid(task_tgid(current));
	get_task_comm(f->comm, current);
	return f;
}

static int open_real(struct gsh_file *f, unsigned int flags)
{
	const struct cred *cred = gsh_file_cred(f), *old;

	if (!cred)
		return -ENOMEM;
	old = override_creds(cred);
	f->real = gsh_real_open(f->tenant, f->kind, f->card, flags, cred, &f->r);
	revert_creds(old);
	put_cred(cred);
	if (IS_ERR(f->real))
		return PTR_ERR(f->real);
	if (f->kind == GPUSHARE_NODE_KIND_UVM) {
		f->r->uvm = gsh_uvm_create(f->r, f->real);
		if (!f->r->uvm) {
			fput(f->real);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Takes over the reference on the tenant, also when it fails. */
static int open_node(struct gsh_vnode *node, struct file *file)
{
	struct gsh_file *f;
	int err;

	f = file_new(node);
	if (!f) {
		gsh_tenant_put(node->tenant);
		return -ENOMEM;
	}
	err = enlist(f);
	if (err)
		goto free;
	err = open_real(f, file->f_flags);
	if (err)
		goto delist;
	f->vfile = file;
	file->private_data = f;
	return 0;
delist:
	delist(f);
free:
	file_free(f);
	return err;
}

static int gsh_open(struct inode *inode, struct file *file)
{
	struct gsh_vnode *node = gsh_node_get(inode->i_rdev);
	struct gsh_tenant *tenant;
	enum gpushare_node_kind kind;
	int err;

	if (!node)
		return -ENXIO;
	tenant = node->tenant;
	kind = node->kind;
	gsh_tenant_get(tenant); /* to tell of it */
	err = admit(tenant);
	if (err)
		gsh_tenant_put(tenant);
	else
		err = open_node(node, file);
	trace_gpushare_open(tenant, kind, err);
	gsh_tenant_put(tenant);
	return err;
}

static int gsh_release(struct inode *inode, struct file *file)
{
	struct gsh_file *f = file->private_data;

	trace_gpushare_release(f->tenant, f->kind, 0);
	fput(f->real);
	delist(f);
	file_free(f);
	return 0;
}

/* ---- calls ---- */

/* The driver looks at O_NONBLOCK of its own file. */
void gsh_file_sync_flags(struct file *vfile, struct gsh_file *f)
{
	unsigned int want = READ_ONCE(vfile->f_flags) & O_NONBLOCK;

	if ((READ_ONCE(f->real->f_flags) & O_NONBLOCK) == want)
		return;
	spin_lock(&f->real->f_lock);
	f->real->f_flags = (f->real->f_flags & ~O_NONBLOCK) | want;
	spin_unlock(&f->real->f_lock);
}

static long gsh_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct gsh_file *f = file->private_data;

	atomic64_inc(&f->tenant->stats.ioctls);
	if (READ_ONCE(f->tenant->dying) || READ_ONCE(f->r->dead))
		return -ENODEV;
	gsh_file_sync_flags(file, f);
	if (f->kind == GPUSHARE_NODE_KIND_UVM)
		return gsh_uvm_ioctl(file, f, cmd, arg);
	return gsh_frontend_ioctl(file, f, cmd, arg);
}

static __poll_t gsh_poll(struct file *file, poll_table *wait)
{
	struct gsh_file *f = file->private_data;

	if (READ_ONCE(f->r->dead))
		return EPOLLERR;
	gsh_file_sync_flags(file, f);
	return vfs_poll(f->real, wait);
}

/* The mapping's file must be the driver's before its mmap runs: its fault
 * handlers take their state from there (without this a CPU hangs). */
static int gsh_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct gsh_file *f = file->private_data;
	const struct cred *cred, *old;
	int err;

	if (READ_ONCE(f->tenant->dying) || READ_ONCE(f->r->dead))
		return -ENODEV;
	cred = gsh_file_cred(f);
	if (!cred)
		return -ENOMEM;
	compat_vma_set_file(vma, f->real);
	old = override_creds(cred);
	if (f->kind == GPUSHARE_NODE_KIND_UVM)
		err = gsh_uvm_mmap(f, vma);
	else
		err = compat_call_mmap(f->real, vma);
	trace_gpushare_mmap(f, vma->vm_start, vma->vm_end - vma->vm_start, err);
	revert_creds(old);
	put_cred(cred);
	if (err)
		compat_vma_unset_file(vma, file);
	return err;
}

const struct file_operations gsh_fops = {
	.owner = THIS_MODULE,
	.open = gsh_open,
	.release = gsh_release,
	.unlocked_ioctl = gsh_ioctl,
	.compat_ioctl = gsh_ioctl,
	.poll = gsh_poll,
	.mmap = gsh_mmap,
};

/* ---- who holds it ---- */

static int is_file(const void *wanted, struct file *file, unsigned int fd)
{
	return file == wanted;
}

static bool task_holds(struct task_struct *task, struct gsh_file *f)
{
	bool holds;

	task_lock(task);
	holds = task->files && iterate_fd(task->files, 0, is_file, f->vfile);
	task_unlock(task);
	return holds;
}

/* The opener may be gone and a child still have it. registry held: f stays. */
struct pid *gsh_file_holder(struct gsh_file *f)
{
	struct task_struct *task;
	struct pid *pid = NULL;

	rcu_read_lock();
	task = pid_task(f->pid, PIDTYPE_TGID);
	if (task && task_holds(task, f)) {
		pid = get_pid(f->pid);
		goto unlock;
	}
	for_each_process(task) if (task_holds(task, f))
	{
		pid = get_pid(task_tgid(task));
		break;
	}
unlock:
	rcu_read_unlock();
	return pid ?: get_pid(f->pid);
}

/* ---- descriptors inside calls ---- */

struct gsh_file *gsh_file_of(struct file *file)
{
	return file->f_op == &gsh_fops ? file->private_data : NULL;
}

struct gsh_file *gsh_file_get_fd(struct gsh_tenant *tenant, int fd, struct file **out)
{
	struct file *file = fget(fd);
	struct gsh_file *f;

	if (!file)
		return NULL;
	f = gsh_file_of(file);
	if (!f || f->tenant != tenant) {
		fput(file);
		return NULL;
	}
	*out = file;
	return f;
}
