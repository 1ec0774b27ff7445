/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits_by, wakes_by, longest_sleeps: what rows of thread_state say about waits and wakeups. Waits
 * for a CPU began in the window and ended in the trace.
 */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

struct wait {
	uint32_t row, last, utid; /* its first and last row */
	int64_t ts, dur;
	uint32_t waker; /* a row of TABLE_WAKER, or NULL_U32 */
};

/*
 * A walk over the waits for a CPU. A preempted thread that was about to sleep may be woken before
 * it runs again. This is one wait with two rows:
 *
 *	Running | R+ preempted | R woken | Running
 */
struct wait_walk {
	const struct pass_input *in;
	uint32_t next; /* row */
	uint32_t *preempted; /* owned; by utid: a row R+ whose next row was not seen, or NULL_U32 */
};

/* Begins a walk over all waits. Returns false if out of memory. The caller frees w->preempted in
 * either case. */
static bool begin_walk_of_waits(struct wait_walk *w, const struct pass_input *in)
{
	size_t threads = in->s->tables[TABLE_THREAD].rows;

	*w = (struct wait_walk){.in = in,
				.preempted = malloc((threads + 1) * sizeof(*w->preempted))};
	if (w->preempted)
		memset(w->preempted, 0xff, (threads + 1) * sizeof(*w->preempted));
	return w->preempted;
}

/* Sets a wait from its rows. Returns false if it began outside of the window or did not end. */
static bool set_wait_from_row(const struct pass_input *in, uint32_t first, uint32_t last,
			      struct wait *ret)
{
	const struct table *t = &in->s->tables[TABLE_THREAD_STATE];
	int64_t ts = table_ts(t, STATE_TS, first), dur = table_dur(t, STATE_DUR, last);

	if (dur < 0 || ts < in->from || ts >= in->to)
		return false;
	if (last != first)
		dur += table_dur(t, STATE_DUR, first);
	*ret = (struct wait){.row = first,
			     .last = last,
			     .utid = table_u32(t, STATE_UTID, first),
			     .ts = ts,
			     .dur = dur,
			     .waker = pass_waker_row(in->s, first)};
	return true;
}

static bool next_wait_of_cpu(struct wait_walk *w, struct wait *ret)
{
	const struct table *t = &w->in->s->tables[TABLE_THREAD_STATE];

	while (w->next < t->rows) {
		uint32_t row = w->next++, utid = table_u32(t, STATE_UTID, row);
		uint16_t state = table_u16(t, STATE_STATE, row);
		bool runnable = state != STORE_STATE_RUNNING && pass_is_runnable(w->in->s, state);
		uint32_t first = w->preempted[utid];

		if (first == NULL_U32 && !runnable)
			continue;
		w->preempted[utid] = NULL_U32;
		if (first == NULL_U32 && state != STORE_STATE_RUNNABLE &&
		    table_dur(t, STATE_DUR, row) >= 0)
			w->preempted[utid] = row;
		else if (set_wait_from_row(w->in, first == NULL_U32 ? row : first,
					   runnable ? row : first, ret))
			return true;
	}
	return false;
}

static void add_waits_to_groups(const struct pass_input *in, const struct pass_who *who,
				bool by_length, struct groups *g)
{
	struct wait_walk walk;
	struct wait w;

	g->failed |= !begin_walk_of_waits(&walk, in);
	while (!g->failed && next_wait_of_cpu(&walk, &w)) {
		if (!in->chosen[w.utid])
			continue;
		groups_add(g, &(struct group_sample){
				      .key = by_length ? pass_length(w.dur)
						       : pass_find_who_at(who, w.utid, w.ts),
				      .ns = w.dur,
				      .ts = w.ts,
				      .flagged = w.waker != NULL_U32});
	}
	free(walk.preempted);
}

void pass_fill_waits(const struct pass_input *in, struct pass_rows *ret)
{
	bool by_length = !strcmp(in->by, "length");
	struct groups g = {.n = 0};
	struct pass_who who;

	ret->failed = !pass_who_init(&who, in);
	ret->texts = who.kind == WHO_PROGRAM ? 1 : 0;
	if (!ret->failed)
		add_waits_to_groups(in, &who, by_length, &g);
	if (!ret->failed && !by_length && groups_begin_fill(&g))
		add_waits_to_groups(in, &who, by_length, &g);
	for (size_t i = 0; i < g.n && !g.failed; i++) {
		const struct group *e = &g.list[i];

		PASS_ROW(ret, by_length ? (int64_t)e->key : pass_who_value(&who, (uint32_t)e->key),
			 (int64_t)e->n, (int64_t)e->flagged, (int64_t)e->total, groups_p50(&g, e),
			 groups_p99(&g, e), e->longest, MAX(e->longest_ts, (int64_t)0));
	}
	ret->failed |= g.failed;
	groups_deinit(&g);
	pass_who_deinit(&who);
}

