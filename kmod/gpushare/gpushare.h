/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gpushare.ko: what its parts share. Lock order and lifetimes are written in
 * words in kmod/README.md; every field names the lock that guards it.
 */
#ifndef GSH_GPUSHARE_H
#define GSH_GPUSHARE_H

#include <linux/cdev.h>
#include <linux/cgroup.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "core/books.h"
#include "core/decode.h"
#include "core/filter.h"
#include "core/views.h"
#include "nvabi/numbers.h"
#include "nvabi/structs.h"
#include "nvabi/versions.h"
#include "uapi/gpushare.h"

struct genl_info;
struct netlink_ext_ack;

/* What the driver takes by itself for a context, by what made it take it. */
enum gsh_overhead_kind {
	GSH_OVERHEAD_GROUP,
	GSH_OVERHEAD_CHANNEL,
	GSH_OVERHEAD_ENGINE, /* compute and copy objects */
	GSH_OVERHEAD_VASPACE, /* page tables */
	GSH_OVERHEAD_KINDS
};

/* ---- cards (card.c) ---- */

enum gsh_card_state { GSH_CARD_OK, GSH_CARD_DEGRADED, GSH_CARD_GONE };

struct gsh_card {
	u32 gpu_id;
	u32 minor; /* N of /dev/nvidiaN */
	u32 instance; /* the driver's device instance, as in class 0x80 */
	char uuid[GPUSHARE_CARD_UUID_MAX + 1];
	char pci[16];
	char name[65];
	enum gsh_card_state state;

	u32 h_client; /* gpushare's own client on the kernel interface */
	u32 h_device;
	u32 h_subdevice;

	struct gsh_card_books books; /* gsh_tenants_lock */
	u32 shares; /* gsh_tenants_lock */

	/* Charging calls that ran or run on the card: an overhead figure is
	 * good only if nothing else moved the card's free memory meanwhile. */
	atomic_t charging;
	atomic64_t charge_seq;
	atomic64_t charged; /* sum over tenants, bytes */
	spinlock_t overhead_lock;
	u64 overhead_known[GSH_OVERHEAD_KINDS]; /* overhead_lock; last clean figure */
};

extern const struct nvabi_version *gsh_version; /* NULL: none or unknown */
extern char gsh_driver_string[64]; /* "" when no driver answered */
extern const char *gsh_driver_flavour; /* "nvsim", "open", or NULL: not known */

int gsh_cards_init(void);
void gsh_cards_exit(void);
unsigned int gsh_cards_count(void);
struct gsh_card *gsh_card_at(unsigned int index);
struct gsh_card *gsh_card_by_uuid(const char *uuid);
struct gsh_card *gsh_card_by_gpu_id(u32 gpu_id);
struct gsh_card *gsh_card_by_instance(u32 instance);
/* Free memory of the card now, in bytes; 0 or a negative errno. Sleeps. */
int gsh_card_free_bytes(struct gsh_card *card, u64 *bytes);

/* ---- the driver's kernel interface (rmops.c): no owner, kernel privilege ---- */

const struct nvabi_version *gsh_versions(u32 *count); /* supported, oldest first */
void gsh_version_nearest(char *text, u32 bytes); /* to the driver that is loaded */

int gsh_rmops_init(void);
void gsh_rmops_exit(void);
u32 gsh_rm_control(u32 h_client, u32 h_object, u32 cmd, void *params, u32 size);
u32 gsh_rm_alloc(u32 h_client, u32 h_parent, u32 *h_new, u32 h_class, void *params, u32 size);
u32 gsh_rm_free(u32 h_client, u32 h_parent, u32 h_object);
/* True while the client (and object, unless 0) is alive in the driver. */
bool gsh_rm_exists(u32 h_client, u32 h_object, u32 *h_class);
int gsh_rm_enumerate(u32 *gpu_ids, u32 max); /* how many, or -ENOMEM */
int gsh_rm_open_gpu(u32 gpu_id);
void gsh_rm_close_gpu(u32 gpu_id);

/* ---- tenants and shares (tenant.c) ---- */

