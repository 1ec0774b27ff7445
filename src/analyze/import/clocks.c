/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/clocks.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/store/stats.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "gen/fields.h"

struct edge_ends {
	uint32_t from, to; /* nodes */
};

/* Readings of two clocks in ns, ascending: values[2 * i] of `from` and values[2 * i + 1] of `to`
 * are of one moment. */
struct clock_edge {
	struct edge_ends ends;
	int64_t *values; /* owned */
	size_t n, cap; /* numbers in values, two for each moment */
	UT_hash_handle hh;
};

struct clock_node {
	clock_key clock;
	uint16_t number;
	int64_t unit;
	bool incremental;
	bool not_monotonic; /* its readings went back: times of it are not converted */
	int64_t last; /* ns, the last time; times of an incremental clock are added to it */
	unsigned index; /* in clocks.wide; for a sequence's clock its id less the first one */
	/* Sets of bits: the clocks that share a snapshot with it, by their index. If a clock of a
	 * sequence and one of no sequence share a snapshot, only the former has it in its set. */
	uint64_t wide[CLOCKS_WIDE_MAX / 64], own;
	UT_hash_handle hh;
};

#define NO_NODE UINT16_MAX

const char *clock_name(uint32_t id)
{
	static const char *const names[] = {
		[1] = "REALTIME",	  [2] = "REALTIME_COARSE", [3] = "MONOTONIC",
		[4] = "MONOTONIC_COARSE", [5] = "MONOTONIC_RAW",   [6] = "BOOTTIME",
	};

	return id < ARRAY_SIZE(names) ? names[id] : NULL;
}

struct clock_reading clock_reading_read(const struct pb_field *clock, uint32_t sequence)
{
	struct clock_reading r = {.unit = 1};
	struct pb_field id = {0};

	pb_read(clock, PB_TO_ANY(PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, &id),
		PB_TO(PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, &r.value),
		PB_TO(PB_CLOCK_SNAPSHOT_CLOCK_IS_INCREMENTAL, &r.incremental),
		PB_TO(PB_CLOCK_SNAPSHOT_CLOCK_UNIT_MULTIPLIER_NS, &r.unit));
	if (id.id)
		r.clock = clock_make_key((uint32_t)id.u64, sequence);
	r.unit = r.unit ?: 1;
	return r;
}

void clocks_init(struct clocks *c, struct store *store)
{
	*c = (struct clocks){.store = store, .trace = CLOCK_BOOTTIME_ID};
}

void clocks_deinit(struct clocks *c)
{
	struct clock_edge *e, *next;

	HASH_ITER (hh, c->by_ends, e, next) {
		HASH_DEL(c->by_ends, e);
		free(e->values);
		free(e);
	}
	HASH_FREE(c->by_key);
	free(c->nodes);
	*c = (struct clocks){0};
}

static void clocks_set_enomem(struct clocks *c)
{
	if (!c->store->budget.error)
		c->store->budget.error = -ENOMEM;
}

static struct clock_node *clocks_find(struct clocks *c, clock_key clock)
{
	struct clock_node *n;

	HASH_FIND(hh, c->by_key, &clock, sizeof(clock), n);
	return n;
}

/* Returns true for a clock of one sequence. */
static bool is_sequence_clock(clock_key clock)
{
	return clock >> 32 ||
	       ((uint32_t)clock >= CLOCK_SEQUENCE_FIRST && (uint32_t)clock < CLOCK_SEQUENCE_END);
}

static struct clock_node *add_node(struct clocks *c, const struct clock_reading *r)
{
	struct clock_node *n;

