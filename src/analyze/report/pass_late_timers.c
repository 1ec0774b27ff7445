/* SPDX-License-Identifier: Apache-2.0 */
/* late_by, late_timers: threads that slept beyond the expiry of their timer. */
#include "analyze/report/pass.h"
#include "analyze/report/report.h"

struct late {
	uint32_t row, utid;
	int64_t ts, ns; /* ts: of the wakeup */
};

/* Finds the next late wakeup of a chosen thread in the window. */
static bool find_next_late_wakeup(const struct pass_input *in, uint32_t *next, struct late *ret)
{
	const struct table *t = &in->s->tables[TABLE_LATE_TIMER];
	const struct table *states = &in->s->tables[TABLE_THREAD_STATE];

	while (*next < t->rows) {
		uint32_t at = (*next)++, row = table_u32(t, LATE_TIMER_STATE, at);
		int64_t ts = table_ts(states, STATE_TS, row);

		*ret = (struct late){.row = row,
				     .utid = table_u32(states, STATE_UTID, row),
				     .ts = ts,
				     .ns = table_i64(t, LATE_TIMER_NS, at)};
		if (in->chosen[ret->utid] && ts >= in->from && ts < in->to)
			return true;
	}
	return false;
}

static void add_late_wakeups(const struct pass_input *in, const struct pass_who *who,
			     struct groups *g)
{
	uint32_t next = 0;
	struct late l;

	while (find_next_late_wakeup(in, &next, &l))
		groups_add(g, &(struct group_sample){
				      .key = who->of[l.utid], .ns = l.ns, .ts = l.ts - l.ns});
}

void pass_fill_timer_lateness(const struct pass_input *in, struct pass_rows *ret)
{
	struct groups g = {.n = 0};
	struct pass_who who;

	ret->failed = !pass_who_init(&who, in);
	ret->texts = who.kind == WHO_PROGRAM ? 1 : 0;
	if (!ret->failed)
		add_late_wakeups(in, &who, &g);
	if (!ret->failed && groups_begin_fill(&g))
		add_late_wakeups(in, &who, &g);
	for (size_t i = 0; i < g.n && !g.failed; i++) {
		const struct group *e = &g.list[i];

		PASS_ROW(ret, pass_who_value(&who, (uint32_t)e->key), (int64_t)e->n,
			 (int64_t)e->total, groups_p50(&g, e), groups_p99(&g, e), e->longest,
			 e->longest_ts);
	}
	ret->failed |= g.failed;
	groups_deinit(&g);
	pass_who_deinit(&who);
}

void pass_fill_late_timers(const struct pass_input *in, struct pass_rows *ret)
{
	uint32_t next = 0;
	struct late l;

	while (find_next_late_wakeup(in, &next, &l))
		PASS_ROW(ret, l.row, l.ns);
}

const char *report_lacks_timers(const struct store *s)
{
	/* A trace without starts of timers, or without the names of their functions, has no late
	 * timers. */
	return s->has_sleep_timers ? NULL : "not known (sonda record sched timer)";
}
