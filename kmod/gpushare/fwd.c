// SPDX-License-Identifier: GPL-2.0
/*
 * Forwarding threads: the driver's calls on copies that no tenant can reach.
 *
 * The driver reads a call's structure, and what it points to, from user memory
 * of the calling task, some of it more than once. A check of those bytes
 * followed by forwarding the same address can be raced by another thread of
 * the tenant. So the bytes are copied in once, decided on, and the driver runs
 * in a kernel thread whose address space belongs to gpushare alone: it reads
 * our copy and writes its answer there. A descriptor inside a call becomes a
 * number of the kernel threads' own table, which no tenant can look into; a
 * stalled fault of the tenant cannot stall the driver either.
 *
 * The thread acts for the caller: with the caller's credentials less the
 * powers in gsh_file_cred(), and under its process number, by which the driver
 * records mappings and checks who may use an object (open-gpu-kernel-modules
 * 535.261.03 src/nvidia/src/kernel/rmapi/client_resource.c, share type PID).
 *
 * The address space is the one of the task that loaded the module: a module
 * cannot make one, and once that task has exited nothing else runs in it.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fdtable.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "gpushare.h"
#include "trace.h"

#define WORKERS_MAX 8
/* One call's copies: the driver takes parameters of 1 MiB at most. */
#define BOUNCE_BYTES (SZ_1M + SZ_256K)

#define BOUNCE_PAGES (BOUNCE_BYTES / PAGE_SIZE)

struct worker {
	struct list_head link;
	struct gsh_fwd *fwd;
	struct task_struct *task;
	unsigned long bounce; /* address in bounce_mm, 0: none */
	struct page *pages[BOUNCE_PAGES]; /* made at first touch; this worker alone */
};

static struct mm_struct *bounce_mm;
static struct gsh_fwd own;

struct gsh_fwd *gsh_fwd_own(void)
{
	return &own;
}

/* ---- jobs ---- */

struct gsh_job *gsh_job_new(struct file *real, unsigned int cmd)
{
	struct gsh_job *job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);

	if (!job)
		return NULL;
	kref_init(&job->ref);
	init_completion(&job->done);
	INIT_LIST_HEAD(&job->link);
	job->real = get_file(real);
	job->cmd = cmd;
	job->tgid = current->tgid;
	job->overhead_kind = -1;
	return job;
}

/* Adds a zeroed block; returns its index or a negative errno. */
int gsh_job_seg(struct gsh_job *job, u32 size, u64 user, u8 parent, u32 ptr_off)
{
	struct gsh_seg *seg = &job->segs[job->nsegs];

	if (job->nsegs == GSH_SEGS_MAX || size > SZ_1M)
		return -E2BIG;
	seg->buf = kvzalloc(max_t(u32, size, 1), GFP_KERNEL_ACCOUNT);
	if (!seg->buf)
		return -ENOMEM;
	seg->size = size;
	seg->user = user;
	seg->parent = parent;
	seg->ptr_off = ptr_off;
	return job->nsegs++;
}

/* Takes over the reference on file, also when it fails. */
int gsh_job_fd(struct gsh_job *job, struct file *file, u8 seg, u32 off, u8 width)
{
	struct gsh_fd *fd = &job->fds[job->nfds];

	if (job->nfds == GSH_FDS_MAX || off + width > job->segs[seg].size) {
		fput(file);
		return -E2BIG;
	}
	*fd = (struct gsh_fd){ .file = file, .seg = seg, .off = off, .width = width };
	job->nfds++;
	return 0;
}

/* Somebody may have read a worker's pid while it was lent: free it a grace period later. */
struct lent_pid {
	struct rcu_head rcu;
	struct pid *pid;
};

static void lent_pid_free(struct rcu_head *rcu)
{
	struct lent_pid *lent = container_of(rcu, struct lent_pid, rcu);

	put_pid(lent->pid);
	kfree(lent);
}

static void put_pid_rcu(struct pid *pid)
{
	struct lent_pid *lent = kmalloc(sizeof(*lent), GFP_KERNEL);

	if (!lent) {
		synchronize_rcu();
		put_pid(pid);
		return;
	}
	lent->pid = pid;
	call_rcu(&lent->rcu, lent_pid_free);
}

static void job_release(struct kref *ref)
{
	struct gsh_job *job = container_of(ref, struct gsh_job, ref);
	unsigned int i;

	for (i = 0; i < job->nsegs; i++)
		kvfree(job->segs[i].buf);
	for (i = 0; i < job->nfds; i++)
		fput(job->fds[i].file);
	if (job->presence)
		fput(job->presence);
	if (job->other)
		gsh_real_put(job->other);
	if (job->cred)
		put_cred(job->cred);
	if (job->as_pid)
		put_pid_rcu(job->as_pid);
	fput(job->real);
	if (job->vfile)
		fput(job->vfile);
	kfree(job);
}

