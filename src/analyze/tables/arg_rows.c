/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/tables/arg_rows.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/store/arg_sets.h"
#include "analyze/store/event_args.h"
#include "base/core/mem.h"

int64_t arg_rows_id(const struct arg_rows *r)
{
	int64_t first = call_args_is_set(r->set)
				? CALL_ARG_IDS + (r->set - CALL_SETS) * CALL_ARG_STRIDE
				: r->set;

	return first + (int64_t)r->at;
}

int64_t arg_rows_find_set(const struct store *s, int64_t id)
{
	const struct table *stored = &s->tables[TABLE_ARGS];

	if (id >= FTRACE_ARGS_BASE)
		return id - (id - FTRACE_ARGS_BASE) % FTRACE_ARGS_STRIDE;
	if (id >= CALL_ARG_IDS)
		return CALL_SETS + (id - CALL_ARG_IDS) / CALL_ARG_STRIDE;
	return id >= 0 && id < stored->rows ? (int64_t)table_u32(stored, ARGS_SET, (uint32_t)id)
					    : -1;
}

static bool has_call(const struct store *s, int64_t set)
{
	return set - CALL_SETS < s->tables[TABLE_CALL].rows;
}

/* Advances to the next set that has an argument. Skips kernel events whose set is stored, as it
 * came before. Returns 0 or -ENOMEM. */
static int next_set(struct arg_rows *c)
{
	const struct store *s = c->store;
	int r = 0;

	c->at = 0;
	if (c->set < CALL_SETS) {
		c->set += (int64_t)c->list.n;
		c->list.n = 0;
		if (c->set < s->tables[TABLE_ARGS].rows)
			return arg_sets_list(s, c->set, &c->list);
		c->set = CALL_SETS - 1;
	}
	if (call_args_is_set(c->set + 1)) {
		for (c->list.n = 0; !c->list.n && r == 0 && has_call(s, ++c->set);)
			r = arg_sets_list(s, c->set, &c->list);
		if (c->list.n || r < 0)
			return r;
		c->set = FTRACE_ARGS_BASE;
	}
	for (c->list.n = 0; !c->list.n && r == 0 && c->row < s->tables[TABLE_FTRACE].rows;) {
		c->set = event_args_set_id(s, c->row++);
		if (c->set >= FTRACE_ARGS_BASE)
			r = arg_sets_list(s, c->set, &c->list);
	}
	c->done = !c->list.n;
	return r;
}

int arg_rows_begin(struct arg_rows *r)
{
	r->at = r->list.n = 0;
	r->row = 0;
	r->set = 0;
	r->done = false;
	return next_set(r);
}

int arg_rows_next(struct arg_rows *r)
{
	return ++r->at < r->list.n ? 0 : next_set(r);
}

int arg_rows_begin_set(struct arg_rows *r, int64_t set)
{
	int error;

	r->at = r->list.n = 0;
	r->set = set;
	error = arg_sets_list(r->store, set, &r->list);
	r->done = !r->list.n;
	return error;
}

void arg_rows_deinit(struct arg_rows *r)
{
	free(TAKE_PTR(r->list.args));
}

static void set_text_value(struct value *v, const char *s, size_t len)
{
	v->kind = s ? VALUE_TEXT : VALUE_NULL;
	v->s = s;
	v->len = len;
}

/* Shows a number in base 10 or 16, after a prefix. */
static void show_number(struct arg_rows *r, uint64_t v, bool is_hex, const char *prefix,
			struct value *ret)
{
	char *end = r->display + sizeof(r->display), *p = end;
	size_t n = strlen(prefix);

	do {
		*--p = "0123456789abcdef"[is_hex ? v % 16 : v % 10];
		v = is_hex ? v / 16 : v / 10;
	} while (v);
	p = memcpy(p - n, prefix, n);
	set_text_value(ret, p, (size_t)(end - p));
}

static void format_display_value(struct arg_rows *r, const struct arg *a, struct value *ret)
{
	switch (a->type) {
	case ARG_INT:
		show_number(r, a->i < 0 ? -(uint64_t)a->i : (uint64_t)a->i, false,
			    a->i < 0 ? "-" : "", ret);
		break;
	case ARG_UINT:
		show_number(r, (uint64_t)a->i, false, "", ret);
		break;
	case ARG_BOOL:
		set_text_value(ret, a->i ? "true" : "false", a->i ? 4 : 5);
		break;
	case ARG_POINTER:
		show_number(r, (uint64_t)a->i, true, "0x", ret);
		break;
	case ARG_REAL:
		sqlite3_snprintf(sizeof(r->display), r->display, "%!.15g", a->real);
		set_text_value(ret, r->display, strlen(r->display));
		break;
	case ARG_STRING:
	case ARG_JSON:
		set_text_value(ret, a->s, a->len);
		break;
	case ARG_NULL:
		break;
	}
}

static bool has_integer(const struct arg *a)
{
	return a->type == ARG_INT || a->type == ARG_UINT || a->type == ARG_BOOL ||
	       a->type == ARG_POINTER;
}

void arg_rows_value(struct arg_rows *r, enum arg_column column, struct value *ret)
{
	const struct arg *a = &r->list.args[r->at];
	const char *type;

	ret->kind = VALUE_NULL;
	switch (column) {
	case ARG_COLUMN_ID:
	case ARG_COLUMN_SET:
		ret->kind = VALUE_INT;
		ret->i = column == ARG_COLUMN_ID ? arg_rows_id(r) : r->set;
		break;
	case ARG_COLUMN_FLAT_KEY:
		set_text_value(ret, a->flat_key ?: a->key,
			       a->flat_key ? a->flat_key_len : a->key_len);
		break;
	case ARG_COLUMN_KEY:
		set_text_value(ret, a->key, a->key_len);
		break;
	case ARG_COLUMN_INT:
		ret->kind = has_integer(a) ? VALUE_INT : VALUE_NULL;
		ret->i = a->i;
		break;
	case ARG_COLUMN_STRING:
		if (a->type == ARG_STRING || a->type == ARG_JSON)
			set_text_value(ret, a->s, a->len);
		break;
	case ARG_COLUMN_REAL:
		ret->kind = a->type == ARG_REAL ? VALUE_REAL : VALUE_NULL;
		ret->real = a->real;
		break;
	case ARG_COLUMN_TYPE:
		type = arg_type_name(a->type);
		set_text_value(ret, type, strlen(type));
		break;
	case ARG_COLUMN_DISPLAY:
		format_display_value(r, a, ret);
		break;
	case ARG_COLUMNS:
		break;
	}
}
