// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that make, share and end objects; charging for those that take card
 * memory: reserve, execute, settle with the true size, answer. Whatever names
 * memory runs one at a time for a tenant (tenant->memory), so that no handle
 * is shared, exported or mapped before it is settled.
 */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "gpushare.h"

static bool succeeded(struct gsh_job *job)
{
	return !job->rc && gsh_job_status(job) == NV_OK;
}

static u32 new_handle(struct gsh_job *job)
{
	u32 handle;

	memcpy(&handle, gsh_job_top(job) + job->req.h_object_off, sizeof(handle));
	return handle;
}

/* From settle: frees in the driver, on the tenant's own file and rights. */
bool gsh_job_undo(struct gsh_job *job, u32 h_client, u32 h_parent, u32 handle)
{
	struct gsh_job *undo =
		gsh_job_new(job->real, gsh_rm_cmd(NV_ESC_RM_FREE, sizeof(struct nvos00)));
	struct nvos00 *top;
	bool done = false;

	if (undo && gsh_job_seg(undo, sizeof(*top), 0, 0, 0) == 0) {
		top = gsh_job_top(undo);
		*top = (struct nvos00){ .h_root = h_client,
					.h_object_parent = h_parent,
					.h_object_old = handle };
		gsh_job_nested(job, undo);
		done = !undo->rc && top->status == NV_OK;
	}
	if (undo)
		gsh_job_put(undo);
	return done;
}

/* ---- what a call points to ---- */

static int copy_in_params(struct gsh_job *job)
{
	struct gsh_request *req = &job->req;
	int err;

	if (req->params_refused)
		return -EINVAL;
	if (req->params_ptr && req->params_bytes) {
		err = gsh_job_copy_in(job, req->params_ptr, req->params_bytes, 0,
				      req->params_ptr_off, NVABI_EMBEDDED_INOUT);
		if (err < 0)
			return err;
		err = gsh_decode_alloc_params(gsh_version, req, job->segs[1].buf,
					      req->params_bytes);
		if (err)
			return err;
	} else if (req->params_ptr) {
		/* A class without known parameters: the driver sees no pointer. */
		memset(gsh_job_top(job) + req->params_ptr_off, 0, 8);
	}
	if (req->rights_ptr) {
		err = gsh_job_copy_in(job, req->rights_ptr, 4, 0, req->rights_ptr_off,
				      NVABI_EMBEDDED_IN);
		if (err < 0)
			return err;
	}
	return 0;
}

/* ---- a new client ---- */

/* Calls on a file that is tied to a control file act for that one's clients,
 * and so does a client made on it. registry held. */
static struct gsh_real *owner_of(struct gsh_file *f)
{
	return f->ctl ?: f->r;
}

static void root_settle(struct gsh_job *job)
{
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_client *client = NULL;
	struct pid *group = job->private;
	bool ok = succeeded(job);

	if (ok) {
		mutex_lock(&tenant->registry);
		client = gsh_client_create(owner_of(job->file), new_handle(job), group);
		mutex_unlock(&tenant->registry);
	}
	put_pid(group);
	job->private = NULL;
	if (ok && !client) {
		gsh_job_undo(job, new_handle(job), 0, new_handle(job));
		gsh_job_set_status(job, NV_ERR_NO_MEMORY);
	}
}

/* The driver keeps the caller's pid with a client, to tell processes by it. */
int gsh_root_call(struct gsh_file *f, struct gsh_job *job)
{
	int err = copy_in_params(job);

	if (err)
		return gsh_job_refuse_params(job, err);
	job->as_pid = get_task_pid(current, PIDTYPE_PID);
	job->private = get_pid(task_tgid(current));
	job->settle = root_settle;
	return gsh_job_run_memory(f->tenant, job);
}

/* ---- where the memory goes ---- */

/* Before the word "no": what the driver has freed along, or a process unmapped. */
static bool make_room(struct gsh_share *share, u64 bytes)
{
	struct gsh_tenant *tenant = share->tenant;

	gsh_uvm_recount(tenant);
	if (gsh_share_reserve(share, bytes))
		return true;
	mutex_lock(&tenant->registry);
	gsh_registry_audit(tenant);
	mutex_unlock(&tenant->registry);
	return gsh_share_reserve(share, bytes);
}

