/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/parquet/parquet_file.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "analyze/parquet/parquet_column.h"
#include "analyze/parquet/parquet_encode.h"
#include "analyze/parquet/thrift_compact.h"
#include "base/core/mem.h"
#include "base/core/version.h"

#define MAGIC "PAR1"
#define LEVEL 3 /* compression level of zstd */
#define CODEC_ZSTD 6
#define PAGES_MAX ((PARQUET_GROUP_ROWS + PARQUET_PAGE_ROWS - 1) / PARQUET_PAGE_ROWS)
#define ENTRY_SLOTS (2 * PARQUET_DICTIONARY_MAX) /* half of them are empty */
#define PROBES_MAX                                                                                 \
	8u /* for a value, on average; values that collide by intent have no dictionary */
#define SAMPLE_VALUES 4096u /* on which the layouts of a chunk are compared */
#define SAMPLE_DISTINCT (SAMPLE_VALUES / 16 * 15)
#define ENTRY_BYTES 5u /* that an entry of a dictionary of numbers takes, compressed */

/* Type, ConvertedType and PageType of parquet.thrift */
static const int kind_types[] = {[PARQUET_INTEGER] = 2 /* INT64 */,
				 [PARQUET_REAL] = 5 /* DOUBLE */,
				 [PARQUET_TEXT] = 6 /* BYTE_ARRAY */};
enum { CONVERTED_UTF8 = 0, PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

struct page_place {
	uint64_t offset;
	uint32_t bytes; /* with the header */
	uint32_t first_row, rows; /* in the row group */
	uint32_t first_value, values;
	struct parquet_range range;
	bool has_range; /* least and most are valid */
	struct strbuf least, most; /* owned: plain bytes */
};

/* How the values of a chunk are written. */
struct layout {
	enum parquet_encoding encoding;
	bool whole_bytes; /* an index or a difference takes whole bytes */
};

struct chunk {
	uint64_t offset, dictionary_offset; /* first data page; 0: no dictionary */
	uint64_t bytes, bytes_plain; /* with page headers: compressed, plain */
	uint64_t nulls;
	struct layout layout;
	struct strbuf least, most; /* owned: plain bytes */
	bool has_range;
	struct page_place *pages; /* owned */
	size_t n_pages;
	uint64_t column_index, offset_index;
	uint32_t column_index_bytes, offset_index_bytes;
};

struct row_group {
	uint32_t rows;
	struct chunk *chunks; /* owned: one for each column */
};

struct parquet_file {
	FILE *to; /* borrowed */
	int error;
	uint64_t offset, rows;
	struct parquet_column *columns; /* owned */
	size_t n_columns;
	uint32_t group_rows; /* of the row group that is collected */
	size_t at; /* the row's next column */
	struct row_group *groups; /* owned */
	size_t n_groups, cap_groups;
	struct strbuf metadata; /* pairs of key, NUL, value, NUL */
	size_t n_metadata;
	/* owned: of one chunk */
	struct strbuf plain, packed;
	uint64_t *numbers; /* index of each value in the dictionary, unless it is a text's number */
	uint64_t *entries; /* dictionary of integers or doubles */
	uint32_t n_entries; /* of the dictionary; 0: there is none */
	uint32_t *slots; /* hash table of the dictionary, open addressing; number + 1, 0 is empty */
	ZSTD_CCtx *zstd;
};

static void write_bytes(struct parquet_file *f, const void *data, size_t len)
{
	errno = 0;
	if (!f->error && fwrite(data, 1, len, f->to) != len)
		f->error = errno ? -errno : -EIO;
	f->offset += len;
}

/* Writes the buffer and empties it. Returns the number of bytes written. */
static uint32_t write_buffer(struct parquet_file *f, struct strbuf *b)
{
	size_t len = b->len;

	if (b->failed)
		f->error = f->error ?: -ENOMEM;
	else
		write_bytes(f, b->s, len);
	strbuf_clear(b);
	return (uint32_t)len;
}

/* ---- rows ---- */

struct parquet_file *parquet_open(FILE *to, const struct parquet_column_def *columns, size_t n)
{
	struct parquet_file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->to = to;
	f->n_columns = n;
	f->columns = calloc(n + 1, sizeof(*f->columns));
	f->numbers = malloc(PARQUET_GROUP_ROWS * sizeof(*f->numbers));
	f->entries = malloc(PARQUET_DICTIONARY_MAX * sizeof(*f->entries));
	f->slots = malloc(ENTRY_SLOTS * sizeof(*f->slots));
	f->zstd = ZSTD_createCCtx();
	if (!f->columns || !f->numbers || !f->entries || !f->slots || !f->zstd)
		f->error = -ENOMEM;
	for (size_t i = 0; !f->error && i < n; i++)
		f->columns[i].def = columns[i];
	write_bytes(f, MAGIC, strlen(MAGIC));
	return f;
}

uint32_t parquet_number_text(struct parquet_cells *to, const char *s, size_t len)
{
	return parquet_column_number_text(container_of(to, struct parquet_column, cells), s, len);
}

static void put_cell_value(struct parquet_file *f, bool is_set, uint64_t v)
{
	struct parquet_column *c;

	if (f->error || f->at == f->n_columns)
		return;
	c = &f->columns[f->at++];
	if (!parquet_column_reserve(c))
		return;
	c->cells.is_set[f->group_rows] = is_set;
	if (is_set)
		c->cells.values[c->cells.n++] = v;
}

/* Returns true if the row's next column has values of this kind. */
static bool is_next_column(const struct parquet_file *f, enum parquet_kind kind)
{
	return !f->error && f->at < f->n_columns && f->columns[f->at].def.kind == kind;
}

void parquet_put_null(struct parquet_file *f)
{
	put_cell_value(f, false, 0);
}

void parquet_put_integer(struct parquet_file *f, int64_t v)
{
	put_cell_value(f, is_next_column(f, PARQUET_INTEGER), (uint64_t)v);
}

void parquet_put_real(struct parquet_file *f, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	put_cell_value(f, is_next_column(f, PARQUET_REAL), bits);
}

void parquet_put_text(struct parquet_file *f, const char *s, size_t len)
{
	bool is_text = is_next_column(f, PARQUET_TEXT);

	put_cell_value(f, is_text,
		       is_text ? parquet_column_number_text(&f->columns[f->at], s, len) : 0);
}

/* ---- pages ---- */

/* Returns the range of all pages of a chunk. */
static struct parquet_range join_page_ranges(const struct parquet_column *c, const struct chunk *k)
{
	struct parquet_range r = {.is_valid = false};

