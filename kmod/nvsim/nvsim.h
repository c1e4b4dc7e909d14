/* SPDX-License-Identifier: GPL-2.0 */
/*
 * nvsim: a simulated NVIDIA driver. Everything that two of its files share.
 *
 * Locks, outermost first (README.md has the reasons):
 *   uvm space lock   GPUs of one managed-memory file
 *   sim_rm_lock      clients, objects, parents, mappings; write for calls that change them
 *   mmap_lock        taken by user copies under sim_rm_lock, so no fault, mmap or
 *                    vm close handler may take sim_rm_lock or a uvm space lock
 *   vaspace lock     one GPU address space
 *   uvm ranges_lock  ranges of one managed-memory file
 *   file lock        mapping context and exports of one open file
 *   memory lock      pages of one memory object
 *   heap lock        one card's heap figures and extents
 *   sim_event_lock   events (spinlock, leaf); sim_doorbell_lock likewise
 */
#ifndef NVSIM_H
#define NVSIM_H

#include <linux/fs.h>
#include <linux/interval_tree.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/rwsem.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "nvabi/numbers.h"
#include "nvabi/structs.h"
#include "nvabi/versions.h"

#define SIM_MAX_CARDS 8
#define SIM_MIB(n)    ((u64)(n) << 20)

struct sim_call;
struct sim_card;
struct sim_channel; /* exec_*.c */
struct sim_client;
struct sim_ctrl;
struct sim_file;
struct sim_memory;
struct sim_model; /* model.h */
struct sim_object;
struct sim_uvm_space;
struct sim_vaspace;

/* ---- main.c: parameters ---- */

struct sim_params {
	unsigned int cards;
	unsigned long memory_mib; /* of each card */
	unsigned long reserved_mib; /* what the driver keeps of it */
	unsigned long group_overhead_kib; /* context buffers in no size field */
	unsigned long channel_overhead_kib;
	unsigned int defer_close_ms;
	unsigned int modify_device_files; /* what the params file says */
	char *version; /* "535.261.03" */
	bool pretend; /* version is shown only */
	char *model; /* name of a card model, see model.c */
	char *presence; /* "auto", "inode" or "f_op" */
};

extern struct sim_params sim_params;

/* The driver this module pretends to be: sizes and habits of the version parameter. */
extern const struct nvabi_version *sim_abi;

/* ---- card.c: a simulated card ---- */

struct sim_extent { /* a stretch of card memory, 64 KiB granules; @node under heap lock */
	struct interval_tree_node node; /* bytes, inclusive */
	struct sim_memory *memory;
	struct list_head link; /* memory->extents */
};

struct sim_card {
	unsigned int index; /* 0.. ; also the minor and the device instance */
	unsigned int minor;
	u32 gpu_id; /* (bus << 8) | slot, and the domain above; never 0 */
	u32 domain;
	u8 bus, slot, function;
	u8 uuid[16];
	char uuid_text[48]; /* GPU-xxxxxxxx-... */
	const struct sim_model *model;
	u64 total_bytes;
	u64 reserved_bytes;
	bool lost; /* every call answers 0x0f */
	atomic_t opens;

	struct mutex heap_lock;
	struct rb_root_cached extents; /* taken stretches */
	u64 object_bytes; /* memory objects with a handle, mapping or export */
	u64 overhead_bytes; /* context buffers */
	u64 managed_bytes; /* managed pages resident on the card; evictable */
	struct list_head memories; /* sim_memory.card_link */
	struct list_head residents; /* managed ranges with resident pages, see uvm.h */

	struct sim_exec *exec; /* exec_*.c */
};

extern struct sim_card *sim_cards[SIM_MAX_CARDS];

struct sim_card *sim_card_by_gpu_id(u32 gpu_id);
struct sim_card *sim_card_by_minor(unsigned int minor);
struct sim_card *sim_card_by_uuid(const u8 uuid[16]);
struct sim_card *sim_card_by_instance(u32 instance);
#define sim_for_each_card(card, i) for (i = 0; i < sim_params.cards && ((card) = sim_cards[i]); i++)

struct sim_heap_figures { /* bytes; total >= heap >= free */
	u64 total; /* [8] */
	u64 reserved;
	u64 heap; /* [9] = total - reserved */
	u64 objects, overhead, managed;
	u64 free; /* [0x16] = heap - objects - overhead - managed */
	u64 largest_free;
	u64 bar1_total, bar1_free;
};
void sim_heap_figures(struct sim_card *card, struct sim_heap_figures *figures);

