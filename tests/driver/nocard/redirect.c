// SPDX-License-Identifier: GPL-2.0
/*
 * A function of the driver, answered by one of ours: a kprobe at its entry
 * sets the instruction pointer, so ours runs with the same arguments in the
 * caller's own context and may sleep. The genuine one is still there for ours
 * to call; while a task is inside, the probe lets it through.
 */
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "nocard.h"

static DEFINE_RAW_SPINLOCK(inside_lock);
static LIST_HEAD(inside_list); /* inside_lock */

void nc_inside_begin(struct nc_inside *inside)
{
	unsigned long flags;

	inside->task = current;
	raw_spin_lock_irqsave(&inside_lock, flags);
	list_add(&inside->link, &inside_list);
	raw_spin_unlock_irqrestore(&inside_lock, flags);
}

void nc_inside_end(struct nc_inside *inside)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&inside_lock, flags);
	list_del(&inside->link);
	raw_spin_unlock_irqrestore(&inside_lock, flags);
}

static bool is_inside(void)
{
	struct nc_inside *inside;
	unsigned long flags;
	bool found = false;

	raw_spin_lock_irqsave(&inside_lock, flags);
	list_for_each_entry(inside, &inside_list, link)
		found |= inside->task == current;
	raw_spin_unlock_irqrestore(&inside_lock, flags);
	return found;
}

static int enter(struct kprobe *probe, struct pt_regs *regs)
{
	struct nc_redirect *redirect = container_of(probe, struct nc_redirect, probe);

	if (is_inside())
		return 0;
	instruction_pointer_set(regs, (unsigned long)redirect->target);
	return 1;
}

/* One that exists keeps the probe from being optimised into a jump, which would not look
 * at the changed instruction pointer (Documentation/trace/kprobes.rst). */
static void after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

int nc_redirect_add(struct nc_redirect *redirect)
{
	int err;

	redirect->probe = (struct kprobe){
		.symbol_name = redirect->symbol,
		.pre_handler = enter,
		.post_handler = after,
	};
	err = register_kprobe(&redirect->probe);
	if (!err)
		redirect->genuine = redirect->probe.addr;
	return err;
}

void nc_redirect_del(struct nc_redirect *redirect)
{
	if (!redirect->genuine)
		return;
	unregister_kprobe(&redirect->probe);
	redirect->genuine = NULL;
}
