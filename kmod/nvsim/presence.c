// SPDX-License-Identifier: GPL-2.0
/*
 * Has the caller this card open? The driver walks the descriptor table of whoever runs
 * (kernel-open/nvidia/nv.c, its test of GPU accessibility): a file that only a module holds
 * does not count, and from 550 neither does one with other operations.
 */

#include <linux/fdtable.h>
#include <linux/sched.h>

#include "nvsim/internal.h"

static bool by_operations(void)
{
	if (!strcmp(sim_params.presence, "inode"))
		return false;
	if (!strcmp(sim_params.presence, "f_op"))
		return true;
	return sim_abi->presence == NVABI_PRESENCE_OPERATIONS;
}

static int shows_card(const void *wanted, struct file *filp, unsigned int fd)
{
	const struct sim_file *file = filp->private_data;

	if (!file)
		return 0;
	if (by_operations() && filp->f_op != &sim_file_ops)
		return 0;
	if (MAJOR(file_inode(filp)->i_rdev) != NV_MAJOR)
		return 0;
	return file->card == wanted;
}

bool sim_card_open_here(struct sim_card *card)
{
	return iterate_fd(current->files, 0, shows_card, card);
}