static void add_wakes_to_groups(const struct pass_input *in, const struct pass_who *who,
				struct groups *g)
{
	const struct table *wakers = &in->s->tables[TABLE_WAKER];
	const struct table *threads = &in->s->tables[TABLE_THREAD];
	struct wait_walk walk;
	struct wait w;

	g->failed |= !begin_walk_of_waits(&walk, in);
	while (!g->failed && next_wait_of_cpu(&walk, &w)) {
		uint32_t waker, by = NULL_U32;

		if (w.waker == NULL_U32)
			continue;
		waker = table_u32(wakers, WAKER_UTID, w.waker);
		if (!in->chosen[w.utid] && !in->chosen[waker])
			continue;
		if (table_u8(wakers, WAKER_IRQ_CONTEXT, w.waker) != 1 &&
		    table_u8(threads, THREAD_IS_IDLE, waker) != 1)
			by = who->of[waker];
		groups_add(g, &(struct group_sample){.key = (uint64_t)by << 32 | who->of[w.utid],
						     .ns = w.dur,
						     .ts = w.ts});
	}
	free(walk.preempted);
}

void pass_fill_wakes(const struct pass_input *in, struct pass_rows *ret)
{
	struct groups g = {.n = 0};
	struct pass_who who;

	ret->failed = !pass_who_init(&who, in);
	ret->texts = who.kind == WHO_PROGRAM ? 3 : 0;
	if (!ret->failed)
		add_wakes_to_groups(in, &who, &g);
	if (!ret->failed && groups_begin_fill(&g))
		add_wakes_to_groups(in, &who, &g);
	for (size_t i = 0; i < g.n && !g.failed; i++) {
		const struct group *e = &g.list[i];

		PASS_ROW(ret, pass_who_value(&who, (uint32_t)(e->key >> 32)),
			 pass_who_value(&who, (uint32_t)e->key), (int64_t)e->n, (int64_t)e->total,
			 groups_p50(&g, e), groups_p99(&g, e), e->longest);
	}
	ret->failed |= g.failed;
	groups_deinit(&g);
	pass_who_deinit(&who);
}

void pass_find_longest_waits(const struct pass_input *in, struct largest *ret)
{
	struct wait_walk walk;
	struct wait w;

	ret->failed |= !begin_walk_of_waits(&walk, in);
	while (!ret->failed && next_wait_of_cpu(&walk, &w))
		if (in->chosen[w.utid])
			largest_add(ret, w.dur, w.row, w.last);
	free(walk.preempted);
}

/* The last row of a thread so far, and its last row with an earlier time. */
struct before {
	uint32_t last, before;
};

void pass_fill_longest_sleeps(const struct pass_input *in, struct pass_rows *ret)
{
	const struct table *t = &in->s->tables[TABLE_THREAD_STATE];
	size_t threads = in->s->tables[TABLE_THREAD].rows;
	struct before *rows = malloc((threads + 1) * sizeof(*rows));
	struct largest l = {.most = (size_t)in->top};

	if (rows)
		memset(rows, 0xff, (threads + 1) * sizeof(*rows));
	for (uint32_t row = 0; rows && row < t->rows; row++) {
		uint32_t utid = table_u32(t, STATE_UTID, row), off;
		int64_t ts = table_ts(t, STATE_TS, row);
		uint16_t state;

		if (!in->chosen[utid] || ts >= in->to)
			continue;
		if (rows[utid].last != NULL_U32 && table_ts(t, STATE_TS, rows[utid].last) < ts)
			rows[utid].before = rows[utid].last;
		rows[utid].last = row;
		off = rows[utid].before;
		if (off == NULL_U32 || ts < in->from || pass_waker_row(in->s, row) == NULL_U32)
			continue;
		state = table_u16(t, STATE_STATE, off);
		if (state < in->s->n_states && state != STORE_STATE_RUNNING &&
		    !pass_is_runnable(in->s, state) && table_dur(t, STATE_DUR, off) >= 0)
			largest_add(&l, table_dur(t, STATE_DUR, off), off, row);
	}
	for (size_t i = 0; i < l.n; i++)
		PASS_ROW(ret, l.items[i].row, l.items[i].other);
	ret->failed |= !rows || l.failed;
	free(l.items);
	free(rows);
}
