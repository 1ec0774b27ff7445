/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/counters/tracks.h"

/*
 * Who looks at the values of all counters of a struct tracks as they are set, for thresholds.
 */

struct track_seen {
	uint32_t track; /* its handle, which another one may have when this is gone */
	const char *name; /* of the counter; borrowed during the call */
	double value;
	bool total; /* only grows */
	bool is_first; /* of this track */
	bool is_last; /* the track goes: 0, or the total that it was */
};

/* Called by tracks_set, tracks_set_double, also where the value has not changed, and at the end of a
 * track. It must not change the tracks. */
typedef void (*track_seen_fn)(void *ctx, const struct track_seen *seen);
/* fn NULL: nobody. */
void tracks_watch(struct tracks *t, track_seen_fn fn, void *ctx);
