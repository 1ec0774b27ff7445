/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"
#include "wire/pb_read.h"

/*
 * Incremental state of the packet sequences of one machine: what packets leave out because an
 * earlier packet of their sequence had it. A clear begins a new state. A queued event keeps the
 * number of the state that it was written with.
 */

struct interned_entry;
struct running_sum;

/* What the events of older programs refer to: the thread of the sequence's last descriptor, and the
 * time of the last event. A clear forgets only the time. */
struct sequence_thread {
	bool known, has_time;
	int64_t pid, tid;
	int64_t writer; /* see import_translate_ids(); 0 once pid and tid are translated */
	int64_t ns, thread_ns, instructions; /* values of the last event that has a difference */
};

struct sequence_state {
	uint32_t base; /* number of the state whose interned entries and sums this one uses */
	struct interned_entry *interned; /* owned hash: table and iid to an entry */
	struct running_sum *sums; /* owned hash: of incremental counters, by track */
	struct pb_field event_defaults; /* TrackEventDefaults; id 0: none */
	struct pb_field perf_defaults; /* PerfSampleDefaults; id 0: none */
	struct pb_field stack_defaults; /* StackSampleDefaults; id 0: none */
	uint32_t default_clock; /* timestamp_clock_id; 0: none */
	uint64_t default_track; /* uuid */
	bool has_default_track;
	bool queued; /* queued events refer to it: new defaults begin another state */
	struct sequence_thread thread;
};

struct packet_sequence;

struct sequences {
	struct store *store;
	struct packet_sequence *by_id; /* owned hash */
	struct sequence_state **states; /* owned; by number, which all sequences share */
	size_t n_states, cap_states;
};

/* One sequence. Its state is valid from a clear until packets are missing. */
struct packet_sequence_info {
	uint32_t id;
	uint32_t state; /* a number of sequences.states */
	bool valid;
	bool seen; /* had a packet before this one */
	bool has_first_packet; /* first_packet_on_sequence was set */
	bool told_setup_errors; /* a FtraceStats of it had its setup errors */
	uint64_t flagged, skipped; /* packets that need the state; those skipped without it */
	uint64_t drops; /* packets with a gap before them */
	uint64_t dropped; /* packets_dropped of packets since the last track event */
};

void sequences_init(struct sequences *q, struct store *store);
void sequences_deinit(struct sequences *q);

/* Returns the sequence, valid until sequences_deinit(). sequences_get() makes it at its first use,
 * and returns NULL if out of memory; sequences_find() returns NULL if it was not made. */
struct packet_sequence_info *sequences_get(struct sequences *q, uint32_t id);
struct packet_sequence_info *sequences_find(struct sequences *q, uint32_t id);

/* Begins a new state. */
void sequences_clear(struct sequences *q, struct packet_sequence_info *s);
/* Sets the state's defaults from a TracePacketDefaults. */
void sequences_set_defaults(struct sequences *q, struct packet_sequence_info *s,
			    const struct pb_field *f);
/* Stores the entries of an InternedData. If entries have the same iid, the first is kept. */
void sequences_intern(struct sequences *q, struct packet_sequence_info *s,
		      const struct pb_field *f);

/* Returns the state with this number, which must exist. */
struct sequence_state *sequences_state(struct sequences *q, uint32_t number);
/* Adds v to the sum of a track since the last clear. Returns the sum. */
double sequences_add_to_sum(struct sequences *q, uint32_t state, uint64_t track, double v);
/* Returns the string of an interned entry, or NULL_U32. table: a field number of InternedData. */
uint32_t sequences_string(struct sequences *q, uint32_t state, uint32_t table, uint64_t iid);
/* Returns true if there is an entry with this iid. */
bool sequences_has(struct sequences *q, uint32_t state, uint32_t table, uint64_t iid);
/* Sets *ret to the entry's message. Returns false, and counts it, for an unknown iid. */
bool sequences_message(struct sequences *q, uint32_t state, uint32_t table, uint64_t iid,
		       struct pb_field *ret);
