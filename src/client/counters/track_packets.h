/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/counters/tracks.h"

/* The packets of client/counters/tracks.h, one function each. */

/* So many values may stand in one packet: one of its own and eight extra, of which readers drop all
 * when there are more. */
#define TRACK_BATCH_MAX 9

struct track_value {
	bool is_double;
	union {
		int64_t i;
		double d;
	};
};

/* Values of one moment and one kind, of different tracks, that go into one packet. */
struct track_batch {
	uint64_t ns; /* CLOCK_BOOTTIME */
	unsigned n;
	uint64_t uuids[TRACK_BATCH_MAX];
	struct track_value values[TRACK_BATCH_MAX];
};

/* The first of a state: nothing before it counts, and what later packets leave out. */
void track_packet_state(struct writer *w, uint64_t ns);
/* ns: CLOCK_BOOTTIME; of a process or thread a time at which it was there. parent_uuid 0: the root. */
void track_packet_descriptor(struct writer *w, uint64_t ns, const struct track_spec *spec,
			     uint64_t uuid, uint64_t parent_uuid);
/* n is at least 1. */
void track_packet_values(struct writer *w, const struct track_batch *b);