	for (size_t i = 0; i < k->n_pages; i++) {
		if (k->pages[i].values && !k->pages[i].first_value)
			r = k->pages[i].range;
		else if (k->pages[i].values)
			parquet_column_join_range(c, &r, &k->pages[i].range);
	}
	return r;
}

/* Compresses f->plain into f->packed. Returns its size in bytes; 0 after an error, which is in
 * f->error. */
static size_t compress_page(struct parquet_file *f)
{
	size_t room = ZSTD_compressBound(f->plain.len), packed;
	char *out = strbuf_reserve(&f->packed, room);

	packed = out && !f->plain.failed
			 ? ZSTD_compressCCtx(f->zstd, out, room, f->plain.s, f->plain.len, LEVEL)
			 : 0;
	if (!packed || ZSTD_isError(packed)) {
		f->error = f->error ?: -ENOMEM;
		return 0;
	}
	f->packed.len = packed;
	return packed;
}

/* Compresses f->plain, writes it as a page, and empties it. n: values with the nulls. Returns the
 * size in bytes of the page with its header; 0 after an error. */
static uint32_t write_page(struct parquet_file *f, struct chunk *k, int type, size_t n,
			   enum parquet_encoding encoding)
{
	size_t packed = compress_page(f);
	struct strbuf header = {0};
	struct thrift t = {.to = &header};
	uint32_t bytes;

