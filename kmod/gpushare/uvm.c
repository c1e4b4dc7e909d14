// SPDX-License-Identifier: GPL-2.0
/*
 * The managed-memory node.
 *
 * Managed memory: no call carries its size. The charge is the summed length of
 * the mappings of the real file, counted at each mmap through us, when the
 * kernel tells that something was unmapped, and before any "no". It is charged
 * to every share of the tenant: the driver may move it to any of its cards.
 *
 * External mappings: the driver keeps the mapped object's memory alive until
 * the range is freed, so each is a reference on it here. Calls that make, end
 * or name them run on copies, one at a time with the tenant's other memory
 * calls. The rest runs in the caller's context: the driver ties the file to
 * the caller's address space, and the command is in the call's number, not
 * in memory.
 */
#include <linux/ctype.h>
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "gpushare.h"

/* One address space with mappings of the file. Lives until the file is gone. */
struct mapped_mm {
	struct list_head link; /* uvm->lock */
	struct mmu_notifier notifier;
	struct gsh_uvm *uvm; /* reference */
	struct mm_struct *mm; /* mm_count reference */
	u64 bytes; /* uvm->lock; charged for this address space */
	struct work_struct recount_work;
	bool gone; /* uvm->lock */
};

struct external { /* [base, base + length) maps mem */
	struct list_head link;
	u64 base, length;
	struct gsh_mem *mem;
};

struct uvm_range { /* made by CREATE_EXTERNAL_RANGE or ALLOC_SEMAPHORE_POOL */
	struct list_head link;
	u64 base, length;
	bool pool; /* never managed memory */
};

struct gsh_uvm {
	struct kref ref;
	struct gsh_tenant *tenant; /* valid while real lives; real holds it */
	const struct file *file; /* the real one: only compared, never used */
	spinlock_t lock;
	struct list_head mms; /* lock */
	struct list_head pools; /* lock: struct uvm_range.link */
	struct list_head externals; /* tenant->registry */
	struct list_head ranges; /* tenant->registry */
	bool gone; /* lock */
};

/* ---- lifetime ---- */

struct gsh_uvm *gsh_uvm_create(struct gsh_real *real, struct file *file)
{
	struct gsh_uvm *uvm = kzalloc(sizeof(*uvm), GFP_KERNEL_ACCOUNT);

	if (!uvm)
		return NULL;
	kref_init(&uvm->ref);
	uvm->tenant = real->tenant;
	uvm->file = file;
	gsh_tenant_get(uvm->tenant);
	spin_lock_init(&uvm->lock);
	INIT_LIST_HEAD(&uvm->mms);
	INIT_LIST_HEAD(&uvm->pools);
	INIT_LIST_HEAD(&uvm->externals);
	INIT_LIST_HEAD(&uvm->ranges);
	return uvm;
}

static void uvm_release(struct kref *ref)
{
	struct gsh_uvm *uvm = container_of(ref, struct gsh_uvm, ref);

	gsh_tenant_put(uvm->tenant);
	kfree(uvm);
}

static void uvm_put(struct gsh_uvm *uvm)
{
	kref_put(&uvm->ref, uvm_release);
}

/* ---- counting managed memory ---- */

static bool in_pool(struct gsh_uvm *uvm, struct vm_area_struct *vma)
{
	struct uvm_range *range;

	list_for_each_entry(range, &uvm->pools, link)
		if (vma->vm_start >= range->base &&
		    vma->vm_end <= range->base + range->length)
			return true;
	return false;
}

/* mmap_lock held. Counts what is mapped now; skip is a mapping being made. */
static u64 count(struct gsh_uvm *uvm, struct mm_struct *mm, struct vm_area_struct *skip)
{
	struct vm_area_struct *vma;
	VMA_ITERATOR(iter, mm, 0);
	u64 bytes = 0;

	for_each_vma(iter, vma) {
		if (vma == skip || vma->vm_file != uvm->file)
			continue;
		spin_lock(&uvm->lock);
		if (!in_pool(uvm, vma))
			bytes += vma->vm_end - vma->vm_start;
		spin_unlock(&uvm->lock);
	}
	return bytes;
}

/* All shares or none. Growing may be refused; the first that refuses is told. */
static struct gsh_share *charge_all(struct gsh_tenant *tenant, u64 from, u64 to)
{
	unsigned int i, j;

