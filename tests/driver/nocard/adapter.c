// SPDX-License-Identifier: GPL-2.0
/*
 * Starting an adapter, without one: the driver's calls into its core that
 * would wake the card succeed and do nothing. Which ones these are:
 * open-gpu-kernel-modules 535.261.03, kernel-open/nvidia/nv.c (nv_start_device,
 * nv_stop_device); the same in 550.163.01.
 */
#include <linux/string.h>

#include "nocard.h"

/* nv_state_t (kernel-open/common/inc/nv.h), the same in 535.261.03 and 550.163.01. */
#define STATE_BUS        24
#define STATE_SLOT       25
#define STATE_VENDOR     28
#define STATE_GPU_ID     36
#define STATE_UUID_VALID 44
#define STATE_UUID       45

void nc_uuid(unsigned int card, u8 *uuid)
{
	static const u8 pattern[NC_UUID_BYTES] = { 0x6e, 0x6f, 0x63, 0x61, 0x72,
						   0x64, 0x40, 0x00, 0x80 };

	memcpy(uuid, pattern, NC_UUID_BYTES);
	uuid[NC_UUID_BYTES - 1] = card;
}

/* What the core notes when it has asked a card: without it, whoever looks for a card by
 * UUID starts and stops this one for ever. */
static void note_uuid(u8 *state)
{
	u16 vendor;
	u32 gpu_id;

	memcpy(&vendor, state + STATE_VENDOR, sizeof(vendor));
	memcpy(&gpu_id, state + STATE_GPU_ID, sizeof(gpu_id));
	if (WARN_ON(vendor != NC_VENDOR || state[STATE_BUS] != NC_BUS || gpu_id >> 8 != NC_BUS))
		return;
	nc_uuid(state[STATE_SLOT], state + STATE_UUID);
	state[STATE_UUID_VALID] = 1;
}

static u8 init_adapter(void *sp, void *state)
{
	note_uuid(state);
	return 1;
}

static u64 nothing(void *sp, void *state)
{
	return 0;
}

struct nc_redirect nc_adapter_redirects[] = {
	{ .symbol = "rm_init_adapter", .target = init_adapter },
	{ .symbol = "rm_disable_adapter", .target = nothing },
	{ .symbol = "rm_shutdown_adapter", .target = nothing },
	{ .symbol = "rm_get_gpu_uuid_raw", .target = nothing },
	{ .symbol = "rm_request_dnotifier_state", .target = nothing },
};

const unsigned int nc_adapter_count = ARRAY_SIZE(nc_adapter_redirects);
