// SPDX-License-Identifier: GPL-2.0-only
/*
 * The copy engine: copies, fills (remapped constants) and semaphores. Work is cut into
 * parts so that a long copy holds up neither other channels nor those who wait for the
 * lock. Block-linear surfaces are kept row by row: what goes in through this engine
 * comes out again, and nothing else on this card looks into them.
 */

#include <linux/highmem.h>
#include <linux/mm.h>

#include "compat.h"
#include "nvsim/exec.h"

#define PART_BYTES   SIM_MIB(1) /* done without looking up */
#define BUFFER_BYTES 512

static u32 reg(const struct sim_channel *channel, u32 method)
{
	return channel->copy[method / 4];
}

/* ---- where ---- */

static u32 element_bytes(const struct sim_channel *channel, u32 launch, bool dst)
{
	u32 remap = reg(channel, NVC7B5_REMAP_COMPONENTS);

	if (!(launch & NVC7B5_LAUNCH_REMAP))
		return 1;
	return NVC7B5_REMAP_COMPONENT_BYTES(remap) *
	       (dst ? NVC7B5_REMAP_DST_COMPONENTS(remap) : NVC7B5_REMAP_SRC_COMPONENTS(remap));
}

/* @surface: BLOCK_SIZE; width, height, depth, layer, origin follow it. */
static u64 block_linear(const struct sim_channel *channel, u32 surface, u64 base, u32 element,
			u64 *pitch)
{
	u64 width = (u64)reg(channel, surface + 4) * element;
	u32 height = reg(channel, surface + 8), layer = reg(channel, surface + 16);
	u32 origin = reg(channel, surface + 20);

	*pitch = width;
	return base + ((u64)layer * height + (origin >> 16)) * width +
	       (u64)(origin & 0xffff) * element;
}

static void job_places(struct sim_channel *channel, struct sim_copy_job *job)
{
	job->src = sim_pair(reg(channel, NVC7B5_OFFSET_IN_UPPER) & 0x1ffff,
			    reg(channel, NVC7B5_OFFSET_IN_LOWER));
	job->dst = sim_pair(reg(channel, NVC7B5_OFFSET_OUT_UPPER) & 0x1ffff,
			    reg(channel, NVC7B5_OFFSET_OUT_LOWER));
	/* Signed: surfaces may be walked upwards. */
	job->src_pitch = (s32)reg(channel, NVC7B5_PITCH_IN);
	job->dst_pitch = (s32)reg(channel, NVC7B5_PITCH_OUT);
	if (!(job->launch & NVC7B5_LAUNCH_SRC_PITCH))
		job->src = block_linear(channel, NVC7B5_SRC_BLOCK_SIZE, job->src,
					element_bytes(channel, job->launch, false),
					&job->src_pitch);
	if (!(job->launch & NVC7B5_LAUNCH_DST_PITCH))
		job->dst = block_linear(channel, NVC7B5_DST_BLOCK_SIZE, job->dst,
					element_bytes(channel, job->launch, true), &job->dst_pitch);
}

/* ---- plain copies ---- */

/* The page at @va, referenced; NULL: the channel is dead. */
static struct page *page_or_fault(struct sim_channel *channel, u64 va)
{
	struct page *page = sim_va_page(channel->vaspace, va);

	if (page)
		return page;
	channel->fault_va = va;
	sim_channel_fault(channel, NV_XID_FIFO_MMU_FAULT);
	return NULL;
}

/* Inside one page on both sides. Zeros onto zeros cost no page. */
static enum sim_step copy_piece(struct sim_channel *channel, u64 dst, u64 src, size_t bytes)
{
	struct page *from, *to;

	if (sim_va_untouched(channel->vaspace, src) && sim_va_untouched(channel->vaspace, dst))
		return SIM_STEP_DONE;
	from = page_or_fault(channel, src);
	if (!from)
		return SIM_STEP_FAULT;
	to = page_or_fault(channel, dst);
	if (to) {
		compat_memcpy_page(to, offset_in_page(dst), from, offset_in_page(src), bytes);
		put_page(to);
	}
	put_page(from);
	return to ? SIM_STEP_DONE : SIM_STEP_FAULT;
}

static enum sim_step copy_part(struct sim_channel *channel, u64 dst, u64 src, u64 bytes)
{
	while (bytes) {
		size_t piece = min3(bytes, (u64)(PAGE_SIZE - offset_in_page(dst)),
				    (u64)(PAGE_SIZE - offset_in_page(src)));
		enum sim_step step = copy_piece(channel, dst, src, piece);

		if (step != SIM_STEP_DONE)
			return step;
		dst += piece;
		src += piece;
		bytes -= piece;
	}
	return SIM_STEP_DONE;
}

/* ---- remapped: constants and rearranged components ---- */

static bool reads_source(u32 remap)
{
	unsigned int i;

	for (i = 0; i < NVC7B5_REMAP_DST_COMPONENTS(remap); i++)
		if (NVC7B5_REMAP_DST(remap, i) < NVC7B5_REMAP_CONST_A_SELECTED)
			return true;
	return false;
}

