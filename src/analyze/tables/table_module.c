/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of the store as a virtual table. A query's plan is the number that xBestIndex gives to
 * xFilter: how rows are found, and which column each argument is compared with.
 *
 *	id = ?			one row
 *	ts >= ? and ts < ?	a range of rows, found by bisection: rows are sorted by ts
 *	utid = ?		rows of an index, for a column of 32 bits or strings; its first
 *				use makes the index
 *	name = ?		of ftrace_event: the name of each kind of event is compared once,
 *				rows of other kinds are skipped
 *	group by state		without a comparison: the rows in the order of the column's values
 *
 * SQLite checks each constraint again, so a value of another type than the column's need not narrow
 * the rows.
 */
#include "analyze/tables/table_module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/store/store.h"
#include "analyze/tables/vtab.h"
#include "base/core/lower_bound.h"
#include "base/core/mem.h"
#include "base/text/str.h"

/*
 * The rows of a table in the order of the values of a column with text or 32-bit numbers: NULL
 * first, numbers ascending, text by its bytes. Rows with the same value ascend. The order is made
 * by counting, and kept with the table.
 */

/* Equal keys have equal values: a cell of the column, or of the column that decides its value. The
 * key of NULL_U32 and NULL_U16 is 0. */
struct keys {
	const struct table *t;
	unsigned column;
	bool narrow; /* 16 bits */
};

/* One row of each key. */
struct sample {
	struct value value;
	uint32_t key;
};

/* Returns true if the column can have an order. */
static bool row_order_is_possible(const struct table *t, unsigned column)
{
	const struct column_def *c = &t->def->columns[column];

	return c->kind == COLUMN_U32 || c->kind == COLUMN_STRING || c->kind == COLUMN_STATE ||
	       (c->kind == COLUMN_COMPUTED && c->of);
}

static struct keys row_keys_of_column(const struct table *t, unsigned column)
{
	const struct column_def *c = &t->def->columns[column];

	return (struct keys){
		.t = t,
		.column = c->kind == COLUMN_COMPUTED ? c->of : column,
		.narrow = c->kind == COLUMN_COMPUTED || c->kind == COLUMN_STATE,
	};
}

static uint32_t row_order_key_of(const struct keys *k, uint32_t row)
{
	if (k->narrow)
		return (uint16_t)(table_u16(k->t, k->column, row) + 1u);
	return table_u32(k->t, k->column, row) + 1;
}

static int row_order_compare(const struct value *a, const struct value *b)
{
	int r;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == VALUE_INT)
		return (a->i > b->i) - (a->i < b->i);
	if (a->kind != VALUE_TEXT)
		return 0;
	r = memcmp(a->s, b->s, MIN(a->len, b->len));
	return r ? r : (a->len > b->len) - (a->len < b->len);
}

static int row_order_by_value(const void *a, const void *b)
{
	return row_order_compare(&((const struct sample *)a)->value,
				 &((const struct sample *)b)->value);
}

/* Counts the rows of each key, and lists a sample of each key in the order of values; the caller
 * frees *ret. Returns how many keys there are, or 0 if out of memory. */
static size_t count_rows_and_sort_keys(const struct store *s, const struct keys *k, unsigned column,
				       uint32_t *counts, struct sample **ret)
{
	struct sample *list = NULL;
	size_t n = 0, cap = 0;

	for (uint32_t row = 0; row < k->t->rows; row++) {
		uint32_t key = row_order_key_of(k, row);

		if (counts[key]++)
			continue;
		if (array_reserve(&list, &cap, n + 1, sizeof(*list))) {
			free(list);
			return 0;
		}
		list[n] = (struct sample){.key = key};
		store_read_value(s, k->t, row, column, &list[n++].value);
	}
	qsort(list, n, sizeof(*list), row_order_by_value);
	*ret = list;
	return n;
}

/* Keys with the same value share a slot, so that their rows ascend. slot: by key; at first the
 * number of its rows, then the number of its slot. next: by slot, the index of its next row. */
