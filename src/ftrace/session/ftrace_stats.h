/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/events/ftrace_config.h"
#include "ftrace/options/dynevents.h"
#include "ftrace/ring/ring_stats.h"
#include "wire/pb_enc.h"

/*
 * The message FtraceStats: the kernel's counters of each ring, what could not be set up, what could
 * not be parsed. Fields that are zero or NULL are left out of the packet.
 */
enum ftrace_stats_phase { FTRACE_STATS_START = 1, FTRACE_STATS_END = 2 };

/* What other parts of a session have to say; each fills its own. */
struct ftrace_stats_extra {
	bool preserved; /* the rings were not cleared at the start */
	int64_t kprobe_hits, kprobe_misses; /* of the session's probes so far */
	const struct dynevents *probes; /* each of them; NULL: none to tell */
	uint32_t ksyms_parsed; /* names of the kernel that are known, */
	uint32_t ksyms_kb; /* and their memory */
};

struct ftrace_stats_packet {
	enum ftrace_stats_phase phase;
	const struct ring_stats_all *all; /* NULL: none to tell */
	const struct setup_errors *errors; /* NULL: none to tell */
	const uint64_t *status_counts; /* RING_PAGE_STATUS_COUNT; NULL: none to tell */
	const struct ftrace_stats_extra *more; /* NULL: nothing to tell */
	uint32_t
		buffer_pages; /* of a ring as the kernel made it; of the machine's size; 0: unknown */
	uint32_t asked_pages;
};

/* Writes the field ftrace_stats of an open packet. */
void ftrace_stats_write(const struct ftrace_stats_packet *p, struct pb_enc *e);
