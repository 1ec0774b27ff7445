/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a trace a page has. Its columns: tests/system/test_page.sh. */
#include <stdlib.h>
#include <string.h>

#include "analyze/page/page.h"
#include "analyze/store/table_defs.h"
#include "unit/fixture.h"

#define RUNS 100
#define FIRST 1000
#define EACH 10 /* ns of a run */

static struct store s;
static struct page_result result;
static char *text; /* of the page */

static void set_thread(int64_t tid)
{
	struct table *t = &s.tables[TABLE_THREAD];
	uint32_t row = table_append(t);

	table_set_i64(t, THREAD_TID, row, tid);
	table_set_u32(t, THREAD_NAME, row, strings_intern_z(&s.strings, "</script>"));
	table_set_u32(t, THREAD_UPID, row, NULL_U32);
	table_set_u32(t, THREAD_MACHINE, row, 0);
	table_set_u8(t, THREAD_IS_IDLE, row, tid == 0);
}

/* Appends a run of the one thread on the one CPU. */
static void add_run(int64_t ts, int64_t dur)
{
	struct table *t = &s.tables[TABLE_SCHED];
	uint32_t row = table_append(t);

	table_set_ts(t, SCHED_TS, row, ts);
	table_set_dur(t, SCHED_DUR, row, dur);
	table_set_u32(t, SCHED_CPU, row, 0);
	table_set_u32(t, SCHED_UTID, row, 1);
	table_set_u16(t, SCHED_END_STATE, row, NULL_U16);
	table_set_i32(t, SCHED_PRIORITY, row, 120);
}

/* The thread runs all the time. */
SETUP
{
	store_init(&s, 64u << 20);
	set_thread(0);
	set_thread(7);
	for (uint32_t i = 0; i < RUNS; i++)
		add_run(FIRST + i * EACH, EACH);
	s.start_ts = FIRST;
	s.end_ts = FIRST + RUNS * EACH;
	text = NULL;
}

TEARDOWN
{
	free(text);
	store_deinit(&s);
}

/* Writes a page of that window into text. */
static void write_page(int64_t from, int64_t to, uint64_t max_rows)
{
	struct page_options o = {.title = "t", .from = from, .to = to, .max_rows = max_rows};
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(page_write(&s, &o, f, &result), 0);
	fclose(f);
	assert_int_equal(result.bytes, len);
}

FIXTURE_TEST(a_page_has_all_rows_if_they_fit)
{
	write_page(FIRST, s.end_ts + 1, RUNS);
	assert_int_equal(result.rows, RUNS);
	assert_int_equal(result.left_out, 0);
	assert_int_equal(result.to, s.end_ts + 1);
	assert_non_null(strstr(text, "\"runs\":100,"));
	assert_non_null(strstr(text, "\"leftOut\":0,"));
}

FIXTURE_TEST(a_page_has_an_event_at_the_last_time_that_there_is)
{
	add_run(INT64_MAX, -1);
	s.end_ts = INT64_MAX;
	write_page(FIRST, INT64_MAX, 1000);
	assert_int_equal(result.rows, RUNS + 1);
	assert_int_equal(result.left_out, 0);
}

FIXTURE_TEST(a_slice_whose_end_is_out_of_range_reaches_into_the_window)
{
	struct table *tracks = &s.tables[TABLE_TRACK], *slices = &s.tables[TABLE_SLICE];
	uint32_t row = table_append(slices);

	table_set_u32(tracks, TRACK_PARENT, table_append(tracks), NULL_U32);
	table_set_ts(slices, SLICE_TS, row, FIRST);
	table_set_dur(slices, SLICE_DUR, row, INT64_MAX);
	write_page(FIRST + EACH, s.end_ts + 1, RUNS);
	assert_non_null(strstr(text, "\"slices\":1,"));
}

FIXTURE_TEST(a_page_ends_where_its_rows_are_full)
{
	write_page(FIRST, s.end_ts + 1, 30);
	assert_int_equal(result.rows, 30);
	assert_int_equal(result.left_out, RUNS - 30);
	/* The run that begins there is the first that is left out. */
	assert_int_equal(result.to, FIRST + 30 * EACH);
	assert_non_null(strstr(text, "\"runs\":30,"));
	assert_non_null(strstr(text, "\"leftOut\":70,"));
	assert_non_null(strstr(text, "\"to\":300,\"wanted\":1001,"));
}
