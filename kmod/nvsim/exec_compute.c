// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compute engine, also known by the inline-to-memory and 3D classes: data sent in
 * the push buffer, launches, reports. A launch takes simulated time and then does what
 * its descriptor says about completion; the program itself is not run, so memory that a
 * kernel would write does not change.
 */

#include <linux/moduleparam.h>

#include "nvsim/exec.h"

static unsigned long launch_ns;
module_param(launch_ns, ulong, 0644);
MODULE_PARM_DESC(launch_ns, "simulated time of one launch (0: none)");

#define DEPENDENTS_MAX 64

/* ---- inline data ---- */

static void inline_begin(struct sim_channel *channel)
{
	const u32 *reg = channel->compute;

	channel->inline_data.va =
		sim_pair(reg[NVC7C0_OFFSET_OUT_UPPER / 4], reg[NVC7C0_OFFSET_OUT / 4]);
	channel->inline_data.left =
		(u64)reg[NVC7C0_LINE_LENGTH_IN / 4] * reg[NVC7C0_LINE_COUNT / 4];
}

static enum sim_step inline_end(struct sim_channel *channel)
{
	const u32 *reg = channel->compute;
	u32 launch = reg[NVC7C0_LAUNCH_DMA / 4];
	struct sim_report report = {
		.va = sim_pair(reg[NVC7C0_I2M_SEMAPHORE_A / 4], reg[NVC7C0_I2M_SEMAPHORE_B / 4]),
		.payload = reg[NVC7C0_I2M_SEMAPHORE_C / 4],
		.structure = launch & NVC7C0_LAUNCH_DMA_ONE_WORD ? NV_STRUCTURE_ONE_WORD :
								   NV_STRUCTURE_FOUR_WORDS,
	};

	if (NVC7C0_LAUNCH_DMA_COMPLETION(launch) != NVC7C0_LAUNCH_DMA_RELEASE)
		return SIM_STEP_DONE;
	return sim_report_write(channel, &report);
}

static enum sim_step inline_word(struct sim_channel *channel, u32 data)
{
	struct sim_inline *in = &channel->inline_data;
	size_t bytes = min_t(u64, in->left, sizeof(data));
	enum sim_step step;

	if (!bytes)
		return SIM_STEP_DONE;
	step = sim_channel_write(channel, in->va, &data, bytes);
	if (step != SIM_STEP_DONE)
		return step;
	in->va += bytes;
	in->left -= bytes;
	return in->left ? SIM_STEP_DONE : inline_end(channel);
}

/* ---- reports ---- */

static enum sim_step report_d(struct sim_channel *channel, u32 data)
{
	const u32 *reg = channel->compute;
	struct sim_report report = {
		.va = sim_pair(reg[NVC7C0_SET_REPORT_A / 4], reg[NVC7C0_SET_REPORT_B / 4]),
		.payload = reg[NVC7C0_SET_REPORT_C / 4],
		.structure = data & NVC7C0_REPORT_D_ONE_WORD ? NV_STRUCTURE_ONE_WORD :
							       NV_STRUCTURE_FOUR_WORDS,
		.reduce = data & BIT(3),
		.operation = (data >> 9) & 7,
		.is_signed = data & BIT(17),
	};
	enum sim_step step = SIM_STEP_DONE;

	if (NVC7C0_REPORT_OPERATION(data) == NVC7C0_REPORT_RELEASE)
		step = sim_report_write(channel, &report);
	if (data & NVC7C0_REPORT_D_AWAKEN || NVC7C0_REPORT_OPERATION(data) == NVC7C0_REPORT_TRAP)
		sim_channel_interrupt(channel);
	return step;
}

static enum sim_step report_execute(struct sim_channel *channel, u32 data)
{
	const u32 *reg = channel->compute;
	struct sim_report report = {
		.va = sim_pair(reg[NVC7C0_REPORT_ADDRESS_UPPER / 4],
			       reg[NVC7C0_REPORT_ADDRESS_LOWER / 4]),
		.payload = sim_pair(data & NVC7C0_REPORT_PAYLOAD_64 ?
					    reg[NVC7C0_REPORT_PAYLOAD_UPPER / 4] :
					    0,
				    reg[NVC7C0_REPORT_PAYLOAD_LOWER / 4]),
		.payload_64 = data & NVC7C0_REPORT_PAYLOAD_64,
		.structure = NVC7C0_REPORT_STRUCTURE(data),
		.reduce = data & BIT(6),
		.operation = (data >> 7) & 7,
		.is_signed = data & BIT(10),
	};
	enum sim_step step = SIM_STEP_DONE;

	if (NVC7C0_REPORT_OPERATION(data) == NVC7C0_REPORT_RELEASE)
		step = sim_report_write(channel, &report);
	if (data & BIT(2) || NVC7C0_REPORT_OPERATION(data) == NVC7C0_REPORT_TRAP)
		sim_channel_interrupt(channel);
	return step;
}

/* ---- launches ---- */