static void remap_element(const struct sim_channel *channel, u32 remap, u8 *dst, const u8 *src)
{
	u32 size = NVC7B5_REMAP_COMPONENT_BYTES(remap);
	u32 a = reg(channel, NVC7B5_REMAP_CONST_A), b = reg(channel, NVC7B5_REMAP_CONST_B);
	unsigned int i;

	for (i = 0; i < NVC7B5_REMAP_DST_COMPONENTS(remap); i++) {
		u32 from = NVC7B5_REMAP_DST(remap, i);

		if (from < NVC7B5_REMAP_CONST_A_SELECTED)
			memcpy(dst + i * size, src + from * size, size);
		else if (from < NVC7B5_REMAP_NO_WRITE)
			memcpy(dst + i * size, from == NVC7B5_REMAP_CONST_A_SELECTED ? &a : &b,
			       size);
	}
}

/* Both buffers hold this many elements of at most 16 bytes. */
#define ELEMENTS (BUFFER_BYTES / 16)

static enum sim_step remap_piece(struct sim_channel *channel, u64 dst, u64 src, u32 count)
{
	u32 remap = reg(channel, NVC7B5_REMAP_COMPONENTS);
	u32 dst_bytes = element_bytes(channel, NVC7B5_LAUNCH_REMAP, true);
	u32 src_bytes = element_bytes(channel, NVC7B5_LAUNCH_REMAP, false);
	u8 from[BUFFER_BYTES] = {}, to[BUFFER_BYTES];
	enum sim_step step = SIM_STEP_DONE;
	u32 i;

	if (reads_source(remap))
		step = sim_channel_read(channel, src, from, count * src_bytes);
	if (step == SIM_STEP_DONE) /* for components that are not written */
		step = sim_channel_read(channel, dst, to, count * dst_bytes);
	if (step != SIM_STEP_DONE)
		return step;
	for (i = 0; i < count; i++)
		remap_element(channel, remap, to + i * dst_bytes, from + i * src_bytes);
	return sim_channel_write(channel, dst, to, count * dst_bytes);
}

/* ---- fills: the destination from constants alone ---- */

static bool is_fill(const struct sim_channel *channel)
{
	u32 remap = reg(channel, NVC7B5_REMAP_COMPONENTS);
	unsigned int i;

	for (i = 0; i < NVC7B5_REMAP_DST_COMPONENTS(remap); i++)
		if (NVC7B5_REMAP_DST(remap, i) != NVC7B5_REMAP_CONST_A_SELECTED &&
		    NVC7B5_REMAP_DST(remap, i) != NVC7B5_REMAP_CONST_B_SELECTED)
			return false;
	/* else the pattern would not repeat with the buffer */
	return BUFFER_BYTES % element_bytes(channel, NVC7B5_LAUNCH_REMAP, true) == 0;
}

/* Inside one page; the pattern goes on at @phase. */
static void fill_page(struct page *page, size_t offset, const u8 *pattern, size_t phase,
		      size_t bytes)
{
	while (bytes) {
		size_t part = min(bytes, BUFFER_BYTES - phase);

		memcpy_to_page(page, offset, pattern + phase, part);
		offset += part;
		bytes -= part;
		phase = 0;
	}
}

static enum sim_step fill_part(struct sim_channel *channel, u64 dst, u64 bytes)
{
	u32 element = element_bytes(channel, NVC7B5_LAUNCH_REMAP, true), i;
	u32 remap = reg(channel, NVC7B5_REMAP_COMPONENTS);
	u8 pattern[BUFFER_BYTES];
	u64 done = 0;
	bool zeros;

	for (i = 0; i < BUFFER_BYTES; i += element)
		remap_element(channel, remap, pattern + i, NULL);
	zeros = !memchr_inv(pattern, 0, sizeof(pattern));
	while (done < bytes) {
		u64 va = dst + done;
		size_t piece = min(bytes - done, (u64)(PAGE_SIZE - offset_in_page(va)));
		struct page *page;

		if (!zeros || !sim_va_untouched(channel->vaspace, va)) {
			page = page_or_fault(channel, va);
			if (!page)
				return SIM_STEP_FAULT;
			fill_page(page, offset_in_page(va), pattern, done % BUFFER_BYTES, piece);
			put_page(page);
		}
		done += piece;
	}
	return SIM_STEP_DONE;
}

/* @count elements of a line. */
static enum sim_step remap_part(struct sim_channel *channel, u64 dst, u64 src, u64 count)
{
	u32 dst_bytes = element_bytes(channel, NVC7B5_LAUNCH_REMAP, true);
	u32 src_bytes = element_bytes(channel, NVC7B5_LAUNCH_REMAP, false);

	if (is_fill(channel))
		return fill_part(channel, dst, count * dst_bytes);
	while (count) {
		u32 piece = min_t(u64, count, ELEMENTS);
		enum sim_step step = remap_piece(channel, dst, src, piece);

		if (step != SIM_STEP_DONE)
			return step;
		dst += (u64)piece * dst_bytes;
		src += (u64)piece * src_bytes;
		count -= piece;
	}
	return SIM_STEP_DONE;
}

/* ---- jobs ---- */

