// SPDX-License-Identifier: GPL-2.0
/* The driver version this module pretends to be. */

#include <linux/kernel.h>
#include <linux/string.h>

#include "nvsim/internal.h"

struct sim_version sim_version;

/* "535.261.03", or without the last part. -EINVAL otherwise. */
int sim_version_parse(const char *text)
{
	int parts, used = 0;

	parts = sscanf(text, "%u.%u%n.%u%n", &sim_version.branch, &sim_version.minor, &used,
		       &sim_version.patch, &used);
	if (parts < 2 || text[used] || strlen(text) > 60)
		return -EINVAL;
	return 0;
}

bool sim_version_at_least(u32 branch, u32 minor, u32 patch)
{
	if (sim_version.branch != branch)
		return sim_version.branch > branch;
	if (sim_version.minor != minor)
		return sim_version.minor > minor;
	return sim_version.patch >= patch;
}
