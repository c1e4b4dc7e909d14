// SPDX-License-Identifier: GPL-2.0-only
/*
 * Controls of a subdevice about processes: who uses the card, how much memory, how
 * busy. Process ids are those of the caller's namespace; processes outside it are
 * left out, as a process of such a namespace can't name them.
 */

#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "nvsim/ctrl.h"
#include "nvsim/exec.h"
#include "nvabi/versions.h"

#define INSTANCE_NONE    0xffffffffu
#define SAMPLE_PERIOD_NS 166666667ULL

static u32 pid_here(const struct sim_client *client)
{
	return client->pid ? pid_nr_ns(client->pid, task_active_pid_ns(current)) : 0;
}

/* ---- who ---- */

struct looking {
	const struct sim_card *card;
	u32 h_class;
};

static int is_sought(struct sim_object *object, void *arg)
{
	const struct looking *looking = arg;

	return object->h_class == looking->h_class && object->card == looking->card;
}

static void add_pid(struct nv2080_pids *p, u32 pid)
{
	u32 i;

	for (i = 0; i < p->count; i++)
		if (p->pids[i] == pid)
			return;
	if (pid && p->count < NV2080_GPU_PIDS_MAX)
		p->pids[p->count++] = pid;
}

static void list_pids(struct sim_card *card, u32 h_class, struct nv2080_pids *p)
{
	struct looking looking = { card, h_class };
	struct sim_client *client;

	p->count = 0;
	list_for_each_entry(client, &sim_clients, link)
		if (client->pid && sim_client_each(client, is_sought, &looking))
			add_pid(p, pid_here(client));
}

static u32 pids(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv2080_pids *p = params;

	if (p->id_type != NV2080_GPU_PIDS_BY_CLASS)
		return NV_ERR_INVALID_ARGUMENT;
	memset(p->pids, 0, sizeof(p->pids));
	list_pids(object->card, p->id, p);
	return NV_OK;
}

/* ---- how much memory ---- */

struct usage {
	const struct sim_card *card;
	u64 alone, shared_owned, shared_other;
};

static int add_usage(struct sim_object *object, void *arg)
{
	const struct sim_memory *memory = object->memory;
	struct usage *usage = arg;

	if (!memory || memory->kind != SIM_MEMORY_CARD || memory->card != usage->card)
		return 0;
	if (atomic_read(&memory->handles) <= 1)
		usage->alone += memory->bytes;
	else if (memory->h_client == object->client->handle)
		usage->shared_owned += memory->bytes;
	else
		usage->shared_other += memory->bytes;
	return 0;
}

static void pid_usage(struct sim_card *card, u32 pid, struct nv2080_pid_info *entry)
{
	struct usage usage = { .card = card };
	struct sim_client *client;

	list_for_each_entry(client, &sim_clients, link)
		if (pid_here(client) == pid)
			sim_client_each(client, add_usage, &usage);
	entry->data_vid_mem_usage_mem_private = usage.alone;
	entry->data_vid_mem_usage_mem_shared_owned = usage.shared_owned;
	entry->data_vid_mem_usage_mem_shared_duped = usage.shared_other;
	entry->data_vid_mem_usage_protected_mem_private = 0;
	entry->data_vid_mem_usage_protected_mem_shared_owned = 0;
	entry->data_vid_mem_usage_protected_mem_shared_duped = 0;
}

static u32 pid_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv2080_pid_info_list *p = params;
	u32 i;

	if (!p->count || p->count > NV2080_GPU_PID_INFO_MAX)
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < p->count; i++) {
		struct nv2080_pid_info *entry = &p->entries[i];

		entry->smc_subscription_compute_instance_id = INSTANCE_NONE;
		entry->smc_subscription_gpu_instance_id = INSTANCE_NONE;
		entry->result = NV_ERR_INVALID_ARGUMENT;
		if (!entry->pid || entry->index != NV2080_GPU_PID_INFO_MEMORY)
			continue;
		entry->result = NV_OK;
		pid_usage(object->card, entry->pid, entry);
	}
	return NV_OK;
}

/* ---- how busy ---- */

/* Share of the card's present load, in hundredths of a percent. */
static u32 pid_load(struct sim_card *card, u32 pid)
{
	struct sim_exec *exec = card->exec;
	struct sim_channel *channel;
	u64 mine = 0, all = 0;
	u32 load;

	mutex_lock(&exec->lock);
	list_for_each_entry(channel, &exec->channels, link) {
		all += channel->busy_ns;
		if (pid_here(channel->object->client) == pid)
			mine += channel->busy_ns;
	}
	load = all ? div64_u64(mine * exec->load.permille * 10, all) : 0;
	mutex_unlock(&exec->lock);
	return load;
}

static void sample_engine(u8 *engine, u32 pid, u32 load)
{
	*(u32 *)engine = load;
	*(u32 *)(engine + sim_abi->gpumon_pid_off) = pid;
}

/* Graphics is the second engine; memory controller and codecs stay idle. */
static void sample_fill(u8 *sample, u64 time_ns, u32 pid, u32 load)
{
	u32 i;

	*(u64 *)sample = time_ns;
	for (i = 0; i < sim_abi->gpumon_engines; i++)
		sample_engine(sample + sim_abi->gpumon_engine_off +
				      i * sim_abi->gpumon_engine_bytes,
			      pid, i == 1 ? load : 0);
}

/* A full buffer, as if the present load had lasted: the processes in turn, newest last. */
static u32 samples(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv2080_gpumon_samples *p = params;
	struct nv2080_pids *list = kzalloc(sizeof(*list), GFP_KERNEL);
	u64 now = sim_gpu_time_ns();
	u32 i;

	if (!list)
		return NV_ERR_NO_MEMORY;
	list_pids(object->card, object->card->model->compute_class, list);
	memset(p->samples, 0, sim_abi->gpumon_bytes - sim_abi->gpumon_samples_off);
	p->count = list->count ? ARRAY_SIZE(p->samples) : 0;
	for (i = 0; i < p->count; i++)
		sample_fill((u8 *)params + sim_abi->gpumon_samples_off + i * sim_abi->gpumon_stride,
			    now - (p->count - 1 - i) / list->count * SAMPLE_PERIOD_NS,
			    list->pids[i % list->count],
			    pid_load(object->card, list->pids[i % list->count]));
	p->tracker = 0;
	kfree(list);
	return NV_OK;
}

const struct sim_ctrl sim_ctrl_process[] = {
	{ NV2080_CTRL_GPU_GET_PIDS, 3812, 0, pids },
	{ NV2080_CTRL_GPU_GET_PID_INFO, 14408, 0, pid_info },
	{ NV2080_CTRL_PERF_GPUMON_UTIL_SAMPLES_V2, 34000, 0, samples },
};
const size_t sim_ctrl_process_count = ARRAY_SIZE(sim_ctrl_process);
