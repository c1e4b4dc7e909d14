// SPDX-License-Identifier: GPL-2.0
/*
 * Device nodes: /dev/nvidiactl (195:255), /dev/nvidiaN (195:N) and /dev/nvidia-uvm on a major
 * of its own. Device files are 0666, as the driver's own are.
 */

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/module.h>

#include "compat.h"
#include "nvsim/internal.h"

struct class *sim_device_class;

static struct cdev frontend;
static unsigned int made; /* nodes of cards */

static char *node_name(compat_const_device *device, umode_t *mode)
{
	if (mode)
		*mode = 0666;
	return NULL;
}

static int node_make(unsigned int minor, const char *format)
{
	return PTR_ERR_OR_ZERO(
		device_create(sim_device_class, NULL, MKDEV(NV_MAJOR, minor), NULL, format, minor));
}

static int nodes_make(void)
{
	int err = node_make(NV_MINOR_CTL, "nvidiactl");

	while (!err && made < sim_params.cards) {
		err = node_make(made, "nvidia%u");
		if (!err)
			made++;
	}
	return err;
}

static void nodes_drop(void)
{
	while (made)
		device_destroy(sim_device_class, MKDEV(NV_MAJOR, --made));
	device_destroy(sim_device_class, MKDEV(NV_MAJOR, NV_MINOR_CTL));
}

/* The name in /proc/devices: nv-frontend.c up to 535, nv.c later. */
static const char *region_name(void)
{
	return sim_abi->branch < 550 ? "nvidia-frontend" : "nvidia";
}

int sim_nodes_init(void)
{
	int err = register_chrdev_region(MKDEV(NV_MAJOR, 0), 256, region_name());

	if (err)
		return err;
	cdev_init(&frontend, &sim_file_ops);
	frontend.owner = THIS_MODULE;
	err = cdev_add(&frontend, MKDEV(NV_MAJOR, 0), 256);
	if (err)
		goto region;
	sim_device_class = compat_class_create("nvidia");
	if (IS_ERR(sim_device_class)) {
		err = PTR_ERR(sim_device_class);
		goto cdev;
	}
	sim_device_class->devnode = node_name;
	err = nodes_make();
	if (!err)
		return 0;
	nodes_drop();
	class_destroy(sim_device_class);
cdev:
	cdev_del(&frontend);
region:
	unregister_chrdev_region(MKDEV(NV_MAJOR, 0), 256);
	return err;
}

void sim_nodes_exit(void)
{
	nodes_drop();
	class_destroy(sim_device_class);
	cdev_del(&frontend);
	unregister_chrdev_region(MKDEV(NV_MAJOR, 0), 256);
}