static enum sim_step qmd_release(struct sim_channel *channel, const u32 *words)
{
	u32 flags = words[1];
	struct sim_report report = {
		.va = sim_pair(flags & 0xff, words[0]),
		.payload_64 = flags & NV_QMD3_RELEASE_64,
		.payload = sim_pair(flags & NV_QMD3_RELEASE_64 ? words[3] : 0, words[2]),
		.structure = NV_QMD3_RELEASE_STRUCTURE(flags),
		.reduce = flags & NV_QMD3_RELEASE_REDUCE,
		.operation = NV_QMD3_RELEASE_REDUCE_OP(flags),
		.is_signed = (flags >> 24) & 1,
	};
	enum sim_step step;

	if (!(flags & NV_QMD3_RELEASE_ENABLE))
		return SIM_STEP_DONE;
	step = sim_report_write(channel, &report);
	if (NV_QMD3_RELEASE_TRAP(flags))
		sim_channel_interrupt(channel);
	return step;
}

static u64 qmd_dependent(const u32 *qmd)
{
	if (!(qmd[NV_QMD3_DEPENDENT] & NV_QMD3_DEPENDENT0_ENABLE))
		return 0;
	return (u64)qmd[NV_QMD3_DEPENDENT0_POINTER] << 8;
}

/* A descriptor and those that wait for it. */
static enum sim_step qmd_complete(struct sim_channel *channel, u32 *qmd)
{
	unsigned int i;

	for (i = 0; i < DEPENDENTS_MAX; i++) {
		u64 next = qmd_dependent(qmd);
		enum sim_step step = qmd_release(channel, qmd + NV_QMD3_RELEASE0);

		channel->launches++;
		if (step == SIM_STEP_DONE)
			step = qmd_release(channel, qmd + NV_QMD3_RELEASE1);
		if (step != SIM_STEP_DONE || !next)
			return step;
		step = sim_channel_read(channel, next, qmd, NV_QMD3_WORDS * 4);
		if (step != SIM_STEP_DONE)
			return step;
	}
	return SIM_STEP_DONE;
}

/* How long this launch takes on the simulated card. */
static u64 launch_cost_ns(const struct sim_channel *channel)
{
	return READ_ONCE(launch_ns);
}

/* Called again and again until the time has come. */
static enum sim_step launch(struct sim_channel *channel, u32 *qmd)
{
	u64 now = sim_gpu_time_ns();
	u64 cost = launch_cost_ns(channel);

	if (!channel->ready_ns) {
		channel->ready_ns = now + cost;
		channel->busy_ns += cost;
		channel->card->exec->busy_ns += cost;
	}
	if (now < channel->ready_ns)
		return SIM_STEP_STALL;
	channel->ready_ns = 0;
	return qmd_complete(channel, qmd);
}

static enum sim_step launch_at(struct sim_channel *channel)
{
	u64 va = (u64)channel->compute[NVC7C0_SEND_PCAS_A / 4] << 8;
	enum sim_step step = sim_channel_read(channel, va, channel->qmd, sizeof(channel->qmd));

	return step == SIM_STEP_DONE ? launch(channel, channel->qmd) : step;
}

static bool starts(u32 action)
{
	return action == NVC7C0_PCAS2_SCHEDULE || action == NVC7C0_PCAS2_COPY_SCHEDULE ||
	       action == NVC7C0_PCAS2_PREFETCH_SCHEDULE ||
	       action == NVC7C0_PCAS2_PREFETCH_COPY_SCHEDULE;
}

/* A descriptor sent word by word starts with its last word. */
static enum sim_step qmd_word(struct sim_channel *channel, u32 index, u32 data)
{
	channel->qmd[index] = data;
	return index == NV_QMD3_WORDS - 1 ? launch(channel, channel->qmd) : SIM_STEP_DONE;
}

static bool is_qmd_word(u32 method)
{
	return method >= NVC7C0_LOAD_INLINE_QMD_DATA &&
	       method < NVC7C0_LOAD_INLINE_QMD_DATA + NV_QMD3_WORDS * 4;
}

enum sim_step sim_compute_method(struct sim_channel *channel, u32 method, u32 data)
{
	if (method / 4 < SIM_COMPUTE_WORDS)
		channel->compute[method / 4] = data;
	if (is_qmd_word(method))
		return qmd_word(channel, (method - NVC7C0_LOAD_INLINE_QMD_DATA) / 4, data);
	switch (method) {
	case NVC7C0_LAUNCH_DMA:
		inline_begin(channel);
		return SIM_STEP_DONE;
	case NVC7C0_LOAD_INLINE_DATA:
		return inline_word(channel, data);
	case NVC7C0_SET_REPORT_D:
		return report_d(channel, data);
	case NVC7C0_REPORT_EXECUTE:
		return report_execute(channel, data);
	case NVC7C0_SEND_SIGNALING_PCAS_B:
		return data & NVC7C0_PCAS_B_SCHEDULE ? launch_at(channel) : SIM_STEP_DONE;
	case NVC7C0_SEND_SIGNALING_PCAS2_B:
		return starts(NVC7C0_PCAS2_ACTION(data)) ? launch_at(channel) : SIM_STEP_DONE;
	default:
		return SIM_STEP_DONE;
	}
}