/* Card memory that is in no size field; evicts managed pages; NV_ERR_NO_MEMORY. */
u32 sim_overhead_take(struct sim_card *card, u64 bytes);
void sim_overhead_give(struct sim_card *card, u64 bytes);

/* ---- memory.c: memory objects ---- */

enum sim_memory_kind {
	SIM_MEMORY_CARD, /* card memory, counted on the heap */
	SIM_MEMORY_SYSTEM, /* pages of ours */
	SIM_MEMORY_USER, /* pinned pages of a process (class 0x71) */
	SIM_MEMORY_DOORBELL, /* usermode page; system pages */
	SIM_MEMORY_WINDOW, /* root's view of physical card memory (class 0xc2 ...) */
};

struct sim_memory {
	struct kref ref; /* the structure and its pages: owners and CPU mappings */
	atomic_t owners; /* handles, GPU mappings, exports: hold the heap's bytes */
	enum sim_memory_kind kind;
	struct sim_card *card; /* NULL: system memory without a card */
	u64 bytes; /* rounded size */
	u64 asked_bytes;
	u64 page_bytes; /* GPU page size: 4K, 64K, 2M ... */
	u64 address; /* SIM_MEMORY_CARD: of the first extent; WINDOW: its start */
	u32 owner_tag, type, attr, attr2, flags;
	pid_t tgid; /* global id of the process that allocated it; 0: kernel */
	u32 h_client, h_object; /* where it was born; for the truth only */
	u32 h_class;
	atomic_t external; /* mappings and exports that keep it without a handle */
	atomic_t handles; /* object handles on it */
	struct list_head extents; /* heap lock */
	struct list_head card_link; /* heap lock */
	struct list_head all_link;
	struct mutex lock; /* pages */
	struct xarray pages; /* index -> struct page, made at first touch */
	struct page **user_pages; /* SIM_MEMORY_USER */
	unsigned long user_count;
};

struct sim_memory *sim_memory_get(struct sim_memory *memory); /* structure and pages */
void sim_memory_put(struct sim_memory *memory);
struct sim_memory *sim_memory_own(struct sim_memory *memory); /* + the heap's bytes */
void sim_memory_disown(struct sim_memory *memory);

/* The page at @index (of PAGE_SIZE), made zeroed if it is the first touch; NULL: no
 * memory or out of range. It lives as long as the caller's reference on @memory.
 * Sleeps. */
struct page *sim_memory_page(struct sim_memory *memory, pgoff_t index);
/* Nobody has touched it: it reads as zeros and costs nothing yet. */
bool sim_memory_untouched(struct sim_memory *memory, pgoff_t index);
int sim_memory_read(struct sim_memory *memory, u64 offset, void *to, size_t bytes);
int sim_memory_write(struct sim_memory *memory, u64 offset, const void *from, size_t bytes);

/* ---- client.c, object.c: handles ---- */

struct sim_class {
	u32 id;
	u32 params_size; /* 0: as nvabi/classes.h says */
	u32 flags; /* SIM_CLASS_* */
	/* Object is linked and has its card; @params is a kernel copy (NULL when the caller
	 * gave none), copied back when it succeeds. Called with sim_rm_lock for writing. */
	u32 (*construct)(struct sim_call *call, struct sim_object *object, void *params);
	/* Children are gone already. sim_rm_lock for writing. */
	void (*destruct)(struct sim_object *object);
};

#define SIM_CLASS_ROOT_ONLY   0x01 /* 0x1b unless CAP_SYS_ADMIN or a kernel caller */
#define SIM_CLASS_KERNEL_ONLY 0x02
#define SIM_CLASS_ON_CLIENT   0x10 /* parents allowed */
#define SIM_CLASS_ON_DEVICE   0x20
#define SIM_CLASS_ON_SUBDEV   0x40
#define SIM_CLASS_ON_CHANNEL  0x80
#define SIM_CLASS_ON_GROUP    0x100
#define SIM_CLASS_ON_OTHER    0x400
#define SIM_CLASS_ON_ANY      0x5f0
#define SIM_CLASS_DUP         0x200 /* RM_DUP_OBJECT works */
#define SIM_CLASS_ONCE        0x800 /* one below a parent */

const struct sim_class *sim_class_find(u32 id);
/* exec_*.c and ctrl_*.c add theirs from sim_exec_init() / sim_ctrl_init(). */
void sim_class_add(const struct sim_class *classes, size_t count);

