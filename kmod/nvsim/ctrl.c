// SPDX-License-Identifier: GPL-2.0-only
/* The controls: one sorted table for look-up, sizes of the running version. */

#include <linux/bsearch.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "nvsim/ctrl.h"
#include "nvsim/refused.h"
#include "nvabi/control_sizes.h"

static struct sim_ctrl *controls; /* made at start, then read only */
static size_t control_count;

#define TABLE(name) { sim_ctrl_##name, &sim_ctrl_##name##_count }

static const struct {
	const struct sim_ctrl *rows;
	const size_t *count;
} tables[] = {
	TABLE(root), TABLE(memory), TABLE(device), TABLE(gpu),  TABLE(process),
	TABLE(fb),   TABLE(bus),    TABLE(gr),     TABLE(perf), TABLE(fifo),
};

static int compare(const void *a, const void *b)
{
	u32 x = ((const struct sim_ctrl *)a)->cmd, y = ((const struct sim_ctrl *)b)->cmd;

	return x < y ? -1 : x > y;
}

/* The rows hold the sizes of 535.261.03; these differ in other versions. */
static u32 size_now(u32 cmd, u32 size)
{
	const struct nvabi_version *abi = sim_abi;

	switch (cmd) {
	case NV2080_CTRL_FB_GET_INFO_V2:
		return abi->fb_info_v2_bytes;
	case NV2080_CTRL_FB_GET_FB_REGION_INFO:
		return abi->fb_region_bytes;
	case NV0000_CTRL_GPU_GET_PROBED_IDS:
		return abi->probed_ids_bytes;
	case NV2080_CTRL_GPU_GET_INFO_V2:
		return abi->gpu_info_v2_bytes;
	case NV0080_CTRL_GPU_GET_CLASSLIST_V2:
		return abi->classlist_v2_bytes;
	case NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO:
		return abi->export_info_bytes;
	case NVA06C_CTRL_GPFIFO_SCHEDULE:
	case NVA06F_CTRL_GPFIFO_SCHEDULE:
		return abi->gpfifo_schedule_bytes;
	case NV906F_CTRL_RESET_CHANNEL:
		return abi->reset_channel_bytes;
	case NV2080_CTRL_PERF_GPUMON_UTIL_SAMPLES_V2:
		return abi->gpumon_bytes;
	default:
		return nvabi_control_bytes(abi, cmd, size);
	}
}

/* A row of the running version; one that it has not is left out, and so unknown as any other. */
static bool add_row(const struct sim_ctrl *row)
{
	struct sim_ctrl *to = &controls[control_count];

	*to = *row;
	to->size = size_now(row->cmd, row->size);
	return to->size != NVABI_CONTROL_GONE;
}

/* Two rows of one number would hide each other. */
static int check_unique(void)
{
	size_t i;

	for (i = 1; i < control_count; i++)
		if (WARN(controls[i].cmd == controls[i - 1].cmd, "control 0x%x twice\n",
			 controls[i].cmd))
			return -EINVAL;
	return 0;
}

int sim_ctrl_init(void)
{
	size_t i, j, total = 0;
	int err;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		total += *tables[i].count;
	controls = kcalloc(total, sizeof(*controls), GFP_KERNEL);
	if (!controls)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		for (j = 0; j < *tables[i].count; j++)
			control_count += add_row(&tables[i].rows[j]);
	sort(controls, control_count, sizeof(*controls), compare, NULL);
	err = check_unique();
	if (err)
		sim_ctrl_exit();
	return err ?: sim_refused_init();
}

void sim_ctrl_exit(void)
{
	kfree(controls);
	controls = NULL;
	control_count = 0;
}

const struct sim_ctrl *sim_ctrl_find(u32 cmd)
{
	const struct sim_ctrl key = { .cmd = cmd };

	return bsearch(&key, controls, control_count, sizeof(*controls), compare);
}

/* Memory objects of every kind answer to 0x0041, channels to all their ancestors' families. */
bool sim_ctrl_fits(const struct sim_ctrl *ctrl, const struct sim_object *object)
{
	u32 family = ctrl->cmd >> 16;

	switch (family) {
	case 0x0000:
		return object->h_class == NV01_ROOT || object->h_class == NV01_ROOT_NON_PRIV ||
		       object->h_class == NV01_ROOT_CLIENT;
	case 0x0041:
		return object->memory;
	case 0x906f:
	case 0xa06f:
	case 0xb06f:
	case 0xc06f:
	case 0xc36f:
		return (object->h_class & 0xff) == 0x6f;
	default:
		return family == object->h_class;
	}
}

u32 sim_ctrl_accept(struct sim_call *call, struct sim_object *object, void *params)
{
	return NV_OK;
}

u32 sim_ctrl_info_pairs(struct sim_object *object, u32 count, u32 most, struct nv_info_pair *pairs,
			sim_info_value value)
{
	u32 i, status;

	if (count > most)
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < count; i++) {
		status = value(object, pairs[i].index, &pairs[i].data);
		if (status != NV_OK)
			return status;
	}
	return NV_OK;
}

u32 sim_ctrl_info_list(struct sim_call *call, struct sim_object *object, u32 count, u32 most,
		       u64 list, sim_info_value value)
{
	struct nv_info_pair pair;
	u32 i, status;

	if (count > most)
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < count; i++) {
		status = sim_copy_in(call, &pair, list + i * sizeof(pair), sizeof(pair));
		if (status == NV_OK)
			status = value(object, pair.index, &pair.data);
		if (status == NV_OK)
			status = sim_copy_out(call, list + i * sizeof(pair), &pair, sizeof(pair));
		if (status != NV_OK)
			return status;
	}
	return NV_OK;
}

u32 sim_ctrl_caps(struct sim_call *call, const struct nv_list_pointer *p, const u8 *caps, u32 bytes)
{
	if (p->count != bytes)
		return NV_ERR_INVALID_ARGUMENT;
	return sim_copy_out(call, p->list, caps, bytes);
}
