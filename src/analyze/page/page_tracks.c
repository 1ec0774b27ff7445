/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks, and the slices and samples of counters on them. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/page/page_rows.h"

/* Whole numbers up to this size are exact as doubles. */
#define EXACT ((double)(INT64_C(1) << 53))

static void put_track(struct page *p, uint32_t row)
{
	const struct table *t = &p->store->tables[TABLE_TRACK];
	struct page_columns *c = &p->columns;

	page_put(c, PAGE_COLUMN_TRACK_ID, row);
	page_put_string(p, PAGE_COLUMN_TRACK_NAME, table_u32(t, TRACK_NAME, row));
	page_put_string(p, PAGE_COLUMN_TRACK_TYPE, table_u32(t, TRACK_TYPE, row));
	page_put_string(p, PAGE_COLUMN_TRACK_UNIT, table_u32(t, TRACK_UNIT, row));
	page_put(c, PAGE_COLUMN_TRACK_THREAD, page_plus_1(table_u32(t, TRACK_UTID, row)));
	page_put(c, PAGE_COLUMN_TRACK_PROCESS, page_plus_1(table_u32(t, TRACK_UPID, row)));
	page_put(c, PAGE_COLUMN_TRACK_CPU, page_plus_1(table_u32(t, TRACK_CPU, row)));
	page_put(c, PAGE_COLUMN_TRACK_PARENT, page_plus_1(table_u32(t, TRACK_PARENT, row)));
	page_put(c, PAGE_COLUMN_TRACK_MACHINE, table_u32(t, TRACK_MACHINE, row));
}

/* ---- slices ---- */

static void put_slices(struct page *p, const struct row_list *l)
{
	const struct table *t = &p->store->tables[TABLE_SLICE];
	struct page_columns *c = &p->columns;
	int64_t before = p->start;

	page_put(c, PAGE_COLUMN_TRACK_SLICES, l->n);
	p->slices += l->n;
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t row = l->rows[i];
		int64_t ts = table_ts(t, SLICE_TS, row), dur = table_dur(t, SLICE_DUR, row);

		page_put_signed(c, PAGE_COLUMN_SLICE_TIME, page_subtract_times(ts, before));
		page_put(c, PAGE_COLUMN_SLICE_DUR, dur < 0 ? 0 : (uint64_t)dur + 1);
		page_put_string(p, PAGE_COLUMN_SLICE_NAME, table_u32(t, SLICE_NAME, row));
		page_put_string(p, PAGE_COLUMN_SLICE_CATEGORY, table_u32(t, SLICE_CATEGORY, row));
		page_put(c, PAGE_COLUMN_SLICE_DEPTH, table_u16(t, SLICE_DEPTH, row));
		before = ts;
	}
}

/* ---- counters ---- */

static double counter_value(const struct page *p, uint32_t row)
{
	return table_f64(&p->store->tables[TABLE_COUNTER], COUNTER_VALUE, row);
}

static bool all_values_are_whole(const struct page *p, const struct row_list *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		double v = counter_value(p, l->rows[i]);

		/* NaN fails both comparisons. An integer cannot represent -0. */
		if (!(v > -EXACT && v < EXACT) || v != floor(v) || (v == 0 && signbit(v)))
			return false;
	}
	return true;
}

static void put_real_value(struct page *p, double v)
{
	uint8_t bytes[sizeof(v)];
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(bits >> 8 * i);
	page_put_bytes(&p->columns, PAGE_COLUMN_COUNTER_REAL, bytes, sizeof(bytes));
}

static void put_samples(struct page *p, const struct row_list *l)
{
	const struct table *t = &p->store->tables[TABLE_COUNTER];
	bool whole = all_values_are_whole(p, l);
	int64_t before = p->start, last = 0;

	page_put(&p->columns, PAGE_COLUMN_TRACK_SAMPLES, l->n);
	page_put(&p->columns, PAGE_COLUMN_TRACK_REAL, !whole);
	p->samples += l->n;
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t row = l->rows[i];
		int64_t ts = table_ts(t, COUNTER_TS, row);

		page_put_signed(&p->columns, PAGE_COLUMN_COUNTER_TIME,
				page_subtract_times(ts, before));
		before = ts;
		if (!whole) {
			put_real_value(p, counter_value(p, row));
			continue;
		}
		page_put_signed(&p->columns, PAGE_COLUMN_COUNTER_VALUE,
				(int64_t)counter_value(p, row) - last);
		last = (int64_t)counter_value(p, row);
	}
}

/* Writes a track with its slices and samples. Leaves out a track that has none in the window,
 * unless it is a parent. Returns 0 or -ENOMEM. */
static int put_track_and_rows(struct page *p, uint32_t row, bool is_parent)
{
	struct row_list slices, samples;
	int r = page_list_rows(p, TABLE_SLICE, SLICE_TRACK, row, SLICE_DUR, &slices);

	if (r == 0)
		r = page_list_rows(p, TABLE_COUNTER, COUNTER_TRACK, row, 0, &samples);
	if (r == 0 && (slices.n || samples.n || is_parent)) {
		put_track(p, row);
		put_slices(p, &slices);
		put_samples(p, &samples);
	}
	row_list_deinit(&slices);
	if (r == 0)
		row_list_deinit(&samples);
	return r;
}

int page_put_tracks(struct page *p)
{
	struct table *t = &p->store->tables[TABLE_TRACK];
	const struct row_index *parents = table_index(t, TRACK_PARENT);
	int r = parents ? 0 : -ENOMEM;

	for (uint32_t row = 0; r == 0 && row < t->rows; row++)
		r = put_track_and_rows(p, row,
				       row < parents->n_values &&
					       parents->starts[row + 1] > parents->starts[row]);
	return r;
}
