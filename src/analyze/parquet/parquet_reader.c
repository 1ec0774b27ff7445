/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/parquet/parquet_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "analyze/parquet/parquet_decode.h"
#include "analyze/parquet/parquet_encode.h"
#include "analyze/parquet/thrift_compact.h"
#include "base/core/mem.h"

#define MAGIC "PAR1"
#define TAIL_SIZE 8 /* the length of the footer, and the magic */
#define FOOTER_MAX (64u << 20)
#define PAGE_HEADER_MAX 256u /* bytes of the header of a page */
#define PAGE_MAX (64u << 20) /* bytes of a page */
#define PAGE_ROWS_MAX PARQUET_GROUP_ROWS

struct chunk_place {
	uint64_t at, bytes; /* of all its pages; the first one may be a dictionary */
};

struct group_place {
	uint64_t rows;
	size_t first_chunk;
};

/* A text of a dictionary or a page. */
struct text_place {
	uint32_t at, len;
};

struct column_reader {
	char *name; /* owned */
	uint64_t at, end; /* of the chunk's next pages */
	/* the page */
	uint32_t rows, row, value; /* number of rows; indexes of the next row and value */
	uint32_t *numbers; /* owned: indexes in the dictionary */
	uint64_t *values; /* owned: integers, bits of doubles, numbers of texts; nulls have none */
	uint8_t *is_set; /* owned: by row */
	bool now_set; /* the current row has a value, which is the next member */
	uint64_t now;
	/* the dictionary */
	uint64_t *entries; /* owned */
	uint32_t n_entries;
	/* the texts: of the dictionary, or of a plain page */
	struct text_place *texts; /* owned */
	size_t n_texts, cap_texts;
	struct strbuf bytes;
};

struct parquet_reader {
	int fd; /* borrowed */
	int error;
	uint64_t size; /* of the file */
	struct strbuf footer;
	struct parquet_column_def *defs; /* owned */
	struct column_reader *columns; /* owned */
	size_t n_columns;
	struct group_place *groups; /* owned */
	size_t n_groups, cap_groups;
	struct chunk_place *chunks; /* owned */
	size_t n_chunks, cap_chunks;
	uint64_t rows;
	size_t group; /* the next one */
	uint64_t rows_left; /* of the group before */
	struct strbuf packed, plain;
	ZSTD_DCtx *zstd;
};

/* ---- the footer ---- */

/* Reads an element of the schema. Returns false if it is none of the writer's. */
static bool read_schema_element(struct parquet_reader *r, struct thrift_reader *t, bool is_root,
				size_t i)
{
	static const int types[] = {
		[2] = PARQUET_INTEGER + 1, [5] = PARQUET_REAL + 1, [6] = PARQUET_TEXT + 1};
	int64_t type = 0, repetition = -1, children = 0;
	struct span name = {NULL, 0};
	enum thrift_type of;
	int id;

	thrift_open(t);
	while (thrift_next(t, &id, &of)) {
		if (id == 1 && of == THRIFT_I32)
			type = thrift_read_integer(t);
		else if (id == 3 && of == THRIFT_I32)
			repetition = thrift_read_integer(t);
		else if (id == 4 && of == THRIFT_BINARY)
			name = thrift_read_binary(t);
		else if (id == 5 && of == THRIFT_I32)
			children = thrift_read_integer(t);
		else
			thrift_skip(t, of);
	}
	if (t->failed || is_root)
		return !t->failed;
	if (type < 0 || type >= (int64_t)ARRAY_SIZE(types) || !types[type] || repetition != 1 ||
	    children || !name.len || memchr(name.p, '\0', name.len))
		return false;
	r->columns[i].name = strndup(name.p, name.len);
	r->defs[i] = (struct parquet_column_def){r->columns[i].name,
						 (enum parquet_kind)(types[type] - 1)};
	if (!r->columns[i].name)
		r->error = -ENOMEM;
	return true;
}

static bool read_schema(struct parquet_reader *r, struct thrift_reader *t)
{
	size_t n = thrift_read_list(t, THRIFT_STRUCT);

	if (r->columns || n < 2 || n > PARQUET_COLUMNS_MAX + 1)
		return false;
	r->n_columns = n - 1;
	r->columns = calloc(n, sizeof(*r->columns));
	r->defs = calloc(n, sizeof(*r->defs));
	if (!r->columns || !r->defs) {
		r->error = -ENOMEM;
		return false;
	}
	for (size_t i = 0; i < n; i++)
		if (!read_schema_element(r, t, i == 0, i - 1))
			return false;
	return true;
}

