/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The executor: what the files exec_*.c share. One thread a card looks at the
 * rings of its channels and does what the push buffers say. README.md
 * ("controls and executor") has the way of one launch through these files.
 *
 * Lock: sim_exec.lock, between sim_rm_lock and the locks of address spaces and
 * memory. The thread takes it and never sim_rm_lock.
 */
#ifndef NVSIM_EXEC_H
#define NVSIM_EXEC_H

#include "nvsim/nvsim.h"
#include "nvabi/controls.h"
#include "nvabi/methods.h"

/* How far a step got. */
enum sim_step {
	SIM_STEP_DONE,
	SIM_STEP_STALL, /* nothing happened: same step again, later */
	SIM_STEP_MORE, /* did a part: same step again, at once if there is time */
	SIM_STEP_FAULT, /* channel->xid says why */
};

struct sim_exec {
	struct sim_card *card;
	struct mutex lock;
	struct list_head channels; /* sim_channel.link; lock */
	unsigned int channel_count; /* lock; read without it to sleep */
	u32 next_id; /* lock */
	struct task_struct *task;
	wait_queue_head_t wait;
	bool kicked; /* somebody wants the thread now */
	u64 busy_ns; /* time spent on engines' work; lock */
	struct sim_load {
		u64 since_ns, busy_then_ns;
		u32 permille;
	} load; /* lock */
};

struct sim_group { /* object->exec of class 0xa06c */
	struct sim_vaspace *vaspace; /* referenced */
	u64 timeslice_us; /* exec lock, as what follows */
	u32 interleave;
	u32 preempts;
	bool scheduled; /* also for channels that come later */
	u32 engine;
	u64 overhead_bytes;
};

struct sim_share { /* object->exec of class 0x9067 */
	struct sim_vaspace *vaspace; /* referenced */
};

#define SIM_HOST_WORDS    (NVC56F_HOST_LIMIT / 4)
#define SIM_COMPUTE_WORDS (0x1c00 / 4)
#define SIM_COPY_WORDS    (0x800 / 4)
#define SIM_FETCH_WORDS   256

struct sim_push { /* where in the push buffer a channel stands */
	u64 va; /* next word */
	u32 words; /* left in this segment */
	u32 op, method, subchannel, count; /* header being served; count: data words left */
};

struct sim_copy_job { /* a copy or fill under way */
	bool active;
	u32 launch; /* LAUNCH_DMA's value */
	u64 src, dst;
	u64 src_pitch, dst_pitch;
	u64 line_bytes;
	u32 lines, line;
	u64 done; /* bytes of this line */
};

struct sim_inline { /* inline data being received */
	u64 va;
	u64 left; /* bytes */
};

struct sim_channel { /* object->exec of channel classes; exec lock */
	struct list_head link;
	struct sim_object *object;
	struct sim_card *card;
	struct sim_group *group; /* NULL: directly on a device */
	struct sim_vaspace *vaspace; /* referenced */
	struct sim_memory *userd; /* referenced */
	u32 *put, *get; /* in its page */
	struct sim_memory *notifier; /* referenced; NULL: none */
	u32 id; /* the token's number */
	u32 engine;
	u64 ring_va;
	u32 entries;
	u32 at; /* next entry */
	bool scheduled, disabled, stopped;
	u32 xid; /* not 0: dead */
	u64 fault_va;
	u64 overhead_bytes;
	u64 ready_ns; /* launch under way until then; 0: none */

	struct sim_push push;
	u32 fetched[SIM_FETCH_WORDS];
	u32 classes[8]; /* bound by SET_OBJECT */
	struct sim_copy_job job;
	struct sim_inline inline_data;
	u32 host[SIM_HOST_WORDS];
	u32 compute[SIM_COMPUTE_WORDS];
	u32 copy[SIM_COPY_WORDS];
	u32 qmd[NV_QMD3_WORDS]; /* inline launch descriptor */

	/* ground truth */
	u64 entries_done, launches, copied_bytes, busy_ns;
};

/* exec_thread.c */
void sim_exec_kick(struct sim_card *card);
u64 sim_gpu_time_ns(void);
bool sim_channel_is_idle(const struct sim_channel *channel); /* exec lock */

/* exec_push.c */
bool sim_channel_run(struct sim_channel *channel); /* whether it got on; exec lock */
enum sim_step sim_channel_fault(struct sim_channel *channel, u32 xid);
void sim_channel_forget_work(struct sim_channel *channel); /* exec lock */

/* exec_host.c, exec_compute.c, exec_copy.c: one method; exec lock */
enum sim_step sim_host_method(struct sim_channel *channel, u32 subchannel, u32 method, u32 data);
enum sim_step sim_compute_method(struct sim_channel *channel, u32 method, u32 data);
enum sim_step sim_copy_method(struct sim_channel *channel, u32 method, u32 data);
enum sim_step sim_copy_continue(struct sim_channel *channel);

/* exec_report.c: what engines write when they are done */
struct sim_report {
	u64 va;
	u64 payload;
	bool payload_64;
	u32 structure; /* NV_STRUCTURE_* */
	bool reduce, is_signed;
	u32 operation; /* NV_QMD3_REDUCE_* */
};

enum sim_step sim_report_write(struct sim_channel *channel, const struct sim_report *report);
enum sim_step sim_channel_read(struct sim_channel *channel, u64 va, void *to, size_t bytes);
enum sim_step sim_channel_write(struct sim_channel *channel, u64 va, const void *from,
				size_t bytes);
void sim_channel_interrupt(struct sim_channel *channel);
u64 sim_reduce(u32 operation, u64 old, u64 value, bool is_signed, bool is_64);

/* exec_class.c */
struct sim_channel *sim_channel_of(struct sim_object *object); /* NULL: not a channel */
struct sim_group *sim_group_of(struct sim_object *object);

static inline u64 sim_pair(u32 upper, u32 lower)
{
	return (u64)upper << 32 | lower;
}

#endif /* NVSIM_EXEC_H */