	if (c->n_nodes >= CLOCKS_MAX ||
	    (!is_sequence_clock(r->clock) && c->n_wide >= CLOCKS_WIDE_MAX))
		return NULL;
	n = budget_alloc(&c->store->budget, sizeof(*n));
	if (!n || array_reserve(&c->nodes, &c->cap_nodes, c->n_nodes + 1, sizeof(*c->nodes)))
		goto fail;
	n->clock = r->clock;
	n->number = (uint16_t)c->n_nodes;
	n->unit = r->unit;
	n->incremental = r->incremental;
	HASH_ADD(hh, c->by_key, clock, sizeof(n->clock), n);
	if (!n->hh.tbl)
		goto fail;
	n->index = is_sequence_clock(n->clock) ? (uint32_t)n->clock - CLOCK_SEQUENCE_FIRST
					       : (unsigned)c->n_wide;
	if (!is_sequence_clock(n->clock))
		c->wide[c->n_wide++] = n;
	return c->nodes[c->n_nodes++] = n;
fail:
	free(n);
	clocks_set_enomem(c);
	return NULL;
}

static struct clock_edge *find_edge(const struct clocks *c, uint16_t from, uint16_t to)
{
	struct edge_ends ends = {.from = from, .to = to};
	struct clock_edge *e;

	HASH_FIND(hh, c->by_ends, &ends, sizeof(ends), e);
	return e;
}

static void clock_node_add_neighbour(struct clock_node *n, const struct clock_node *other)
{
	if (is_sequence_clock(other->clock))
		n->own |= UINT64_C(1) << other->index;
	else
		n->wide[other->index / 64] |= UINT64_C(1) << other->index % 64;
}

static struct clock_edge *get_or_add_edge(struct clocks *c, uint16_t from, uint16_t to)
{
	struct clock_edge *e = find_edge(c, from, to);

	if (e)
		return e;
	clock_node_add_neighbour(c->nodes[from], c->nodes[to]);
	e = budget_alloc(&c->store->budget, sizeof(*e));
	if (!e)
		return NULL;
	e->ends = (struct edge_ends){.from = from, .to = to};
	HASH_ADD(hh, c->by_ends, ends, sizeof(e->ends), e);
	if (e->hh.tbl)
		return e;
	free(e);
	return NULL;
}

static int64_t reading_to_ns(const struct clock_reading *r)
{
	int64_t ns;

	return __builtin_mul_overflow(r->value, r->unit, &ns) ? INT64_MAX : ns;
}

