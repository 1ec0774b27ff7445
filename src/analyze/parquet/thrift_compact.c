/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/parquet/thrift_compact.h"

#include <string.h>

#include "wire/pb_varint.h"

static void thrift_put_varint(struct thrift *t, uint64_t v)
{
	uint8_t bytes[10];

	strbuf_add(t->to, bytes, (size_t)(pb_put_varint(bytes, v) - bytes));
}

/* Appends the head of a field, which has the difference between its id and the id of the field
 * before. */
static void thrift_put_head(struct thrift *t, int id, enum thrift_type type)
{
	int delta = id - t->last[t->depth];

	if (delta > 0 && delta < 16) {
		strbuf_putc(t->to, (char)(delta << 4 | (int)type));
	} else {
		strbuf_putc(t->to, (char)type);
		thrift_put_varint(t, pb_zigzag(id));
	}
	t->last[t->depth] = id;
}

void thrift_i32(struct thrift *t, int id, int32_t v)
{
	thrift_put_head(t, id, THRIFT_I32);
	thrift_put_varint(t, pb_zigzag(v));
}

void thrift_i64(struct thrift *t, int id, int64_t v)
{
	thrift_put_head(t, id, THRIFT_I64);
	thrift_put_varint(t, pb_zigzag(v));
}

void thrift_item_binary(struct thrift *t, const void *data, size_t len)
{
	thrift_put_varint(t, len);
	strbuf_add(t->to, data, len);
}

void thrift_binary(struct thrift *t, int id, const void *data, size_t len)
{
	thrift_put_head(t, id, THRIFT_BINARY);
	thrift_item_binary(t, data, len);
}

void thrift_text(struct thrift *t, int id, const char *text)
{
	thrift_binary(t, id, text, strlen(text));
}

void thrift_begin_struct(struct thrift *t, int id)
{
	if (id)
		thrift_put_head(t, id, THRIFT_STRUCT);
	t->last[++t->depth] = 0;
}

void thrift_end_struct(struct thrift *t)
{
	strbuf_putc(t->to, 0);
	t->depth--;
}

void thrift_begin_list(struct thrift *t, int id, enum thrift_type of, size_t n)
{
	thrift_put_head(t, id, THRIFT_LIST);
	if (n < 15) {
		strbuf_putc(t->to, (char)(n << 4 | of));
	} else {
		strbuf_putc(t->to, (char)(0xf0 | of));
		thrift_put_varint(t, n);
	}
}

void thrift_item_i32(struct thrift *t, int32_t v)
{
	thrift_put_varint(t, pb_zigzag(v));
}

void thrift_item_i64(struct thrift *t, int64_t v)
{
	thrift_put_varint(t, pb_zigzag(v));
}

void thrift_item_bool(struct thrift *t, bool v)
{
	strbuf_putc(t->to, v ? 1 : 2);
}

/* ---- reading ---- */

static uint8_t read_byte(struct thrift_reader *r)
{
	if (r->failed || r->at == r->end) {
		r->failed = true;
		return 0;
	}
	return *r->at++;
}

static uint64_t read_thrift_varint(struct thrift_reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = read_byte(r);

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
	r->failed = true;
	return 0;
}

int64_t thrift_read_integer(struct thrift_reader *r)
{
	uint64_t v = read_thrift_varint(r);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

struct span thrift_read_binary(struct thrift_reader *r)
{
	uint64_t len = read_thrift_varint(r);
	struct span s = {(const char *)r->at, 0};

	if (r->failed || len > (uint64_t)(r->end - r->at)) {
		r->failed = true;
		return s;
	}
	s.len = len;
	r->at += len;
	return s;
}

bool thrift_next(struct thrift_reader *r, int *ret_id, enum thrift_type *ret_type)
{
	uint8_t head = read_byte(r);

	if (!head) { /* the end, or an error */
		r->depth -= r->depth > 0;
		return false;
	}
	*ret_type = (enum thrift_type)(head & 15);
	*ret_id = head >> 4 ? r->last[r->depth] + (head >> 4) : (int16_t)thrift_read_integer(r);
	r->last[r->depth] = *ret_id;
	return !r->failed;
}

void thrift_open(struct thrift_reader *r)
{
	if (r->depth + 1 == THRIFT_DEPTH_MAX)
		r->failed = true;
	else
		r->last[++r->depth] = 0;
}

/* Returns the number of a list's elements, and sets *ret_of to their type. Fails, and returns 0, if
 * there are more elements than bytes left: an element has at least one byte. */
static size_t read_list_head(struct thrift_reader *r, enum thrift_type *ret_of)
{
	uint8_t head = read_byte(r);
	uint64_t n = head >> 4 == 15 ? read_thrift_varint(r) : head >> 4;

	*ret_of = (enum thrift_type)(head & 15);
	if (n > (uint64_t)(r->end - r->at))
		r->failed = true;
	return r->failed ? 0 : n;
}

size_t thrift_read_list(struct thrift_reader *r, enum thrift_type of)
{
	enum thrift_type type;
	size_t n = read_list_head(r, &type);

	if (n && type != of)
		r->failed = true;
	return r->failed ? 0 : n;
}

/* Skips a list. Fails for a list of lists, which Parquet does not have, so that only structs nest,
 * and their depth is limited. */
static void skip_list(struct thrift_reader *r)
{
	enum thrift_type of;
	size_t n = read_list_head(r, &of);

	r->failed |= of == THRIFT_LIST;
	for (size_t i = 0; !r->failed && i < n; i++) {
		if (of == THRIFT_TRUE || of == THRIFT_FALSE)
			(void)read_byte(r);
		else
			thrift_skip(r, of);
	}
}

static void skip_struct(struct thrift_reader *r)
{
	enum thrift_type type;
	int id;

	thrift_open(r);
	while (!r->failed && thrift_next(r, &id, &type))
		thrift_skip(r, type);
}

void thrift_skip(struct thrift_reader *r, enum thrift_type type)
{
	switch (type) {
	case THRIFT_TRUE:
	case THRIFT_FALSE:
		break;
	case THRIFT_I8:
		(void)read_byte(r);
		break;
	case THRIFT_I16:
	case THRIFT_I32:
	case THRIFT_I64:
		(void)read_thrift_varint(r);
		break;
	case THRIFT_DOUBLE:
		for (unsigned i = 0; i < 8; i++)
			(void)read_byte(r);
		break;
	case THRIFT_BINARY:
		(void)thrift_read_binary(r);
		break;
	case THRIFT_LIST:
		skip_list(r);
		break;
	case THRIFT_STRUCT:
		skip_struct(r);
		break;
	default:
		r->failed = true;
	}
}
