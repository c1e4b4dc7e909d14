// SPDX-License-Identifier: GPL-2.0
/*
 * RM_CONTROL: the command decides. Answers that tell sizes, cards or
 * neighbours are rewritten in the copy, before the tenant sees any of it.
 */
#include <linux/file.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "gpushare.h"

/* ---- what the parameters point to ---- */

static int copy_in_embedded(struct gsh_job *job)
{
	const struct nvabi_embedded *row[NVABI_EMBEDDED_MAX];
	u32 n = nvabi_embedded_find(gsh_version, job->req.cmd, row), bytes, i;
	u64 pointer;
	int err;

	for (i = 0; i < n; i++) {
		err = gsh_embedded_bytes(row[i], job->segs[1].buf, job->segs[1].size, &pointer,
					 &bytes);
		if (err)
			return err;
		if (!pointer)
			continue;
		err = gsh_job_copy_in(job, pointer, bytes, 1, row[i]->pointer_off,
				      row[i]->direction);
		if (err < 0)
			return err;
	}
	return 0;
}

/* 0, or -EFAULT, -EINVAL, -E2BIG, -ENOMEM. */
static int copy_in_params(struct gsh_job *job)
{
	struct gsh_request *req = &job->req;
	int err;

	if (req->params_refused)
		return -EINVAL;
	if (!req->params_ptr || !req->params_bytes) {
		memset(gsh_job_top(job) + req->params_ptr_off, 0, 8);
		return 0;
	}
	err = gsh_job_copy_in(job, req->params_ptr, req->params_bytes, 0, req->params_ptr_off,
			      NVABI_EMBEDDED_INOUT);
	if (err < 0)
		return err;
	err = gsh_decode_control_params(gsh_version, req, job->segs[1].buf, req->params_bytes);
	return err ?: copy_in_embedded(job);
}

/* ---- own cards ---- */

#define ALL_PROBED 0x0000ffffu /* attach and detach: every card */
#define NO_ID      0xffffffffu

/* "All" means all of the tenant's. */
static void name_own_cards(struct gsh_tenant *tenant, u32 *ids)
{
	u32 i;

	for (i = 0; i < NV_MAX_GPUS; i++)
		ids[i] = i < tenant->nshares ? tenant->shares[i].card->gpu_id : NO_ID;
}

/* Somebody else's card is answered as one that is not there, which differs by command. */
static u32 check_gpu_ids(struct gsh_job *job, u32 no_such_card)
{
	struct gsh_tenant *tenant = job->file->tenant;
	u32 *ids = job->segs[1].buf, n = 1, i;
	bool list = job->req.cmd == NV0000_CTRL_GPU_ATTACH_IDS ||
		    job->req.cmd == NV0000_CTRL_GPU_DETACH_IDS;

	if (job->nsegs < 2 || job->segs[1].size < sizeof(*ids))
		return NV_ERR_INVALID_ARGUMENT;
	if (list) {
		n = min_t(u32, NV_MAX_GPUS, job->segs[1].size / sizeof(*ids));
		if (ids[0] == ALL_PROBED && n == NV_MAX_GPUS)
			name_own_cards(tenant, ids);
	}
	for (i = 0; i < n && ids[i] != NO_ID; i++)
		if (!gsh_tenant_owns_gpu(tenant, ids[i]))
			return no_such_card;
	return NV_OK;
}

/* DISABLE_CHANNELS (536 bytes): count at 4, clients[64] from 24. The driver
 * would act on anyone's (ctrl2080fifo.h). */
static u32 check_channels(struct gsh_job *job)
{
	struct gsh_tenant *tenant = job->file->tenant;
	u32 *params = job->nsegs < 2 ? NULL : job->segs[1].buf, i;

	if (!params || job->segs[1].size < 536 || params[1] > 64)
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < params[1]; i++)
		if (!gsh_tenant_has_client(tenant, params[6 + i]))
			return NV_ERR_INVALID_CLIENT;
	return NV_OK;
}

