// SPDX-License-Identifier: GPL-2.0
/*
 * Calls on the control node and the GPU nodes: copy in once, decode, decide,
 * forward, copy out once. The rooms: decode in core/, charging calls in
 * alloc.c, controls in control.c, the forwarding itself in fwd.c.
 *
 * Two ways to the driver. On copies, by a forwarding thread: everything that
 * names memory, classes, commands, cards or descriptors. Directly, in the
 * caller's own context: calls whose contents cannot matter to anyone else,
 * and those that need the caller's address space (pinning user pages).
 */
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "gpushare.h"
#include "trace.h"

/* The driver looks at number and size; type 'F' is what its users send. */
unsigned int gsh_rm_cmd(u32 nr, u32 size)
{
	return _IOC(_IOC_READ | _IOC_WRITE, 'F', nr, size);
}

/* ---- parts of a call ---- */

void gsh_job_set_status(struct gsh_job *job, u32 status)
{
	if (job->req.status_off != GSH_OFF_NONE)
		memcpy(gsh_job_top(job) + job->req.status_off, &status, sizeof(status));
}

u32 gsh_job_status(struct gsh_job *job)
{
	u32 status = NV_OK;

	if (job->req.status_off != GSH_OFF_NONE)
		memcpy(&status, gsh_job_top(job) + job->req.status_off, sizeof(status));
	return status;
}

/* What hangs below first, the structure that tells of success last. */
int gsh_job_copy_out(struct gsh_job *job)
{
	unsigned int i = job->nsegs;

	while (i--) {
		struct gsh_seg *seg = &job->segs[i];

		if (seg->user && !seg->no_copy_out &&
		    copy_to_user((void __user *)seg->user, seg->buf, seg->size))
			return -EFAULT;
	}
	return 0;
}

int gsh_job_for(struct file *vfile, struct gsh_file *f, struct gsh_job *job)
{
	job->cred = gsh_file_cred(f);
	if (!job->cred)
		return -ENOMEM;
	job->vfile = get_file(vfile);
	job->file = f;
	return 0;
}

int gsh_job_copy_in(struct gsh_job *job, u64 user, u32 size, u8 parent, u32 ptr_off, u8 direction)
{
	int seg = gsh_job_seg(job, size, user, parent, ptr_off);

	if (seg < 0)
		return seg;
	job->segs[seg].no_copy_out = !(direction & NVABI_EMBEDDED_OUT);
	if (size && copy_from_user(job->segs[seg].buf, (void __user *)user, size))
		return -EFAULT;
	return seg;
}

/* Only the status goes out: what the driver wrote is not for this reader. */
int gsh_job_withhold(struct gsh_job *job, u32 status)
{
	unsigned int i;

	for (i = 1; i < job->nsegs; i++)
		job->segs[i].no_copy_out = true;
	gsh_job_set_status(job, status);
	return 0;
}

/* The driver's answer to parameters that it cannot read or whose size is wrong;
 * other errors are the kernel's own. */
int gsh_job_refuse_params(struct gsh_job *job, int err)
{
	if (err == -EFAULT)
		return gsh_job_withhold(job, NV_ERR_INVALID_ADDRESS);
	if (err == -EINVAL || err == -E2BIG)
		return gsh_job_withhold(job, NV_ERR_INVALID_ARGUMENT);
	return err;
}

static int run(struct gsh_job *job)
{
	atomic64_inc(&job->file->tenant->stats.forwarded);
	return gsh_job_run(&job->file->tenant->fwd, job);
}

/* The semaphore is given back by whoever settles the job. */
int gsh_job_run_memory(struct gsh_tenant *tenant, struct gsh_job *job)
{
	u32 status;

	if (down_killable(&tenant->memory)) {
		job->rc = -EINTR;
		if (job->settle)
			job->settle(job);
		return -EINTR;
	}
	status = job->prepare ? job->prepare(job) : NV_OK;
	if (status) {
		up(&tenant->memory);
		gsh_job_set_status(job, status);
		return 0;
	}
	job->held = &tenant->memory;
	return run(job);
}

static int answer(struct gsh_job *job)
{
	int err = gsh_job_copy_out(job);

	return err ?: job->rc;
}

