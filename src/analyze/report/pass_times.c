/* SPDX-License-Identifier: Apache-2.0 */
/* used, spent, blocked: sums of runs and states. */
#include "analyze/report/pass.h"

#define KEY(utid, of) ((uint64_t)(utid) << 32 | (of))
#define HIGH_OF(key) ((uint32_t)((key) >> 32))
#define UTID_OF(key) ((int64_t)HIGH_OF(key))
#define LOW_OF(key) ((uint32_t)(key))

static bool add_span(struct groups *g, uint64_t key, const struct pass_span *s, bool flagged)
{
	return groups_add(
		g, &(struct group_sample){.key = key,
					  .ns = (int64_t)((uint64_t)s->end - (uint64_t)s->begin),
					  .ts = s->begin,
					  .flagged = flagged});
}

/* Returns true if a sum includes the span. Sums by thread include all threads: the statement
 * chooses among them. */
static bool span_is_counted(const struct pass_input *in, const struct pass_span *s)
{
	return !*in->by || in->chosen[s->utid];
}

static int64_t thread_of_group_key(const struct pass_who *who, uint64_t key)
{
	return who->kind == WHO_THREAD ? UTID_OF(key) : NULL_I64;
}

/* Adds an interval to the sums of the subjects that its thread belongs to during it. */
static void add_span_to_subjects(struct groups *g, const struct pass_who *who,
				 const struct pass_span *s, uint32_t of, bool flagged)
{
	struct pass_span rest = *s, part;
	uint32_t key;

	while (pass_who_cut_span(who, &rest, &part, &key)) {
		add_span(g, KEY(key, of), &part, flagged);
		flagged = false;
	}
}

void pass_fill_cpu_time(const struct pass_input *in, struct pass_rows *ret)
{
	struct pass_walk w = {.in = in, .table = TABLE_SCHED};
	const struct table *t = &in->s->tables[TABLE_SCHED];
	struct groups g = {.n = 0};
	struct pass_span span;

	struct pass_who who;

	ret->failed = !pass_who_init(&who, in);
	while (!ret->failed && pass_next_span(&w, &span))
		if (span.end > span.begin && span_is_counted(in, &span))
			add_span_to_subjects(&g, &who, &span, table_u32(t, SCHED_CPU, span.row),
					     false);
	for (size_t i = 0; i < g.n; i++)
		PASS_ROW(ret, thread_of_group_key(&who, g.list[i].key), LOW_OF(g.list[i].key),
			 (int64_t)g.list[i].total, (int64_t)g.list[i].n, g.list[i].longest,
			 pass_who_value(&who, HIGH_OF(g.list[i].key)));
	ret->failed |= g.failed;
	groups_deinit(&g);
	pass_who_deinit(&who);
}

/* Returns the row of TABLE_BLOCKED of a row of thread_state, or NULL_U32. */
static uint32_t pass_times_blocked_row(const struct store *s, uint32_t row)
{
	const struct table *t = &s->tables[TABLE_THREAD_STATE];
	uint16_t state = table_u16(t, STATE_STATE, row);

	return state == STORE_STATE_RUNNING || state == STORE_STATE_RUNNABLE
		       ? NULL_U32
		       : table_u32(t, STATE_MORE, row);
}

static bool waits_for_io(const struct store *s, uint32_t row)
{
	uint32_t reason = pass_times_blocked_row(s, row);

	return reason != NULL_U32 &&
	       table_u8(&s->tables[TABLE_BLOCKED], BLOCKED_IO_WAIT, reason) == 1;
}

#define IO_WAIT 0x10000u /* of a key, beside the state */

void pass_fill_state_times(const struct pass_input *in, struct pass_rows *ret)
{
	struct pass_walk w = {.in = in, .table = TABLE_THREAD_STATE};
	const struct table *t = &in->s->tables[TABLE_THREAD_STATE];
	struct groups g = {.n = 0}, empty = {.n = 0};
	struct pass_span span;
	struct pass_who who;

	ret->failed = !pass_who_init(&who, in);
	while (!ret->failed && pass_next_span(&w, &span)) {
		uint16_t state = table_u16(t, STATE_STATE, span.row);
		uint32_t low = state | (waits_for_io(in->s, span.row) ? IO_WAIT : 0);
		bool woken = state == STORE_STATE_RUNNABLE &&
			     table_u32(t, STATE_MORE, span.row) != NULL_U32;

		if (span.end > span.begin && span_is_counted(in, &span))
			add_span_to_subjects(&g, &who, &span, low, woken);
		else if (span_is_counted(in, &span))
			add_span(&empty, KEY(pass_find_who_at(&who, span.utid, span.begin), low),
				 &span, woken);
	}
	for (size_t i = 0; i < empty.n; i++) {
		const struct group *e = &empty.list[i];
		uint16_t state = (uint16_t)LOW_OF(e->key);

		PASS_ROW(ret, thread_of_group_key(&who, e->key),
			 state < in->s->n_states ? (int64_t)in->s->states[state] : NULL_I64,
			 !!(LOW_OF(e->key) & IO_WAIT), 0, 0, (int64_t)e->n, 0, 0,
			 pass_who_value(&who, HIGH_OF(e->key)));
	}
	for (size_t i = 0; i < g.n; i++) {
		const struct group *e = &g.list[i];
		uint16_t state = (uint16_t)LOW_OF(e->key);

		PASS_ROW(ret, thread_of_group_key(&who, e->key),
			 state < in->s->n_states ? (int64_t)in->s->states[state] : NULL_I64,
			 !!(LOW_OF(e->key) & IO_WAIT), (int64_t)e->total, (int64_t)e->n, 0,
			 e->longest, (int64_t)e->flagged, pass_who_value(&who, HIGH_OF(e->key)));
	}
	ret->failed |= g.failed || empty.failed;
	groups_deinit(&g);
	groups_deinit(&empty);
	pass_who_deinit(&who);
}

void pass_fill_blocked_times(const struct pass_input *in, struct pass_rows *ret)
{
	struct pass_walk w = {.in = in, .table = TABLE_THREAD_STATE};
	const struct table *t = &in->s->tables[TABLE_THREAD_STATE];
	const struct table *reasons = &in->s->tables[TABLE_BLOCKED];
	struct groups g = {.n = 0};
	struct pass_span span;

	while (pass_next_span(&w, &span)) {
		uint32_t reason = pass_times_blocked_row(in->s, span.row);

		if (!in->chosen[span.utid] ||
		    !pass_is_blocked(in->s, table_u16(t, STATE_STATE, span.row)))
			continue;
		add_span(&g,
			 KEY(span.utid, reason == NULL_U32
						? NULL_U32
						: table_u32(reasons, BLOCKED_FUNCTION, reason)),
			 &span, waits_for_io(in->s, span.row));
	}
	for (size_t i = 0; i < g.n; i++)
		PASS_ROW(ret, UTID_OF(g.list[i].key), pass_id_value(LOW_OF(g.list[i].key)),
			 (int64_t)g.list[i].total, (int64_t)g.list[i].n, g.list[i].longest,
			 g.list[i].flagged > 0);
	ret->failed |= g.failed;
	groups_deinit(&g);
}
