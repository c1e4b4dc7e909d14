/* SPDX-License-Identifier: MIT */
/*
 * Attacks on gpushare from inside a tenant: see the table at the end for what there is.
 *
 *	races NAME FOLDER [ROUNDS [FOLDER2]]
 *
 * FOLDER has the tenant's nodes (/dev/gpushare/NAME), FOLDER2 a neighbour's. Each race ends with one line,
 * "NAME: rounds=… hits=… truth_max=… charged_end=… ok" or "… FAIL why", and status 0 or 1; 2 is usage,
 * 3 a machine on which it cannot run. Root reads the truth; the nodes do not know who asks.
 */
#define _GNU_SOURCE
#include "race.h"
#include "race_rm.h"
#include "race_uvm.h"
#include "race_process.h"
#include "race_tables.h"

static const struct {
	const char *name;
	void (*run)(struct race *r);
	const char *what;
} races[] = {
	{ "size-flip-alloc", size_flip_alloc,
	  "RM_ALLOC whose size, class, handle or pointer changes" },
	{ "size-flip-heap", size_flip_heap, "the heap call whose size, place or function changes" },
	{ "pin-flip", pin_flip, "pinning pages, turned into the question for the heap's size" },
	{ "root-flip", root_flip, "a client allocation that turns into one of memory" },
	{ "pending-dup", pending_dup, "a second handle on memory not yet settled" },
	{ "pending-export", pending_export, "an export of it" },
	{ "pending-map", pending_map, "mappings of it: CPU, GPU, UVM" },
	{ "dup-free", dup_free, "duplicates while the source is freed" },
	{ "external-flip", external_flip, "UVM mappings whose object, base or length changes" },
	{ "external-reuse", external_reuse, "a UVM mapping whose object is another by then" },
	{ "pool-race", pool_race, "managed memory where a semaphore pool was" },
	{ "managed", managed, "managed memory mapped, cut, moved, inherited, closed" },
	{ "fd-hunt", fd_hunt, "a look for the driver's files in every low descriptor" },
	{ "table-share", table_share, "the same by a process with the same table; vfork" },
	{ "ring", ring_race, "files that io_uring holds" },
	{ "userfault", userfault, "arguments in memory that never comes" },
	{ "close-race", close_race, "calls against close, exit and a new quota" },
	{ "foreign", foreign, "another tenant's handles" },
};
#define RACES (sizeof(races) / sizeof(races[0]))

static int usage(void)
{
	unsigned int i;

	fprintf(stderr, "usage: races NAME FOLDER [ROUNDS [FOLDER2]]\n");
	for (i = 0; i < RACES; i++)
		fprintf(stderr, "  %-16s %s\n", races[i].name, races[i].what);
	return 2;
}

static void begin(struct race *r)
{
	int rc;

	r->start_references = truth_references_at_rest();
	rc = rm_start(&r->rm, r->dir);
	if (rc || !books_open(&r->books, r->dir, r->rm.minor)) {
		fprintf(stderr, "%s: no client on %s: %d\n", r->name, r->dir, rc);
		exit(3);
	}
	pthread_mutex_init(&r->lock, NULL);
	r->quota = books_value(&r->books, "quota");
	r->start_charged = books_value(&r->books, "charged");
}

/* Nothing is left once the client has gone. */
static void end(struct race *r)
{
	rm_stop(&r->rm);
	race_settled(r, r->start_charged, "at the end");
	race_let_go(r);
	printf("%s: rounds=%lu hits=%lu truth_max=%llu charged_end=%llu %s%s%s\n", r->name, r->done,
	       r->hits, (unsigned long long)r->truth_max,
	       (unsigned long long)books_value(&r->books, "charged"), r->failed ? "FAIL" : "ok",
	       r->failed ? " " : "", r->why);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct race r = { .rounds = 10000 };
	unsigned int i;

	if (argc < 3 || argc > 5)
		return usage();
	for (i = 0; i < RACES && strcmp(races[i].name, argv[1]); i++)
		;
	if (i == RACES)
		return usage();
	r.name = argv[1];
	r.dir = argv[2];
	if (argc > 3)
		r.rounds = strtoul(argv[3], NULL, 10);
	if (argc > 4)
		r.other = argv[4];
	begin(&r);
	races[i].run(&r);
	end(&r);
	return r.failed;
}
