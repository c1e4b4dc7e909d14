// SPDX-License-Identifier: GPL-2.0
/*
 * nocard.ko: start and stop, and the driver's coming and going. Loaded before
 * nvidia.ko, which finds the functions of bus.c; each load of nvidia.ko is
 * met with the redirections that the parameters ask for.
 */
#include <linux/module.h>
#include <linux/mutex.h>

#include "nocard.h"

static unsigned int cards = 1;
module_param(cards, uint, 0444);
MODULE_PARM_DESC(cards, "PCI functions to make, 1 to 16");

static unsigned long window;
module_param(window, ulong, 0444);
MODULE_PARM_DESC(window,
		 "address of 128 MiB a card of memory that the kernel does not know (mem=)");

static bool open;
module_param(open, bool, 0444);
MODULE_PARM_DESC(open, "let /dev/nvidiaN open: the adapter's start succeeds without a card");

static bool objects;
module_param(objects, bool, 0444);
MODULE_PARM_DESC(objects, "answer for devices, subdevices and memory below a client; implies open");

static unsigned int memory_mib = 8192;
module_param(memory_mib, uint, 0444);
MODULE_PARM_DESC(memory_mib, "memory of each card, for objects");

unsigned int nc_cards;
u64 nc_memory_bytes;

static bool met; /* the driver that is loaded is redirected; the notifier alone */

static void leave(void)
{
	unsigned int i;

	for (i = 0; i < nc_object_count; i++)
		nc_redirect_del(&nc_object_redirects[i]);
	for (i = 0; i < nc_adapter_count; i++)
		nc_redirect_del(&nc_adapter_redirects[i]);
	nc_objects_stop();
}

static int add_all(struct nc_redirect *redirects, unsigned int count)
{
	unsigned int i;
	int err;

	for (i = 0; i < count; i++) {
		err = nc_redirect_add(&redirects[i]);
		if (err) {
			pr_err("nocard: no %s in this driver (%d)\n", redirects[i].symbol, err);
			return err;
		}
	}
	return 0;
}

static int meet(struct module *driver)
{
	const struct nvabi_version *version = nvabi_version_find(driver->version ?: "");
	int err;

	if (objects && !version) {
		pr_err("nocard: driver %s is not known\n", driver->version ?: "without a version");
		return -EINVAL;
	}
	nc_objects_start(version);
	err = add_all(nc_adapter_redirects, nc_adapter_count);
	if (!err && objects)
		err = add_all(nc_object_redirects, nc_object_count);
	if (err)
		leave();
	return err;
}

static int notify(struct notifier_block *block, unsigned long action, void *data)
{
	struct module *driver = data;
	int err;

	if (strcmp(driver->name, "nvidia") || !open)
		return NOTIFY_DONE;
	if (action == MODULE_STATE_COMING) {
		err = meet(driver);
		met = !err;
		if (met)
			__module_get(THIS_MODULE); /* its calls come here */
		return notifier_from_errno(err);
	}
	if (action == MODULE_STATE_GOING && met) {
		leave();
		met = false;
		module_put(THIS_MODULE);
	}
	return NOTIFY_DONE;
}

static struct notifier_block modules = { .notifier_call = notify };

static int __init nocard_init(void)
{
	int err;

	if (!cards || cards > NC_CARDS_MAX || !window)
		return -EINVAL;
	open |= objects;
	nc_cards = cards;
	nc_memory_bytes = (u64)memory_mib << 20;
	err = nc_bus_init(window);
	if (err)
		return err;
	err = register_module_notifier(&modules);
	if (err)
		nc_bus_exit();
	return err;
}

static void __exit nocard_exit(void)
{
	unregister_module_notifier(&modules);
	nc_bus_exit();
}

module_init(nocard_init);
module_exit(nocard_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("For tests: PCI functions that keep NVIDIA's driver loaded without a card");
