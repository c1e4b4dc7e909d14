/* SPDX-License-Identifier: MIT */
/* Races on the managed-memory node: external mappings whose names change, managed mappings. */
#ifndef TEST_RACE_UVM_H
#define TEST_RACE_UVM_H

#include "race.h"

/* ---- external-flip ---- */

#define RANGE_A     0x200000000000ULL
#define RANGE_B     0x200010000000ULL
#define RANGE_BYTES (8 * MIB)

enum {
	EXTERNAL_MEMORY,
	EXTERNAL_BASE,
	EXTERNAL_LENGTH,
	EXTERNAL_FREE,
	EXTERNAL_ALL,
	EXTERNAL_MODES
};

struct flip_external {
	union uvm_map_external map;
	volatile struct uvm_free free;
	atomic_uint mode;
	unsigned int n;
};

static const uint32_t external_memory[2] = { 0x501, 0x502 };

static void flip_external_step(struct attacker *a)
{
	static const uint64_t lengths[] = { 2 * MIB, 4 * MIB, RANGE_BYTES, 64 << 10 };
	struct flip_external *f = a->data;
	unsigned int mode = f->mode, n = f->n++;

	if (mode == EXTERNAL_MEMORY || mode == EXTERNAL_ALL)
		*(volatile uint32_t *)&uvm_external_end(&f->map)->h_memory = external_memory[n & 1];
	if (mode == EXTERNAL_BASE || mode == EXTERNAL_ALL)
		*(volatile uint64_t *)&f->map.base = n & 1 ? RANGE_A : RANGE_B;
	if (mode == EXTERNAL_LENGTH || mode == EXTERNAL_ALL)
		*(volatile uint64_t *)&f->map.length = lengths[n & 3];
	if (mode == EXTERNAL_FREE || mode == EXTERNAL_ALL) {
		f->free.base = n & 2 ? RANGE_A : RANGE_B;
		f->free.length = n & 4 ? RANGE_BYTES : 2 * MIB;
	}
}

static void flip_external_reset(struct race *r, const struct uvm *uvm, struct flip_external *f)
{
	uvm_external_request(&f->map, uvm, &r->rm, external_memory[0], RANGE_A, 2 * MIB);
	f->free.base = RANGE_A;
	f->free.length = RANGE_BYTES;
}

/* Two objects of different size, mapped, freed while they are mapped, then the ranges. */
static void external_round(struct race *r, const struct uvm *uvm, struct flip_external *f)
{
	int i;

	rm_alloc_video(&r->rm, external_memory[0], 2 * MIB);
	rm_alloc_video(&r->rm, external_memory[1], LARGE);
	uvm_create_range(uvm->fd, RANGE_A, RANGE_BYTES);
	uvm_create_range(uvm->fd, RANGE_B, RANGE_BYTES);
	flip_external_reset(r, uvm, f);
	if (!uvm_map_request(uvm, &f->map))
		r->hits++;
	for (i = 0; i < 2; i++)
		rm_free(r->rm.ctl, r->rm.client, r->rm.device, external_memory[i]);
	race_quiet_often(r, "mapped, objects freed");
	uvm_ioctl(uvm->fd, UVM_FREE, (void *)&f->free);
	race_quiet_often(r, "one range freed");
}

static void external_flip(struct race *r)
{
	struct uvm uvm = { -1, -1, { 0 } };
	static struct flip_external f;
	struct attacker a;
	uint64_t before;

	if (!race_need(r, "managed memory", uvm_start(&uvm, &r->rm, r->books.uuid)))
		return;
	before = books_value(&r->books, "charged");
	flip_external_reset(r, &uvm, &f);
	attacker_start(&a, r, flip_external_step, &f);
	for (; race_goes_on(r); r->done++) {
		f.mode = (unsigned int)(r->done % EXTERNAL_MODES);
		external_round(r, &uvm, &f);
		uvm_free_range(uvm.fd, RANGE_A, RANGE_BYTES);
		uvm_free_range(uvm.fd, RANGE_B, RANGE_BYTES);
	}
	attacker_stop(&a);
	race_settled(r, before, "all ranges freed");
	uvm_stop(&uvm);
	if (!r->hits)
		race_fail(r, "no mapping ever came about");
}

/* ---- external-reuse ---- */

/*
 * The handle that a mapping names is freed and given to a larger object while the call waits its
 * turn: the books must follow what the driver mapped, not what the name meant before.
 */
#define REUSED 0x503u

static void reuse_free(struct attacker *a)
{
	const struct rm *rm = &a->race->rm;

	rm_free(rm->ctl, rm->client, rm->device, REUSED);
}

static void reuse_alloc(struct attacker *a)
{
	unsigned int *n = a->data;

	rm_alloc_video(&a->race->rm, REUSED, (*n)++ & 1 ? LARGE : SMALL);
}

