/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only door from core/ to the outside: fixed-size types, memory and string
 * functions, error numbers. The same sources build into the module, into the
 * test library and into the benchmark.
 */
#ifndef GSH_CORE_TYPES_H
#define GSH_CORE_TYPES_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/build_bug.h>
#include <linux/math64.h>
#else
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#ifndef U32_MAX
#define U32_MAX ((u32)~0U)
#endif
#ifndef U64_MAX
#define U64_MAX ((u64)~0ULL)
#endif

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}
#endif

#define GSH_ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define GSH_MIN(a, b)         ((a) < (b) ? (a) : (b))

/* "This request has no such field." */
#define GSH_OFF_NONE ((u16)0xffff)

/*
 * Fields of a copied call are read and written by offset, since a struct's
 * shape depends on the driver's version. The caller has checked the length.
 */
static inline u8 gsh_get8(const void *base, u32 off)
{
	return ((const u8 *)base)[off];
}

static inline u32 gsh_get32(const void *base, u32 off)
{
	u32 value;

	memcpy(&value, (const u8 *)base + off, sizeof(value));
	return value;
}

static inline u64 gsh_get64(const void *base, u32 off)
{
	u64 value;

	memcpy(&value, (const u8 *)base + off, sizeof(value));
	return value;
}

static inline void gsh_put32(void *base, u32 off, u32 value)
{
	memcpy((u8 *)base + off, &value, sizeof(value));
}

static inline void gsh_put64(void *base, u32 off, u64 value)
{
	memcpy((u8 *)base + off, &value, sizeof(value));
}

#endif /* GSH_CORE_TYPES_H */
