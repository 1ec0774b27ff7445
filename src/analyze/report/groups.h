/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Groups of samples in ns: their number, sum, largest one and percentiles. For percentiles the same
 * samples are added twice: the first time they are counted, the second time each is stored in
 * one array.
 */

struct group {
	uint64_t key;
	uint64_t n, flagged; /* flagged: of n */
	uint64_t total, other; /* ns; wraps around for impossible times. other: the caller's */
	int64_t longest, longest_ts; /* of equal ones, the last */
	size_t first; /* of its samples in struct groups */
	uint64_t n_filled;
};

struct groups {
	struct group *list; /* owned; in the order of their first samples */
	size_t n, cap;
	uint32_t *slots; /* owned: number + 1; open addressing */
	size_t n_slots;
	uint64_t factor; /* of the hash: odd and random, so that a trace cannot cause collisions */
	int64_t *samples; /* owned */
	bool filling; /* groups_begin_fill() was called: samples come again, and are stored */
	bool failed; /* out of memory */
};

struct group_sample {
	uint64_t key;
	int64_t ns, ts;
	bool flagged;
};

/* Adds a sample. Returns its group, valid until the next call, or NULL if out of memory. */
struct group *groups_add(struct groups *g, const struct group_sample *s);

/* Returns the group of a key, or NULL. */
struct group *groups_find(struct groups *g, uint64_t key);

/* Ends the counting: from now on groups_add() stores each sample, which must come again. Returns
 * false if out of memory. */
bool groups_begin_fill(struct groups *g);

/* Returns the sample of a rank from 1 to n; 0 before groups_begin_fill(). Reorders the samples. */
int64_t groups_ranked(struct groups *g, const struct group *group, uint64_t rank);

static inline int64_t groups_p50(struct groups *g, const struct group *group)
{
	return groups_ranked(g, group, (group->n + 1) / 2);
}

static inline int64_t groups_p99(struct groups *g, const struct group *group)
{
	return groups_ranked(g, group, (group->n * 99 + 99) / 100);
}

void groups_deinit(struct groups *g);

/* The largest samples: a heap whose root is the least of them. */
struct largest {
	struct largest_item {
		int64_t ns;
		uint32_t row, other; /* of equal ones, the lowest row counts as the largest */
	} * items; /* owned */
	size_t n, cap, most;
	bool failed; /* out of memory */
};

/* Adds an item. If there are `most` already, the least of all is left out. */
void largest_add(struct largest *l, int64_t ns, uint32_t row, uint32_t other);
