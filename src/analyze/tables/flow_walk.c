/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the flows that a slice begins or continues, directly or through other slices:
 *
 *	following_flow(id)		those that leave the slice or a slice inside of it, and so on
 *	preceding_flow(id)		those that reach the slice or a slice around it, and so on
 *	directly_connected_flow(id)	those that leave the slice, and so on; those that reach it, and so on
 *
 * The slices are visited in the order in which they are found.
 */
#include <stdlib.h>
#include <strings.h>

#include "analyze/store/columns.h"
#include "analyze/tables/table_module.h"
#include "analyze/tables/vtab.h"
#include "base/core/mem.h"
#include "base/text/str.h"

enum flow_direction { FLOWS_IN = 1, FLOWS_OUT = 2, RELATIVES = 4 };

static const struct flow_kind {
	const char *name;
	unsigned directions;
} flow_kinds[] = {
	{"following_flow", FLOWS_OUT | RELATIVES},
	{"preceding_flow", FLOWS_IN | RELATIVES},
	{"directly_connected_flow", FLOWS_IN | FLOWS_OUT},
};

struct flow_vtab {
	struct vtab base;
	struct store *store;
	const struct flow_kind *kind;
	int n_columns; /* of the flows; the hidden column start_id, the argument, follows */
};

struct flow_cursor {
	sqlite3_vtab_cursor base;
	uint32_t *rows; /* owned: of the table of flows */
	size_t n, cap, at;
	int64_t of; /* the argument */
};

struct flow_walk {
	struct table *slices, *flows;
	struct flow_visit {
		uint32_t slice;
		unsigned directions;
	} * queue; /* owned */
	size_t n, cap;
	bool *visited; /* owned; for each slice */
	struct flow_cursor *out;
};

static void flow_walk_deinit_cursor(sqlite3_vtab_cursor *c)
{
	free(((struct flow_cursor *)c)->rows);
}

static int flow_walk_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			     sqlite3_vtab **ret, char **error)
{
	struct flow_vtab *v = vtab_new(sizeof(*v), sizeof(struct flow_cursor));
	struct store *s = aux;
	const struct table_def *def = s->tables[TABLE_FLOW].def;
	struct strbuf sql = {0};

	if (!v)
		return SQLITE_NOMEM;
	v->base.deinit_cursor = flow_walk_deinit_cursor;
	v->store = s;
	v->n_columns = def->n_columns;
	for (size_t i = 0; i < ARRAY_SIZE(flow_kinds); i++)
		if (!strcasecmp(argv[0], flow_kinds[i].name))
			v->kind = &flow_kinds[i];
	strbuf_puts(&sql, "CREATE TABLE t(");
	for (int i = 0; i < v->n_columns; i++)
		strbuf_printf(&sql, "\"%s\",", def->columns[i].name);
	strbuf_puts(&sql, "start_id HIDDEN)");
	return vtab_connect(db, &v->base, &sql, ret);
}

static int flow_walk_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct flow_vtab *v = (const struct flow_vtab *)base;
	int unusable = 0, i = vtab_find_equality(info, 0, v->n_columns, &unusable);

	if (i < 0 && unusable)
		return SQLITE_CONSTRAINT;
	if (i < 0) {
		sqlite3_free(base->zErrMsg);
		base->zErrMsg = sqlite3_mprintf("%s needs the id of a slice", v->kind->name);
		return SQLITE_ERROR;
	}
	info->aConstraintUsage[i].argvIndex = 1;
	info->aConstraintUsage[i].omit = 1;
	info->estimatedCost = 10;
	info->estimatedRows = 10;
	return SQLITE_OK;
}

static bool flow_walk_visit(struct flow_walk *w, uint32_t slice, unsigned directions)
{
	if (slice >= w->slices->rows || w->visited[slice])
		return true;
	if (array_reserve(&w->queue, &w->cap, w->n + 1, sizeof(*w->queue)))
		return false;
	w->visited[slice] = true;
	w->queue[w->n++] = (struct flow_visit){slice, directions};
	return true;
}

/* Adds the flows that leave a slice, or reach it, and visits their other ends. Returns false if out
 * of memory. */
static bool flow_walk_add(struct flow_walk *w, uint32_t slice, int from, int to,
			  unsigned directions)
{
	const struct row_index *index = table_index_of_rows(w->flows, from, w->slices->rows);
	struct flow_cursor *out = w->out;
	uint32_t begin, end;

	if (!index)
		return false;
	if (!row_index_find(index, slice, &begin, &end))
		return true;
	for (; begin < end; begin++) {
		uint32_t row = index->rows[begin];

		if (array_reserve(&out->rows, &out->cap, out->n + 1, sizeof(*out->rows)) ||
		    !flow_walk_visit(w, table_u32(w->flows, to, row), directions))
			return false;
		out->rows[out->n++] = row;
	}
	return true;
}

static bool visit_ancestors(struct flow_walk *w, uint32_t slice)
{
	while ((slice = table_u32(w->slices, SLICE_PARENT, slice)) != NULL_U32)
		if (!flow_walk_visit(w, slice, FLOWS_IN))
			return false;
	return true;
}

