/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Memory for many objects of one size that come and go, and end together: cells_deinit gives back
 * slabs, and touches none of the objects. Of a slab only what was used takes memory.
 *
 *	struct cells c = {.size = sizeof(struct x)};
 */

#define CELLS_SLAB_BYTES (1u << 20)

struct cells {
	size_t size; /* of one; at most CELLS_SLAB_BYTES / 2 */
	struct cells_slab *slabs; /* owned; the newest is the first */
	struct cells_free *given_back; /* those that are used again first */
	size_t fresh; /* in the newest slab, never used */
};

/* One of zeros, aligned for any type; NULL: out of memory. */
void *cells_get(struct cells *c);
void cells_put(struct cells *c, void *cell);
/* All cells are gone; it may be used again. */
void cells_deinit(struct cells *c);
