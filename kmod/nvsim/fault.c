// SPDX-License-Identifier: GPL-2.0
/*
 * Faults on demand: debugfs nvsim/faults. One rule a line written:
 *   fail SITE [number=N] [nth=N] [times=N] status=S    answer S instead of acting, once or N times
 *   fail SITE [number=N] percent=P status=S            now and then
 *   delay SITE [number=N] ms=N [when=before|after]     sleep a random 0 to N ms
 *   hang SITE [number=N] [when=before|after]           wait for "release" (killable)
 *   lose CARD, find CARD                               the card answers 0x0f, or again
 *   release, clear                                     let hanging calls go; forget rules
 * SITE: alloc free control vidheap map dup uvm kernel_op open. "after": the call has acted, its
 * answer has not reached the caller. Reading shows the rules and how often each was met.
 */

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/module.h>

#include "nvsim/internal.h"

enum kind { FAIL, DELAY, HANG };

struct rule {
	struct list_head link;
	enum kind kind;
	enum sim_fault_site site;
	u32 number; /* 0: any */
	u32 nth, times, status, ms;
	u32 percent; /* 0: each time */
	bool after;
	u32 met;
};

static const char *const sites[SIM_SITE_COUNT] = {
	[SIM_SITE_ALLOC] = "alloc",     [SIM_SITE_FREE] = "free",
	[SIM_SITE_CONTROL] = "control", [SIM_SITE_VID_HEAP] = "vidheap",
	[SIM_SITE_MAP] = "map",         [SIM_SITE_DUP] = "dup",
	[SIM_SITE_UVM] = "uvm",         [SIM_SITE_KERNEL_OP] = "kernel_op",
	[SIM_SITE_OPEN] = "open",
};
static const char *const kinds[] = { [FAIL] = "fail", [DELAY] = "delay", [HANG] = "hang" };

static LIST_HEAD(rules);
static DEFINE_SPINLOCK(rules_lock);
static unsigned int releases; /* rules_lock; hanging calls wait for it to change */
static DECLARE_WAIT_QUEUE_HEAD(hanging);

/* ---- at the call ---- */

struct verdict {
	u32 status, ms;
	bool hang;
	unsigned int seen; /* releases */
};

static void meet(struct rule *rule, struct verdict *verdict)
{
	rule->met++;
	if (rule->met < rule->nth || rule->met - rule->nth >= rule->times)
		return;
	if (rule->percent && get_random_u32() % 100 >= rule->percent)
		return;
	if (rule->kind == FAIL)
		verdict->status = rule->status;
	else if (rule->kind == DELAY)
		verdict->ms = max(verdict->ms, rule->ms);
	else
		verdict->hang = true;
}

static struct verdict judge(enum sim_fault_site site, u32 number, bool after)
{
	struct verdict verdict = { 0 };
	struct rule *rule;

	if (list_empty(&rules)) /* the usual case, without the lock */
		return verdict;
	spin_lock(&rules_lock);
	list_for_each_entry(rule, &rules, link)
		if (rule->site == site && rule->after == after &&
		    (!rule->number || rule->number == number))
			meet(rule, &verdict);
	verdict.seen = releases;
	spin_unlock(&rules_lock);
	return verdict;
}

static void carry_out(const struct verdict *verdict)
{
	if (verdict->ms)
		fsleep(get_random_u32() % (verdict->ms * 1000 + 1));
	if (verdict->hang)
		wait_event_killable(hanging, READ_ONCE(releases) != verdict->seen);
}

u32 sim_fault_before(enum sim_fault_site site, u32 number, struct sim_card *card)
{
	struct verdict verdict = judge(site, number, false);

	carry_out(&verdict);
	if (card && READ_ONCE(card->lost))
		return NV_ERR_GPU_IS_LOST;
	return verdict.status;
}

void sim_fault_after(enum sim_fault_site site, u32 number)
{
	struct verdict verdict = judge(site, number, true);

	carry_out(&verdict);
}

/* ---- rules ---- */

static void rules_clear(void)
{
	struct rule *rule, *next;

	spin_lock(&rules_lock);
	list_for_each_entry_safe(rule, next, &rules, link) {
		list_del(&rule->link);
		kfree(rule);
	}
	spin_unlock(&rules_lock);
}

static void release_all(void)
{
	spin_lock(&rules_lock);
	releases++;
	spin_unlock(&rules_lock);
	wake_up_all(&hanging);
}