	for (i = 0; i < tenant->nshares; i++) {
		if (gsh_share_set_managed(&tenant->shares[i], from, to))
			continue;
		for (j = 0; j < i; j++)
			gsh_share_set_managed(&tenant->shares[j], to, from);
		return &tenant->shares[i];
	}
	return NULL;
}

/* mmap_lock of m->mm held: nothing else changes its mappings or m->bytes. */
static void recount_locked(struct mapped_mm *m)
{
	u64 now = count(m->uvm, m->mm, NULL);

	if (now < m->bytes) {
		charge_all(m->uvm->tenant, m->bytes, now);
		m->bytes = now;
	}
}

/* The address space went down with its mappings: nothing is mapped any more. */
static void forget(struct mapped_mm *m)
{
	charge_all(m->uvm->tenant, m->bytes, 0);
	m->bytes = 0;
}

static void recount(struct mapped_mm *m)
{
	if (!mmget_not_zero(m->mm)) {
		spin_lock(&m->uvm->lock);
		if (!m->gone)
			forget(m);
		spin_unlock(&m->uvm->lock);
		return;
	}
	mmap_write_lock(m->mm); /* against the mmap path, which changes m->bytes */
	if (!READ_ONCE(m->gone))
		recount_locked(m);
	mmap_write_unlock(m->mm);
	mmput(m->mm);
}

static void recount_work(struct work_struct *work)
{
	recount(container_of(work, struct mapped_mm, recount_work));
}

/* Runs under mmap_lock, before the unmap: only asks for a count later. */
static int on_unmap(struct mmu_notifier *notifier, const struct mmu_notifier_range *range)
{
	struct mapped_mm *m = container_of(notifier, struct mapped_mm, notifier);

	if (range->event == MMU_NOTIFY_UNMAP && READ_ONCE(m->bytes))
		queue_work(gsh_wq, &m->recount_work);
	return 0;
}

static void on_exit(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	struct mapped_mm *m = container_of(notifier, struct mapped_mm, notifier);

	queue_work(gsh_wq, &m->recount_work);
}

static const struct mmu_notifier_ops notifier_ops = {
	.invalidate_range_start = on_unmap,
	.release = on_exit,
};

#define RECOUNT_TRIES 10

/* A process that is changing its mappings right now is counted by its own mmap. */
static void recount_now(struct mapped_mm *m)
{
	int tries;

	if (!mmget_not_zero(m->mm))
		return; /* on its way out: on_exit() has asked for a count */
	for (tries = 0; tries < RECOUNT_TRIES; tries++) {
		if (mmap_write_trylock(m->mm)) {
			recount_locked(m);
			mmap_write_unlock(m->mm);
			break;
		}
		usleep_range(200, 500);
	}
	mmput_async(m->mm);
}

static struct mapped_mm *next_mm(struct gsh_uvm *uvm, struct mapped_mm *m)
{
	spin_lock(&uvm->lock);
	if (!m)
		m = list_first_entry_or_null(&uvm->mms, struct mapped_mm, link);
	else
		m = list_is_last(&m->link, &uvm->mms) ? NULL : list_next_entry(m, link);
	spin_unlock(&uvm->lock);
	return m;
}

/* For one tenant, before a refusal. Takes mmap_locks: not for a thread that has
 * one. The registry lock keeps the entries. */
void gsh_uvm_recount(struct gsh_tenant *tenant)
{
	struct gsh_real *real;
	struct mapped_mm *m;

	mutex_lock(&tenant->registry);
	list_for_each_entry(real, &tenant->reals, link) {
		if (!real->uvm)
			continue;
		for (m = next_mm(real->uvm, NULL); m; m = next_mm(real->uvm, m))
			if (READ_ONCE(m->bytes))
				recount_now(m);
	}
	mutex_unlock(&tenant->registry);
}

static struct mapped_mm *find_mm(struct gsh_uvm *uvm, struct mm_struct *mm)
{
	struct mapped_mm *m, *found = NULL;

	spin_lock(&uvm->lock);
	list_for_each_entry(m, &uvm->mms, link)
		if (m->mm == mm)
			found = m;
	spin_unlock(&uvm->lock);
	return found;
}

/* mmap_lock held for writing, as in mmap. */
static struct mapped_mm *add_mm(struct gsh_uvm *uvm, struct mm_struct *mm)
{
	struct mapped_mm *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	int err;