/* Only the status: the rest of what the driver wrote is not for this reader. */
static int answer_status(struct gsh_job *job)
{
	u32 status = gsh_job_status(job);

	return put_user(status, (u32 __user *)(job->segs[0].user + job->req.status_off));
}

void gsh_count_refusal(struct gsh_tenant *tenant, struct gsh_verdict verdict, u32 nr, u32 what)
{
	if (verdict.flags & GSH_VERDICT_UNKNOWN) {
		gsh_unknown_call(tenant, GSH_UNKNOWN_CONTROL, nr, what);
		return;
	}
	atomic64_inc(&tenant->stats.refused_denied);
	trace_gpushare_refuse(tenant, GSH_TRACE_DENIED, nr, what, 0);
}

void gsh_job_count_refusal(struct gsh_job *job, struct gsh_verdict verdict)
{
	gsh_count_refusal(job->file->tenant, verdict, job->req.nr,
			  job->req.cmd ?: job->req.h_class);
}

static int refuse(struct gsh_job *job, struct gsh_verdict verdict)
{
	gsh_job_count_refusal(job, verdict);
	if (job->req.status_off == GSH_OFF_NONE || verdict.err)
		return verdict.err ?: -EINVAL;
	gsh_job_set_status(job, verdict.status);
	return answer(job);
}

/* In the caller's context, on the caller's memory. */
long gsh_forward_direct(struct gsh_file *f, unsigned int cmd, unsigned long arg)
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

/* A number that is none of the tenant's files becomes -1: the driver itself refuses it,
 * and never sees the caller's number among those of the forwarding threads. */
struct gsh_file *gsh_job_translate_fd(struct gsh_job *job, u8 seg, struct file **vfile)
{
	struct gsh_request *req = &job->req;
	struct gsh_file *other = gsh_file_get_fd(job->file->tenant, req->fd, vfile);
	u64 none = ~0ull;

	if (other && !gsh_job_fd(job, get_file(other->real), seg, req->fd_off, req->fd_width))
		return other;
	memcpy(job->segs[seg].buf + req->fd_off, &none, req->fd_width);
	return NULL;
}

void gsh_job_restore_fd(struct gsh_job *job, u8 seg)
{
	u64 fd = (s64)job->req.fd;

	memcpy(job->segs[seg].buf + job->req.fd_off, &fd, job->req.fd_width);
}

/* ---- calls without a room of their own ---- */

static int card_info(struct gsh_job *job)
{
	int err = run(job);

	if (err)
		return err;
	if (!job->rc)
		gsh_view_card_info(gsh_job_top(job), job->segs[0].size, gsh_tenant_owns_gpu,
				   job->file->tenant);
	return answer(job);
}

static int attach_gpus(struct gsh_job *job)
{
	const u32 *ids = gsh_job_top(job);
	u32 i;
	int err;

	for (i = 0; i < job->segs[0].size / sizeof(*ids); i++)
		if (ids[i] && !gsh_tenant_owns_gpu(job->file->tenant, ids[i]))
			return -EINVAL;
	err = run(job);
	return err ?: answer(job);
}

/* A file of the tenant is tied to its control file: calls on it act for the
 * clients of that one. */
static int register_fd(struct gsh_job *job)
{
	struct gsh_file *f = job->file, *ctl;
	struct file *vfile = NULL;
	int err;

	ctl = gsh_job_translate_fd(job, 0, &vfile);
	err = run(job);
	if (!err && !ctl)
		gsh_job_restore_fd(job, 0);
	if (!err && !job->rc && ctl) {
		mutex_lock(&f->tenant->registry);
		if (!f->ctl) {
			gsh_real_get(ctl->r);
			f->ctl = ctl->r;
		}
		mutex_unlock(&f->tenant->registry);
	}
	if (vfile)
		fput(vfile);
	return err ?: answer(job);
}

static int map_memory(struct gsh_job *job)
{
	struct file *vfile = NULL;
	struct gsh_file *other;
	int err;

	other = gsh_job_translate_fd(job, 0, &vfile);
	err = gsh_job_run_memory(job->file->tenant, job);
	if (!err && !other)
		gsh_job_restore_fd(job, 0);
	if (vfile)
		fput(vfile);
	return err ?: answer(job);
}

