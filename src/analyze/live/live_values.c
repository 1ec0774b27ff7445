/* SPDX-License-Identifier: Apache-2.0 */
/* The growth of counters, and the rates that follow from it. */
#include "analyze/live/live_internal.h"

#include "base/core/mem.h"

/*
 * Every counter grows. A value adds its growth since the last value of its track to the total of
 * its owner. The screen divides what the total grew since the last screen by the time from base_at
 * to the newest value. Values are written only when they change, so base_at is the newest time of
 * the whole source at the last screen, even if this total did not grow then:
 *
 *	track     4711 ------> 4715 ------> 4730      last value of one track
 *	total       40 ------>   44 ------>   59      sum of growth, of all tracks of the process
 *	screen    base                        rate = (59 - 40) / (at - base_at)
 */

void live_set_poll_time(struct live *l, enum live_source source, uint64_t at)
{
	l->at[source] = MAX(l->at[source], at);
	if (!l->listed_since && (source == LIVE_ROWS_PROCESSES || source == LIVE_PROCESS_STATS))
		l->listed_since = at;
	if (!l->before[source])
		l->before[source] = at;
}

void live_add_growth(struct live_value *v, uint64_t more, uint64_t at, uint64_t since)
{
	v->total += more;
	v->has_total = true;
	v->at = MAX(v->at, at);
	if (!v->base_at)
		v->base_at = since;
	/* It is unknown when growth began that a screen missed, or that is from before the source's
	 * first poll. So no rate includes it. */
	if (at <= v->base_at)
		v->base += more;
}

void live_compute_rate(struct live_value *v, uint64_t before)
{
	/* Values are only written when they change: this one grew after the poll at `before`. */
	v->base_at = MAX(v->base_at, MIN(before, v->at));
	if (!v->has_total || v->at <= v->base_at)
		return;
	v->rate = (double)(v->total - v->base) * 1e9 / (double)(v->at - v->base_at);
	v->has_rate = true;
	v->base = v->total;
	v->base_at = v->at;
}

/* Returns when a value that was read at `at` began to grow: at the source's last poll before the
 * screen. A poll reads one process after the other, and a screen may fall between two of them: then
 * that poll has not read this value, and it grew since the poll before. */
uint64_t live_growth_began(const struct live *l, enum live_source source, uint64_t at)
{
	uint64_t before = l->before[source];
	bool is_same_poll = at > before && at - before < l->setup.period_ns / 2;

	return is_same_poll ? before - MIN(before, l->setup.period_ns) : before;
}

/* The rate is 0 for a counter that its source does not write any more. */
void live_compute_rates(const struct live *l, struct live_value values[static LIVE_METRICS],
			const enum live_source source[static LIVE_METRICS])
{
	for (size_t i = 0; i < LIVE_METRICS; i++) {
		struct live_value *v = &values[i];

		/* A poll has rows of all processes that did something. */
		if (v->has_total && source[i] >= LIVE_ROWS_CPU_TIME)
			v->at = MAX(v->at, l->at[source[i]]);
		else if (v->has_rate && v->at <= v->base_at &&
			 v->at + l->setup.period_ns / LIVE_STALE_DIVISOR < l->at[source[i]])
			v->rate = 0;
		live_compute_rate(v, live_growth_began(l, source[i], v->at));
	}
}
