// SPDX-License-Identifier: GPL-2.0
#include "core/policy.h"

/* Windows in a round at most; who has less than its part of one has a turn in some only. */
#define ROUND_WINDOWS 10
#define WEIGHT_UNIT   100u /* weighted time passes as real time at this weight */

/* ---- heaps: intrusive, so that a share leaves from the middle in O(log n) ---- */

static bool higher(const struct gsh_policy_share *a, const struct gsh_policy_share *b, u64 key_a,
		   u64 key_b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	return key_a != key_b ? key_a < key_b : a->last_ran_ns < b->last_ran_ns;
}

bool gsh_policy_before(enum gsh_policy_heap heap, const struct gsh_policy_share *a,
		       const struct gsh_policy_share *b)
{
	switch (heap) {
	case GSH_HEAP_HELD:
		return a->held_until_ns < b->held_until_ns;
	case GSH_HEAP_EARLY:
		return a->due_ns < b->due_ns;
	case GSH_HEAP_DUE:
		return higher(a, b, a->last_ran_ns, b->last_ran_ns);
	case GSH_HEAP_EXTRA:
		return higher(a, b, a->weighted_ns, b->weighted_ns);
	default:
		return a->last_ran_ns < b->last_ran_ns;
	}
}

static void place(struct gsh_policy *p, enum gsh_policy_heap heap, u32 at,
		  struct gsh_policy_share *share)
{
	p->heap[heap][at] = share;
	share->at[heap] = at;
}

static void sift_up(struct gsh_policy *p, enum gsh_policy_heap heap, u32 at,
		    struct gsh_policy_share *share)
{
	while (at > 1 && gsh_policy_before(heap, share, p->heap[heap][at / 2])) {
		place(p, heap, at, p->heap[heap][at / 2]);
		at /= 2;
	}
	place(p, heap, at, share);
}

static void sift_down(struct gsh_policy *p, enum gsh_policy_heap heap, u32 at,
		      struct gsh_policy_share *share)
{
	u32 count = p->count[heap], child;

	for (; (child = 2 * at) <= count; at = child) {
		if (child < count &&
		    gsh_policy_before(heap, p->heap[heap][child + 1], p->heap[heap][child]))
			child++;
		if (!gsh_policy_before(heap, p->heap[heap][child], share))
			break;
		place(p, heap, at, p->heap[heap][child]);
	}
	place(p, heap, at, share);
}

static void enter(struct gsh_policy *p, enum gsh_policy_heap heap, struct gsh_policy_share *share)
{
	sift_up(p, heap, ++p->count[heap], share);
}

static void leave(struct gsh_policy *p, enum gsh_policy_heap heap, struct gsh_policy_share *share)
{
	u32 at = share->at[heap];
	struct gsh_policy_share *last;

	if (!at)
		return;
	share->at[heap] = 0;
	last = p->heap[heap][p->count[heap]--];
	if (last == share)
		return;
	if (at > 1 && gsh_policy_before(heap, last, p->heap[heap][at / 2]))
		sift_up(p, heap, at, last);
	else
		sift_down(p, heap, at, last);
}

static struct gsh_policy_share *first(const struct gsh_policy *p, enum gsh_policy_heap heap)
{
	return p->count[heap] ? p->heap[heap][1] : NULL;
}

static void leave_all(struct gsh_policy *p, struct gsh_policy_share *share)
{
	int heap;

	for (heap = 0; heap < GSH_HEAPS; heap++)
		leave(p, heap, share);
}

/* Where it belongs, by its numbers. A share that is held is nowhere else. */
static void seat(struct gsh_policy *p, struct gsh_policy_share *share, u64 now_ns)
{
	leave_all(p, share);
	if (!share->active)
		return;
	if (share->held_until_ns > now_ns) {
		enter(p, GSH_HEAP_HELD, share);
		return;
	}
	enter(p, GSH_HEAP_EXTRA, share);
	if (!share->min_permille)
		enter(p, GSH_HEAP_FLOOR, share);
	else
		enter(p, share->due_ns > now_ns ? GSH_HEAP_EARLY : GSH_HEAP_DUE, share);
}

/* ---- the guarantees that are wanted, by size ---- */

static void want_min(struct gsh_policy *p, u32 permille)
{
	if (!p->wanting_min[permille]++)
		p->any_min[permille / 64] |= 1ull << permille % 64;
}

static void unwant_min(struct gsh_policy *p, u32 permille)
{
	if (!--p->wanting_min[permille])
		p->any_min[permille / 64] &= ~(1ull << permille % 64);
}

