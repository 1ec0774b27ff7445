/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual table `args`: stored sets first, then those of system calls and of kernel events,
 * decoded set by set. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/store/arg_sets.h"
#include "analyze/store/event_args.h"
#include "analyze/tables/table_module.h"
#include "analyze/tables/vtab.h"

enum { ID, SET, FLAT_KEY, KEY, INT_VALUE, STRING_VALUE, REAL_VALUE, VALUE_TYPE, DISPLAY_VALUE };

/* How rows are found: PLAN_SET lists the arguments of a set, PLAN_ID those of the set that has the
 * argument with an id. */
enum args_plan { PLAN_ALL, PLAN_SET, PLAN_ID };

struct args_vtab {
	struct vtab base;
	struct store *store;
};

struct args_cursor {
	sqlite3_vtab_cursor base;
	struct arg_list list; /* arguments of `set`; list.args is owned */
	int64_t set;
	size_t at; /* in the list */
	uint32_t row; /* of TABLE_FTRACE: the next kernel event */
	bool one, done; /* one: no further set follows */
};

static void args_module_deinit_cursor(sqlite3_vtab_cursor *c)
{
	free(((struct args_cursor *)c)->list.args);
}

static int args_module_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			       sqlite3_vtab **ret, char **error)
{
	struct args_vtab *v = vtab_new(sizeof(*v), sizeof(struct args_cursor));
	struct strbuf sql = {0};

	if (!v)
		return SQLITE_NOMEM;
	v->store = aux;
	v->base.deinit_cursor = args_module_deinit_cursor;
	strbuf_puts(&sql, "CREATE TABLE t(id INTEGER, arg_set_id INTEGER, flat_key TEXT, key TEXT,"
			  "int_value INTEGER, string_value TEXT, real_value REAL, value_type TEXT,"
			  "display_value TEXT)");
	return vtab_connect(db, &v->base, &sql, ret);
}

static int args_module_best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
	int by_set = vtab_find_equality(info, 0, SET, NULL),
	    by_id = vtab_find_equality(info, 0, ID, NULL);
	int i = by_set >= 0 ? by_set : by_id;

	info->estimatedCost = 1e7;
	if (i < 0)
		return SQLITE_OK;
	info->aConstraintUsage[i].argvIndex = 1;
	info->idxNum = by_set >= 0 ? PLAN_SET : PLAN_ID;
	info->estimatedCost = 5;
	info->estimatedRows = 5;
	return SQLITE_OK;
}

static struct store *store_of(const struct args_cursor *c)
{
	return ((const struct args_vtab *)c->base.pVtab)->store;
}

static bool has_call(const struct store *s, int64_t set)
{
	return set - CALL_SETS < s->tables[TABLE_CALL].rows;
}

/* Returns the id of the argument at an index of a set. */
static int64_t arg_id(int64_t set, size_t at)
{
	return (call_args_is_set(set) ? CALL_ARG_IDS + (set - CALL_SETS) * CALL_ARG_STRIDE : set) +
	       (int64_t)at;
}

/* Advances to the next set that has an argument. Skips kernel events whose set is stored, as it
 * came before. Returns 0 or -ENOMEM. */
static int next_set(struct args_cursor *c)
{
	const struct store *s = store_of(c);
	const struct table *stored = &s->tables[TABLE_ARGS];
	int r = 0;

	c->at = 0;
	if (c->set < CALL_SETS) {
		c->set += (int64_t)c->list.n;
		c->list.n = 0;
		if (c->set < stored->rows)
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

/* Returns the set that has the argument with an id; -1 if there is none. */
static int64_t find_set_of_arg(const struct store *s, int64_t id)
{
	const struct table *stored = &s->tables[TABLE_ARGS];

	if (id >= FTRACE_ARGS_BASE)
		return id - (id - FTRACE_ARGS_BASE) % FTRACE_ARGS_STRIDE;
	if (id >= CALL_ARG_IDS)
		return CALL_SETS + (id - CALL_ARG_IDS) / CALL_ARG_STRIDE;
	return id >= 0 && id < stored->rows ? (int64_t)table_u32(stored, ARGS_SET, (uint32_t)id)
					    : -1;
}

static int args_module_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
			      sqlite3_value **argv)
{
	struct args_cursor *c = (struct args_cursor *)base;
	int r;

	c->at = c->list.n = 0;
	c->row = 0;
	c->set = 0;
	c->done = false;
	c->one = plan && sqlite3_value_type(argv[0]) != SQLITE_FLOAT &&
		 sqlite3_value_type(argv[0]) != SQLITE_TEXT;
	if (!c->one)
		return next_set(c) < 0 ? SQLITE_NOMEM : SQLITE_OK;
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER)
		c->done = true;
	c->set = sqlite3_value_int64(argv[0]);
	if (plan == PLAN_ID)
		c->set = find_set_of_arg(store_of(c), c->set);
	r = c->done ? 0 : arg_sets_list(store_of(c), c->set, &c->list);
	c->done |= !c->list.n;
	return r < 0 ? SQLITE_NOMEM : SQLITE_OK;
}

