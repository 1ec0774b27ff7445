/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/clocks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"

/* Readings of two clocks, ascending by time: values of from[i] and to[i] are of one moment. */
struct clock_edge {
	uint16_t from, to; /* nodes */
	int64_t *values; /* owned: pairs */
	size_t n, cap;
};

const char *clock_name(uint32_t id)
{
	static const char *const names[] = {
		[1] = "REALTIME",	  [2] = "REALTIME_COARSE", [3] = "MONOTONIC",
		[4] = "MONOTONIC_COARSE", [5] = "MONOTONIC_RAW",   [6] = "BOOTTIME",
	};

	return id < ARRAY_SIZE(names) ? names[id] : NULL;
}

void clocks_init(struct clocks *c, struct store *store)
{
	*c = (struct clocks){.store = store, .trace = CLOCK_BOOTTIME_ID};
}

void clocks_deinit(struct clocks *c)
{
	for (size_t i = 0; i < c->n_edges; i++)
		free(c->edges[i].values);
	free(c->edges);
	*c = (struct clocks){0};
}

static struct clock_node *find(struct clocks *c, clock_key clock)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		if (c->nodes[i].clock == clock)
			return &c->nodes[i];
	return NULL;
}

static struct clock_edge *edge_of(struct clocks *c, uint16_t from, uint16_t to)
{
	for (size_t i = 0; i < c->n_edges; i++)
		if (c->edges[i].from == from && c->edges[i].to == to)
			return &c->edges[i];
	if (array_reserve(&c->edges, &c->cap_edges, c->n_edges + 1, sizeof(*c->edges)))
		return NULL;
	c->edges[c->n_edges] = (struct clock_edge){.from = from, .to = to};
	return &c->edges[c->n_edges++];
}

static int64_t ns_of(const struct clock_reading *r)
{
	int64_t ns;

	return __builtin_mul_overflow(r->value, r->unit, &ns) ? INT64_MAX : ns;
}

static bool is_acceptable(struct clocks *c, const struct clock_reading *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct clock_node *node = find(c, r[i].clock);

		if (r[i].incremental && (r[i].clock & UINT32_MAX) < CLOCK_SEQUENCE_FIRST)
			return false;
		if (node && (node->unit != r[i].unit || node->incremental != r[i].incremental))
			return false;
		if (r[i].clock == c->trace && r[i].unit != 1)
			return false;
		for (size_t j = 0; j < i; j++)
			if (r[j].clock == r[i].clock)
				return false;
	}
	return true;
}

static void add_pair(struct clocks *c, uint16_t from, uint16_t to, int64_t a, int64_t b)
{
	struct clock_edge *e = edge_of(c, from, to);

	if (!e || array_reserve(&e->values, &e->cap, e->n + 2, sizeof(*e->values))) {
		c->store->budget.error = -ENOMEM;
		return;
	}
	if (e->n && a < e->values[e->n - 2]) {
		c->nodes[from].not_monotonic = true;
		return;
	}
	e->values[e->n++] = a;
	e->values[e->n++] = b;
}

static bool goes_back(struct clocks *c, const struct clock_reading *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct clock_node *node = r[i].clock == c->trace ? find(c, c->trace) : NULL;

		for (size_t j = 0; node && j < c->n_edges; j++) {
			const struct clock_edge *e = &c->edges[j];

			if (e->from == node - c->nodes && e->n &&
			    ns_of(&r[i]) < e->values[e->n - 2])
				return true;
		}
	}
	return false;
}

int64_t clocks_snapshot(struct clocks *c, const struct clock_reading *readings, size_t n)
{
	uint16_t at[CLOCKS_MAX];
	size_t known = 0;

	if (n > CLOCKS_MAX || !is_acceptable(c, readings, n) || goes_back(c, readings, n))
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct clock_node *node = find(c, readings[i].clock);

		if (!node && c->n_nodes < CLOCKS_MAX) {
			node = &c->nodes[c->n_nodes++];
			*node = (struct clock_node){.clock = readings[i].clock,
						    .unit = readings[i].unit,
						    .incremental = readings[i].incremental};
		}
		if (!node)
			return -1;
		node->last = ns_of(&readings[i]);
		at[known++] = (uint16_t)(node - c->nodes);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			if (i != j)
				add_pair(c, at[i], at[j], ns_of(&readings[i]), ns_of(&readings[j]));
	return c->n_snapshots++;
}

/* Converts by the last pair that is not later, or by the first one. */
static int64_t by_edge(const struct clock_edge *e, int64_t ts)
{
	size_t lo = 0, hi = e->n / 2;

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (e->values[2 * mid] <= ts)
			lo = mid;
		else
			hi = mid;
	}
	return (int64_t)((uint64_t)ts - (uint64_t)e->values[2 * lo] +
			 (uint64_t)e->values[2 * lo + 1]);
}

/* Breadth first from the target, so that each node knows its next edge on the shortest way. */
static bool find_way(struct clocks *c, uint16_t from, uint16_t to, uint16_t next[static CLOCKS_MAX])
{
	uint16_t queue[CLOCKS_MAX];
	size_t n = 0, done = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		next[i] = UINT16_MAX;
	queue[n++] = to;
	while (done < n) {
		uint16_t node = queue[done++];

		for (size_t i = 0; i < c->n_edges && i < UINT16_MAX; i++) {
			const struct clock_edge *e = &c->edges[i];

			if (e->to != node || e->from == to || next[e->from] != UINT16_MAX ||
			    !e->n || c->nodes[e->from].not_monotonic)
				continue;
			next[e->from] = (uint16_t)i;
			if (e->from == from)
				return true;
			queue[n++] = e->from;
		}
	}
	return false;
}

enum clock_result clocks_convert(struct clocks *c, clock_key from, int64_t ts, int64_t *ret)
{
	uint16_t next[CLOCKS_MAX];
	struct clock_node *source, *target;

	if (from == c->trace) {
		c->has_trace = true;
		*ret = ts;
		return CLOCK_CONVERTED;
	}
	source = find(c, from);
	if (!source)
		return CLOCK_UNKNOWN_SOURCE;
	target = find(c, c->trace);
	if (!target)
		return CLOCK_UNKNOWN_TARGET;
	if (__builtin_mul_overflow(ts, source->unit, &ts))
		return CLOCK_NO_PATH;
	if (source->incremental)
		ts = source->last = (int64_t)((uint64_t)source->last + (uint64_t)ts);
	if (!find_way(c, (uint16_t)(source - c->nodes), (uint16_t)(target - c->nodes), next))
		return CLOCK_NO_PATH;
	for (uint16_t node = (uint16_t)(source - c->nodes); node != target - c->nodes;) {
		const struct clock_edge *e = &c->edges[next[node]];

		ts = by_edge(e, ts);
		node = e->to;
	}
	*ret = ts;
	return CLOCK_CONVERTED;
}
