// SPDX-License-Identifier: GPL-2.0
/*
 * Charging: every route that takes card memory ends in these few functions.
 * share->lock guards the account; it is a leaf and is taken under mmap_lock.
 */
#include "gpushare.h"
#include "trace.h"

/* First guess, before a clean measurement on this card; context buffers of
 * current cards are of this order. Only ever used to reserve. */
static const u64 overhead_first[GSH_OVERHEAD_KINDS] = {
	[GSH_OVERHEAD_GROUP] = 8ull << 20,
	[GSH_OVERHEAD_CHANNEL] = 1ull << 20,
	[GSH_OVERHEAD_ENGINE] = 0,
	[GSH_OVERHEAD_VASPACE] = 0,
};

#define OVERHEAD_MOST_BYTES (512ull << 20)

bool gsh_share_reserve(struct gsh_share *share, u64 bytes)
{
	bool ok;

	/* Only asks first: one request may try several times before it is refused. */
	spin_lock(&share->lock);
	ok = gsh_account_fits(&share->account, bytes) &&
	     !gsh_account_reserve(&share->account, bytes);
	trace_gpushare_charge(share, GSH_TRACE_RESERVE, GSH_CHARGE_KINDS, bytes, ok);
	spin_unlock(&share->lock);
	return ok;
}

void gsh_share_unreserve(struct gsh_share *share, u64 bytes)
{
	spin_lock(&share->lock);
	gsh_account_unreserve(&share->account, bytes);
	trace_gpushare_charge(share, GSH_TRACE_UNRESERVE, GSH_CHARGE_KINDS, bytes, true);
	spin_unlock(&share->lock);
}

bool gsh_share_settle(struct gsh_share *share, enum gsh_charge_kind kind, u64 reserved, u64 actual)
{
	bool within;

	spin_lock(&share->lock);
	within = gsh_account_settle(&share->account, kind, reserved, actual);
	trace_gpushare_charge(share, GSH_TRACE_SETTLE, kind, actual, within);
	spin_unlock(&share->lock);
	atomic64_add(actual, &share->card->charged);
	return within;
}

void gsh_share_charge(struct gsh_share *share, enum gsh_charge_kind kind, u64 bytes)
{
	spin_lock(&share->lock);
	gsh_account_charge(&share->account, kind, bytes);
	trace_gpushare_charge(share, GSH_TRACE_CHARGE, kind, bytes, true);
	spin_unlock(&share->lock);
	atomic64_add(bytes, &share->card->charged);
}

void gsh_share_release(struct gsh_share *share, enum gsh_charge_kind kind, u64 bytes)
{
	u64 released;

	spin_lock(&share->lock);
	released = gsh_account_release(&share->account, kind, bytes);
	trace_gpushare_charge(share, GSH_TRACE_RELEASE, kind, released, released == bytes);
	spin_unlock(&share->lock);
	atomic64_sub(released, &share->card->charged);
	WARN_ON_ONCE(released != bytes);
}

void gsh_share_move(struct gsh_share *share, enum gsh_charge_kind from, enum gsh_charge_kind to,
		    u64 bytes)
{
	spin_lock(&share->lock);
	gsh_account_move(&share->account, from, to, bytes);
	trace_gpushare_charge(share, GSH_TRACE_MOVE, to, bytes, true);
	spin_unlock(&share->lock);
}

/* Managed memory: sets the figure; growing needs room, shrinking never does. */
bool gsh_share_set_managed(struct gsh_share *share, u64 from, u64 to)
{
	bool ok = true;

	spin_lock(&share->lock);
	if (to > from) {
		ok = gsh_account_fits(&share->account, to - from) &&
		     !gsh_account_reserve(&share->account, to - from);
		if (ok)
			gsh_account_settle(&share->account, GSH_CHARGE_MANAGED, to - from,
					   to - from);
		trace_gpushare_charge(share, GSH_TRACE_SETTLE, GSH_CHARGE_MANAGED, to - from, ok);
	} else if (to < from) {
		gsh_account_release(&share->account, GSH_CHARGE_MANAGED, from - to);
		trace_gpushare_charge(share, GSH_TRACE_RELEASE, GSH_CHARGE_MANAGED, from - to,
				      true);
	}
	spin_unlock(&share->lock);
	if (ok)
		atomic64_add((s64)(to - from), &share->card->charged);
	return ok;
}

void gsh_share_refused(struct gsh_share *share, u64 bytes)
{
	spin_lock(&share->lock);
	share->account.refusals++;
	spin_unlock(&share->lock);
	atomic64_inc(&share->tenant->stats.refused_quota);
	trace_gpushare_refuse(share->tenant, GSH_TRACE_QUOTA, 0, 0, bytes);
	gsh_event(GPUSHARE_EVENT_TYPE_QUOTA_REFUSED, share->tenant, share->card, bytes,
		  "allocation refused: it would pass the quota");
}

struct gsh_account gsh_share_account(struct gsh_share *share)
{
	struct gsh_account copy;

	spin_lock(&share->lock);
	copy = share->account;
	spin_unlock(&share->lock);
	return copy;
}

struct gsh_view gsh_share_view(struct gsh_share *share)
{
	struct gsh_account account = gsh_share_account(share);
	struct gsh_view view = {
		.quota_bytes = account.quota_bytes,
		.charged_bytes = account.charged_bytes,
		.card_free_bytes = U64_MAX,
	};
	u64 free;

	if (!gsh_card_free_bytes(share->card, &free))
		view.card_free_bytes = free;
	return view;
}

/* ---- what the driver takes by itself ---- */

u64 gsh_overhead_estimate(struct gsh_card *card, int kind)
{
	u64 known;

	spin_lock(&card->overhead_lock);
	known = card->overhead_known[kind];
	spin_unlock(&card->overhead_lock);
	return known == U64_MAX ? overhead_first[kind] : known;
}

/*
 * Use outside tenants, and managed memory that moves, are not seen from here: a
 * single figure may be off in either direction. So one figure may at most halve
 * or double what is known, and the first is bounded by what contexts can be.
 */
u64 gsh_overhead_learn(struct gsh_card *card, int kind, u64 bytes)
{
	u64 known;

	spin_lock(&card->overhead_lock);
	known = card->overhead_known[kind];
	if (known == U64_MAX)
		bytes = min(bytes, OVERHEAD_MOST_BYTES);
	else if (known)
		bytes = clamp(bytes, known / 2, 2 * known);
	else
		bytes = min(bytes, overhead_first[kind]);
	card->overhead_known[kind] = bytes;
	spin_unlock(&card->overhead_lock);
	return bytes;
}

void gsh_charging_begin(struct gsh_card *card, u64 *seq)
{
	*seq = atomic64_inc_return(&card->charge_seq);
	atomic_inc(&card->charging);
}

bool gsh_charging_end(struct gsh_card *card, u64 seq)
{
	bool alone = atomic_read(&card->charging) == 1 && atomic64_read(&card->charge_seq) == seq;

	atomic64_inc(&card->charge_seq); /* whoever began meanwhile was not alone */
	atomic_dec(&card->charging);
	return alone;
}

void gsh_charging_disturb(struct gsh_card *card)
{
	atomic64_inc(&card->charge_seq);
}