/* Reads ColumnMetaData. */
static void read_chunk_data(struct thrift_reader *t, struct chunk_place *ret)
{
	uint64_t data = 0, dictionary = 0;
	enum thrift_type of;
	int id;

	thrift_open(t);
	while (thrift_next(t, &id, &of)) {
		if (id == 7 && of == THRIFT_I64)
			ret->bytes = (uint64_t)thrift_read_integer(t);
		else if (id == 9 && of == THRIFT_I64)
			data = (uint64_t)thrift_read_integer(t);
		else if (id == 11 && of == THRIFT_I64)
			dictionary = (uint64_t)thrift_read_integer(t);
		else
			thrift_skip(t, of);
	}
	ret->at = dictionary ?: data;
}

static bool read_chunk(struct parquet_reader *r, struct thrift_reader *t)
{
	struct chunk_place place = {0};
	enum thrift_type of;
	int id;

	thrift_open(t);
	while (thrift_next(t, &id, &of)) {
		if (id == 3 && of == THRIFT_STRUCT)
			read_chunk_data(t, &place);
		else
			thrift_skip(t, of);
	}
	if (t->failed || place.at > r->size || place.bytes > r->size - place.at)
		return false;
	if (array_reserve(&r->chunks, &r->cap_chunks, r->n_chunks + 1, sizeof(*r->chunks))) {
		r->error = -ENOMEM;
		return false;
	}
	r->chunks[r->n_chunks++] = place;
	return true;
}

static bool read_group(struct parquet_reader *r, struct thrift_reader *t)
{
	struct group_place g = {.first_chunk = r->n_chunks};
	enum thrift_type of;
	bool good = true;
	int id;

	thrift_open(t);
	while (good && thrift_next(t, &id, &of)) {
		if (id == 1 && of == THRIFT_LIST) {
			size_t n = thrift_read_list(t, THRIFT_STRUCT);

			for (size_t i = 0; good && i < n; i++)
				good = read_chunk(r, t);
		} else if (id == 3 && of == THRIFT_I64) {
			g.rows = (uint64_t)thrift_read_integer(t);
		} else {
			thrift_skip(t, of);
		}
	}
	if (!good || t->failed || r->n_chunks - g.first_chunk != r->n_columns ||
	    g.rows > PARQUET_GROUP_ROWS)
		return false;
	if (array_reserve(&r->groups, &r->cap_groups, r->n_groups + 1, sizeof(*r->groups))) {
		r->error = -ENOMEM;
		return false;
	}
	r->groups[r->n_groups++] = g;
	r->rows += g.rows;
	return true;
}

/* Reads FileMetaData, whose schema precedes the row groups. Returns false if it is malformed, or
 * after an error, which is in r->error. */
static bool read_footer(struct parquet_reader *r)
{
	struct thrift_reader t = {.at = (const uint8_t *)r->footer.s,
				  .end = (const uint8_t *)r->footer.s + r->footer.len};
	enum thrift_type of;
	bool good = true;
	int id;

	while (good && thrift_next(&t, &id, &of)) {
		if (id == 2 && of == THRIFT_LIST) {
			good = read_schema(r, &t);
		} else if (id == 4 && of == THRIFT_LIST) {
			size_t n = thrift_read_list(&t, THRIFT_STRUCT);

			for (size_t i = 0; good && i < n; i++)
				good = read_group(r, &t);
		} else {
			thrift_skip(&t, of);
		}
	}
	return good && !t.failed && r->n_columns > 0;
}