struct gsh_share {
	struct gsh_tenant *tenant;
	struct gsh_card *card;
	spinlock_t lock; /* leaf lock; taken under mmap_lock too */
	struct gsh_account account; /* lock */
	u32 compute_min_permille, compute_max_permille; /* gsh_tenants_lock */
	u32 weight, priority, policy; /* gsh_tenants_lock */
	struct kobject *kobj; /* sysfs */
};

struct gsh_vnode {
	struct gsh_tenant *tenant; /* holds a reference while in gsh_nodes */
	enum gpushare_node_kind kind;
	struct gsh_card *card; /* GPU nodes */
	dev_t devt;
	struct device *dev;
};

struct gsh_fwd {
	spinlock_t lock;
	struct list_head jobs; /* lock */
	struct list_head workers; /* lock */
	unsigned int idle, total; /* lock */
	wait_queue_head_t wake;
};

struct gsh_stats {
	atomic64_t ioctls, forwarded, refused_quota, refused_denied, refused_unknown, open_denied;
};

struct gsh_tenant {
	struct kref ref;
	struct list_head link; /* gsh_tenants_lock */
	char name[GPUSHARE_NAME_MAX + 1];
	char uuid[GPUSHARE_UUID_LEN + 1];
	kuid_t uid;
	kgid_t gid;
	umode_t mode; /* gsh_tenants_lock to write */
	bool dying; /* gsh_tenants_lock to write: no new files, calls fail */
	struct kobject *kobj;

	unsigned int nshares;
	struct gsh_share *shares;
	unsigned int nnodes;
	struct gsh_vnode *nodes;

	spinlock_t gate_lock;
	struct cgroup *cgroup; /* gate_lock; holds a reference */

	struct semaphore memory; /* one call that names memory at a time */
	struct mutex registry; /* guards what follows */
	struct xarray clients; /* registry: handle -> struct gsh_client */
	struct list_head files; /* registry: struct gsh_file.link */
	struct list_head reals; /* registry: struct gsh_real.link */

	struct gsh_fwd fwd;
	struct gsh_stats stats;
	atomic_t open_files;
	struct work_struct free_work;
};

extern struct mutex gsh_tenants_lock;
extern struct list_head gsh_tenants; /* gsh_tenants_lock */
extern struct workqueue_struct *gsh_wq;

struct gsh_share_spec {
	struct gsh_card *card;
	u64 quota_bytes;
	u32 compute_min_permille, compute_max_permille, weight, priority, policy;
};

struct gsh_tenant_spec {
	const char *name;
	const char *uuid; /* NULL: one is made */
	kuid_t uid;
	kgid_t gid;
	umode_t mode;
	unsigned int nshares;
	struct gsh_share_spec *shares;
};

int gsh_tenants_init(void);
void gsh_tenants_exit(void);
int gsh_tenant_create(const struct gsh_tenant_spec *spec, struct gsh_tenant **out,
		      struct netlink_ext_ack *extack);
int gsh_tenant_delete(struct gsh_tenant *tenant, bool force, struct netlink_ext_ack *extack);
struct gsh_tenant *gsh_tenant_find(const char *name); /* gsh_tenants_lock held */
void gsh_tenant_get(struct gsh_tenant *tenant);
void gsh_tenant_put(struct gsh_tenant *tenant);
struct gsh_share *gsh_tenant_share(struct gsh_tenant *tenant, const struct gsh_card *card);
bool gsh_tenant_owns_gpu(void *tenant, u32 gpu_id); /* gsh_view_own_gpu */
int gsh_share_set_quota(struct gsh_share *share, u64 bytes, struct netlink_ext_ack *extack);
int gsh_tenant_bind(struct gsh_tenant *tenant, u64 cgroup_id, struct netlink_ext_ack *extack);
void gsh_tenant_unbind(struct gsh_tenant *tenant);
bool gsh_tenant_admits(struct gsh_tenant *tenant); /* may current open its nodes? */
/* Is current inside any tenant's cgroup? */
bool gsh_current_is_bound(void);
bool gsh_current_is_bound_locked(void); /* gsh_tenants_lock held */
u64 gsh_tenant_cgroup_id(struct gsh_tenant *tenant); /* 0: not bound */
bool gsh_name_valid(const char *name);

