// SPDX-License-Identifier: GPL-2.0
/*
 * The virtual nodes: /dev/gpushare/<tenant>/nvidiactl, nvidia<N>, nvidia-uvm.
 * The node that was opened says which tenant pays.
 */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "gpushare.h"

#define MINORS (1u << 20)

static dev_t base;
static struct cdev cdev;
static struct class *class;
static u32 next_minor;
static DEFINE_XARRAY_ALLOC(nodes); /* minor -> struct gsh_vnode; nodes_lock */
static DEFINE_MUTEX(nodes_lock);

/* "<tenant>/nvidia0"; with prefix the name below /dev. */
static void leaf_name(const struct gsh_vnode *node, char *buf, size_t size)
{
	switch (node->kind) {
	case GPUSHARE_NODE_KIND_CTL:
		strscpy(buf, "nvidiactl", size);
		break;
	case GPUSHARE_NODE_KIND_UVM:
		strscpy(buf, "nvidia-uvm", size);
		break;
	default:
		snprintf(buf, size, "nvidia%u", node->card->minor);
	}
}

int gsh_node_path(const struct gsh_vnode *node, char *buf, size_t size)
{
	char leaf[16];

	leaf_name(node, leaf, sizeof(leaf));
	return snprintf(buf, size, "/dev/gpushare/%s/%s", node->tenant->name, leaf);
}

/* Owner and mode of the node that devtmpfs makes; udev rules may only narrow it. */
static char *node_devnode(compat_const_device *dev, umode_t *mode, kuid_t *uid, kgid_t *gid)
{
	const struct gsh_vnode *node = dev_get_drvdata((struct device *)dev);

	if (!node)
		return NULL;
	/* Removal asks for the name only. */
	if (mode)
		*mode = READ_ONCE(node->tenant->mode);
	if (uid)
		*uid = node->tenant->uid;
	if (gid)
		*gid = node->tenant->gid;
	return NULL;
}

static const struct device_type node_type = {
	.name = "gpushare_node",
	.devnode = node_devnode,
};

static void node_dev_release(struct device *dev)
{
	kfree(dev);
}

/* '!' in a device's name becomes '/' below /dev. */
static struct device *node_device(struct gsh_vnode *node)
{
	struct device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	char leaf[16];
	int err;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	leaf_name(node, leaf, sizeof(leaf));
	device_initialize(dev);
	dev->class = class;
	dev->type = &node_type;
	dev->devt = node->devt;
	dev->release = node_dev_release;
	dev_set_drvdata(dev, node);
	err = dev_set_name(dev, "gpushare!%s!%s", node->tenant->name, leaf) ?: device_add(dev);
	if (err) {
		put_device(dev);
		return ERR_PTR(err);
	}
	return dev;
}

/* Minors go round before one is used again: a container that outlived its
 * tenant may still be allowed the old number. */
int gsh_node_create(struct gsh_vnode *node)
{
	u32 minor;
	int err;

	mutex_lock(&nodes_lock);
	err = xa_alloc_cyclic(&nodes, &minor, node, XA_LIMIT(0, MINORS - 1), &next_minor,
			      GFP_KERNEL);
	mutex_unlock(&nodes_lock);
	if (err < 0)
		return err;
	node->devt = MKDEV(MAJOR(base), minor);
	node->dev = node_device(node);
	if (IS_ERR(node->dev)) {
		err = PTR_ERR(node->dev);
		node->dev = NULL;
		mutex_lock(&nodes_lock);
		xa_erase(&nodes, minor);
		mutex_unlock(&nodes_lock);
		return err;
	}
	return 0;
}

void gsh_node_destroy(struct gsh_vnode *node)
{
	if (!node->dev)
		return;
	mutex_lock(&nodes_lock);
	xa_erase(&nodes, MINOR(node->devt));
	mutex_unlock(&nodes_lock);
	device_unregister(node->dev);
	node->dev = NULL;
}

/* The node of a minor, with a reference on its tenant. */
struct gsh_vnode *gsh_node_get(dev_t devt)
{
	struct gsh_vnode *node;

	mutex_lock(&nodes_lock);
	node = xa_load(&nodes, MINOR(devt));
	if (node)
		gsh_tenant_get(node->tenant);
	mutex_unlock(&nodes_lock);
	return node;
}

int gsh_cdev_init(void)
{
	int err = alloc_chrdev_region(&base, 0, MINORS, "gpushare");

	if (err)
		return err;
	class = compat_class_create("gpushare");
	if (IS_ERR(class)) {
		err = PTR_ERR(class);
		goto region;
	}
	cdev_init(&cdev, &gsh_fops);
	cdev.owner = THIS_MODULE;
	err = cdev_add(&cdev, base, MINORS);
	if (err)
		goto class;
	return 0;
class:
	class_destroy(class);
region:
	unregister_chrdev_region(base, MINORS);
	return err;
}

void gsh_cdev_exit(void)
{
	cdev_del(&cdev);
	class_destroy(class);
	unregister_chrdev_region(base, MINORS);
	xa_destroy(&nodes);
}