static void external_reuse_round(struct race *r, const struct uvm *uvm, struct attacker a[2])
{
	if (!uvm_map(uvm, &r->rm, REUSED, RANGE_A, SMALL))
		r->hits++;
	attacker_pause(&a[0]);
	attacker_pause(&a[1]);
	rm_free(r->rm.ctl, r->rm.client, r->rm.device, REUSED);
	race_quiet(r, "object freed while mapped");
	uvm_free_range(uvm->fd, RANGE_A, RANGE_BYTES);
	uvm_create_range(uvm->fd, RANGE_A, RANGE_BYTES);
	attacker_resume(&a[0]);
	attacker_resume(&a[1]);
}

static void external_reuse(struct race *r)
{
	struct uvm uvm = { -1, -1, { 0 } };
	struct attacker a[2];
	unsigned int n = 0;
	uint64_t before;

	if (!race_need(r, "managed memory", uvm_start(&uvm, &r->rm, r->books.uuid)) ||
	    !race_need(r, "range", uvm_create_range(uvm.fd, RANGE_A, RANGE_BYTES)))
		return;
	before = books_value(&r->books, "charged");
	attacker_start(&a[0], r, reuse_free, NULL);
	attacker_start(&a[1], r, reuse_alloc, &n);
	for (; race_goes_on(r); r->done++)
		external_reuse_round(r, &uvm, a);
	attacker_stop(&a[0]);
	attacker_stop(&a[1]);
	rm_free(r->rm.ctl, r->rm.client, r->rm.device, REUSED);
	uvm_free_range(uvm.fd, RANGE_A, RANGE_BYTES);
	race_settled(r, before, "all freed");
	uvm_stop(&uvm);
}

/* ---- pool-race ---- */

/* A pool is no managed memory. What is mapped where one was freed while it was being made, is. */
#define POOL       0x210000000000ULL
#define POOL_BYTES (4 * MIB)

struct pool_race {
	struct uvm uvm;
	unsigned long freed;
};

static void pool_free_step(struct attacker *a)
{
	struct pool_race *p = a->data;

	p->freed += !uvm_free_range(p->uvm.fd, POOL, POOL_BYTES);
}

static void pool_quiet(struct race *r, struct pool_race *p)
{
	char *at;

	uvm_free_range(p->uvm.fd, POOL, POOL_BYTES);
	at = mmap((void *)POOL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		  p->uvm.fd, (off_t)POOL);
	if (at == MAP_FAILED) {
		race_fail(r, "managed memory where a pool was: %s", strerror(errno));
		return;
	}
	if (uvm_migrate(&p->uvm, POOL, POOL_BYTES))
		race_fail(r, "migration");
	race_quiet(r, "managed memory where a pool was");
	munmap(at, POOL_BYTES);
}

static void pool_race(struct race *r)
{
	struct pool_race p = { .uvm = { -1, -1, { 0 } } };
	struct attacker a;

	if (!race_need(r, "managed memory", uvm_start(&p.uvm, &r->rm, r->books.uuid)))
		return;
	attacker_start(&a, r, pool_free_step, &p);
	for (; race_goes_on(r); r->done++) {
		uvm_alloc_pool(&p.uvm, POOL, POOL_BYTES);
		if (r->done % CHECK_EVERY)
			continue;
		attacker_pause(&a);
		pool_quiet(r, &p);
		attacker_resume(&a);
	}
	attacker_stop(&a);
	r->hits = p.freed;
	uvm_stop(&p.uvm);
}

/* ---- managed ---- */

#define MANAGED_THREADS 2
#define SMALL_MAPPINGS  32

struct managed {
	struct race *race;
	struct uvm *uvm;
	unsigned int seed;
	unsigned long rounds;
	atomic_ulong *refused;
};

/* Each of these ends with nothing mapped. What is unmapped twice may be another thread's. */

