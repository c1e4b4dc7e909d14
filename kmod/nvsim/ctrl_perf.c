// SPDX-License-Identifier: GPL-2.0-only
/*
 * Controls about performance. Most of them are not in the open headers: what is answered
 * is the least that genuine libraries were seen to need, nothing more is known.
 */

#include "nvsim/ctrl.h"
#include "nvsim/exec.h"

#define CLOCK_DOMAINS    0x17 /* bits 0 and 2 are looked at */
#define CODEC_PERIOD_US  100000
#define FULL_PERFORMANCE 1 /* shown as P0 */

static u32 card_percent(struct sim_card *card)
{
	u32 permille;

	mutex_lock(&card->exec->lock);
	permille = card->exec->load.permille;
	mutex_unlock(&card->exec->lock);
	return permille / 10;
}

/* GPU percent at byte 8, memory percent at byte 24. */
static u32 utilisation(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *p = params;

	p[2] = card_percent(object->card);
	p[6] = 0;
	return NV_OK;
}

static u32 codec_load(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *p = params;

	p[1] = 0;
	p[2] = CODEC_PERIOD_US;
	return NV_OK;
}

static u32 performance_state(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u32 *)params = FULL_PERFORMANCE;
	return NV_OK;
}

static u32 clock_9001(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u32 *)params = 1;
	return NV_OK;
}

static u32 clock_domains(struct sim_call *call, struct sim_object *object, void *params)
{
	((u32 *)params)[1] = CLOCK_DOMAINS;
	return NV_OK;
}

const struct sim_ctrl sim_ctrl_perf[] = {
	{ NV2080_CTRL_PERF_BOOST, 8, 0, sim_ctrl_accept },
	{ NV2080_CTRL_8159_OBSERVED, 0, SIM_CTRL_ANYSIZE, sim_ctrl_accept },
	{ NV2080_CTRL_CLK_9001_OBSERVED, 8, 0, clock_9001 },
	{ NV2080_CTRL_CLK_DOMAINS_OBSERVED, 8, 0, clock_domains },
	{ NV2080_CTRL_CLK_INFO_OBSERVED, 520, 0, sim_ctrl_accept },
	{ NV2080_CTRL_PERF_STATE_OBSERVED, 4, 0, performance_state },
	{ NV2080_CTRL_CODEC_LOAD_OBSERVED, 12, 0, codec_load },
	{ NV2080_CTRL_UTILISATION_OBSERVED, 1168, 0, utilisation },
};
const size_t sim_ctrl_perf_count = ARRAY_SIZE(sim_ctrl_perf);
