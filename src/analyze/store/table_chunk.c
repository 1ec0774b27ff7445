/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/table_chunk.h"

#include <stdlib.h>

#include "base/core/mem.h"

static uint64_t mask_of(unsigned width)
{
	return width == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * width) - 1;
}

static size_t cells_offset(size_t n_columns)
{
	return sizeof(struct table_chunk) + n_columns * sizeof(struct chunk_column);
}

/* Places the columns one after the other, wide ones first, so that columns of their own width are
 * aligned. Returns the size of the chunk in bytes. */
static size_t lay_out_columns(struct chunk_column *columns, size_t n)
{
	size_t at = cells_offset(n);

	for (unsigned width = 8; width; width--)
		for (size_t i = 0; i < n; i++)
			if (columns[i].width == width) {
				columns[i].offset = (uint32_t)at;
				at += (size_t)width * TABLE_CHUNK_ROWS;
			}
	for (size_t i = 0; i < n; i++)
		if (!columns[i].width)
			columns[i].offset = (uint32_t)at;
	return at + sizeof(uint64_t);
}

static void set_own_width(struct chunk_column *c, uint8_t width)
{
	*c = (struct chunk_column){
		.ones = mask_of(width), .mask = mask_of(width), .width = width, .own_width = width};
}

size_t chunk_layout(struct table_chunk *k, size_t n_columns, const uint8_t *own_widths)
{
	struct chunk_column columns[TABLE_MAX_COLUMNS];
	size_t size;

	for (size_t i = 0; i < n_columns; i++)
		set_own_width(&columns[i], own_widths[i]);
	size = lay_out_columns(columns, n_columns);
	if (k) {
		k->packed = false;
		memcpy(k->columns, columns, n_columns * sizeof(columns[0]));
	}
	return size;
}

size_t chunk_size(const struct table_chunk *k, size_t n_columns)
{
	size_t size = cells_offset(n_columns) + sizeof(uint64_t);

	for (size_t i = 0; i < n_columns; i++)
		size += (size_t)k->columns[i].width * TABLE_CHUNK_ROWS;
	return size;
}

/* ---- packing ---- */

/* The smallest and the largest value of a column's cells, without cells of all ones. */
struct extent {
	uint64_t low, high; /* low > high: there are no values */
	bool has_ones; /* some cells have all ones */
};

/* `above` is the largest value + 1. A cell of all ones is 0 there, so it never is the largest; nor
 * is it the smallest, as `low` begins with all ones. */
#define EXTENT_OF(type)                                                                            \
	static struct extent extent_of_##type(const type *cells)                                   \
	{                                                                                          \
		type low = (type)-1, above = 0, ones = 0;                                          \
                                                                                                   \
		for (size_t i = 0; i < TABLE_CHUNK_ROWS; i++) {                                    \
			type next = (type)(cells[i] + 1);                                          \
                                                                                                   \
			low = cells[i] < low ? cells[i] : low;                                     \
			above = next > above ? next : above;                                       \
			ones |= next == 0;                                                         \
		}                                                                                  \
		if (!above)                                                                        \
			return (struct extent){.low = 1, .high = 0, .has_ones = true};             \
		return (struct extent){low, (type)(above - 1), ones};                              \
	}

EXTENT_OF(uint8_t)
EXTENT_OF(uint16_t)
EXTENT_OF(uint32_t)
EXTENT_OF(uint64_t)

static struct extent extent_of(const struct table_chunk *k, const struct chunk_column *c)
{
	const uint8_t *cells = (const uint8_t *)k + c->offset;

	switch (c->own_width) {
	case 1:
		return extent_of_uint8_t(cells);
	case 2:
		return extent_of_uint16_t((const uint16_t *)(const void *)cells);
	case 4:
		return extent_of_uint32_t((const uint32_t *)(const void *)cells);
	default:
		return extent_of_uint64_t((const uint64_t *)(const void *)cells);
	}
}

