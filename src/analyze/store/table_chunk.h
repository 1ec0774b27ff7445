/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The cells of 4096 rows, with an array for each column. The chunk that rows are appended to has
 * cells of the column's own width. A full chunk can be packed: a cell then stores the difference
 * from the column's smallest value in this chunk, in as few bytes as the largest difference needs
 * (it may be 3 or 0).
 *
 *	values  1000 1007 NULL 1260	->	base 1000, 2 bytes a cell: 0, 7, 0xffff, 260
 *
 * The value of all ones (NULL of an unsigned column, or an open duration) has all ones at each
 * width.
 */

#define TABLE_CHUNK_BITS 12
#define TABLE_CHUNK_ROWS (1u << TABLE_CHUNK_BITS)
#define TABLE_MAX_COLUMNS 24

struct chunk_column {
	uint64_t base; /* value of a cell that is 0 */
	uint64_t ones; /* value of a cell of all ones */
	uint64_t mask; /* all ones, in the width of a cell */
	uint32_t offset; /* bytes from the chunk's start to the cells */
	uint8_t width; /* bytes of a cell */
	uint8_t own_width; /* bytes of a cell that is not packed; 0: the column is not stored */
};

struct table_chunk {
	bool packed;
	uint32_t epoch; /* index of the first row's epoch in table.epochs */
	struct chunk_column columns[]; /* then the cells, then 8 bytes: a cell is read as 8 bytes */
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a cell is the lowest bytes of 8");

static inline void *chunk_cell_address(struct table_chunk *k, unsigned column, uint32_t at)
{
	const struct chunk_column *c = &k->columns[column];

	return (uint8_t *)k + c->offset + (size_t)at * c->width;
}

static inline uint64_t chunk_cell(const struct table_chunk *k, unsigned column, uint32_t at)
{
	const struct chunk_column *c = &k->columns[column];
	uint64_t v;

	memcpy(&v, (const uint8_t *)k + c->offset + (size_t)at * c->width, sizeof(v));
	v &= c->mask;
	return v == c->mask ? c->ones : c->base + v;
}

/* Sets a cell to a value of the column's own width. Returns false if the value does not fit into
 * the packed cell. */
static inline bool chunk_set_cell(struct table_chunk *k, unsigned column, uint32_t at, uint64_t v)
{
	const struct chunk_column *c = &k->columns[column];
	uint64_t packed = v == c->ones ? c->mask : v - c->base;

	if (v != c->ones && packed >= c->mask)
		return false;
	memcpy(chunk_cell_address(k, column, at), &packed, c->width);
	return true;
}
