/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	slabs --> [next | cell | cell | ...]  --> [next | cell | ...]
 *	                     ^
 *	given_back ----------+ --> ...
 *
 * The newest slab is used from its end to its front.
 */
#include "client/counters/cells.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct cells_slab {
	struct cells_slab *next;
	alignas(max_align_t) unsigned char cells[];
};

struct cells_free {
	struct cells_free *next;
};

static size_t step(const struct cells *c)
{
	const size_t align = alignof(max_align_t);

	assert(c->size && c->size <= CELLS_SLAB_BYTES / 2);
	return (c->size + align - 1) / align * align;
}

static int add_slab(struct cells *c)
{
	struct cells_slab *s = malloc(CELLS_SLAB_BYTES);

	if (!s)
		return -ENOMEM;
	s->next = c->slabs;
	c->slabs = s;
	c->fresh = (CELLS_SLAB_BYTES - offsetof(struct cells_slab, cells)) / step(c);
	return 0;
}

void *cells_get(struct cells *c)
{
	struct cells_free *f = c->given_back;

	if (f) {
		c->given_back = f->next;
		return memset(f, 0, c->size);
	}
	if (!c->fresh && add_slab(c) < 0)
		return NULL;
	return memset(c->slabs->cells + --c->fresh * step(c), 0, c->size);
}

void cells_put(struct cells *c, void *cell)
{
	struct cells_free *f = cell;

	f->next = c->given_back;
	c->given_back = f;
}

void cells_deinit(struct cells *c)
{
	while (c->slabs) {
		struct cells_slab *s = c->slabs;

		c->slabs = s->next;
		free(s);
	}
	c->given_back = NULL;
	c->fresh = 0;
}
