/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/counters/track_spec.h"

struct writer;

/* The packets of client/counters/tracks.h, one function each. */

/* Maximum number of values in one packet: the event's own and eight extra ones. Readers drop all
 * values of a packet that has more. */
#define TRACK_BATCH_MAX 9

struct track_value {
	bool is_double;
	union {
		int64_t i;
		double d;
	};
};

/* Values of different tracks that go into one packet: they have the same time and the same kind. */
struct track_batch {
	uint64_t ns; /* CLOCK_BOOTTIME */
	unsigned n;
	uint64_t uuids[TRACK_BATCH_MAX];
	struct track_value values[TRACK_BATCH_MAX];
};

/* Starts a new state: readers then discard earlier descriptors and defaults. Later packets rely on
 * its defaults. */
void track_packet_begin_state(struct writer *w, uint64_t ns);
/* Writes a descriptor. ns: CLOCK_BOOTTIME; for a process or thread a time at which it existed.
 * parent_uuid 0: the root. */
void track_packet_descriptor(struct writer *w, uint64_t ns, const struct track_spec *spec,
			     uint64_t uuid, uint64_t parent_uuid);
/* Writes the values of a batch. n is at least 1. */
void track_packet_values(struct writer *w, const struct track_batch *b);
