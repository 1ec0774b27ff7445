/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/import_steps.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

/* A packet may have anything. Further histograms are left out. */
#define HISTOGRAMS_MAX 4096u
#define HISTOGRAM_BUCKETS 256u

/* The buckets of a histogram. steps 0: powers of two. */
struct bucket_form {
	int64_t min;
	uint64_t step;
	uint32_t steps;
};

/* Returns where bucket i begins; NULL_I64: at the smallest number. */
static int64_t bucket_begin(const struct bucket_form *f, uint64_t i)
{
	uint64_t offset;
	int64_t at;

	if (i == 0)
		return NULL_I64;
	if (!f->steps)
		return i == 1 ? 0 : i - 2 < 63 ? (int64_t)1 << (i - 2) : INT64_MAX;
	if (__builtin_mul_overflow(f->step, i - 1, &offset) ||
	    __builtin_add_overflow(f->min, offset, &at))
		return INT64_MAX;
	return at;
}

static uint64_t bucket_count(const struct bucket_form *f)
{
	return f->steps ? MIN((uint64_t)f->steps + 2, (uint64_t)HISTOGRAM_BUCKETS) : 66;
}

static void histogram_add_bucket(struct import *im, const struct bucket_form *f, uint32_t row,
				 uint64_t i, int64_t n)
{
	struct table *t = import_table(im, TABLE_EVENT_HISTOGRAM_BUCKET);
	uint32_t at = table_append(t);
	int64_t end = i + 1 < bucket_count(f) ? bucket_begin(f, i + 1) : INT64_MAX;

	table_set_u32(t, EVENT_HISTOGRAM_BUCKET_ROW, at, row);
	table_set_i64(t, EVENT_HISTOGRAM_BUCKET_FROM, at, bucket_begin(f, i));
	table_set_i64(t, EVENT_HISTOGRAM_BUCKET_TO, at, end == INT64_MAX ? NULL_I64 : end);
	table_set_i64(t, EVENT_HISTOGRAM_BUCKET_N, at, n);
}

static void histogram_add_row(struct import *im, uint32_t histogram, const struct bucket_form *f,
			      int64_t ts, int64_t dur, const struct pb_field *message)
{
	struct table *t = import_table(im, TABLE_EVENT_HISTOGRAM_ROW);
	struct pb_field text = {0}, buckets = {0}, number_field = {0};
	uint64_t total = 0, i, n;
	uint32_t row = table_append(t);
	struct pb_packed p;
	int64_t all = 0;

	pb_read(message, PB_TO(PB_EVENT_HISTOGRAM_ROW_TEXT, &text),
		PB_TO_ANY(PB_EVENT_HISTOGRAM_ROW_NUMBER, &number_field),
		PB_TO(PB_EVENT_HISTOGRAM_ROW_TOTAL, &total),
		PB_TO(PB_EVENT_HISTOGRAM_ROW_BUCKETS, &buckets));
	import_extend_bounds_to_span(im, ts, dur);
	table_set_ts(t, EVENT_HISTOGRAM_ROW_TS, row, ts);
	table_set_dur(t, EVENT_HISTOGRAM_ROW_DUR, row, dur);
	table_set_u32(t, EVENT_HISTOGRAM_ROW_HISTOGRAM, row, histogram);
	table_set_u32(t, EVENT_HISTOGRAM_ROW_KEY, row, import_intern_text(im, &text));
	table_set_i64(t, EVENT_HISTOGRAM_ROW_NUMBER, row,
		      number_field.id && !number_field.data ? pb_unzigzag(number_field.u64)
							    : NULL_I64);
	table_set_i64(t, EVENT_HISTOGRAM_ROW_TOTAL, row, pb_unzigzag(total));
	p = pb_packed_of(&buckets);
	while (pb_packed_next(&p, &i) && pb_packed_next(&p, &n) && !im->store->budget.error) {
		if (i >= bucket_count(f) || !n)
			continue;
		n = MIN(n, (uint64_t)INT64_MAX);
		histogram_add_bucket(im, f, row, i, (int64_t)n);
		if (__builtin_add_overflow(all, (int64_t)n, &all))
			all = INT64_MAX;
	}
	table_set_i64(t, EVENT_HISTOGRAM_ROW_N, row, all);
}

