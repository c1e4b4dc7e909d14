// SPDX-License-Identifier: GPL-2.0
/*
 * One open file of nvidiactl or nvidiaN: open, poll, release.
 *
 * What a control file owns ends with the last reference to it, perhaps a while later
 * (defer_close_ms): then the file is gone already, and only the private part is left.
 */

#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "nvsim/internal.h"

struct late_close {
	struct delayed_work work;
	struct sim_file *file;
};

static struct workqueue_struct *late_closes;
static atomic_t late_count;
static DECLARE_WAIT_QUEUE_HEAD(late_done);

/* ---- descriptors inside calls ---- */

static bool minor_fits(unsigned int found, int wanted)
{
	if (wanted < 0)
		return sim_card_by_minor(found);
	return found == wanted;
}

/*
 * As the driver does (535.261.03 kernel-open/nvidia/nv.c, its look-up of file private data):
 * the inode's number decides, the private data is used, the operations are not looked at.
 */
struct file *sim_fget(u32 fd, int minor, struct sim_file **file)
{
	struct file *filp = fget(fd);
	dev_t rdev;

	if (!filp)
		return NULL;
	rdev = file_inode(filp)->i_rdev;
	if (MAJOR(rdev) != NV_MAJOR || !minor_fits(MINOR(rdev), minor) || !filp->private_data) {
		fput(filp);
		return NULL;
	}
	*file = filp->private_data;
	return filp;
}

/* ---- open ---- */

/* Own mapping: what is unmapped through one open file stays mapped through others. */
static void own_mapping(struct sim_file *file, struct inode *inode, struct file *filp)
{
	address_space_init_once(&file->mapping);
	file->mapping.host = inode;
	file->mapping.a_ops = inode->i_mapping->a_ops;
	filp->f_mapping = &file->mapping;
}

static struct sim_file *file_new(struct sim_card *card, struct file *filp)
{
	struct sim_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return NULL;
	file->card = card;
	file->filp = filp;
	file->tgid = task_tgid_nr(current);
	mutex_init(&file->lock);
	INIT_LIST_HEAD(&file->event_data);
	init_waitqueue_head(&file->wait);
	return file;
}

/*
 * -ENODEV  no card of that minor
 * -EIO     the card is lost
 */
static int file_open(struct inode *inode, struct file *filp)
{
	struct sim_card *card = NULL;
	struct sim_file *file;

	if (iminor(inode) != NV_MINOR_CTL) {
		card = sim_card_by_minor(iminor(inode));
		if (!card)
			return -ENODEV;
		if (READ_ONCE(card->lost) || sim_fault_before(SIM_SITE_OPEN, 0, card))
			return -EIO;
	}
	file = file_new(card, filp);
	if (!file)
		return -ENOMEM;
	filp->private_data = file;
	own_mapping(file, inode, filp);
	if (card)
		atomic_inc(&card->opens);
	atomic_inc(&sim_counts.opens);
	return 0;
}

/* ---- release ---- */

static void file_end(struct sim_file *file)
{
	sim_clients_destroy_owned(file);
	sim_events_forget_file(file);
	sim_exports_drop(file);
	if (file->context.valid)
		sim_memory_put(file->context.memory);
	if (file->tied)
		fput(file->tied);
	if (file->card)
		atomic_dec(&file->card->opens);
	mutex_destroy(&file->lock);
	kfree(file);
	atomic_dec(&sim_counts.opens);
}

static void late_close_work(struct work_struct *work)
{
	struct late_close *late = container_of(to_delayed_work(work), struct late_close, work);

	file_end(late->file);
	kfree(late);
	if (atomic_dec_and_test(&late_count))
		wake_up_all(&late_done);
}

static bool close_late(struct sim_file *file)
{
	unsigned int ms = READ_ONCE(sim_params.defer_close_ms);
	struct late_close *late;

	if (!ms || file->card)
		return false;
	late = kmalloc(sizeof(*late), GFP_KERNEL);
	if (!late)
		return false;
	late->file = file;
	INIT_DELAYED_WORK(&late->work, late_close_work);
	atomic_inc(&late_count);
	queue_delayed_work(late_closes, &late->work, msecs_to_jiffies(ms));
	return true;
}

static int file_release(struct inode *inode, struct file *filp)
{
	struct sim_file *file = filp->private_data;

	file->filp = NULL;
	file->mapping.host = NULL;
	filp->f_mapping = inode->i_mapping; /* ours may outlive the inode, or end before it */
	if (!close_late(file))
		file_end(file);
	return 0;
}

/* With O_NONBLOCK nobody is put to wait; a dataless event is seen once (nv.c, its poll). */
static __poll_t file_poll(struct file *filp, poll_table *wait)
{
	struct sim_file *file = filp->private_data;

	if (file->card && READ_ONCE(file->card->lost))
		return EPOLLHUP;
	if (!(filp->f_flags & O_NONBLOCK))
		poll_wait(filp, &file->wait, wait);
	return sim_event_poll(file) ? EPOLLPRI | EPOLLIN : 0;
}

const struct file_operations sim_file_ops = {
	.owner = THIS_MODULE,
	.open = file_open,
	.release = file_release,
	.unlocked_ioctl = sim_file_ioctl,
	.compat_ioctl = sim_file_ioctl,
	.mmap = sim_file_mmap,
	.poll = file_poll,
};

int sim_files_init(void)
{
	late_closes = alloc_workqueue("nvsim_close", WQ_UNBOUND, 0);
	return late_closes ? 0 : -ENOMEM;
}

/* No file is open any more, but the end of some may still be due. */
void sim_files_exit(void)
{
	wait_event(late_done, !atomic_read(&late_count));
	destroy_workqueue(late_closes);
}
