/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/queue.h>

#include "base/core/clock.h"
#include "stacks/unwind/rule_pool.h"

/*
 * The rows of all files, in ranges of the array that BPF programs read. Files with equal rows share
 * a range, such as the C library of several containers. Equal means equal byte by byte: a build id
 * is chosen by the author of a file, so it proves nothing. The identity of a file (device, inode,
 * size, time of change) leads to its range, and a file of one user cannot change the rows of
 * another user's files.
 *
 * If there is no room, the range that stacks have not used for the longest time is removed. Ranges
 * that stacks use all the time stay, and the new rows are refused: otherwise a large file would
 * push out the rows of running programs, which would push it out in turn. Small files take
 * precedence over large ones. The files of a user whose share is used up (owner_shares.h) push out
 * only files of users.
 */
/* Rows stay for this time after a stack has used them, except those of a file that is this many
 * times larger than the one that needs room. */
#define ROW_POOL_KEEP_NS (5 * NS_PER_S)
#define ROW_POOL_LARGE 8
#define ROW_POOL_USER_MAX (UNWIND_ROWS_MAX / 4) /* rows of files of one user */
#define ROW_POOL_USERS_MAX (UNWIND_ROWS_MAX / 2) /* of files of all users but root */

struct row_range {
	uint32_t first, n; /* rows */
	uint64_t used_ns; /* by a stack, CLOCK_MONOTONIC; 0: never */
	uint32_t owner; /* user id; root if one of its files is root's */
	uint64_t hash;
	uint16_t *rules; /* owned: their numbers */
	uint32_t n_rules;
	TAILQ_ENTRY(row_range) place, age;
};
TAILQ_HEAD(row_ranges, row_range);

struct row_pool {
	/* Set by the caller: sets used_ns of all ranges, and is called before one is chosen. */
	void (*refresh)(void *ctx);
	/* Set by the caller: nothing may refer to the range after the call, which frees it. */
	void (*evicted)(void *ctx, struct row_range *r);
	void *ctx;

	uint64_t keep_ns; /* set by the caller: usually ROW_POOL_KEEP_NS */
	bool evicts; /* set by the caller: row_pool_add() may evict ranges to make room */

	const struct unwind_maps *maps; /* borrowed */
	struct rule_pool rules;
	struct row_ranges by_place; /* owned; sorted by `first` */
	struct row_ranges by_age; /* ordered by when they were added or got another file */
	struct owner_shares shares;
	uint32_t n_rows;
	uint64_t n_evicted, n_refused;
};

/* Allocates the pool. maps is borrowed until deinit. Returns 0 or -ENOMEM. */
int row_pool_init(struct row_pool *p, const struct unwind_maps *maps);
void row_pool_deinit(struct row_pool *p);

/* Returns the range with the rows of a file, which it adds unless there are equal ones. The rules
 * of the rows are numbers in `rules`; the call replaces them. NULL: there is no room. */
struct row_range *row_pool_add(struct row_pool *p, uint32_t owner, const struct unwind_rule *rules,
			       uint32_t n_rules, struct unwind_row *rows, uint32_t n_rows);
