/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of sonda top: trees, filters, subjects, an order. */
#include "cli/top/top_rows.h"

#include <stdio.h>
#include <string.h>

#include "cli/top/top_columns.h"
#include "unit/message_text.h"
#include "wire/pb_enc.h"

static struct live *live;
static struct top_rows rows;
static struct top_selection selection;
static int pids[8], percents[8];
static size_t n_processes;

static int set_up(void **state)
{
	const struct live_setup setup = {
		.began_ns = 1, .period_ns = 1000000000, .has_groups = true, .has_programs = true};

	n_processes = 0;
	selection = (struct top_selection){.sort = (size_t)top_find_column("cpu")};
	return live_new(&setup, &live);
}

static int tear_down(void **state)
{
	top_rows_free(&rows);
	live_free(live);
	return 0;
}

#define ROWS_TEST(name) TEST_WITH(name, set_up, tear_down)

#define take(...)                                                                                  \
	do {                                                                                       \
		struct pb_mem m;                                                                   \
		assert_int_equal(pb_mem_init(&m), 0);                                              \
		message_put(&m.enc, "TracePacket", __VA_ARGS__);                                   \
		live_add_packet(live, m.buf, pb_mem_len(&m));                                      \
		pb_mem_deinit(&m);                                                                 \
	} while (0)

/* Adds a process that began before the first period, with its CPU time in percent in the second one. */
static void add(int pid, int parent, const char *name, int percent, int group)
{
	take("timestamp: 1000 ebpf_process_rows { family: 'cpu_time' columns: 5 rows: [%d 0 0 0 0 "
	     "0] "
	     "processes { pid: %d name: '%s' parent_pid: %d } }",
	     pid, pid, name, parent);
	if (group)
		take("timestamp: 1000 cgroup_members { group_ids: [%d] time_delta: [0] tid_delta: "
		     "[%d] "
		     "tgid_delta: [0] group: [0] }",
		     group, 2 * pid);
	percents[n_processes] = percent;
	pids[n_processes++] = pid;
}

static void end_periods(void)
{
	live_end_period(live);
	for (size_t i = 0; i < n_processes; i++) {
		take("timestamp: 1000001000 ebpf_process_rows { family: 'cpu_time' columns: 5 "
		     "rows: "
		     "[%d %d 0 0 0 0] }",
		     pids[i], percents[i] * 10000000);
		take("timestamp: 1000001000 ebpf_process_rows { family: 'processes' columns: 4 "
		     "rows: "
		     "[%d 5 4096 0 0] }",
		     pids[i]);
	}
	live_end_period(live);
}

/* Writes the rows as "0 name, 1 name", with their depths. */
static const char *shown(void)
{
	static char text[512];
	size_t n = 0;

	top_rows_free(&rows);
	assert_int_equal(top_rows_make(&rows, &selection, live), 0);
	text[0] = '\0';
	for (size_t i = 0; i < rows.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u %s", i ? ", " : "",
				      rows.list[i].depth, rows.list[i].name);
	return text;
}

static void add_family(void)
{
	add(1, 0, "/sbin/init", 1, 0);
	add(10, 1, "make", 2, 0);
	add(11, 10, "cc", 50, 0);
	add(12, 1, "idle", 0, 0);
	add(13, 1, "sh", 20, 0);
	end_periods();
}

ROWS_TEST(the_busiest_is_first)
{
	add_family();
	assert_string_equal(shown(), "0 cc, 0 sh, 0 make, 0 init, 0 idle");
	selection.sort = (size_t)top_find_column("pid");
	assert_string_equal(shown(), "0 init, 0 make, 0 cc, 0 idle, 0 sh");
	selection.sort = (size_t)top_find_column("command");
	assert_string_equal(shown(), "0 cc, 0 idle, 0 init, 0 make, 0 sh");
}