/* ---- virtual nodes (cdev.c) ---- */

int gsh_cdev_init(void);
void gsh_cdev_exit(void);
int gsh_node_create(struct gsh_vnode *node);
void gsh_node_destroy(struct gsh_vnode *node);
int gsh_node_path(const struct gsh_vnode *node, char *buf, size_t size);

/* ---- hidden real files (host.c) ---- */

struct gsh_uvm;

struct gsh_real {
	struct kref ref; /* one for the file, one per gsh_file, job and client */
	struct gsh_tenant *tenant; /* NULL: gpushare's own */
	enum gpushare_node_kind kind;
	struct gsh_card *card;
	struct list_head link; /* tenant->registry */
	bool dead; /* every further call fails: the books could not be kept; set once */
	struct list_head clients; /* tenant->registry: gsh_client.link */
	struct list_head exports; /* tenant->registry: gsh_hold.link */
	struct list_head kept; /* the same, for handles that no book has: see alloc.c */
	struct gsh_uvm *uvm; /* uvm files */
	struct delayed_work gone_work;
};

int gsh_host_init(void);
void gsh_host_exit(void);
struct file *gsh_real_open(struct gsh_tenant *tenant, enum gpushare_node_kind kind,
			   struct gsh_card *card, unsigned int flags, const struct cred *cred,
			   struct gsh_real **out);
void gsh_real_get(struct gsh_real *real);
void gsh_real_put(struct gsh_real *real);
int gsh_uvm_major(void);

/* ---- the forwarding threads (fwd.c) ---- */

#define GSH_SEGS_MAX 8
#define GSH_FDS_MAX  2

struct gsh_seg {
	void *buf; /* kvmalloc'ed, owned by the job */
	u32 size;
	u64 user; /* where the caller has it */
	u8 parent; /* segment that holds the pointer to this one */
	u32 ptr_off; /* offset of that pointer in the parent */
	bool no_copy_out;
};

struct gsh_fd {
	struct file *file; /* reference owned by the job */
	u8 seg;
	u32 off;
	u8 width; /* 4 or 8 bytes */
	u64 saved; /* the caller's number, put back afterwards */
};

struct gsh_job {
	struct kref ref;
	struct list_head link;
	struct completion done;
	struct file *real; /* reference */
	struct gsh_file *file; /* the virtual file; its file is held by vfile */
	struct file *vfile; /* reference, or NULL for gpushare's own calls */
	const struct cred *cred; /* reference */
	pid_t tgid; /* the process on whose behalf the driver works */
	unsigned int cmd;
	unsigned int nsegs, nfds;
	struct gsh_seg segs[GSH_SEGS_MAX];
	struct gsh_fd fds[GSH_FDS_MAX];
	struct file *presence; /* reference; an open file of the card */
	/* With the tenant's memory calls held off, before the call is queued: what
	 * it names now is what it names when the driver runs. A status other than 0
	 * is the answer, without the driver. One that reserves sets settle itself. */
	u32 (*prepare)(struct gsh_job *job);
	void (*settle)(struct gsh_job *job); /* in the worker, always, once */
	struct semaphore *held; /* given back after settle */
	long rc; /* written by the worker; the caller may look after gsh_job_run() gave 0 */
	bool entered; /* the driver was called */
	struct pid *as_pid; /* reference, or NULL: also under this pid */
	struct gsh_request req;
	/* what settle needs */
	struct gsh_share *share;
	u64 reserved_bytes;
	u64 free_before;
	u64 charge_seq;
	struct gsh_real *other; /* reference */
	int overhead_kind;
	void *private; /* settle's own */
	void *worker; /* who ran it; for calls made from settle */
	u64 queued_ns; /* 0: nobody traces */
};

int gsh_fwd_init(void); /* takes the address space that the copies live in */
void gsh_fwd_exit(void);
void gsh_fwd_setup(struct gsh_fwd *fwd);
void gsh_fwd_shutdown(struct gsh_fwd *fwd);
struct gsh_fwd *gsh_fwd_own(void);