/* Replaces the content of a buffer. Returns 0, -EBADMSG if the file is shorter, or -errno. */
static int read_file_part(struct parquet_reader *r, uint64_t at, size_t len, struct strbuf *to)
{
	char *out;

	strbuf_clear(to);
	out = strbuf_reserve(to, len);
	if (!out)
		return -ENOMEM;
	while (to->len < len) {
		ssize_t n = pread(r->fd, out + to->len, len - to->len, (off_t)(at + to->len));

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -EBADMSG;
		to->len += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int open_footer(struct parquet_reader *r)
{
	off_t size = lseek(r->fd, 0, SEEK_END);
	struct parquet_bytes tail;
	uint32_t len;
	int error;

	if (size < 0)
		return -errno;
	r->size = (uint64_t)size;
	if (r->size < strlen(MAGIC) + TAIL_SIZE)
		return -EBADMSG;
	error = read_file_part(r, r->size - TAIL_SIZE, TAIL_SIZE, &r->footer);
	if (error)
		return error;
	tail = (struct parquet_bytes){(const uint8_t *)r->footer.s,
				      (const uint8_t *)r->footer.s + TAIL_SIZE};
	if (!parquet_read_u32(&tail, &len) || memcmp(tail.at, MAGIC, strlen(MAGIC)) != 0 ||
	    len > FOOTER_MAX || len > r->size - strlen(MAGIC) - TAIL_SIZE)
		return -EBADMSG;
	error = read_file_part(r, r->size - TAIL_SIZE - len, len, &r->footer);
	if (error)
		return error;
	return read_footer(r) ? r->error : r->error ?: -EBADMSG;
}

int parquet_reader_open(int fd, struct parquet_reader **ret)
{
	struct parquet_reader *r = calloc(1, sizeof(*r));
	int error;

	if (!r)
		return -ENOMEM;
	r->fd = fd;
	r->zstd = ZSTD_createDCtx();
	error = r->zstd ? open_footer(r) : -ENOMEM;
	strbuf_deinit(&r->footer);
	if (error) {
		parquet_reader_close(r);
		return error;
	}
	*ret = r;
	return 0;
}

void parquet_reader_close(struct parquet_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->columns && i < r->n_columns; i++) {
		struct column_reader *c = &r->columns[i];

		free(c->name);
		free(c->numbers);
		free(c->values);
		free(c->is_set);
		free(c->entries);
		free(c->texts);
		strbuf_deinit(&c->bytes);
	}
	free(r->columns);
	free(r->defs);
	free(r->groups);
	free(r->chunks);
	strbuf_deinit(&r->footer);
	strbuf_deinit(&r->packed);
	strbuf_deinit(&r->plain);
	ZSTD_freeDCtx(r->zstd);
	free(r);
}

const struct parquet_column_def *parquet_reader_columns(const struct parquet_reader *r,
							size_t *ret_n)
{
	*ret_n = r->n_columns;
	return r->defs;
}

uint64_t parquet_reader_rows(const struct parquet_reader *r)
{
	return r->rows;
}

/* ---- pages ---- */

struct page_header {
	int64_t type, plain, packed, values, encoding;
	uint32_t crc;
};

static bool parse_page_header(struct parquet_reader *r, struct page_header *ret, size_t *ret_len)
{
	struct thrift_reader t = {.at = (const uint8_t *)r->packed.s,
				  .end = (const uint8_t *)r->packed.s + r->packed.len};
	struct page_header h = {
		.type = -1, .plain = -1, .packed = -1, .values = -1, .encoding = -1};
	enum thrift_type of;
	int id;

	while (thrift_next(&t, &id, &of)) {
		if (id == 1 && of == THRIFT_I32) {
			h.type = thrift_read_integer(&t);
		} else if (id == 2 && of == THRIFT_I32) {
			h.plain = thrift_read_integer(&t);
		} else if (id == 3 && of == THRIFT_I32) {
			h.packed = thrift_read_integer(&t);
		} else if (id == 4 && of == THRIFT_I32) {
			h.crc = (uint32_t)thrift_read_integer(&t);
		} else if ((id == 5 || id == 7) && of == THRIFT_STRUCT) {
			thrift_open(&t);
			while (thrift_next(&t, &id, &of)) {
				if (id == 1 && of == THRIFT_I32)
					h.values = thrift_read_integer(&t);
				else if (id == 2 && of == THRIFT_I32)
					h.encoding = thrift_read_integer(&t);
				else
					thrift_skip(&t, of);
			}
		} else {
			thrift_skip(&t, of);
		}
	}
	*ret = h;
	*ret_len = (size_t)(t.at - (const uint8_t *)r->packed.s);
	return !t.failed && h.plain >= 0 && h.plain <= PAGE_MAX && h.packed > 0 &&
	       h.packed <= PAGE_MAX && h.values >= 0 && h.values <= PAGE_ROWS_MAX;
}

/* Reads the next page of a chunk into r->plain. Returns 0, -EBADMSG, -ENOMEM, or -errno of a failed
 * read. */
static int read_page(struct parquet_reader *r, struct column_reader *c, struct page_header *ret)
{
	size_t header, n;
	int error = read_file_part(r, c->at, MIN(c->end - c->at, (uint64_t)PAGE_HEADER_MAX),
				   &r->packed);
	char *out;

	if (error)
		return error;
	if (!parse_page_header(r, ret, &header) || (uint64_t)ret->packed > c->end - c->at - header)
		return -EBADMSG;
	error = read_file_part(r, c->at + header, (size_t)ret->packed, &r->packed);
	if (error)
		return error;
	c->at += header + (uint64_t)ret->packed;
	if (crc32(0, (const Bytef *)r->packed.s, (uInt)ret->packed) != ret->crc)
		return -EBADMSG;
	strbuf_clear(&r->plain);
	out = strbuf_reserve(&r->plain, (size_t)ret->plain);
	if (!out)
		return -ENOMEM;
	n = ZSTD_decompressDCtx(r->zstd, out, (size_t)ret->plain, r->packed.s, r->packed.len);
	if (ZSTD_isError(n) || n != (size_t)ret->plain)
		return -EBADMSG;
	r->plain.len = n;
	return 0;
}

/* Replaces the texts by n texts from b. lengths: NULL if each text has its length before it.
 * Returns 0, -EBADMSG or -ENOMEM. */
static int read_texts(struct column_reader *c, struct parquet_bytes *b, size_t n,
		      const uint64_t *lengths)
{
	struct parquet_bytes text;
	uint32_t len;

	c->n_texts = 0;
	strbuf_clear(&c->bytes);
	if (array_reserve(&c->texts, &c->cap_texts, n + 1, sizeof(*c->texts)))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if ((!lengths && !parquet_read_u32(b, &len)) ||
		    !parquet_read_piece(b, lengths ? lengths[i] : len, &text))
			return -EBADMSG;
		for (const uint8_t *at = text.at; at < text.end;) {
			size_t bytes = str_utf8_len((const char *)at, (size_t)(text.end - at));

			if (!bytes)
				return -EBADMSG;
			at += bytes;
		}
		len = (uint32_t)(text.end - text.at);
		c->texts[c->n_texts++] = (struct text_place){(uint32_t)c->bytes.len, len};
		strbuf_add(&c->bytes, text.at, len);
	}
	return c->bytes.failed ? -ENOMEM : 0;
}