void gsh_job_put(struct gsh_job *job)
{
	kref_put(&job->ref, job_release);
}

/* ---- one call ---- */

static unsigned long bounce_map(struct worker *w);

static void put_number(void *at, u8 width, u64 value)
{
	u32 low = value;

	if (width == 8)
		memcpy(at, &value, 8);
	else
		memcpy(at, &low, 4);
}

static u64 get_number(const void *at, u8 width)
{
	u64 value = 0;

	memcpy(&value, at, width); /* little endian: x86-64 only */
	return value;
}

/* A number in the kernel threads' table; -1 leaves the driver to refuse it. */
static int lend(struct file *file)
{
	int nr = get_unused_fd_flags(O_CLOEXEC);

	if (nr >= 0)
		fd_install(nr, get_file(file));
	return nr;
}

/* Nothing but want of memory keeps our own pages from being written. */
static int lay_out(struct worker *w, struct gsh_job *job, unsigned long *at)
{
	unsigned long next;
	unsigned int i;

	if (!w->bounce)
		w->bounce = bounce_map(w);
	if (!w->bounce)
		return -ENOMEM;
	next = w->bounce;
	for (i = 0; i < job->nsegs; i++) {
		at[i] = next;
		next += ALIGN(max_t(u32, job->segs[i].size, 1), 64);
		if (next > w->bounce + BOUNCE_BYTES)
			return -E2BIG;
		if (i)
			put_number(job->segs[job->segs[i].parent].buf + job->segs[i].ptr_off, 8,
				   at[i]);
	}
	for (i = 0; i < job->nsegs; i++)
		if (copy_to_user((void __user *)at[i], job->segs[i].buf, job->segs[i].size))
			return -ENOMEM;
	return 0;
}

static void collect(struct gsh_job *job, const unsigned long *at)
{
	unsigned int i;

	for (i = 0; i < job->nsegs; i++)
		if (copy_from_user(job->segs[i].buf, (void __user *)at[i], job->segs[i].size))
			job->rc = -EFAULT;
}

/* The caller's own pointers, also where the call was never made. */
static void restore_pointers(struct gsh_job *job)
{
	unsigned int i;

	for (i = 1; i < job->nsegs; i++)
		put_number(job->segs[job->segs[i].parent].buf + job->segs[i].ptr_off, 8,
			   job->segs[i].user);
}

/*
 * Under the caller's process number; for a new client also under its pid, of
 * which the driver keeps a reference to tell processes by. The pids of a kernel
 * thread are read by /proc alone, and put back before it does anything else.
 */
static long call_driver(struct gsh_job *job, unsigned long arg)
{
	const struct cred *old = job->cred ? override_creds(job->cred) : NULL;
	struct pid *pid = current->thread_pid;
	pid_t tgid = current->tgid;
	long rc;

	current->tgid = job->tgid;
	if (job->as_pid)
		smp_store_release(&current->thread_pid, job->as_pid);
	job->entered = true;
	rc = job->real->f_op->unlocked_ioctl(job->real, job->cmd, arg);
	if (job->as_pid)
		smp_store_release(&current->thread_pid, pid);
	current->tgid = tgid;
	if (old)
		revert_creds(old);
	return rc;
}

static void job_execute(struct worker *w, struct gsh_job *job)
{
	unsigned long at[GSH_SEGS_MAX];
	int nr[GSH_FDS_MAX], presence = -1;
	unsigned int i;

	job->worker = w;
	for (i = 0; i < job->nfds; i++) {
		void *field = job->segs[job->fds[i].seg].buf + job->fds[i].off;

		job->fds[i].saved = get_number(field, job->fds[i].width);
		nr[i] = lend(job->fds[i].file);
		put_number(field, job->fds[i].width, nr[i]);
	}
	if (job->presence)
		presence = lend(job->presence);
	job->rc = lay_out(w, job, at);
	if (!job->rc) {
		u64 begun_ns = job->queued_ns ? ktime_get_ns() : 0;

		job->rc = call_driver(job, at[0]);
		if (begun_ns)
			trace_gpushare_forward(job, begun_ns - job->queued_ns,
					       ktime_get_ns() - begun_ns);
		collect(job, at);
	}
	restore_pointers(job);
	if (presence >= 0)
		close_fd(presence);
	for (i = 0; i < job->nfds; i++) {
		put_number(job->segs[job->fds[i].seg].buf + job->fds[i].off, job->fds[i].width,
			   job->fds[i].saved);
		if (nr[i] >= 0)
			close_fd(nr[i]);
	}
}

