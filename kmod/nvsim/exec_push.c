// SPDX-License-Identifier: GPL-2.0-only
/*
 * A channel's ring and push buffer: entries, headers, methods. A method that cannot
 * be done yet is not consumed; the next visit begins with it again.
 */

#include "nvsim/exec.h"

#define STEPS_A_VISIT 32 /* fetches before another channel has its turn */

/* ---- the end of a channel ---- */

static void notify_error(struct sim_channel *channel, u32 xid)
{
	u64 now = sim_gpu_time_ns();
	struct nv_notification note = {
		.time_lo = lower_32_bits(now),
		.time_hi = upper_32_bits(now),
		.info32 = xid,
		.status = 0xffff,
	};

	if (channel->notifier)
		sim_memory_write(channel->notifier, 0, &note, sizeof(note));
	sim_event_raise(channel->object, 0, xid, 0);
}

/* The channel is dead from now on; whoever waits on its error notifier learns why. */
enum sim_step sim_channel_fault(struct sim_channel *channel, u32 xid)
{
	if (!channel->xid) {
		channel->xid = xid;
		notify_error(channel, xid);
	}
	return SIM_STEP_FAULT;
}

/* ---- methods ---- */

static bool is_copy(u32 class)
{
	return (class & 0xff) == 0xb5;
}

/* Compute, inline to memory and 3D are one engine here. */
static bool is_compute(u32 class)
{
	return (class & 0xff) == 0xc0 || (class & 0xff) == 0x97 || (class & 0xff) == 0x40;
}

static enum sim_step method(struct sim_channel *channel, u32 subchannel, u32 method, u32 data)
{
	u32 class = channel->classes[subchannel];

	if (method < NVC56F_HOST_LIMIT)
		return sim_host_method(channel, subchannel, method, data);
	/* A library that binds no class keeps to the usual places. */
	if (is_copy(class) || (!class && subchannel == NV_SUBCHANNEL_COPY))
		return sim_copy_method(channel, method, data);
	if (is_compute(class) || (!class && subchannel == NV_SUBCHANNEL_COMPUTE))
		return sim_compute_method(channel, method, data);
	return SIM_STEP_DONE; /* 2D, video: state without effect */
}

static enum sim_step data_word(struct sim_channel *channel, u32 data)
{
	struct sim_push *push = &channel->push;
	enum sim_step step = method(channel, push->subchannel, push->method, data);

	if (step != SIM_STEP_DONE)
		return step;
	push->count--;
	if (push->op != NVC56F_OP_FIXED)
		push->method += 4;
	if (push->op == NVC56F_OP_INCREMENT_ONCE)
		push->op = NVC56F_OP_FIXED;
	return SIM_STEP_DONE;
}

static enum sim_step header_word(struct sim_channel *channel, u32 header)
{
	struct sim_push *push = &channel->push;

	push->op = NVC56F_OP(header);
	push->subchannel = NVC56F_SUBCHANNEL(header);
	push->method = NVC56F_METHOD(header);
	push->count = 0;
	switch (push->op) {
	case NVC56F_OP_IMMEDIATE:
		return method(channel, push->subchannel, push->method, NVC56F_COUNT(header));
	case NVC56F_OP_INCREMENT:
	case NVC56F_OP_FIXED:
	case NVC56F_OP_INCREMENT_ONCE:
		push->count = NVC56F_COUNT(header);
		return SIM_STEP_DONE;
	case NVC56F_OP_END_SEGMENT:
		push->words = 1; /* this one, which is consumed now */
		return SIM_STEP_DONE;
	default:
		return header ? sim_channel_fault(channel, NV_XID_PUSHBUFFER) : SIM_STEP_DONE;
	}
}

static enum sim_step word(struct sim_channel *channel, u32 value)
{
	return channel->push.count ? data_word(channel, value) : header_word(channel, value);
}

/* Words of the present segment until one has to wait or a copy is under way. */
static enum sim_step segment(struct sim_channel *channel)
{
	struct sim_push *push = &channel->push;
	u32 i, words = min_t(u32, push->words, SIM_FETCH_WORDS);
	enum sim_step step = sim_channel_read(channel, push->va, channel->fetched, words * 4);

	if (step != SIM_STEP_DONE)
		return step;
	for (i = 0; i < words && push->words; i++) {
		step = word(channel, channel->fetched[i]);
		if (step != SIM_STEP_DONE)
			return i && step == SIM_STEP_STALL ? SIM_STEP_MORE : step;
		push->va += 4;
		push->words--;
		if (channel->job.active)
			return SIM_STEP_DONE;
	}
	return SIM_STEP_DONE;
}

/* ---- entries ---- */

static void entry_done(struct sim_channel *channel)
{
	channel->at = (channel->at + 1) % channel->entries;
	channel->entries_done++;
	smp_wmb(); /* what the entry wrote is seen before it counts as fetched */
	WRITE_ONCE(*channel->get, channel->at);
}

static bool has_entry(const struct sim_channel *channel)
{
	u32 put = READ_ONCE(*channel->put);

	smp_rmb(); /* the entry after the pointer that announced it */
	return put != channel->at && put < channel->entries;
}

static enum sim_step entry_begin(struct sim_channel *channel)
{
	u32 words[2];
	enum sim_step step =
		sim_channel_read(channel, channel->ring_va + 8ULL * channel->at, words, 8);

	if (step != SIM_STEP_DONE)
		return step;
	channel->push = (struct sim_push){
		.va = sim_pair(NVC56F_GP_GET_HI(words[1]), NVC56F_GP_GET_LO(words[0])),
		.words = NVC56F_GP_WORDS(words[1]),
	};
	if (!channel->push.words)
		entry_done(channel);
	return SIM_STEP_DONE;
}

static bool runnable(const struct sim_channel *channel)
{
	return channel->scheduled && !channel->disabled && !channel->stopped && !channel->xid &&
	       !READ_ONCE(channel->card->lost);
}

bool sim_channel_is_idle(const struct sim_channel *channel)
{
	return !runnable(channel) ||
	       (!channel->job.active && !channel->push.words && !has_entry(channel));
}

void sim_channel_forget_work(struct sim_channel *channel)
{
	memset(&channel->push, 0, sizeof(channel->push));
	memset(&channel->job, 0, sizeof(channel->job));
	channel->ready_ns = 0;
	channel->at = min(READ_ONCE(*channel->put), channel->entries - 1);
	WRITE_ONCE(*channel->get, channel->at);
}

/* One step; SIM_STEP_STALL when there is nothing to do. */
static enum sim_step visit_step(struct sim_channel *channel)
{
	enum sim_step step;

	if (channel->job.active)
		step = sim_copy_continue(channel);
	else if (channel->push.words)
		step = segment(channel);
	else
		return has_entry(channel) ? entry_begin(channel) : SIM_STEP_STALL;
	/* The last word is done only when the copy it started is. */
	if (step == SIM_STEP_DONE && !channel->push.words && !channel->job.active)
		entry_done(channel);
	return step;
}

bool sim_channel_run(struct sim_channel *channel)
{
	unsigned int i;

	for (i = 0; i < STEPS_A_VISIT && runnable(channel); i++) {
		enum sim_step step = visit_step(channel);

		if (step == SIM_STEP_STALL)
			return i;
		if (step == SIM_STEP_MORE || step == SIM_STEP_FAULT)
			return true;
	}
	return i;
}
