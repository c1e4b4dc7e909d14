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

static struct cdev devices[2];
static unsigned int regions_made;
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

/*
 * Lines of /proc/devices: nv-frontend.c up to 535, nv.c later (248 regular minors:
 * kernel-open/common/inc/nv-chardev-numbers.h).
 */
struct region {
	const char *name;
	unsigned int first, count;
};

static const struct region regions_535[] = { { "nvidia-frontend", 0, 256 } };
static const struct region regions_550[] = { { "nvidia", 0, 248 },
					     { "nvidiactl", NV_MINOR_CTL, 1 } };

static const struct region *region(unsigned int i)
{
	if (sim_abi->branch < 550)
		return i < ARRAY_SIZE(regions_535) ? &regions_535[i] : NULL;
	return i < ARRAY_SIZE(regions_550) ? &regions_550[i] : NULL;
}

static void regions_drop(unsigned int count)
{
	while (count--) {
		cdev_del(&devices[count]);
		unregister_chrdev_region(MKDEV(NV_MAJOR, region(count)->first),
					 region(count)->count);
	}
}

static int region_make(struct cdev *device, const struct region *r)
{
	dev_t first = MKDEV(NV_MAJOR, r->first);
	int err = register_chrdev_region(first, r->count, r->name);

	if (err)
		return err;
	cdev_init(device, &sim_file_ops);
	device->owner = THIS_MODULE;
	err = cdev_add(device, first, r->count);
	if (err)
		unregister_chrdev_region(first, r->count);
	return err;
}

static int regions_make(void)
{
	int err;

	for (regions_made = 0; region(regions_made); regions_made++) {
		err = region_make(&devices[regions_made], region(regions_made));
		if (err) {
			regions_drop(regions_made);
			return err;
		}
	}
	return 0;
}

int sim_nodes_init(void)
{
	int err = regions_make();

	if (err)
		return err;
	sim_device_class = compat_class_create("nvidia");
	if (IS_ERR(sim_device_class)) {
		err = PTR_ERR(sim_device_class);
		goto regions;
	}
	sim_device_class->devnode = node_name;
	err = nodes_make();
	if (!err)
		return 0;
	nodes_drop();
	class_destroy(sim_device_class);
regions:
	regions_drop(regions_made);
	return err;
}

void sim_nodes_exit(void)
{
	nodes_drop();
	class_destroy(sim_device_class);
	regions_drop(regions_made);
}
