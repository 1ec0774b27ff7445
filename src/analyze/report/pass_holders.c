/* SPDX-License-Identifier: Apache-2.0 */
/* holders: which threads had the CPU during the longest waits for it. */
#include "analyze/report/pass.h"

#include <stdlib.h>

/* A wait, and the CPU on which it ended. */
struct cpu_wait {
	uint32_t row, utid;
	uint32_t cpu; /* NULL_U32: not known */
	int64_t begin, end;
};

/* Rows of a table that begin between two times; all rows of a table that is not sorted. */
struct row_range {
	uint32_t first, end;
};

static struct row_range rows_between(const struct table *t, int64_t from, int64_t to)
{
	return t->unsorted
		       ? (struct row_range){0, t->rows}
		       : (struct row_range){table_lower_bound(t, from), table_lower_bound(t, to)};
}

/* Finds the run that ended a wait, which has a first and a last row. Returns false if there is
 * none. */
static bool find_run(const struct store *s, uint32_t row, uint32_t last, struct cpu_wait *ret)
{
	const struct table *t = &s->tables[TABLE_THREAD_STATE];
	struct row_range range;
	int64_t end;

	if (__builtin_add_overflow(table_ts(t, STATE_TS, last), table_dur(t, STATE_DUR, last),
				   &end) ||
	    end == INT64_MAX)
		return false;
	range = rows_between(t, end, end + 1);
	for (uint32_t i = range.first; i < range.end; i++)
		if (table_u32(t, STATE_UTID, i) == table_u32(t, STATE_UTID, row) &&
		    table_u16(t, STATE_STATE, i) == STORE_STATE_RUNNING &&
		    table_ts(t, STATE_TS, i) == end) {
			*ret = (struct cpu_wait){.row = row,
						 .utid = table_u32(t, STATE_UTID, row),
						 .cpu = table_u32(t, STATE_MORE, i),
						 .begin = table_ts(t, STATE_TS, row),
						 .end = end};
			return true;
		}
	return false;
}

/* Returns when the last run on the CPU that began before the wait or with it began; without such a
 * run, when the wait began. */
static int64_t begin_of_holder(const struct table *t, const struct cpu_wait *w)
{
	uint32_t end = t->unsorted ? t->rows : table_lower_bound(t, w->begin + 1);
	int64_t last = INT64_MIN;

	for (uint32_t row = end; row-- && (t->unsorted || last == INT64_MIN);)
		if (table_u32(t, SCHED_CPU, row) == w->cpu) {
			int64_t ts = table_ts(t, SCHED_TS, row);

			last = ts <= w->begin ? MAX(last, ts) : last;
		}
	return last == INT64_MIN ? w->begin : last;
}

/* Adds how long each other thread had the CPU during the wait. other: since when. */
static void add_holders(const struct pass_input *in, const struct cpu_wait *w, uint64_t number,
			struct groups *g)
{
	const struct table *t = &in->s->tables[TABLE_SCHED];
	int64_t since = begin_of_holder(t, w);
	struct row_range range = rows_between(t, since, w->end);

	for (uint32_t row = range.first; row < range.end; row++) {
		uint32_t utid = table_u32(t, SCHED_UTID, row);
		int64_t ts, dur, end;
		struct group *group;

		if (table_u32(t, SCHED_CPU, row) != w->cpu || utid == w->utid || utid == NULL_U32)
			continue;
		ts = table_ts(t, SCHED_TS, row);
		dur = table_dur(t, SCHED_DUR, row);
		if (ts < since || ts >= w->end || (dur < 0 && in->last_of_cpu[w->cpu] != row))
			continue;
		if (dur < 0 || __builtin_add_overflow(ts, dur, &end))
			end = w->end;
		if (end <= w->begin)
			continue;
		ts = MAX(ts, w->begin);
		group = groups_add(g, &(struct group_sample){.key = number << 32 | utid,
							     .ns = MIN(end, w->end) - ts});
		if (group && (group->n == 1 || ts < (int64_t)group->other))
			group->other = (uint64_t)ts;
	}
}

static int by_key(const void *a, const void *b)
{
	uint64_t x = ((const struct group *)a)->key, y = ((const struct group *)b)->key;

	return x < y ? -1 : x > y;
}

void pass_holders(const struct pass_input *in, struct pass_rows *ret)
{
	int64_t first_cpu = in->machine == MACHINES_ALL ? 0 : in->machine * PASS_CPUS_OF_A_MACHINE;
	struct largest longest = {.most = (size_t)in->top};
	struct groups g = {.n = 0};
	struct cpu_wait w;

	pass_longest_waits(in, &longest);
	for (size_t i = 0; i < longest.n && !longest.failed && !g.failed; i++) {
		int64_t cpu;

		if (!find_run(in->s, longest.items[i].row, longest.items[i].other, &w))
			continue;
		cpu = w.cpu == NULL_U32 ? NULL_I64 : w.cpu - first_cpu;
		PASS_ROW(ret, w.row, cpu, NULL_I64, w.end - w.begin, NULL_I64, w.begin);
		if (w.cpu == NULL_U32)
			continue;
		add_holders(in, &w, w.row, &g);
	}
	if (g.n)
		qsort(g.list, g.n, sizeof(*g.list), by_key);
	for (size_t i = 0; i < g.n; i++)
		PASS_ROW(ret, (int64_t)(g.list[i].key >> 32), NULL_I64,
			 (int64_t)(uint32_t)g.list[i].key, (int64_t)g.list[i].total,
			 (int64_t)g.list[i].n, (int64_t)g.list[i].other);
	ret->failed |= longest.failed || g.failed;
	groups_deinit(&g);
	free(longest.items);
}