	if (!m)
		return ERR_PTR(-ENOMEM);
	m->notifier.ops = &notifier_ops;
	m->uvm = uvm;
	m->mm = mm;
	INIT_WORK(&m->recount_work, recount_work);
	err = __mmu_notifier_register(&m->notifier, mm);
	if (err) {
		kfree(m);
		return ERR_PTR(err);
	}
	mmgrab(mm);
	kref_get(&uvm->ref);
	spin_lock(&uvm->lock);
	list_add_tail(&m->link, &uvm->mms);
	spin_unlock(&uvm->lock);
	return m;
}

/*
 * Under mmap_lock. The true length of everything after this mapping must fit,
 * or the driver is not asked at all.
 */
int gsh_uvm_mmap(struct gsh_file *f, struct vm_area_struct *vma)
{
	struct gsh_uvm *uvm = f->r->uvm;
	struct mapped_mm *m = find_mm(uvm, vma->vm_mm);
	u64 length = vma->vm_end - vma->vm_start, now, want;
	struct gsh_share *full;
	bool pool;
	int err;

	if (!m)
		m = add_mm(uvm, vma->vm_mm);
	if (IS_ERR(m))
		return PTR_ERR(m);
	now = count(uvm, vma->vm_mm, vma);
	spin_lock(&uvm->lock);
	pool = in_pool(uvm, vma);
	spin_unlock(&uvm->lock);
	want = now + (pool ? 0 : length);
	full = charge_all(uvm->tenant, m->bytes, want);
	if (full) {
		gsh_share_refused(full, length);
		return -ENOMEM;
	}
	m->bytes = want;
	err = call_mmap(f->real, vma);
	if (err) {
		charge_all(uvm->tenant, m->bytes, now);
		m->bytes = now;
	}
	return err;
}

/* The real file is gone, so no mapping of it is left anywhere. registry held. */
static void drop_mms(struct gsh_uvm *uvm)
{
	struct mapped_mm *m;

	for (;;) {
		spin_lock(&uvm->lock);
		m = list_first_entry_or_null(&uvm->mms, struct mapped_mm, link);
		if (m) {
			list_del(&m->link);
			WRITE_ONCE(m->gone, true);
			forget(m);
		}
		spin_unlock(&uvm->lock);
		if (!m)
			return;
		mmu_notifier_unregister(&m->notifier, m->mm);
		cancel_work_sync(&m->recount_work);
		mmdrop(m->mm);
		uvm_put(m->uvm);
		kfree(m);
	}
}

/* ---- external mappings; tenant->registry held ---- */

static void drop_range(struct gsh_uvm *uvm, u64 base, u64 length)
{
	struct external *e, *next;
	u64 end = base + length;

	list_for_each_entry_safe(e, next, &uvm->externals, link) {
		u64 e_end = e->base + e->length;

		/* A part that stays mapped keeps the whole object. */
		if (e->base < base || e_end > end)
			continue;
		list_del(&e->link);
		gsh_mem_put(e->mem, false);
		kfree(e);
	}
}

static void free_list_ranges(struct list_head *list, u64 base)
{
	struct uvm_range *range, *next;

	list_for_each_entry_safe(range, next, list, link)
		if (range->base == base) {
			list_del(&range->link);
			kfree(range);
		}
}

static u64 range_length(struct gsh_uvm *uvm, u64 base)
{
	struct uvm_range *range;

	list_for_each_entry(range, &uvm->ranges, link)
		if (range->base == base)
			return range->length;
	return 0;
}

void gsh_uvm_gone(struct gsh_uvm *uvm)
{
	struct external *e, *next;
	struct uvm_range *range, *after;

	drop_mms(uvm);
	list_for_each_entry_safe(e, next, &uvm->externals, link) {
		list_del(&e->link);
		gsh_mem_put(e->mem, false);
		kfree(e);
	}
	list_for_each_entry_safe(range, after, &uvm->ranges, link)
		kfree(range);
	list_for_each_entry_safe(range, after, &uvm->pools, link)
		kfree(range);
	uvm_put(uvm);
}

/* ---- calls on copies ---- */

struct uvm_job { /* what settle needs beside the copy */
	struct gsh_uvm_request req;
	void *room; /* allocated before the call, so that its books cannot fail */
};

static bool succeeded(struct gsh_job *job, const struct gsh_uvm_request *req)
{
	u32 status;

	memcpy(&status, gsh_job_top(job) + req->status_off, sizeof(status));
	return !job->rc && status == NV_OK;
}

static struct gsh_mem *mem_of(struct gsh_tenant *tenant, u32 h_client, u32 handle)
{
	struct gsh_client *client = gsh_client_find(tenant, h_client);
	struct gsh_obj *obj = client ? gsh_obj_find(client, handle) : NULL;

