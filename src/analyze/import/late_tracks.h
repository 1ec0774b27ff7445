/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/tracks.h"

/*
 * Counters of the process of a thread whose process may become known after the event. Their tracks
 * are made at the end of the trace. Until then their rows of `counter` have the number of an entry
 * in place of a track.
 */

/* The type of the track is by_process, with the upid as first dimension; or by_thread, with the
 * utid, if the process stays unknown. keys: the further dimensions, strings. */
struct late_counter {
	const struct track_type *by_process, *by_thread;
	uint32_t name; /* a string */
	uint32_t keys[2];
};

/* Adds a value of a counter of the thread's process. */
void late_tracks_add_value(struct import *im, struct machine *m, int64_t ts, uint32_t utid,
			   const struct late_counter *c, double value);
/* At the end: makes the tracks and sets them in the rows. */
void late_tracks_finish(struct import *im);
void late_tracks_deinit(struct import *im);
