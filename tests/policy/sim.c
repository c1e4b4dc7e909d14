// SPDX-License-Identifier: GPL-2.0-only
/*
 * One engine, many tenants, events in virtual time: drives kmod/core/policy.c as the
 * module would, with what calls, switches and launches cost. What it says a tenant got is
 * its own count, not the policy's.
 *
 * To take the engine from one tenant and give it to another takes two calls: the old one
 * runs on while the first is made, and to the end of a launch that cannot be cut; nobody
 * runs during the second. The switch in is paid by the newcomer.
 */
#include <stdlib.h>
#include <time.h>

#include "core/policy.h"

struct sim_tenant {
	u32 min_permille, max_permille, weight, priority;
	u64 launch_ns; /* of each launch that cannot be cut; 0: all can */
	const u64 *toggles; /* when it wants the engine, and no more, in turn; rising */
	u32 toggle_count;
	/* answers */
	u32 windows;
	u64 ran_ns, wanted_ns, throttled_ns, waited_ns, worst_latency_ns;
	u64 *bins; /* NULL, or what it ran in each bin_ns */
};

struct sim {
	u64 call_ns, switch_ns, window_ns, period_ns, debt_ns, end_ns, bin_ns;
	u32 floor_permille;
	u32 tenant_count;
	struct sim_tenant *tenants;
	/* answers */
	u64 lost_ns; /* somebody wanted, nobody ran: calls */
	u64 unused_ns; /* somebody was allowed, and the policy chose nobody */
	u64 decisions, switches;
};

struct load {
	struct gsh_policy_share share;
	struct sim_tenant *is;
	u32 next_toggle;
	u64 woken_ns, launched_ns; /* of the launch that runs */
	bool waits; /* woken, and has not run since */
};

struct run {
	struct sim *sim;
	struct gsh_policy *policy;
	struct load *loads;
	struct load *current; /* who has the engine */
	u64 now_ns;
};

static void count_bins(const struct sim *sim, struct sim_tenant *tenant, u64 from_ns, u64 to_ns)
{
	while (tenant->bins && from_ns < to_ns && from_ns < sim->end_ns) {
		u64 bin = from_ns / sim->bin_ns, bin_end_ns = (bin + 1) * sim->bin_ns;
		u64 stop_ns = GSH_MIN(GSH_MIN(to_ns, bin_end_ns), sim->end_ns);

		tenant->bins[bin] += stop_ns - from_ns;
		from_ns = stop_ns;
	}
}

static void occupy(struct run *r, struct load *load, u64 to_ns)
{
	u64 ran_ns = to_ns - r->now_ns;

	count_bins(r->sim, load->is, r->now_ns, to_ns);
	load->is->ran_ns += ran_ns;
	r->now_ns = to_ns;
	gsh_policy_ran(r->policy, &load->share, ran_ns, to_ns);
}

/* The end of the launch that runs at a time. */
static u64 launch_end(const struct load *load, u64 at_ns)
{
	u64 launch_ns = load->is->launch_ns, into_ns;

	if (!launch_ns)
		return at_ns;
	into_ns = (at_ns - load->launched_ns) % launch_ns;
	return into_ns ? at_ns + launch_ns - into_ns : at_ns;
}

static void toggle(struct run *r, struct load *load)
{
	u64 at_ns = load->is->toggles[load->next_toggle];

	if (load->next_toggle++ % 2 == 0) {
		load->woken_ns = at_ns;
		load->waits = true;
		gsh_policy_wake(r->policy, &load->share, r->now_ns);
		return;
	}
	load->is->wanted_ns += at_ns - load->woken_ns;
	load->waits = false;
	gsh_policy_sleep(r->policy, &load->share, r->now_ns);
	if (r->current == load)
		r->current = NULL;
}

static u64 next_toggle_ns(const struct load *load)
{
	return load->next_toggle < load->is->toggle_count ? load->is->toggles[load->next_toggle] :
							    GSH_POLICY_NEVER;
}

/* All that is due; returns when the next is. */
static u64 toggles(struct run *r)
{
	u64 next_ns = GSH_POLICY_NEVER;
	u32 i;

	for (i = 0; i < r->sim->tenant_count; i++) {
		while (next_toggle_ns(&r->loads[i]) <= r->now_ns)
			toggle(r, &r->loads[i]);
		next_ns = GSH_MIN(next_ns, next_toggle_ns(&r->loads[i]));
	}
	return next_ns;
}

static bool anybody_allowed(const struct run *r)
{
	u32 i;

	for (i = 0; i < r->sim->tenant_count; i++)
		if (r->loads[i].share.active && r->loads[i].share.held_until_ns <= r->now_ns)
			return true;
	return false;
}

static void take_away(struct run *r)
{
	struct load *old = r->current;

	r->current = NULL;
	if (old)
		occupy(r, old, launch_end(old, r->now_ns + r->sim->call_ns));
}

static void give(struct run *r, struct load *load)
{
	r->sim->lost_ns += r->sim->call_ns;
	r->sim->switches++;
	r->now_ns += r->sim->call_ns;
	load->launched_ns = r->now_ns + r->sim->switch_ns;
	if (load->waits) {
		u64 latency_ns = load->launched_ns - load->woken_ns;

		if (latency_ns > load->is->worst_latency_ns)
			load->is->worst_latency_ns = latency_ns;
		load->waits = false;
	}
	load->is->windows++;
	r->current = load;
	if (r->sim->switch_ns)
		occupy(r, load, load->launched_ns);
}

