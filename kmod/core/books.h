/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory accounts: what a share may hold, holds, and is about to hold; and
 * what a card can still grant. Plain numbers, no lock, no time.
 *
 * Locking: the caller holds the account's lock (share->lock in kmod/gpushare; gsh_tenants_lock
 * for a card), for reads too: two fields are only consistent together.
 *
 * One allocation's life:
 *   reserve(upper bound) -> the driver runs -> settle(upper bound, true size)
 *                                          \-> unreserve(upper bound) on refusal
 *   ... release(true size) when the driver says the object is gone.
 */
#ifndef GSH_CORE_BOOKS_H
#define GSH_CORE_BOOKS_H

#include "core/types.h"

/* What a charge is for. One sum, four names in the statistics. */
enum gsh_charge_kind {
	GSH_CHARGE_OBJECT, /* memory objects (RM allocations) */
	GSH_CHARGE_MANAGED, /* mappings of the managed-memory file */
	GSH_CHARGE_OVERHEAD, /* context buffers and the like, measured */
	GSH_CHARGE_LINGERING, /* object freed, memory kept alive by an export or a mapping */
	GSH_CHARGE_KINDS
};

struct gsh_account {
	u64 quota_bytes;
	u64 charged_bytes; /* always the sum of by_kind */
	u64 reserved_bytes; /* calls under way */
	u64 peak_bytes; /* highest charged_bytes since the last gsh_account_peak_reset */
	u64 by_kind_bytes[GSH_CHARGE_KINDS];
	u64 refusals; /* reserve() that said no */
	u64 faults; /* releases and settlements of more than was there: bugs, shown, never wrapped */
};

void gsh_account_init(struct gsh_account *account, u64 quota_bytes);

/*
 * 0 or -EDQUOT: charged + reserved + bytes would pass the quota (or 2^64).
 * A refusal is counted and changes nothing else. bytes 0 succeeds only while
 * the account is not over its quota: an over-quota tenant gets nothing more.
 */
int gsh_account_reserve(struct gsh_account *account, u64 bytes);

/* Would reserve(bytes) succeed? Counts nothing. */
bool gsh_account_fits(const struct gsh_account *account, u64 bytes);

void gsh_account_unreserve(struct gsh_account *account, u64 bytes);

/*
 * The call succeeded: drops the reservation, charges the true size.
 * true: charged + reserved is within the quota afterwards. false: it is not
 * (the driver took more than the reserved upper bound); the charge stands, the
 * caller frees the object, or leaves it charged when that fails.
 */
bool gsh_account_settle(struct gsh_account *account, enum gsh_charge_kind kind, u64 reserved_bytes,
			u64 actual_bytes);

/* Unconditional: for memory that exists whether we like it or not. Saturates at 2^64 - 1. */
void gsh_account_charge(struct gsh_account *account, enum gsh_charge_kind kind, u64 bytes);

/* Returns what was really released: less than asked for is counted in faults. */
u64 gsh_account_release(struct gsh_account *account, enum gsh_charge_kind kind, u64 bytes);

/* Sum unchanged. Returns what was really moved. */
u64 gsh_account_move(struct gsh_account *account, enum gsh_charge_kind from,
		     enum gsh_charge_kind to, u64 bytes);

/* Sets a kind's charge to a measured figure (managed memory, overhead). true: within the quota. */
bool gsh_account_set_kind(struct gsh_account *account, enum gsh_charge_kind kind, u64 bytes);

/* Live change. Below the charge is accepted: refuses new allocations, takes nothing away. */
void gsh_account_set_quota(struct gsh_account *account, u64 quota_bytes);

void gsh_account_peak_reset(struct gsh_account *account);

bool gsh_account_over(const struct gsh_account *account);

/* What a tenant is shown: min(max(0, quota - charged), card_free_bytes). */
u64 gsh_account_free_bytes(const struct gsh_account *account, u64 card_free_bytes);

/* ---- a card ---- */

#define GSH_OVERCOMMIT_NONE_PERMILLE 1000u
#define GSH_OVERCOMMIT_MAX_PERMILLE  100000u

struct gsh_card_books {
	u64 total_bytes;
	u64 driver_reserved_bytes;
	u64 granted_bytes; /* sum of the quotas on this card */
	u32 overcommit_permille; /* 1000: quotas sum to at most what the card has */
};

void gsh_card_books_init(struct gsh_card_books *card, u64 total_bytes, u64 driver_reserved_bytes,
			 u32 overcommit_permille);

/* (total - driver's reserve) x overcommit: the most the quotas may sum to. For the extack text. */
u64 gsh_card_grantable_bytes(const struct gsh_card_books *card);

/* grantable - granted, never below 0. */
u64 gsh_card_ungranted_bytes(const struct gsh_card_books *card);

/*
 * A share's quota changes from old to new (0: none before / none after).
 * 0; -ENOSPC: the sum would pass what can be granted; -EOVERFLOW: the sum does
 * not fit 64 bits, or old_bytes was never granted. Refusals change nothing.
 * Lowering always succeeds, also while the card is over-granted.
 */
int gsh_card_grant_change(struct gsh_card_books *card, u64 old_bytes, u64 new_bytes);

/* ---- what one request can take ---- */

/*
 * Bounds of the memory an allocation of size bytes takes (attributes as in
 * NV_MEMORY_ALLOCATION_PARAMS and NVOS32): lower is the least the driver can
 * take, upper the most. lower <= upper always; both 2^64 - 1 when the size
 * cannot be rounded up. Reserve upper; if that does not fit but lower does,
 * the caller may reserve lower, run the call and let settle judge.
 */
void gsh_memory_bounds(u64 size_bytes, u32 attr, u32 attr2, u64 *lower_bytes, u64 *upper_bytes);

#endif /* GSH_CORE_BOOKS_H */