/* The PCI address says which card is asked about. */
static int status_code(struct gsh_job *job)
{
	const struct nv_status_code *top = gsh_job_top(job);
	struct gsh_tenant *tenant = job->file->tenant;
	char pci[16];
	unsigned int i;
	int err;

	snprintf(pci, sizeof(pci), "%04x:%02x:%02x.0", top->domain, top->bus, top->slot);
	for (i = 0; i < tenant->nshares; i++)
		if (!strcmp(tenant->shares[i].card->pci, pci))
			break;
	if (i == tenant->nshares)
		return -EINVAL; /* as for a card that does not exist */
	err = run(job);
	return err ?: answer(job);
}

/* NVOS30: with a count, three arrays of the caller's follow by pointer, of which
 * the first names clients. None of today's libraries uses that form. */
static int idle_channels(struct gsh_job *job)
{
	int err;

	if (job->req.num_channels) {
		gsh_job_set_status(job, NV_ERR_NOT_SUPPORTED);
		return answer(job);
	}
	memset(gsh_job_top(job) + 16, 0, 24);
	err = run(job);
	return err ?: answer(job);
}

/*
 * Pinning the caller's pages needs the caller's address space, so this call
 * reads the caller's own structure, whose class another thread may change under
 * it. What else the driver offers here takes no card memory: the question for
 * the heap's size, system memory, windows that any process may have. A changed
 * class is found out afterwards, most of the time, and ends the file; what it can
 * show is the card's true heap size (tests/guest/client/races.c, pin-flip).
 */
static long pin_pages(struct gsh_file *f, struct gsh_job *job, unsigned int cmd, unsigned long arg)
{
	struct gsh_tenant *tenant = f->tenant;
	struct nvos02_fd now;
	long rc;

	rc = gsh_forward_direct(f, cmd, arg);
	if (rc || copy_from_user(&now, (void __user *)arg, sizeof(now)))
		return rc ?: -EFAULT;
	if (now.h_class == job->req.h_class && now.h_root == job->req.h_client)
		return 0;
	WRITE_ONCE(f->r->dead, true);
	gsh_event(GPUSHARE_EVENT_TYPE_CALL_DENIED, tenant, NULL, 0,
		  "a call was changed while it ran: its file is closed");
	return -EIO;
}

/* System memory, or the question for the heap's size. */
static long alloc_memory(struct gsh_file *f, struct gsh_job *job, unsigned int cmd,
			 unsigned long arg)
{
	struct gsh_verdict verdict = gsh_filter_class(gsh_version, job->req.h_class);
	struct gsh_file *other = NULL;
	struct file *vfile = NULL;
	struct gsh_share *share;
	struct gsh_view view;
	int err;

	if (verdict.action == GSH_DENY)
		return refuse(job, verdict);
	if (job->req.h_class == NV01_MEMORY_SYSTEM_OS_DESCRIPTOR)
		return pin_pages(f, job, cmd, arg);
	if (job->req.fd_kind == NVABI_FD_NVIDIA_FILE)
		other = gsh_job_translate_fd(job, 0, &vfile);
	err = run(job);
	if (vfile)
		fput(vfile);
	if (err)
		return err;
	if (job->req.fd_kind == NVABI_FD_NVIDIA_FILE && !other)
		gsh_job_restore_fd(job, 0);
	if (job->req.h_class == NV01_MEMORY_LOCAL_USER) {
		share = gsh_share_at(f->tenant, job->req.h_client, job->req.h_parent, NULL);
		if (!share) {
			gsh_job_set_status(job, NV_ERR_INVALID_OBJECT_PARENT);
			return answer_status(job);
		}
		view = gsh_share_view(share);
		gsh_view_heap_limit(&view, gsh_job_top(job), job->segs[0].size);
	}
	return answer(job);
}

/* ---- one call ---- */

