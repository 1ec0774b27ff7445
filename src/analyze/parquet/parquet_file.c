/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/parquet/parquet_file.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "analyze/parquet/parquet_encode.h"
#include "analyze/parquet/thrift_compact.h"
#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/core/version.h"

#define MAGIC "PAR1"
#define LEVEL 3 /* compression level of zstd */
#define CODEC_ZSTD 6
#define PAGES_MAX ((PARQUET_GROUP_ROWS + PARQUET_PAGE_ROWS - 1) / PARQUET_PAGE_ROWS)
#define TEXT_SLOTS_MIN 256u
#define ENTRY_SLOTS (2 * PARQUET_DICTIONARY_MAX) /* half of them are empty */
#define STATISTIC_MAX 64 /* bytes of a text that is a least or greatest value; longer: none */

/* Type, ConvertedType and PageType of parquet.thrift */
static const int kind_types[] = {[PARQUET_INTEGER] = 2 /* INT64 */,
				 [PARQUET_REAL] = 5 /* DOUBLE */,
				 [PARQUET_TEXT] = 6 /* BYTE_ARRAY */};
enum { CONVERTED_UTF8 = 0, PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

struct page_place {
	uint64_t offset;
	uint32_t bytes; /* with the header */
	uint32_t first_row; /* in the row group */
	uint32_t nulls;
	bool is_null; /* it has no value */
	bool has_range; /* least and most are valid */
	struct strbuf least, most; /* owned: plain bytes */
};

struct chunk {
	uint64_t offset, dictionary_offset; /* first data page; 0: no dictionary */
	uint64_t bytes, bytes_plain; /* with page headers: compressed, plain */
	uint64_t nulls;
	enum parquet_encoding encoding;
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

/* A text of the row group. */
struct text {
	uint32_t at, len; /* in bytes */
};

struct column {
	struct parquet_column_def def;
	uint64_t *values; /* owned: integers, bits of doubles, numbers of texts; nulls have none */
	uint32_t n;
	uint8_t *is_set; /* owned: by row */
	struct text *texts; /* owned: the different texts of the row group */
	size_t n_texts, cap_texts;
	struct strbuf bytes;
	uint32_t *slots; /* owned: of texts, by open addressing; number + 1, 0 is empty */
	uint32_t n_slots; /* a power of two, of which at least half are empty */
};

struct parquet_file {
	FILE *to; /* borrowed */
	int error;
	uint64_t offset, rows;
	struct column *columns; /* owned */
	size_t n_columns;
	uint32_t group_rows; /* of the row group that is collected */
	size_t at; /* the row's next column */
	struct row_group *groups; /* owned */
	size_t n_groups, cap_groups;
	struct strbuf metadata; /* pairs of key, NUL, value, NUL */
	size_t n_metadata;
	/* owned: of one chunk */
	struct strbuf plain, packed;
	uint32_t *numbers; /* index of each value in the dictionary */
	int64_t *entries; /* dictionary of integers */
	uint32_t n_entries;
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
	for (size_t i = 0; !f->error && i < n; i++) {
		f->columns[i].def = columns[i];
		f->columns[i].values = malloc(PARQUET_GROUP_ROWS * sizeof(uint64_t));
		f->columns[i].is_set = malloc(PARQUET_GROUP_ROWS);
		if (!f->columns[i].values || !f->columns[i].is_set)
			f->error = -ENOMEM;
	}
	write_bytes(f, MAGIC, strlen(MAGIC));
	return f;
}

/* Appends a text as UTF-8. */
static void add_text_bytes(struct column *c, const char *s, size_t len)
{
	size_t at = 0, n;

	for (; at < len; at += MAX(n, 1u)) {
		n = str_utf8_len(s + at, len - at);
		strbuf_add(&c->bytes, n ? s + at : "?", MAX(n, 1u));
	}
}

static bool text_is_equal(const struct column *c, uint32_t number, const char *s, size_t len)
{
	const struct text *t = &c->texts[number];

	return t->len == len && !memcmp(c->bytes.s + t->at, s, len);
}

static uint32_t hash_text_to_slot(const struct column *c, const char *s, size_t len)
{
	return (uint32_t)fnv1a(FNV1A_START, s, len) & (c->n_slots - 1);
}

/* Makes room for one more text. Returns 0 or -ENOMEM. */
static int reserve_text(struct column *c)
{
	uint32_t *slots, n = MAX(2 * c->n_slots, TEXT_SLOTS_MIN), at;

	if (array_reserve(&c->texts, &c->cap_texts, c->n_texts + 1, sizeof(*c->texts)))
		return -ENOMEM;
	if (2 * (c->n_texts + 1) <= c->n_slots)
		return 0;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(c->slots);
	c->slots = slots;
	c->n_slots = n;
	for (uint32_t i = 0; i < c->n_texts; i++) {
		at = hash_text_to_slot(c, c->bytes.s + c->texts[i].at, c->texts[i].len);
		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = i + 1;
	}
	return 0;
}

/* Returns the number of the text in the row group, which it adds if it is new; -ENOMEM. Rows often
 * repeat the text of the row before. */
static int64_t find_or_add_text(struct column *c, const char *s, size_t len)
{
	uint32_t i;

	if (c->n && text_is_equal(c, (uint32_t)c->values[c->n - 1], s, len))
		return (int64_t)c->values[c->n - 1];
	if (c->bytes.len + len > UINT32_MAX || reserve_text(c) < 0)
		return -ENOMEM;
	i = hash_text_to_slot(c, s, len);
	for (; c->slots[i]; i = (i + 1) & (c->n_slots - 1))
		if (text_is_equal(c, c->slots[i] - 1, s, len))
			return c->slots[i] - 1;
	c->texts[c->n_texts] = (struct text){.at = (uint32_t)c->bytes.len, .len = (uint32_t)len};
	add_text_bytes(c, s, len);
	if (c->bytes.failed)
		return -ENOMEM;
	c->slots[i] = (uint32_t)++c->n_texts;
	return (int64_t)c->n_texts - 1;
}

static void put_cell_value(struct parquet_file *f, bool is_set, uint64_t v)
{
	struct column *c;

	if (f->error || f->at == f->n_columns)
		return;
	c = &f->columns[f->at++];
	c->is_set[f->group_rows] = is_set;
	if (is_set)
		c->values[c->n++] = v;
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
	int64_t number = -1;

	if (is_next_column(f, PARQUET_TEXT)) {
		number = find_or_add_text(&f->columns[f->at], s, len);
		if (number < 0)
			f->error = -ENOMEM;
	}
	put_cell_value(f, number >= 0, (uint64_t)number);
}

/* ---- pages ---- */

/* Appends one value as PLAIN has it; statistics have texts without their length. */
static void put_plain(const struct column *c, uint64_t value, bool with_length, struct strbuf *to)
{
	uint64_t le = htole64(value);

	if (c->def.kind == PARQUET_TEXT) {
		const struct text *t = &c->texts[value];

		if (with_length)
			parquet_put_u32(to, t->len);
		strbuf_add(to, c->bytes.s + t->at, t->len);
	} else {
		strbuf_add(to, &le, sizeof(le));
	}
}

static double real_of_bits(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* Texts are compared by their bytes. */
static int compare_values(const struct column *c, uint64_t a, uint64_t b)
{
	const struct text *x, *y;
	int r;

	if (c->def.kind == PARQUET_INTEGER)
		return ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
	if (c->def.kind == PARQUET_REAL)
		return (real_of_bits(a) > real_of_bits(b)) - (real_of_bits(a) < real_of_bits(b));
	x = &c->texts[a];
	y = &c->texts[b];
	r = memcmp(c->bytes.s + x->at, c->bytes.s + y->at, MIN(x->len, y->len));
	return r ? r : (x->len > y->len) - (x->len < y->len);
}

static bool is_nan(const struct column *c, uint64_t value)
{
	return c->def.kind == PARQUET_REAL && isnan(real_of_bits(value));
}

/* The least and the greatest value. */
struct range {
	uint64_t lo, hi;
	bool is_valid; /* there are values, and none is NaN */
};

static struct range find_range(const struct column *c, const uint64_t *values, size_t n)
{
	struct range r = {.is_valid = n > 0};

	if (n)
		r.lo = r.hi = values[0];
	if (c->def.kind == PARQUET_INTEGER) {
		for (size_t i = 0; i < n; i++) {
			r.lo = (uint64_t)MIN((int64_t)values[i], (int64_t)r.lo);
			r.hi = (uint64_t)MAX((int64_t)values[i], (int64_t)r.hi);
		}
		return r;
	}
	for (size_t i = 0; i < n; i++) {
		if (i && values[i] == values[i - 1])
			continue;
		r.is_valid &= !is_nan(c, values[i]);
		if (compare_values(c, values[i], r.lo) < 0)
			r.lo = values[i];
		if (compare_values(c, values[i], r.hi) > 0)
			r.hi = values[i];
	}
	return r;
}

/* Extends the range of a chunk by that of its next page, which has values. */
static void extend_range(const struct column *c, struct range *r, const struct range *by)
{
	r->is_valid &= by->is_valid;
	if (compare_values(c, by->lo, r->lo) < 0)
		r->lo = by->lo;
	if (compare_values(c, by->hi, r->hi) > 0)
		r->hi = by->hi;
}

/* Appends a range if a reader may trust it: texts are short, and a zero has the sign with which it
 * includes the other zero. Returns false if it is left out. */
static bool put_range(const struct column *c, struct range r, struct strbuf *least,
		      struct strbuf *most)
{
	if (!r.is_valid)
		return false;
	if (c->def.kind == PARQUET_TEXT &&
	    (c->texts[r.lo].len > STATISTIC_MAX || c->texts[r.hi].len > STATISTIC_MAX))
		return false;
	if (c->def.kind == PARQUET_REAL && real_of_bits(r.lo) == 0)
		r.lo = UINT64_C(1) << 63;
	if (c->def.kind == PARQUET_REAL && real_of_bits(r.hi) == 0)
		r.hi = 0;
	put_plain(c, r.lo, false, least);
	put_plain(c, r.hi, false, most);
	return true;
}

/* Compresses f->plain, writes it as a page, and empties it. n: values with the nulls. Returns the
 * bytes of the page with its header. */
static uint32_t write_page(struct parquet_file *f, struct chunk *k, int type, size_t n,
			   enum parquet_encoding encoding)
{
	size_t room = ZSTD_compressBound(f->plain.len), packed;
	struct strbuf header = {0};
	struct thrift t = {.to = &header};
	char *out = strbuf_reserve(&f->packed, room);
	uint32_t bytes;

	if (!out || f->plain.failed) {
		f->error = f->error ?: -ENOMEM;
		return 0;
	}
	packed = ZSTD_compressCCtx(f->zstd, out, room, f->plain.s, f->plain.len, LEVEL);
	if (ZSTD_isError(packed)) {
		f->error = f->error ?: -ENOMEM;
		return 0;
	}
	f->packed.len += packed;
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

/* The first bytes of a data page: which of its rows have a value, preceded by their length. */
static void put_levels(struct parquet_file *f, const struct column *c, uint32_t first, uint32_t n)
{
	_cleanup_(freep) uint32_t *levels = malloc((n + 1) * sizeof(*levels));
	struct strbuf encoded = {0};

	if (!levels) {
		f->error = f->error ?: -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		levels[i] = c->is_set[first + i];
	parquet_put_hybrid(&encoded, levels, n, 1);
	parquet_put_u32(&f->plain, (uint32_t)encoded.len);
	strbuf_add(&f->plain, encoded.s, encoded.len);
	f->plain.failed |= encoded.failed;
	strbuf_deinit(&encoded);
}

static void put_values(struct parquet_file *f, const struct column *c,
		       enum parquet_encoding encoding, uint32_t first, uint32_t n)
{
	uint32_t entries = c->def.kind == PARQUET_TEXT ? (uint32_t)c->n_texts : f->n_entries;
	unsigned width = parquet_bit_width(MAX(entries, 2u) - 1);

	switch (encoding) {
	case PARQUET_RLE_DICTIONARY:
		strbuf_putc(&f->plain, (char)width);
		parquet_put_hybrid(&f->plain, f->numbers + first, n, width);
		break;
	case PARQUET_DELTA_BINARY_PACKED:
		parquet_put_deltas(&f->plain, (const int64_t *)c->values + first, n);
		break;
	case PARQUET_BYTE_STREAM_SPLIT:
		parquet_put_split(&f->plain, c->values + first, n);
		break;
	default:
		for (uint32_t i = 0; i < n; i++)
			put_plain(c, c->values[first + i], true, &f->plain);
	}
}

/* ---- chunks ---- */

/* Numbers the integers of a chunk. Returns false if a dictionary is not worth it. */
static bool number_distinct_integers(struct parquet_file *f, const struct column *c)
{
	uint32_t most = MIN(PARQUET_DICTIONARY_MAX, c->n / 2);

	memset(f->slots, 0, ENTRY_SLOTS * sizeof(*f->slots));
	f->n_entries = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		int64_t v = (int64_t)c->values[i];
		size_t at = (c->values[i] * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (ENTRY_SLOTS - 1);

		while (f->slots[at] && f->entries[f->slots[at] - 1] != v)
			at = (at + 1) & (ENTRY_SLOTS - 1);
		if (!f->slots[at]) {
			if (f->n_entries == most)
				return false;
			f->entries[f->n_entries] = v;
			f->slots[at] = ++f->n_entries;
		}
		f->numbers[i] = f->slots[at] - 1;
	}
	return c->n > 0;
}

static enum parquet_encoding choose_encoding(struct parquet_file *f, const struct column *c)
{
	switch (c->def.kind) {
	case PARQUET_INTEGER:
		return number_distinct_integers(f, c) ? PARQUET_RLE_DICTIONARY
						      : PARQUET_DELTA_BINARY_PACKED;
	case PARQUET_REAL:
		return PARQUET_BYTE_STREAM_SPLIT;
	case PARQUET_TEXT:
		break;
	}
	if (!c->n || c->n_texts > PARQUET_DICTIONARY_MAX ||
	    c->bytes.len > PARQUET_DICTIONARY_BYTES_MAX)
		return PARQUET_PLAIN;
	for (uint32_t i = 0; i < c->n; i++)
		f->numbers[i] = (uint32_t)c->values[i];
	return PARQUET_RLE_DICTIONARY;
}

static void write_dictionary(struct parquet_file *f, const struct column *c, struct chunk *k)
{
	uint32_t n = c->def.kind == PARQUET_TEXT ? (uint32_t)c->n_texts : f->n_entries;

	for (uint32_t i = 0; i < n; i++)
		put_plain(c, c->def.kind == PARQUET_TEXT ? i : (uint64_t)f->entries[i], true,
			  &f->plain);
	k->dictionary_offset = f->offset;
	write_page(f, k, PAGE_DICTIONARY, n, PARQUET_PLAIN);
}

static void write_chunk(struct parquet_file *f, struct column *c, struct chunk *k)
{
	struct range range = {0}, of_page;
	uint32_t value = 0;

	k->encoding = choose_encoding(f, c);
	k->nulls = f->group_rows - c->n;
	k->pages = calloc(PAGES_MAX, sizeof(*k->pages));
	if (!k->pages) {
		f->error = f->error ?: -ENOMEM;
		return;
	}
	if (k->encoding == PARQUET_RLE_DICTIONARY)
		write_dictionary(f, c, k);
	k->offset = f->offset;
	for (uint32_t row = 0; row < f->group_rows && !f->error; row += PARQUET_PAGE_ROWS) {
		struct page_place *p = &k->pages[k->n_pages++];
		uint32_t n = MIN(f->group_rows - row, PARQUET_PAGE_ROWS), set = 0;

		for (uint32_t i = 0; i < n; i++)
			set += c->is_set[row + i];
		*p = (struct page_place){
			.offset = f->offset, .first_row = row, .nulls = n - set, .is_null = !set};
		of_page = find_range(c, c->values + value, set);
		p->has_range = put_range(c, of_page, &p->least, &p->most);
		if (set && !value)
			range = of_page;
		else if (set)
			extend_range(c, &range, &of_page);
		put_levels(f, c, row, n);
		put_values(f, c, k->encoding, value, set);
		p->bytes = write_page(f, k, PAGE_DATA, n, k->encoding);
		value += set;
	}
	k->has_range = put_range(c, range, &k->least, &k->most);
}

/* Writes the collected rows, and begins a new row group. */
static void write_row_group(struct parquet_file *f)
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
		struct column *c = &f->columns[i];

		write_chunk(f, c, &g->chunks[i]);
		c->n = 0;
		c->n_texts = 0;
		strbuf_clear(&c->bytes);
		if (c->slots)
			memset(c->slots, 0, c->n_slots * sizeof(*c->slots));
	}
	f->rows += f->group_rows;
	f->group_rows = 0;
}

void parquet_end_row(struct parquet_file *f)
{
	while (!f->error && f->at < f->n_columns)
		parquet_put_null(f);
	f->at = 0;
	if (!f->error && ++f->group_rows == PARQUET_GROUP_ROWS)
		write_row_group(f);
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
		if (!k->pages[i].has_range && !k->pages[i].is_null)
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
		thrift_item_bool(&t, k->pages[i].is_null);
	thrift_begin_list(&t, 2, THRIFT_BINARY, k->n_pages);
	for (size_t i = 0; i < k->n_pages; i++)
		thrift_item_binary(&t, k->pages[i].least.s, k->pages[i].least.len);
	thrift_begin_list(&t, 3, THRIFT_BINARY, k->n_pages);
	for (size_t i = 0; i < k->n_pages; i++)
		thrift_item_binary(&t, k->pages[i].most.s, k->pages[i].most.len);
	thrift_i32(&t, 4, 0); /* the order of the pages is not stated */
	thrift_begin_list(&t, 5, THRIFT_I64, k->n_pages);
	for (size_t i = 0; i < k->n_pages; i++)
		thrift_item_i64(&t, k->pages[i].nulls);
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

static void put_chunk(const struct column *c, const struct chunk *k, uint32_t rows,
		      struct thrift *t)
{
	thrift_begin_struct(t, 0);
	thrift_i64(t, 2, 0);
	thrift_begin_struct(t, 3);
	thrift_i32(t, 1, kind_types[c->def.kind]);
	thrift_begin_list(t, 2, THRIFT_I32, k->dictionary_offset ? 3 : 2);
	thrift_item_i32(t, PARQUET_RLE);
	thrift_item_i32(t, k->encoding);
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
		put_chunk(&f->columns[i], &g->chunks[i], g->rows, t);
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
	if (f->n_metadata && !f->metadata.failed)
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
	for (size_t i = 0; f->columns && i < f->n_columns; i++) {
		free(f->columns[i].values);
		free(f->columns[i].is_set);
		free(f->columns[i].texts);
		free(f->columns[i].slots);
		strbuf_deinit(&f->columns[i].bytes);
	}
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
	write_row_group(f);
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