static void assign_sort_slots(const struct sample *list, size_t n, uint32_t *slot, uint32_t *next)
{
	uint32_t sum = 0, number = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t rows = slot[list[i].key];

		if (i && row_order_compare(&list[i - 1].value, &list[i].value) != 0)
			number++;
		if (!i || row_order_compare(&list[i - 1].value, &list[i].value) != 0)
			next[number] = sum;
		slot[list[i].key] = number;
		sum += rows;
	}
}

static uint32_t *make_row_order(const struct store *s, const struct keys *k, unsigned column,
				size_t n_keys)
{
	_cleanup_(freep) uint32_t *slot = calloc(n_keys, sizeof(*slot));
	_cleanup_(freep) struct sample *list = NULL;
	_cleanup_(freep) uint32_t *next = NULL;
	uint32_t *rows = NULL;
	size_t n = slot ? count_rows_and_sort_keys(s, k, column, slot, &list) : 0;

	next = n ? malloc(n * sizeof(*next)) : NULL;
	rows = next ? malloc((size_t)k->t->rows * sizeof(*rows)) : NULL;
	if (!rows)
		return NULL;
	assign_sort_slots(list, n, slot, next);
	for (uint32_t row = 0; row < k->t->rows; row++)
		rows[next[slot[row_order_key_of(k, row)]]++] = row;
	return rows;
}

/* Returns all rows of the table in their order, or NULL: the numbers are too sparse, or no memory.
 * Valid until rows are added. */
static const uint32_t *row_order(const struct store *s, struct table *t, unsigned column)
{
	struct row_order *o = &t->orders[column];
	struct keys k = row_keys_of_column(t, column);
	size_t n_keys = 1;

	if (o->rows && o->n_rows == t->rows)
		return o->rows;
	freep(&o->rows);
	for (uint32_t row = 0; row < t->rows; row++)
		n_keys = MAX(n_keys, (size_t)row_order_key_of(&k, row) + 1);
	/* With sparse keys, the counts would take more memory than the column itself. */
	if (!t->rows || n_keys / 4 > (size_t)t->rows + 65536u)
		return NULL;
	o->n_rows = t->rows;
	return o->rows = make_row_order(s, &k, column, n_keys);
}

/* Bits of a plan. xFilter gets its arguments in the order of plan_order. */
#define PLAN_ID 0x1 /* = */
#define PLAN_EQUAL 0x2 /* = for the column whose number is in bits 16 to 23 */
#define PLAN_TS_EQUAL 0x4
#define PLAN_TS_FROM 0x8 /* >= or > */
#define PLAN_TS_TO 0x10 /* <= or < */
#define PLAN_TS_LESS 0x20 /* with PLAN_TS_TO: < */
#define PLAN_DESC 0x40
#define PLAN_MATCH 0x80 /* = for the computed column whose number is in bits 24 and up */
#define PLAN_ORDER                                                                                 \
	0x100 /* sorted by the column whose number is in bits 16 to 23; no other bit but DESC */
#define PLAN_COLUMN_SHIFT 16
#define PLAN_MATCH_SHIFT 24

/* A step is left out if the plan has a bit of `unless`. So few rows have the same time that no
 * index is made to find some of them. */
static const struct plan_step {
	int bit;
	int unless;
} plan_order[] = {{PLAN_ID, 0},
		  {PLAN_TS_EQUAL, PLAN_ID},
		  {PLAN_EQUAL, PLAN_ID | PLAN_TS_EQUAL},
		  {PLAN_TS_FROM, PLAN_ID | PLAN_TS_EQUAL},
		  {PLAN_TS_TO, PLAN_ID | PLAN_TS_EQUAL},
		  {PLAN_MATCH, PLAN_ID | PLAN_TS_EQUAL}};

struct store_vtab {
	struct vtab base;
	struct store *store;
	struct table *table;
	uint8_t column_of[TABLE_MAX_COLUMNS]; /* by column of SQL: the table's column */
	int n_columns;
};

/* A text that a computed column must have. Sets of bits say which values of the 16-bit column it is
 * computed from were compared, and which of those match. */
struct match {
	unsigned column; /* the computed column */
	char *text; /* owned */
	size_t len;
	uint8_t known[(UINT16_MAX + 1) / 8], good[(UINT16_MAX + 1) / 8];
};

