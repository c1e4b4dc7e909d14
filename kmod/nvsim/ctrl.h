/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Controls: what the files ctrl_*.c share. Each file has one table of rows
 * { number, size in 535.261.03, flags, handler } and its handlers; ctrl.c joins the
 * tables and sets the sizes of the running version.
 */
#ifndef NVSIM_CTRL_H
#define NVSIM_CTRL_H

#include "nvsim/model.h"
#include "nvsim/nvsim.h"
#include "nvabi/controls.h"

#define SIM_CTRL_TABLE(name)                            \
	extern const struct sim_ctrl sim_ctrl_##name[]; \
	extern const size_t sim_ctrl_##name##_count

SIM_CTRL_TABLE(root); /* 0x0000: system, cards, client */
SIM_CTRL_TABLE(memory); /* 0x0041, and what 0x0000 says of objects */
SIM_CTRL_TABLE(device); /* 0x0080 */
SIM_CTRL_TABLE(gpu); /* 0x2080 01..: identity, information */
SIM_CTRL_TABLE(process); /* 0x2080 018d..: processes and their load */
SIM_CTRL_TABLE(fb); /* 0x2080 13.. */
SIM_CTRL_TABLE(bus); /* 0x2080 17.., 18.. */
SIM_CTRL_TABLE(gr); /* 0x2080 12.., 2a.. */
SIM_CTRL_TABLE(perf); /* 0x2080 20.., and those the headers do not name */
SIM_CTRL_TABLE(fifo); /* groups and channels */

/* Says yes and leaves the parameters as they were sent. */
u32 sim_ctrl_accept(struct sim_call *call, struct sim_object *object, void *params);

/* Pairs of index and value by pointer: read, let @value fill in, write back. */
typedef u32 (*sim_info_value)(struct sim_object *object, u32 index, u32 *value);
u32 sim_ctrl_info_list(struct sim_call *call, struct sim_object *object, u32 count, u32 most,
		       u64 list, sim_info_value value);
u32 sim_ctrl_info_pairs(struct sim_object *object, u32 count, u32 most, struct nv_info_pair *pairs,
			sim_info_value value);
/* A table of capability bytes by pointer. */
u32 sim_ctrl_caps(struct sim_call *call, const struct nv_list_pointer *p, const u8 *caps,
		  u32 bytes);

#endif /* NVSIM_CTRL_H */
