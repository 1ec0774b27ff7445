/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/tracefs/instance.h"

/* The kernel's own counters of each CPU's ring. Format: per_cpu/cpuN/stats of tracefs. */
struct ring_stats {
	uint32_t cpu;
	uint64_t entries; /* in the ring now */
	uint64_t overrun; /* overwritten unread */
	uint64_t commit_overrun;
	uint64_t bytes; /* in the ring now */
	uint64_t dropped_events;
	uint64_t read_events;
	double oldest_event_ts; /* s of the trace clock */
	double now_ts;
};

/* Reads the text of a stats file; lines that it does not know are skipped. 0, or -EINVAL when it
 * has none of the counters. */
int ring_stats_parse(const char *text, struct ring_stats *ret);

/* All rings at one time. */
struct ring_stats_all {
	struct ring_stats *rings; /* owned */
	size_t n;
};

/* Adds the counters of other rings, CPU by CPU; times stay as they are. */
void ring_stats_add(struct ring_stats_all *all, const struct ring_stats_all *more);
void ring_stats_deinit(struct ring_stats_all *all);
