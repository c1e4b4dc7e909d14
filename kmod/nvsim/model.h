/* SPDX-License-Identifier: GPL-2.0-only */
/* What a card is: the figures that controls tell. A new model is a row in model.c. */
#ifndef NVSIM_MODEL_H
#define NVSIM_MODEL_H

#include <linux/types.h>

#define SIM_MODEL_CLASSES 24

struct sim_model {
	const char *key; /* module parameter "model" */
	const char *name; /* "NVIDIA nvsim A10" */
	const char *short_name;
	u16 device_id, subsystem_id;
	u8 revision;
	u32 architecture, implementation; /* MC_GET_ARCH_INFO */
	u32 sm_version; /* 0x806: 8.6 */
	u32 gpcs, tpcs_per_gpc, sms_per_tpc;
	u32 warps_per_sm, cores_per_sm, tensor_cores_per_sm, rt_cores_per_sm;
	u32 copy_engines;
	u32 ltcs, slices_per_ltc;
	u32 fb_partitions, bus_width, ram_type;
	u64 l2_bytes, bar0_bytes, bar1_bytes, bar3_bytes;
	u32 compute_class, copy_class, channel_class, usermode_class, graphics_class;
	u32 classes[SIM_MODEL_CLASSES]; /* class list; ends with 0 */
};

static inline u32 sim_model_sms(const struct sim_model *model)
{
	return model->gpcs * model->tpcs_per_gpc * model->sms_per_tpc;
}

#endif /* NVSIM_MODEL_H */
