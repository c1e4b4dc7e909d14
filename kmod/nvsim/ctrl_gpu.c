// SPDX-License-Identifier: GPL-2.0-only
/* Controls of a subdevice about the card itself: name, identity, engines, time, notifications. */

#include <linux/ktime.h>
#include <linux/timex.h>

#include "nvsim/ctrl.h"
#include "nvsim/exec.h"
#include "nvabi/versions.h"

#define ENGINES_MAX      62
#define CORRELATIONS_MAX 16

static u32 gpu_info_value(struct sim_object *object, u32 index, u32 *value)
{
	switch (index) {
	case NV2080_GPU_INFO_SM_VERSION:
		*value = object->card->model->sm_version;
		return NV_OK;
	default: /* features this card has not */
		*value = 0;
		return NV_OK;
	}
}

static u32 gpu_info_max(void)
{
	return (sim_abi->gpu_info_v2_bytes - sizeof(u32)) / sizeof(struct nv_info_pair);
}

static u32 gpu_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv_list_pointer *p = params;

	return sim_ctrl_info_list(call, object, p->count, gpu_info_max(), p->list, gpu_info_value);
}

static u32 gpu_info_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *count = params;

	return sim_ctrl_info_pairs(object, *count, gpu_info_max(),
				   (struct nv_info_pair *)(count + 1), gpu_info_value);
}

/* Flags at 0: bit 0 asks for 16-bit characters. */
static u32 name_string(struct sim_call *call, struct sim_object *object, void *params)
{
	const char *name = object->card->model->name;
	u32 *flags = params;
	u8 *to = (u8 *)(flags + 1);
	size_t i;

	if (!(*flags & 1)) {
		strscpy_pad(to, name, 64);
		return NV_OK;
	}
	memset(to, 0, 128);
	for (i = 0; name[i] && i < 63; i++)
		to[2 * i] = name[i];
	return NV_OK;
}

static u32 short_name(struct sim_call *call, struct sim_object *object, void *params)
{
	strscpy_pad(params, object->card->model->short_name, 64);
	return NV_OK;
}

static u32 gpu_id(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u32 *)params = object->card->gpu_id;
	return NV_OK;
}

static u32 gid_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv2080_gid_info *p = params;
	const struct sim_card *card = object->card;

	if (p->index)
		return NV_ERR_INVALID_ARGUMENT;
	memset(p->data, 0, sizeof(p->data));
	if ((p->flags & 3) == NV2080_GPU_GID_FORMAT_BINARY) {
		memcpy(p->data, card->uuid, sizeof(card->uuid));
		p->length = sizeof(card->uuid);
	} else {
		strscpy(p->data, card->uuid_text, sizeof(p->data));
		p->length = strlen(card->uuid_text) + 1;
	}
	return NV_OK;
}

static u32 zero(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u32 *)params = 0;
	return NV_OK;
}

static u32 max_page_size(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u64 *)params = SIM_MIB(2);
	return NV_OK;
}

/* ---- engines ---- */

static u32 engine_list(const struct sim_model *model, u32 *list)
{
	u32 i, n = 0;

	list[n++] = NV2080_ENGINE_GRAPHICS;
	for (i = 0; i < model->copy_engines; i++)
		list[n++] = NV2080_ENGINE_COPY0 + i;
	list[n++] = NV2080_ENGINE_NVDEC0;
	list[n++] = NV2080_ENGINE_NVENC0;
	list[n++] = NV2080_ENGINE_SW;
	return n;
}

static u32 engines(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv_list_pointer *p = params;
	u32 list[ENGINES_MAX], n = engine_list(object->card->model, list);

	if (!p->list || !p->count) {
		p->count = n;
		return NV_OK;
	}
	if (p->count < n)
		return NV_ERR_INVALID_PARAM_STRUCT;
	p->count = n;
	return sim_copy_out(call, p->list, list, n * sizeof(*list));
}

static u32 engines_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *count = params;

	*count = engine_list(object->card->model, count + 1);
	return NV_OK;
}

