/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/*
 * Tracks, which have slices, the values of a counter, or states. A track is made at its first use.
 * Its identity is its machine, its type and the values of its dimensions.
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

/* Returns the row of the track in TABLE_TRACK; if out of memory, sets the budget's error and
 * returns some row. name: a string or NULL_U32; a track that exists keeps its name. values: one for
 * each dimension; may be NULL without dimensions. */
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

/*
 * Tracks of one name whose slices may overlap. Slices of one cookie nest on one track; slices of
 * different cookies that are open at one time are on different tracks. So the number of tracks in a
 * group is the largest number of cookies that had open slices at the same time. Each track has a
 * slot. A new cookie takes over the slot with the lowest index that has no open slices.
 */

struct track_group;

struct track_slot {
	struct track_group *group;
	int64_t cookie;
	uint32_t open; /* open slices: the caller raises it, track_slot_set_open() lowers it */
	uint32_t track; /* NULL_U32: not made yet */
	uint32_t index; /* in the group */
};

/* Returns the group; makes it at its first use. NULL if out of memory. The last dimension of the
 * type must be the index of a track in its group; values: those of the other dimensions. */
struct track_group *track_groups_get(struct import *im, struct machine *m,
				     const struct track_type *type, const int64_t *values);
/* Returns the slot of a cookie; NULL if out of memory. It is the cookie's until the next call. */
struct track_slot *track_group_get_slot(struct import *im, struct track_group *g, int64_t cookie);
/* Returns the slot of a cookie; NULL if no slot has the cookie. */
struct track_slot *track_group_find_slot(struct track_group *g, int64_t cookie);
/* Sets how many slices of the slot are still open. */
void track_slot_set_open(struct track_slot *slot, uint32_t still_open);
/* Makes the slot's track, which must not be made yet. */
void track_group_make_track(struct import *im, struct machine *m, struct track_group *g,
			    struct track_slot *slot, uint32_t name);
void track_groups_deinit(struct import *im);

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
void deferred_tracks_add_value(struct import *im, struct machine *m, int64_t ts, uint32_t utid,
			       const struct late_counter *c, double value);
/* At the end: makes the tracks and sets them in the rows. */
void deferred_tracks_finish(struct import *im);
void deferred_tracks_deinit(struct import *im);