static bool is_snapshot_acceptable(struct clocks *c, const struct clock_reading *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct clock_node *node = clocks_find(c, r[i].clock);

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

/* Makes room for a pair of values. Returns false if out of memory. */
static bool reserve_pair(struct clocks *c, struct clock_edge *e)
{
	size_t cap = e->cap;

	return array_reserve(&e->values, &e->cap, e->n + 2, sizeof(*e->values)) == 0 &&
	       budget_charge(&c->store->budget, (e->cap - cap) * sizeof(*e->values));
}

static void add_pair(struct clocks *c, uint16_t from, uint16_t to, int64_t a, int64_t b)
{
	struct clock_edge *e = get_or_add_edge(c, from, to);

	if (!e || !reserve_pair(c, e)) {
		clocks_set_enomem(c);
		return;
	}
	if (e->n && a < e->values[e->n - 2]) {
		c->nodes[from]->not_monotonic = true;
		return;
	}
	e->values[e->n++] = a;
	e->values[e->n++] = b;
}

/* Returns true if the trace clock reads less than in an earlier snapshot that has one of the other
 * clocks. */
static bool trace_clock_goes_back(struct clocks *c, const struct clock_reading *r, size_t n)
{
	const struct clock_node *trace = clocks_find(c, c->trace);
	int64_t now = INT64_MAX;

	for (size_t i = 0; i < n; i++)
		if (r[i].clock == c->trace)
			now = reading_to_ns(&r[i]);
	for (size_t i = 0; trace && i < n; i++) {
		const struct clock_node *other = clocks_find(c, r[i].clock);
		const struct clock_edge *e =
			other && other != trace ? find_edge(c, trace->number, other->number) : NULL;

		if (e && e->n && now < e->values[e->n - 2])
			return true;
	}
	return false;
}

#define SNAPSHOT_MAX 64 /* clocks */

int64_t clocks_add_snapshot(struct clocks *c, const struct clock_reading *readings, size_t n)
{
	uint16_t at[SNAPSHOT_MAX];

	if (n > SNAPSHOT_MAX || !is_snapshot_acceptable(c, readings, n) ||
	    trace_clock_goes_back(c, readings, n))
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct clock_node *node =
			clocks_find(c, readings[i].clock) ?: add_node(c, &readings[i]);

		if (!node)
			return -1;
		node->last = reading_to_ns(&readings[i]);
		at[i] = node->number;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			if (i != j)
				add_pair(c, at[i], at[j], reading_to_ns(&readings[i]),
					 reading_to_ns(&readings[j]));
	return c->n_snapshots++;
}

/* Converts by the last pair that is not later than ts, or else by the first pair. */
static int64_t convert_by_edge(const struct clock_edge *e, int64_t ts)
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

#define OWN_MAX (CLOCK_SEQUENCE_END - CLOCK_SEQUENCE_FIRST)
#define CANDIDATES_MAX (CLOCKS_WIDE_MAX + OWN_MAX)

_Static_assert(OWN_MAX == 64 && CLOCKS_WIDE_MAX % 64 == 0, "sets of clocks are words of 64 bits");

/* The machine's clocks, followed by those of the source's sequence, by their index. */
struct way {
	struct clock_node *nodes[CANDIDATES_MAX]; /* nodes of clocks that are visited or left */
	uint16_t next[CANDIDATES_MAX]; /* for a visited clock: the next clock towards the target */
	uint64_t wide_left[CLOCKS_WIDE_MAX / 64], own_left; /* clocks that are not visited yet */
	uint16_t queue[CANDIDATES_MAX];
	size_t n_queue;
};

static uint16_t path_index_of_clock(const struct clock_node *n)
{
	return (uint16_t)(n->index + (is_sequence_clock(n->clock) ? CLOCKS_WIDE_MAX : 0));
}

/* Lists the clocks over which a way from `source` may lead. Times of a clock that went back are not
 * converted, but times can be converted to it. */
static void list_path_clocks(struct clocks *c, const struct clock_node *source, struct way *w)
{
	for (size_t i = 0; i < c->n_wide; i++) {
		w->nodes[i] = c->wide[i];
		if (!c->wide[i]->not_monotonic)
			w->wide_left[i / 64] |= UINT64_C(1) << i % 64;
	}
	for (uint32_t i = 0; is_sequence_clock(source->clock) && i < OWN_MAX; i++) {
		struct clock_node *node = clocks_find(c, (source->clock & ~(uint64_t)UINT32_MAX) |
								 (i + CLOCK_SEQUENCE_FIRST));

		w->nodes[CLOCKS_WIDE_MAX + i] = node;
		if (node && !node->not_monotonic)
			w->own_left |= UINT64_C(1) << i;
	}
}

/* Queues the clocks of a set: bit 0 is the clock with the index `first`. `to` is the next clock on
 * the path from each of them to the target. */
static void visit_clocks(struct way *w, uint64_t set, unsigned first, uint16_t to)
{
	for (; set; set &= set - 1) {
		uint16_t at = (uint16_t)(first + (unsigned)__builtin_ctzll(set));

		w->next[at] = to;
		w->queue[w->n_queue++] = at;
	}
}

/* Returns the clocks of the source's sequence that are not visited yet and share a snapshot with
 * the clock `at`. */
static uint64_t find_neighbours_in_sequence(const struct way *w, uint16_t at)
{
	uint64_t set = 0;

	if (at >= CLOCKS_WIDE_MAX)
		return w->nodes[at]->own & w->own_left;
	for (uint64_t left = w->own_left; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);

		set |= (w->nodes[CLOCKS_WIDE_MAX + i]->wide[at / 64] >> at % 64 & 1) << i;
	}
	return set;
}

