/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

int store_keep_bytes(struct store *s, struct trace_bytes bytes)
{
	if ((!bytes.mapped && !budget_charge(&s->budget, bytes.len)) ||
	    array_reserve(&s->bytes, &s->cap_bytes, s->n_bytes + 1, sizeof(*s->bytes))) {
		trace_bytes_free(&bytes);
		return s->budget.error ? s->budget.error : -ENOMEM;
	}
	s->bytes[s->n_bytes++] = bytes;
	return 0;
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

void store_value(const struct store *s, const struct table *t, uint32_t row, unsigned column,
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