static long dispatch(struct gsh_file *f, struct gsh_job *job, unsigned int cmd, unsigned long arg)
{
	struct gsh_verdict verdict = gsh_filter_escape(gsh_version, job->req.nr);

	if (verdict.action == GSH_DENY)
		return refuse(job, verdict);
	switch (job->req.kind) {
	case GSH_REQ_DENY:
		return refuse(job, verdict);
	case GSH_REQ_CARD_INFO:
		return card_info(job);
	case GSH_REQ_ATTACH_GPUS:
		return attach_gpus(job);
	case GSH_REQ_REGISTER_FD:
		return register_fd(job);
	case GSH_REQ_MAP_MEMORY:
		return map_memory(job);
	case GSH_REQ_ROOT_ALLOC:
		return gsh_root_call(f, job) ?: answer(job);
	case GSH_REQ_ALLOC_CONTEXT_DMA:
		return gsh_context_dma_call(f, job) ?: answer(job);
	case GSH_REQ_STATUS_CODE:
		return status_code(job);
	case GSH_REQ_IDLE_CHANNELS:
		return idle_channels(job);
	case GSH_REQ_ALLOC:
	case GSH_REQ_ALLOC_VIDMEM:
		return gsh_alloc_call(f, job) ?: answer(job);
	case GSH_REQ_FREE:
		return gsh_free_call(f, job) ?: answer(job);
	case GSH_REQ_DUP:
		return gsh_dup_call(f, job) ?: answer(job);
	case GSH_REQ_CONTROL:
		return gsh_control_call(f, job) ?: answer(job);
	case GSH_REQ_VIDHEAP_ALLOC_VIDMEM:
	case GSH_REQ_VIDHEAP_ALLOC_OTHER:
	case GSH_REQ_VIDHEAP_FREE:
	case GSH_REQ_VIDHEAP_INFO:
	case GSH_REQ_VIDHEAP_OTHER:
		return gsh_vidheap_call(f, job) ?: answer(job);
	case GSH_REQ_VIDHEAP_ALLOC_OS_DESC: /* would pin pages of the wrong process */
		verdict.status = NV_ERR_NOT_SUPPORTED;
		return refuse(job, verdict);
	case GSH_REQ_ALLOC_MEMORY:
		return alloc_memory(f, job, cmd, arg);
	default:
		return gsh_forward_direct(f, cmd, arg);
	}
}

/* The call inside the transfer escape; one level only, as in the driver. */
static int unwrap(u32 *nr, u32 *size, unsigned long *arg)
{
	struct nv_xfer xfer;

	if (*nr != NV_ESC_IOCTL_XFER_CMD)
		return 0;
	if (*size != sizeof(xfer))
		return -EINVAL;
	if (copy_from_user(&xfer, (void __user *)*arg, sizeof(xfer)))
		return -EFAULT;
	if (xfer.cmd == NV_ESC_IOCTL_XFER_CMD || xfer.size > _IOC_SIZEMASK)
		return -EINVAL;
	*nr = xfer.cmd;
	*size = xfer.size;
	*arg = xfer.ptr;
	return 0;
}

long gsh_frontend_ioctl(struct file *vfile, struct gsh_file *f, unsigned int cmd, unsigned long arg)
{
	enum gsh_node node = f->kind == GPUSHARE_NODE_KIND_CTL ? GSH_NODE_CTL : GSH_NODE_GPU;
	u64 begun_ns = trace_gpushare_call_enabled() ? ktime_get_ns() : 0;
	u32 nr = _IOC_NR(cmd), size = _IOC_SIZE(cmd);
	struct gsh_job *job;
	long rc;

	rc = unwrap(&nr, &size, &arg);
	if (rc)
		return rc;
	if (!gsh_escape_is_known(nr)) {
		gsh_unknown_call(f->tenant, GSH_UNKNOWN_IOCTL, nr, nr);
		return -EINVAL; /* the driver's own answer */
	}
	cmd = gsh_rm_cmd(nr, size);
	job = gsh_job_new(f->real, cmd);
	if (!job)
		return -ENOMEM;
	rc = gsh_job_for(vfile, f, job);
	if (!rc)
		rc = gsh_job_seg(job, size, arg, 0, 0);
	if (rc >= 0 && copy_from_user(gsh_job_top(job), (void __user *)arg, size))
		rc = -EFAULT;
	if (rc >= 0)
		rc = gsh_decode(gsh_version, nr, node, gsh_job_top(job), size, &job->req);
	if (rc >= 0)
		rc = dispatch(f, job, cmd, arg);
	if (begun_ns)
		trace_gpushare_call(f, &job->req, rc, rc ? 0 : gsh_job_status(job),
				    ktime_get_ns() - begun_ns);
	gsh_job_put(job);
	return rc;
}