	return obj ? obj->mem : NULL;
}

static void settle_external(struct gsh_uvm *uvm, struct uvm_job *u)
{
	struct gsh_mem *mem = mem_of(uvm->tenant, u->req.h_client, u->req.h_object);
	struct external *e = u->room;

	drop_range(uvm, u->req.base, u->req.length);
	if (!mem)
		return; /* system memory */
	e->base = u->req.base;
	e->length = u->req.length;
	e->mem = mem;
	gsh_mem_get(mem, false);
	list_add(&e->link, &uvm->externals);
	u->room = NULL;
}

static void settle_range(struct gsh_uvm *uvm, struct uvm_job *u, bool pool)
{
	struct uvm_range *range = u->room;

	range->base = u->req.base;
	range->length = u->req.length;
	range->pool = pool;
	if (pool) {
		spin_lock(&uvm->lock);
		list_add(&range->link, &uvm->pools);
		spin_unlock(&uvm->lock);
	} else {
		list_add(&range->link, &uvm->ranges);
	}
	u->room = NULL;
}

static void settle_free(struct gsh_uvm *uvm, struct uvm_job *u)
{
	u64 length = range_length(uvm, u->req.base) ?: u->req.length;

	drop_range(uvm, u->req.base, length);
	free_list_ranges(&uvm->ranges, u->req.base);
	spin_lock(&uvm->lock);
	free_list_ranges(&uvm->pools, u->req.base);
	spin_unlock(&uvm->lock);
}

static void uvm_settle(struct gsh_job *job)
{
	struct gsh_uvm *uvm = job->file->r->uvm;
	struct uvm_job *u = job->private;

	mutex_lock(&uvm->tenant->registry);
	if (succeeded(job, &u->req)) {
		switch (u->req.kind) {
		case GSH_UVM_MAP_EXTERNAL:
			settle_external(uvm, u);
			break;
		case GSH_UVM_CREATE_EXTERNAL_RANGE:
			settle_range(uvm, u, false);
			break;
		case GSH_UVM_ALLOC_SEMAPHORE_POOL:
			settle_range(uvm, u, true);
			break;
		case GSH_UVM_FREE:
			settle_free(uvm, u);
			break;
		case GSH_UVM_UNMAP_EXTERNAL:
		case GSH_UVM_MAP_SPARSE:
			drop_range(uvm, u->req.base, u->req.length);
			break;
		default:
			break;
		}
	}
	mutex_unlock(&uvm->tenant->registry);
	kfree(u->room);
	kfree(u);
	job->private = NULL;
}

/* The client that a call names must be the tenant's: UVM acts with the kernel's rights. */
static u32 check(struct gsh_tenant *tenant, const struct gsh_uvm_request *req)
{
	bool found;

	switch (req->kind) {
	case GSH_UVM_REGISTER_GPU:
		if (!req->h_client) /* needed for partitions only */
			return NV_OK;
		fallthrough;
	case GSH_UVM_MAP_EXTERNAL:
	case GSH_UVM_REGISTER_GPU_VASPACE:
	case GSH_UVM_REGISTER_CHANNEL:
		mutex_lock(&tenant->registry);
		found = gsh_client_find(tenant, req->h_client);
		mutex_unlock(&tenant->registry);
		return found ? NV_OK : NV_ERR_INVALID_CLIENT;
	default:
		return NV_OK;
	}
}

/* "GPU-xxxxxxxx-...": the same 16 bytes that UVM is given. */
static struct gsh_card *card_by_bytes(const u8 *uuid)
{
	unsigned int i, n;

	for (i = 0; i < gsh_cards_count(); i++) {
		struct gsh_card *card = gsh_card_at(i);
		const char *text = card->uuid + 4;
		u8 bytes[16];

		for (n = 0; *text && n < 16;) {
			if (!isxdigit(text[0])) {
				text++;
				continue;
			}
			bytes[n++] = hex_to_bin(text[0]) << 4 | hex_to_bin(text[1]);
			text += 2;
		}
		if (n == 16 && !memcmp(bytes, uuid, 16))
			return card;
	}
	return NULL;
}

/* A card of which the tenant has no share does not exist for it. */
static u32 check_card(struct gsh_job *job, const struct gsh_uvm_request *req)
{
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_card *card = card_by_bytes(gsh_job_top(job) + req->uuid_off);

	if (!card || !gsh_tenant_share(tenant, card))
		return NV_ERR_INVALID_DEVICE;
	job->presence = gsh_presence_file(tenant, card);
	return NV_OK;
}

