/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GSH_KUNIT_BOOKS_SOAK_H
#define GSH_KUNIT_BOOKS_SOAK_H

#include "core/types.h"

/* Number of the first operation after which books and model differ; operations: none. One at a time. */
u64 gsh_books_soak(u64 seed, u64 operations);

#endif /* GSH_KUNIT_BOOKS_SOAK_H */