/* Searches breadth first from the target, so that each clock knows the next clock on its shortest
 * path. Returns the index of the source, or NO_NODE if there is no path. */
static uint16_t find_conversion_path(struct clocks *c, const struct clock_node *source,
				     const struct clock_node *target, struct way *w)
{
	uint16_t from = path_index_of_clock(source), to = path_index_of_clock(target);

	*w = (struct way){.n_queue = 0};
	list_path_clocks(c, source, w);
	if (source->not_monotonic || w->nodes[to] != target)
		return NO_NODE;
	if (to < CLOCKS_WIDE_MAX)
		w->wide_left[to / 64] &= ~(UINT64_C(1) << to % 64);
	else
		w->own_left &= ~(UINT64_C(1) << target->index);
	w->queue[w->n_queue++] = to;
	for (size_t done = 0; done < w->n_queue; done++) {
		uint16_t at = w->queue[done];
		uint64_t set;

		if (at == from)
			return from;
		for (unsigned i = 0; i < ARRAY_SIZE(w->wide_left); i++) {
			set = w->nodes[at]->wide[i] & w->wide_left[i];
			w->wide_left[i] &= ~set;
			visit_clocks(w, set, i * 64, at);
		}
		set = find_neighbours_in_sequence(w, at);
		w->own_left &= ~set;
		visit_clocks(w, set, CLOCKS_WIDE_MAX, at);
	}
	return NO_NODE;
}

enum clock_result clocks_convert(struct clocks *c, clock_key from, int64_t ts, int64_t *ret)
{
	struct clock_node *source, *target;
	const struct clock_edge *direct;
	struct way w;
	uint16_t at;

	if (from == c->trace) {
		c->has_trace = true;
		*ret = ts;
		return CLOCK_CONVERTED;
	}
	source = clocks_find(c, from);
	if (!source)
		return CLOCK_UNKNOWN_SOURCE;
	target = clocks_find(c, c->trace);
	if (!target)
		return CLOCK_UNKNOWN_TARGET;
	if (c->store->budget.error) /* clocks may be neighbours without an edge */
		return CLOCK_NO_PATH;
	if (__builtin_mul_overflow(ts, source->unit, &ts))
		return CLOCK_NO_PATH;
	direct = source->not_monotonic ? NULL : find_edge(c, source->number, target->number);
	if (direct && !direct->n)
		direct = NULL;
	at = direct ? NO_NODE : find_conversion_path(c, source, target, &w);
	if (!direct && at == NO_NODE)
		return CLOCK_NO_PATH;
	if (source->incremental)
		ts = source->last = (int64_t)((uint64_t)source->last + (uint64_t)ts);
	if (direct) {
		*ret = convert_by_edge(direct, ts);
		return CLOCK_CONVERTED;
	}
	for (; w.nodes[at] != target; at = w.next[at])
		ts = convert_by_edge(find_edge(c, w.nodes[at]->number, w.nodes[w.next[at]]->number),
				     ts);
	*ret = ts;
	return CLOCK_CONVERTED;
}

void clocks_count_failure(struct clocks *c, enum clock_result reason)
{
	static const enum stat_number stats[] = {
		[CLOCK_UNKNOWN_SOURCE] = STAT_CLOCK_SYNC_FAILURE_UNKNOWN_SOURCE_CLOCK,
		[CLOCK_UNKNOWN_TARGET] = STAT_CLOCK_SYNC_FAILURE_UNKNOWN_TARGET_CLOCK,
		[CLOCK_NO_PATH] = STAT_CLOCK_SYNC_FAILURE_NO_PATH,
	};

	stats_add(c->store, stats[reason], STAT_NO_INDEX, 1);
}

bool clocks_to_trace_time(struct clocks *c, clock_key from, int64_t ts, int64_t *ret)
{
	enum clock_result r = clocks_convert(c, from, ts, ret);

	if (r != CLOCK_CONVERTED)
		clocks_count_failure(c, r);
	else
		*ret = clocks_to_service_time(c, *ret);
	return r == CLOCK_CONVERTED;
}