static long uvm_answer(struct gsh_job *job, const struct gsh_uvm_request *req, u32 status)
{
	if (status)
		memcpy(gsh_job_top(job) + req->status_off, &status, sizeof(status));
	return gsh_job_copy_out(job) ?: job->rc;
}

static long on_copy(struct gsh_file *f, struct gsh_job *job, struct gsh_uvm_request *req)
{
	size_t room = max(sizeof(struct external), sizeof(struct uvm_range));
	struct gsh_uvm_request copy = *req;
	struct uvm_job *u;
	u32 status;
	int err;

	status = check(f->tenant, req);
	if (!status && req->kind == GSH_UVM_REGISTER_GPU)
		status = check_card(job, req);
	if (status)
		return uvm_answer(job, req, status);
	u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
	if (!u)
		return -ENOMEM;
	u->req = *req;
	u->room = kzalloc(room, GFP_KERNEL_ACCOUNT);
	if (!u->room) {
		kfree(u);
		return -ENOMEM;
	}
	job->private = u;
	job->settle = uvm_settle;
	atomic64_inc(&f->tenant->stats.forwarded);
	err = gsh_job_run_memory(f->tenant, job);
	return err ?: uvm_answer(job, &copy, 0);
}

/* ---- calls in the caller's context ---- */

static long direct(struct gsh_file *f, unsigned int cmd, unsigned long arg)
{
	const struct cred *cred = gsh_file_cred(f), *old;
	long rc;

	if (!cred)
		return -ENOMEM;
	atomic64_inc(&f->tenant->stats.forwarded);
	old = override_creds(cred);
	rc = f->real->f_op->unlocked_ioctl(f->real, cmd, arg);
	revert_creds(old);
	put_cred(cred);
	return rc;
}

/*
 * MM_INITIALIZE compares the named file's operations with UVM's own, and the
 * address space with the caller's: it wants the real file under a number, and
 * the tenant's address space. A thread of its own has both, in a table that no
 * tenant can look into. The parameter lies in a page of the tenant's address
 * space for the length of the call: another of its threads can spoil the call
 * or stall this thread, neither of which reaches anybody else.
 */
struct mm_init {
	struct kref ref;
	struct completion done;
	struct file *vfile, *vnamed; /* references: they hold the real ones */
	struct file *real, *named;
	const struct cred *cred; /* reference */
	struct mm_struct *mm; /* reference on users: the page must not go */
	pid_t tgid;
	u32 status;
	long rc;
};

static void mm_init_release(struct kref *ref)
{
	struct mm_init *m = container_of(ref, struct mm_init, ref);

	if (m->vnamed)
		fput(m->vnamed);
	fput(m->vfile);
	put_cred(m->cred);
	mmput(m->mm);
	kfree(m);
}

static long mm_init_at(struct mm_init *m, unsigned long page, int nr)
{
	struct uvm_mm_initialize params = { .uvm_fd = nr };
	const struct cred *old;
	pid_t tgid = current->tgid;
	long rc;

	if (copy_to_user((void __user *)page, &params, sizeof(params)))
		return -EFAULT;
	old = override_creds(m->cred);
	current->tgid = m->tgid;
	rc = m->real->f_op->unlocked_ioctl(m->real, UVM_MM_INITIALIZE, page);
	current->tgid = tgid;
	revert_creds(old);
	if (copy_from_user(&params, (void __user *)page, sizeof(params)))
		return -EFAULT;
	m->status = params.rm_status;
	return rc;
}

static int mm_init_thread(void *data)
{
	struct mm_init *m = data;
	unsigned long page;
	int nr = -1;

	kthread_use_mm(m->mm);
	page = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (m->named)
		nr = get_unused_fd_flags(O_CLOEXEC);
	if (nr >= 0)
		fd_install(nr, get_file(m->named));
	m->rc = IS_ERR_VALUE(page) ? -ENOMEM : mm_init_at(m, page, nr);
	if (nr >= 0)
		close_fd(nr);
	if (!IS_ERR_VALUE(page))
		vm_munmap(page, PAGE_SIZE);
	kthread_unuse_mm(m->mm);
	complete_all(&m->done);
	kref_put(&m->ref, mm_init_release);
	return 0;
}