struct sim_object {
	u32 handle;
	u32 h_class;
	const struct sim_class *class;
	struct sim_client *client;
	struct sim_object *parent; /* NULL: the client's root object */
	struct list_head children;
	struct list_head sibling;
	struct sim_card *card; /* of the device above; NULL above devices */
	struct sim_memory *memory; /* memory and usermode classes; owned */
	struct sim_vaspace *vaspace; /* 0x90f1; and 0x80 (default space); referenced */
	struct list_head events; /* sim_event.on_source; sim_event_lock */
	struct list_head cpu_maps; /* sim_cpu_map: RM_MAP_MEMORY */
	void *core; /* sim_event of event objects */
	void *exec; /* channels, groups, context shares, engines: exec_*.c */
	void *data; /* ctrl_*.c; kfree()d with the object */
};

#define SIM_TASK_COMM_LEN 16

#define SIM_SYSTEM_EVENTS 5 /* NV0000_NOTIFIERS_MAXCOUNT: cl0000_notification.h */

struct sim_client {
	u32 handle; /* 0xc1d00001 ...; kernel callers 0xc1e00001 ... */
	struct sim_object root; /* handle == client handle, class 0x41 */
	struct list_head link; /* sim_clients */
	struct xarray objects; /* handle -> sim_object, root included */
	struct sim_file *owner; /* control file; NULL: kernel */
	struct pid *pid; /* who made it, as os_get_pid_info() notes it; NULL: kernel */
	pid_t tgid; /* the same as os_get_current_process() notes it */
	kuid_t uid; /* effective, when made */
	char comm[SIM_TASK_COMM_LEN];
	u32 next_handle; /* for handles the driver chooses: 0xcaf00000 + n */
	bool share_all; /* inherited policy lets anyone duplicate */
	u8 system_actions[SIM_SYSTEM_EVENTS];
};

extern struct rw_semaphore sim_rm_lock;
extern struct list_head sim_clients; /* sim_rm_lock */

/* All four: sim_rm_lock held. */
struct sim_client *sim_client_find(u32 handle);
struct sim_object *sim_object_find(struct sim_client *client, u32 handle);
/* First ancestor (or the object itself) of a class: NULL if none. */
struct sim_object *sim_object_above(struct sim_object *object, u32 h_class);
u32 sim_client_check(struct sim_call *call, struct sim_client *client); /* owner: 0x23 */
u32 sim_call_rights(void); /* RS_ACCESS mask of an own object */
/* Depth first over all objects of a client; returns the first non-zero of @each. */
int sim_client_each(struct sim_client *client, int (*each)(struct sim_object *, void *), void *arg);

/* ---- escape.c: one call ---- */

struct sim_call {
	struct sim_file *file; /* the file the ioctl came on; NULL: kernel interface */
	bool kernel; /* kernel caller: kernel pointers, no owner, all rights */
	bool admin; /* CAP_SYS_ADMIN in the initial user namespace, or kernel */
};

/* Pointers inside parameters: user memory for users, kernel memory for kernel callers.
 * NV_OK or NV_ERR_INVALID_ADDRESS. May fault: sim_rm_lock is the only lock to hold. */
u32 sim_copy_in(const struct sim_call *call, void *to, u64 from, size_t bytes);
u32 sim_copy_out(const struct sim_call *call, u64 to, const void *from, size_t bytes);
u32 sim_clear_out(const struct sim_call *call, u64 to, size_t bytes);

/* ---- ctrl_*.c (the controls): the core looks the command up and copies ---- */

struct sim_ctrl {
	u32 cmd;
	u32 size; /* of the parameters in the running version; any other: 0x1f */
	u32 flags; /* SIM_CTRL_* */
	/* @params: kernel copy, copied back afterwards whatever the status. */
	u32 (*handle)(struct sim_call *call, struct sim_object *object, void *params);
};

#define SIM_CTRL_WRITE   0x1 /* sim_rm_lock for writing (default: reading) */
#define SIM_CTRL_ADMIN   0x2 /* 0x1b unless call->admin */
#define SIM_CTRL_KERNEL  0x4 /* 0x1b unless call->kernel */
#define SIM_CTRL_NICE    0x8 /* 0x1b unless CAP_SYS_NICE or kernel */
#define SIM_CTRL_ANYSIZE 0x10 /* handler is told nothing: any size up to 64 KiB */

int sim_ctrl_init(void); /* add classes, sort tables; -errno */
void sim_ctrl_exit(void);
/* NULL: unknown command (0x56). */
const struct sim_ctrl *sim_ctrl_find(u32 cmd);
/* Whether the command belongs to this object's class; else 0x56. */
bool sim_ctrl_fits(const struct sim_ctrl *ctrl, const struct sim_object *object);