/* The upper bound if it fits, else the least the driver can take: then the
 * true size decides, before anybody can use the object. */
static bool reserve(struct gsh_job *job, u64 lower, u64 upper)
{
	job->reserved_bytes = upper;
	if (gsh_share_reserve(job->share, upper))
		return true;
	job->reserved_bytes = lower;
	if (gsh_share_reserve(job->share, lower) || make_room(job->share, lower))
		return true;
	job->reserved_bytes = 0;
	return false;
}

static void unreserve(struct gsh_job *job)
{
	if (job->share && job->reserved_bytes)
		gsh_share_unreserve(job->share, job->reserved_bytes);
	job->reserved_bytes = 0;
}

/*
 * The call has made something that must not stay: it is freed before anybody can
 * have used it. True when it is gone. Otherwise it lives on, stays charged,
 * and the file is taken out of use.
 */
static bool take_back(struct gsh_job *job, u32 handle)
{
	bool gone = gsh_job_undo(job, job->req.h_client, job->req.h_parent, handle);

	gsh_job_set_status(job, NV_ERR_NO_MEMORY);
	if (!gone)
		WRITE_ONCE(job->file->r->dead, true);
	return gone;
}

/* Room for the true size, before anything is charged. False: it does not fit, and if it
 * could be taken back the reservation is gone as well. */
static bool widen(struct gsh_job *job, u32 handle, u64 bytes, bool *gone)
{
	*gone = false;
	if (bytes <= job->reserved_bytes)
		return true;
	if (gsh_share_reserve(job->share, bytes - job->reserved_bytes)) {
		job->reserved_bytes = bytes;
		return true;
	}
	*gone = take_back(job, handle);
	if (*gone)
		unreserve(job);
	gsh_share_refused(job->share, bytes);
	return false;
}

/* Registers the object with its charge; false: it could not be kept in the books. */
static bool enter_memory(struct gsh_job *job, u32 handle, struct gsh_mem *mem)
{
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_client *client;
	struct gsh_obj *obj = NULL;

	mutex_lock(&tenant->registry);
	client = gsh_client_find(tenant, job->req.h_client);
	if (client)
		obj = gsh_obj_create(client, handle, job->req.h_parent, NV01_MEMORY_LOCAL_USER);
	if (obj) {
		obj->mem = mem;
		obj->card = job->share->card;
		gsh_mem_get(mem, true);
	}
	mutex_unlock(&tenant->registry);
	return obj;
}

/* What is charged and has no handle in the books goes with the file of its client; where
 * there is no memory even for that, with the tenant. */
static void keep_charged(struct gsh_job *job, struct gsh_mem *mem)
{
	struct gsh_hold *room = kzalloc(sizeof(*room), GFP_KERNEL_ACCOUNT);
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_client *client;

	if (!room || !mem) {
		kfree(room);
		kfree(mem);
		return;
	}
	mutex_lock(&tenant->registry);
	client = gsh_client_find(tenant, job->req.h_client);
	gsh_mem_get(mem, false);
	room->mem = mem;
	list_add(&room->link, client ? &client->real->kept : &job->file->r->kept);
	mutex_unlock(&tenant->registry);
}

/* The true size is the driver's own figure, in a copy only the driver wrote to. */
static void settle_memory(struct gsh_job *job, u32 handle, u64 bytes)
{
	struct gsh_share *share = job->share;
	struct gsh_mem *mem;
	bool gone;

	if (!widen(job, handle, bytes, &gone) && gone)
		return;
	mem = gsh_mem_create(share, bytes);
	gsh_share_settle(share, GSH_CHARGE_OBJECT, job->reserved_bytes, bytes);
	job->reserved_bytes = 0;
	if (mem && enter_memory(job, handle, mem))
		return;
	/* No room in the books: freed, or left charged. */
	if (!take_back(job, handle)) {
		keep_charged(job, mem);
		return;
	}
	gsh_share_release(share, GSH_CHARGE_OBJECT, bytes);
	kfree(mem);
}

/* ---- what the driver takes by itself ---- */