struct store_cursor {
	sqlite3_vtab_cursor base;
	struct match *match; /* owned; NULL: all rows */
	const uint32_t *rows; /* of an index or order; NULL: all rows from begin to end */
	uint32_t begin, end; /* rows, or indexes of `rows` */
	uint32_t at; /* counted from begin */
	bool desc;
};

static const char *table_module_type_of(const struct column_def *c)
{
	switch (c->kind) {
	case COLUMN_F64:
		return "REAL";
	case COLUMN_STRING:
	case COLUMN_STATE:
		return "TEXT";
	case COLUMN_COMPUTED:
		return c->arg ? "TEXT" : "INTEGER";
	default:
		return "INTEGER";
	}
}

static struct table *find_table(struct store *s, const char *name)
{
	for (unsigned i = 0; i < TABLES; i++)
		if (s->tables[i].def->name && !strcmp(s->tables[i].def->name, name))
			return &s->tables[i];
	return NULL;
}

static void free_text_match(struct store_cursor *c)
{
	if (c->match)
		free(c->match->text);
	free(c->match);
	c->match = NULL;
}

static void table_module_deinit_cursor(sqlite3_vtab_cursor *c)
{
	free_text_match((struct store_cursor *)c);
}

static int table_module_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
				sqlite3_vtab **ret, char **error)
{
	struct store_vtab *v = vtab_new(sizeof(*v), sizeof(struct store_cursor));
	struct strbuf sql = {0};

	if (!v)
		return SQLITE_NOMEM;
	v->base.deinit_cursor = table_module_deinit_cursor;
	v->store = aux;
	v->table = find_table(aux, argv[0]);
	strbuf_puts(&sql, "CREATE TABLE t(");
	for (unsigned i = 0; i < v->table->def->n_columns; i++) {
		const struct column_def *c = &v->table->def->columns[i];

		if (!c->name)
			continue;
		strbuf_printf(&sql, "%s\"%s\" %s", v->n_columns ? "," : "", c->name,
			      table_module_type_of(c));
		v->column_of[v->n_columns++] = (uint8_t)i;
	}
	strbuf_putc(&sql, ')');
	return vtab_connect(db, &v->base, &sql, ret);
}

/* ---- plans ---- */

/* Returns the table's column for a column of SQL; for COLUMN_SAME, the column that it names. */
static unsigned stored_column(const struct store_vtab *v, int column)
{
	unsigned c = v->column_of[column];
	const struct column_def *d = &v->table->def->columns[c];

	return d->kind == COLUMN_SAME ? d->arg : c;
}

static bool has_index(enum column_kind kind)
{
	return kind == COLUMN_U32 || kind == COLUMN_STRING;
}

/* Returns the bits of a constraint in a plan, or 0 if no plan uses it. */
static int plan_bit_of_constraint(const struct store_vtab *v,
				  const struct sqlite3_index_constraint *c)
{
	const struct table_def *def = v->table->def;
	unsigned column;

	if (!c->usable || c->iColumn < 0)
		return 0;
	column = stored_column(v, c->iColumn);
	if (def->columns[column].kind == COLUMN_ID)
		return c->op == SQLITE_INDEX_CONSTRAINT_EQ ? PLAN_ID : 0;
	if (def->ts && column == def->ts && !v->table->unsorted)
		switch (c->op) {
		case SQLITE_INDEX_CONSTRAINT_EQ:
			return PLAN_TS_EQUAL;
		case SQLITE_INDEX_CONSTRAINT_GT:
		case SQLITE_INDEX_CONSTRAINT_GE:
			return PLAN_TS_FROM;
		case SQLITE_INDEX_CONSTRAINT_LE:
			return PLAN_TS_TO;
		case SQLITE_INDEX_CONSTRAINT_LT:
			return PLAN_TS_TO | PLAN_TS_LESS;
		default:
			return 0;
		}
	if (c->op != SQLITE_INDEX_CONSTRAINT_EQ)
		return 0;
	return has_index(def->columns[column].kind) ? PLAN_EQUAL
	       : def->columns[column].of	    ? PLAN_MATCH
						    : 0;
}