/* ---- other machines ---- */

/* Pairs of readings within this time are one round trip (Perfetto's relays begin one every 30
 * s). */
#define SYNC_ROUND_NS UINT64_C(30000000000)

/* Readings that both machines made of their clocks. The client is this machine, the host is the
 * service's machine. */
struct sync_pair {
	struct clock_reading client[SNAPSHOT_MAX], host[SNAPSHOT_MAX];
	size_t n_client, n_host;
};

static size_t read_sync_clocks(const struct pb_field *snapshot, struct clock_reading *ret)
{
	struct pb_field f;
	struct pb_dec d;
	size_t n = 0;

	pb_dec_init(&d, snapshot->data, snapshot->len);
	while (n < SNAPSHOT_MAX && pb_dec_next(&d, &f)) {
		if (f.id != PB_CLOCK_SNAPSHOT_CLOCKS || !f.data)
			continue;
		ret[n] = clock_reading_read(&f, 0);
		ret[n].unit = 1;
		ret[n++].incremental = false;
	}
	return n;
}

static void read_sync_pair(const struct pb_field *pair, struct sync_pair *ret)
{
	ret->n_client = ret->n_host = 0;
	pb_for_each (f, pair) {
		if (f.id == PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS_CLIENT_CLOCKS && f.data)
			ret->n_client = read_sync_clocks(&f, ret->client);
		else if (f.id == PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS_HOST_CLOCKS && f.data)
			ret->n_host = read_sync_clocks(&f, ret->host);
	}
}

/* Returns the last reading of a clock; 0: there is none. */
static uint64_t find_reading(const struct clock_reading *r, size_t n, clock_key clock)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		if (r[i].clock == clock)
			v = (uint64_t)r[i].value;
	return v;
}

/* Estimates of how far the client's clock is ahead of the host's, in ns: their sum and number. */
struct sync_estimate {
	uint64_t sum;
	int64_t n;
};

/* Adds two estimates from a and b, unless SYNC_ROUND_NS or more is between them, or one of them
 * lacks the clock. Two pairs are a round trip of readings: client, host, client, host. The middle
 * of two readings of one machine is about the moment of the other machine's reading between
 * them. */
static void add_round_trip_estimates(const struct sync_pair *a, const struct sync_pair *b,
				     clock_key clock, struct sync_estimate *e)
{
	uint64_t c1 = find_reading(a->client, a->n_client, clock);
	uint64_t h1 = find_reading(a->host, a->n_host, clock);
	uint64_t c2 = find_reading(b->client, b->n_client, clock);
	uint64_t h2 = find_reading(b->host, b->n_host, clock);

	if (find_reading(b->client, b->n_client, CLOCK_BOOTTIME_ID) -
		    find_reading(a->client, a->n_client, CLOCK_BOOTTIME_ID) >=
	    SYNC_ROUND_NS)
		return;
	if (!c1 || !h1 || !c2 || !h2)
		return;
	e->sum += (uint64_t)((int64_t)(c1 + c2) / 2) - h1;
	e->sum += c2 - (uint64_t)((int64_t)(h1 + h2) / 2);
	e->n += 2;
}

unsigned clocks_read_remote_sync(struct clocks *c, const struct pb_field *sync)
{
	struct sync_pair pairs[2] = {{.n_client = 0}};
	struct sync_estimate e = {0};
	unsigned invalid = 0;
	size_t n = 0;

	pb_for_each (f, sync) {
		struct sync_pair *pair = &pairs[n % 2];

		if (f.id != PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS || !f.data)
			continue;
		read_sync_pair(&f, pair);
		invalid += clocks_add_snapshot(c, pair->client, pair->n_client) < 0;
		if (n++)
			add_round_trip_estimates(&pairs[n % 2], pair, c->trace, &e);
	}
	if (e.n)
		c->ahead = (int64_t)e.sum / e.n;
	return invalid;
}