ROWS_TEST(siblings_are_sorted_by_all_below_them)
{
	add_family();
	selection.tree = true;
	assert_string_equal(shown(), "0 init, 1 make, 2 cc, 1 sh, 1 idle");
	/* What is above a match stays. */
	memcpy(selection.filter, "cc", 3);
	assert_string_equal(shown(), "0 init, 1 make, 2 cc");
	memcpy(selection.filter, "13", 3);
	assert_string_equal(shown(), "0 init, 1 sh");
}

ROWS_TEST(parents_in_a_circle_are_all_shown)
{
	add(10, 12, "a", 1, 0);
	add(11, 10, "b", 1, 0);
	add(12, 11, "c", 1, 0);
	add(13, 13, "itself", 1, 0);
	end_periods();
	selection.tree = true;
	shown();
	assert_int_equal(rows.n, 4);
}

static void add_groups(void)
{
	take("timestamp: 999 cgroup_tree { groups { id: 100 path: '/' } groups { id: 101 path: "
	     "'/system.slice' } groups { id: 102 path: '/system.slice/a.service' unit: 'a.service' "
	     "} groups { id: 103 path: '/c' container: 'abc' name: 'web' pod: 'cart' namespace: "
	     "'shop' } groups { id: 104 path: '/c/below' container: 'abc' name: 'web' } }");
	add(10, 0, "init", 1, 100);
	add(11, 0, "a", 30, 102);
	add(12, 0, "b", 5, 103);
	add(13, 0, "c", 4, 104);
	end_periods();
}

ROWS_TEST(subjects_have_the_sums_of_their_groups)
{
	add_groups();
	selection.by = TOP_BY_CONTAINER;
	assert_string_equal(shown(), "0 /system.slice/a.service, 0 web, 0 /");
	assert_int_equal(rows.list[1].count, 2);
	assert_float_equal(rows.list[1].p->values[LIVE_CPU].rate, 9e7, 1e4);
	selection.by = TOP_BY_UNIT;
	assert_string_equal(shown(), "0 a.service, 0 /c, 0 /c/below, 0 /");
	selection.by = TOP_BY_POD;
	assert_string_equal(shown(), "0 /system.slice/a.service, 0 shop/cart, 0 /c/below, 0 /");
	selection.by = TOP_BY_PROGRAM;
	assert_string_equal(shown(), "0 a, 0 b, 0 c, 0 init");
	memcpy(selection.filter, "ini", 4);
	assert_string_equal(shown(), "0 init");
}

ROWS_TEST(in_a_tree_a_control_group_has_all_below_it)
{
	add_groups();
	selection.by = TOP_BY_CGROUP;
	selection.tree = true;
	assert_string_equal(
		shown(), "0 /, 1 system.slice, 2 a.service, 3 a, 1 c, 2 b, 2 below, 3 c, 1 init");
	assert_int_equal(rows.list[0].count, 4);
	assert_float_equal(rows.list[0].p->values[LIVE_CPU].rate, 4e8, 1e5);
	assert_float_equal(rows.list[1].p->values[LIVE_CPU].rate, 3e8, 1e5);
	/* A subject that matches is shown with its processes. */
	memcpy(selection.filter, "a.service", 10);
	assert_string_equal(shown(), "0 /, 1 system.slice, 2 a.service, 3 a");
}

ROWS_TEST(processes_of_one_subject)
{
	add_groups();
	selection.within_by = TOP_BY_CONTAINER;
	memcpy(selection.within, "web", 4);
	assert_string_equal(shown(), "0 b, 0 c");
	selection.within_by = TOP_BY_CGROUP;
	memcpy(selection.within, "/c", 3);
	assert_string_equal(shown(), "0 b, 0 c");
	memcpy(selection.within, "/c/b", 5);
	assert_string_equal(shown(), "");
	memcpy(selection.within, "/", 2);
	assert_string_equal(shown(), "0 a, 0 b, 0 c, 0 init");
}

ROWS_TEST(only_some_processes)
{
	static const uint32_t chosen[] = {10, 13};

	add_family();
	selection.pids = chosen;
	selection.n_pids = 2;
	assert_string_equal(shown(), "0 sh, 0 make");
}
