/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"
#include "wire/pb_dec.h"

/*
 * Incremental state of the packet sequences of one machine: what packets leave out because an earlier one of
 * their sequence had it. A clear begins a new state; events that are queued keep the number of theirs.
 */

/* Tables of InternedData that are used, by its field number. */
struct interned_entry;

struct sequence_state {
	struct interned_entry *interned; /* owned hash: table and iid to a string */
	struct pb_field defaults; /* TracePacketDefaults; id 0: none */
	uint32_t default_clock; /* timestamp_clock_id; 0: none */
	uint64_t default_track;
	bool has_default_track;
	int64_t thread_utid; /* of the last thread descriptor; -1: none */
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
/* Returns the string of an entry, or NULL_U32. table: the field number in InternedData. */
uint32_t sequences_string(struct sequences *q, uint32_t state, uint32_t table, uint64_t iid);
