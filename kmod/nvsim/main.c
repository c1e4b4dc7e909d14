// SPDX-License-Identifier: GPL-2.0
/* Parameters, start and stop. */

#include <linux/module.h>

#include "nvsim/internal.h"

struct sim_params sim_params = {
	.cards = 1,
	.memory_mib = 24576,
	.reserved_mib = 512,
	.group_overhead_kib = 8192,
	.channel_overhead_kib = 1024,
	.modify_device_files = 1,
	.version = "535.261.03",
	.model = "",
	.presence = "auto",
};

module_param_named(cards, sim_params.cards, uint, 0444);
MODULE_PARM_DESC(cards, "simulated cards, 1 to 8");
module_param_named(memory_mib, sim_params.memory_mib, ulong, 0444);
MODULE_PARM_DESC(memory_mib, "memory of each card in MiB; may be more than the machine has");
module_param_named(reserved_mib, sim_params.reserved_mib, ulong, 0444);
MODULE_PARM_DESC(reserved_mib, "what the driver keeps of it");
module_param_named(group_overhead_kib, sim_params.group_overhead_kib, ulong, 0644);
MODULE_PARM_DESC(group_overhead_kib, "context buffers of a channel group");
module_param_named(channel_overhead_kib, sim_params.channel_overhead_kib, ulong, 0644);
MODULE_PARM_DESC(channel_overhead_kib, "context buffers of a channel");
module_param_named(defer_close_ms, sim_params.defer_close_ms, uint, 0644);
MODULE_PARM_DESC(defer_close_ms, "the end of a control file's clients comes this long after close");
module_param_named(modify_device_files, sim_params.modify_device_files, uint, 0444);
MODULE_PARM_DESC(modify_device_files, "ModifyDeviceFiles in /proc/driver/nvidia/params");
module_param_named(version, sim_params.version, charp, 0444);
MODULE_PARM_DESC(version, "driver version to be, such as 535.261.03");
module_param_named(pretend, sim_params.pretend, bool, 0444);
MODULE_PARM_DESC(pretend, "give out an unknown version as one's own and behave as 535.261.03");
module_param_named(model, sim_params.model, charp, 0444);
MODULE_PARM_DESC(model, "card model; empty for the usual one");
module_param_named(presence, sim_params.presence, charp, 0444);
MODULE_PARM_DESC(presence, "how open cards are found in a descriptor table: auto, inode or f_op");

struct stage {
	int (*init)(void);
	void (*exit)(void);
};

static void nothing(void)
{
}

const struct nvabi_version *sim_abi;

static int check(void)
{
	char known[48];

	if (!sim_params.cards || sim_params.cards > SIM_MAX_CARDS)
		return -EINVAL;
	if (sim_params.memory_mib <= sim_params.reserved_mib || sim_params.memory_mib > SIM_MIB(16))
		return -EINVAL;
	sim_abi = nvabi_version_find(sim_params.version);
	if (sim_abi)
		return 0;
	nvabi_version_nearest(sim_params.version, known, sizeof(known));
	if (!sim_params.pretend) {
		pr_err("nvsim: version %s is unknown, %s is known\n", sim_params.version, known);
		return -EINVAL;
	}
	sim_abi = nvabi_version_find("535.261.03");
	return 0;
}

/* In the order of life: nodes come last, so that nobody meets half a driver. */
static const struct stage stages[] = {
	{ check, nothing },
	{ sim_truth_init, sim_truth_exit },
	{ sim_fault_init, sim_fault_exit },
	{ sim_classes_init, sim_classes_exit },
	{ sim_exec_init, sim_exec_exit },
	{ sim_ctrl_init, sim_ctrl_exit },
	{ sim_files_init, sim_files_exit },
	{ sim_cards_create, sim_cards_destroy },
	{ sim_procfs_init, sim_procfs_exit },
	{ sim_nodes_init, sim_nodes_exit },
	{ sim_uvm_init, sim_uvm_exit },
};

static void stop(size_t count)
{
	while (count--)
		stages[count].exit();
}

static int __init nvsim_init(void)
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(stages); i++) {
		err = stages[i].init();
		if (err) {
			stop(i);
			return err;
		}
	}
	pr_info("nvsim: %u simulated card%s, driver %s\n", sim_params.cards,
		sim_params.cards == 1 ? "" : "s", sim_params.version);
	return 0;
}

static void __exit nvsim_exit(void)
{
	stop(ARRAY_SIZE(stages));
}

module_init(nvsim_init);
module_exit(nvsim_exit);

MODULE_DESCRIPTION("Simulated NVIDIA driver, for gpushare without a GPU");
MODULE_LICENSE("GPL");
