// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that neither our lists nor the driver know. A program newer than the driver makes them, and
 * whoever tries doors: each is counted for its tenant, and each number is listed in debugfs
 * (gpushare/unknown_calls: kind, number, how often) and told to the log once a load. The list is
 * short, so that nobody fills the log with it; what does not fit is the line "more".
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>

#include "gpushare.h"
#include "trace.h"

#define LISTED 64

struct number {
	enum gsh_unknown kind;
	u32 number;
	u64 count;
};

static struct number numbers[LISTED]; /* the first `listed`, in the order they were met */
static unsigned int listed;
static u64 more;
static DEFINE_SPINLOCK(lock); /* all three */
static struct dentry *folder;

static const char *const kinds[] = {
	[GSH_UNKNOWN_IOCTL] = "ioctl",
	[GSH_UNKNOWN_CONTROL] = "control",
	[GSH_UNKNOWN_UVM] = "managed-memory",
};

/* True for a number that is met for the first time and has got a line. */
static bool list(enum gsh_unknown kind, u32 number)
{
	unsigned int i;
	bool fresh;

	spin_lock(&lock);
	for (i = 0; i < listed; i++)
		if (numbers[i].kind == kind && numbers[i].number == number)
			break;
	fresh = i == listed && listed < LISTED;
	if (fresh) {
		numbers[i].kind = kind;
		numbers[i].number = number;
		listed++;
	}
	if (i < listed)
		numbers[i].count++;
	else
		more++;
	spin_unlock(&lock);
	return fresh;
}

void gsh_unknown_call(struct gsh_tenant *tenant, enum gsh_unknown kind, u32 nr, u32 number)
{
	atomic64_inc(&tenant->stats.refused_unknown);
	trace_gpushare_refuse(tenant, GSH_TRACE_UNKNOWN, nr, number, 0);
	if (list(kind, number))
		pr_notice("gpushare: unknown %s call %#x, refused\n", kinds[kind], number);
}

static int unknown_calls_show(struct seq_file *seq, void *unused)
{
	unsigned int i;

	spin_lock(&lock);
	for (i = 0; i < listed; i++)
		seq_printf(seq, "%s %#x %llu\n", kinds[numbers[i].kind], numbers[i].number,
			   numbers[i].count);
	seq_printf(seq, "more %llu\n", more);
	spin_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(unknown_calls);

int gsh_unknown_init(void)
{
	folder = debugfs_create_dir("gpushare", NULL);
	debugfs_create_file("unknown_calls", 0400, folder, NULL, &unknown_calls_fops);
	return 0;
}

void gsh_unknown_exit(void)
{
	debugfs_remove_recursive(folder);
}
