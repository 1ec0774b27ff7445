/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/metrics/metrics_table.h"

/*
 * Reads the packets of a session that is being recorded, and keeps the values of metrics_table.h:
 *
 *	metrics_feed_new(&setup, table, &f)
 *	metrics_feed_begin_session(f)            the service or a producer may have restarted
 *	metrics_feed_add(f, data, len) ...       packets of linux.ebpf_counters, cgroup_stats, cgroup_members
 *	metrics_feed_end_period(f, offset)       about once a second
 *
 * Totals continue over sessions: what a session counts from its start is added to them, and
 * counters of the kernel are taken as they are. Not thread-safe.
 */
struct metrics_feed;

struct metrics_setup {
	/* Subjects whose names have not come are named by their path after this time. */
	uint64_t settle_ns;
	/* A subject without a packet for this long is removed. Longer than the period in which data
	 * sources repeat their descriptions. */
	uint64_t gone_ns;
	uint64_t choose_ns; /* how often subjects are chosen */
};

/* t is borrowed. Returns 0 or -ENOMEM. */
int metrics_feed_new(const struct metrics_setup *setup, struct metrics_table *t,
		     struct metrics_feed **ret);
void metrics_feed_free(struct metrics_feed *f);
void metrics_feed_begin_session(struct metrics_feed *f);
/* Adds a TracePacket. Its bytes are untrusted. */
void metrics_feed_add(struct metrics_feed *f, const uint8_t *data, size_t len);
/* Ends a period: adds the costs of eBPF programs, removes subjects without packets, and chooses
 * subjects. realtime_offset_ns: CLOCK_REALTIME minus CLOCK_BOOTTIME. */
void metrics_feed_end_period(struct metrics_feed *f, int64_t realtime_offset_ns);
/* Returns what linux.ebpf_counters could not do, one sentence a line; "" if there is nothing. */
const char *metrics_feed_failures(const struct metrics_feed *f);