	if (!packed)
		return 0;
	thrift_i32(&t, 1, type);
	thrift_i32(&t, 2, (int32_t)f->plain.len);
	thrift_i32(&t, 3, (int32_t)packed);
	thrift_i32(&t, 4, (int32_t)crc32(0, (const Bytef *)f->packed.s, (uInt)packed));
	thrift_begin_struct(&t, type == PAGE_DATA ? 5 : 7);
	thrift_i32(&t, 1, (int32_t)n);
	thrift_i32(&t, 2, encoding);
	if (type == PAGE_DATA) {
		thrift_i32(&t, 3, PARQUET_RLE);
		thrift_i32(&t, 4, PARQUET_RLE);
	}
	thrift_end_struct(&t);
	strbuf_putc(&header, 0);
	bytes = (uint32_t)(header.len + packed);
	k->bytes += bytes;
	k->bytes_plain += header.len + f->plain.len;
	write_buffer(f, &header);
	write_buffer(f, &f->packed);
	strbuf_deinit(&header);
	strbuf_clear(&f->plain);
	return bytes;
}

/* Appends n values of a chunk. */
static void put_values(struct parquet_file *f, const struct parquet_column *c, struct layout layout,
		       uint32_t first, uint32_t n)
{
	const uint64_t *values = c->cells.values + first;
	unsigned width = parquet_bit_width(MAX(f->n_entries, 2u) - 1);

	switch (layout.encoding) {
	case PARQUET_RLE_DICTIONARY:
		if (layout.whole_bytes)
			width = (width + 7) / 8 * 8;
		strbuf_putc(&f->plain, (char)width);
		parquet_put_hybrid(&f->plain,
				   c->def.kind == PARQUET_TEXT ? values : f->numbers + first, n,
				   width);
		break;
	case PARQUET_DELTA_BINARY_PACKED:
		parquet_put_deltas(&f->plain, (const int64_t *)values, n, layout.whole_bytes);
		break;
	case PARQUET_BYTE_STREAM_SPLIT:
		parquet_put_split(&f->plain, values, n);
		break;
	case PARQUET_DELTA_LENGTH_BYTE_ARRAY:
		for (uint32_t i = 0; i < n; i++)
			f->numbers[i] = c->texts[values[i]].len;
		parquet_put_deltas(&f->plain, (const int64_t *)f->numbers, n, layout.whole_bytes);
		parquet_column_put_texts(c, values, n, false, &f->plain);
		break;
	default:
		parquet_column_put_texts(c, values, n, true, &f->plain);
	}
}

/* ---- chunks ---- */

/* Makes the dictionary of a chunk of numbers, unless it would have too many entries. */
static void number_distinct_values(struct parquet_file *f, const struct parquet_column *c,
				   const struct parquet_range *range)
{
	uint32_t n = c->cells.n, most = MIN(PARQUET_DICTIONARY_MAX, n / 2 + 1), probes = 0;
	bool is_narrow = c->def.kind == PARQUET_INTEGER && range->hi - range->lo < ENTRY_SLOTS;
	const uint64_t *values = c->cells.values;

	memset(f->slots, 0,
	       (is_narrow ? range->hi - range->lo + 1 : ENTRY_SLOTS) * sizeof(*f->slots));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t v = values[i];
		size_t at = is_narrow ? v - range->lo : v * UINT64_C(0x9e3779b97f4a7c15) >> 48;

		for (; f->slots[at] && f->entries[f->slots[at] - 1] != v; probes++)
			at = (at + 1) & (ENTRY_SLOTS - 1);
		/* If almost all of the first values differ, the others do, too. */
		if ((!f->slots[at] &&
		     f->n_entries == (i < SAMPLE_VALUES ? MIN(most, SAMPLE_DISTINCT) : most)) ||
		    probes > PROBES_MAX * n) {
			f->n_entries = 0;
			return;
		}
		if (!f->slots[at]) {
			f->entries[f->n_entries] = v;
			f->slots[at] = ++f->n_entries;
		}
		f->numbers[i] = f->slots[at] - 1;
	}
}

/* Sets the dictionary of a chunk, and the layout in which a sample of its values takes the fewest
 * bytes. */