/* Returns the row of the histogram, added if needed; NULL_U32 if there are too many. */
static uint32_t event_histogram_get(struct import *im, uint32_t machine,
				    const struct pb_field *message)
{
	struct table *t = import_table(im, TABLE_EVENT_HISTOGRAM);
	struct pb_field name = {0}, event = {0}, field = {0}, end = {0}, key = {0};
	uint32_t row, name_id;

	pb_read(message, PB_TO(PB_EVENT_HISTOGRAM_NAME, &name),
		PB_TO(PB_EVENT_HISTOGRAM_EVENT, &event), PB_TO(PB_EVENT_HISTOGRAM_FIELD, &field),
		PB_TO(PB_EVENT_HISTOGRAM_END_EVENT, &end), PB_TO(PB_EVENT_HISTOGRAM_KEY, &key));
	name_id = import_intern_text(im, &name);
	for (row = 0; row < t->rows; row++)
		if (table_u32(t, EVENT_HISTOGRAM_NAME, row) == name_id &&
		    table_u32(t, EVENT_HISTOGRAM_MACHINE, row) == machine)
			return row;
	if (row == HISTOGRAMS_MAX)
		return NULL_U32;
	row = table_append(t);
	table_set_u32(t, EVENT_HISTOGRAM_NAME, row, name_id);
	table_set_u32(t, EVENT_HISTOGRAM_EVENT, row, import_intern_text(im, &event));
	table_set_u32(t, EVENT_HISTOGRAM_FIELD, row, import_intern_text(im, &field));
	table_set_u32(t, EVENT_HISTOGRAM_END_EVENT, row, import_intern_text(im, &end));
	table_set_u32(t, EVENT_HISTOGRAM_KEY, row, import_intern_text(im, &key));
	table_set_u32(t, EVENT_HISTOGRAM_MACHINE, row, machine);
	return row;
}

static void count_lost_rows(struct import *im, enum stat_number stat, uint32_t histogram,
			    uint64_t n)
{
	int64_t lost = (int64_t)MIN(n, (uint64_t)INT64_MAX);

	if (lost > stats_get(im->store, stat, histogram))
		stats_set(im->store, stat, histogram, lost);
}

void import_event_histogram(struct import *im, struct machine *m, int64_t ts,
			    const struct pb_field *histogram)
{
	uint64_t dur = 0, no_key = 0, no_begin = 0, min = 0;
	uint32_t row = event_histogram_get(im, m->row, histogram);
	struct bucket_form form = {.steps = 0};
	struct pb_field linear = {0};

	if (row == NULL_U32)
		return;
	pb_read(histogram, PB_TO(PB_EVENT_HISTOGRAM_DURATION_NS, &dur),
		PB_TO(PB_EVENT_HISTOGRAM_LINEAR, &linear),
		PB_TO(PB_EVENT_HISTOGRAM_NO_KEY, &no_key),
		PB_TO(PB_EVENT_HISTOGRAM_NO_BEGIN, &no_begin));
	if (linear.data)
		pb_read(&linear, PB_TO(PB_EVENT_HISTOGRAM_LINEAR_MIN, &min),
			PB_TO(PB_EVENT_HISTOGRAM_LINEAR_STEP, &form.step),
			PB_TO(PB_EVENT_HISTOGRAM_LINEAR_STEPS, &form.steps));
	form.min = pb_unzigzag(min);
	count_lost_rows(im, STAT_SONDA_HISTOGRAM_NO_KEY, row, no_key);
	count_lost_rows(im, STAT_SONDA_HISTOGRAM_NO_BEGIN, row, no_begin);
	dur = MIN(dur, (uint64_t)MAX(ts, (int64_t)0));
	pb_for_each (f, histogram)
		if (f.id == PB_EVENT_HISTOGRAM_ROWS && f.data && !im->store->budget.error)
			histogram_add_row(im, row, &form, ts - (int64_t)dur, (int64_t)dur, &f);
}