static void hand_over(char *at, size_t bytes, int how)
{
	pid_t pid;

	if (how)
		madvise(at, bytes, how);
	pid = race_fork();
	if (!pid) {
		munmap(at, bytes / 2); /* not there after MADV_DONTFORK: no matter */
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (how == MADV_DONTFORK)
		madvise(at, bytes, MADV_DOFORK);
	munmap(at, bytes);
}

static void managed_in_parts(char *at, size_t bytes)
{
	munmap(at + bytes / 2, bytes / 4);
	munmap(at, bytes / 2);
	munmap(at + bytes / 2 + bytes / 4, bytes / 4);
}

static void managed_moved(char *at, size_t bytes)
{
	void *moved;

	if (mremap(at, bytes, bytes / 2, 0) != MAP_FAILED) /* the driver may refuse */
		bytes /= 2;
	moved = mremap(at, bytes, bytes, MREMAP_MAYMOVE);
	munmap(moved == MAP_FAILED ? at : moved, bytes);
}

static void managed_once(struct managed *m)
{
	unsigned int way = race_random(&m->seed) % 8;
	size_t bytes = (1 + race_random(&m->seed) % 8) * 2 * MIB;
	char *at = uvm_mmap(m->uvm->fd, bytes);

	if (at == MAP_FAILED) {
		(*m->refused)++;
		return;
	}
	at[0] = 1;
	if (way & 1)
		uvm_migrate(m->uvm, (uintptr_t)at, bytes);
	if (way == 2)
		managed_in_parts(at, bytes);
	else if (way == 4)
		managed_moved(at, bytes);
	else if (way == 6)
		hand_over(at, bytes, 0);
	else if (way == 7)
		hand_over(at, bytes, MADV_DONTFORK);
	else
		munmap(at, bytes);
}

static void *managed_thread(void *data)
{
	struct managed *m = data;

	while (m->rounds-- && !m->race->failed)
		managed_once(m);
	return NULL;
}

/* One batch of rounds in several threads; all is unmapped afterwards. */
static void managed_batch(struct race *r, struct uvm *uvm, unsigned long rounds,
			  atomic_ulong *refused)
{
	struct managed m[MANAGED_THREADS];
	pthread_t thread[MANAGED_THREADS];
	int i;

	for (i = 0; i < MANAGED_THREADS; i++) {
		m[i] = (struct managed){ r, uvm, (unsigned int)(r->done + i * 7919), rounds,
					 refused };
		if (pthread_create(&thread[i], NULL, managed_thread, &m[i]))
			exit(3);
	}
	for (i = 0; i < MANAGED_THREADS; i++)
		pthread_join(thread[i], NULL);
	r->done += rounds * MANAGED_THREADS;
}

/* The card's figure is the charge: what is mapped may all be moved there. */
static void managed_over_quota(struct race *r, struct uvm *uvm)
{
	uint64_t left = (r->quota - books_value(&r->books, "charged")) & ~(2 * MIB - 1);
	char *whole = uvm_mmap(uvm->fd, left), *more;

	if (whole == MAP_FAILED) {
		race_fail(r, "what is left of the quota (%llu) is refused",
			  (unsigned long long)left);
		return;
	}
	more = uvm_mmap(uvm->fd, 2 * MIB);
	if (more != MAP_FAILED)
		race_fail(r, "managed memory over the quota is granted");
	if (rm_alloc_video(&r->rm, 0x601, 2 * MIB) != NV_ERR_NO_MEMORY)
		race_fail(r, "an allocation beside a full quota of managed memory is granted");
	uvm_migrate(uvm, (uintptr_t)whole, left);
	race_quiet(r, "quota full of managed memory");
	munmap(whole, left);
}

/* The card gives managed memory in chunks: many small mappings must not be cheaper. */
static void managed_small(struct race *r, struct uvm *uvm)
{
	char *at[SMALL_MAPPINGS];
	int i;

	for (i = 0; i < SMALL_MAPPINGS; i++) {
		at[i] = uvm_mmap(uvm->fd, 4096);
		if (at[i] != MAP_FAILED)
			uvm_migrate(uvm, (uintptr_t)at[i], 4096);
	}
	race_quiet(r, "many small mappings");
	for (i = 0; i < SMALL_MAPPINGS; i++)
		if (at[i] != MAP_FAILED)
			munmap(at[i], 4096);
}

/* A child initialises, maps and exits without a word. */
static void managed_exit(struct race *r)
{
	pid_t pid = race_fork();
	struct uvm uvm;
	char *at;

	if (!pid) {
		if (uvm_open(&uvm, r->dir))
			_exit(1);
		at = uvm_mmap(uvm.fd, 32 * MIB);
		if (at != MAP_FAILED)
			at[0] = 1;
		_exit(at == MAP_FAILED);
	}
	waitpid(pid, NULL, 0);
}

/* Unmap and last close at once, beside a second file whose mapping stays charged. */
static void managed_close(struct race *r, unsigned long rounds)
{
	struct uvm uvm;
	char *at;

	while (rounds-- && !r->failed) {
		if (uvm_open(&uvm, r->dir)) {
			race_fail(r, "open");
			return;
		}
		at = uvm_mmap(uvm.fd, 16 * MIB);
		if (at != MAP_FAILED)
			munmap(at, 16 * MIB);
		uvm_stop(&uvm);
		r->done++;
	}
}

static void managed(struct race *r)
{
	struct uvm uvm = { -1, -1, { 0 } };
	atomic_ulong refused = 0;
	uint64_t before;
	char *kept;

	if (!race_need(r, "managed memory", uvm_start(&uvm, &r->rm, r->books.uuid)))
		return;
	before = books_value(&r->books, "charged");
	managed_over_quota(r, &uvm);
	race_settled(r, before, "full quota unmapped");
	managed_small(r, &uvm);
	race_settled(r, before, "small mappings gone");
	kept = uvm_mmap(uvm.fd, 64 * MIB);
	if (kept == MAP_FAILED || uvm_migrate(&uvm, (uintptr_t)kept, 64 * MIB))
		race_fail(r, "64 MiB are not to be had");
	while (race_goes_on(r)) {
		managed_batch(r, &uvm, 25, &refused);
		managed_close(r, 25);
		managed_exit(r);
		race_settled(r, before + 64 * MIB, "batch over");
	}
	munmap(kept, 64 * MIB);
	race_settled(r, before, "all unmapped");
	r->hits = r->done - refused;
	uvm_stop(&uvm);
}

#endif /* TEST_RACE_UVM_H */