static void choose_layout(struct parquet_file *f, const struct parquet_column *c,
			  const struct parquet_range *range, struct layout *ret)
{
	static const struct layout layouts[] = {
		{PARQUET_RLE_DICTIONARY, true},		 {PARQUET_RLE_DICTIONARY, false},
		{PARQUET_DELTA_BINARY_PACKED, true},	 {PARQUET_DELTA_BINARY_PACKED, false},
		{PARQUET_DELTA_LENGTH_BYTE_ARRAY, true}, {PARQUET_PLAIN, false},
		{PARQUET_BYTE_STREAM_SPLIT, false}};
	static const enum parquet_kind kinds[] = {[PARQUET_DELTA_BINARY_PACKED] = PARQUET_INTEGER,
						  [PARQUET_BYTE_STREAM_SPLIT] = PARQUET_REAL,
						  [PARQUET_DELTA_LENGTH_BYTE_ARRAY] = PARQUET_TEXT,
						  [PARQUET_PLAIN] = PARQUET_TEXT};
	uint32_t n = MIN(c->cells.n, SAMPLE_VALUES), first = (c->cells.n - n) / 2;
	bool is_text = c->def.kind == PARQUET_TEXT;
	size_t least = SIZE_MAX;

	f->n_entries = 0;
	if (!is_text)
		number_distinct_values(f, c, range);
	else if (c->n_texts <= PARQUET_DICTIONARY_MAX &&
		 c->bytes.len <= PARQUET_DICTIONARY_BYTES_MAX)
		f->n_entries = (uint32_t)c->n_texts;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		enum parquet_encoding encoding = layouts[i].encoding;
		bool is_dictionary = encoding == PARQUET_RLE_DICTIONARY;
		size_t bytes;

		if (is_dictionary ? !f->n_entries
				  : kinds[encoding] != c->def.kind || (is_text && f->n_entries))
			continue;
		put_values(f, c, layouts[i], first, n);
		bytes = compress_page(f);
		if (is_dictionary && !is_text)
			bytes += (size_t)f->n_entries * ENTRY_BYTES * n / c->cells.n;
		strbuf_clear(&f->plain);
		strbuf_clear(&f->packed);
		if (bytes < least) {
			least = bytes;
			*ret = layouts[i];
		}
	}
}

static void write_dictionary(struct parquet_file *f, const struct parquet_column *c,
			     struct chunk *k)
{
	for (uint32_t i = 0; i < f->n_entries; i++)
		parquet_column_put_plain(c, c->def.kind == PARQUET_TEXT ? i : f->entries[i], true,
					 &f->plain);
	k->dictionary_offset = f->offset;
	write_page(f, k, PAGE_DICTIONARY, f->n_entries, PARQUET_PLAIN);
}

/* Sets the statistics of a range. Returns false if it has none. */
static bool put_statistics(struct parquet_file *f, const struct parquet_column *c,
			   struct parquet_range range, struct strbuf *least, struct strbuf *most)
{
	bool is_put = parquet_column_put_range(c, range, least, most);

	if (least->failed || most->failed)
		f->error = f->error ?: -ENOMEM;
	return is_put;
}

/* Cuts a chunk into pages. */
static void list_pages(struct parquet_file *f, const struct parquet_column *c, struct chunk *k)
{
	uint32_t value = 0;

	for (uint32_t row = 0; row < f->group_rows; row += PARQUET_PAGE_ROWS) {
		struct page_place *p = &k->pages[k->n_pages++];

		*p = (struct page_place){.first_row = row,
					 .rows = MIN(f->group_rows - row, PARQUET_PAGE_ROWS),
					 .first_value = value};
		if (c->cells.n == f->group_rows)
			p->values = p->rows;
		else
			for (uint32_t i = 0; i < p->rows; i++)
				p->values += c->cells.is_set[row + i];
		p->range = parquet_column_find_range(c, c->cells.values + value, p->values);
		p->has_range = put_statistics(f, c, p->range, &p->least, &p->most);
		value += p->values;
	}
}