/* 0: none. Those without a guarantee are counted under 0, and passed over. */
static u32 smallest_min(const struct gsh_policy *p)
{
	u64 word = p->any_min[0] & ~1ull;
	u32 i = 0;

	while (!word && ++i < GSH_ARRAY_SIZE(p->any_min))
		word = p->any_min[i];
	return word ? 64 * i + (u32)__builtin_ctzll(word) : 0;
}

/* ---- statistics ---- */

static void account_waiting(struct gsh_policy *p, struct gsh_policy_share *share, u64 now_ns)
{
	u64 since_ns = share->since_ns, held_ns = 0;

	share->since_ns = now_ns;
	if (!share->active || share == p->running || now_ns <= since_ns)
		return;
	if (share->held_until_ns > since_ns)
		held_ns = GSH_MIN(share->held_until_ns, now_ns) - since_ns;
	share->throttled_ns += held_ns;
	share->waited_ns += now_ns - since_ns - held_ns;
}

/* ---- shares ---- */

void gsh_policy_init(struct gsh_policy *p, u64 window_ns, u64 period_ns, u64 debt_ns,
		     u32 floor_permille)
{
	memset(p, 0, sizeof(*p));
	p->window_ns = window_ns;
	p->period_ns = period_ns;
	p->debt_ns = debt_ns;
	p->floor_permille = floor_permille;
}

static int check(u32 min_permille, u32 max_permille, u32 weight, u32 priority)
{
	if (!max_permille || max_permille > 1000 || min_permille > max_permille || !weight ||
	    weight > GSH_POLICY_WEIGHT_MAX || priority >= GSH_POLICY_PRIORITIES)
		return -EINVAL;
	return 0;
}

int gsh_policy_share_init(struct gsh_policy *p, struct gsh_policy_share *share, u32 min_permille,
			  u32 max_permille, u32 weight, u32 priority)
{
	int err = check(min_permille, max_permille, weight, priority);

	if (err)
		return err;
	memset(share, 0, sizeof(*share));
	share->min_permille = min_permille;
	share->max_permille = max_permille;
	share->weight = weight;
	share->priority = priority;
	p->min_sum_permille += min_permille;
	return 0;
}

/* What is still to come of a debt or a lead, at the new rate: as long as before in
 * engine time, not in wall time. */
static u64 rescale(u64 at_ns, u64 now_ns, u32 old_permille, u32 new_permille)
{
	u64 ahead_ns = at_ns > now_ns ? at_ns - now_ns : 0;

	if (!ahead_ns || !new_permille)
		return GSH_MIN(at_ns, now_ns);
	return now_ns + div_u64(ahead_ns * old_permille, new_permille);
}

int gsh_policy_set(struct gsh_policy *p, struct gsh_policy_share *share, u32 min_permille,
		   u32 max_permille, u32 weight, u32 priority, u64 now_ns)
{
	int err = check(min_permille, max_permille, weight, priority);

	if (err)
		return err;
	account_waiting(p, share, now_ns);
	leave_all(p, share);
	if (share->active) {
		unwant_min(p, share->min_permille);
		want_min(p, min_permille);
	}
	share->due_ns = share->min_permille ?
				rescale(share->due_ns, now_ns, share->min_permille, min_permille) :
				now_ns;
	share->held_until_ns =
		rescale(share->held_until_ns, now_ns, share->max_permille, max_permille);
	p->min_sum_permille += min_permille - share->min_permille;
	if (priority != share->priority)
		share->weighted_ns = p->weighted_ns[priority];
	share->min_permille = min_permille;
	share->max_permille = max_permille;
	share->weight = weight;
	share->priority = priority;
	seat(p, share, now_ns);
	return 0;
}

void gsh_policy_share_remove(struct gsh_policy *p, struct gsh_policy_share *share, u64 now_ns)
{
	gsh_policy_sleep(p, share, now_ns);
	p->min_sum_permille -= share->min_permille;
}

static u32 wanting(const struct gsh_policy *p)
{
	return p->count[GSH_HEAP_HELD] + p->count[GSH_HEAP_EXTRA];
}

int gsh_policy_wake(struct gsh_policy *p, struct gsh_policy_share *share, u64 now_ns)
{
	if (share->active)
		return 0;
	if (wanting(p) == GSH_POLICY_SHARES_MAX)
		return -ENOSPC;
	account_waiting(p, share, now_ns);
	share->active = true;
	want_min(p, share->min_permille);
	if (share->due_ns < now_ns) /* not wanted: not banked */
		share->due_ns = now_ns;
	if (share->held_until_ns < now_ns)
		share->held_until_ns = now_ns;
	if (share->weighted_ns < p->weighted_ns[share->priority])
		share->weighted_ns = p->weighted_ns[share->priority];
	if (!share->min_permille && !p->count[GSH_HEAP_FLOOR] && p->floor_due_ns < now_ns)
		p->floor_due_ns = now_ns;
	seat(p, share, now_ns);
	if (p->ends_ns != GSH_POLICY_NEVER && p->ends_ns > p->began_ns + p->window_ns)
		p->ends_ns = p->began_ns + p->window_ns;
	return 0;
}