/* ---- time ---- */

static u32 get_time(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u64 *)params = sim_gpu_time_ns();
	return NV_OK;
}

/* The clock a client named, ctrl2080tmr.h; 0: not one of them. */
static u64 cpu_clock(u32 which)
{
	switch (which & 0xf) {
	case NV2080_CLOCK_OS_TIME:
		return ktime_to_us(ktime_get_real());
	case NV2080_CLOCK_TSC:
		return get_cycles();
	case NV2080_CLOCK_PLATFORM:
		return ktime_get_ns();
	default:
		return 0;
	}
}

static u32 correlation(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv2080_correlation *p = params;
	unsigned int i;

	if (p->count > CORRELATIONS_MAX || !cpu_clock(p->clock))
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < p->count; i++) {
		p->samples[i].cpu = cpu_clock(p->clock);
		p->samples[i].gpu = sim_gpu_time_ns();
	}
	return NV_OK;
}

/* ---- notifications and interrupts ---- */

static u32 set_notification(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv2080_set_notification *p = params;

	return sim_event_arm(object, p->event, p->action);
}

/* A client that waits asks for its interrupts: have a look at the rings at once. */
static u32 service_interrupts(struct sim_call *call, struct sim_object *object, void *params)
{
	sim_exec_kick(object->card);
	return NV_OK;
}

static u32 arch_info(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct sim_model *model = object->card->model;
	struct nv2080_arch_info *p = params;

	p->architecture = model->architecture;
	p->implementation = model->implementation;
	p->revision = model->revision;
	p->subrevision = 0;
	return NV_OK;
}

static u32 gsp_features(struct sim_call *call, struct sim_object *object, void *params)
{
	memset(params, 0, sizeof(struct nv2080_gsp_features)); /* no such processor */
	return NV_OK;
}

const struct sim_ctrl sim_ctrl_gpu[] = {
	{ NV2080_CTRL_GPU_GET_INFO, 16, 0, gpu_info },
	{ NV2080_CTRL_GPU_GET_INFO_V2, 516, 0, gpu_info_v2 },
	{ NV2080_CTRL_GPU_GET_NAME_STRING, 132, 0, name_string },
	{ NV2080_CTRL_GPU_GET_SHORT_NAME_STRING, 64, 0, short_name },
	{ NV2080_CTRL_GPU_GET_SIMULATION_INFO, 4, 0, zero },
	{ NV2080_CTRL_GPU_GET_ENGINES, 16, 0, engines },
	{ NV2080_CTRL_GPU_QUERY_COMPUTE_MODE, 4, 0, zero },
	{ NV2080_CTRL_GPU_GET_ID, 4, 0, gpu_id },
	{ NV2080_CTRL_GPU_GET_0145_OBSERVED, 0, SIM_CTRL_ANYSIZE, sim_ctrl_accept },
	{ NV2080_CTRL_GPU_GET_GID_INFO, 268, 0, gid_info },
	{ NV2080_CTRL_GPU_GET_ENGINES_V2, 252, 0, engines_v2 },
	{ NV2080_CTRL_GPU_GET_MAX_PAGE_SIZE, 8, 0, max_page_size },
	{ NV2080_CTRL_EVENT_SET_NOTIFICATION, 20, SIM_CTRL_WRITE, set_notification },
	{ NV2080_CTRL_TIMER_GET_TIME, 8, 0, get_time },
	{ NV2080_CTRL_TIMER_GET_CORRELATION, 264, 0, correlation },
	{ NV2080_CTRL_MC_GET_ARCH_INFO, 16, 0, arch_info },
	{ NV2080_CTRL_MC_SERVICE_INTERRUPTS, 4, 0, service_interrupts },
	{ NV2080_CTRL_GSP_GET_FEATURES, 72, 0, gsp_features },
};
const size_t sim_ctrl_gpu_count = ARRAY_SIZE(sim_ctrl_gpu);