/* Visits the slices below a slice. The end of the queue is itself a queue of slices whose children
 * are still to be added. Returns false if out of memory. */
static bool visit_descendants(struct flow_walk *w, uint32_t slice)
{
	const struct row_index *children = table_index(w->slices, SLICE_PARENT);
	uint32_t begin, end;

	if (!children)
		return false;
	for (size_t at = w->n;; slice = w->queue[at++].slice) {
		if (row_index_find(children, slice, &begin, &end))
			for (; begin < end; begin++)
				if (!flow_walk_visit(w, children->rows[begin], FLOWS_OUT))
					return false;
		if (at == w->n)
			return true;
	}
}

static int compare_visits(const void *a, const void *b)
{
	uint32_t x = ((const struct flow_visit *)a)->slice,
		 y = ((const struct flow_visit *)b)->slice;

	return (x > y) - (x < y);
}

/* Visits the slices around a slice, or those inside of it, in the order of their ids. Returns false
 * if out of memory. */
static bool visit_relatives(struct flow_walk *w, struct flow_visit v)
{
	size_t first = w->n;

	if (!(v.directions == FLOWS_IN ? visit_ancestors(w, v.slice)
				       : visit_descendants(w, v.slice)))
		return false;
	if (w->n > first)
		qsort(&w->queue[first], w->n - first, sizeof(*w->queue), compare_visits);
	return true;
}

/* Follows the flows from the slices in the queue. A slice that a flow reaches is left in the
 * direction of that flow only. Returns false as flow_walk_add() does. */
static bool flow_walk_run(struct flow_walk *w, unsigned relatives)
{
	for (size_t at = 0; at < w->n; at++) {
		struct flow_visit v = w->queue[at];

		if (relatives && !visit_relatives(w, v))
			return false;
		if ((v.directions & FLOWS_IN) &&
		    !flow_walk_add(w, v.slice, FLOW_IN, FLOW_OUT, FLOWS_IN))
			return false;
		if ((v.directions & FLOWS_OUT) &&
		    !flow_walk_add(w, v.slice, FLOW_OUT, FLOW_IN, FLOWS_OUT))
			return false;
	}
	return true;
}

static int flow_walk_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
			    sqlite3_value **argv)
{
	const struct flow_vtab *v = (const struct flow_vtab *)base->pVtab;
	struct flow_cursor *c = (struct flow_cursor *)base;
	struct flow_walk w = {.slices = &v->store->tables[TABLE_SLICE],
			      .flows = &v->store->tables[TABLE_FLOW],
			      .out = c};
	bool good;

	c->n = c->at = 0;
	c->of = sqlite3_value_int64(argv[0]);
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER || c->of < 0 || c->of >= w.slices->rows ||
	    !w.flows->rows)
		return SQLITE_OK;
	w.visited = calloc(w.slices->rows, sizeof(*w.visited));
	good = w.visited &&
	       flow_walk_visit(&w, (uint32_t)c->of, v->kind->directions & (FLOWS_IN | FLOWS_OUT)) &&
	       flow_walk_run(&w, v->kind->directions & RELATIVES);
	free(w.visited);
	free(w.queue);
	return good ? SQLITE_OK : SQLITE_NOMEM;
}

static int flow_walk_next(sqlite3_vtab_cursor *base)
{
	((struct flow_cursor *)base)->at++;
	return SQLITE_OK;
}

static int flow_walk_at_end(sqlite3_vtab_cursor *base)
{
	const struct flow_cursor *c = (const struct flow_cursor *)base;

	return c->at >= c->n;
}

/* The id is the number of the row in the result, as that of trace_processor. */
static int flow_walk_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	const struct flow_vtab *v = (const struct flow_vtab *)base->pVtab;
	const struct flow_cursor *c = (const struct flow_cursor *)base;
	struct value value;

	if (i == v->n_columns) {
		sqlite3_result_int64(ctx, c->of);
	} else if (i == FLOW_ID) {
		sqlite3_result_int64(ctx, (sqlite3_int64)c->at);
	} else {
		store_read_value(v->store, &v->store->tables[TABLE_FLOW], c->rows[c->at],
				 (unsigned)i, &value);
		table_module_set_result(ctx, &value);
	}
	return SQLITE_OK;
}

static int flow_walk_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((const struct flow_cursor *)base)->at;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	VTAB_MODULE,
	.xConnect = flow_walk_connect,
	.xBestIndex = flow_walk_best_index,
	.xFilter = flow_walk_filter,
	.xNext = flow_walk_next,
	.xEof = flow_walk_at_end,
	.xColumn = flow_walk_column,
	.xRowid = flow_walk_rowid,
};

int flow_walk_register(sqlite3 *db, struct store *s)
{
	int r = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_SIZE(flow_kinds) && r == SQLITE_OK; i++)
		r = sqlite3_create_module(db, flow_kinds[i].name, &module, s);
	return r;
}
