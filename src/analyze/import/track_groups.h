/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/tracks.h"

/*
 * Tracks of one name whose slices may overlap. Slices of one cookie nest on one track; slices of
 * different cookies that are open at one time are on different tracks. So a group has as many
 * tracks as cookies had open slices at one time. Each track has a slot. A new cookie takes over the
 * slot with the lowest index that has no open slices.
 */

struct track_group;

struct track_slot {
	struct track_group *group;
	int64_t cookie;
	uint32_t open; /* open slices: the caller adds to it, track_slot_set_open() makes it less */
	uint32_t track; /* NULL_U32: not made yet */
	uint32_t index; /* in the group */
};

/* Returns the group; makes it at its first use. NULL without memory. The last dimension of the type
 * must be the index of a track in its group; values: those of the other dimensions. */
struct track_group *track_groups_get(struct import *im, struct machine *m,
				     const struct track_type *type, const int64_t *values);
/* Returns the slot of a cookie; NULL without memory. It is the cookie's until the next call. */
struct track_slot *track_group_get_slot(struct import *im, struct track_group *g, int64_t cookie);
/* Returns the slot of a cookie; NULL if no slot has the cookie. */
struct track_slot *track_group_find_slot(struct track_group *g, int64_t cookie);
/* Sets how many slices of the slot are still open. */
void track_slot_set_open(struct track_slot *slot, uint32_t still_open);
/* Makes the slot's track, which must not be made yet. */
void track_group_make_track(struct import *im, struct machine *m, struct track_group *g,
			    struct track_slot *slot, uint32_t name);
void track_groups_deinit(struct import *im);