static void step(struct run *r)
{
	u64 next_ns = toggles(r), stop_ns;
	struct gsh_policy_choice choice = gsh_policy_choose(r->policy, r->now_ns);
	struct load *chosen = choice.share ? (struct load *)choice.share : NULL;

	r->sim->decisions++;
	if (r->current && r->current != chosen) {
		take_away(r);
		return; /* what was chosen may have changed meanwhile */
	}
	stop_ns = GSH_MIN(GSH_MIN(choice.until_ns, next_ns), r->sim->end_ns);
	if (!chosen) {
		if (stop_ns <= r->now_ns)
			stop_ns = r->now_ns + 1;
		if (anybody_allowed(r))
			r->sim->unused_ns += stop_ns - r->now_ns;
		r->now_ns = stop_ns;
		return;
	}
	if (!r->current)
		give(r, chosen);
	else if (stop_ns > r->now_ns)
		occupy(r, chosen, stop_ns);
}

static void finish(struct run *r)
{
	u32 i;

	for (i = 0; i < r->sim->tenant_count; i++) {
		struct load *load = &r->loads[i];

		if (load->share.active)
			load->is->wanted_ns += r->now_ns - load->woken_ns;
		gsh_policy_sleep(r->policy, &load->share, r->now_ns);
		load->is->throttled_ns = load->share.throttled_ns;
		load->is->waited_ns = load->share.waited_ns;
	}
}

/* 0; -EINVAL: a tenant's figures; -ENOMEM. */
int sim_run(struct sim *sim)
{
	struct run r = { .sim = sim };
	int err = -ENOMEM;
	u32 i;

	r.policy = calloc(1, sizeof(*r.policy));
	r.loads = calloc(sim->tenant_count, sizeof(*r.loads));
	if (!r.policy || !r.loads)
		goto out;
	gsh_policy_init(r.policy, sim->window_ns, sim->period_ns, sim->debt_ns,
			sim->floor_permille);
	for (i = 0; i < sim->tenant_count; i++) {
		struct sim_tenant *t = &sim->tenants[i];

		r.loads[i].is = t;
		err = gsh_policy_share_init(r.policy, &r.loads[i].share, t->min_permille,
					    t->max_permille, t->weight, t->priority);
		if (err)
			goto out;
	}
	while (r.now_ns < sim->end_ns)
		step(&r);
	sim->end_ns = r.now_ns;
	finish(&r);
	err = 0;
out:
	free(r.policy);
	free(r.loads);
	return err;
}

/* ---- what deciding costs ---- */

static u64 thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

/* Thread time of so many windows, each one decision and the account of what ran, with
 * so many shares wanting the engine: half of them with a guarantee. 0: no memory. */
u64 decide_cost_ns(u32 shares, u32 windows)
{
	struct gsh_policy *policy = calloc(1, sizeof(*policy));
	struct gsh_policy_share *share = calloc(shares, sizeof(*share));
	u64 now_ns = 1000000000u, begun_ns, spent_ns = 0;
	u32 i;

	if (!policy || !share)
		goto out;
	gsh_policy_init(policy, 10000000, 100000000, 10000000000ull, 10);
	for (i = 0; i < shares; i++) {
		gsh_policy_share_init(policy, &share[i], i % 2 ? 1000 / shares : 0, 1000,
				      1 + i % 100, i % GSH_POLICY_PRIORITIES);
		gsh_policy_wake(policy, &share[i], now_ns);
	}
	begun_ns = thread_ns();
	for (i = 0; i < windows; i++) {
		struct gsh_policy_choice choice = gsh_policy_choose(policy, now_ns);

		now_ns += 10000000;
		gsh_policy_ran(policy, choice.share, 10000000, now_ns);
	}
	spent_ns = thread_ns() - begun_ns;
out:
	free(policy);
	free(share);
	return spent_ns;
}

/* ---- the heaps, for random operations from Python ---- */

struct box {
	struct gsh_policy policy;
	struct gsh_policy_share shares[64];
};

struct box *box_new(u64 window_ns, u64 period_ns, u64 debt_ns, u32 floor_permille)
{
	struct box *box = calloc(1, sizeof(*box));

	gsh_policy_init(&box->policy, window_ns, period_ns, debt_ns, floor_permille);
	return box;
}

void box_free(struct box *box)
{
	free(box);
}

struct gsh_policy *box_policy(struct box *box)
{
	return &box->policy;
}

struct gsh_policy_share *box_share(struct box *box, u32 i)
{
	return &box->shares[i];
}

/* Who has the engine: an index, -1 for nobody. */
int box_choose(struct box *box, u64 now_ns, u32 *reason, u64 *until_ns)
{
	struct gsh_policy_choice choice = gsh_policy_choose(&box->policy, now_ns);

	*reason = choice.reason;
	*until_ns = choice.until_ns;
	return choice.share ? (int)(choice.share - box->shares) : -1;
}

/* Every share is where its marks say, and no parent comes after its child. */
bool box_sound(const struct box *box)
{
	const struct gsh_policy *p = &box->policy;
	u32 heap, at;

	for (heap = 0; heap < GSH_HEAPS; heap++)
		for (at = 1; at <= p->count[heap]; at++)
			if (p->heap[heap][at]->at[heap] != at || !p->heap[heap][at]->active ||
			    (at > 1 && gsh_policy_before(heap, p->heap[heap][at],
							 p->heap[heap][at / 2])))
				return false;
	return true;
}
