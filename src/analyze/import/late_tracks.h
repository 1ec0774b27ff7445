/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/tracks.h"

/*
 * Counters of a thread's process, where the process may become known after the event: their tracks
 * are made at the end of the trace. Until then a row of `counter` has the number of an entry for
 * its track.
 */

/* Dimensions after the first: strings. A counter whose thread has no process is of `by_thread`. */
struct late_counter {
	const struct track_type *by_process, *by_thread;
	uint32_t name;
	uint32_t keys[2];
};

/* Adds a value of a counter of the thread's process. */
void late_tracks_counter(struct import *im, struct machine *m, int64_t ts, uint32_t utid,
			 const struct late_counter *c, double value);
/* At the end: gives all such rows their tracks. */
void late_tracks_finish(struct import *im);
void late_tracks_deinit(struct import *im);
