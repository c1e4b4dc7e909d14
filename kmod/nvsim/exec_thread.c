// SPDX-License-Identifier: GPL-2.0-only
/* One thread a card: visits every channel, sleeps longer the less there is to do. */

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "nvsim/exec.h"

#define SLEEP_MIN_US   50 /* after work, and while something waits on a semaphore */
#define SLEEP_MAX_US   4000 /* after long silence */
#define STALL_MAX_US   500 /* longest sleep while a channel is in the middle of something */
#define LOAD_WINDOW_NS (NSEC_PER_SEC / 6)

static u64 time_base_ns;

/* The card's clock: set to the wall clock once, then runs freely. */
u64 sim_gpu_time_ns(void)
{
	return time_base_ns + ktime_get_ns();
}

/* Doorbells are memory: a ring leaves a word that is exchanged with 0. */
static bool doorbell_rang(struct sim_card *card)
{
	struct sim_doorbell *bell;
	bool rang = false;

	spin_lock(&sim_doorbell_lock);
	list_for_each_entry(bell, &sim_doorbells, link)
		if (bell->card == card && READ_ONCE(*bell->token))
			rang |= xchg(bell->token, 0) != 0;
	spin_unlock(&sim_doorbell_lock);
	return rang;
}

static void load_sample(struct sim_exec *exec)
{
	u64 now = ktime_get_ns(), span = now - exec->load.since_ns;

	if (span < LOAD_WINDOW_NS)
		return;
	exec->load.permille =
		min_t(u64, 1000, (exec->busy_ns - exec->load.busy_then_ns) * 1000 / span);
	exec->load.since_ns = now;
	exec->load.busy_then_ns = exec->busy_ns;
}

/* Returns whether any channel got on; *waiting: whether one is in the middle. */
static bool visit_channels(struct sim_exec *exec, bool *waiting)
{
	struct sim_channel *channel;
	bool progress = false;

	mutex_lock(&exec->lock);
	*waiting = false;
	list_for_each_entry(channel, &exec->channels, link) {
		progress |= sim_channel_run(channel);
		*waiting |= !sim_channel_is_idle(channel);
	}
	load_sample(exec);
	mutex_unlock(&exec->lock);
	return progress;
}

static unsigned int next_sleep(unsigned int sleep_us, bool progress, bool waiting)
{
	if (progress)
		return 0;
	if (!sleep_us)
		return SLEEP_MIN_US;
	return min(sleep_us + sleep_us / 4, waiting ? STALL_MAX_US : SLEEP_MAX_US);
}

/* A kick, such as a client asking for its interrupts, cuts the sleep short. */
static void sleep_for(struct sim_exec *exec, unsigned int sleep_us)
{
	ktime_t timeout = ns_to_ktime((u64)sleep_us * NSEC_PER_USEC);

	if (!sleep_us) {
		cond_resched();
		return;
	}
	set_current_state(TASK_IDLE);
	if (!READ_ONCE(exec->kicked) && !kthread_should_stop())
		schedule_hrtimeout_range(&timeout, sleep_us * 250, HRTIMER_MODE_REL);
	__set_current_state(TASK_RUNNING);
}

static int thread(void *data)
{
	struct sim_exec *exec = data;
	unsigned int sleep_us = SLEEP_MAX_US;
	bool progress, waiting;

	while (!kthread_should_stop()) {
		wait_event_idle(exec->wait,
				READ_ONCE(exec->channel_count) || kthread_should_stop());
		WRITE_ONCE(exec->kicked, false);
		progress = visit_channels(exec, &waiting);
		progress |= doorbell_rang(exec->card);
		sleep_us = next_sleep(sleep_us, progress, waiting);
		sleep_for(exec, sleep_us);
	}
	return 0;
}

void sim_exec_kick(struct sim_card *card)
{
	WRITE_ONCE(card->exec->kicked, true);
	wake_up(&card->exec->wait);
	wake_up_process(card->exec->task);
}

/* ---- ground truth ---- */

static int channels_show(struct seq_file *seq, void *unused)
{
	struct sim_card *card = seq->private;
	struct sim_exec *exec = card->exec;
	struct sim_channel *ch;

	mutex_lock(&exec->lock);
	seq_printf(seq, "busy_ns %llu\n", exec->busy_ns);
	list_for_each_entry(ch, &exec->channels, link)
		seq_printf(
			seq,
			"channel %u client 0x%x handle 0x%x scheduled %d disabled %d stopped %d xid %u fault 0x%llx get %u put %u entries %llu launches %llu copied %llu busy_ns %llu method 0x%x/%u\n",
			ch->id, ch->object->client->handle, ch->object->handle, ch->scheduled,
			ch->disabled, ch->stopped, ch->xid, ch->fault_va, ch->at,
			READ_ONCE(*ch->put), ch->entries_done, ch->launches, ch->copied_bytes,
			ch->busy_ns, ch->push.method, ch->push.subchannel);
	mutex_unlock(&exec->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(channels);

/* ---- life ---- */

int sim_exec_card_start(struct sim_card *card)
{
	struct sim_exec *exec = kzalloc(sizeof(*exec), GFP_KERNEL);

	if (!exec)
		return -ENOMEM;
	if (!time_base_ns)
		time_base_ns = ktime_get_real_ns() - ktime_get_ns();
	exec->card = card;
	exec->next_id = 1;
	exec->load.since_ns = ktime_get_ns();
	mutex_init(&exec->lock);
	INIT_LIST_HEAD(&exec->channels);
	init_waitqueue_head(&exec->wait);
	card->exec = exec;
	exec->task = kthread_run(thread, exec, "nvsim%u", card->index);
	if (IS_ERR(exec->task)) {
		int err = PTR_ERR(exec->task);

		card->exec = NULL;
		kfree(exec);
		return err;
	}
	debugfs_create_file("channels", 0400, sim_debugfs_card(card), card, &channels_fops);
	return 0;
}

void sim_exec_card_stop(struct sim_card *card)
{
	struct sim_exec *exec = card->exec;

	if (!exec)
		return;
	debugfs_lookup_and_remove("channels", sim_debugfs_card(card));
	kthread_stop(exec->task);
	WARN_ON(!list_empty(&exec->channels));
	mutex_destroy(&exec->lock);
	kfree(exec);
	card->exec = NULL;
}
