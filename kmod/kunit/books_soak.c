// SPDX-License-Identifier: GPL-2.0
/*
 * Random allocate, free, duplicate, close and quota changes against a model that knows objects
 * and handles only. The books must agree with the sum over live objects after every operation.
 * Also built for user space: tests/core/native.py.
 */
#include "core/books.h"
#include "kunit/books_soak.h"

#define CLIENTS 8
#define HANDLES 512
#define OBJECTS 256

struct object {
	u64 bytes; /* 0: free slot */
	u32 references;
	enum gsh_charge_kind kind;
};

struct handle {
	bool used;
	u32 client;
	u32 object;
};

struct model {
	struct object objects[OBJECTS];
	struct handle handles[HANDLES];
	u64 quota_bytes;
	u64 sum_bytes;
	u64 state;
};

/* xorshift64*: the same sequence everywhere */
static u64 next(struct model *m)
{
	m->state ^= m->state >> 12;
	m->state ^= m->state << 25;
	m->state ^= m->state >> 27;
	return m->state * 0x2545f4914f6cdd1dULL;
}

static u64 recount(const struct model *m)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < OBJECTS; i++)
		sum += m->objects[i].bytes;
	return sum;
}

static s32 free_object(const struct model *m)
{
	u32 i;

	for (i = 0; i < OBJECTS; i++)
		if (!m->objects[i].bytes)
			return (s32)i;
	return -1;
}

static struct handle *free_handle(struct model *m)
{
	u32 i;

	for (i = 0; i < HANDLES; i++)
		if (!m->handles[i].used)
			return &m->handles[i];
	return NULL;
}

/* Sizes from one byte to 2^40, and now and then something absurd. */
static u64 some_size(struct model *m)
{
	u64 bits = next(m) % 41;

	if (next(m) % 64 == 0)
		return U64_MAX - next(m) % 1000;
	return (next(m) & ((1ULL << bits) - 1)) + 1;
}

static bool allocate(struct model *m, struct gsh_account *account)
{
	u64 asked = some_size(m), actual, lower, upper;
	bool fits = m->sum_bytes <= m->quota_bytes;
	struct handle *handle = free_handle(m);
	s32 slot = free_object(m);
	struct object *object;

	gsh_memory_bounds(asked, (u32)next(m), (u32)next(m), &lower, &upper);
	if (lower > upper || lower < asked)
		return false;
	fits = fits && upper <= m->quota_bytes - m->sum_bytes;
	if ((gsh_account_reserve(account, upper) == 0) != fits)
		return false;
	if (!fits)
		return true;
	if (!handle || slot < 0 || next(m) % 16 == 0) { /* the driver refuses */
		gsh_account_unreserve(account, upper);
		return true;
	}
	actual = lower + (upper > lower ? next(m) % (upper - lower + 1) : 0);
	object = &m->objects[slot];
	object->kind = (enum gsh_charge_kind)(next(m) % GSH_CHARGE_KINDS);
	object->bytes = actual;
	object->references = 1;
	handle->used = true;
	handle->client = (u32)(next(m) % CLIENTS);
	handle->object = (u32)slot;
	m->sum_bytes += actual;
	return gsh_account_settle(account, object->kind, upper, actual);
}

static bool drop(struct model *m, struct gsh_account *account, struct handle *handle)
{
	struct object *object = &m->objects[handle->object];
	u64 released;

	handle->used = false;
	if (--object->references)
		return true;
	released = gsh_account_release(account, object->kind, object->bytes);
	m->sum_bytes -= object->bytes;
	if (released != object->bytes)
		return false;
	object->bytes = 0;
	return true;
}

static bool release(struct model *m, struct gsh_account *account)
{
	struct handle *handle = &m->handles[next(m) % HANDLES];

	return !handle->used || drop(m, account, handle);
}

/* A second handle of the same memory is not charged twice. */
static bool duplicate(struct model *m)
{
	struct handle *from = &m->handles[next(m) % HANDLES];
	struct handle *to = free_handle(m);

	if (!from->used || !to)
		return true;
	*to = *from;
	to->client = (u32)(next(m) % CLIENTS);
	m->objects[to->object].references++;
	return true;
}

static bool close_client(struct model *m, struct gsh_account *account)
{
	u32 client = (u32)(next(m) % CLIENTS), i;

	for (i = 0; i < HANDLES; i++)
		if (m->handles[i].used && m->handles[i].client == client &&
		    !drop(m, account, &m->handles[i]))
			return false;
	return true;
}

static bool move(struct model *m, struct gsh_account *account)
{
	struct handle *handle = &m->handles[next(m) % HANDLES];
	enum gsh_charge_kind to = (enum gsh_charge_kind)(next(m) % GSH_CHARGE_KINDS);
	struct object *object;

	if (!handle->used)
		return true;
	object = &m->objects[handle->object];
	if (gsh_account_move(account, object->kind, to, object->bytes) != object->bytes)
		return false;
	object->kind = to;
	return true;
}

static bool requota(struct model *m, struct gsh_account *account)
{
	m->quota_bytes = some_size(m);
	gsh_account_set_quota(account, m->quota_bytes);
	return true;
}

static bool agrees(const struct model *m, const struct gsh_account *account)
{
	u64 kinds = 0, free = gsh_account_free_bytes(account, U64_MAX);
	u32 i;

	for (i = 0; i < GSH_CHARGE_KINDS; i++)
		kinds += account->by_kind_bytes[i];
	return account->charged_bytes == m->sum_bytes && kinds == m->sum_bytes &&
	       account->reserved_bytes == 0 && account->faults == 0 &&
	       account->peak_bytes >= account->charged_bytes &&
	       free == (m->sum_bytes < m->quota_bytes ? m->quota_bytes - m->sum_bytes : 0);
}

static bool step(struct model *m, struct gsh_account *account)
{
	switch (next(m) % 32) {
	case 0:
		return close_client(m, account);
	case 1:
		return requota(m, account);
	case 2:
	case 3:
		return move(m, account);
	case 4:
	case 5:
	case 6:
	case 7:
		return duplicate(m);
	default:
		return next(m) % 2 ? allocate(m, account) : release(m, account);
	}
}

u64 gsh_books_soak(u64 seed, u64 operations)
{
	static struct model m;
	struct gsh_account account;
	u64 i;

	memset(&m, 0, sizeof(m));
	m.state = seed | 1;
	m.quota_bytes = 1ULL << 34;
	gsh_account_init(&account, m.quota_bytes);
	for (i = 0; i < operations; i++) {
		if (!step(&m, &account) || !agrees(&m, &account))
			return i;
		if (i % 4096 == 0 && recount(&m) != m.sum_bytes)
			return i;
	}
	return operations;
}
