/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches in directed graphs. A node is a number; inside a search it is its rank among all numbers of
 * the graph and of the starts, so that memory depends on how many there are, not on their size.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/row_sets/result_rows.h"
#include "base/core/mem.h"

#define GRAPH_POINTER "sonda graph"
#define NODES_POINTER "sonda nodes"
#define NO_NODE SIZE_MAX

struct edge {
	int64_t from, to;
	size_t number; /* in the order of the rows */
};

struct graph {
	struct edge *edges; /* owned */
	size_t n, cap;
};

struct nodes {
	int64_t *ids; /* owned */
	size_t n, cap;
};

/* ---- collecting ---- */

static void graph_free(void *p)
{
	struct graph *g = p;

	free(g->edges);
	free(g);
}

static void nodes_free(void *p)
{
	struct nodes *nodes = p;

	free(nodes->ids);
	free(nodes);
}

/* Returns what an aggregate collects into, which it makes for the first row; NULL if out of
 * memory. */
static void *aggregate_collection(sqlite3_context *ctx, size_t size)
{
	void **p = sqlite3_aggregate_context(ctx, sizeof(*p));

	if (p && !*p)
		*p = calloc(1, size);
	if (!p || !*p)
		sqlite3_result_error_nomem(ctx);
	return p ? *p : NULL;
}

static void graph_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct graph *g = aggregate_collection(ctx, sizeof(*g));

	if (!g || sqlite3_value_type(argv[0]) == SQLITE_NULL ||
	    sqlite3_value_type(argv[1]) == SQLITE_NULL)
		return;
	if (array_reserve(&g->edges, &g->cap, g->n + 1, sizeof(*g->edges))) {
		sqlite3_result_error_nomem(ctx);
		return;
	}
	g->edges[g->n] = (struct edge){.from = sqlite3_value_int64(argv[0]),
				       .to = sqlite3_value_int64(argv[1]),
				       .number = g->n};
	g->n++;
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void graph_final(sqlite3_context *ctx)
{
	struct graph **g = sqlite3_aggregate_context(ctx, 0);

	if (!g || !*g)
		return;
	if ((*g)->n)
		qsort((*g)->edges, (*g)->n, sizeof(*(*g)->edges), compare_edges);
	sqlite3_result_pointer(ctx, *g, GRAPH_POINTER, graph_free);
}

static void nodes_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct nodes *nodes = aggregate_collection(ctx, sizeof(*nodes));

	if (!nodes || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (array_reserve(&nodes->ids, &nodes->cap, nodes->n + 1, sizeof(*nodes->ids)))
		sqlite3_result_error_nomem(ctx);
	else
		nodes->ids[nodes->n++] = sqlite3_value_int64(argv[0]);
}

static void nodes_final(sqlite3_context *ctx)
{
	struct nodes **nodes = sqlite3_aggregate_context(ctx, 0);

	if (nodes && *nodes)
		sqlite3_result_pointer(ctx, *nodes, NODES_POINTER, nodes_free);
}

/* ---- searching ---- */

struct search {
	const struct graph *graph;
	int64_t *ids; /* owned; ascending: a node is the place in it */
	size_t n_ids;
	bool *visited; /* owned; for each node */
	struct visit {
		size_t node, parent;
	} * queue; /* owned: to be visited; depth first, it is a stack */
	size_t n, cap;
	struct result_rows *rows; /* owned */
};