/* A part of the present line; done and line_bytes count elements when remapping. */
static enum sim_step job_part(struct sim_channel *channel, u64 *budget)
{
	struct sim_copy_job *job = &channel->job;
	u32 dst_bytes = element_bytes(channel, job->launch, true);
	u32 src_bytes = element_bytes(channel, job->launch, false);
	u64 count = min(job->line_bytes - job->done, max(*budget / dst_bytes, 1ULL));
	u64 dst = job->dst + job->line * job->dst_pitch + job->done * dst_bytes;
	u64 src = job->src + job->line * job->src_pitch + job->done * src_bytes;
	enum sim_step step;

	if (job->launch & NVC7B5_LAUNCH_REMAP)
		step = remap_part(channel, dst, src, count);
	else
		step = copy_part(channel, dst, src, count);
	if (step != SIM_STEP_DONE)
		return step;
	job->done += count;
	channel->copied_bytes += count * dst_bytes;
	*budget -= min(*budget, count * dst_bytes);
	return SIM_STEP_DONE;
}

static enum sim_step job_end(struct sim_channel *channel)
{
	struct sim_copy_job *job = &channel->job;
	bool is_64 = job->launch & NVC7B5_LAUNCH_PAYLOAD_64;
	static const u8 reduction[8] = {
		NV_QMD3_REDUCE_MIN, NV_QMD3_REDUCE_MAX, NV_QMD3_REDUCE_XOR, NV_QMD3_REDUCE_AND,
		NV_QMD3_REDUCE_OR,  NV_QMD3_REDUCE_ADD, NV_QMD3_REDUCE_INC, NV_QMD3_REDUCE_DEC,
	};
	struct sim_report report = {
		.va = sim_pair(reg(channel, NVC7B5_SET_SEMAPHORE_A) & 0x1ffff,
			       reg(channel, NVC7B5_SET_SEMAPHORE_B)),
		.payload = sim_pair(is_64 ? reg(channel, NVC7B5_SEMAPHORE_PAYLOAD_UPPER) : 0,
				    reg(channel, NVC7B5_SEMAPHORE_PAYLOAD)),
		.payload_64 = is_64,
		.structure = NVC7B5_LAUNCH_SEMAPHORE(job->launch) == 2 ? NV_STRUCTURE_FOUR_WORDS :
									 NV_STRUCTURE_ONE_WORD,
		.reduce = job->launch & NVC7B5_LAUNCH_SEMAPHORE_REDUCE,
		.operation = reduction[NVC7B5_LAUNCH_SEMAPHORE_REDUCTION(job->launch) & 7],
		.is_signed = !(job->launch & BIT(18)),
	};
	enum sim_step step = SIM_STEP_DONE;

	job->active = false;
	if (NVC7B5_LAUNCH_SEMAPHORE(job->launch))
		step = sim_report_write(channel, &report);
	if (NVC7B5_LAUNCH_INTERRUPT(job->launch))
		sim_channel_interrupt(channel);
	return step;
}

static enum sim_step job_run(struct sim_channel *channel)
{
	struct sim_copy_job *job = &channel->job;
	u64 budget = PART_BYTES;

	while (job->line < job->lines) {
		enum sim_step step = job_part(channel, &budget);

		if (step != SIM_STEP_DONE)
			return step;
		if (job->done == job->line_bytes) {
			job->done = 0;
			job->line++;
		}
		if (!budget && job->line < job->lines)
			return SIM_STEP_MORE;
	}
	return job_end(channel);
}

enum sim_step sim_copy_continue(struct sim_channel *channel)
{
	u64 before = ktime_get_ns(), spent;
	enum sim_step step = job_run(channel);

	spent = ktime_get_ns() - before;
	channel->busy_ns += spent;
	channel->card->exec->busy_ns += spent;
	return step;
}

static enum sim_step job_begin(struct sim_channel *channel, u32 launch)
{
	struct sim_copy_job *job = &channel->job;

	memset(job, 0, sizeof(*job));
	job->active = true;
	job->launch = launch;
	if (NVC7B5_LAUNCH_TRANSFER(launch)) {
		/* Physical addresses are the driver's own; it has no channel here. */
		if (launch & (NVC7B5_LAUNCH_SRC_PHYSICAL | NVC7B5_LAUNCH_DST_PHYSICAL))
			return sim_channel_fault(channel, NV_XID_PUSHBUFFER);
		job->line_bytes = reg(channel, NVC7B5_LINE_LENGTH_IN);
		job->lines = launch & NVC7B5_LAUNCH_MULTI_LINE ? reg(channel, NVC7B5_LINE_COUNT) :
								 1;
		if (!job->line_bytes)
			job->lines = 0;
		job_places(channel, job);
	}
	/* The push buffer goes on when the job is done: sim_channel_run() sees to it. */
	return SIM_STEP_DONE;
}

enum sim_step sim_copy_method(struct sim_channel *channel, u32 method, u32 data)
{
	if (method / 4 < SIM_COPY_WORDS)
		channel->copy[method / 4] = data;
	return method == NVC7B5_LAUNCH_DMA ? job_begin(channel, data) : SIM_STEP_DONE;
}
