// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats.h"
#include "ftrace/event_encode.h"
#include "ftrace/event_table.h"

static const char one_int[] = FIELD("int a", 8, 4, 1);
static struct event_table t;

static int add(const char *group, const char *name, unsigned id,
	       const struct event_table_options *options)
{
	uint16_t got = 0;
	int r = event_table_add(&t, group, name, format_text(name, id, FORMAT_COMMON, one_int),
				options, &got);

	if (!r)
		assert_int_equal(got, id);
	return r;
}

static int teardown(void **state)
{
	(void)state;
	event_table_deinit(&t);
	return 0;
}

static void test_rows_by_id(void **state)
{
	const struct event_table_options o = {0};

	(void)state;
	assert_null(event_table_row(&t, 0));
	assert_int_equal(add("irq", "irq_handler_exit", 65535, &o), 0);
	assert_int_equal(add("sched", "sched_process_wait", 3, &o), 0);
	assert_string_equal(event_table_row(&t, 3)->name, "sched_process_wait");
	assert_string_equal(event_table_row(&t, 65535)->name, "irq_handler_exit");
	assert_null(event_table_row(&t, 4));
	assert_null(event_table_row(&t, 65534));
	/* Once more is the same. */
	assert_int_equal(add("sched", "sched_process_wait", 3, &o), 0);
	assert_int_equal(t.n_rows, 2);
	event_table_remove(&t, 3);
	assert_null(event_table_row(&t, 3));
	event_table_remove(&t, 4);
}

static void test_generic_events_are_numbered_in_order(void **state)
{
	struct event_table_options o = {0};

	(void)state;
	assert_int_equal(add("g", "first", 10, &o), 0);
	assert_int_equal(add("sched", "sched_switch", 11, &o), 0);
	assert_int_equal(add("g", "second", 12, &o), 0);
	assert_int_equal(event_table_row(&t, 10)->generic_index, 0);
	assert_int_equal(event_table_row(&t, 11)->generic_index, ROW_NOT_GENERIC);
	assert_int_equal(event_table_row(&t, 12)->generic_index, 1);
	assert_int_equal(t.n_generic, 2);

	o.no_generic = true;
	assert_int_equal(add("g", "third", 13, &o), EVENT_TABLE_GENERIC_REFUSED);
	assert_null(event_table_row(&t, 13));
	assert_int_equal(add("irq", "irq_handler_exit", 14, &o), 0);
	o = (struct event_table_options){.legacy_generic = true};
	assert_int_equal(add("g", "fourth", 15, &o), 0);
	assert_int_equal(event_table_row(&t, 15)->kind, ROW_LEGACY);
	assert_int_equal(t.n_generic, 2);
}

static void test_texts_that_are_no_format(void **state)
{
	const struct event_table_options o = {0};
	char nothing[] = "", noise[] = "name: x\nID: banana\n\x01\x02", cut[] = "name: x\nID: 5\n";
	uint16_t id;

	(void)state;
	assert_int_equal(event_table_add(&t, "g", "x", nothing, &o, &id), EVENT_TABLE_BAD_FORMAT);
	assert_int_equal(event_table_add(&t, "g", "x", noise, &o, &id), EVENT_TABLE_BAD_FORMAT);
	assert_int_equal(event_table_add(&t, "g", "x", cut, &o, &id), EVENT_TABLE_BAD_FORMAT);
	/* Of another event than was asked for. */
	assert_int_equal(
		event_table_add(&t, "g", "x", format_text("y", 5, FORMAT_COMMON, one_int), &o, &id),
		EVENT_TABLE_BAD_FORMAT);
	/* An id that no record can hold. */
	assert_int_equal(event_table_add(&t, "g", "x",
					 format_text("x", 65536, FORMAT_COMMON, one_int), &o, &id),
			 EVENT_TABLE_BAD_FORMAT);
	assert_int_equal(t.n_rows, 0);
}

static void test_compact_is_for_two_events(void **state)
{
	static const char fields[] =
		FIELD("long prev_state", 8, 8, 1) FIELD("char next_comm[16]", 16, 16, 0)
			FIELD("pid_t next_pid", 32, 4, 1) FIELD("int next_prio", 36, 4, 1);
	const struct event_table_options o = {.compact = true};
	uint16_t id;

	(void)state;
	assert_true(event_table_can_compact("sched", "sched_switch",
					    format_text("sched_switch", 5, FORMAT_COMMON, fields)));
	assert_false(event_table_can_compact(
		"sched", "sched_switch", format_text("sched_switch", 5, FORMAT_COMMON, one_int)));
	assert_false(event_table_can_compact(
		"sched", "sched_waking", format_text("sched_waking", 5, FORMAT_COMMON, fields)));
	assert_false(event_table_can_compact(
		"irq", "sched_switch", format_text("sched_switch", 5, FORMAT_COMMON, fields)));
	assert_int_equal(event_table_add(&t, "sched", "sched_switch",
					 format_text("sched_switch", 5, FORMAT_COMMON, fields), &o,
					 &id),
			 0);
	assert_int_equal(event_table_row(&t, 5)->kind, ROW_COMPACT_SWITCH);
	assert_int_equal(add("sched", "sched_wakeup", 6, &o), 0);
	assert_int_equal(event_table_row(&t, 6)->kind, ROW_FIELDS);
}

static void test_the_bound_is_that_of_the_largest(void **state)
{
	const struct event_table_options o = {0};
	uint16_t id;

	(void)state;
	assert_true(event_table_bound(&t, 4096) > 0);
	assert_int_equal(add("g", "small", 10, &o), 0);
	assert_int_equal(
		event_table_add(&t, "g", "large",
				format_text("large", 11, FORMAT_COMMON, FIELD("char a[]", 8, 0, 0)),
				&o, &id),
		0);
	assert_int_equal(event_table_bound(&t, 4096),
			 event_encode_bound(event_table_row(&t, 11), 4096));
	assert_true(event_table_bound(&t, 4096) > 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_rows_by_id, teardown),
		cmocka_unit_test_teardown(test_generic_events_are_numbered_in_order, teardown),
		cmocka_unit_test_teardown(test_texts_that_are_no_format, teardown),
		cmocka_unit_test_teardown(test_compact_is_for_two_events, teardown),
		cmocka_unit_test_teardown(test_the_bound_is_that_of_the_largest, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