struct gsh_job *gsh_job_new(struct file *real, unsigned int cmd);
int gsh_job_seg(struct gsh_job *job, u32 size, u64 user, u8 parent, u32 ptr_off);
int gsh_job_fd(struct gsh_job *job, struct file *file, u8 seg, u32 off, u8 width);
void gsh_job_put(struct gsh_job *job);
/* Runs it; 0 when it ran (job->rc has the driver's answer), -EINTR when the
 * caller was killed first: the job goes on and settles without it. */
int gsh_job_run(struct gsh_fwd *fwd, struct gsh_job *job);
/* From settle only: a further call in the same worker, right now. */
void gsh_job_nested(struct gsh_job *outer, struct gsh_job *job);

static inline void *gsh_job_top(struct gsh_job *job)
{
	return job->segs[0].buf;
}

/* ---- open virtual files (file.c) ---- */

struct gsh_file {
	struct gsh_tenant *tenant;
	enum gpushare_node_kind kind;
	struct gsh_card *card;
	struct file *real; /* reference */
	struct gsh_real *r; /* reference */
	struct gsh_real *ctl; /* registry: reference; who owns calls of a GPU file */
	struct list_head link; /* registry */
	struct file *vfile; /* itself: only compared */
	struct pid *pid; /* of the opener, for display */
	char comm[TASK_COMM_LEN];
	spinlock_t cred_lock;
	const struct cred *cred_src, *cred; /* cred_lock: cached pair */
};

extern const struct file_operations gsh_fops;

struct gsh_file *gsh_file_of(struct file *file); /* NULL: not a virtual file */
/* The virtual file behind the caller's number; NULL unless it is the same tenant's. */
struct gsh_file *gsh_file_get_fd(struct gsh_tenant *tenant, int fd, struct file **out);
const struct cred *gsh_file_cred(struct gsh_file *f);
/* A living process that has the file open, the opener if it does; a reference. */
struct pid *gsh_file_holder(struct gsh_file *f);
void gsh_file_sync_flags(struct file *vfile, struct gsh_file *f);

/* ---- what a tenant has in the driver (registry.c); tenant->registry held ---- */

/* Card memory counted once, however many handles, mappings and exports keep it. */
struct gsh_mem {
	unsigned int refs; /* registry */
	unsigned int handles; /* registry: of refs, those that are handles */
	struct gsh_share *share;
	u64 bytes;
	enum gsh_charge_kind kind; /* OBJECT while a handle lives, then LINGERING */
};

/* A reference on memory by something without a handle: an export. */
struct gsh_hold {
	struct list_head link;
	struct gsh_mem *mem;
};

struct gsh_obj {
	u32 handle, parent, h_class;
	struct gsh_client *client;
	struct list_head sibling; /* its parent's children, where the books know that one */
	struct list_head children; /* gsh_obj.sibling */
	struct gsh_card *card; /* devices, subdevices and memory */
	struct gsh_mem *mem; /* reference, or NULL */
	bool borrowed; /* a second handle: duplicated or imported */
	u64 overhead_bytes;
	struct gsh_share *overhead_share;
};

struct gsh_client {
	u32 handle;
	struct gsh_tenant *tenant;
	struct gsh_real *real; /* reference: the control file that owns it */
	struct list_head link; /* real->clients */
	struct xarray objects; /* handle -> struct gsh_obj */
	struct pid *pid; /* thread group of its maker */
	u32 nobjects;
	bool superseded; /* the driver gave the handle to a newer client */
};

