// SPDX-License-Identifier: GPL-2.0
/* Memory accounts: see books.h. Every sum is checked or saturates; nothing wraps. */
#include "core/books.h"
#include "nvabi/numbers.h"

static u64 add_saturated(u64 a, u64 b)
{
	return a > U64_MAX - b ? U64_MAX : a + b;
}

static u64 held_bytes(const struct gsh_account *account)
{
	return add_saturated(account->charged_bytes, account->reserved_bytes);
}

static bool within_quota(const struct gsh_account *account)
{
	return held_bytes(account) <= account->quota_bytes;
}

/* Takes away at most what is there; the rest is a fault of ours, counted. */
static u64 take(struct gsh_account *account, u64 *from, u64 bytes)
{
	u64 taken = GSH_MIN(*from, bytes);

	*from -= taken;
	if (taken < bytes)
		account->faults++;
	return taken;
}

/* Adds to a kind no more than the sum can carry: charged stays the sum of the kinds. */
static void add_charge(struct gsh_account *account, enum gsh_charge_kind kind, u64 bytes)
{
	u64 room = U64_MAX - account->charged_bytes;

	if (bytes > room) {
		account->faults++;
		bytes = room;
	}
	account->by_kind_bytes[kind] += bytes;
	account->charged_bytes += bytes;
	if (account->charged_bytes > account->peak_bytes)
		account->peak_bytes = account->charged_bytes;
}

void gsh_account_init(struct gsh_account *account, u64 quota_bytes)
{
	memset(account, 0, sizeof(*account));
	account->quota_bytes = quota_bytes;
}

bool gsh_account_fits(const struct gsh_account *account, u64 bytes)
{
	u64 held = held_bytes(account);

	return held <= account->quota_bytes && bytes <= account->quota_bytes - held;
}

int gsh_account_reserve(struct gsh_account *account, u64 bytes)
{
	if (!gsh_account_fits(account, bytes)) {
		account->refusals++;
		return -EDQUOT;
	}
	account->reserved_bytes += bytes;
	return 0;
}

void gsh_account_unreserve(struct gsh_account *account, u64 bytes)
{
	take(account, &account->reserved_bytes, bytes);
}

bool gsh_account_settle(struct gsh_account *account, enum gsh_charge_kind kind, u64 reserved_bytes,
			u64 actual_bytes)
{
	gsh_account_unreserve(account, reserved_bytes);
	add_charge(account, kind, actual_bytes);
	return within_quota(account);
}

void gsh_account_charge(struct gsh_account *account, enum gsh_charge_kind kind, u64 bytes)
{
	add_charge(account, kind, bytes);
}

u64 gsh_account_release(struct gsh_account *account, enum gsh_charge_kind kind, u64 bytes)
{
	u64 released = take(account, &account->by_kind_bytes[kind], bytes);

	account->charged_bytes -= released;
	return released;
}

u64 gsh_account_move(struct gsh_account *account, enum gsh_charge_kind from,
		     enum gsh_charge_kind to, u64 bytes)
{
	u64 moved = take(account, &account->by_kind_bytes[from], bytes);

	account->by_kind_bytes[to] += moved; /* the sum already carries it */
	return moved;
}

bool gsh_account_set_kind(struct gsh_account *account, enum gsh_charge_kind kind, u64 bytes)
{
	u64 now = account->by_kind_bytes[kind];

	if (bytes >= now)
		add_charge(account, kind, bytes - now);
	else
		gsh_account_release(account, kind, now - bytes);
	return within_quota(account);
}

void gsh_account_set_quota(struct gsh_account *account, u64 quota_bytes)
{
	account->quota_bytes = quota_bytes;
}

void gsh_account_peak_reset(struct gsh_account *account)
{
	account->peak_bytes = account->charged_bytes;
}

bool gsh_account_over(const struct gsh_account *account)
{
	return account->charged_bytes > account->quota_bytes;
}