void gsh_policy_sleep(struct gsh_policy *p, struct gsh_policy_share *share, u64 now_ns)
{
	if (!share->active)
		return;
	account_waiting(p, share, now_ns);
	share->active = false;
	unwant_min(p, share->min_permille);
	leave_all(p, share);
	if (p->running == share)
		p->running = NULL;
}

/* Owed for owed_ns at most, and owing for lead_ns. A lead that is there stays. */
static u64 pushed(u64 at_ns, u64 by_ns, u64 owed_ns, u64 lead_ns, u64 now_ns)
{
	u64 oldest_ns = now_ns > owed_ns ? now_ns - owed_ns : 0, next_ns;

	if (at_ns < oldest_ns)
		at_ns = oldest_ns;
	next_ns = GSH_MIN(at_ns + by_ns, now_ns + lead_ns);
	return next_ns > at_ns ? next_ns : at_ns;
}

static u64 divided(u64 ran_ns, u32 by, u32 unit)
{
	return by ? div_u64(ran_ns * unit, by) : 0;
}

/* How much of a run came after its window: a launch that could not be cut. */
static u64 overrun(const struct gsh_policy *p, const struct gsh_policy_share *share, u64 ran_ns,
		   u64 now_ns)
{
	u64 over_ns = p->running == share && now_ns > p->ends_ns ? now_ns - p->ends_ns : 0;

	return p->running == share ? GSH_MIN(over_ns, ran_ns) : ran_ns;
}

/* What is left, and taken, counts towards this period only. */
static u64 longest_lead(const struct gsh_policy *p, const struct gsh_policy_share *share)
{
	return p->running == share && p->reason == GSH_RUN_EXTRA ? p->period_ns : p->debt_ns;
}

static void push_guarantee(const struct gsh_policy *p, struct gsh_policy_share *share, u64 ran_ns,
			   u64 over_ns, u64 now_ns)
{
	share->due_ns = pushed(share->due_ns, divided(ran_ns - over_ns, share->min_permille, 1000),
			       p->debt_ns, longest_lead(p, share), now_ns);
	share->due_ns = pushed(share->due_ns, divided(over_ns, share->min_permille, 1000),
			       p->debt_ns, p->debt_ns, now_ns);
}

/* Extra is shared by what was had of extra: a guarantee is not held against anyone. */
static void push_weighted(struct gsh_policy *p, struct gsh_policy_share *share, u64 ran_ns)
{
	u64 window_ns = GSH_MIN(ran_ns, p->window_ns), waiting_ns;

	if (share != p->running || p->reason != GSH_RUN_EXTRA)
		return;
	share->weighted_ns += divided(ran_ns, share->weight, WEIGHT_UNIT);
	waiting_ns = share->weighted_ns - divided(window_ns, share->weight, WEIGHT_UNIT);
	if (p->weighted_ns[share->priority] < waiting_ns)
		p->weighted_ns[share->priority] = waiting_ns;
}

void gsh_policy_ran(struct gsh_policy *p, struct gsh_policy_share *share, u64 ran_ns, u64 now_ns)
{
	leave_all(p, share);
	share->ran_ns += ran_ns;
	share->last_ran_ns = now_ns;
	share->since_ns = now_ns;
	share->held_until_ns = pushed(share->held_until_ns,
				      divided(ran_ns, share->max_permille, 1000), p->debt_ns,
				      p->debt_ns, now_ns);
	push_guarantee(p, share, ran_ns, overrun(p, share, ran_ns, now_ns), now_ns);
	push_weighted(p, share, ran_ns);
	if (!share->min_permille)
		p->floor_due_ns = pushed(p->floor_due_ns, divided(ran_ns, p->floor_permille, 1000),
					 p->period_ns, longest_lead(p, share), now_ns);
	seat(p, share, now_ns);
}

/* ---- the decision ---- */

/* Whose time has come moves on. Each move was paid for by a run that put it there. */
static void advance(struct gsh_policy *p, u64 now_ns)
{
	struct gsh_policy_share *share;

	while ((share = first(p, GSH_HEAP_HELD)) && share->held_until_ns <= now_ns) {
		account_waiting(p, share, now_ns);
		seat(p, share, now_ns);
	}
	while ((share = first(p, GSH_HEAP_EARLY)) && share->due_ns <= now_ns) {
		leave(p, GSH_HEAP_EARLY, share);
		enter(p, GSH_HEAP_DUE, share);
	}
}

