/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/tracefs/instance.h"
#include "ftrace/options/made_events.h"
#include "ftrace/format/page.h"
#include "ftrace/events/ftrace_config.h"
#include "wire/pb_enc.h"

/*
 * The kernel's own counters of each CPU's ring (per_cpu/cpuN/stats), and the packet that carries
 * them: FtraceStats.
 */
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

/* Those of so many CPUs by number; one that cannot be read is left out. 0 or -ENOMEM. */
int ring_stats_read(const struct instance *i, const uint32_t *cpus, size_t n,
		    struct ring_stats_all *ret);
/* Adds the counters of other rings, CPU by CPU; times stay as they are. */
void ring_stats_add(struct ring_stats_all *all, const struct ring_stats_all *more);
void ring_stats_deinit(struct ring_stats_all *all);

enum ring_stats_phase { RING_STATS_START = 1, RING_STATS_END = 2 };

/* What other parts of a session have to say; each fills its own. */
struct ring_stats_more {
	bool preserved; /* the rings were not cleared at the start */
	int64_t kprobe_hits, kprobe_misses; /* of the session's probes so far */
	const struct made_events *probes; /* each of them; NULL: none to tell */
	uint32_t ksyms_parsed; /* names of the kernel that are known, */
	uint32_t ksyms_kb; /* and their memory */
};

struct ring_stats_packet {
	enum ring_stats_phase phase;
	const struct ring_stats_all *all; /* NULL: none to tell */
	const struct reports *reports; /* NULL: none to tell */
	const uint64_t *status_counts; /* PAGE_STATUS_COUNT; NULL: none to tell */
	const struct ring_stats_more *more; /* NULL: nothing to tell */
	uint32_t
		buffer_pages; /* of a ring as the kernel made it; of the machine's size; 0: unknown */
	uint32_t asked_pages;
};

/* Writes the field ftrace_stats of an open packet. */
void ring_stats_write(const struct ring_stats_packet *p, struct pb_enc *e);
