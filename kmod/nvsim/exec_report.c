// SPDX-License-Identifier: GPL-2.0-only
/* What engines write to memory when they are done: semaphores, reports, interrupts. */

#include <linux/minmax.h>

#include "nvsim/exec.h"
#include "nvsim/model.h"

/* Reads and writes of a channel: a missing page kills it, as the card's MMU would. */
enum sim_step sim_channel_read(struct sim_channel *channel, u64 va, void *to, size_t bytes)
{
	if (sim_va_read(channel->vaspace, va, to, bytes, &channel->fault_va))
		return sim_channel_fault(channel, NV_XID_FIFO_MMU_FAULT);
	return SIM_STEP_DONE;
}

enum sim_step sim_channel_write(struct sim_channel *channel, u64 va, const void *from, size_t bytes)
{
	if (sim_va_write(channel->vaspace, va, from, bytes, &channel->fault_va))
		return sim_channel_fault(channel, NV_XID_FIFO_MMU_FAULT);
	return SIM_STEP_DONE;
}

static u64 sign_extend(u64 value, bool is_64)
{
	return is_64 ? value : (u64)(s64)(s32)value;
}

static bool less(u64 a, u64 b, bool is_signed, bool is_64)
{
	if (!is_signed)
		return a < b;
	return (s64)sign_extend(a, is_64) < (s64)sign_extend(b, is_64);
}

/* Increment and decrement wrap at @value, as the engines' do. */
u64 sim_reduce(u32 operation, u64 old, u64 value, bool is_signed, bool is_64)
{
	switch (operation) {
	case NV_QMD3_REDUCE_MIN:
		return less(value, old, is_signed, is_64) ? value : old;
	case NV_QMD3_REDUCE_MAX:
		return less(old, value, is_signed, is_64) ? value : old;
	case NV_QMD3_REDUCE_INC:
		return old >= value ? 0 : old + 1;
	case NV_QMD3_REDUCE_DEC:
		return !old || old > value ? value : old - 1;
	case NV_QMD3_REDUCE_AND:
		return old & value;
	case NV_QMD3_REDUCE_OR:
		return old | value;
	case NV_QMD3_REDUCE_XOR:
		return old ^ value;
	default:
		return old + value;
	}
}

static enum sim_step reduced(struct sim_channel *channel, const struct sim_report *report,
			     u64 *payload)
{
	size_t bytes = report->payload_64 ? 8 : 4;
	enum sim_step step;
	u64 old = 0;

	if (!report->reduce)
		return SIM_STEP_DONE;
	step = sim_channel_read(channel, report->va, &old, bytes);
	if (step == SIM_STEP_DONE)
		*payload = sim_reduce(report->operation, old, *payload, report->is_signed,
				      report->payload_64);
	return step;
}

/* The time stamp goes first: who sees the payload may read the time. */
enum sim_step sim_report_write(struct sim_channel *channel, const struct sim_report *report)
{
	size_t bytes = report->payload_64 || report->structure == NV_STRUCTURE_TWO_WORDS ? 8 : 4;
	u64 payload = report->payload, time;
	enum sim_step step = reduced(channel, report, &payload);

	if (step == SIM_STEP_DONE && report->structure == NV_STRUCTURE_FOUR_WORDS) {
		time = sim_gpu_time_ns();
		step = sim_channel_write(channel, report->va + 8, &time, sizeof(time));
	}
	if (step == SIM_STEP_DONE)
		step = sim_channel_write(channel, report->va, &payload, bytes);
	return step;
}

/* "Work is done": the non-stalling interrupt of the channel's engine. */
void sim_channel_interrupt(struct sim_channel *channel)
{
	u32 copy = channel->engine - NV2080_ENGINE_COPY0;
	bool is_copy = copy < channel->card->model->copy_engines;

	sim_event_interrupt(channel->card,
			    is_copy ? NV2080_NOTIFIER_CE0 + copy : NV2080_NOTIFIER_GRAPHICS);
}
