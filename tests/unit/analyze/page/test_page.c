/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a trace a page has. Its columns: tests/system/test_page.sh. */
#include <stdlib.h>
#include <string.h>

#include "analyze/page/page.h"
#include "analyze/store/store_open.h"
#include "unit/test.h"

#define RUNS 100
#define FIRST 1000
#define EACH 10 /* ns of a run */

static void set_thread(struct store *s, int64_t tid)
{
	struct table *t = &s->tables[TABLE_THREAD];
	uint32_t row = table_append(t);

	table_set_i64(t, THREAD_TID, row, tid);
	table_set_u32(t, THREAD_NAME, row, strings_intern_z(&s->strings, "</script>"));
	table_set_u32(t, THREAD_UPID, row, NULL_U32);
	table_set_u32(t, THREAD_MACHINE, row, 0);
	table_set_u8(t, THREAD_IS_IDLE, row, tid == 0);
}

/* One CPU on which one thread runs all the time. */
static void fill(struct store *s)
{
	struct table *t = &s->tables[TABLE_SCHED];

	store_init(s, 64u << 20);
	set_thread(s, 0);
	set_thread(s, 7);
	for (uint32_t i = 0; i < RUNS; i++) {
		uint32_t row = table_append(t);

		table_set_ts(t, SCHED_TS, row, FIRST + i * EACH);
		table_set_dur(t, SCHED_DUR, row, EACH);
		table_set_u32(t, SCHED_CPU, row, 0);
		table_set_u32(t, SCHED_UTID, row, 1);
		table_set_u16(t, SCHED_END_STATE, row, NULL_U16);
		table_set_i32(t, SCHED_PRIORITY, row, 120);
	}
	s->start_ts = FIRST;
	s->end_ts = FIRST + RUNS * EACH;
}

/* Returns the text of the page, which the caller frees. */
static char *write_page(struct store *s, uint64_t max_rows, struct page_result *ret)
{
	struct page_options o = {
		.title = "t", .from = s->start_ts, .to = s->end_ts + 1, .max_rows = max_rows};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(page_write(s, &o, f, ret), 0);
	fclose(f);
	assert_int_equal(ret->bytes, len);
	return text;
}

TEST(a_page_has_all_rows_if_they_fit)
{
	struct page_result result;
	struct store s;
	char *text;

	fill(&s);
	text = write_page(&s, RUNS, &result);
	assert_int_equal(result.rows, RUNS);
	assert_int_equal(result.left_out, 0);
	assert_int_equal(result.to, s.end_ts + 1);
	assert_non_null(strstr(text, "\"runs\":100,"));
	assert_non_null(strstr(text, "\"leftOut\":0,"));
	free(text);
	store_deinit(&s);
}

TEST(a_page_has_an_event_at_the_last_time_that_there_is)
{
	struct page_options o = {.title = "t", .from = FIRST, .to = INT64_MAX, .max_rows = 1000};
	struct page_result result;
	char *text = NULL;
	struct table *t;
	struct store s;
	size_t len;
	uint32_t row;
	FILE *f;

	fill(&s);
	t = &s.tables[TABLE_SCHED];
	row = table_append(t);
	table_set_ts(t, SCHED_TS, row, INT64_MAX);
	table_set_dur(t, SCHED_DUR, row, -1);
	table_set_u32(t, SCHED_CPU, row, 0);
	table_set_u32(t, SCHED_UTID, row, 1);
	table_set_u16(t, SCHED_END_STATE, row, NULL_U16);
	s.end_ts = INT64_MAX;
	f = open_memstream(&text, &len);
	assert_non_null(f);
	assert_int_equal(page_write(&s, &o, f, &result), 0);
	fclose(f);
	assert_int_equal(result.rows, RUNS + 1);
	assert_int_equal(result.left_out, 0);
	free(text);
	store_deinit(&s);
}

TEST(a_slice_whose_end_is_out_of_range_reaches_into_the_window)
{
	struct page_options o = {.title = "t", .from = FIRST + EACH, .max_rows = RUNS};
	struct page_result result;
	char *text = NULL;
	struct table *t;
	struct store s;
	uint32_t row;
	size_t len;
	FILE *f;

	fill(&s);
	t = &s.tables[TABLE_TRACK];
	row = table_append(t);
	table_set_u32(t, TRACK_PARENT, row, NULL_U32);
	t = &s.tables[TABLE_SLICE];
	row = table_append(t);
	table_set_ts(t, SLICE_TS, row, FIRST);
	table_set_dur(t, SLICE_DUR, row, INT64_MAX);
	o.to = s.end_ts + 1;
	f = open_memstream(&text, &len);
	assert_non_null(f);
	assert_int_equal(page_write(&s, &o, f, &result), 0);
	fclose(f);
	assert_non_null(strstr(text, "\"slices\":1,"));
	free(text);
	store_deinit(&s);
}

TEST(a_page_ends_where_its_rows_are_full_and_says_so)
{
	struct page_result result;
	struct store s;
	char *text;

	fill(&s);
	text = write_page(&s, 30, &result);
	assert_int_equal(result.rows, 30);
	assert_int_equal(result.left_out, RUNS - 30);
	/* The run that begins there is the first that is left out. */
	assert_int_equal(result.to, FIRST + 30 * EACH);
	assert_non_null(strstr(text, "\"runs\":30,"));
	assert_non_null(strstr(text, "\"leftOut\":70,"));
	assert_non_null(strstr(text, "\"to\":300,\"wanted\":1001,"));
	free(text);
	store_deinit(&s);
}
