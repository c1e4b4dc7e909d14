// SPDX-License-Identifier: GPL-2.0
/* gpushare.ko: start and stop, in one order and its reverse. */
#include <linux/module.h>

#include "gpushare.h"

static const struct {
	int (*init)(void);
	void (*exit)(void);
} parts[] = {
	{ gsh_fwd_init, gsh_fwd_exit },         { gsh_host_init, gsh_host_exit },
	{ gsh_rmops_init, gsh_rmops_exit },     { gsh_cards_init, gsh_cards_exit },
	{ gsh_cdev_init, gsh_cdev_exit },       { gsh_sysfs_init, gsh_sysfs_exit },
	{ gsh_tenants_init, gsh_tenants_exit }, { gsh_netlink_init, gsh_netlink_exit },
	{ gsh_unknown_init, gsh_unknown_exit },
};

static void stop(unsigned int n)
{
	while (n--)
		parts[n].exit();
}

static int __init gsh_init(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		err = parts[i].init();
		if (err) {
			stop(i);
			return err;
		}
	}
	return 0;
}

static void __exit gsh_exit(void)
{
	stop(ARRAY_SIZE(parts));
}

module_init(gsh_init);
module_exit(gsh_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Hard limits on GPU memory and time for containers that share a card");
MODULE_VERSION("0.1.0");
