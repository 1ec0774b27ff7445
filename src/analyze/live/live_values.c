/* SPDX-License-Identifier: Apache-2.0 */
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
#include "analyze/live/live_internal.h"

#include "base/core/mem.h"

void live_note_poll(struct live *l, enum live_source source, uint64_t at)
{
	l->at[source] = MAX(l->at[source], at);
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
	/* Growth that a screen missed, or before the first poll of the source: when it began to
	 * count is unknown. */
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
