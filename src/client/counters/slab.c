/* SPDX-License-Identifier: Apache-2.0 */
#include "client/counters/slab.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/*
 *	blocks --> [next | cell | cell | ...]  --> [next | cell | ...]
 *	                     ^
 *	free_cells ----------+ --> ...
 *
 * The newest block is used from its end to its front.
 */

struct slab_block {
	struct slab_block *next;
	alignas(max_align_t) unsigned char cells[];
};

struct slab_cell {
	struct slab_cell *next;
};

static size_t slab_cell_size(const struct slab *c)
{
	const size_t align = alignof(max_align_t);

	assert(c->size && c->size <= SLAB_BLOCK_BYTES / 2);
	return (c->size + align - 1) / align * align;
}

static int slab_grow(struct slab *c)
{
	struct slab_block *s = malloc(SLAB_BLOCK_BYTES);

	if (!s)
		return -ENOMEM;
	s->next = c->blocks;
	c->blocks = s;
	c->fresh = (SLAB_BLOCK_BYTES - offsetof(struct slab_block, cells)) / slab_cell_size(c);
	return 0;
}

void *slab_alloc(struct slab *c)
{
	struct slab_cell *f = c->free_cells;

	if (f) {
		c->free_cells = f->next;
		return memset(f, 0, c->size);
	}
	if (!c->fresh && slab_grow(c) < 0)
		return NULL;
	return memset(c->blocks->cells + --c->fresh * slab_cell_size(c), 0, c->size);
}

void slab_free(struct slab *c, void *cell)
{
	struct slab_cell *f = cell;

	f->next = c->free_cells;
	c->free_cells = f;
}

void slab_deinit(struct slab *c)
{
	while (c->blocks) {
		struct slab_block *s = c->blocks;

		c->blocks = s->next;
		free(s);
	}
	c->free_cells = NULL;
	c->fresh = 0;
}