static int read_dictionary(struct parquet_reader *r, struct column_reader *c,
			   const struct page_header *h)
{
	bool is_text = r->defs[c - r->columns].kind == PARQUET_TEXT;
	struct parquet_bytes b = {(const uint8_t *)r->plain.s,
				  (const uint8_t *)r->plain.s + r->plain.len};

	if (h->encoding != PARQUET_PLAIN)
		return -EBADMSG;
	c->n_entries = (uint32_t)h->values;
	if (is_text)
		return read_texts(c, &b, c->n_entries, NULL);
	if (!c->entries)
		c->entries = malloc(PAGE_ROWS_MAX * sizeof(*c->entries));
	if (!c->entries)
		return -ENOMEM;
	return parquet_read_plain(&b, c->entries, c->n_entries) ? 0 : -EBADMSG;
}

/* Reads n values of a data page, whose levels were read. */
static int read_values(struct parquet_reader *r, struct column_reader *c, struct parquet_bytes *b,
		       int64_t encoding, uint32_t n)
{
	enum parquet_kind kind = r->defs[c - r->columns].kind;
	bool good;
	int error;

	switch (encoding) {
	case PARQUET_RLE_DICTIONARY:
		if (b->at == b->end)
			return n ? -EBADMSG : 0;
		good = parquet_read_hybrid(b, c->numbers, n, *b->at++);
		for (uint32_t i = 0; good && i < n; i++) {
			good = c->numbers[i] < c->n_entries;
			if (good)
				c->values[i] = kind == PARQUET_TEXT ? c->numbers[i]
								    : c->entries[c->numbers[i]];
		}
		break;
	case PARQUET_DELTA_BINARY_PACKED:
		good = kind == PARQUET_INTEGER && parquet_read_deltas(b, c->values, n);
		break;
	case PARQUET_BYTE_STREAM_SPLIT:
		good = kind == PARQUET_REAL && parquet_read_split(b, c->values, n);
		break;
	case PARQUET_DELTA_LENGTH_BYTE_ARRAY:
	case PARQUET_PLAIN:
		if (kind != PARQUET_TEXT ||
		    (encoding != PARQUET_PLAIN && !parquet_read_deltas(b, c->values, n)))
			return -EBADMSG;
		error = read_texts(c, b, n, encoding == PARQUET_PLAIN ? NULL : c->values);
		c->n_entries = 0; /* the texts of the dictionary are gone */
		for (uint32_t i = 0; i < n; i++)
			c->values[i] = i;
		return error;
	default:
		return -EBADMSG;
	}
	return good ? 0 : -EBADMSG;
}

