// SPDX-License-Identifier: GPL-2.0-only
/* The list of refusals. A fixed table: what does not fit is only counted. */

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>

#include "nvsim/nvsim.h"
#include "nvsim/refused.h"

#define ROWS 256

static struct row {
	enum sim_refused_kind kind;
	u32 number, size;
	u64 count;
} rows[ROWS];

static unsigned int used; /* lock, as rows and lost */
static u64 lost;
static DEFINE_SPINLOCK(lock);

static const char *const names[SIM_REFUSED_KINDS] = {
	[SIM_REFUSED_CONTROL] = "control", [SIM_REFUSED_SIZE] = "size",
	[SIM_REFUSED_OBJECT] = "object",   [SIM_REFUSED_CLASS] = "class",
	[SIM_REFUSED_ESCAPE] = "escape",   [SIM_REFUSED_UVM] = "uvm",
};

static struct row *find(enum sim_refused_kind kind, u32 number, u32 size)
{
	unsigned int i;

	for (i = 0; i < used; i++)
		if (rows[i].kind == kind && rows[i].number == number && rows[i].size == size)
			return &rows[i];
	if (used == ROWS)
		return NULL;
	rows[used] = (struct row){ .kind = kind, .number = number, .size = size };
	return &rows[used++];
}

void sim_refused(enum sim_refused_kind kind, u32 number, u32 size)
{
	unsigned long flags;
	struct row *row;

	spin_lock_irqsave(&lock, flags);
	row = find(kind, number, size);
	if (row)
		row->count++;
	else
		lost++;
	spin_unlock_irqrestore(&lock, flags);
}

static int refused_show(struct seq_file *seq, void *unused)
{
	unsigned int i;
	struct row row;

	for (i = 0; i < ROWS; i++) {
		spin_lock_irq(&lock);
		row = rows[i];
		spin_unlock_irq(&lock);
		if (!row.count)
			break;
		seq_printf(seq, "%s 0x%x size %u count %llu\n", names[row.kind], row.number,
			   row.size, row.count);
	}
	if (lost)
		seq_printf(seq, "others count %llu\n", lost);
	return 0;
}

static int refused_open(struct inode *inode, struct file *file)
{
	return single_open(file, refused_show, NULL);
}

static ssize_t refused_write(struct file *file, const char __user *from, size_t bytes, loff_t *at)
{
	spin_lock_irq(&lock);
	memset(rows, 0, sizeof(rows));
	used = 0;
	lost = 0;
	spin_unlock_irq(&lock);
	return bytes;
}

static const struct file_operations refused_fops = {
	.owner = THIS_MODULE,
	.open = refused_open,
	.read = seq_read,
	.write = refused_write,
	.llseek = seq_lseek,
	.release = single_release,
};

int sim_refused_init(void)
{
	debugfs_create_file("refused", 0600, sim_debugfs_root(), NULL, &refused_fops);
	return 0;
}
