/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches in directed graphs. A node is a number; inside a search it is its rank among all numbers
 * of the graph and of the starts, so that memory depends on how many there are, not on their size.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/row_sets/result_rows.h"
#include "base/core/mem.h"

#define GRAPH_POINTER "sonda graph"
#define NODES_POINTER "sonda nodes"
#define NO_NODE SIZE_MAX

struct edge {
	int64_t from, to, weight;
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

/* Returns the collection of an aggregate function, which is allocated for the first row; NULL if
 * out of memory. */
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

/* Appends a number to an array that SQL can pass on: a blob of int64_t. */
static void numbers_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		sqlite3_result_error(ctx, "repeatedfield(): a value is NULL", -1);
	else
		nodes_step(ctx, argc, argv);
}

static void numbers_final(sqlite3_context *ctx)
{
	struct nodes **numbers = sqlite3_aggregate_context(ctx, 0);

	if (!numbers || !*numbers)
		return;
	sqlite3_result_blob64(ctx, (*numbers)->ids, (*numbers)->n * sizeof(*(*numbers)->ids), free);
	free(*numbers);
}

/* ---- searching ---- */

struct search {
	const struct graph *graph;
	int64_t *ids; /* owned; ascending: a node is the place in it */
	size_t n_ids;
	size_t *visited; /* owned; for each node: the number of the last round that visited it */
	size_t round; /* from 1 on; a search within a weight begins a round for each root */
	struct visit {
		size_t node, parent;
		int64_t weight; /* of the edge from the parent */
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

/* Numbers the nodes. columns: of the result. Returns false if out of memory. */
static bool search_init(struct search *s, const struct graph *g, const struct nodes *starts,
			const char *const *columns)
{
	size_t n_edges = g ? g->n : 0, n = 0;

	s->graph = g;
	s->round = 1;
	s->ids = calloc(2 * n_edges + starts->n + 1, sizeof(*s->ids));
	s->visited = calloc(2 * n_edges + starts->n + 1, sizeof(*s->visited));
	s->rows = result_rows_new(columns);
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

static bool search_push(struct search *s, struct visit v)
{
	if (array_reserve(&s->queue, &s->cap, s->n + 1, sizeof(*s->queue)))
		return false;
	s->queue[s->n++] = v;
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

static void put_visit(const struct search *s, struct visit v, struct cell cells[static 2])
{
	cells[0] = (struct cell){.kind = CELL_INT, .i = s->ids[v.node]};
	if (v.parent != NO_NODE)
		cells[1] = (struct cell){.kind = CELL_INT, .i = s->ids[v.parent]};
}

static bool search_add_row(struct search *s, struct visit v)
{
	struct cell *row = result_rows_add(s->rows);

	if (row)
		put_visit(s, v, row);
	return row;
}

/* Marks a node as visited, and queues the ends of its edges. Returns false if out of memory. */
static bool search_expand(struct search *s, size_t node, bool last_edge_first)
{
	size_t begin, end;

	s->visited[node] = s->round;
	search_edges(s, node, &begin, &end);
	for (size_t i = 0; i < end - begin; i++) {
		const struct edge *e = &s->graph->edges[last_edge_first ? end - 1 - i : begin + i];
		size_t to = search_node(s, e->to);

		if (s->visited[to] != s->round &&
		    !search_push(s, (struct visit){to, node, e->weight}))
			return false;
	}
	return true;
}

/* Adds the row of a node, unless it was visited, and queues the ends of its edges. Returns false if
 * out of memory. */
static bool search_visit(struct search *s, struct visit v, bool last_edge_first)
{
	return s->visited[v.node] == s->round ||
	       (search_add_row(s, v) && search_expand(s, v.node, last_edge_first));
}

/* Searches depth first: the queue is a stack, on which the node of the first edge is on top.
 * Returns false if out of memory. */
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

/* Searches a graph by `run`. The arguments are (graph, start nodes). */
static void search_call(sqlite3_context *ctx, sqlite3_value **argv, bool (*run)(struct search *))
{
	static const char *const columns[] = {"node_id", "parent_node_id", NULL};
	const struct graph *g = sqlite3_value_pointer(argv[0], GRAPH_POINTER);
	const struct nodes *starts = sqlite3_value_pointer(argv[1], NODES_POINTER);
	struct search s = {.graph = g};
	bool good;

	if (!g || !starts)
		return;
	good = search_init(&s, g, starts, columns);
	for (size_t i = 0; i < starts->n && good; i++)
		good = search_push(&s, (struct visit){search_node(&s, starts->ids[i]), NO_NODE, 0});
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

/* ---- searching within a weight ---- */

/* Searches depth first from a root, until the weights of the edges to the visited nodes add up to
 * more than the target. is_floor: the node that exceeds the target is visited, too. Returns false
 * if out of memory. */
static bool search_within_weight(struct search *s, int64_t root, int64_t target, bool is_floor)
{
	struct visit v = {.node = search_node(s, root), .parent = NO_NODE};
	struct cell *row;
	double sum = 0;

	s->n = 0;
	if (!search_push(s, v))
		return false;
	while (s->n && sum <= (double)target) {
		v = s->queue[--s->n];
		if (s->visited[v.node] == s->round)
			continue;
		sum += (double)v.weight;
		if (sum > (double)target && !is_floor)
			break;
		row = result_rows_add(s->rows);
		if (!row)
			return false;
		row[0] = (struct cell){.kind = CELL_INT, .i = root};
		put_visit(s, v, &row[1]);
		if (!search_expand(s, v.node, true))
			return false;
	}
	s->round++;
	return true;
}

/* A result of repeatedfield(). */
struct numbers {
	const uint8_t *bytes; /* borrowed */
	size_t n;
};

static struct numbers numbers_of_value(sqlite3_value *v)
{
	struct numbers numbers = {.bytes = sqlite3_value_blob(v)};

	numbers.n = (size_t)sqlite3_value_bytes(v) / sizeof(int64_t);
	return numbers;
}

static int64_t numbers_at(struct numbers numbers, size_t i)
{
	int64_t x;

	memcpy(&x, &numbers.bytes[i * sizeof(x)], sizeof(x));
	return x;
}

/* Searches from each root up to a total weight. The arguments are (from, to, weights, roots,
 * targets, is_floor): all but the last are results of repeatedfield(). */
static void bounded_call(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	static const char *const columns[] = {"root_node_id", "node_id", "parent_node_id", NULL};
	struct numbers from = numbers_of_value(argv[0]), to = numbers_of_value(argv[1]),
		       weights = numbers_of_value(argv[2]), roots = numbers_of_value(argv[3]),
		       targets = numbers_of_value(argv[4]);
	struct nodes starts = {.ids = malloc(roots.n * sizeof(int64_t) + 1), .n = roots.n};
	struct graph g = {.edges = calloc(from.n + 1, sizeof(*g.edges)), .n = from.n};
	struct search s = {0};
	bool good = starts.ids && g.edges;

	if (to.n != from.n || weights.n != from.n || targets.n != roots.n) {
		sqlite3_result_error(ctx, "the arrays of the graph have different lengths", -1);
		goto out;
	}
	for (size_t i = 0; i < roots.n && good; i++)
		starts.ids[i] = numbers_at(roots, i);
	for (size_t i = 0; i < from.n && good; i++)
		g.edges[i] = (struct edge){numbers_at(from, i), numbers_at(to, i),
					   numbers_at(weights, i), i};
	if (good)
		qsort(g.edges, g.n, sizeof(*g.edges), compare_edges);
	good = good && search_init(&s, &g, &starts, columns);
	for (size_t i = 0; i < roots.n && good; i++)
		good = search_within_weight(&s, starts.ids[i], numbers_at(targets, i),
					    sqlite3_value_int(argv[5]));
	if (good)
		result_rows_return(ctx, TAKE_PTR(s.rows));
	else
		sqlite3_result_error_nomem(ctx);
out:
	search_deinit(&s);
	free(g.edges);
	free(starts.ids);
}

int graph_functions_register(sqlite3 *db)
{
	int r = row_sets_aggregate(db, "__intrinsic_graph_agg", 2, graph_step, graph_final);

	if (r == SQLITE_OK)
		r = row_sets_aggregate(db, "__intrinsic_array_agg", 1, nodes_step, nodes_final);
	if (r == SQLITE_OK)
		r = row_sets_aggregate(db, "repeatedfield", 1, numbers_step, numbers_final);
	if (r == SQLITE_OK)
		r = row_sets_function(db, "sonda_dfs_weight_bounded", 6, bounded_call);
	if (r == SQLITE_OK)
		r = row_sets_function(db, "__intrinsic_dfs", 2, depth_first_call);
	return r == SQLITE_OK ? row_sets_function(db, "__intrinsic_bfs", 2, breadth_first_call) : r;
}
