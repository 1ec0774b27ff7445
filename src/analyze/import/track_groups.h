/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/tracks.h"

/*
 * Tracks of one name whose slices may overlap: the group has as many rows of `track` as slices were
 * open at one time. A cookie says which slices belong together: they nest on one row. A row without
 * open slices is taken over by the next cookie.
 */

struct track_group;

struct track_slot {
	struct track_group *group;
	int64_t cookie;
	uint32_t open; /* slices; track_slot_close() makes it less */
	uint32_t track; /* NULL_U32: not made yet */
	uint32_t index; /* in the group */
};

/* Returns the group, made at its first use; NULL without memory. The last dimension of the type is
 * the index of a track in its group; values: of the others. */
struct track_group *track_groups_get(struct import *im, struct machine *m,
				     const struct track_type *type, const int64_t *values);
/* Returns the row of a cookie; NULL without memory. Valid until the next call. */
struct track_slot *track_group_slot(struct import *im, struct track_group *g, int64_t cookie);
/* Returns the row of a cookie; NULL if no row has the cookie. */
struct track_slot *track_group_find(struct track_group *g, int64_t cookie);
/* Notes that so many slices of the slot are still open. */
void track_slot_close(struct track_slot *slot, uint32_t still_open);
/* Makes the slot's track. */
void track_group_make(struct import *im, struct machine *m, struct track_group *g,
		      struct track_slot *slot, uint32_t name);
void track_groups_deinit(struct import *im);
