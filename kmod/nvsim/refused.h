/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was refused for being unknown: /sys/kernel/debug/nvsim/refused, one line each
 * (kind, number, size, count). Read it when a client does not start; write to it to begin
 * anew. Call from anywhere that may not sleep.
 */
#ifndef NVSIM_REFUSED_H
#define NVSIM_REFUSED_H

#include <linux/types.h>

enum sim_refused_kind {
	SIM_REFUSED_CONTROL, /* unknown number */
	SIM_REFUSED_SIZE, /* known, but of another size */
	SIM_REFUSED_OBJECT, /* known, on an object of the wrong class */
	SIM_REFUSED_CLASS,
	SIM_REFUSED_ESCAPE,
	SIM_REFUSED_UVM,
	SIM_REFUSED_KINDS,
};

void sim_refused(enum sim_refused_kind kind, u32 number, u32 size);
int sim_refused_init(void);

#endif /* NVSIM_REFUSED_H */