/* Handlers in the core that the control tables name; all want SIM_CTRL_WRITE. */
u32 sim_export_to_fd(struct sim_call *call, struct sim_object *object, void *params); /* 0x3d05 */
u32 sim_import_from_fd(struct sim_call *call, struct sim_object *object, void *params); /* 0x3d06 */
u32 sim_export_info(struct sim_call *call, struct sim_object *object, void *params); /* 0x3d08 */
u32 sim_export_create(struct sim_call *call, struct sim_object *object, void *params); /* 0x3d0a */
u32 sim_export_many(struct sim_call *call, struct sim_object *object, void *params); /* 0x3d0b */
u32 sim_import_many(struct sim_call *call, struct sim_object *object, void *params); /* 0x3d0c */
u32 sim_share_policy(struct sim_call *call, struct sim_object *object, void *params); /* 0xd04 */

/* ---- event.c ---- */

#define SIM_EVENT_DISABLE 0
#define SIM_EVENT_SINGLE  1
#define SIM_EVENT_REPEAT  2

struct sim_os_event { /* ALLOC_OS_EVENT: a label on a file; sim_event_lock */
	struct list_head link; /* all of them */
	u32 h_client, fd;
	struct sim_file *file; /* NULL when that file is gone */
	unsigned int refs; /* the list's and those of event objects */
};

struct sim_event { /* an object of class 0x5 or 0x79; sim_event_lock */
	struct list_head on_source; /* source->events */
	struct list_head on_interrupt; /* if it listens to engines */
	struct sim_object *object;
	struct sim_object *source; /* NULL when that object is gone */
	struct sim_os_event *os; /* counted; NULL for class 0x5 */
	u32 index; /* notify index without the flag bits */
	u32 flags; /* NV01_EVENT_* bits of the notify index */
	u32 action; /* SIM_EVENT_* */
};

extern spinlock_t sim_event_lock;

/* EVENT_SET_NOTIFICATION: arm every event of @source with this index. */
u32 sim_event_arm(struct sim_object *source, u32 index, u32 action);
/* Post to the events of @source with this index that are armed; those made with the
 * non-stall flag need no arming. Does not sleep; the caller keeps @source alive. */
void sim_event_raise(struct sim_object *source, u32 index, u32 info32, u16 info16);
/* The same from an engine of the card, whoever listens. Does not sleep, needs no lock. */
void sim_event_interrupt(struct sim_card *card, u32 index);

/* ---- vaspace.c: GPU address spaces ---- */

struct sim_va_map {
	struct interval_tree_node node; /* GPU virtual bytes, inclusive */
	struct sim_memory *memory; /* owned; NULL: sparse */
	u64 offset; /* into memory */
	bool uvm; /* made by UVM, not by MAP_MEMORY_DMA */
	u32 h_client, h_dma, h_memory; /* MAP_MEMORY_DMA: what the caller named */
};

struct sim_vaspace {
	struct kref ref;
	struct list_head link; /* all of them; a lock of vaspace.c */
	struct sim_card *card;
	struct rw_semaphore lock; /* maps, uvm */
	struct rb_root_cached maps;
	struct sim_uvm_space *uvm; /* managed-memory file it is registered with */
	u64 next_va; /* where MAP_MEMORY_DMA places what has no address */
};

struct sim_vaspace *sim_vaspace_get(struct sim_vaspace *vaspace);
void sim_vaspace_put(struct sim_vaspace *vaspace);
/* From a handle as it stands in channel, group or virtual-memory parameters; 0: the
 * device's default. sim_rm_lock held. No reference taken. NULL: no such space. */
struct sim_vaspace *sim_vaspace_lookup(struct sim_client *client, struct sim_object *device,
				       u32 h_vaspace);

/*
 * For the executor. Sleep; take vaspace and memory locks only. Return 0, or -EFAULT with
 * *fault_va at the first byte that is not mapped. Managed ranges move to the card.
 */
int sim_va_read(struct sim_vaspace *vaspace, u64 va, void *to, size_t bytes, u64 *fault_va);
int sim_va_write(struct sim_vaspace *vaspace, u64 va, const void *from, size_t bytes,
		 u64 *fault_va);
/* A referenced page (put_page()) at va, offset va & ~PAGE_MASK; NULL: not mapped. */
struct page *sim_va_page(struct sim_vaspace *vaspace, u64 va);
/* Mapped, and sim_memory_untouched(). */
bool sim_va_untouched(struct sim_vaspace *vaspace, u64 va);

/* ---- exec_*.c (the executor) ---- */