/* Makes the rows come in the order that the query requires, so that SQLite needs no sorter: by id
 * or by time, or, for all rows, by a column with an order, for which it adds PLAN_ORDER to the
 * plan. Adds PLAN_DESC for a descending order. Returns false if no such order exists. */
static bool add_order_to_plan(const struct store_vtab *v, const sqlite3_index_info *info, int *plan)
{
	const struct table_def *def = v->table->def;
	unsigned column;

	if (info->nOrderBy != 1 || info->aOrderBy[0].iColumn < 0)
		return false;
	column = stored_column(v, info->aOrderBy[0].iColumn);
	if (def->columns[column].kind != COLUMN_ID &&
	    !(def->ts && column == def->ts && !v->table->unsorted)) {
		if (*plan || !row_order_is_possible(v->table, column) ||
		    !row_order(v->store, v->table, column))
			return false;
		*plan = PLAN_ORDER | (int)column << PLAN_COLUMN_SHIFT;
	}
	if (info->aOrderBy[0].desc)
		*plan |= PLAN_DESC;
	return true;
}

static double estimate_cost_of_plan(int plan, double rows)
{
	if (plan & PLAN_ID)
		return 1;
	if (plan & PLAN_TS_EQUAL)
		return 1 + log2(rows + 1);
	if (plan & PLAN_EQUAL)
		rows = rows / 50 + 1;
	if (plan & PLAN_TS_FROM)
		rows = rows / 4 + 1;
	if (plan & PLAN_TS_TO)
		rows = rows / 4 + 1;
	if (plan & PLAN_MATCH)
		rows = rows / 20 + 1;
	return rows;
}

static int table_module_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct store_vtab *v = (const struct store_vtab *)base;
	int plan = 0, n = 0;

	for (size_t o = 0; o < ARRAY_SIZE(plan_order); o++)
		for (int i = 0; i < info->nConstraint; i++) {
			const struct plan_step *step = &plan_order[o];
			int bit = plan_bit_of_constraint(v, &info->aConstraint[i]), shift;

			if (!(bit & step->bit) || plan & (step->bit | step->unless))
				continue;
			if (bit & (PLAN_EQUAL | PLAN_MATCH) &&
			    strcmp(sqlite3_vtab_collation(info, i), "BINARY"))
				continue;
			plan |= bit;
			shift = bit & PLAN_MATCH ? PLAN_MATCH_SHIFT : PLAN_COLUMN_SHIFT;
			if (bit & (PLAN_EQUAL | PLAN_MATCH))
				plan |= (int)stored_column(v, info->aConstraint[i].iColumn)
					<< shift;
			info->aConstraintUsage[i].argvIndex = ++n;
		}
	info->orderByConsumed = add_order_to_plan(v, info, &plan);
	info->idxNum = plan;
	info->estimatedCost = estimate_cost_of_plan(plan, v->table->rows);
	info->estimatedRows = (sqlite3_int64)info->estimatedCost;
	if (plan & PLAN_ID)
		info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
	return SQLITE_OK;
}

/* ---- cursors ---- */

static uint32_t table_module_row_of(const struct store_cursor *c)
{
	uint32_t at = c->desc ? c->end - 1 - c->at : c->begin + c->at;

	return c->rows ? c->rows[at] : at;
}

static void narrow_cursor(struct store_cursor *c, uint32_t begin, uint32_t end)
{
	c->begin = MAX(c->begin, begin);
	c->end = MIN(c->end, end);
	if (c->begin > c->end)
		c->begin = c->end;
}

/* Narrows to the rows that have a value in an indexed column. Keeps all rows if the value has
 * another type, or if there is no memory for the index. */