static int compare_ids(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static size_t search_node(const struct search *s, int64_t id)
{
	const int64_t *found = bsearch(&id, s->ids, s->n_ids, sizeof(*s->ids), compare_ids);

	return (size_t)(found - s->ids);
}

/* Numbers the nodes. Returns false if out of memory. */
static bool search_init(struct search *s, const struct graph *g, const struct nodes *starts)
{
	static const char *const names[] = {"node_id", "parent_node_id", NULL};
	size_t n_edges = g ? g->n : 0, n = 0;

	s->graph = g;
	s->ids = calloc(2 * n_edges + starts->n + 1, sizeof(*s->ids));
	s->visited = calloc(2 * n_edges + starts->n + 1, sizeof(*s->visited));
	s->rows = result_rows_new(names);
	if (!s->ids || !s->visited || !s->rows)
		return false;
	for (size_t i = 0; i < n_edges; i++) {
		s->ids[n++] = g->edges[i].from;
		s->ids[n++] = g->edges[i].to;
	}
	if (starts->n)
		memcpy(&s->ids[n], starts->ids, starts->n * sizeof(*s->ids));
	n += starts->n;
	qsort(s->ids, n, sizeof(*s->ids), compare_ids);
	for (size_t i = 0; i < n; i++)
		if (!s->n_ids || s->ids[s->n_ids - 1] != s->ids[i])
			s->ids[s->n_ids++] = s->ids[i];
	return true;
}

static void search_deinit(struct search *s)
{
	free(s->ids);
	free(s->visited);
	free(s->queue);
	result_rows_put(s->rows);
}

static bool search_push(struct search *s, size_t node, size_t parent)
{
	if (array_reserve(&s->queue, &s->cap, s->n + 1, sizeof(*s->queue)))
		return false;
	s->queue[s->n++] = (struct visit){node, parent};
	return true;
}

/* Finds the edges that leave the node: from *ret_begin to before *ret_end. */
static void search_edges(const struct search *s, size_t node, size_t *ret_begin, size_t *ret_end)
{
	size_t low = 0, high = s->graph ? s->graph->n : 0, n = high;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->graph->edges[middle].from < s->ids[node])
			low = middle + 1;
		else
			high = middle;
	}
	*ret_begin = low;
	while (low < n && s->graph->edges[low].from == s->ids[node])
		low++;
	*ret_end = low;
}

static bool search_add_row(struct search *s, struct visit v)
{
	struct cell *row = result_rows_add(s->rows);

	if (!row)
		return false;
	row[0] = (struct cell){.kind = CELL_INT, .i = s->ids[v.node]};
	if (v.parent != NO_NODE)
		row[1] = (struct cell){.kind = CELL_INT, .i = s->ids[v.parent]};
	return true;
}

/* Adds the row of a node, unless it was visited, and queues the ends of its edges. */
static bool search_visit(struct search *s, struct visit v, bool last_edge_first)
{
	size_t begin, end;

	if (s->visited[v.node])
		return true;
	s->visited[v.node] = true;
	if (!search_add_row(s, v))
		return false;
	search_edges(s, v.node, &begin, &end);
	for (size_t i = 0; i < end - begin; i++) {
		size_t edge = last_edge_first ? end - 1 - i : begin + i;
		size_t to = search_node(s, s->graph->edges[edge].to);

		if (!s->visited[to] && !search_push(s, to, v.node))
			return false;
	}
	return true;
}

/* The queue is a stack here: the node of the first edge has to be on top. */
static bool search_depth_first(struct search *s)
{
	while (s->n)
		if (!search_visit(s, s->queue[--s->n], true))
			return false;
	return true;
}

static bool search_breadth_first(struct search *s)
{
	for (size_t at = 0; at < s->n; at++)
		if (!search_visit(s, s->queue[at], false))
			return false;
	return true;
}

/* (graph, start nodes) */
static void search_call(sqlite3_context *ctx, sqlite3_value **argv, bool (*run)(struct search *))
{
	const struct graph *g = sqlite3_value_pointer(argv[0], GRAPH_POINTER);
	const struct nodes *starts = sqlite3_value_pointer(argv[1], NODES_POINTER);
	struct search s = {.graph = g};
	bool good;

	if (!g || !starts)
		return;
	good = search_init(&s, g, starts);
	for (size_t i = 0; i < starts->n && good; i++)
		good = search_push(&s, search_node(&s, starts->ids[i]), NO_NODE);
	if (good && run(&s))
		result_rows_return(ctx, TAKE_PTR(s.rows));
	else
		sqlite3_result_error_nomem(ctx);
	search_deinit(&s);
}

static void depth_first_call(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	search_call(ctx, argv, search_depth_first);
}

static void breadth_first_call(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	search_call(ctx, argv, search_breadth_first);
}

int graph_functions_register(sqlite3 *db)
{
	int r = row_sets_aggregate(db, "__intrinsic_graph_agg", 2, graph_step, graph_final);

	if (r == SQLITE_OK)
		r = row_sets_aggregate(db, "__intrinsic_array_agg", 1, nodes_step, nodes_final);
	if (r == SQLITE_OK)
		r = row_sets_function(db, "__intrinsic_dfs", 2, depth_first_call);
	return r == SQLITE_OK ? row_sets_function(db, "__intrinsic_bfs", 2, breadth_first_call) : r;
}