static int overhead_kind(u32 class_flags)
{
	if (class_flags & NVABI_CLASS_GROUP)
		return GSH_OVERHEAD_GROUP;
	if (class_flags & NVABI_CLASS_CHANNEL)
		return GSH_OVERHEAD_CHANNEL;
	if (class_flags & (NVABI_CLASS_COMPUTE | NVABI_CLASS_COPY))
		return GSH_OVERHEAD_ENGINE;
	if (class_flags & NVABI_CLASS_VASPACE)
		return GSH_OVERHEAD_VASPACE;
	return -1;
}

static bool begin_overhead(struct gsh_job *job)
{
	u64 estimate = gsh_overhead_estimate(job->share->card, job->overhead_kind);

	if (!reserve(job, estimate, estimate))
		return false;
	gsh_charging_begin(job->share->card, &job->charge_seq);
	if (gsh_card_free_bytes(job->share->card, &job->free_before))
		job->free_before = 0;
	return true;
}

/* The fall of the card's free memory when nothing else moved it, else the estimate. */
static u64 end_overhead(struct gsh_job *job, bool ok)
{
	struct gsh_card *card = job->share->card;
	u64 after = 0;
	bool known = !gsh_card_free_bytes(card, &after);

	if (!gsh_charging_end(card, job->charge_seq) || !known || !job->free_before || !ok)
		return job->reserved_bytes;
	return gsh_overhead_learn(card, job->overhead_kind,
				  job->free_before > after ? job->free_before - after : 0);
}

/* ---- RM_ALLOC ---- */

static struct gsh_card *card_of_new(struct gsh_job *job, struct gsh_client *client)
{
	if (job->req.h_class == NV01_DEVICE_0)
		return gsh_card_by_instance(job->req.device_instance);
	if (job->req.h_class == NV20_SUBDEVICE_0)
		return gsh_obj_card(client, job->req.h_parent);
	return NULL;
}

/* The driver ran and its answer could not be read: something may have been made.
 * It stays charged, and the file is taken out of use. */
static void settle_unknown(struct gsh_job *job)
{
	struct gsh_mem *mem = gsh_mem_create(job->share, job->reserved_bytes);

	gsh_share_settle(job->share, GSH_CHARGE_OBJECT, job->reserved_bytes, job->reserved_bytes);
	job->reserved_bytes = 0;
	WRITE_ONCE(job->file->r->dead, true);
	keep_charged(job, mem);
}

static void settle_vidmem(struct gsh_job *job, u32 handle, const void *size)
{
	u64 bytes;

	gsh_charging_disturb(job->share->card);
	if (job->entered && job->rc == -EFAULT) {
		settle_unknown(job);
	} else if (!succeeded(job)) {
		unreserve(job);
	} else {
		memcpy(&bytes, size, sizeof(bytes));
		settle_memory(job, handle, bytes);
	}
}

/* In the registry, with what the driver took for it; NULL: no room for the books. */
static struct gsh_obj *enter_object(struct gsh_job *job, u64 overhead)
{
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_client *client;
	struct gsh_obj *obj = NULL;

	mutex_lock(&tenant->registry);
	client = gsh_client_find(tenant, job->req.h_client);
	if (client)
		obj = gsh_obj_create(client, new_handle(job), job->req.h_parent, job->req.h_class);
	if (obj)
		obj->card = card_of_new(job, client);
	if (obj && job->overhead_kind >= 0) {
		gsh_share_settle(job->share, GSH_CHARGE_OVERHEAD, job->reserved_bytes, overhead);
		job->reserved_bytes = 0;
		obj->overhead_bytes = overhead;
		obj->overhead_share = job->share;
	}
	mutex_unlock(&tenant->registry);
	return obj;
}

/* No room in the books and no way to free it: the share pays until it is deleted. */
static void charge_for_good(struct gsh_job *job, u64 overhead)
{
	if (overhead)
		gsh_share_charge(job->share, GSH_CHARGE_OVERHEAD, overhead);
}

static void alloc_settle(struct gsh_job *job)
{
	bool ok = succeeded(job), gone = false;
	u64 overhead = 0;

	if (job->req.kind == GSH_REQ_ALLOC_VIDMEM) {
		settle_vidmem(job, new_handle(job), job->segs[1].buf + job->req.memory.size_off);
		return;
	}
	if (job->overhead_kind >= 0)
		overhead = end_overhead(job, ok);
	if (ok && job->overhead_kind >= 0)
		widen(job, new_handle(job), overhead, &gone);
	if (ok && !gone && !enter_object(job, overhead) && !take_back(job, new_handle(job)))
		charge_for_good(job, overhead);
	unreserve(job);
}

