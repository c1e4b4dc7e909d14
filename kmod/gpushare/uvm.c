// SPDX-License-Identifier: GPL-2.0
/*
 * The managed-memory node.
 *
 * Managed memory: no call carries its size. The charge is the summed length of
 * the mappings of the real file, in the driver's blocks, counted at each mmap through us, when the
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

#include "compat.h"
#include "gpushare.h"
#include "trace.h"

/* One address space with mappings of the file. Lives until the file is gone. */
struct mapped_mm {
	struct list_head link; /* uvm->lock */
	struct mmu_notifier notifier;
	struct gsh_uvm *uvm; /* reference */
	struct mm_struct *mm; /* mm_count reference */
	u64 bytes; /* uvm->lock; charged for this address space */
	struct delayed_work recount_work;
	bool gone; /* uvm->lock: off the list, whoever took it off frees it */
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
		if (vma->vm_start >= range->base && vma->vm_end <= range->base + range->length)
			return true;
	return false;
}

/* The driver gives card memory to managed mappings in blocks of 2 MiB (UVM_VA_BLOCK_SIZE,
 * kernel-open/nvidia-uvm/uvm_va_block_types.h), so that is how they are counted:
 * a block counts once, however little of it is mapped. */
#define BLOCK_BYTES SZ_2M

struct blocks {
	u64 end; /* of the last block counted */
	u64 bytes;
};

/* Mappings come in ascending order. */
static void add_blocks(struct blocks *blocks, u64 start, u64 end)
{
	start = max(round_down(start, BLOCK_BYTES), blocks->end);
	end = round_up(end, BLOCK_BYTES);
	if (end > start) {
		blocks->bytes += end - start;
		blocks->end = end;
	}
}

static void add_vma(struct gsh_uvm *uvm, struct blocks *blocks, struct vm_area_struct *vma)
{
	bool pool;

	spin_lock(&uvm->lock);
	pool = in_pool(uvm, vma);
	spin_unlock(&uvm->lock);
	if (!pool)
		add_blocks(blocks, vma->vm_start, vma->vm_end);
}

/* mmap_lock held. Counts what is mapped now, and a mapping that is being made and
 * is in no tree yet. */
