/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/parquet/thrift_compact.h"

#include <string.h>

#include "wire/pb_varint.h"

static void thrift_varint(struct thrift *t, uint64_t v)
{
	uint8_t bytes[10];

	strbuf_add(t->to, bytes, (size_t)(pb_put_varint(bytes, v) - bytes));
}

/* The head of a field has the difference of its id to that of the field before. */
static void thrift_head(struct thrift *t, int id, enum thrift_type type)
{
	int delta = id - t->last[t->depth];

	if (delta > 0 && delta < 16) {
		strbuf_putc(t->to, (char)(delta << 4 | (int)type));
	} else {
		strbuf_putc(t->to, (char)type);
		thrift_varint(t, pb_zigzag(id));
	}
	t->last[t->depth] = id;
}

void thrift_i32(struct thrift *t, int id, int32_t v)
{
	thrift_head(t, id, THRIFT_I32);
	thrift_varint(t, pb_zigzag(v));
}

void thrift_i64(struct thrift *t, int id, int64_t v)
{
	thrift_head(t, id, THRIFT_I64);
	thrift_varint(t, pb_zigzag(v));
}

void thrift_item_binary(struct thrift *t, const void *data, size_t len)
{
	thrift_varint(t, len);
	strbuf_add(t->to, data, len);
}

void thrift_binary(struct thrift *t, int id, const void *data, size_t len)
{
	thrift_head(t, id, THRIFT_BINARY);
	thrift_item_binary(t, data, len);
}

void thrift_text(struct thrift *t, int id, const char *text)
{
	thrift_binary(t, id, text, strlen(text));
}

void thrift_begin_struct(struct thrift *t, int id)
{
	if (id)
		thrift_head(t, id, THRIFT_STRUCT);
	t->last[++t->depth] = 0;
}

void thrift_end_struct(struct thrift *t)
{
	strbuf_putc(t->to, 0);
	t->depth--;
}

void thrift_begin_list(struct thrift *t, int id, enum thrift_type of, size_t n)
{
	thrift_head(t, id, THRIFT_LIST);
	if (n < 15) {
		strbuf_putc(t->to, (char)(n << 4 | of));
	} else {
		strbuf_putc(t->to, (char)(0xf0 | of));
		thrift_varint(t, n);
	}
}

void thrift_item_i32(struct thrift *t, int32_t v)
{
	thrift_varint(t, pb_zigzag(v));
}

void thrift_item_i64(struct thrift *t, int64_t v)
{
	thrift_varint(t, pb_zigzag(v));
}

void thrift_item_bool(struct thrift *t, bool v)
{
	strbuf_putc(t->to, v ? 1 : 2);
}