static void table_module_narrow_to_value(const struct store_vtab *v, struct store_cursor *c,
					 unsigned column, sqlite3_value *arg)
{
	bool is_text = v->table->def->columns[column].kind == COLUMN_STRING;
	const struct row_index *x;
	sqlite3_int64 value;

	if (sqlite3_value_type(arg) != (is_text ? SQLITE_TEXT : SQLITE_INTEGER))
		return;
	value = is_text ? strings_find(&v->store->strings, sqlite3_value_text(arg),
				       (size_t)sqlite3_value_bytes(arg))
			: sqlite3_value_int64(arg);
	x = table_index(v->table, column);
	if (!x)
		return;
	c->rows = x->rows;
	if (!row_index_find(x, value, &c->begin, &c->end))
		c->begin = c->end = 0;
}

/* Returns the place of the first of the cursor's rows that is not below `row`. */
static uint32_t find_first_place(const struct store_cursor *c, uint32_t row)
{
	return LOWER_BOUND(i, c->begin, c->end, c->rows[i] < row);
}

/* Limits the cursor to the rows from `first` up to, but not including, `last`. */
static void narrow_to_rows(struct store_cursor *c, uint32_t first, uint32_t last)
{
	if (c->rows)
		narrow_cursor(c, find_first_place(c, first), find_first_place(c, last));
	else
		narrow_cursor(c, first, last);
}

static uint32_t count_rows_before(const struct store_vtab *v, int64_t ts, bool inclusive)
{
	if (inclusive && ts == INT64_MAX)
		return v->table->rows;
	return table_lower_bound(v->table, ts + inclusive);
}

static void narrow_to_time(const struct store_vtab *v, struct store_cursor *c, int plan, int bit,
			   sqlite3_value *arg)
{
	int64_t ts = sqlite3_value_int64(arg);

	if (sqlite3_value_type(arg) != SQLITE_INTEGER)
		return;
	if (bit == PLAN_TS_EQUAL)
		narrow_to_rows(c, count_rows_before(v, ts, false), count_rows_before(v, ts, true));
	else if (bit == PLAN_TS_FROM)
		narrow_to_rows(c, count_rows_before(v, ts, false), v->table->rows);
	else
		narrow_to_rows(c, 0, count_rows_before(v, ts, !(plan & PLAN_TS_LESS)));
}

/* Makes the cursor skip rows whose computed column has another text. An argument that is no text
 * changes nothing. Returns false if out of memory. */
static bool set_text_match(struct store_cursor *c, unsigned column, sqlite3_value *arg)
{
	size_t len;

	if (sqlite3_value_type(arg) != SQLITE_TEXT)
		return true;
	len = (size_t)sqlite3_value_bytes(arg);
	c->match = calloc(1, sizeof(*c->match));
	if (!c->match)
		return false;
	c->match->column = column;
	c->match->len = len;
	c->match->text = malloc(len + 1);
	if (!c->match->text)
		return false;
	memcpy(c->match->text, sqlite3_value_text(arg), len);
	return true;
}

static bool table_module_matches(const struct store_vtab *v, struct match *m, uint32_t row)
{
	const struct column_def *d = &v->table->def->columns[m->column];
	uint16_t key = table_u16(v->table, d->of, row);
	uint8_t bit = (uint8_t)(1u << (key & 7));

	if (!(m->known[key / 8] & bit)) {
		struct value text = {.kind = VALUE_NULL};

		d->compute(v->store, row, &text);
		m->known[key / 8] |= bit;
		if (text.kind == VALUE_TEXT && text.len == m->len &&
		    !memcmp(text.s, m->text, m->len))
			m->good[key / 8] |= bit;
	}
	return m->good[key / 8] & bit;
}

static void skip_rows_without_match(const struct store_vtab *v, struct store_cursor *c)
{
	while (c->match && c->at < c->end - c->begin &&
	       !table_module_matches(v, c->match, table_module_row_of(c)))
		c->at++;
}

