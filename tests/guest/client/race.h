/* SPDX-License-Identifier: MIT */
/*
 * The frame of a race: who attacks, when it is quiet, and what must hold then.
 *
 * A quiet point is a moment without a call under way that could take or end memory. There, for
 * the card: charged >= what the driver has given out; for the tenant: charged <= quota. Between
 * quiet points a call may be halfway: the driver may have made an object that is about to be
 * refused, 2 MiB past the quota at most, because of rounding.
 */
#ifndef TEST_RACE_H
#define TEST_RACE_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "rm.h"
#include "truth.h"

#define SETTLE_S    10.0 /* how long closes and unmaps may take to be noticed */
#define CHECK_EVERY 16
#define SMALL       (64ULL << 10) /* the least that the driver gives */
#define LARGE       (64 * MIB)

struct race {
	const char *name, *dir, *other;
	unsigned long rounds, done;
	struct rm rm;
	struct books books;
	uint64_t quota, start_charged, truth_max;
	unsigned long start_references;
	unsigned long hits; /* how often the attacker got between: shows that it was a race */
	pthread_mutex_t lock;
	char why[256]; /* lock; the first failure */
	atomic_bool failed;
};

static inline void __attribute__((format(printf, 2, 3))) race_fail(struct race *r,
								   const char *format, ...)
{
	va_list args;

	pthread_mutex_lock(&r->lock);
	if (!r->failed) {
		va_start(args, format);
		vsnprintf(r->why, sizeof(r->why), format, args);
		va_end(args);
		r->failed = true;
	}
	pthread_mutex_unlock(&r->lock);
}

static inline bool race_goes_on(struct race *r)
{
	return !r->failed && r->done < r->rounds;
}

/* Anything the test needs before it can attack; a failure is one of the test. */
static inline bool race_need(struct race *r, const char *what, int rc)
{
	if (rc)
		race_fail(r, "%s: %d", what, rc);
	return !rc;
}

/* ---- what must hold ---- */

static inline void race_quiet(struct race *r, const char *where)
{
	struct truth truth = truth_card(r->books.minor);
	uint64_t all = books_all(&r->books, "charged");
	uint64_t charged = books_value(&r->books, "charged");
	uint64_t sum = truth_sum(&truth);

	if (sum > r->truth_max)
		r->truth_max = sum;
	if (sum > all)
		race_fail(
			r,
			"%s, round %lu: driver %llu (objects %llu overhead %llu managed %llu) > charged %llu",
			where, r->done, (unsigned long long)sum, (unsigned long long)truth.objects,
			(unsigned long long)truth.overhead, (unsigned long long)truth.managed,
			(unsigned long long)all);
	if (charged > r->quota)
		race_fail(r, "%s, round %lu: charged %llu > quota %llu", where, r->done,
			  (unsigned long long)charged, (unsigned long long)r->quota);
}

static inline void race_quiet_often(struct race *r, const char *where)
{
	if (r->done % CHECK_EVERY == 0)
		race_quiet(r, where);
}

/* Waits until nothing of the tenant's is charged but what it had before. */
static inline void race_settled(struct race *r, uint64_t expected, const char *where)
{
	double end = truth_now() + SETTLE_S;
	uint64_t charged;

	for (;;) {
		charged = books_value(&r->books, "charged");
		if (charged == expected)
			break;
		if (truth_now() > end) {
			race_fail(r, "%s: charged %llu, expected %llu", where,
				  (unsigned long long)charged, (unsigned long long)expected);
			return;
		}
		truth_sleep_ms(5);
	}
	race_quiet(r, where);
}

/* No file of the driver is held any more. */
static inline void race_let_go(struct race *r)
{
	double end = truth_now() + SETTLE_S;
	unsigned long now;

	while ((now = truth_references()) != r->start_references && truth_now() < end)
		truth_sleep_ms(10);
	if (now != r->start_references)
		race_fail(r, "%lu files of the driver are held, %lu before", now,
			  r->start_references);
}

/* ---- the attacker ---- */

struct attacker {
	struct race *race;
	void (*step)(struct attacker *a);
	void *data;
	pthread_t thread;
	atomic_bool stop, pause, paused;
};

static inline void *attacker_main(void *data)
{
	struct attacker *a = data;

	while (!a->stop) {
		if (!a->pause) {
			a->step(a);
			continue;
		}
		a->paused = true;
		while (a->pause && !a->stop)
			sched_yield();
		a->paused = false;
	}
	a->paused = true;
	return NULL;
}

static inline void attacker_start(struct attacker *a, struct race *r,
				  void (*step)(struct attacker *), void *data)
{
	a->race = r;
	a->step = step;
	a->data = data;
	a->stop = a->pause = a->paused = false;
	if (pthread_create(&a->thread, NULL, attacker_main, a))
		exit(3);
}

static inline void attacker_stop(struct attacker *a)
{
	a->pause = false;
	a->stop = true;
	pthread_join(a->thread, NULL);
}

static inline void attacker_pause(struct attacker *a)
{
	a->pause = true;
	while (!a->paused)
		sched_yield();
}

static inline void attacker_resume(struct attacker *a)
{
	a->pause = false;
	while (a->paused && !a->stop)
		sched_yield();
}

/* ---- children ---- */

/* A child that dies with its parent. */
static inline pid_t race_fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		exit(3);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* Seconds until the child was gone after the signal; more than limit_s: it is not. */
static inline double race_kill(pid_t pid, double limit_s)
{
	double start = truth_now();

	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, WNOHANG) != pid && truth_now() - start < limit_s)
		truth_sleep_ms(1);
	return truth_now() - start;
}

static inline unsigned int race_random(unsigned int *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

#endif /* TEST_RACE_H */