/* ---- own processes ---- */

/* The driver answers a kernel thread in the initial namespace's numbers. */
static u32 pid_to_reader(void *ctx, u32 nr)
{
	struct gsh_tenant *tenant = ctx;
	struct pid *pid;
	u32 local = 0;

	rcu_read_lock();
	pid = get_pid(find_pid_ns(nr, &init_pid_ns));
	rcu_read_unlock();
	if (!pid)
		return 0;
	mutex_lock(&tenant->registry);
	if (gsh_tenant_owns_pid(tenant, pid))
		local = pid_vnr(pid);
	mutex_unlock(&tenant->registry);
	put_pid(pid);
	return local;
}

static u32 pid_to_kernel(void *ctx, u32 nr)
{
	struct gsh_tenant *tenant = ctx;
	struct pid *pid = find_get_pid(nr);
	u32 global = 0;

	if (!pid)
		return 0;
	mutex_lock(&tenant->registry);
	if (gsh_tenant_owns_pid(tenant, pid))
		global = pid_nr(pid);
	mutex_unlock(&tenant->registry);
	put_pid(pid);
	return global;
}

/* ---- rewritten answers ---- */

/* Sizes of a card of which the tenant has no share are nobody's to see. */
static int view_sizes(struct gsh_job *job, u8 view)
{
	struct gsh_share *share =
		gsh_share_at(job->file->tenant, job->req.h_client, job->req.h_object, NULL);
	struct gsh_seg *params = &job->segs[1];
	struct gsh_view sizes;

	if (!share || job->nsegs < 2)
		return -EINVAL;
	sizes = gsh_share_view(share);
	switch (view) {
	case GSH_VIEW_FB_INFO:
		if (job->nsegs < 3)
			return 0; /* an empty list */
		return gsh_view_fb_info(&sizes, job->segs[2].buf, *(u32 *)params->buf,
					job->segs[2].size);
	case GSH_VIEW_FB_INFO_V2:
		return gsh_view_fb_info_v2(gsh_version, &sizes, params->buf, params->size);
	default:
		return gsh_view_fb_regions(gsh_version, &sizes, params->buf, params->size);
	}
}

/*
 * The driver sums by process number, and a number may have had another owner. The
 * figures come from our books of the process that has it now. Layout of an
 * entry: struct nv2080_pid_info; index 0 is memory.
 */
static int view_usage(struct gsh_job *job, const void *original)
{
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_seg *params = &job->segs[1];
	struct gsh_share *share =
		gsh_share_at(job->file->tenant, job->req.h_client, job->req.h_object, NULL);
	struct nv2080_pid_info *entry;
	struct gsh_usage usage;
	struct pid *pid;
	u32 n, i;
	int err;

	err = gsh_view_pid_info_reply(params->buf, original, params->size);
	if (err || !share)
		return err ?: -EINVAL;
	n = min_t(u32, *(u32 *)params->buf, (params->size - 8) / sizeof(*entry));
	for (i = 0; i < n; i++) {
		entry = params->buf + 8 + i * sizeof(*entry);
		if (entry->result || entry->index)
			continue;
		pid = find_get_pid(entry->pid);
		mutex_lock(&tenant->registry);
		usage = gsh_usage_of(tenant, pid, share->card);
		mutex_unlock(&tenant->registry);
		put_pid(pid);
		entry->data_vid_mem_usage_mem_private = usage.private_bytes;
		entry->data_vid_mem_usage_mem_shared_owned = usage.shared_bytes;
		entry->data_vid_mem_usage_mem_shared_duped = usage.borrowed_bytes;
	}
	return 0;
}