static void write_chunk(struct parquet_file *f, struct parquet_column *c, struct chunk *k)
{
	struct parquet_range range;

	k->nulls = f->group_rows - c->cells.n;
	k->pages = calloc(PAGES_MAX, sizeof(*k->pages));
	if (!k->pages) {
		f->error = f->error ?: -ENOMEM;
		return;
	}
	list_pages(f, c, k);
	range = join_page_ranges(c, k);
	k->has_range = put_statistics(f, c, range, &k->least, &k->most);
	choose_layout(f, c, &range, &k->layout);
	if (k->layout.encoding == PARQUET_RLE_DICTIONARY)
		write_dictionary(f, c, k);
	k->offset = f->offset;
	for (size_t i = 0; i < k->n_pages && !f->error; i++) {
		struct page_place *p = &k->pages[i];

		p->offset = f->offset;
		parquet_put_levels(&f->plain, c->cells.is_set + p->first_row, p->rows);
		put_values(f, c, k->layout, p->first_value, p->values);
		p->bytes = write_page(f, k, PAGE_DATA, p->rows, k->layout.encoding);
	}
}

/* Writes the collected rows, and begins a new row group. fill: NULL if the columns have them. */
static void write_row_group(struct parquet_file *f, parquet_fill *fill, void *ctx)
{
	struct row_group *g;

	if (!f->group_rows || f->error)
		return;
	if (array_reserve(&f->groups, &f->cap_groups, f->n_groups + 1, sizeof(*f->groups))) {
		f->error = -ENOMEM;
		return;
	}
	g = &f->groups[f->n_groups++];
	*g = (struct row_group){.rows = f->group_rows,
				.chunks = calloc(f->n_columns + 1, sizeof(*g->chunks))};
	if (!g->chunks)
		f->error = -ENOMEM;
	for (size_t i = 0; !f->error && i < f->n_columns; i++) {
		struct parquet_column *c = &f->columns[i];

		if (fill && parquet_column_reserve(c))
			fill(ctx, i, &c->cells);
		if (c->failed)
			f->error = -ENOMEM;
		else
			write_chunk(f, c, &g->chunks[i]);
		parquet_column_clear(c);
		/* Columns that are filled one after the other use the same memory. */
		if (fill && f->n_columns > 1) {
			f->columns[(i + 1) % f->n_columns].cells = c->cells;
			c->cells = (struct parquet_cells){0};
		}
	}
	f->rows += f->group_rows;
	f->group_rows = 0;
}

void parquet_write_rows(struct parquet_file *f, uint32_t n, parquet_fill *fill, void *ctx)
{
	f->group_rows = n;
	write_row_group(f, fill, ctx);
}

void parquet_end_row(struct parquet_file *f)
{
	while (!f->error && f->at < f->n_columns)
		parquet_put_null(f);
	f->at = 0;
	if (!f->error && ++f->group_rows == PARQUET_GROUP_ROWS)
		write_row_group(f, NULL, NULL);
}

void parquet_add_metadata(struct parquet_file *f, const char *key, const char *value)
{
	strbuf_add(&f->metadata, key, strlen(key) + 1);
	strbuf_add(&f->metadata, value, strlen(value) + 1);
	f->n_metadata++;
}

/* ---- the indexes of pages ---- */

/* A reader needs either the ranges of all pages with values, or none. */
static bool has_column_index(const struct chunk *k)
{
	for (size_t i = 0; i < k->n_pages; i++)
		if (!k->pages[i].has_range && k->pages[i].values)
			return false;
	return k->n_pages > 0;
}

static void write_column_index(struct parquet_file *f, struct chunk *k)
{
	struct strbuf b = {0};
	struct thrift t = {.to = &b};

	if (!has_column_index(k))
		return;
	thrift_begin_list(&t, 1, THRIFT_TRUE, k->n_pages);
	for (size_t i = 0; i < k->n_pages; i++)
		thrift_item_bool(&t, !k->pages[i].values);
	thrift_begin_list(&t, 2, THRIFT_BINARY, k->n_pages);
	for (size_t i = 0; i < k->n_pages; i++)
		thrift_item_binary(&t, k->pages[i].least.s, k->pages[i].least.len);
	thrift_begin_list(&t, 3, THRIFT_BINARY, k->n_pages);
	for (size_t i = 0; i < k->n_pages; i++)
		thrift_item_binary(&t, k->pages[i].most.s, k->pages[i].most.len);
	thrift_i32(&t, 4, 0); /* the order of the pages is not stated */
	thrift_begin_list(&t, 5, THRIFT_I64, k->n_pages);
	for (size_t i = 0; i < k->n_pages; i++)
		thrift_item_i64(&t, k->pages[i].rows - k->pages[i].values);
	strbuf_putc(&b, 0);
	k->column_index = f->offset;
	k->column_index_bytes = write_buffer(f, &b);
	strbuf_deinit(&b);
}

