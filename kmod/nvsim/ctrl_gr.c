// SPDX-License-Identifier: GPL-2.0-only
/* Controls of a subdevice about its compute and copy engines. */

#include "nvsim/ctrl.h"

static u32 gr_value(struct sim_object *object, u32 index, u32 *value)
{
	const struct sim_model *m = object->card->model;
	u32 sms = sim_model_sms(m);

	if (index >= NV_GR_INFO_COUNT)
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

	return sim_ctrl_info_list(call, object, p->count, NV_GR_INFO_COUNT, p->list, gr_value);
}

static u32 gr_info_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *count = params;

	return sim_ctrl_info_pairs(object, *count, NV_GR_INFO_COUNT,
				   (struct nv_info_pair *)(count + 1), gr_value);
}

static u32 sm_order(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct sim_model *m = object->card->model;
	struct nv2080_sm_order *p = params;
	u32 i, sms = sim_model_sms(m);

	memset(p->sm, 0, sizeof(p->sm));
	for (i = 0; i < sms; i++) {
		u32 tpc = i / m->sms_per_tpc;

		p->sm[i].gpc = tpc / m->tpcs_per_gpc;
		p->sm[i].virtual_gpc = p->sm[i].gpc;
		p->sm[i].local_tpc = tpc % m->tpcs_per_gpc;
		p->sm[i].local_sm = i % m->sms_per_tpc;
		p->sm[i].global_tpc = tpc;
		p->sm[i].migratable_tpc = tpc;
	}
	p->sm_count = sms;
	p->tpc_count = sms / m->sms_per_tpc;
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

static u32 ce_caps(struct sim_call *call, struct sim_object *object, void *params)
{
	struct {
		u32 engine, bytes;
		u64 caps;
	} *p = params;
	static const u8 none[2];

	if (!is_copy_engine(object, p->engine) || p->bytes != sizeof(none))
		return NV_ERR_INVALID_ARGUMENT;
	return sim_copy_out(call, p->caps, none, sizeof(none));
}

static u32 ce_caps_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *engine = params;

	memset(engine + 1, 0, 2);
	return is_copy_engine(object, *engine) ? NV_OK : NV_ERR_INVALID_ARGUMENT;
}

static u32 ce_all_caps(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv2080_ce_all_caps *p = params;

	memset(p, 0, sizeof(*p));
	p->present = BIT(object->card->model->copy_engines) - 1;
	return NV_OK;
}

const struct sim_ctrl sim_ctrl_gr[] = {
	{ NV2080_CTRL_GR_GET_INFO, 32, 0, gr_info },
	{ NV2080_CTRL_GR_GET_CTX_BUFFER_SIZE, 16, 0, context_buffer_size },
	{ NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER, 6168, 0, sm_order },
	{ NV2080_CTRL_GR_GET_CAPS_V2, 48, 0, gr_caps_v2 },
	{ NV2080_CTRL_GR_GET_INFO_V2, 448, 0, gr_info_v2 },
	{ NV2080_CTRL_GR_GET_GPC_MASK, 24, 0, gpc_mask },
	{ NV2080_CTRL_GR_GET_TPC_MASK, 24, 0, tpc_mask },
	{ NV2080_CTRL_CE_GET_CAPS, 16, 0, ce_caps },
	{ NV2080_CTRL_CE_GET_CAPS_V2, 8, 0, ce_caps_v2 },
	{ NV2080_CTRL_CE_GET_ALL_CAPS, 68, 0, ce_all_caps },
};
const size_t sim_ctrl_gr_count = ARRAY_SIZE(sim_ctrl_gr);