static struct mm_init *mm_init_new(struct file *vfile, struct gsh_file *f, int fd)
{
	struct mm_init *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	struct gsh_file *other;

	if (!m)
		return NULL;
	m->cred = gsh_file_cred(f);
	if (!m->cred) {
		kfree(m);
		return NULL;
	}
	kref_init(&m->ref);
	init_completion(&m->done);
	m->vfile = get_file(vfile);
	m->real = f->real;
	other = gsh_file_get_fd(f->tenant, fd, &m->vnamed);
	if (other && other->kind == GPUSHARE_NODE_KIND_UVM)
		m->named = other->real;
	m->tgid = current->tgid;
	m->mm = current->mm;
	mmget(m->mm);
	return m;
}

static long mm_initialize(struct file *vfile, struct gsh_file *f, unsigned long arg)
{
	struct uvm_mm_initialize params;
	struct task_struct *task;
	struct mm_init *m;
	long rc = -EINTR;

	if (copy_from_user(&params, (void __user *)arg, sizeof(params)))
		return -EFAULT;
	m = mm_init_new(vfile, f, params.uvm_fd);
	if (!m)
		return -ENOMEM;
	atomic64_inc(&f->tenant->stats.forwarded);
	kref_get(&m->ref); /* the thread's */
	task = kthread_run(mm_init_thread, m, "gpushare_mm");
	if (IS_ERR(task)) {
		kref_put(&m->ref, mm_init_release);
		rc = PTR_ERR(task);
	} else if (!wait_for_completion_killable(&m->done)) {
		rc = m->rc;
		params.rm_status = m->status;
		if (!rc && copy_to_user((void __user *)arg, &params, sizeof(params)))
			rc = -EFAULT;
	}
	kref_put(&m->ref, mm_init_release);
	return rc;
}

/* ---- one call ---- */

static bool wants_copy(enum gsh_uvm_kind kind)
{
	switch (kind) {
	case GSH_UVM_REGISTER_GPU:
	case GSH_UVM_REGISTER_GPU_VASPACE:
	case GSH_UVM_REGISTER_CHANNEL:
	case GSH_UVM_CREATE_EXTERNAL_RANGE:
	case GSH_UVM_MAP_EXTERNAL:
	case GSH_UVM_UNMAP_EXTERNAL:
	case GSH_UVM_MAP_SPARSE:
	case GSH_UVM_FREE:
	case GSH_UVM_ALLOC_SEMAPHORE_POOL:
		return true;
	default:
		return false;
	}
}

static long uvm_refuse(struct gsh_file *f, const struct gsh_uvm_request *req, unsigned long arg,
		       struct gsh_verdict verdict)
{
	atomic64_inc(&f->tenant->stats.refused_denied);
	if (verdict.err || req->status_off == GSH_OFF_NONE)
		return verdict.err ?: -EINVAL;
	return put_user(verdict.status, (u32 __user *)(arg + req->status_off));
}

static long decoded(struct file *vfile, struct gsh_file *f, struct gsh_job *job, unsigned int cmd,
		    unsigned long arg, u32 bytes)
{
	struct gsh_verdict verdict = gsh_filter_uvm(gsh_version, cmd);
	struct gsh_uvm_request req;
	int err;

	if (bytes && copy_from_user(gsh_job_top(job), (void __user *)arg, bytes))
		return -EFAULT;
	err = gsh_decode_uvm(gsh_version, cmd, gsh_job_top(job), bytes, &req);
	if (err)
		return err;
	if (verdict.action == GSH_DENY)
		return uvm_refuse(f, &req, arg, verdict);
	if (req.kind == GSH_UVM_MM_INITIALIZE)
		return mm_initialize(vfile, f, arg);
	if (!wants_copy(req.kind))
		return direct(f, cmd, arg);
	return on_copy(f, job, &req);
}

long gsh_uvm_ioctl(struct file *vfile, struct gsh_file *f, unsigned int cmd, unsigned long arg)
{
	struct gsh_job *job;
	u32 bytes;
	long rc;

	rc = gsh_uvm_bytes(gsh_version, cmd, &bytes);
	if (rc)
		return rc;
	job = gsh_job_new(f->real, cmd);
	if (!job)
		return -ENOMEM;
	rc = gsh_job_for(vfile, f, job);
	if (!rc)
		rc = gsh_job_seg(job, bytes, arg, 0, 0);
	if (rc >= 0)
		rc = decoded(vfile, f, job, cmd, arg, bytes);
	gsh_job_put(job);
	return rc;
}
