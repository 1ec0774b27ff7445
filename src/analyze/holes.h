/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/pb_read.h"

/*
 * Intervals of a trace without kernel events, per CPU: from the last event before a loss to the
 * first one after it. Three marks show a loss:
 *
 *	lost_ranges		of a bundle of sonda-probes: times and number of the events that the
 *				kernel's ring overwrote before this bundle, or before an earlier
 *				bundle that has only lost_events
 *	lost_events		of a bundle: the kernel's ring overwrote events before the bundle.
 *				lost_event_count is their number, where the kernel knows it
 *	previous_packet_dropped	of a packet: packets of its sequence are missing before it. Bundles
 *				were among them if the next bundle of a CPU has a
 *				previous_bundle_end_timestamp that is later than the end of the last
 *				bundle of that CPU
 *
 * In a snapshot of the recorder, a session may begin after another one has ended: nothing was
 * recorded between the two.
 *
 * Format: FtraceEventBundle of protos/trace/ftrace/ftrace_event_bundle.proto.
 */

#define HOLES_MAX 256u /* the longest holes; the others are only counted */
#define HOLES_MAX_CPUS 8192u /* CPUs x sequences; bundles of further ones are ignored */

struct hole {
	uint32_t cpu;
	uint32_t sequence; /* of the bundles */
	bool on_the_way; /* lost between ring and file; else in the kernel's ring */
	bool between_sessions; /* not recorded */
	uint64_t from_ns, to_ns; /* events' clock; from_ns 0: since the start of tracing */
	uint64_t events; /* 0 unknown */
};

/* Zero-initialise; holes_deinit frees. */
struct holes {
	struct hole list[HOLES_MAX]; /* by CPU and time */
	size_t n;
	uint64_t total; /* including holes that are not in the list */
	uint64_t counted; /* events in all ranges */
	struct hole_cpu *cpus; /* owned */
	size_t n_cpus, cap_cpus;
};

void holes_deinit(struct holes *h);

/* The relevant fields of a bundle. Times are 0 if absent. */
struct bundle_span {
	uint32_t cpu;
	bool has_ranges; /* the bundle has lost_ranges */
	bool lost; /* lost_events */
	uint64_t lost_count;
	uint64_t previous_end_ns;
	uint64_t first_ns, last_ns; /* times of its first and its last event */
};

/* Notes that packets of this sequence are missing before its next packet. */
void holes_add_gap(struct holes *h, uint32_t sequence);
/* Notes that all sequences so far have ended, and another session begins. */
void holes_begin_session(struct holes *h);
/* Adds a bundle. Call it after holes_add_range() for its ranges. */
void holes_add_bundle(struct holes *h, uint32_t sequence, const struct bundle_span *b);
/* Adds a serialized LostRange. Returns false, and ignores the range, if it violates protobuf's
 * rules or ends before it begins. */
bool holes_add_range(struct holes *h, uint32_t sequence, uint32_t cpu,
		     const struct pb_field *range);
