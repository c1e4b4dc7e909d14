// SPDX-License-Identifier: GPL-2.0-only
/* Controls of a subdevice about its compute and copy engines. */

#include "nvsim/ctrl.h"
#include "nvabi/control_sizes.h"

#define GR_INFO_V2_BYTES  448
#define SM_ORDER_BYTES    6168
#define CE_ALL_CAPS_BYTES 68

/* Indices of the running version: what its list by value has room for, besides count and route. */
static u32 gr_info_count(void)
{
	u32 bytes = nvabi_control_bytes(sim_abi, NV2080_CTRL_GR_GET_INFO_V2, GR_INFO_V2_BYTES);

	return (bytes - 24) / sizeof(struct nv_info_pair);
}

static u32 gr_value(struct sim_object *object, u32 index, u32 *value)
{
	const struct sim_model *m = object->card->model;
	u32 sms = sim_model_sms(m);

	if (index >= gr_info_count())
		return NV_ERR_INVALID_ARGUMENT;
	*value = 0;
	switch (index) {
	case NV_GR_INFO_MAXCLIPS:
		*value = 8;
		break;
	case NV_GR_INFO_BUFFER_ALIGNMENT:
		*value = 32;
		break;
	case NV_GR_INFO_GPC_COUNT:
	case NV_GR_INFO_LITTER_GPCS:
		*value = m->gpcs;
		break;
	case NV_GR_INFO_STACK_SCALING:
		*value = 1;
		break;
	case NV_GR_INFO_TPC_COUNT:
		*value = m->gpcs * m->tpcs_per_gpc;
		break;
	case NV_GR_INFO_SM_REG_BANKS:
		*value = 4;
		break;
	case NV_GR_INFO_SM_REG_BANK_REGS:
		*value = 16384;
		break;
	case NV_GR_INFO_SM_VERSION:
		*value = m->sm_version;
		break;
	case NV_GR_INFO_MAX_WARPS_PER_SM:
		*value = m->warps_per_sm;
		break;
	case NV_GR_INFO_THREADS_PER_WARP:
		*value = 32;
		break;
	case NV_GR_INFO_MAX_SP_PER_SM:
		*value = m->cores_per_sm;
		break;
	case NV_GR_INFO_LITTER_FBPS:
	case NV_GR_INFO_LITTER_FBPAS:
		*value = m->fb_partitions;
		break;
	case NV_GR_INFO_LITTER_TPC_PER_GPC:
	case NV_GR_INFO_FAMILY_MAX_TPC_PER_GPC:
		*value = m->tpcs_per_gpc;
		break;
	case NV_GR_INFO_TIMESLICE_ENABLED:
	case NV_GR_INFO_LITTER_GRS:
		*value = 1;
		break;
	case NV_GR_INFO_GPU_CORE_COUNT:
		*value = sms * m->cores_per_sm;
		break;
	case NV_GR_INFO_LITTER_SM_PER_TPC:
		*value = m->sms_per_tpc;
		break;
	case NV_GR_INFO_RT_CORE_COUNT:
		*value = sms * m->rt_cores_per_sm;
		break;
	case NV_GR_INFO_TENSOR_CORE_COUNT:
		*value = sms * m->tensor_cores_per_sm;
		break;
	case NV_GR_INFO_LITTER_LTCS:
		*value = m->ltcs;
		break;
	case NV_GR_INFO_LITTER_LTC_SLICES:
	case NV_GR_INFO_SLICES_PER_LTC:
		*value = m->slices_per_ltc;
		break;
	case NV_GR_INFO_MAX_SUBCONTEXTS:
	case NV_GR_INFO_MAX_ENGINE_SUBCONTEXTS:
		*value = 64;
		break;
	case NV_GR_INFO_MAX_LEGACY_SUBCONTEXTS:
		*value = 2;
		break;
	}
	return NV_OK;
}

static u32 gr_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv2080_gr_info *p = params;

	return sim_ctrl_info_list(call, object, p->count, gr_info_count(), p->list, gr_value);
}

static u32 gr_info_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *count = params;

	return sim_ctrl_info_pairs(object, *count, gr_info_count(),
				   (struct nv_info_pair *)(count + 1), gr_value);
}

static u32 sm_order(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct sim_model *m = object->card->model;
	u32 bytes =
		nvabi_control_bytes(sim_abi, NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER, SM_ORDER_BYTES);
	u32 entry = (bytes - sizeof(struct nv2080_sm_order_end)) / NV2080_SM_ORDER_MAX;
	struct nv2080_sm_order_end *end = params + entry * NV2080_SM_ORDER_MAX;
	u32 i, sms = sim_model_sms(m);

	memset(params, 0, entry * NV2080_SM_ORDER_MAX);
	for (i = 0; i < sms; i++) {
		struct nv2080_sm_place *sm = params + i * entry;
		u32 tpc = i / m->sms_per_tpc;

		sm->gpc = tpc / m->tpcs_per_gpc;
		sm->virtual_gpc = sm->gpc;
		sm->local_tpc = tpc % m->tpcs_per_gpc;
		sm->local_sm = i % m->sms_per_tpc;
		sm->global_tpc = tpc;
		sm->migratable_tpc = tpc;
	}
	end->sm_count = sms;
	end->tpc_count = sms / m->sms_per_tpc;
	return NV_OK;
}

