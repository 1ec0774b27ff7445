/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/counters/tracks.h"
#include "base/text/span.h"

/* A number of a text: whole, or with a point. */
struct counter_number {
	bool is_double;
	int64_t i;
	double d;
};

/* Whoever takes the numbers of a file; name is borrowed for the call. */
typedef void (*counter_number_fn)(void *ctx, struct span name, const struct counter_number *v);

/* Decimal, with an optional minus and up to 9 digits behind a point; of 64 bits, of which what does
 * not fit into 63 becomes the largest that does. False: s is something else. */
bool counter_number_parse(struct span s, struct counter_number *ret);

static inline void counter_number_set(struct tracks *t, uint32_t track,
				      const struct counter_number *v)
{
	if (v->is_double)
		tracks_set_double(t, track, v->d);
	else
		tracks_set(t, track, v->i);
}
