/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"
#include "wire/pb_dec.h"

/*
 * Incremental state of the packet sequences of one machine: what packets leave out because an
 * earlier one of their sequence had it. A clear begins a new state; events that are queued keep the
 * number of theirs.
 */

struct interned_entry;
struct running_sum;

/* What older programs' events refer to: the thread of the sequence's last descriptor, and times of
 * events. */
struct sequence_thread {
	bool known;
	bool has_times; /* from a ThreadDescriptor of its own */
	int64_t pid, tid;
	int64_t ns, thread_ns, instructions; /* of the last event */
};

struct sequence_state {
	uint32_t base; /* the state whose tables and sums it uses: since the last clear */
	struct interned_entry *interned; /* owned hash: table and iid to an entry */
	struct running_sum *sums; /* owned hash: of incremental counters, by track */
	struct pb_field event_defaults; /* TrackEventDefaults; id 0: none */
	struct pb_field perf_defaults; /* PerfSampleDefaults; id 0: none */
	uint32_t default_clock; /* timestamp_clock_id; 0: none */
	uint64_t default_track;
	bool has_default_track;
	bool queued; /* events refer to it: new defaults begin another one */
	struct sequence_thread thread;
};

struct packet_sequence;

struct sequences {
	struct store *store;
	struct packet_sequence *by_id; /* owned hash */
	struct sequence_state **states; /* owned; by number, which all sequences share */
	size_t n_states, cap_states;
};

/* One sequence. The state is valid after a clear, until packets are missing. */
struct packet_sequence_info {
	uint32_t id;
	uint32_t state; /* a number of sequences.states */
	bool valid;
	bool seen; /* had a packet before this one */
	bool has_first_packet; /* first_packet_on_sequence was set */
	bool told_setup_errors; /* in FtraceStats */
	uint64_t flagged, skipped; /* packets that need the state; without it */
	uint64_t drops; /* packets with a gap before them */
};

void sequences_init(struct sequences *q, struct store *store);
void sequences_deinit(struct sequences *q);

/* Returns the sequence, made at its first use; NULL without memory. */
struct packet_sequence_info *sequences_get(struct sequences *q, uint32_t id);
struct packet_sequence_info *sequences_find(struct sequences *q, uint32_t id);

void sequences_clear(struct sequences *q, struct packet_sequence_info *s);
void sequences_set_defaults(struct sequences *q, struct packet_sequence_info *s,
			    const struct pb_field *f);
/* Stores the entries of an InternedData. */
void sequences_intern(struct sequences *q, struct packet_sequence_info *s,
		      const struct pb_field *f);

struct sequence_state *sequences_state(struct sequences *q, uint32_t number);
/* The one that has the tables of a state. */
struct sequence_state *sequences_base(struct sequences *q, uint32_t number);
/* Adds to the sum of a track since the last clear, and returns it. */
double sequences_sum(struct sequences *q, uint32_t state, uint64_t track, double v);
/* Returns the string of an entry, or NULL_U32. table: the field number in InternedData. */
uint32_t sequences_string(struct sequences *q, uint32_t state, uint32_t table, uint64_t iid);
/* Returns true if there is such an entry. */
bool sequences_has(struct sequences *q, uint32_t state, uint32_t table, uint64_t iid);
/* Returns true and the entry's message. Counts an unknown iid. */
bool sequences_message(struct sequences *q, uint32_t state, uint32_t table, uint64_t iid,
		       struct pb_field *ret);