static int view_answer(struct gsh_job *job, u8 view, const void *original)
{
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_seg *params = &job->segs[1];

	if (job->nsegs < 2)
		return view == GSH_VIEW_NONE ? 0 : -EINVAL;
	switch (view) {
	case GSH_VIEW_FB_INFO:
	case GSH_VIEW_FB_INFO_V2:
	case GSH_VIEW_FB_REGIONS:
		return view_sizes(job, view);
	case GSH_VIEW_PIDS:
		return gsh_view_pids(params->buf, params->size, pid_to_reader, tenant);
	case GSH_VIEW_PID_INFO:
		return view_usage(job, original);
	case GSH_VIEW_GPUMON:
		return gsh_view_gpumon(gsh_version, params->buf, params->size, pid_to_reader,
				       tenant);
	case GSH_VIEW_PROBED_IDS:
		return gsh_view_probed_ids(gsh_version, params->buf, params->size,
					   gsh_tenant_owns_gpu, tenant);
	case GSH_VIEW_ATTACHED_IDS:
		return gsh_view_attached_ids(params->buf, params->size, gsh_tenant_owns_gpu,
					     tenant);
	default:
		return 0;
	}
}

/* ---- exports and imports by descriptor ---- */

/* The reference was taken before the call; it stays where the export keeps the memory. */
static void export_settle(struct gsh_job *job)
{
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_hold *hold = job->private;

	mutex_lock(&tenant->registry);
	if (hold->mem && !job->rc && !gsh_job_status(job)) {
		list_add(&hold->link, &job->other->exports);
		hold = NULL;
	}
	if (hold && hold->mem)
		gsh_mem_put(hold->mem, false);
	mutex_unlock(&tenant->registry);
	kfree(hold);
	job->private = NULL;
}

/* Before the call, so that closing the exporter meanwhile loses nothing. */
static u32 hold_exported(struct gsh_job *job)
{
	struct nv0000_export_to_fd *p = job->segs[1].buf;
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_hold *hold = job->private;
	struct gsh_obj *obj;

	mutex_lock(&tenant->registry);
	obj = gsh_obj_at(tenant, job->req.h_client, p->object_data_rm_object_h_object);
	if (obj && obj->mem) {
		hold->mem = obj->mem;
		gsh_mem_get(obj->mem, false);
	} /* else nothing that is charged */
	mutex_unlock(&tenant->registry);
	return NV_OK;
}

/* The memory of an export under a new handle; mem is what the file exports, with a reference. */
static struct gsh_obj *enter_imported(struct gsh_job *job, struct gsh_mem *mem)
{
	struct nv0000_import_from_fd *p = job->segs[1].buf;
	struct gsh_client *client = gsh_client_find(job->file->tenant, job->req.h_client);
	struct gsh_obj *obj = NULL;

	if (client)
		obj = gsh_obj_create(client, p->object_data_rm_object_h_object,
				     p->object_data_rm_object_h_parent, NV01_MEMORY_LOCAL_USER);
	if (!obj)
		return NULL;
	obj->mem = mem;
	obj->borrowed = true;
	gsh_mem_get(mem, true);
	obj->card = mem->share->card;
	return obj;
}

static void import_settle(struct gsh_job *job)
{
	struct nv0000_import_from_fd *p = job->segs[1].buf;
	struct gsh_tenant *tenant = job->file->tenant;
	struct gsh_hold *room = job->private, *hold;
	struct gsh_mem *mem = NULL;
	struct gsh_obj *obj = NULL;

	job->private = NULL;
	if (job->rc || gsh_job_status(job)) {
		kfree(room);
		return;
	}
	mutex_lock(&tenant->registry);
	hold = list_first_entry_or_null(&job->other->exports, struct gsh_hold, link);
	if (hold) {
		mem = hold->mem;
		gsh_mem_get(mem, false);
		obj = enter_imported(job, mem);
	}
	if (obj)
		gsh_mem_put(mem, false);
	mutex_unlock(&tenant->registry);
	if (obj)
		kfree(room);
	else
		gsh_job_undo_borrowed(job, p->object_data_rm_object_h_parent,
				      p->object_data_rm_object_h_object, mem, room);
}