static u64 count(struct gsh_uvm *uvm, struct mm_struct *mm, struct vm_area_struct *fresh)
{
	struct blocks blocks = {};
	struct vm_area_struct *vma;
	COMPAT_VMA_ITERATOR(iter, mm);

	compat_for_each_vma(iter, vma)
	{
		if (vma->vm_file != uvm->file || vma == fresh)
			continue;
		if (fresh && fresh->vm_start < vma->vm_start) {
			add_vma(uvm, &blocks, fresh);
			fresh = NULL;
		}
		add_vma(uvm, &blocks, vma);
	}
	if (fresh)
		add_vma(uvm, &blocks, fresh);
	return blocks.bytes;
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

/* Charges what is mapped now. More than before can only come from a pool that
 * was freed under a mapping: it is charged without asking. */
static void set_bytes(struct mapped_mm *m, u64 now)
{
	struct gsh_tenant *tenant = m->uvm->tenant;
	unsigned int i;

	spin_lock(&m->uvm->lock);
	if (!m->gone && now < m->bytes)
		charge_all(tenant, m->bytes, now);
	else if (!m->gone && now > m->bytes)
		for (i = 0; i < tenant->nshares; i++)
			gsh_share_charge(&tenant->shares[i], GSH_CHARGE_MANAGED, now - m->bytes);
	if (!m->gone)
		m->bytes = now;
	spin_unlock(&m->uvm->lock);
}

/* mmap_lock of m->mm held: its mappings stay as they are counted. */
static void recount_locked(struct mapped_mm *m)
{
	set_bytes(m, count(m->uvm, m->mm, NULL));
}

#define RECOUNT_AGAIN_MS 10

static void recount_later(struct mapped_mm *m, unsigned int ms)
{
	queue_delayed_work(gsh_wq, &m->recount_work, msecs_to_jiffies(ms));
}

/* Off the list. First whoever queues the work is stopped, then what is queued. */
static void free_mm(struct mapped_mm *m, bool from_its_work)
{
	mmu_notifier_unregister(&m->notifier, m->mm);
	if (from_its_work)
		cancel_delayed_work(&m->recount_work);
	else
		cancel_delayed_work_sync(&m->recount_work);
	mmdrop(m->mm);
	uvm_put(m->uvm);
	kfree(m);
}

/* After the last mapping the kernel lets go of the program's file (__mmput()). The mappings
 * themselves are no place to look at: up to Linux 5.16 they are freed without a lock. */
static bool has_ended(struct mm_struct *mm)
{
	return !rcu_access_pointer(mm->exe_file);
}

/* The address space is on its way out. Its mappings, and the card's memory behind
 * them, go at the end of that: until then it stays charged. */
static void recount_dead(struct mapped_mm *m)
{
	bool last = false;

	if (!has_ended(m->mm)) {
		recount_later(m, RECOUNT_AGAIN_MS);
		return;
	}
	set_bytes(m, 0);
	spin_lock(&m->uvm->lock);
	if (!m->gone && !m->bytes) {
		m->gone = last = true;
		list_del(&m->link);
	}
	spin_unlock(&m->uvm->lock);
	if (last)
		free_mm(m, true);
	else if (!READ_ONCE(m->gone))
		recount_later(m, RECOUNT_AGAIN_MS);
}

/* A process that changes its mappings right now is counted by its own mmap, or next time:
 * nothing here waits for a lock that a tenant may sit on. */
static bool recount_once(struct mapped_mm *m)
{
	bool counted = compat_mmap_trylock(m->mm);

	if (counted) {
		recount_locked(m);
		compat_mmap_unlock(m->mm);
	}
	return counted;
}

static void recount_work(struct work_struct *work)
{
	struct mapped_mm *m = container_of(to_delayed_work(work), struct mapped_mm, recount_work);

	if (READ_ONCE(m->gone))
		return;
	if (!mmget_not_zero(m->mm)) {
		recount_dead(m);
		return;
	}
	if (!recount_once(m))
		recount_later(m, RECOUNT_AGAIN_MS);
	mmput_async(m->mm);
}

/* Runs under mmap_lock, before the unmap: only asks for a count later. */
static int on_unmap(struct mmu_notifier *notifier, const struct mmu_notifier_range *range)
{
	struct mapped_mm *m = container_of(notifier, struct mapped_mm, notifier);

	if (range->event == MMU_NOTIFY_UNMAP && READ_ONCE(m->bytes))
		recount_later(m, 0);
	return 0;
}

static void on_exit(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	struct mapped_mm *m = container_of(notifier, struct mapped_mm, notifier);

	if (!READ_ONCE(m->gone))
		recount_later(m, 0);
}

static const struct mmu_notifier_ops notifier_ops = {
	.invalidate_range_start = on_unmap,
	.release = on_exit,
};

#define RECOUNT_TRIES 10
#define RECOUNT_MOST  64 /* address spaces of one file; more are counted by their own work */

static void recount_now(struct mapped_mm *m)
{
	int tries;

	if (!mmget_not_zero(m->mm))
		return; /* on_exit() has asked for a count */
	for (tries = 0; tries < RECOUNT_TRIES && !recount_once(m); tries++)
		usleep_range(200, 500);
	mmput_async(m->mm);
}

/* The entries with a charge, kept by a reference on their address space alone:
 * an entry is looked up anew under uvm->lock each time. */
static struct mapped_mm *charged_mm(struct gsh_uvm *uvm, unsigned int index)
{
	struct mapped_mm *m, *found = NULL;
	unsigned int n = 0;

	spin_lock(&uvm->lock);
	list_for_each_entry(m, &uvm->mms, link)
		if (m->bytes && n++ == index && mmget_not_zero(m->mm)) {
			found = m;
			break;
		}
	spin_unlock(&uvm->lock);
	return found;
}

/* For one tenant, before a refusal. Not for a thread that holds an mmap_lock. An
 * entry with a living address space stays: only recount_dead() and the end
 * of the file (kept off by the registry lock) take entries away. */
void gsh_uvm_recount(struct gsh_tenant *tenant)
{
	struct mapped_mm *m;
	struct gsh_real *real;
	unsigned int i;

	mutex_lock(&tenant->registry);
	list_for_each_entry(real, &tenant->reals, link) {
		for (i = 0; real->uvm && i < RECOUNT_MOST; i++) {
			m = charged_mm(real->uvm, i);
			if (!m)
				break;
			recount_now(m);
			mmput_async(m->mm);
		}
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
	INIT_DELAYED_WORK(&m->recount_work, recount_work);
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
	int err;

	if (!m)
		m = add_mm(uvm, vma->vm_mm);
	if (IS_ERR(m))
		return PTR_ERR(m);
	now = count(uvm, vma->vm_mm, NULL);
	want = count(uvm, vma->vm_mm, vma);
	spin_lock(&uvm->lock);
	full = charge_all(uvm->tenant, m->bytes, want);
	if (!full)
		m->bytes = want;
	spin_unlock(&uvm->lock);
	if (full) {
		gsh_share_refused(full, length);
		return -ENOMEM;
	}
	err = compat_call_mmap(f->real, vma);
	if (err)
		set_bytes(m, now);
	return err;
}

/* The real file is gone, so no mapping of it is left anywhere, and nobody finds
 * uvm any more but what is queued for its entries. */
static void drop_mms(struct gsh_uvm *uvm)
{
	struct mapped_mm *m;

	for (;;) {
		spin_lock(&uvm->lock);
		m = list_first_entry_or_null(&uvm->mms, struct mapped_mm, link);
		if (m) {
			list_del(&m->link);
			charge_all(uvm->tenant, m->bytes, 0);
			m->bytes = 0;
			m->gone = true;
		}
		spin_unlock(&uvm->lock);
		if (!m)
			return;
		free_mm(m, false);
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

/* What calls about one GPU say of a range holds for that GPU only: with several
 * cards the reference stays until the range is freed. */
static void drop_on_one_gpu(struct gsh_uvm *uvm, u64 base, u64 length)
{
	if (uvm->tenant->nshares == 1)
		drop_range(uvm, base, length);
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

/* After the real file, and without the registry lock. */
void gsh_uvm_gone(struct gsh_uvm *uvm)
{
	struct external *e, *next;
	struct uvm_range *range, *after;

	drop_mms(uvm);
	mutex_lock(&uvm->tenant->registry);
	list_for_each_entry_safe(e, next, &uvm->externals, link) {
		list_del(&e->link);
		gsh_mem_put(e->mem, false);
		kfree(e);
	}
	mutex_unlock(&uvm->tenant->registry);
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
	struct gsh_mem *mem; /* reference, taken before the call */
	struct uvm_range *pool; /* taken off the list for the time of a free */
};

static bool succeeded(struct gsh_job *job, const struct gsh_uvm_request *req)
{
	u32 status;

	memcpy(&status, gsh_job_top(job) + req->status_off, sizeof(status));
	return !job->rc && status == NV_OK;
}

/* Before the call: closing the client meanwhile must not lose the memory. */
static u32 hold_mapped(struct gsh_job *job)
{
	struct gsh_tenant *tenant = job->file->tenant;
	struct uvm_job *u = job->private;
	struct gsh_obj *obj;

	mutex_lock(&tenant->registry);
	obj = gsh_obj_at(tenant, u->req.h_client, u->req.h_object);
	if (obj && obj->mem) { /* else system memory, or nothing */
		u->mem = obj->mem;
		gsh_mem_get(u->mem, false);
	}
	mutex_unlock(&tenant->registry);
	return NV_OK;
}

/* Before the driver frees a pool: what is mapped there from now on is managed memory. */
static u32 hide_pool(struct gsh_job *job)
{
	struct gsh_uvm *uvm = job->file->r->uvm;
	struct uvm_job *u = job->private;
	struct uvm_range *range;

	spin_lock(&uvm->lock);
	list_for_each_entry(range, &uvm->pools, link)
		if (range->base == u->req.base) {
			list_del(&range->link);
			u->pool = range;
			break;
		}
	spin_unlock(&uvm->lock);
	return NV_OK;
}

static void show_pool(struct gsh_uvm *uvm, struct uvm_job *u)
{
	spin_lock(&uvm->lock);
	list_add(&u->pool->link, &uvm->pools);
	spin_unlock(&uvm->lock);
	u->pool = NULL;
}

static void settle_external(struct gsh_uvm *uvm, struct uvm_job *u)
{
	struct external *e = u->room;

	drop_on_one_gpu(uvm, u->req.base, u->req.length);
	if (!u->mem)
		return;
	e->base = u->req.base;
	e->length = u->req.length;
	e->mem = u->mem; /* the reference goes with it */
	u->mem = NULL;
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
	kfree(u->pool);
	u->pool = NULL;
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
			drop_on_one_gpu(uvm, u->req.base, u->req.length);
			break;
		default:
			break;
		}
	}
	if (u->pool) /* the free failed, or may have */
		show_pool(uvm, u);
	if (u->mem)
		gsh_mem_put(u->mem, false);
	mutex_unlock(&uvm->tenant->registry);
	kfree(u->room);
	kfree(u);
	job->private = NULL;
}

/* The client that a call names must be the tenant's: UVM acts with the kernel's rights. */
static u32 check(struct gsh_tenant *tenant, const struct gsh_uvm_request *req)
{
	switch (req->kind) {
	case GSH_UVM_REGISTER_GPU:
		if (!req->h_client) /* needed for partitions only */
			return NV_OK;
		fallthrough;
	case GSH_UVM_MAP_EXTERNAL:
	case GSH_UVM_REGISTER_GPU_VASPACE:
	case GSH_UVM_REGISTER_CHANNEL:
		return gsh_tenant_has_client(tenant, req->h_client) ? NV_OK : NV_ERR_INVALID_CLIENT;
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
		return NV_ERR_GENERIC; /* the driver's own answer to an unknown UUID */
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
	if (req->kind == GSH_UVM_MAP_EXTERNAL)
		job->prepare = hold_mapped;
	else if (req->kind == GSH_UVM_FREE)
		job->prepare = hide_pool;
	err = gsh_job_run_memory(f->tenant, job);
	return err ?: uvm_answer(job, &copy, 0);
}

/* ---- calls in the caller's context ---- */

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
	/* What was just put may have been the module's last user. */
	module_put_and_kthread_exit(0);
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
	__module_get(THIS_MODULE);
	task = kthread_run(mm_init_thread, m, "gpushare_mm");
	if (IS_ERR(task)) {
		module_put(THIS_MODULE);
		kref_put(&m->ref, mm_init_release);
		rc = -ENOMEM; /* the kernel says EAGAIN too, which asks to try again at once */
	} else if (!wait_for_completion_killable(&m->done)) {
		rc = m->rc;
		params.rm_status = m->status;
		if (!rc && copy_to_user((void __user *)arg, &params, sizeof(params)))
			rc = -EFAULT;
	}
	kref_put(&m->ref, mm_init_release);
	return rc;
}

/* ---- plain memory on the card ---- */

/* PAGEABLE_MEM_ACCESS (8 bytes): bool at 0, status at 4 (uvm_ioctl.h). */
static int pageable_access(struct file *vfile, struct gsh_file *f, bool *yes)
{
	struct gsh_job *job = gsh_job_new(f->real, UVM_PAGEABLE_MEM_ACCESS);
	struct uvm_pageable_mem_access *top;
	int err = -ENOMEM;

	if (!job)
		return -ENOMEM;
	if (!gsh_job_for(vfile, f, job) && gsh_job_seg(job, sizeof(*top), 0, 0, 0) == 0)
		err = gsh_job_run(&f->tenant->fwd, job);
	if (!err) {
		top = gsh_job_top(job);
		*yes = !job->rc && top->rm_status == NV_OK && top->pageable_mem_access;
	}
	gsh_job_put(job);
	return err;
}

/* With HMM the driver may move any of the process' memory to the card, in no
 * book. The file asks the driver afterwards: what the flags said may have changed. */
static long initialize(struct file *vfile, struct gsh_file *f, unsigned int cmd, unsigned long arg)
{
	bool pageable = false;
	long rc = gsh_forward_direct(f, cmd, arg);

	if (rc)
		return rc;
	rc = pageable_access(vfile, f, &pageable);
	if (!rc && !pageable)
		return 0;
	WRITE_ONCE(f->r->dead, true);
	if (pageable)
		gsh_event(GPUSHARE_EVENT_TYPE_CALL_DENIED, f->tenant, NULL, 0,
			  "HMM is on: load nvidia-uvm with uvm_disable_hmm=1");
	return rc ?: -EOPNOTSUPP;
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
	gsh_count_refusal(f->tenant, verdict, req->cmd, 0);
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
	if (verdict.action == GSH_ABSORB)
		return req.status_off == GSH_OFF_NONE ?
			       0 :
			       put_user((u32)NV_OK, (u32 __user *)(arg + req.status_off));
	if (req.kind == GSH_UVM_INITIALIZE)
		return initialize(vfile, f, cmd, arg);
	if (req.kind == GSH_UVM_MM_INITIALIZE)
		return mm_initialize(vfile, f, arg);
	if (!wants_copy(req.kind))
		return gsh_forward_direct(f, cmd, arg);
	return on_copy(f, job, &req);
}

long gsh_uvm_ioctl(struct file *vfile, struct gsh_file *f, unsigned int cmd, unsigned long arg)
{
	u64 begun_ns = trace_gpushare_uvm_call_enabled() ? ktime_get_ns() : 0;
	struct gsh_job *job;
	u32 bytes;
	long rc;

	rc = gsh_uvm_bytes(gsh_version, cmd, &bytes);
	if (rc) {
		gsh_unknown_call(f->tenant, GSH_UNKNOWN_UVM, cmd, cmd);
		return rc;
	}
	job = gsh_job_new(f->real, cmd);
	if (!job)
		return -ENOMEM;
	rc = gsh_job_for(vfile, f, job);
	if (!rc)
		rc = gsh_job_seg(job, bytes, arg, 0, 0);
	if (rc >= 0)
		rc = decoded(vfile, f, job, cmd, arg, bytes);
	if (begun_ns)
		trace_gpushare_uvm_call(f, cmd, rc, ktime_get_ns() - begun_ns);
	gsh_job_put(job);
	return rc;
}