/* A card of which the tenant has no share does not exist for it. */
static u32 check_device(struct gsh_job *job)
{
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_card *card = gsh_card_by_instance(job->req.device_instance);

	if (!card || !gsh_tenant_share(tenant, card))
		/* As for an instance that does not exist: measured, tests/driver/parity. */
		return gsh_version->branch < 550 ? NV_ERR_INVALID_CLASS : NV_ERR_INVALID_STATE;
	return NV_OK;
}

/* Devices borrow address spaces, debuggers and events name objects of other
 * clients, and the driver's own policy knows users, not tenants. */
static u32 check_clients(struct gsh_job *job)
{
	struct gsh_tenant *tenant = job->file->tenant;
	u32 named[] = { job->req.h_client_share, job->req.h_target_client,
			job->req.h_other_client };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(named); i++)
		if (named[i] && !gsh_tenant_has_client(tenant, named[i]))
			return NV_ERR_INVALID_CLIENT;
	return NV_OK;
}

struct find_gpu {
	struct gsh_tenant *tenant;
	struct gsh_card *card;
	struct file *real;
};

static int match_gpu(const void *data, struct file *file, unsigned int fd)
{
	struct find_gpu *find = (void *)data;
	struct gsh_file *f = gsh_file_of(file);

	if (!f || f->tenant != find->tenant || f->card != find->card)
		return 0;
	find->real = get_file(f->real);
	return 1;
}

/* The driver asks whether the caller has the GPU open; so do we, of the caller's
 * own table, and lend the thread what is behind that file. */
struct file *gsh_presence_file(struct gsh_tenant *tenant, struct gsh_card *card)
{
	struct find_gpu find = { .tenant = tenant, .card = card };

	iterate_fd(current->files, 0, match_gpu, &find);
	return find.real;
}

/* Flags that only the kernel's own callers may set, taken out of the copy. */
static void mask_flags(struct gsh_job *job)
{
	struct gsh_memory_request *memory = &job->req.memory;
	u32 flags = gsh_filter_memory_flags(memory->flags);

	memcpy(job->segs[memory->in_params ? 1 : 0].buf + memory->flags_off, &flags, sizeof(flags));
}

static int prepare_vidmem(struct gsh_job *job)
{
	struct gsh_memory_request *memory = &job->req.memory;
	u64 lower, upper;
	u32 status;

	job->share = gsh_share_at(job->file->tenant, job->req.h_client, job->req.h_parent, &status);
	if (!job->share)
		return status;
	if (!memory->valid || memory->size_off == GSH_OFF_NONE)
		return NV_ERR_INVALID_ARGUMENT;
	gsh_memory_bounds(memory->size_bytes, memory->attr, memory->attr2, &lower, &upper);
	if (!reserve(job, lower, upper)) {
		gsh_share_refused(job->share, memory->size_bytes);
		return NV_ERR_NO_MEMORY;
	}
	mask_flags(job);
	return NV_OK;
}

static u32 prepare_class(struct gsh_job *job)
{
	u32 status;

	if (job->req.kind == GSH_REQ_ALLOC_VIDMEM)
		return prepare_vidmem(job);
	if (job->req.h_class == NV01_DEVICE_0) {
		status = check_device(job);
		if (status)
			return status;
		job->presence = gsh_presence_file(job->file->tenant,
						  gsh_card_by_instance(job->req.device_instance));
		return NV_OK;
	}
	job->overhead_kind = overhead_kind(job->req.class_flags);
	if (job->overhead_kind < 0)
		return NV_OK;
	job->share = gsh_share_at(job->file->tenant, job->req.h_client, job->req.h_parent, &status);
	if (!job->share) {
		job->overhead_kind = -1;
		return status;
	}
	if (begin_overhead(job))
		return NV_OK;
	gsh_share_refused(job->share, gsh_overhead_estimate(job->share->card, job->overhead_kind));
	return NV_ERR_NO_MEMORY;
}

