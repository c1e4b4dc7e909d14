// SPDX-License-Identifier: GPL-2.0-only
/*
 * Card models. Figures of the first: NVIDIA's A10 as its data sheet has it (72 SMs,
 * 384-bit GDDR6, 6 MiB L2); identity as real-clients measurements used it. Names say
 * nvsim, so that nobody takes a simulated card for a real one.
 */

#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "nvsim/model.h"
#include "nvsim/nvsim.h"
#include "nvabi/controls.h"

static const struct sim_model models[] = {
	{
		.key = "a10",
		.name = "NVIDIA nvsim A10",
		.short_name = "nvsim",
		.device_id = 0x2236,
		.subsystem_id = 0x1482,
		.revision = 0xa1,
		.architecture = 0x170,
		.implementation = 2,
		.sm_version = 0x806,
		.gpcs = 6,
		.tpcs_per_gpc = 6,
		.sms_per_tpc = 2,
		.warps_per_sm = 48,
		.cores_per_sm = 128,
		.tensor_cores_per_sm = 4,
		.rt_cores_per_sm = 1,
		.copy_engines = 5,
		.ltcs = 12,
		.slices_per_ltc = 4,
		.fb_partitions = 12,
		.bus_width = 384,
		.ram_type = NV_RAM_TYPE_GDDR6,
		.l2_bytes = 6 * SZ_1M,
		.bar0_bytes = 16 * SZ_1M,
		.bar1_bytes = 32ULL * SZ_1G,
		.bar3_bytes = 32 * SZ_1M,
		.compute_class = AMPERE_COMPUTE_B,
		.copy_class = AMPERE_DMA_COPY_B,
		.channel_class = AMPERE_CHANNEL_GPFIFO_A,
		.usermode_class = AMPERE_USERMODE_A,
		.graphics_class = AMPERE_B,
		.classes = { NV01_ROOT_CLIENT,
			     NV01_DEVICE_0,
			     NV20_SUBDEVICE_0,
			     NV01_MEMORY_LOCAL_USER,
			     NV01_MEMORY_SYSTEM,
			     NV01_MEMORY_SYSTEM_OS_DESCRIPTOR,
			     NV01_MEMORY_VIRTUAL,
			     NV50_MEMORY_VIRTUAL,
			     FERMI_VASPACE_A,
			     KEPLER_CHANNEL_GROUP_A,
			     FERMI_CONTEXT_SHARE_A,
			     AMPERE_CHANNEL_GPFIFO_A,
			     AMPERE_USERMODE_A,
			     TURING_USERMODE_A,
			     AMPERE_COMPUTE_B,
			     AMPERE_DMA_COPY_B,
			     AMPERE_B,
			     KEPLER_INLINE_TO_MEMORY_B,
			     FERMI_TWOD_A,
			     GT200_DEBUGGER },
	},
};

const struct sim_model *sim_model_find(const char *name)
{
	size_t i;

	if (!name || !*name)
		return &models[0];
	for (i = 0; i < ARRAY_SIZE(models); i++)
		if (!strcmp(models[i].key, name))
			return &models[i];
	return NULL;
}

const char *sim_model_name(const struct sim_model *model)
{
	return model->name;
}

u16 sim_model_device_id(const struct sim_model *model)
{
	return model->device_id;
}

u32 sim_model_usermode_class(const struct sim_model *model)
{
	return model->usermode_class;
}

u64 sim_model_bar1_bytes(const struct sim_model *model)
{
	return model->bar1_bytes;
}