static u32 context_buffer_size(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv2080_ctx_buffer_size *p = params;

	p->bytes = (u64)sim_params.group_overhead_kib << 10;
	return NV_OK;
}

static u32 gr_caps_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	u8 *p = params;

	memset(p, 0, NV0080_GR_CAPS_BYTES);
	p[40] = 1; /* populated */
	return NV_OK;
}

static u32 gpc_mask(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv2080_gpc_mask *p = params;

	p->mask = BIT(object->card->model->gpcs) - 1;
	return NV_OK;
}

static u32 tpc_mask(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct sim_model *m = object->card->model;
	struct nv2080_tpc_mask *p = params;

	if (p->gpc >= m->gpcs)
		return NV_ERR_INVALID_ARGUMENT;
	p->mask = BIT(m->tpcs_per_gpc) - 1;
	return NV_OK;
}

/* ---- copy engines ---- */

static bool is_copy_engine(const struct sim_object *object, u32 type)
{
	return type - NV2080_ENGINE_COPY0 < object->card->model->copy_engines;
}

/*
 * The first two serve the channels of the compute engine: libcuda 550 finds no copy class
 * for those without one that says so.
 */
#define COMPUTE_COPY_ENGINES 2

static void ce_caps_of(u32 engine, u8 caps[NV2080_CE_CAPS_BYTES])
{
	caps[0] = NV2080_CE_CAPS_0_SYSMEM_READ | NV2080_CE_CAPS_0_SYSMEM_WRITE |
		  NV2080_CE_CAPS_0_SYSMEM | NV2080_CE_CAPS_0_BL_OVER_64K;
	if (engine < COMPUTE_COPY_ENGINES)
		caps[0] |= NV2080_CE_CAPS_0_GRCE;
	caps[1] = NV2080_CE_CAPS_1_NONPIPELINED_BL | NV2080_CE_CAPS_1_PIPELINED_BL;
}

static u32 ce_caps(struct sim_call *call, struct sim_object *object, void *params)
{
	struct {
		u32 engine, bytes;
		u64 caps;
	} *p = params;
	u8 caps[NV2080_CE_CAPS_BYTES];

	if (!is_copy_engine(object, p->engine) || p->bytes != sizeof(caps))
		return NV_ERR_INVALID_ARGUMENT;
	ce_caps_of(p->engine - NV2080_ENGINE_COPY0, caps);
	return sim_copy_out(call, p->caps, caps, sizeof(caps));
}

static u32 ce_caps_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *engine = params;

	if (!is_copy_engine(object, *engine))
		return NV_ERR_INVALID_ARGUMENT;
	ce_caps_of(*engine - NV2080_ENGINE_COPY0, (u8 *)(engine + 1));
	return NV_OK;
}

static u32 ce_all_caps(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 bytes = nvabi_control_bytes(sim_abi, NV2080_CTRL_CE_GET_ALL_CAPS, CE_ALL_CAPS_BYTES);
	u32 i, engines = object->card->model->copy_engines;
	u64 present = BIT(engines) - 1;

	memset(params, 0, bytes);
	for (i = 0; i < engines; i++)
		ce_caps_of(i, params + i * NV2080_CE_CAPS_BYTES);
	if (bytes == CE_ALL_CAPS_BYTES) /* two bytes for each of 32 engines, a mask of them */
		*(u32 *)(params + 64) = present;
	else /* the same for 64 */
		*(u64 *)(params + 128) = present;
	return NV_OK;
}

const struct sim_ctrl sim_ctrl_gr[] = {
	{ NV2080_CTRL_GR_GET_INFO, 32, 0, gr_info },
	{ NV2080_CTRL_GR_SET_CTXSW_PREEMPTION, 32, 0, sim_ctrl_accept },
	{ NV2080_CTRL_GR_GET_CTX_BUFFER_SIZE, 16, 0, context_buffer_size },
	{ NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER, SM_ORDER_BYTES, 0, sm_order },
	{ NV2080_CTRL_GR_GET_CAPS_V2, 48, 0, gr_caps_v2 },
	{ NV2080_CTRL_GR_GET_INFO_V2, GR_INFO_V2_BYTES, 0, gr_info_v2 },
	{ NV2080_CTRL_GR_GET_GPC_MASK, 24, 0, gpc_mask },
	{ NV2080_CTRL_GR_GET_TPC_MASK, 24, 0, tpc_mask },
	{ NV83DE_CTRL_SET_EXCEPTION_MASK, 4, 0, sim_ctrl_accept },
	{ NV2080_CTRL_CE_GET_CAPS, 16, 0, ce_caps },
	{ NV2080_CTRL_CE_GET_CAPS_V2, 8, 0, ce_caps_v2 },
	{ NV2080_CTRL_CE_GET_ALL_CAPS, CE_ALL_CAPS_BYTES, 0, ce_all_caps },
};
const size_t sim_ctrl_gr_count = ARRAY_SIZE(sim_ctrl_gr);