static u32 prepare_alloc(struct gsh_job *job)
{
	struct gsh_verdict verdict = gsh_filter_class(gsh_version, job->req.h_class);
	u32 status = verdict.flags & GSH_VERDICT_CHECK_CLIENT ? check_clients(job) : NV_OK;

	if (!status)
		status = prepare_class(job);
	if (!status)
		job->settle = alloc_settle;
	return status;
}

/* Classes that pin or map memory of the calling thread, which here is a thread of
 * ours: it must never touch the copies of others. User pages have a call of their own
 * (0x27), which is the one the libraries use. */
static bool reads_the_callers_memory(u32 h_class)
{
	return h_class == NV01_MEMORY_SYSTEM_OS_DESCRIPTOR || h_class == NV_EVENT_BUFFER;
}

/* 0: answer with what stands in the copy; else an errno. */
int gsh_alloc_call(struct gsh_file *f, struct gsh_job *job)
{
	struct gsh_verdict verdict = gsh_filter_class(gsh_version, job->req.h_class);
	int err;

	if (reads_the_callers_memory(job->req.h_class)) {
		verdict.action = GSH_DENY;
		verdict.status = NV_ERR_NOT_SUPPORTED;
	}
	if (verdict.action == GSH_DENY) {
		gsh_job_count_refusal(job, verdict);
		gsh_job_set_status(job, verdict.status);
		return 0;
	}
	err = copy_in_params(job);
	if (err)
		return gsh_job_refuse_params(job, err);
	job->prepare = prepare_alloc;
	return gsh_job_run_memory(f->tenant, job);
}

/* ---- the heap call of the older libraries ---- */

static void vidheap_settle(struct gsh_job *job)
{
	struct gsh_memory_request *memory = &job->req.memory;
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_client *client;
	struct gsh_obj *obj;
	u32 handle;

	if (job->req.kind == GSH_REQ_VIDHEAP_ALLOC_VIDMEM) {
		memcpy(&handle, gsh_job_top(job) + memory->handle_off, sizeof(handle));
		settle_vidmem(job, handle, gsh_job_top(job) + memory->size_off);
		return;
	}
	if (!succeeded(job))
		return;
	switch (job->req.kind) {
	case GSH_REQ_VIDHEAP_ALLOC_OTHER:
		memcpy(&handle, gsh_job_top(job) + memory->handle_off, sizeof(handle));
		mutex_lock(&tenant->registry);
		client = gsh_client_find(tenant, job->req.h_client);
		if (client)
			gsh_obj_create(client, handle, job->req.h_parent, NV01_MEMORY_SYSTEM);
		mutex_unlock(&tenant->registry);
		break;
	case GSH_REQ_VIDHEAP_FREE:
		mutex_lock(&tenant->registry);
		obj = gsh_obj_at(tenant, job->req.h_client, job->req.h_object);
		if (obj)
			gsh_obj_destroy(obj);
		mutex_unlock(&tenant->registry);
		break;
	default:
		break;
	}
}

static u32 prepare_vidheap(struct gsh_job *job)
{
	u32 status = NV_OK;

	if (job->req.kind == GSH_REQ_VIDHEAP_ALLOC_VIDMEM)
		status = prepare_vidmem(job);
	if (!status)
		job->settle = vidheap_settle;
	return status;
}

int gsh_vidheap_call(struct gsh_file *f, struct gsh_job *job)
{
	struct gsh_share *share;
	struct gsh_view view;
	int err;

	job->prepare = prepare_vidheap;
	err = gsh_job_run_memory(f->tenant, job);
	if (err)
		return err;
	share = gsh_share_at(f->tenant, job->req.h_client, job->req.h_parent, NULL);
	if (share) {
		view = gsh_share_view(share);
		gsh_view_vidheap(&view, gsh_job_top(job), job->segs[0].size);
	}
	return 0;
}

/* ---- the end of an object ---- */

static void free_settle(struct gsh_job *job)
{
	struct gsh_tenant *tenant = job->file->tenant;
	unsigned int i;
	struct gsh_client *client;
	struct gsh_obj *obj;

	for (i = 0; i < tenant->nshares; i++)
		gsh_charging_disturb(tenant->shares[i].card);
	if (!succeeded(job))
		return;
	mutex_lock(&tenant->registry);
	client = gsh_client_find(tenant, job->req.h_client);
	if (client && job->req.h_object == client->handle) {
		gsh_client_destroy(client);
	} else if (client) {
		obj = gsh_obj_find(client, job->req.h_object);
		if (obj)
			gsh_obj_destroy(obj);
	}
	mutex_unlock(&tenant->registry);
}

