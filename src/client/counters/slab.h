/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Slab allocator for objects of one size. slab_deinit() frees all blocks without touching the
 * objects. The kernel allocates the pages of a block when they are first used.
 *
 *	struct slab c = {.size = sizeof(struct x)};
 */

#define SLAB_BLOCK_BYTES (1u << 20)

struct slab {
	size_t size; /* size of one cell; at most SLAB_BLOCK_BYTES / 2 */
	struct slab_block *blocks; /* owned; the newest first */
	struct slab_cell *free_cells; /* freed cells; reused first */
	size_t fresh; /* number of cells of the newest block that were never used */
};

/* Returns a zeroed object, aligned for any type, or NULL if there is no memory. */
void *slab_alloc(struct slab *c);
void slab_free(struct slab *c, void *cell);
/* Frees all objects; the slab can be used again. */
void slab_deinit(struct slab *c);