static int track(struct gsh_job *job)
{
	bool export = job->req.cmd == NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD;
	bool import = job->req.cmd == NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD;
	struct gsh_tenant *tenant = job->file->tenant;
	struct file *vfile = NULL;
	struct gsh_file *other;
	int err = -ENOMEM;

	other = gsh_job_translate_fd(job, 1, &vfile);
	if (other) {
		gsh_real_get(other->r);
		job->other = other->r;
	}
	if (other && (export || import)) {
		job->private = kzalloc(sizeof(struct gsh_hold), GFP_KERNEL_ACCOUNT);
		if (!job->private)
			goto put;
		job->prepare = export ? hold_exported : NULL;
		job->settle = export ? export_settle : import_settle;
	}
	err = gsh_job_run_memory(tenant, job);
	if (!err && !other)
		gsh_job_restore_fd(job, 1);
put:
	if (vfile)
		fput(vfile);
	return err;
}

/* ---- one control ---- */

static u32 check(struct gsh_job *job, struct gsh_verdict verdict)
{
	if (verdict.flags & GSH_VERDICT_CHECK_GPU_ID)
		return check_gpu_ids(job, verdict.status);
	if (verdict.flags & GSH_VERDICT_CHECK_CHANNELS)
		return check_channels(job);
	return NV_OK;
}

static int forward(struct gsh_job *job, struct gsh_verdict verdict)
{
	if (verdict.flags & GSH_VERDICT_TRACK || job->req.fd_kind == NVABI_FD_NVIDIA_FILE)
		return track(job);
	atomic64_inc(&job->file->tenant->stats.forwarded);
	return gsh_job_run(&job->file->tenant->fwd, job);
}

static int forward_and_view(struct gsh_job *job, struct gsh_verdict verdict)
{
	void *original = NULL;
	int err;

	if (verdict.view == GSH_VIEW_PID_INFO && job->nsegs > 1) {
		original = kvmalloc(job->segs[1].size, GFP_KERNEL_ACCOUNT);
		if (!original)
			return -ENOMEM;
		memcpy(original, job->segs[1].buf, job->segs[1].size);
		gsh_view_pid_info_request(job->segs[1].buf, job->segs[1].size, pid_to_kernel,
					  job->file->tenant);
	}
	err = forward(job, verdict);
	if (!err && job->rc)
		gsh_job_withhold(job, gsh_job_status(job));
	else if (!err && gsh_job_status(job) && verdict.view != GSH_VIEW_NONE)
		gsh_job_withhold(job, gsh_job_status(job));
	else if (!err && view_answer(job, verdict.view, original))
		gsh_job_withhold(job, NV_ERR_NOT_SUPPORTED);
	kvfree(original);
	return err;
}

/* In no list of ours, and the driver has no such control, or not on this card. */
static bool is_unknown(struct gsh_job *job, struct gsh_verdict verdict)
{
	return verdict.flags & GSH_VERDICT_UNKNOWN && gsh_job_status(job) == NV_ERR_NOT_SUPPORTED;
}

int gsh_control_call(struct gsh_file *f, struct gsh_job *job)
{
	struct gsh_verdict verdict = gsh_filter_control(gsh_version, job->req.cmd, job->req.flags);
	u32 status;
	int err;

	if (verdict.action == GSH_DENY) {
		gsh_job_count_refusal(job, verdict);
		return gsh_job_withhold(job, verdict.status);
	}
	if (verdict.action == GSH_ABSORB)
		return gsh_job_withhold(job, NV_OK);
	err = copy_in_params(job);
	if (err)
		return gsh_job_refuse_params(job, err);
	status = check(job, verdict);
	if (status)
		return gsh_job_withhold(job, status);
	err = forward_and_view(job, verdict);
	if (!err && is_unknown(job, verdict))
		gsh_unknown_call(f->tenant, GSH_UNKNOWN_CONTROL, job->req.nr, job->req.cmd);
	return err;
}