/* pid: thread group of its maker, for display and for who may see whom. */
struct gsh_client *gsh_client_create(struct gsh_real *real, u32 handle, struct pid *pid);
/* Takes away its authority: nothing that names it is the tenant's any more. */
void gsh_client_disown(struct gsh_client *client);
bool gsh_client_superseded(struct gsh_client *client);
void gsh_client_destroy(struct gsh_client *client);
struct gsh_client *gsh_client_find(struct gsh_tenant *tenant, u32 handle);
struct gsh_obj *gsh_obj_find(struct gsh_client *client, u32 handle);
struct gsh_obj *gsh_obj_create(struct gsh_client *client, u32 handle, u32 parent, u32 h_class);
void gsh_obj_destroy(struct gsh_obj *obj); /* and all below it */
struct gsh_obj *gsh_obj_at(struct gsh_tenant *tenant, u32 h_client, u32 handle);
struct gsh_card *gsh_obj_card(struct gsh_client *client, u32 handle);
/* These two take the registry lock. The share on the card of an object; NULL: status,
 * unless NULL, tells whether client or object is not the tenant's. */
bool gsh_tenant_has_client(struct gsh_tenant *tenant, u32 h_client);
struct gsh_share *gsh_share_at(struct gsh_tenant *tenant, u32 h_client, u32 handle, u32 *status);
struct gsh_mem *gsh_mem_create(struct gsh_share *share, u64 bytes);
void gsh_mem_get(struct gsh_mem *mem, bool handle);
void gsh_mem_put(struct gsh_mem *mem, bool handle);
void gsh_holds_drop(struct list_head *list);
/* Drops what the driver no longer knows; returns true if anything went. */
bool gsh_registry_audit(struct gsh_tenant *tenant);
bool gsh_tenant_owns_pid(struct gsh_tenant *tenant, struct pid *pid);
/* A process' memory objects on a card, told apart as the driver does: private, shared
 * with others, and second handles on what others own. */
struct gsh_usage {
	u64 private_bytes, shared_bytes, borrowed_bytes;
};

struct gsh_usage gsh_usage_of(struct gsh_tenant *tenant, struct pid *pid,
			      const struct gsh_card *card);

/* ---- charging (charge.c) ---- */

bool gsh_share_reserve(struct gsh_share *share, u64 bytes);
void gsh_share_unreserve(struct gsh_share *share, u64 bytes);
/* Turns a reservation into a charge of the true size; false if that is over quota. */
bool gsh_share_settle(struct gsh_share *share, enum gsh_charge_kind kind, u64 reserved, u64 actual);
void gsh_share_charge(struct gsh_share *share, enum gsh_charge_kind kind, u64 bytes);
void gsh_share_release(struct gsh_share *share, enum gsh_charge_kind kind, u64 bytes);
void gsh_share_move(struct gsh_share *share, enum gsh_charge_kind from, enum gsh_charge_kind to,
		    u64 bytes);
void gsh_share_refused(struct gsh_share *share, u64 bytes);
struct gsh_account gsh_share_account(struct gsh_share *share);
struct gsh_view gsh_share_view(struct gsh_share *share);
u64 gsh_overhead_estimate(struct gsh_card *card, int kind);
void gsh_charging_begin(struct gsh_card *card, u64 *seq);
/* True if no other charging call ran since begin. */
bool gsh_charging_end(struct gsh_card *card, u64 seq);
/* Something moves the card's free memory: an overhead measured meanwhile is no figure. */
void gsh_charging_disturb(struct gsh_card *card);

/* ---- ioctls ---- */

long gsh_frontend_ioctl(struct file *vfile, struct gsh_file *f, unsigned int cmd,
			unsigned long arg); /* control and GPU nodes */
int gsh_alloc_call(struct gsh_file *f, struct gsh_job *job);
int gsh_root_call(struct gsh_file *f, struct gsh_job *job);
int gsh_context_dma_call(struct gsh_file *f, struct gsh_job *job);
int gsh_vidheap_call(struct gsh_file *f, struct gsh_job *job);
int gsh_free_call(struct gsh_file *f, struct gsh_job *job);
int gsh_dup_call(struct gsh_file *f, struct gsh_job *job);
int gsh_control_call(struct gsh_file *f, struct gsh_job *job);
void gsh_job_set_status(struct gsh_job *job, u32 status);
u32 gsh_job_status(struct gsh_job *job);
int gsh_job_copy_out(struct gsh_job *job);
/* From settle: frees in the driver what the call has made; false: it lives on. */
bool gsh_job_undo(struct gsh_job *job, u32 h_client, u32 h_parent, u32 handle);
/* The same for a second handle of mem (a reference, or NULL). Takes both over. */
void gsh_job_undo_borrowed(struct gsh_job *job, u32 h_parent, u32 handle, struct gsh_mem *mem,
			   struct gsh_hold *room);
