/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/events/ftrace_config.h"
#include "ftrace/options/dynevents.h"
#include "ftrace/ring/ring_stats.h"
#include "wire/pb_enc.h"

/* The message FtraceStats: the kernel's counters of each ring, setup errors, and parse errors.
 * Fields that are zero or NULL are omitted from the packet. */
enum ftrace_stats_phase { FTRACE_STATS_START = 1, FTRACE_STATS_END = 2 };

/* Facts of other parts of a session; each part sets its own. */
struct ftrace_stats_extra {
	bool preserved; /* the rings were not cleared at the start */
	bool overwrites; /* the rings are read on request only */
	int64_t kprobe_hits, kprobe_misses; /* of the session's probes so far */
	const struct dynevents *probes; /* hits and misses of each probe; NULL: omitted */
	char *const *foreign_changes; /* list of libtracefs; NULL: none */
	uint32_t ksyms_parsed; /* kernel function names in the symbol table */
	uint32_t ksyms_kb; /* memory of the symbol table */
};

struct ftrace_stats_packet {
	enum ftrace_stats_phase phase;
	const struct ring_stats_all *all; /* NULL: omitted */
	const struct setup_errors *errors; /* NULL: omitted */
	const uint64_t *status_counts; /* RING_PAGE_STATUS_COUNT entries; NULL: omitted */
	const struct ftrace_stats_extra *more; /* NULL: omitted */
	const char *instance; /* name of the instance's directory; NULL: omitted */
	/* sizes of a ring, in pages of the machine; 0: unknown */
	uint32_t buffer_pages; /* as allocated */
	uint32_t requested_pages; /* as requested of the kernel */
};

/* Writes the field ftrace_stats of an open packet. */
void ftrace_stats_write(const struct ftrace_stats_packet *p, struct pb_enc *e);