static void job_finish(struct worker *w, struct gsh_job *job)
{
	job_execute(w, job);
	if (job->settle)
		job->settle(job);
	if (job->held)
		up(job->held);
	/* A caller that closes its file and deletes its tenant next shall not find it open. */
	if (job->vfile)
		fput(job->vfile);
	job->vfile = NULL;
	complete_all(&job->done);
	gsh_job_put(job);
}

void gsh_job_nested(struct gsh_job *outer, struct gsh_job *job)
{
	if (WARN_ON_ONCE(!outer->worker)) {
		job->rc = -EIO;
		return;
	}
	job->tgid = outer->tgid;
	job->cred = outer->cred ? get_cred(outer->cred) : NULL;
	job_execute(outer->worker, job);
}

/* ---- threads ---- */

static struct gsh_job *next_job(struct gsh_fwd *fwd)
{
	struct gsh_job *job;

	spin_lock(&fwd->lock);
	job = list_first_entry_or_null(&fwd->jobs, struct gsh_job, link);
	if (job) {
		list_del_init(&job->link);
		fwd->idle--;
	}
	spin_unlock(&fwd->lock);
	return job;
}

static void now_idle(struct gsh_fwd *fwd)
{
	spin_lock(&fwd->lock);
	fwd->idle++;
	spin_unlock(&fwd->lock);
}

static void worker_loop(struct worker *w)
{
	struct gsh_fwd *fwd = w->fwd;
	struct gsh_job *job;

	for (;;) {
		wait_event_idle_exclusive(fwd->wake,
					  kthread_should_stop() || !list_empty_careful(&fwd->jobs));
		job = next_job(fwd);
		if (job) {
			job_finish(w, job);
			now_idle(fwd);
		} else if (kthread_should_stop()) {
			return;
		}
	}
}

/* ---- where the copies lie ---- */

/* Pages of the module's own, mapped by number: the driver can read and write them as
 * user memory, and nothing can pin them, swap them out or reclaim them. */
static vm_fault_t bounce_fault(struct vm_fault *vmf)
{
	struct worker *w = vmf->vma->vm_private_data;
	struct page *page;

	if (vmf->pgoff >= BOUNCE_PAGES)
		return VM_FAULT_SIGBUS;
	page = w->pages[vmf->pgoff];
	if (!page) {
		page = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!page)
			return VM_FAULT_OOM;
		w->pages[vmf->pgoff] = page;
	}
	return vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(page));
}

static const struct vm_operations_struct bounce_vm_ops = { .fault = bounce_fault };

static int bounce_mmap(struct file *file, struct vm_area_struct *vma)
{
	compat_vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vma->vm_private_data = file->private_data;
	vma->vm_ops = &bounce_vm_ops;
	return 0;
}

/* No .owner: gpushare's own threads would keep the module for ever. The file goes with
 * its thread, and gsh_fwd_exit() waits for the last of them. */
static const struct file_operations bounce_fops = {
	.mmap = bounce_mmap,
};

/* All workers share the address space: a place that nobody can guess keeps a
 * pointer that slipped through a call from pointing at another's copies. */
static unsigned long bounce_map(struct worker *w)
{
	struct file *file = anon_inode_getfile("gpushare", &bounce_fops, w, O_RDWR);
	unsigned long hint, addr = 0;
	int tries;

	if (IS_ERR(file))
		return 0;
	for (tries = 0; tries < 8; tries++) {
		hint = get_random_long() & GENMASK(45, 21);
		addr = vm_mmap(file, hint, BOUNCE_BYTES, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_FIXED_NOREPLACE, 0);
		if (!IS_ERR_VALUE(addr))
			break;
		addr = 0;
	}
	fput(file); /* the mapping has it */
	return addr;
}

static void bounce_unmap(struct worker *w)
{
	unsigned int i;

	if (w->bounce)
		vm_munmap(w->bounce, BOUNCE_BYTES);
	for (i = 0; i < BOUNCE_PAGES; i++)
		if (w->pages[i])
			__free_page(w->pages[i]);
}

static int worker_main(void *data)
{
	struct worker *w = data;

	kthread_use_mm(bounce_mm);
	worker_loop(w);
	bounce_unmap(w);
	kthread_unuse_mm(bounce_mm);
	return 0;
}