int gsh_free_call(struct gsh_file *f, struct gsh_job *job)
{
	job->settle = free_settle;
	return gsh_job_run_memory(f->tenant, job);
}

/* ---- a second handle ---- */

/*
 * The books have no room for it. Where the driver does not take it back either, the
 * memory stays charged until the file of its client is gone.
 */
void gsh_job_undo_borrowed(struct gsh_job *job, u32 h_parent, u32 handle, struct gsh_mem *mem,
			   struct gsh_hold *room)
{
	bool gone = gsh_job_undo(job, job->req.h_client, h_parent, handle);
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_client *client;

	gsh_job_set_status(job, NV_ERR_NO_MEMORY);
	mutex_lock(&tenant->registry);
	client = gsh_client_find(tenant, job->req.h_client);
	if (mem && gone) {
		gsh_mem_put(mem, false);
	} else if (mem) {
		room->mem = mem;
		list_add(&room->link, client ? &client->real->kept : &job->file->r->kept);
		room = NULL;
	}
	mutex_unlock(&tenant->registry);
	kfree(room);
}

static struct gsh_obj *enter_borrowed(struct gsh_job *job, struct gsh_obj *from,
				      struct gsh_mem *mem)
{
	struct gsh_client *client = gsh_client_find(job->file->tenant, job->req.h_client);
	struct gsh_card *card = from->card;
	struct gsh_obj *obj = NULL;

	if (client)
		obj = gsh_obj_create(client, new_handle(job), job->req.h_parent, from->h_class);
	if (!obj)
		return NULL;
	obj->card = card;
	obj->borrowed = true;
	obj->mem = mem;
	if (mem)
		gsh_mem_get(mem, true);
	return obj;
}

static void dup_settle(struct gsh_job *job)
{
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_hold *room = job->private;
	struct gsh_obj *from, *obj = NULL;
	struct gsh_mem *mem = NULL;

	job->private = NULL;
	if (!succeeded(job)) {
		kfree(room);
		return;
	}
	mutex_lock(&tenant->registry);
	from = gsh_obj_at(tenant, job->req.h_src_client, job->req.h_src_object);
	if (from) {
		mem = from->mem;
		if (mem)
			gsh_mem_get(mem, false);
		obj = enter_borrowed(job, from, mem);
	}
	if (obj && mem)
		gsh_mem_put(mem, false);
	mutex_unlock(&tenant->registry);
	if (obj)
		kfree(room);
	else
		gsh_job_undo_borrowed(job, job->req.h_parent, new_handle(job), mem, room);
}

/* Between processes of one tenant, as the driver's share policy allows; never
 * across tenants. */
static u32 prepare_dup(struct gsh_job *job)
{
	struct gsh_tenant *tenant = job->file->tenant;
	u32 status = NV_OK;

	mutex_lock(&tenant->registry);
	if (!gsh_client_find(tenant, job->req.h_src_client))
		status = NV_ERR_INVALID_CLIENT;
	else if (!gsh_obj_at(tenant, job->req.h_src_client, job->req.h_src_object))
		status = NV_ERR_OBJECT_NOT_FOUND;
	mutex_unlock(&tenant->registry);
	if (status)
		return status;
	job->private = kzalloc(sizeof(struct gsh_hold), GFP_KERNEL_ACCOUNT);
	return job->private ? NV_OK : NV_ERR_NO_MEMORY;
}

int gsh_dup_call(struct gsh_file *f, struct gsh_job *job)
{
	job->prepare = prepare_dup;
	job->settle = dup_settle;
	return gsh_job_run_memory(f->tenant, job);
}

/* ---- a context DMA ---- */

/* The driver hands the class through to its allocator: any class would do. */
int gsh_context_dma_call(struct gsh_file *f, struct gsh_job *job)
{
	if (job->req.h_class != NV01_CONTEXT_DMA) {
		gsh_job_count_refusal(job, (struct gsh_verdict){ .action = GSH_DENY });
		gsh_job_set_status(job, NV_ERR_INVALID_CLASS);
		return 0;
	}
	return gsh_job_run_memory(f->tenant, job);
}
