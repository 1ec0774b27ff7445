/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "analyze/packets.h"
#include "base/core/mem.h"

void trace_bytes_free(struct trace_bytes *b)
{
	if (b->mapped)
		munmap(b->data, b->len);
	else
		free(b->data);
}

void trace_bytes_release_pages(const struct trace_bytes *b)
{
	if (b->mapped && b->len)
		madvise(b->data, b->len, MADV_DONTNEED);
}

/* Inserts the newest of s->bytes into the order by address. */
static int insert_by_address(struct store *s, uint32_t index)
{
	uintptr_t address = (uintptr_t)s->bytes[index].data;
	uint32_t at = index;

	if (array_reserve(&s->bytes_by_address, &s->cap_by_address, index + 1,
			  sizeof(*s->bytes_by_address)))
		return -ENOMEM;
	for (; at > 0 && (uintptr_t)s->bytes[s->bytes_by_address[at - 1]].data > address; at--)
		s->bytes_by_address[at] = s->bytes_by_address[at - 1];
	s->bytes_by_address[at] = index;
	return 0;
}

int store_keep_bytes(struct store *s, struct trace_bytes bytes)
{
	if ((!bytes.mapped && !budget_charge(&s->budget, bytes.len)) ||
	    array_reserve(&s->bytes, &s->cap_bytes, s->n_bytes + 1, sizeof(*s->bytes))) {
		trace_bytes_free(&bytes);
		return s->budget.error ? s->budget.error : -ENOMEM;
	}
	bytes.begin =
		s->n_bytes ? s->bytes[s->n_bytes - 1].begin + s->bytes[s->n_bytes - 1].len : 0;
	s->bytes[s->n_bytes++] = bytes;
	return bytes.data ? insert_by_address(s, (uint32_t)s->n_bytes - 1) : 0;
}

uint64_t store_find_place(const struct store *s, const uint8_t *p)
{
	size_t low = 0, high = s->n_bytes;
	const struct trace_bytes *b;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if ((uintptr_t)s->bytes[s->bytes_by_address[middle]].data <= (uintptr_t)p)
			low = middle;
		else
			high = middle;
	}
	b = &s->bytes[s->bytes_by_address[low]];
	return b->begin + (uint64_t)(p - b->data);
}

/* Unpacks the contents of a compressed packet again. b->data stays NULL if this fails, or if they
 * are not the same as before. */
static void unpack_again(const struct store *s, struct trace_bytes *b)
{
	struct strbuf contents = {0};

	if (packets_unpack(b->packed_field, s->bytes[0].data + b->packed_at, b->packed_len,
			   &contents) >= 0 &&
	    contents.len == b->len &&
	    crc32_z(0, (const uint8_t *)contents.s, contents.len) == b->crc)
		b->data = (uint8_t *)strbuf_take(&contents);
	strbuf_deinit(&contents);
}

const uint8_t *store_bytes_at(const struct store *s, uint64_t place, size_t *ret_len)
{
	size_t low = 0, high = s->n_bytes;
	struct trace_bytes *b;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (s->bytes[middle].begin <= place)
			low = middle;
		else
			high = middle;
	}
	b = &s->bytes[low];
	*ret_len = 0;
	if (high == 0 || place - b->begin >= b->len)
		return NULL;
	if (!b->data)
		unpack_again(s, b);
	if (!b->data)
		return NULL;
	*ret_len = b->len - (size_t)(place - b->begin);
	return b->data + (place - b->begin);
}

uint16_t store_state_number(struct store *s, uint32_t string)
{
	for (size_t i = 0; i < s->n_states; i++)
		if (s->states[i] == string)
			return (uint16_t)i;
	if (s->n_states >= NULL_U16)
		return NULL_U16;
	if (array_reserve(&s->states, &s->cap_states, s->n_states + 1, sizeof(*s->states))) {
		s->budget.error = -ENOMEM;
		return NULL_U16;
	}
	s->states[s->n_states] = string;
	return (uint16_t)s->n_states++;
}

static void set_int(struct value *ret, int64_t i)
{
	ret->kind = VALUE_INT;
	ret->i = i;
}

static void set_string(const struct store *s, struct value *ret, uint32_t id)
{
	if (id >= s->strings.n)
		return;
	ret->kind = VALUE_TEXT;
	ret->s = s->strings.of[id].s;
	ret->len = s->strings.of[id].len;
}

void store_read_value(const struct store *s, const struct table *t, uint32_t row, unsigned column,
		      struct value *ret)
{
	const struct column_def *c = &t->def->columns[column];
	uint32_t v;

	ret->kind = VALUE_NULL;
	if (c->kind == COLUMN_SAME) {
		column = c->arg;
		c = &t->def->columns[column];
	}
	switch (c->kind) {
	case COLUMN_ID:
		return set_int(ret, row);
	case COLUMN_TS:
		return set_int(ret, table_ts(t, column, row));
	case COLUMN_DUR:
		return set_int(ret, table_dur(t, column, row));
	case COLUMN_I64:
		if (table_i64(t, column, row) != NULL_I64)
			set_int(ret, table_i64(t, column, row));
		return;
	case COLUMN_I32:
		return set_int(ret, table_i32(t, column, row));
	case COLUMN_U32:
		v = table_u32(t, column, row);
		if (v != NULL_U32)
			set_int(ret, v);
		return;
	case COLUMN_U16:
		v = table_u16(t, column, row);
		if (v != NULL_U16)
			set_int(ret, v);
		return;
	case COLUMN_U8:
		v = table_u8(t, column, row);
		if (v != NULL_U8)
			set_int(ret, v);
		return;
	case COLUMN_F64:
		ret->kind = VALUE_REAL;
		ret->real = table_f64(t, column, row);
		return;
	case COLUMN_STRING:
		return set_string(s, ret, table_u32(t, column, row));
	case COLUMN_STATE:
		v = table_u16(t, column, row);
		if (v < s->n_states)
			set_string(s, ret, s->states[v]);
		return;
	case COLUMN_COMPUTED:
		return c->compute(s, row, ret);
	case COLUMN_SAME:
		return;
	}
}