static int set_option(struct rule *rule, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	if (!strcmp(word, "when")) {
		rule->after = !strcmp(value, "after");
		return rule->after || !strcmp(value, "before") ? 0 : -EINVAL;
	}
	if (!strcmp(word, "number"))
		return kstrtou32(value, 0, &rule->number);
	if (!strcmp(word, "nth"))
		return kstrtou32(value, 0, &rule->nth);
	if (!strcmp(word, "times"))
		return kstrtou32(value, 0, &rule->times);
	if (!strcmp(word, "status"))
		return kstrtou32(value, 0, &rule->status);
	if (!strcmp(word, "ms"))
		return kstrtou32(value, 0, &rule->ms);
	if (!strcmp(word, "percent")) {
		rule->times = U32_MAX;
		return kstrtou32(value, 0, &rule->percent);
	}
	return -EINVAL;
}

static int rule_parse(struct rule *rule, int kind, char *words)
{
	char *word = strsep(&words, " ");
	int site = word ? match_string(sites, ARRAY_SIZE(sites), word) : -EINVAL;
	int err = 0;

	rule->kind = kind;
	rule->site = site;
	rule->nth = 1;
	rule->times = kind == FAIL ? 1 : U32_MAX;
	while (site >= 0 && !err && (word = strsep(&words, " ")))
		err = *word ? set_option(rule, word) : 0;
	if (site < 0 || err || !rule->nth || (kind == FAIL && !rule->status) ||
	    (kind == DELAY && rule->ms > 60000))
		return -EINVAL;
	return 0;
}

static int rule_add(int kind, char *words)
{
	struct rule *rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	int err;

	if (!rule)
		return -ENOMEM;
	err = rule_parse(rule, kind, words);
	if (err) {
		kfree(rule);
		return err;
	}
	spin_lock(&rules_lock);
	list_add_tail(&rule->link, &rules);
	spin_unlock(&rules_lock);
	return 0;
}

static int card_set_lost(const char *text, bool lost)
{
	struct sim_card *card;
	u32 index;

	if (!text || kstrtou32(text, 0, &index))
		return -EINVAL;
	card = sim_card_by_instance(index);
	if (!card)
		return -ENODEV;
	WRITE_ONCE(card->lost, lost);
	return 0;
}

static int command(char *line)
{
	char *words = strim(line);
	char *word = strsep(&words, " ");
	int kind = match_string(kinds, ARRAY_SIZE(kinds), word);

	if (kind >= 0)
		return rule_add(kind, words);
	if (!strcmp(word, "release"))
		release_all();
	else if (!strcmp(word, "clear"))
		rules_clear();
	else if (!strcmp(word, "lose"))
		return card_set_lost(words, true);
	else if (!strcmp(word, "find"))
		return card_set_lost(words, false);
	else
		return -EINVAL;
	return 0;
}

/* ---- debugfs ---- */

static int faults_show(struct seq_file *seq, void *unused)
{
	struct rule *rule;

	spin_lock(&rules_lock);
	list_for_each_entry(rule, &rules, link)
		seq_printf(
			seq,
			"%s %s number=0x%x nth=%u times=%u status=0x%x percent=%u ms=%u when=%s met=%u\n",
			kinds[rule->kind], sites[rule->site], rule->number, rule->nth, rule->times,
			rule->status, rule->percent, rule->ms, rule->after ? "after" : "before",
			rule->met);
	spin_unlock(&rules_lock);
	return 0;
}

static int faults_open(struct inode *inode, struct file *filp)
{
	return single_open(filp, faults_show, NULL);
}

static ssize_t faults_write(struct file *filp, const char __user *from, size_t bytes, loff_t *at)
{
	char *line;
	int err;

	if (bytes > 256)
		return -E2BIG;
	line = memdup_user_nul(from, bytes);
	if (IS_ERR(line))
		return PTR_ERR(line);
	err = command(line);
	kfree(line);
	return err ?: bytes;
}

static const struct file_operations faults_ops = {
	.owner = THIS_MODULE,
	.open = faults_open,
	.read = seq_read,
	.write = faults_write,
	.llseek = seq_lseek,
	.release = single_release,
};

int sim_fault_init(void)
{
	debugfs_create_file("faults", 0600, sim_debugfs_root(), NULL, &faults_ops);
	return 0;
}

void sim_fault_exit(void)
{
	release_all();
	rules_clear();
}