static void write_offset_index(struct parquet_file *f, struct chunk *k)
{
	struct strbuf b = {0};
	struct thrift t = {.to = &b};

	thrift_begin_list(&t, 1, THRIFT_STRUCT, k->n_pages);
	for (size_t i = 0; i < k->n_pages; i++) {
		thrift_begin_struct(&t, 0);
		thrift_i64(&t, 1, (int64_t)k->pages[i].offset);
		thrift_i32(&t, 2, (int32_t)k->pages[i].bytes);
		thrift_i64(&t, 3, k->pages[i].first_row);
		thrift_end_struct(&t);
	}
	strbuf_putc(&b, 0);
	k->offset_index = f->offset;
	k->offset_index_bytes = write_buffer(f, &b);
	strbuf_deinit(&b);
}

/* ---- FileMetaData ---- */

static void put_schema(struct parquet_file *f, struct thrift *t)
{
	thrift_begin_list(t, 2, THRIFT_STRUCT, f->n_columns + 1);
	thrift_begin_struct(t, 0);
	thrift_text(t, 4, "schema");
	thrift_i32(t, 5, (int32_t)f->n_columns);
	thrift_end_struct(t);
	for (size_t i = 0; i < f->n_columns; i++) {
		const struct parquet_column_def *d = &f->columns[i].def;

		thrift_begin_struct(t, 0);
		thrift_i32(t, 1, kind_types[d->kind]);
		thrift_i32(t, 3, 1); /* optional */
		thrift_text(t, 4, d->name);
		if (d->kind == PARQUET_TEXT) {
			thrift_i32(t, 6, CONVERTED_UTF8);
			thrift_begin_struct(t, 10); /* logical type: STRING */
			thrift_begin_struct(t, 1);
			thrift_end_struct(t);
			thrift_end_struct(t);
		}
		thrift_end_struct(t);
	}
}

static void put_chunk_metadata(const struct parquet_column *c, const struct chunk *k, uint32_t rows,
			       struct thrift *t)
{
	thrift_begin_struct(t, 0);
	thrift_i64(t, 2, 0);
	thrift_begin_struct(t, 3);
	thrift_i32(t, 1, kind_types[c->def.kind]);
	thrift_begin_list(t, 2, THRIFT_I32, k->dictionary_offset ? 3 : 2);
	thrift_item_i32(t, PARQUET_RLE);
	thrift_item_i32(t, k->layout.encoding);
	if (k->dictionary_offset)
		thrift_item_i32(t, PARQUET_PLAIN);
	thrift_begin_list(t, 3, THRIFT_BINARY, 1);
	thrift_item_binary(t, c->def.name, strlen(c->def.name));
	thrift_i32(t, 4, CODEC_ZSTD);
	thrift_i64(t, 5, rows);
	thrift_i64(t, 6, (int64_t)k->bytes_plain);
	thrift_i64(t, 7, (int64_t)k->bytes);
	thrift_i64(t, 9, (int64_t)k->offset);
	if (k->dictionary_offset)
		thrift_i64(t, 11, (int64_t)k->dictionary_offset);
	thrift_begin_struct(t, 12);
	thrift_i64(t, 3, (int64_t)k->nulls);
	if (k->has_range) {
		thrift_binary(t, 5, k->most.s, k->most.len);
		thrift_binary(t, 6, k->least.s, k->least.len);
	}
	thrift_end_struct(t);
	thrift_end_struct(t);
	thrift_i64(t, 4, (int64_t)k->offset_index);
	thrift_i32(t, 5, (int32_t)k->offset_index_bytes);
	if (k->column_index) {
		thrift_i64(t, 6, (int64_t)k->column_index);
		thrift_i32(t, 7, (int32_t)k->column_index_bytes);
	}
	thrift_end_struct(t);
}

