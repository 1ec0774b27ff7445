/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/tracefs/instance.h"

/* The kernel's counters of each CPU's ring. Format: per_cpu/cpuN/stats of tracefs. */
struct ring_stats {
	uint32_t cpu;
	uint64_t entries; /* in the ring */
	uint64_t overrun; /* overwritten before they were read */
	uint64_t commit_overrun; /* lost: an interrupt filled the ring during a write */
	uint64_t bytes; /* in the ring */
	uint64_t dropped_events; /* lost: a full ring that does not overwrite */
	uint64_t read_events;
	double oldest_event_ts; /* seconds of the trace clock */
	double now_ts;
};

/* Parses the text of a stats file; skips unknown lines. Returns 0, or -EINVAL if it contains none
 * of the counters. */
int ring_stats_parse(const char *text, struct ring_stats *ret);

/* The counters of all rings, read at the same time. */
struct ring_stats_all {
	struct ring_stats *rings; /* owned */
	size_t n;
};

/* Adds the counters of other rings, CPU by CPU. Times stay unchanged. */
void ring_stats_add(struct ring_stats_all *all, const struct ring_stats_all *more);
void ring_stats_deinit(struct ring_stats_all *all);
