// SPDX-License-Identifier: GPL-2.0-only
/* Controls of a device (0x0080): classes, capabilities, channels by handle. */

#include "nvsim/ctrl.h"
#include "nvsim/exec.h"
#include "nvabi/control_sizes.h"

#define CHANNELS_MAX 4096

static u32 class_count(const struct sim_model *model)
{
	u32 n = 0;

	while (n < SIM_MODEL_CLASSES && model->classes[n])
		n++;
	return n;
}

/* A null list asks for the number only. */
static u32 class_list(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct sim_model *model = object->card->model;
	struct nv_list_pointer *p = params;
	u32 n = class_count(model);

	if (!p->list || !p->count) {
		p->count = n;
		return NV_OK;
	}
	if (p->count < n)
		return NV_ERR_INVALID_PARAM_STRUCT;
	p->count = n;
	return sim_copy_out(call, p->list, model->classes, n * sizeof(u32));
}

static u32 class_list_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct sim_model *model = object->card->model;
	u32 *p = params, n = class_count(model);

	memset(p, 0, sim_abi->classlist_v2_bytes);
	p[0] = n;
	memcpy(p + 1, model->classes, n * sizeof(u32));
	return NV_OK;
}

static u32 one(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u32 *)params = 1;
	return NV_OK;
}

static u32 zero(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u32 *)params = 0;
	return NV_OK;
}

static u32 virtualisation_none(struct sim_call *call, struct sim_object *object, void *params)
{
	memset(params, 0,
	       nvabi_control_bytes(sim_abi, NV0080_CTRL_GPU_GET_VIRTUALIZATION_MODE, sizeof(u32)));
	return NV_OK;
}

static u32 zero_byte(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u8 *)params = 0;
	return NV_OK;
}

static u32 persistence(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u32 *)params = NV0080_PERSISTENCE_DISABLED;
	return NV_OK;
}

/* A card without a display: no heads, no connectors. */
static u32 display_none(struct sim_call *call, struct sim_object *object, void *params)
{
	memset((u32 *)params + 1, 0, 2 * sizeof(u32));
	return NV_OK;
}

/* Capability bits name workarounds of old chips for the most part: none here. */
static const u8 no_caps[NV0080_GR_CAPS_BYTES];

static u32 gr_caps(struct sim_call *call, struct sim_object *object, void *params)
{
	return sim_ctrl_caps(call, params, no_caps, NV0080_GR_CAPS_BYTES);
}

static u32 fb_caps(struct sim_call *call, struct sim_object *object, void *params)
{
	return sim_ctrl_caps(call, params, no_caps, NV0080_FB_CAPS_BYTES);
}

static u32 host_caps(struct sim_call *call, struct sim_object *object, void *params)
{
	return sim_ctrl_caps(call, params, no_caps, NV0080_HOST_CAPS_BYTES);
}

static u32 fifo_caps(struct sim_call *call, struct sim_object *object, void *params)
{
	return sim_ctrl_caps(call, params, no_caps, NV0080_FIFO_CAPS_BYTES);
}

static u32 gr_caps_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	memset(params, 0, 48);
	((u8 *)params)[40] = 1; /* populated */
	return NV_OK;
}

static u32 small_caps(struct sim_call *call, struct sim_object *object, void *params)
{
	memset(params, 0, 2); /* the shortest of them; the rest comes back as sent */
	return NV_OK;
}

static u32 channel_number(struct sim_call *call, struct sim_object *object, u64 handle_at,
			  u64 channel_at)
{
	struct sim_channel *channel;
	u32 handle, number, status;

	status = sim_copy_in(call, &handle, handle_at, sizeof(handle));
	if (status != NV_OK)
		return status;
	channel = sim_channel_of(sim_object_find(object->client, handle));
	number = channel ? channel->id : 0xffffffff;
	return sim_copy_out(call, channel_at, &number, sizeof(number));
}

static u32 channel_list(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0080_channel_list *p = params;
	u32 i, status;

	if (p->count > CHANNELS_MAX)
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < p->count; i++) {
		status =
			channel_number(call, object, p->handles + i * 4ULL, p->channels + i * 4ULL);
		if (status != NV_OK)
			return status;
	}
	return NV_OK;
}

const struct sim_ctrl sim_ctrl_device[] = {
	{ NV0080_CTRL_GPU_GET_CLASSLIST, 16, 0, class_list },
	{ NV0080_CTRL_GPU_GET_CLASSLIST_V2, 644, 0, class_list_v2 },
	{ NV0080_CTRL_GPU_GET_NUM_SUBDEVICES, 4, 0, one },
	{ NV0073_CTRL_SYSTEM_GET_NUM_HEADS, 12, 0, display_none },
	{ NV0073_CTRL_SYSTEM_GET_SUPPORTED, 12, 0, display_none },
	{ NV0080_CTRL_GPU_QUERY_PERSISTENCE, 4, 0, persistence },
	{ NV0080_CTRL_GPU_GET_VIRTUALIZATION_MODE, 4, 0, virtualisation_none },
	{ NV0080_CTRL_GPU_GET_VGX_CAPS, 1, 0, zero_byte },
	{ NV0080_CTRL_GPU_GET_BRAND_CAPS, 4, 0, zero },
	{ NV0080_CTRL_GR_GET_CAPS, 16, 0, gr_caps },
	{ NV0080_CTRL_GR_GET_CAPS_V2, 48, 0, gr_caps_v2 },
	{ NV0080_CTRL_FB_GET_CAPS, 16, 0, fb_caps },
	{ NV0080_CTRL_FB_GET_CAPS_V2, 3, 0, small_caps },
	{ NV0080_CTRL_HOST_GET_CAPS, 16, 0, host_caps },
	{ NV0080_CTRL_HOST_GET_CAPS_V2, 3, 0, small_caps },
	{ NV0080_CTRL_FIFO_GET_CAPS, 16, 0, fifo_caps },
	{ NV0080_CTRL_FIFO_GET_CAPS_V2, 2, 0, small_caps },
	{ NV0080_CTRL_FIFO_GET_CHANNELLIST, 24, 0, channel_list },
	{ NV0080_CTRL_PERF_CUDA_LIMIT_SET_CONTROL, 1, 0, sim_ctrl_accept },
	{ NV0080_CTRL_PERF_CUDA_LIMIT_OBSERVED, 0, SIM_CTRL_ANYSIZE, sim_ctrl_accept },
};
const size_t sim_ctrl_device_count = ARRAY_SIZE(sim_ctrl_device);
