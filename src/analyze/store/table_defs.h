/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/store/store.h"

/* The tables, by enum store_table. */
extern const struct table_def table_defs[TABLES];

/* Makes an empty store, for which an import may take `limit` bytes. If out of memory, it sets
 * s->budget.error. */
void store_init(struct store *s, uint64_t limit);
/* Frees what the store owns, not the struct. */
void store_deinit(struct store *s);

/* Returns the row of t (TABLE_SLICE_TIMES) with the thread times of a slice, or NULL_U32. Its rows
 * are in the order of slices. */
uint32_t slice_times_row(const struct table *t, uint32_t slice);

/* Causes of cgroup_wait: numbers of CgroupWaits and of neighbour_waits
 * (analyze/report/passes.h). */
#define CGROUP_WAIT_CAUSES 5u
#define CGROUP_WAIT_QUOTA 4u

#define CGROUP_WAIT_BUCKETS 96u

/* Returns the shortest wait of a bucket of CgroupWaits, ns. */
static inline int64_t cgroup_wait_begin(uint32_t bucket)
{
	return bucket ? (int64_t)(4 + (bucket - 1) % 4) << (8 + (bucket - 1) / 4) : 0;
}

/* States whose numbers are fixed; store_init() makes them. */
#define STORE_STATE_RUNNING 0
#define STORE_STATE_RUNNABLE 1