int sim_exec_init(void); /* add classes */
void sim_exec_exit(void);
int sim_exec_card_start(struct sim_card *card); /* runlists and threads of one card */
void sim_exec_card_stop(struct sim_card *card);
/* Construct and destruct hooks stand in the classes exec_*.c adds: groups 0xa06c, context
 * shares 0x9067, channels, compute, copy, 2D and video objects. They take their overhead
 * with sim_overhead_take(). */

/*
 * Doorbells: a usermode object (0xc361 ...) has 64 KiB of its own; clients write a token at
 * +0x90. The page is plain memory: two quick writes leave one token, so a ring means "some
 * channel of this client". The core makes and frees the object; the executor walks
 * sim_doorbells under sim_doorbell_lock and exchanges the word with 0.
 */
struct sim_doorbell {
	struct list_head link; /* sim_doorbells */
	struct sim_card *card;
	u32 h_client;
	struct sim_memory *memory; /* referenced */
	u32 *token; /* kernel address of +0x90 */
};

extern struct list_head sim_doorbells;
extern spinlock_t sim_doorbell_lock;

/* Channels named by IDLE_CHANNELS; UVM_REGISTER_CHANNEL only checks that it is one. */
u32 sim_channel_idle(struct sim_object *channel, u32 timeout_us);

/* ---- model.c: card models ---- */

const struct sim_model *sim_model_find(const char *name); /* NULL: unknown */
const char *sim_model_name(const struct sim_model *model); /* "NVIDIA nvsim A10" */
u16 sim_model_device_id(const struct sim_model *model); /* 0x2236 */
u32 sim_model_usermode_class(const struct sim_model *model); /* 0xc561 */
u64 sim_model_bar1_bytes(const struct sim_model *model);

/* ---- file.c: one open file of nvidiactl or nvidiaN ---- */

struct sim_map_context { /* what RM_MAP_MEMORY left for mmap; file lock */
	bool valid;
	struct sim_memory *memory; /* referenced */
	u64 offset; /* page aligned, into memory */
	u64 bytes; /* page aligned */
	bool writable;
	bool eager; /* pages are inserted at mmap (doorbell) */
};

struct sim_file {
	struct sim_card *card; /* NULL: control */
	struct file *filp; /* not counted; valid until release */
	struct file *tied; /* control file of REGISTER_FD; counted; set once under lock */
	struct sim_file *ctl; /* its private data as found then; NULL: not tied */
	unsigned long attached; /* cards of ATTACH_GPUS_TO_FD, a bit each; lock */
	bool was_attached; /* only once; lock */
	struct address_space mapping; /* own, so that mappings of one file can be zapped */
	struct mutex lock; /* context, exports */
	struct sim_map_context context;
	struct sim_export *exports;
	struct list_head event_data; /* for GET_EVENT_DATA; sim_event_lock */
	bool event_pending; /* dataless event arrived, poll uses it up; sim_event_lock */
	wait_queue_head_t wait;
	struct list_head link; /* all open files; sim_files_lock */
	pid_t tgid; /* opener */
};

extern const struct file_operations sim_file_ops;
/* The file behind a descriptor in the caller's table, by inode number and private data
 * only; fput() it. @minor: NV_MINOR_CTL, a GPU minor, or -1 for either. */
struct file *sim_fget(u32 fd, int minor, struct sim_file **file);

/* ---- fault.c: faults on demand ---- */

enum sim_fault_site {
	SIM_SITE_ALLOC,
	SIM_SITE_FREE,
	SIM_SITE_CONTROL,
	SIM_SITE_VID_HEAP,
	SIM_SITE_MAP,
	SIM_SITE_DUP,
	SIM_SITE_UVM,
	SIM_SITE_KERNEL_OP,
	SIM_SITE_OPEN,
	SIM_SITE_COUNT,
};

/* Before the call acts: NV_OK, or the status to answer. May sleep (delay, hang). @number:
 * class or command, for rules that name one. */
u32 sim_fault_before(enum sim_fault_site site, u32 number, struct sim_card *card);
/* After it acted, before the answer reaches user memory: may sleep. */
void sim_fault_after(enum sim_fault_site site, u32 number);

/* ---- truth.c: debugfs ground truth ---- */

struct dentry;
struct sim_counts {
	atomic_t opens, clients, objects, memories, pages, mappings, vaspaces, uvm_spaces,
		doorbells;
};

extern struct sim_counts sim_counts;
struct dentry *sim_debugfs_root(void); /* /sys/kernel/debug/nvsim, for more files */
struct dentry *sim_debugfs_card(struct sim_card *card); /* .../card0 */

#endif /* NVSIM_H */