static int args_module_next(sqlite3_vtab_cursor *base)
{
	struct args_cursor *c = (struct args_cursor *)base;

	if (++c->at < c->list.n)
		return SQLITE_OK;
	if (!c->one)
		return next_set(c) < 0 ? SQLITE_NOMEM : SQLITE_OK;
	c->done = true;
	return SQLITE_OK;
}

static int args_module_at_end(sqlite3_vtab_cursor *base)
{
	return ((const struct args_cursor *)base)->done;
}

static void set_result_text(sqlite3_context *ctx, const char *s, size_t len)
{
	sqlite3_result_text64(ctx, s, len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void set_display_value(sqlite3_context *ctx, const struct arg *a)
{
	char buf[40];

	switch (a->type) {
	case ARG_INT:
		snprintf(buf, sizeof(buf), "%" PRId64, a->i);
		break;
	case ARG_UINT:
		snprintf(buf, sizeof(buf), "%" PRIu64, (uint64_t)a->i);
		break;
	case ARG_BOOL:
		snprintf(buf, sizeof(buf), "%s", a->i ? "true" : "false");
		break;
	case ARG_POINTER:
		snprintf(buf, sizeof(buf), "0x%" PRIx64, (uint64_t)a->i);
		break;
	case ARG_STRING:
	case ARG_JSON:
		set_result_text(ctx, a->s, a->len);
		return;
	case ARG_REAL:
		sqlite3_snprintf(sizeof(buf), buf, "%!.15g", a->real);
		break;
	case ARG_NULL:
		return;
	}
	set_result_text(ctx, buf, strlen(buf));
}

static int args_module_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	struct args_cursor *c = (struct args_cursor *)base;
	const struct arg *a = &c->list.args[c->at];

	switch (i) {
	case ID:
		sqlite3_result_int64(ctx, arg_id(c->set, c->at));
		break;
	case SET:
		sqlite3_result_int64(ctx, c->set);
		break;
	case FLAT_KEY:
		if (a->flat_key)
			set_result_text(ctx, a->flat_key, a->flat_key_len);
		else
			set_result_text(ctx, a->key, a->key_len);
		break;
	case KEY:
		set_result_text(ctx, a->key, a->key_len);
		break;
	case INT_VALUE:
		if (a->type == ARG_INT || a->type == ARG_UINT || a->type == ARG_BOOL ||
		    a->type == ARG_POINTER)
			sqlite3_result_int64(ctx, a->i);
		break;
	case STRING_VALUE:
		if (a->type == ARG_STRING || a->type == ARG_JSON)
			set_result_text(ctx, a->s, a->len);
		break;
	case REAL_VALUE:
		if (a->type == ARG_REAL)
			sqlite3_result_double(ctx, a->real);
		break;
	case VALUE_TYPE:
		sqlite3_result_text(ctx, arg_type_name(a->type), -1, SQLITE_STATIC);
		break;
	case DISPLAY_VALUE:
		set_display_value(ctx, a);
		break;
	}
	return SQLITE_OK;
}

static int args_module_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct args_cursor *c = (const struct args_cursor *)base;

	*ret = arg_id(c->set, c->at);
	return SQLITE_OK;
}

static const sqlite3_module module = {
	VTAB_MODULE,
	.xConnect = args_module_connect,
	.xBestIndex = args_module_best_index,
	.xFilter = args_module_filter,
	.xNext = args_module_next,
	.xEof = args_module_at_end,
	.xColumn = args_module_column,
	.xRowid = args_module_rowid,
};

int args_module_register(sqlite3 *db, struct store *s)
{
	return sqlite3_create_module(db, "args", &module, s);
}