u64 gsh_account_free_bytes(const struct gsh_account *account, u64 card_free_bytes)
{
	if (account->charged_bytes >= account->quota_bytes)
		return 0;
	return GSH_MIN(account->quota_bytes - account->charged_bytes, card_free_bytes);
}

/* ---- a card ---- */

void gsh_card_books_init(struct gsh_card_books *card, u64 total_bytes, u64 driver_reserved_bytes,
			 u32 overcommit_permille)
{
	card->total_bytes = total_bytes;
	card->driver_reserved_bytes = driver_reserved_bytes;
	card->granted_bytes = 0;
	card->overcommit_permille = GSH_MIN(overcommit_permille, GSH_OVERCOMMIT_MAX_PERMILLE);
}

/* bytes x permille / 1000, rounded down, saturating: parts keep every product in 64 bits. */
static u64 scale_permille(u64 bytes, u32 permille)
{
	u64 thousands = div_u64(bytes, 1000);
	u64 rest = bytes - thousands * 1000;

	if (permille && thousands > U64_MAX / permille)
		return U64_MAX;
	return add_saturated(thousands * permille, div_u64(rest * permille, 1000));
}

u64 gsh_card_grantable_bytes(const struct gsh_card_books *card)
{
	if (card->driver_reserved_bytes >= card->total_bytes)
		return 0;
	return scale_permille(card->total_bytes - card->driver_reserved_bytes,
			      card->overcommit_permille);
}

u64 gsh_card_ungranted_bytes(const struct gsh_card_books *card)
{
	u64 grantable = gsh_card_grantable_bytes(card);

	return grantable > card->granted_bytes ? grantable - card->granted_bytes : 0;
}

int gsh_card_grant_change(struct gsh_card_books *card, u64 old_bytes, u64 new_bytes)
{
	u64 others;

	if (old_bytes > card->granted_bytes)
		return -EOVERFLOW;
	others = card->granted_bytes - old_bytes;
	if (new_bytes > U64_MAX - others)
		return -EOVERFLOW;
	if (new_bytes > old_bytes && others + new_bytes > gsh_card_grantable_bytes(card))
		return -ENOSPC;
	card->granted_bytes = others + new_bytes;
	return 0;
}

/* ---- what one request can take ---- */

#define PAGE_4K     0x1000ULL
#define GRANULE_64K 0x10000ULL /* of the driver's physical allocator */
#define PAGE_128K   0x20000ULL /* biggest "big" page, and compression's unit */
#define PAGE_2M     0x200000ULL
#define PAGE_512M   0x20000000ULL
#define PAGE_256G   0x4000000000ULL

static u64 round_up_saturated(u64 bytes, u64 unit)
{
	u64 rest = bytes & (unit - 1);

	if (!rest)
		return bytes;
	return add_saturated(bytes, unit - rest);
}

static u64 huge_page_bytes(u32 attr2)
{
	switch (NVOS32_ATTR2_PAGE_SIZE_HUGE(attr2)) {
	case 2:
		return PAGE_512M;
	case 3:
		return PAGE_256G;
	default:
		return PAGE_2M;
	}
}

void gsh_memory_bounds(u64 size_bytes, u32 attr, u32 attr2, u64 *lower_bytes, u64 *upper_bytes)
{
	u64 lower_unit = GRANULE_64K;
	u64 upper_unit = size_bytes >= PAGE_2M ? PAGE_2M : PAGE_128K;

	switch (NVOS32_ATTR_PAGE_SIZE(attr)) {
	case NVOS32_ATTR_PAGE_SIZE_4KB:
		lower_unit = PAGE_4K;
		break;
	case NVOS32_ATTR_PAGE_SIZE_HUGE:
		upper_unit = huge_page_bytes(attr2);
		lower_unit = upper_unit;
		break;
	default:
		break;
	}
	*lower_bytes = round_up_saturated(size_bytes, lower_unit);
	*upper_bytes = round_up_saturated(size_bytes, upper_unit);
}
