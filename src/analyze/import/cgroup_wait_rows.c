/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/cgroup_rows.h"
#include "analyze/import/import_steps.h"
#include "analyze/store/table_defs.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

/* Returns a number of a packet, which may be anything, as at most INT64_MAX. */
static int64_t clamp_ns(uint64_t v)
{
	return (int64_t)MIN(v, (uint64_t)INT64_MAX);
}

static void add_length(struct import *im, uint32_t wait, uint64_t bucket, uint64_t n)
{
	struct table *t = import_table(im, TABLE_CGROUP_WAIT_LENGTH);
	uint32_t row = table_append(t);

	table_set_u32(t, CGROUP_WAIT_LENGTH_WAIT, row, wait);
	table_set_u8(t, CGROUP_WAIT_LENGTH_BUCKET, row, (uint8_t)bucket);
	table_set_i64(t, CGROUP_WAIT_LENGTH_N, row, (int64_t)n);
}

/* The columns of a row before its pairs. */
struct wait_row {
	uint64_t group, cause, total, longest, pairs;
};

static bool read_wait_row(struct pb_packed *p, struct wait_row *ret)
{
	return pb_packed_next(p, &ret->group) && pb_packed_next(p, &ret->cause) &&
	       pb_packed_next(p, &ret->total) && pb_packed_next(p, &ret->longest) &&
	       pb_packed_next(p, &ret->pairs);
}

static void add_wait_row(struct import *im, uint32_t cgroup, int64_t ts, int64_t dur,
			 const struct wait_row *r, struct pb_packed *p)
{
	struct table *t = import_table(im, TABLE_CGROUP_WAIT);
	uint32_t row = table_append(t);
	uint64_t bucket, n;
	int64_t all = 0;

	import_extend_bounds_to_span(im, ts, dur);
	table_set_ts(t, CGROUP_WAIT_TS, row, ts);
	table_set_dur(t, CGROUP_WAIT_DUR, row, dur);
	table_set_u32(t, CGROUP_WAIT_CGROUP, row, cgroup);
	table_set_u8(t, CGROUP_WAIT_CAUSE, row, (uint8_t)r->cause);
	table_set_i64(t, CGROUP_WAIT_TOTAL, row, clamp_ns(r->total));
	table_set_i64(t, CGROUP_WAIT_LONGEST, row, r->longest ? clamp_ns(r->longest) : NULL_I64);
	for (uint64_t i = 0; i < r->pairs; i++) {
		if (!pb_packed_next(p, &bucket) || !pb_packed_next(p, &n))
			break;
		n = MIN(n, (uint64_t)UINT32_MAX);
		if (bucket >= CGROUP_WAIT_BUCKETS || !n || im->store->budget.error)
			continue;
		add_length(im, row, bucket, n);
		all += (int64_t)n;
	}
	table_set_i64(t, CGROUP_WAIT_N, row, all);
}

static void skip_pairs(struct pb_packed *p, uint64_t n)
{
	uint64_t v;

	for (uint64_t i = 0; i < n; i++)
		for (int part = 0; part < 2; part++)
			if (!pb_packed_next(p, &v))
				return;
}

void import_cgroup_waits(struct import *im, struct machine *m, int64_t ts,
			 const struct pb_field *waits)
{
	uint64_t dur = 0, lost = 0;
	struct pb_field rows = {0};
	struct wait_row r;
	struct pb_packed p;

	pb_read(waits, PB_TO(PB_CGROUP_WAITS_DURATION_NS, &dur), PB_TO(PB_CGROUP_WAITS_ROWS, &rows),
		PB_TO(PB_CGROUP_WAITS_LOST, &lost));
	if (lost > (uint64_t)stats_get(im->store, STAT_SONDA_CGROUP_WAITS_LOST, STAT_NO_INDEX))
		stats_set(im->store, STAT_SONDA_CGROUP_WAITS_LOST, STAT_NO_INDEX, clamp_ns(lost));
	dur = MIN(dur, (uint64_t)MAX(ts, (int64_t)0));
	if (!rows.data)
		return;
	p = pb_packed_of(&rows);
	while (read_wait_row(&p, &r) && !im->store->budget.error) {
		uint32_t cgroup = r.group ? rows_cgroup_get(im, m, r.group) : NULL_U32;

		if (r.cause < CGROUP_WAIT_CAUSES && cgroup != NULL_U32)
			add_wait_row(im, cgroup, ts - (int64_t)dur, (int64_t)dur, &r, &p);
		else
			skip_pairs(&p, r.pairs);
	}
}