static bool floor_due(const struct gsh_policy *p, u64 now_ns)
{
	return p->count[GSH_HEAP_FLOOR] && p->floor_permille && p->floor_due_ns <= now_ns &&
	       p->min_sum_permille + p->floor_permille <= 1000;
}

static struct gsh_policy_share *best(const struct gsh_policy *p, u64 now_ns,
				     enum gsh_policy_reason *reason)
{
	if (p->count[GSH_HEAP_DUE]) {
		*reason = GSH_RUN_MIN;
		return first(p, GSH_HEAP_DUE);
	}
	if (floor_due(p, now_ns)) {
		*reason = GSH_RUN_FLOOR;
		return first(p, GSH_HEAP_FLOOR);
	}
	*reason = p->count[GSH_HEAP_EXTRA] ? GSH_RUN_EXTRA : GSH_RUN_NOTHING;
	return first(p, GSH_HEAP_EXTRA);
}

/* Within its window only a higher priority with at least as good a reason takes it away. */
static bool keeps(const struct gsh_policy *p, const struct gsh_policy_share *rival,
		  enum gsh_policy_reason reason, u64 now_ns)
{
	const struct gsh_policy_share *running = p->running;

	if (!running || now_ns >= p->ends_ns)
		return false;
	return !rival || rival->priority <= running->priority || reason > p->reason;
}

/* What it runs while its guarantee moves on by so much. */
static u64 run_of(u64 ahead_ns, const struct gsh_policy_share *share)
{
	return div_u64(ahead_ns * share->min_permille, 1000);
}

/*
 * Rounds: everybody's guarantee is brought to the same time, in one window each. What a
 * window overran, or fell short, its next one makes up for, so that rounds stay even.
 */
static u64 window_of(struct gsh_policy *p, const struct gsh_policy_share *share,
		     enum gsh_policy_reason reason)
{
	u64 round_ns, window_ns = 0, most_ns;

	if (reason != GSH_RUN_MIN)
		return p->window_ns;
	round_ns = GSH_MIN(div_u64(p->window_ns * 1000, smallest_min(p)),
			   p->window_ns * ROUND_WINDOWS);
	if (p->round_ends_ns > share->due_ns)
		window_ns = run_of(p->round_ends_ns - share->due_ns, share);
	if (window_ns < p->window_ns / 2) {
		if (p->round_ends_ns < share->due_ns)
			p->round_ends_ns = share->due_ns;
		p->round_ends_ns += round_ns;
		window_ns = run_of(p->round_ends_ns - share->due_ns, share);
	}
	most_ns = run_of(round_ns + round_ns / 2, share);
	window_ns = GSH_MIN(window_ns, most_ns);
	return window_ns > p->window_ns / 2 ? window_ns : p->window_ns;
}

/* A share that nobody waits for is given nothing but what is left, and needs no window
 * unless its maximum has to be looked after. */
static void begin_window(struct gsh_policy *p, u64 now_ns)
{
	bool alone = wanting(p) == 1;

	p->began_ns = now_ns;
	if (alone)
		p->reason = GSH_RUN_EXTRA;
	if (alone && p->running->max_permille == 1000)
		p->ends_ns = GSH_POLICY_NEVER;
	else
		p->ends_ns = now_ns + window_of(p, p->running, p->reason);
}

static struct gsh_policy_choice nobody(struct gsh_policy *p)
{
	struct gsh_policy_share *held = first(p, GSH_HEAP_HELD);

	p->running = NULL;
	p->reason = GSH_RUN_NOTHING;
	return (struct gsh_policy_choice){
		.until_ns = held ? held->held_until_ns : GSH_POLICY_NEVER,
	};
}

struct gsh_policy_choice gsh_policy_choose(struct gsh_policy *p, u64 now_ns)
{
	enum gsh_policy_reason reason;
	struct gsh_policy_share *share;

	advance(p, now_ns);
	if (p->ends_ns == GSH_POLICY_NEVER && wanting(p) > 1)
		p->ends_ns = now_ns; /* it has had more than a window, or may have */
	share = best(p, now_ns, &reason);
	if (!keeps(p, share, reason, now_ns)) {
		if (!share)
			return nobody(p);
		if (p->running && p->running != share)
			p->running->since_ns = now_ns;
		account_waiting(p, share, now_ns);
		if (p->running != share)
			share->windows++;
		p->running = share;
		p->reason = reason;
		begin_window(p, now_ns);
	}
	return (struct gsh_policy_choice){
		.share = p->running,
		.reason = p->reason,
		.until_ns = p->ends_ns,
	};
}
