/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compute policy of one card: who may use the engine now, and until when.
 * Plain numbers; time is passed in, in ns of one monotonic clock; no lock.
 *
 * The engine is given to one share at a time, for a window. What a share ran in its
 * windows is exact then, whatever its launches are. Three ways to be chosen, in order:
 *
 *   min     it has had less than its guarantee since it began to want the engine
 *   floor   nobody with a guarantee waits, and those without one have had less than the
 *           floor that they share
 *   extra   what is left: highest priority first, within one by weight
 *
 * and none of them while its maximum does not let it. Guarantee and maximum are one
 * number each, the time from which it may be served again, pushed on by
 * ran / permille whenever it ran (GCRA: ITU-T I.371, annex A):
 *
 *   - what is not wanted is not banked: a share that wakes is due now, not earlier;
 *   - what was wanted and not given is owed, in the maximum too: the time stays in the
 *     past meanwhile, for debt_ns at most;
 *   - what was had of what is left counts towards the guarantee of that period only;
 *   - a launch that could not be cut puts it far into the future: the debt is
 *     repaid before anything new is given, over debt_ns at most.
 *
 * Windows for guarantees are as long as these are large, so that a round in which everybody
 * has its turn comes out even; the smallest guarantee wanted has the shortest window.
 * One that wakes does not wait for the end of a long one.
 *
 * Each decision takes O(log shares): every share sits in heaps by those numbers.
 *
 * Locking: the caller's, one lock for the whole policy. Shares are the caller's
 * memory; gsh_policy only points at them.
 */
#ifndef GSH_CORE_POLICY_H
#define GSH_CORE_POLICY_H

#include "core/types.h"

#define GSH_POLICY_SHARES_MAX 1024u
#define GSH_POLICY_PRIORITIES 16u /* 0 lowest */
#define GSH_POLICY_WEIGHT_MAX 10000u
#define GSH_POLICY_NEVER      ((u64)~0ull)

enum gsh_policy_heap {
	GSH_HEAP_HELD, /* maximum reached: by the time it ends */
	GSH_HEAP_EARLY, /* guarantee had: by the time it is due again */
	GSH_HEAP_DUE, /* guarantee owed: by priority, then in turn */
	GSH_HEAP_EXTRA, /* may have what is left: by priority, then weighted time */
	GSH_HEAP_FLOOR, /* without a guarantee: by when it last ran */
	GSH_HEAPS
};

/* Why a share was chosen. */
enum gsh_policy_reason { GSH_RUN_NOTHING, GSH_RUN_MIN, GSH_RUN_FLOOR, GSH_RUN_EXTRA };

struct gsh_policy_share {
	/* set by gsh_policy_share_init() and gsh_policy_set() */
	u32 min_permille; /* 0: no guarantee beyond the floor */
	u32 max_permille; /* 1 to 1000, never below min */
	u32 weight; /* 1 to GSH_POLICY_WEIGHT_MAX */
	u32 priority; /* below GSH_POLICY_PRIORITIES */
	/* the policy's own */
	bool active; /* wants the engine */
	u64 due_ns; /* guarantee: owed from then on; min 0: unused */
	u64 held_until_ns; /* maximum */
	u64 weighted_ns; /* time on extra, divided by weight */
	u64 last_ran_ns;
	u32 at[GSH_HEAPS]; /* place in a heap, counted from 1; 0: not in it */
	/* statistics */
	u64 ran_ns; /* occupied: with the switch to it */
	u64 throttled_ns; /* wanted, but held by its maximum */
	u64 waited_ns; /* wanted and allowed, but another ran */
	u64 since_ns; /* throttled and waited are known up to then */
	u64 windows;
};

struct gsh_policy {
	u64 window_ns; /* how long the engine is given at a time, about; half of it at least */
	u64 period_ns; /* guarantee and maximum are meant per period */
	u64 debt_ns; /* a debt is repaid over this at most; 10 s */
	u32 floor_permille; /* for all without a guarantee together */
	u32 min_sum_permille; /* of all shares, wanting or not */
	u64 floor_due_ns;
	u64 round_ends_ns; /* to where guarantees are brought, one window each */
	u64 weighted_ns[GSH_POLICY_PRIORITIES]; /* where those who wait are: newcomers start here */
	struct gsh_policy_share *running; /* who was chosen last; NULL: nobody */
	enum gsh_policy_reason reason;
	u64 began_ns, ends_ns; /* of its window; GSH_POLICY_NEVER: nobody else wants the engine */
	/* How many shares want the engine with each guarantee, and which there are. */
	u16 wanting_min[1001];
	u64 any_min[1001 / 64 + 1];
	u32 count[GSH_HEAPS];
	struct gsh_policy_share *heap[GSH_HEAPS][GSH_POLICY_SHARES_MAX + 1];
};

struct gsh_policy_choice {
	struct gsh_policy_share *share; /* NULL: nobody may run */
	enum gsh_policy_reason reason;
	u64 until_ns; /* decide again then, or at a wake before; GSH_POLICY_NEVER: at a wake only */
};

void gsh_policy_init(struct gsh_policy *policy, u64 window_ns, u64 period_ns, u64 debt_ns,
		     u32 floor_permille);

/* 0; -EINVAL: a figure out of range, or min above max; -ENOSPC: too many shares wanting. */
int gsh_policy_share_init(struct gsh_policy *policy, struct gsh_policy_share *share,
			  u32 min_permille, u32 max_permille, u32 weight, u32 priority);
int gsh_policy_set(struct gsh_policy *policy, struct gsh_policy_share *share, u32 min_permille,
		   u32 max_permille, u32 weight, u32 priority, u64 now_ns);
void gsh_policy_share_remove(struct gsh_policy *policy, struct gsh_policy_share *share, u64 now_ns);

/* It has work, or has none any more. Both may be told twice. */
int gsh_policy_wake(struct gsh_policy *policy, struct gsh_policy_share *share, u64 now_ns);
void gsh_policy_sleep(struct gsh_policy *policy, struct gsh_policy_share *share, u64 now_ns);

/* It occupied the engine for ran_ns, the last of which was just before now. */
void gsh_policy_ran(struct gsh_policy *policy, struct gsh_policy_share *share, u64 ran_ns,
		    u64 now_ns);

/*
 * Who has the engine from now on. Tell first what ran. The running share keeps it to the
 * end of its window unless it sleeps, reaches its maximum, or one of higher
 * priority is due or, on what is left, wants it.
 */
struct gsh_policy_choice gsh_policy_choose(struct gsh_policy *policy, u64 now_ns);

/* The order of a heap, for those that check it. */
bool gsh_policy_before(enum gsh_policy_heap heap, const struct gsh_policy_share *a,
		       const struct gsh_policy_share *b);

#endif /* GSH_CORE_POLICY_H */
