/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/store/stat_numbers.h"
#include "analyze/store/store.h"

/*
 * Counters of losses and of what the importer could not use. Names, severity and source are those
 * of trace_processor's table `stats`.
 */

#define STAT_NO_INDEX INT64_MIN

void stats_deinit(struct store *s);

/* Add to, set and return a stat. index: a buffer or a CPU; STAT_NO_INDEX for a stat without an
 * index. If out of memory, the budget's error is set. stats_get() returns 0 for a stat that was
 * never set. */
void stats_add(struct store *s, enum stat_number stat, int64_t index, int64_t n);
void stats_set(struct store *s, enum stat_number stat, int64_t index, int64_t value);
int64_t stats_get(const struct store *s, enum stat_number stat, int64_t index);

/* Fills TABLE_STATS. A stat without an index has one row, even if it is 0; any other stat has a row
 * for each index that was set. */
void stats_fill_table(struct store *s);