static void put_row_group(struct parquet_file *f, const struct row_group *g, struct thrift *t)
{
	uint64_t bytes = 0, plain = 0;

	for (size_t i = 0; i < f->n_columns; i++) {
		bytes += g->chunks[i].bytes;
		plain += g->chunks[i].bytes_plain;
	}
	thrift_begin_struct(t, 0);
	thrift_begin_list(t, 1, THRIFT_STRUCT, f->n_columns);
	for (size_t i = 0; i < f->n_columns; i++)
		put_chunk_metadata(&f->columns[i], &g->chunks[i], g->rows, t);
	thrift_i64(t, 2, (int64_t)plain);
	thrift_i64(t, 3, g->rows);
	thrift_i64(t, 6, (int64_t)bytes);
	thrift_end_struct(t);
}

static void put_metadata(struct parquet_file *f, struct thrift *t)
{
	const char *at = f->metadata.s;

	thrift_begin_list(t, 5, THRIFT_STRUCT, f->n_metadata);
	for (size_t i = 0; i < f->n_metadata; i++) {
		const char *value = at + strlen(at) + 1;

		thrift_begin_struct(t, 0);
		thrift_text(t, 1, at);
		thrift_text(t, 2, value);
		thrift_end_struct(t);
		at = value + strlen(value) + 1;
	}
}

static void write_footer(struct parquet_file *f)
{
	struct strbuf b = {0};
	struct thrift t = {.to = &b};
	uint32_t bytes;

	thrift_i32(&t, 1, 2);
	put_schema(f, &t);
	thrift_i64(&t, 3, (int64_t)f->rows);
	thrift_begin_list(&t, 4, THRIFT_STRUCT, f->n_groups);
	for (size_t i = 0; i < f->n_groups; i++)
		put_row_group(f, &f->groups[i], &t);
	if (f->metadata.failed)
		f->error = f->error ?: -ENOMEM;
	else if (f->n_metadata)
		put_metadata(f, &t);
	thrift_text(&t, 6, "sonda version " SONDA_VERSION);
	thrift_begin_list(&t, 7, THRIFT_STRUCT, f->n_columns);
	for (size_t i = 0; i < f->n_columns; i++) {
		thrift_begin_struct(&t, 0); /* a column's order: that of its type */
		thrift_begin_struct(&t, 1);
		thrift_end_struct(&t);
		thrift_end_struct(&t);
	}
	strbuf_putc(&b, 0);
	bytes = (uint32_t)b.len;
	parquet_put_u32(&b, bytes);
	strbuf_puts(&b, MAGIC);
	write_buffer(f, &b);
	strbuf_deinit(&b);
}

/* ---- the end ---- */

static void parquet_free(struct parquet_file *f)
{
	for (size_t g = 0; g < f->n_groups; g++) {
		for (size_t i = 0; f->groups[g].chunks && i < f->n_columns; i++) {
			struct chunk *k = &f->groups[g].chunks[i];

			for (size_t p = 0; p < k->n_pages; p++) {
				strbuf_deinit(&k->pages[p].least);
				strbuf_deinit(&k->pages[p].most);
			}
			strbuf_deinit(&k->least);
			strbuf_deinit(&k->most);
			free(k->pages);
		}
		free(f->groups[g].chunks);
	}
	for (size_t i = 0; f->columns && i < f->n_columns; i++)
		parquet_column_deinit(&f->columns[i]);
	free(f->groups);
	free(f->columns);
	free(f->numbers);
	free(f->entries);
	free(f->slots);
	strbuf_deinit(&f->metadata);
	strbuf_deinit(&f->plain);
	strbuf_deinit(&f->packed);
	ZSTD_freeCCtx(f->zstd);
	free(f);
}

int parquet_close(struct parquet_file *f)
{
	int r;

	if (!f)
		return -ENOMEM;
	write_row_group(f, NULL, NULL);
	for (size_t g = 0; !f->error && g < f->n_groups; g++)
		for (size_t i = 0; i < f->n_columns; i++)
			write_column_index(f, &f->groups[g].chunks[i]);
	for (size_t g = 0; !f->error && g < f->n_groups; g++)
		for (size_t i = 0; i < f->n_columns; i++)
			write_offset_index(f, &f->groups[g].chunks[i]);
	if (!f->error)
		write_footer(f);
	r = f->error;
	parquet_free(f);
	return r;
}
