/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/*
 * Tracks, which have slices, the values of a counter, or states. A track is made at its first use. Its identity is its
 * machine, its type and the values of its dimensions.
 */

#define TRACK_DIMENSIONS_MAX 5

struct track_dimension {
	const char *key; /* "cpu", "utid", ... */
	bool is_string; /* the value is a string's id */
};

struct track_type {
	const char *type;
	const char *unit; /* NULL: none */
	bool is_counter;
	struct track_dimension dimensions[TRACK_DIMENSIONS_MAX]; /* ends with a NULL key */
};

/* Types that several kinds of packets and events share. */
extern const struct track_type track_cpu_frequency, track_gpu_frequency, track_clock_frequency,
	track_oom_score_adj, track_process_memory;

/*
 * Returns the row of the track in TABLE_TRACK; without memory sets the budget's error and returns
 * 0. name: a string or NULL_U32; a track that exists keeps its name. values: one for each
 * dimension; may be NULL without dimensions.
 */
uint32_t tracks_get(struct import *im, struct machine *m, const struct track_type *type,
		    uint32_t name, const int64_t *values);
/* Makes a new track, which tracks_get() does not find, and returns it. */
uint32_t tracks_make(struct import *im, struct machine *m, const struct track_type *type,
		     uint32_t name, const int64_t *values);
/* Returns the track of a thread, which its kernel events and its track events share. */
uint32_t tracks_get_thread_track(struct import *im, struct machine *m, uint32_t utid);
void tracks_deinit(struct import *im);

/* Adds a value of a counter at ts (ns), and returns its row. args: id of a set, or NULL_U32. */
uint32_t rows_add_counter(struct import *im, int64_t ts, uint32_t track, double value,
			  uint32_t args);
