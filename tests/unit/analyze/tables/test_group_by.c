/* SPDX-License-Identifier: Apache-2.0 */
/* GROUP BY and ORDER BY of one column: SQLite gets the rows in its order, and sorts none. */
#include <string.h>

#include "analyze/dialect/database.h"
#include "analyze/store/table_defs.h"
#include "base/text/str.h"
#include "unit/test.h"

#define ROWS 10000 /* several chunks */

static void fill_states(struct store *s)
{
	static const char *const names[] = {"S", "D", "R+", "D|K"};
	struct table *t = &s->tables[TABLE_THREAD_STATE];

	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t row = table_append(t), name = i * 7 % 5;

		table_set_ts(t, STATE_TS, row, i);
		table_set_dur(t, STATE_DUR, row, i % 100);
		table_set_u32(t, STATE_UTID, row, i % 9 ? i * i % 50 : NULL_U32);
		table_set_u16(t, STATE_STATE, row,
			      name == 4 ? NULL_U16
					: store_state_number(
						  s, strings_intern_z(&s->strings, names[name])));
		table_set_u32(t, STATE_MORE, row, NULL_U32);
	}
}

static void fill_slices(struct store *s)
{
	static const char *const names[] = {"b", "", "ab", "a", "\xc3\xa4", "B", "aa"};
	struct table *t = &s->tables[TABLE_SLICE];

	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t row = table_append(t), name = i * 13 % 8;

		table_set_ts(t, SLICE_TS, row, i);
		table_set_dur(t, SLICE_DUR, row, i % 77);
		table_set_u32(t, SLICE_TRACK, row, 0);
		table_set_u32(t, SLICE_CATEGORY, row, NULL_U32);
		table_set_u32(t, SLICE_NAME, row,
			      name == 7 ? NULL_U32 : strings_intern_z(&s->strings, names[name]));
		table_set_u16(t, SLICE_DEPTH, row, 0);
		table_set_u32(t, SLICE_PARENT, row, NULL_U32);
		table_set_u32(t, SLICE_ARGS, row, NULL_U32);
	}
}

static void rows_of(sqlite3 *db, const char *sql, int first, struct strbuf *ret)
{
	sqlite3_stmt *st;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(st) == SQLITE_ROW) {
		for (int i = first; i < sqlite3_column_count(st); i++)
			strbuf_printf(ret, "%s|", (const char *)sqlite3_column_text(st, i));
		strbuf_putc(ret, '\n');
	}
	sqlite3_finalize(st);
	assert_false(ret->failed);
}

/* Checks that a statement needs no sorter, and has the rows of another one that needs one. */
static void expect_same(sqlite3 *db, const char *sql, const char *with_sorter)
{
	struct strbuf plan = {0}, a = {0}, b = {0}, explain = {0};

	strbuf_printf(&explain, "EXPLAIN QUERY PLAN %s", sql);
	rows_of(db, explain.s, 3, &plan);
	if (strstr(plan.s, "TEMP B-TREE"))
		fail_msg("%s: %s", sql, plan.s);
	rows_of(db, sql, 0, &a);
	rows_of(db, with_sorter, 0, &b);
	assert_true(a.len > 0);
	assert_string_equal(a.s, b.s);
	strbuf_deinit(&plan);
	strbuf_deinit(&a);
	strbuf_deinit(&b);
	strbuf_deinit(&explain);
}

TEST(groups_of_text_and_numbers_need_no_sorter)
{
	struct store s;
	struct database *d;
	sqlite3 *db;

	store_init(&s, 64u << 20);
	fill_states(&s);
	fill_slices(&s);
	assert_int_equal(database_open(&s, &d), 0);
	db = database_sqlite(d);
#define SELECT(table, column) "select " column ", count(*), sum(dur), min(id) from " table
	expect_same(db, SELECT("thread_state", "state") " group by state",
		    SELECT("thread_state", "state") " group by +state");
	expect_same(db, SELECT("thread_state", "utid") " group by utid",
		    SELECT("thread_state", "utid") " group by +utid");
	expect_same(db, SELECT("slice", "name") " group by name",
		    SELECT("slice", "name") " group by +name");
	expect_same(db, SELECT("slice", "name") " group by name order by name desc",
		    SELECT("slice", "name") " group by +name order by +name desc");
	expect_same(db, "select name, id from slice order by name",
		    "select name, id from slice order by +name, id");
	expect_same(db, "select count(*), max(name) from slice where dur > 70 group by name",
		    "select count(*), max(name) from slice where dur > 70 group by +name");
	database_close(d);
	store_deinit(&s);
}

TEST(another_collation_is_sorted_by_sqlite)
{
	struct strbuf rows = {0};
	struct store s;
	struct database *d;
	sqlite3 *db;

	store_init(&s, 64u << 20);
	fill_slices(&s);
	assert_int_equal(database_open(&s, &d), 0);
	db = database_sqlite(d);
	rows_of(db,
		"select lower(name), count(*) from slice where name in ('b', 'B') "
		"group by name collate nocase",
		0, &rows);
	assert_string_equal(rows.s, "b|2500|\n");
	strbuf_deinit(&rows);
	database_close(d);
	store_deinit(&s);
}