static int reserve_page(struct column_reader *c)
{
	if (c->values)
		return 0;
	c->values = malloc(PAGE_ROWS_MAX * sizeof(*c->values));
	c->numbers = malloc(PAGE_ROWS_MAX * sizeof(*c->numbers));
	c->is_set = malloc(PAGE_ROWS_MAX);
	return c->values && c->numbers && c->is_set ? 0 : -ENOMEM;
}

static int read_data_page(struct parquet_reader *r, struct column_reader *c,
			  const struct page_header *h)
{
	struct parquet_bytes b = {(const uint8_t *)r->plain.s,
				  (const uint8_t *)r->plain.s + r->plain.len},
			     levels;
	uint32_t len, n = (uint32_t)h->values, set = 0;

	if (reserve_page(c) < 0)
		return -ENOMEM;
	if (!n || !parquet_read_u32(&b, &len) || !parquet_read_piece(&b, len, &levels) ||
	    !parquet_read_hybrid(&levels, c->numbers, n, 1))
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++)
		set += c->is_set[i] = (uint8_t)(c->numbers[i] & 1);
	c->rows = n;
	c->row = c->value = 0;
	return read_values(r, c, &b, h->encoding, set);
}

static int next_page(struct parquet_reader *r, struct column_reader *c)
{
	struct page_header h;
	int error = read_page(r, c, &h);

	if (error == 0 && h.type == 2) {
		error = read_dictionary(r, c, &h);
		if (error == 0)
			error = read_page(r, c, &h);
	}
	if (error)
		return error;
	return h.type == 0 ? read_data_page(r, c, &h) : -EBADMSG;
}

/* ---- rows ---- */

static void begin_group(struct parquet_reader *r)
{
	const struct group_place *g = &r->groups[r->group++];

	r->rows_left = g->rows;
	for (size_t i = 0; i < r->n_columns; i++) {
		const struct chunk_place *k = &r->chunks[g->first_chunk + i];
		struct column_reader *c = &r->columns[i];

		c->at = k->at;
		c->end = k->at + k->bytes;
		c->rows = c->row = 0;
		c->n_entries = 0;
	}
}

int parquet_reader_next(struct parquet_reader *r)
{
	while (!r->rows_left && !r->error) {
		if (r->group == r->n_groups)
			return 0;
		begin_group(r);
	}
	for (size_t i = 0; !r->error && i < r->n_columns; i++) {
		struct column_reader *c = &r->columns[i];

		if (c->row == c->rows)
			r->error = next_page(r, c);
		if (r->error)
			break;
		c->now_set = c->is_set[c->row++];
		if (c->now_set)
			c->now = c->values[c->value++];
	}
	r->rows_left--;
	return r->error ?: 1;
}

struct parquet_cell parquet_reader_cell(const struct parquet_reader *r, size_t column)
{
	const struct column_reader *c = &r->columns[column];
	struct parquet_cell cell = {.is_set = c->now_set};

	if (!c->now_set)
		return cell;
	cell.bits = c->now;
	if (r->defs[column].kind == PARQUET_TEXT) {
		const struct text_place *t = &c->texts[c->now];

		cell.text = (struct span){c->bytes.s ? c->bytes.s + t->at : "", t->len};
	}
	return cell;
}