static void set_packed_width(struct chunk_column *c, const struct extent *e)
{
	uint8_t width = 0;

	if (e->low > e->high) {
		*c = (struct chunk_column){.ones = mask_of(c->own_width),
					   .own_width = c->own_width};
		return;
	}
	if (e->low == e->high && !e->has_ones) {
		*c = (struct chunk_column){.ones = e->low, .own_width = c->own_width};
		return;
	}
	while (width < c->own_width && e->high - e->low >= mask_of(width))
		width++;
	if (width == c->own_width)
		return;
	c->base = e->low;
	c->mask = mask_of(width);
	c->width = width;
}

/* Writes 8 bytes for each cell; the cells that follow overwrite those beyond its width. */
#define COPY_CELLS(type)                                                                           \
	static void copy_cells_of_##type(uint8_t *to, const struct chunk_column *c,                \
					 const type *from)                                         \
	{                                                                                          \
		for (size_t i = 0; i < TABLE_CHUNK_ROWS; i++, to += c->width) {                    \
			uint64_t v = from[i] == (type)-1 ? c->mask : from[i] - c->base;            \
                                                                                                   \
			memcpy(to, &v, sizeof(v));                                                 \
		}                                                                                  \
	}

COPY_CELLS(uint8_t)
COPY_CELLS(uint16_t)
COPY_CELLS(uint32_t)
COPY_CELLS(uint64_t)

/* Not inline: where the compiler knows how large the chunk is, FORTIFY_SOURCE checks each cell. */
__attribute__((noinline)) static void copy_cells(struct table_chunk *to,
						 const struct chunk_column *c, const void *from)
{
	uint8_t *cells = (uint8_t *)to + c->offset;

	if (c->width == c->own_width)
		memcpy(cells, from, (size_t)c->width * TABLE_CHUNK_ROWS);
	else if (c->own_width == 1)
		copy_cells_of_uint8_t(cells, c, from);
	else if (c->own_width == 2)
		copy_cells_of_uint16_t(cells, c, from);
	else if (c->own_width == 4)
		copy_cells_of_uint32_t(cells, c, from);
	else
		copy_cells_of_uint64_t(cells, c, from);
}

/* Visits the columns in the order of their offsets, as COPY_CELLS writes beyond a column's end. */
#define FOR_EACH_PLACED(i, k, n)                                                                   \
	for (unsigned width_ = 8; width_; width_--)                                                \
		for (size_t i = 0; i < (n); i++)                                                   \
			if ((k)->columns[i].width == width_)

struct table_chunk *chunk_pack(const struct table_chunk *k, size_t n_columns, uint32_t open)
{
	struct chunk_column columns[TABLE_MAX_COLUMNS];
	struct table_chunk *packed;

	for (size_t i = 0; i < n_columns; i++) {
		struct extent e;

		columns[i] = k->columns[i];
		if (!columns[i].own_width)
			continue;
		e = extent_of(k, &columns[i]);
		if (!(open & (uint32_t)1 << i && e.has_ones))
			set_packed_width(&columns[i], &e);
	}
	packed = malloc(lay_out_columns(columns, n_columns));
	if (!packed)
		return NULL;
	packed->packed = true;
	packed->epoch = k->epoch;
	memcpy(packed->columns, columns, n_columns * sizeof(columns[0]));
	FOR_EACH_PLACED(i, packed, n_columns)
	copy_cells(packed, &columns[i], (const uint8_t *)k + k->columns[i].offset);
	return packed;
}

struct table_chunk *chunk_widen(const struct table_chunk *k, size_t n_columns, unsigned column)
{
	struct chunk_column columns[TABLE_MAX_COLUMNS];
	struct table_chunk *wide;

	memcpy(columns, k->columns, n_columns * sizeof(columns[0]));
	set_own_width(&columns[column], k->columns[column].own_width);
	wide = malloc(lay_out_columns(columns, n_columns));
	if (!wide)
		return NULL;
	wide->packed = true;
	wide->epoch = k->epoch;
	memcpy(wide->columns, columns, n_columns * sizeof(columns[0]));
	for (size_t i = 0; i < n_columns; i++)
		if (i != column)
			memcpy((uint8_t *)wide + columns[i].offset,
			       (const uint8_t *)k + k->columns[i].offset,
			       (size_t)columns[i].width * TABLE_CHUNK_ROWS);
	for (uint32_t at = 0; at < TABLE_CHUNK_ROWS; at++)
		chunk_set_cell(wide, column, at, chunk_cell(k, column, at));
	return wide;
}
