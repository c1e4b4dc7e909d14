// SPDX-License-Identifier: GPL-2.0
/* Pointers inside parameters: of user memory, or of a kernel caller's. */

#include <linux/uaccess.h>

#include "nvsim/nvsim.h"

u32 sim_copy_in(const struct sim_call *call, void *to, u64 from, size_t bytes)
{
	if (!bytes)
		return NV_OK;
	if (!from)
		return NV_ERR_INVALID_ADDRESS;
	if (call->kernel)
		memcpy(to, (const void *)(uintptr_t)from, bytes);
	else if (copy_from_user(to, u64_to_user_ptr(from), bytes))
		return NV_ERR_INVALID_ADDRESS;
	return NV_OK;
}

u32 sim_copy_out(const struct sim_call *call, u64 to, const void *from, size_t bytes)
{
	if (!bytes)
		return NV_OK;
	if (!to)
		return NV_ERR_INVALID_ADDRESS;
	if (call->kernel)
		memcpy((void *)(uintptr_t)to, from, bytes);
	else if (copy_to_user(u64_to_user_ptr(to), from, bytes))
		return NV_ERR_INVALID_ADDRESS;
	return NV_OK;
}

u32 sim_clear_out(const struct sim_call *call, u64 to, size_t bytes)
{
	if (!bytes)
		return NV_OK;
	if (!to)
		return NV_ERR_INVALID_ADDRESS;
	if (call->kernel)
		memset((void *)(uintptr_t)to, 0, bytes);
	else if (clear_user(u64_to_user_ptr(to), bytes))
		return NV_ERR_INVALID_ADDRESS;
	return NV_OK;
}
