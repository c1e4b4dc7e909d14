// SPDX-License-Identifier: GPL-2.0
/* /proc/driver/nvidia: version, params, one folder a card. */

#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "nvsim/internal.h"

static struct proc_dir_entry *root;

static int version_show(struct seq_file *seq, void *unused)
{
	seq_printf(
		seq,
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build  (nvsim)\n",
		sim_params.version);
	seq_puts(seq, "GCC version:  simulated\n");
	return 0;
}

/* The libraries look at the first four: whether and how to make device files. */
static int params_show(struct seq_file *seq, void *unused)
{
	seq_printf(seq, "ModifyDeviceFiles: %u\n", sim_params.modify_device_files);
	seq_puts(seq, "DeviceFileUID: 0\n");
	seq_puts(seq, "DeviceFileGID: 0\n");
	seq_puts(seq, "DeviceFileMode: 438\n");
	seq_puts(seq, "InitializeSystemMemoryAllocations: 1\n");
	seq_puts(seq, "EnableMSI: 1\n");
	seq_puts(seq, "RegistryDwords: \"\"\n");
	return 0;
}

static int card_show(struct seq_file *seq, void *unused)
{
	const struct sim_card *card = seq->private;

	seq_printf(seq, "Model: \t\t %s\n", sim_model_name(card->model));
	seq_puts(seq, "IRQ:   \t\t 0\n");
	seq_printf(seq, "GPU UUID: \t %s\n", card->uuid_text);
	seq_puts(seq, "Video BIOS: \t ??.??.??.??.??\n");
	seq_puts(seq, "Bus Type: \t PCIe\n");
	seq_puts(seq, "DMA Size: \t 47 bits\n");
	seq_puts(seq, "DMA Mask: \t 0x7fffffffffff\n");
	seq_printf(seq, "Bus Location: \t %04x:%02x:%02x.%x\n", card->domain, card->bus, card->slot,
		   card->function);
	seq_printf(seq, "Device Minor: \t %u\n", card->minor);
	seq_puts(seq, "GPU Excluded:\t No\n");
	return 0;
}

static int make_cards(void)
{
	struct proc_dir_entry *gpus = proc_mkdir("gpus", root), *folder;
	struct sim_card *card;
	unsigned int i;
	char name[32];

	if (!gpus)
		return -ENOMEM;
	sim_for_each_card(card, i) {
		snprintf(name, sizeof(name), "%04x:%02x:%02x.%x", card->domain, card->bus,
			 card->slot, card->function);
		folder = proc_mkdir(name, gpus);
		if (!folder ||
		    !proc_create_single_data("information", 0444, folder, card_show, card))
			return -ENOMEM;
	}
	return 0;
}

int sim_procfs_init(void)
{
	root = proc_mkdir("driver/nvidia", NULL);
	if (!root)
		return -ENOMEM;
	if (!proc_create_single("version", 0444, root, version_show) ||
	    !proc_create_single("params", 0444, root, params_show) || make_cards()) {
		proc_remove(root);
		return -ENOMEM;
	}
	return 0;
}

void sim_procfs_exit(void)
{
	proc_remove(root);
}