int gsh_job_for(struct file *vfile, struct gsh_file *f, struct gsh_job *job);
/* Submit on the tenant's threads with the tenant's memory calls held off. */
int gsh_job_run_memory(struct gsh_tenant *tenant, struct gsh_job *job);
unsigned int gsh_rm_cmd(u32 nr, u32 size);
/* A block the call points to: its index, or -EFAULT, -E2BIG, -ENOMEM. */
int gsh_job_copy_in(struct gsh_job *job, u64 user, u32 size, u8 parent, u32 ptr_off, u8 direction);
int gsh_job_withhold(struct gsh_job *job, u32 status); /* 0 */
int gsh_job_refuse_params(struct gsh_job *job, int err); /* 0, or err where it is no answer */
/* nr: escape or managed-memory command; what: class or command, or 0 */
void gsh_count_refusal(struct gsh_tenant *tenant, struct gsh_verdict verdict, u32 nr, u32 what);
void gsh_job_count_refusal(struct gsh_job *job, struct gsh_verdict verdict);
/* The virtual file that the call names by number, its real file put in its place. vfile
 * gets a reference, also where NULL is returned; it may stay NULL. */
struct gsh_file *gsh_job_translate_fd(struct gsh_job *job, u8 seg, struct file **vfile);
/* After a call without a translation: the caller's own number goes back to it. */
void gsh_job_restore_fd(struct gsh_job *job, u8 seg);
/* In the caller's context, on the caller's memory, with lessened credentials. */
long gsh_forward_direct(struct gsh_file *f, unsigned int cmd, unsigned long arg);

/* ---- managed memory (uvm.c) ---- */

long gsh_uvm_ioctl(struct file *vfile, struct gsh_file *f, unsigned int cmd, unsigned long arg);
int gsh_uvm_mmap(struct gsh_file *f, struct vm_area_struct *vma);
struct gsh_uvm *gsh_uvm_create(struct gsh_real *real, struct file *file);
bool gsh_share_set_managed(struct gsh_share *share, u64 from, u64 to);
struct file *gsh_presence_file(struct gsh_tenant *tenant, struct gsh_card *card);
/* A measured figure, within bounds; returns what to charge. */
u64 gsh_overhead_learn(struct gsh_card *card, int kind, u64 bytes);
struct gsh_vnode *gsh_node_get(dev_t devt);
void gsh_uvm_gone(struct gsh_uvm *uvm); /* the real file is gone */
void gsh_uvm_recount(struct gsh_tenant *tenant);

/* ---- calls that nobody knows ---- */

enum gsh_unknown { GSH_UNKNOWN_IOCTL, GSH_UNKNOWN_CONTROL, GSH_UNKNOWN_UVM };

int gsh_unknown_init(void);
void gsh_unknown_exit(void);
/* Counts and lists one that is refused. nr: the ioctl's; number: what is unknown. */
void gsh_unknown_call(struct gsh_tenant *tenant, enum gsh_unknown kind, u32 nr, u32 number);

/* ---- control plane ---- */

int gsh_netlink_init(void);
void gsh_netlink_exit(void);
/* A refusal's text with figures; extack may be NULL. */
__printf(2, 3) void gsh_refuse(struct netlink_ext_ack *extack, const char *format, ...);
void gsh_event(enum gpushare_event_type type, struct gsh_tenant *tenant, struct gsh_card *card,
	       u64 bytes, const char *detail);
int gsh_sysfs_init(void);
void gsh_sysfs_exit(void);
int gsh_sysfs_tenant_add(struct gsh_tenant *tenant);
void gsh_sysfs_tenant_del(struct gsh_tenant *tenant);

#endif /* GSH_GPUSHARE_H */