static int worker_create(struct gsh_fwd *fwd)
{
	struct worker *w = kzalloc(sizeof(*w), GFP_KERNEL);
	struct task_struct *task;

	if (!w)
		return -ENOMEM;
	w->fwd = fwd;
	task = kthread_create(worker_main, w, "gpushare_fwd");
	if (IS_ERR(task)) { /* EAGAIN where no process number could be had */
		kfree(w);
		return -ENOMEM;
	}
	w->task = get_task_struct(task);
	spin_lock(&fwd->lock);
	list_add(&w->link, &fwd->workers);
	fwd->idle++;
	spin_unlock(&fwd->lock);
	wake_up_process(task);
	return 0;
}

/* True if a thread has to be made first; counts it in so that two callers
 * do not both make the last one. */
static bool enqueue(struct gsh_fwd *fwd, struct gsh_job *job)
{
	unsigned int waiting = 1;
	struct list_head *at;
	bool grow;

	spin_lock(&fwd->lock);
	list_for_each(at, &fwd->jobs)
		waiting++;
	grow = fwd->idle < waiting && fwd->total < WORKERS_MAX;
	if (grow)
		fwd->total++;
	list_add_tail(&job->link, &fwd->jobs);
	spin_unlock(&fwd->lock);
	return grow;
}

static void uncount(struct gsh_fwd *fwd)
{
	spin_lock(&fwd->lock);
	fwd->total--;
	spin_unlock(&fwd->lock);
}

/* No thread is left and none can be made: nobody would ever run what is queued. */
static void fail_queued(struct gsh_fwd *fwd, int err)
{
	struct gsh_job *job;

	for (;;) {
		spin_lock(&fwd->lock);
		job = fwd->total ? NULL :
				   list_first_entry_or_null(&fwd->jobs, struct gsh_job, link);
		if (job)
			list_del_init(&job->link);
		spin_unlock(&fwd->lock);
		if (!job)
			return;
		job->rc = err;
		if (job->settle)
			job->settle(job);
		if (job->held)
			up(job->held);
		complete_all(&job->done);
		gsh_job_put(job);
	}
}

static bool withdraw(struct gsh_fwd *fwd, struct gsh_job *job)
{
	bool queued;

	spin_lock(&fwd->lock);
	queued = !list_empty(&job->link);
	if (queued)
		list_del_init(&job->link);
	spin_unlock(&fwd->lock);
	return queued;
}

/* The caller was killed. A job that has not begun is taken back and settled
 * here as one that the driver refused; a running one settles by itself. */
static int abandon(struct gsh_fwd *fwd, struct gsh_job *job)
{
	if (!withdraw(fwd, job))
		return -EINTR;
	job->rc = -EINTR;
	if (job->settle)
		job->settle(job);
	if (job->held)
		up(job->held);
	gsh_job_put(job);
	return -EINTR;
}

int gsh_job_run(struct gsh_fwd *fwd, struct gsh_job *job)
{
	int err;

	job->queued_ns = trace_gpushare_forward_enabled() ? ktime_get_ns() : 0;
	kref_get(&job->ref); /* the worker's */
	if (enqueue(fwd, job)) {
		err = worker_create(fwd);
		if (err) {
			uncount(fwd);
			fail_queued(fwd, err);
		}
	}
	wake_up(&fwd->wake);
	if (wait_for_completion_killable(&job->done))
		return abandon(fwd, job);
	return 0;
}

void gsh_fwd_setup(struct gsh_fwd *fwd)
{
	spin_lock_init(&fwd->lock);
	INIT_LIST_HEAD(&fwd->jobs);
	INIT_LIST_HEAD(&fwd->workers);
	init_waitqueue_head(&fwd->wake);
}

/* No job may be queued or running: the last user of the tenant is gone. */
void gsh_fwd_shutdown(struct gsh_fwd *fwd)
{
	struct worker *w, *next;

	list_for_each_entry_safe(w, next, &fwd->workers, link) {
		kthread_stop(w->task);
		put_task_struct(w->task);
		list_del(&w->link);
		kfree(w);
	}
}

int gsh_fwd_init(void)
{
	if (!current->mm) {
		pr_err("load the module from a process: modprobe, insmod or systemd\n");
		return -ENODEV;
	}
	bounce_mm = current->mm;
	mmget(bounce_mm);
	gsh_fwd_setup(&own);
	return 0;
}

void gsh_fwd_exit(void)
{
	gsh_fwd_shutdown(&own);
	flush_delayed_fput(); /* the threads' files */
	rcu_barrier(); /* lent_pid_free() */
	mmput(bounce_mm);
}