static int table_module_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
			       sqlite3_value **argv)
{
	const struct store_vtab *v = (const struct store_vtab *)base->pVtab;
	struct store_cursor *c = (struct store_cursor *)base;
	int n = 0;

	free_text_match(c);
	c->rows = plan & PLAN_ORDER ? row_order(v->store, v->table,
						(unsigned)plan >> PLAN_COLUMN_SHIFT & 0xff)
				    : NULL;
	c->at = 0;
	c->begin = 0;
	c->end = v->table->rows;
	c->desc = plan & PLAN_DESC;
	if (plan & PLAN_ORDER && c->end && !c->rows)
		return SQLITE_NOMEM;
	for (int i = 0; i < argc; i++)
		if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
			c->end = 0; /* a comparison with NULL is never true */
	if (plan & PLAN_ID) {
		sqlite3_int64 id = sqlite3_value_int64(argv[n]);

		if (sqlite3_value_type(argv[n++]) == SQLITE_INTEGER)
			narrow_cursor(c, id < 0 || id >= c->end ? c->end : (uint32_t)id,
				      id < 0 || id >= c->end ? c->end : (uint32_t)id + 1);
	}
	if (plan & PLAN_TS_EQUAL)
		narrow_to_time(v, c, plan, PLAN_TS_EQUAL, argv[n++]);
	if (plan & PLAN_EQUAL)
		table_module_narrow_to_value(v, c, (unsigned)plan >> PLAN_COLUMN_SHIFT & 0xff,
					     argv[n++]);
	if (plan & PLAN_TS_FROM)
		narrow_to_time(v, c, plan, PLAN_TS_FROM, argv[n++]);
	if (plan & PLAN_TS_TO)
		narrow_to_time(v, c, plan, PLAN_TS_TO, argv[n++]);
	if (plan & PLAN_MATCH && !set_text_match(c, (unsigned)plan >> PLAN_MATCH_SHIFT, argv[n]))
		return SQLITE_NOMEM;
	skip_rows_without_match(v, c);
	return SQLITE_OK;
}

static int table_module_next(sqlite3_vtab_cursor *base)
{
	struct store_cursor *c = (struct store_cursor *)base;

	c->at++;
	skip_rows_without_match((const struct store_vtab *)base->pVtab, c);
	return SQLITE_OK;
}

static int table_module_at_end(sqlite3_vtab_cursor *base)
{
	const struct store_cursor *c = (const struct store_cursor *)base;

	return c->at >= c->end - c->begin;
}

void table_module_set_result(sqlite3_context *ctx, const struct value *v)
{
	switch (v->kind) {
	case VALUE_NULL:
		sqlite3_result_null(ctx);
		break;
	case VALUE_INT:
		sqlite3_result_int64(ctx, v->i);
		break;
	case VALUE_REAL:
		sqlite3_result_double(ctx, v->real);
		break;
	case VALUE_TEXT:
		sqlite3_result_text64(ctx, v->s, v->len, SQLITE_STATIC, SQLITE_UTF8);
		break;
	}
}

static int table_module_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	const struct store_vtab *v = (const struct store_vtab *)base->pVtab;
	struct value value;

	store_read_value(v->store, v->table, table_module_row_of((const struct store_cursor *)base),
			 v->column_of[i], &value);
	table_module_set_result(ctx, &value);
	return SQLITE_OK;
}

static int table_module_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = table_module_row_of((const struct store_cursor *)base);
	return SQLITE_OK;
}

static const sqlite3_module module = {
	VTAB_MODULE,
	.xConnect = table_module_connect, /* no xCreate: a table exists without a statement */
	.xBestIndex = table_module_best_index,
	.xFilter = table_module_filter,
	.xNext = table_module_next,
	.xEof = table_module_at_end,
	.xColumn = table_module_column,
	.xRowid = table_module_rowid,
};

int table_module_register(sqlite3 *db, struct store *s)
{
	struct strbuf names = {0};
	int r = SQLITE_OK;

	strbuf_puts(&names, "CREATE TEMP VIEW sonda_tables(name) AS VALUES ('args')");
	for (unsigned i = 0; i < TABLES && r == SQLITE_OK; i++)
		if (s->tables[i].def->name) {
			r = sqlite3_create_module(db, s->tables[i].def->name, &module, s);
			strbuf_printf(&names, ",('%s')", s->tables[i].def->name);
		}
	if (r == SQLITE_OK)
		r = names.failed ? SQLITE_NOMEM : sqlite3_exec(db, names.s, NULL, NULL, NULL);
	strbuf_deinit(&names);
	return r;
}
