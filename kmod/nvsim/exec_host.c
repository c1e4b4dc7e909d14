// SPDX-License-Identifier: GPL-2.0-only
/* The host engine's methods: class binding and semaphores, on any subchannel below 0x100. */

#include "nvsim/exec.h"

/* Reductions of host semaphores are numbered otherwise than those of the engines. */
static const u8 host_reduction[8] = {
	[NV_REDUCE_MIN] = NV_QMD3_REDUCE_MIN, [NV_REDUCE_MAX] = NV_QMD3_REDUCE_MAX,
	[NV_REDUCE_XOR] = NV_QMD3_REDUCE_XOR, [NV_REDUCE_AND] = NV_QMD3_REDUCE_AND,
	[NV_REDUCE_OR] = NV_QMD3_REDUCE_OR,   [NV_REDUCE_ADD] = NV_QMD3_REDUCE_ADD,
	[NV_REDUCE_INC] = NV_QMD3_REDUCE_INC, [NV_REDUCE_DEC] = NV_QMD3_REDUCE_DEC,
};

static bool acquired(u32 operation, u64 value, u64 payload, bool is_64)
{
	switch (operation) {
	case NVC56F_SEM_OP_ACQUIRE:
		return value == payload;
	case NVC56F_SEM_OP_ACQ_STRICT_GEQ:
		return value >= payload;
	case NVC56F_SEM_OP_ACQ_CIRC_GEQ:
		return is_64 ? (s64)(value - payload) >= 0 : (s32)((u32)value - (u32)payload) >= 0;
	case NVC56F_SEM_OP_ACQ_AND:
		return value & payload;
	case NVC56F_SEM_OP_ACQ_NOR:
		return is_64 ? ~(value | payload) : (u32) ~(value | payload);
	default:
		return true;
	}
}

static enum sim_step acquire(struct sim_channel *channel, u64 va, u32 operation, u64 payload,
			     bool is_64)
{
	u64 value = 0;
	enum sim_step step = sim_channel_read(channel, va, &value, is_64 ? 8 : 4);

	if (step != SIM_STEP_DONE)
		return step;
	return acquired(operation, value, payload, is_64) ? SIM_STEP_DONE : SIM_STEP_STALL;
}

static enum sim_step semaphore(struct sim_channel *channel, u32 data)
{
	const u32 *host = channel->host;
	u64 va = sim_pair(host[NVC56F_SEM_ADDR_HI / 4] & 0x1ffff,
			  host[NVC56F_SEM_ADDR_LO / 4] & ~3u);
	bool is_64 = data & NVC56F_SEM_64BIT;
	u64 payload = sim_pair(is_64 ? host[NVC56F_SEM_PAYLOAD_HI / 4] : 0,
			       host[NVC56F_SEM_PAYLOAD_LO / 4]);
	u32 operation = NVC56F_SEM_OP(data);
	struct sim_report report = {
		.va = va,
		.payload = payload,
		.payload_64 = is_64,
		.structure = data & NVC56F_SEM_TIMESTAMP ? NV_STRUCTURE_FOUR_WORDS :
							   NV_STRUCTURE_ONE_WORD,
		.reduce = operation == NVC56F_SEM_OP_REDUCTION,
		.is_signed = !(data & NVC56F_SEM_UNSIGNED),
		.operation = host_reduction[NVC56F_SEM_REDUCTION(data) & 7],
	};

	if (operation == NVC56F_SEM_OP_RELEASE || operation == NVC56F_SEM_OP_REDUCTION)
		return sim_report_write(channel, &report);
	return acquire(channel, va, operation, payload, is_64);
}

/* The form before Volta; still understood. */
static enum sim_step old_semaphore(struct sim_channel *channel, u32 data)
{
	const u32 *host = channel->host;
	struct sim_report report = {
		.va = sim_pair(host[NVC56F_SEMAPHOREA / 4] & 0xff,
			       host[NVC56F_SEMAPHOREB / 4] & ~3u),
		.payload = host[NVC56F_SEMAPHOREC / 4],
		.structure = data & NVC56F_SEMD_ONE_WORD ? NV_STRUCTURE_ONE_WORD :
							   NV_STRUCTURE_FOUR_WORDS,
	};

	switch (data & 0x1f) {
	case NVC56F_SEMD_RELEASE:
		return sim_report_write(channel, &report);
	case NVC56F_SEMD_ACQUIRE:
		return acquire(channel, report.va, NVC56F_SEM_OP_ACQUIRE, report.payload, false);
	case NVC56F_SEMD_ACQ_GEQ:
		return acquire(channel, report.va, NVC56F_SEM_OP_ACQ_CIRC_GEQ, report.payload,
			       false);
	case NVC56F_SEMD_ACQ_AND:
		return acquire(channel, report.va, NVC56F_SEM_OP_ACQ_AND, report.payload, false);
	default:
		return SIM_STEP_DONE;
	}
}

enum sim_step sim_host_method(struct sim_channel *channel, u32 subchannel, u32 method, u32 data)
{
	channel->host[method / 4] = data;
	switch (method) {
	case NVC56F_SET_OBJECT:
		channel->classes[subchannel] = data & 0xffff;
		return SIM_STEP_DONE;
	case NVC56F_SEM_EXECUTE:
		return semaphore(channel, data);
	case NVC56F_SEMAPHORED:
		return old_semaphore(channel, data);
	case NVC56F_NON_STALL_INTERRUPT:
		sim_channel_interrupt(channel);
		sim_event_interrupt(channel->card, NV2080_NOTIFIER_FIFO_METHOD);
		return SIM_STEP_DONE;
	default:
		return SIM_STEP_DONE;
	}
}
