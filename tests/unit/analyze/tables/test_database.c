/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces made by hand, a few packets each, and what SQL says of them: the expected rows are those
 * of trace_processor 55.3 for the same packets, or of 58 if they differ.
 */
#include <sqlite3.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "analyze/dialect/database.h"
#include "analyze/import/import.h"
#include "analyze/store/table_defs.h"
#include "unit/fixture.h"
#include "unit/message_text.h"

#define LIMIT_BYTES (64u << 20)

static struct strbuf trace; /* a Trace, as text */

SETUP
{
	strbuf_puts(&trace, "");
}

TEARDOWN
{
	strbuf_deinit(&trace);
}

/* ---- packets ---- */

#define add_packet(sequence, ...)                                                                  \
	(strbuf_puts(&trace, "packet { "), strbuf_printf(&trace, __VA_ARGS__),                     \
	 strbuf_printf(&trace, " trusted_packet_sequence_id: %d }\n", sequence))
#define add_bundle(cpu, events) add_packet(2, "ftrace_events { cpu: %d %s }", cpu, events)

#define EVENT(ts, tid, event) "event { timestamp: " #ts " pid: " #tid " " event " } "
#define SWITCH(ts, prev, state, next)                                                              \
	EVENT(ts, prev,                                                                            \
	      "sched_switch { prev_comm: 'p' prev_pid: " #prev " prev_prio: 0 prev_state: " #state \
	      " next_comm: 'n' next_pid: " #next " next_prio: 120 }")
#define WAKING(ts, tid, woken, flags)                                                              \
	EVENT(ts, tid, "sched_waking { comm: 'w' pid: " #woken " " flags " }")
#define MARK(ts, tid, line) EVENT(ts, tid, "print { buf: '" line "' }")
#define NEW_TASK(ts, by, tid, flags)                                                               \
	EVENT(ts, by, "task_newtask { pid: " #tid " comm: 'kid' clone_flags: " #flags " }")
#define FREE(ts, tid) EVENT(ts, tid, "sched_process_free { pid: " #tid " }")

/* A call of this machine, whose names of system calls are known. */
static void add_kernel(const char *release)
{
	struct utsname here;

	uname(&here);
	add_packet(1, "system_info { utsname { release: '%s' machine: '%s' } }", release,
		   here.machine);
}

static void add_process(unsigned ts, int pid, int ppid, const char *name)
{
	add_packet(3, "process_tree { processes { pid: %d ppid: %d cmdline: '%s' } } timestamp: %u",
		   pid, ppid, name, ts);
}

/* ---- answers ---- */

static struct trace_bytes encode_trace(void)
{
	struct trace_bytes bytes;
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	message_put_text(&m.enc, "Trace", trace.s);
	bytes = (struct trace_bytes){.data = malloc(pb_mem_len(&m) + 1), .len = pb_mem_len(&m)};
	memcpy(bytes.data, m.buf, bytes.len);
	pb_mem_deinit(&m);
	return bytes;
}

/* Runs the statement on the bytes; rows are lines, columns are separated by '|', NULL is "-". */
static void expect_of(struct trace_bytes bytes, const char *sql, const char *expected)
{
	struct strbuf got = {0};
	struct import_result result;
	sqlite3_stmt *st;
	struct store s;
	struct database *d;
	sqlite3 *db;

	store_init(&s, LIMIT_BYTES);
	assert_int_equal(trace_import(&s, bytes, &result), 0);
	assert_int_equal(database_open(&s, &d), 0);
	db = database_sqlite(d);
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	strbuf_puts(&got, "");
	while (sqlite3_step(st) == SQLITE_ROW)
		for (int i = 0, n = sqlite3_column_count(st); i < n; i++) {
			const char *text = (const char *)sqlite3_column_text(st, i);

			strbuf_printf(&got, "%s%s", text ? text : "-", i == n - 1 ? "\n" : "|");
		}
	sqlite3_finalize(st);
	database_close(d);
	store_deinit(&s);
	if (strcmp(got.s, expected) != 0)
		fail_msg("%s:\n%sand not\n%s", sql, got.s, expected);
	strbuf_deinit(&got);
}

static void expect(const char *sql, const char *expected)
{
	expect_of(encode_trace(), sql, expected);
}

FIXTURE_TEST(a_waking_out_of_columns_says_whether_an_interrupt_woke_the_thread)
{
	add_bundle(0,
		   SWITCH(10, 0, 0, 11) WAKING(20, 11, 12, "common_flags: 0x81")
			   WAKING(30, 11, 13, "common_flags: 0x08")
				   WAKING(40, 11, 14, "common_flags: 0x11") WAKING(50, 11, 15, ""));
	expect("SELECT ts, irq_context FROM thread_state WHERE state = 'R' ORDER BY ts",
	       "20|0\n30|1\n40|1\n50|-\n");
	expect("SELECT ts, common_flags FROM ftrace_event ORDER BY ts",
	       "10|0\n20|129\n30|8\n40|17\n50|0\n");
	expect("SELECT count(*) FROM args WHERE key = 'common_flags'", "0\n");
}

/* Of a recording of the thread 11 and its children: 50 and 52 leave their CPUs unseen. */
static void add_some_switches(void)
{
	add_process(5, 11, 1, "p");
	add_bundle(0, SWITCH(10, 0, 0, 11) NEW_TASK(15, 11, 12, 0x10000) SWITCH(20, 11, 1, 50)
			      SWITCH(40, 51, 0, 11) SWITCH(60, 11, 1, 52));
	add_bundle(1, SWITCH(50, 12, 1, 50) SWITCH(55, 50, 0, 12));
}

static void add_config_of_thread(int tid)
{
	add_packet(
		1,
		"trace_config { data_sources { config { ftrace_config { tids_to_trace: %d } } } }",
		tid);
}

FIXTURE_TEST(a_thread_that_is_not_recorded_never_runs_to_the_end)
{
	static const char sched[] =
		"SELECT ts, tid, dur FROM sched JOIN thread USING (utid) ORDER BY ts";
	static const char states[] = "SELECT ts, tid, dur FROM thread_state JOIN thread USING "
				     "(utid) WHERE state = 'Running' ORDER BY ts";

	/* Without a config they may have run. */
	add_some_switches();
	expect(sched, "10|11|10\n20|50|-1\n40|11|20\n50|50|5\n55|12|-1\n60|52|-1\n");
	expect(states, "10|11|10\n20|50|30\n40|11|20\n50|50|5\n55|12|-1\n60|52|-1\n");
	add_config_of_thread(11);
	expect(sched, "10|11|10\n20|50|0\n40|11|20\n50|50|5\n55|12|-1\n60|52|0\n");
	expect(states, "10|11|10\n20|50|0\n40|11|20\n50|50|5\n55|12|-1\n60|52|0\n");
}

FIXTURE_TEST(a_recording_of_no_thread_that_is_there_has_no_end_of_runs)
{
	add_some_switches();
	add_config_of_thread(99);
	expect("SELECT count(*) FROM sched WHERE dur < 0", "0\n");
}

FIXTURE_TEST(equal_times_of_two_cpus_come_in_bursts)
{
	add_bundle(0, MARK(5, 11, "text"));
	add_bundle(1, MARK(10, 12, "text") MARK(20, 12, "text"));
	add_bundle(0, MARK(20, 11, "text"));
	expect("select ts, tid from ftrace_event join thread using (utid) order by ftrace_event.id",
	       "5|11\n10|12\n20|12\n20|11\n");
}

#define MISMATCH(first_state)                                                                      \
	SWITCH(100, 10, first_state, 20)                                                           \
	SWITCH(200, 20, 1, 30) SWITCH(300, 99, 2, 40) SWITCH(400, 40, 0, 0)

FIXTURE_TEST(a_switch_from_another_thread_leaves_the_slice_open)
{
	add_kernel("6.1.0");
	add_bundle(0, MISMATCH(1));
	expect("select ts, dur, end_state from sched order by id",
	       "100|100|S\n200|-1|-\n300|100|R\n400|-1|-\n");
	expect("select value from stats where name = 'mismatched_sched_switch_tids'", "1\n");
	expect("select state, dur from thread_state join thread using (utid) where tid = 30",
	       "Running|-1\n");
	expect("select state, s.ts from thread_state s join thread using (utid) where tid = 99",
	       "D|300\n");
	expect("select group_concat(tid) from (select tid from thread order by utid)",
	       "0,20,10,30,40,99\n");
}

FIXTURE_TEST(letters_of_states_depend_on_the_kernel)
{
	static const char sql[] =
		"select state from thread_state join thread using (utid) where tid = 10";

	add_bundle(0, MISMATCH(0x100));
	expect(sql, "W\n");
	strbuf_clear(&trace);
	add_kernel("6.1.0");
	add_bundle(0, MISMATCH(0x100));
	expect(sql, "R+\n");
}

FIXTURE_TEST(a_thread_gets_the_process_of_its_creator)
{
	add_bundle(0, NEW_TASK(10, 30, 31, 0x10000) NEW_TASK(20, 20, 30, 0)
			      NEW_TASK(30, 30, 32, 0x10000));
	expect("select tid, upid is null, is_main_thread from thread where tid > 30 order by utid",
	       "31|1|-\n32|0|0\n");
	expect("select pid, name, start_ts from process where pid = 30", "30|kid|20\n");
}

FIXTURE_TEST(the_creator_of_a_process_replaces_the_parent_of_its_tree)
{
	static const char processes[] =
		"select p.upid, p.pid, p.name, p.start_ts, p.end_ts, p.parent_upid, q.pid "
		"from process p left join process q on q.upid = p.parent_upid order by p.upid";

	/* The tree sees the process at its end, and its creator after that. */
	add_bundle(0, NEW_TASK(10, 20, 30, 0) FREE(17, 30));
	add_process(15, 30, 0, "bash");
	add_process(20, 20, 1, "sh");
	expect(processes, "0|0|-|-|-|-|-\n1|30|bash|10|17|3|20\n2|1|-|-|-|-|-\n3|20|sh|-|-|2|1\n");
	/* The pid is used again before the creators are known. A later tree has another parent of
	 * the process, which is the same process. */
	strbuf_clear(&trace);
	add_bundle(0, NEW_TASK(10, 20, 30, 0) FREE(17, 30) NEW_TASK(18, 21, 30, 0));
	add_process(15, 30, 0, "bash");
	add_process(20, 20, 1, "sh");
	add_process(21, 30, 7, "x");
	add_process(22, 21, 20, "y");
	add_process(23, 30, 20, "z");
	expect(processes, "0|0|-|-|-|-|-\n1|30|bash|10|17|4|20\n2|30|z|18|-|6|21\n3|1|-|-|-|-|-\n"
			  "4|20|sh|-|-|3|1\n5|7|-|-|-|-|-\n6|21|y|-|-|4|20\n");
	expect("select value from stats where name = 'process_tracker_parent_pid_changed'", "1\n");
}

FIXTURE_TEST(a_full_switch_before_the_data_of_all_cpus_makes_no_row)
{
	add_bundle(1, "previous_bundle_end_timestamp: 1200 " MARK(1300, 11, "text"));
	add_bundle(0, SWITCH(1100, 10, 1, 20));
	expect("select (select count(*) from ftrace_event), (select count(*) from sched)", "1|0\n");
	expect("select extract_metadata('ftrace_latest_data_start_ns')", "1200\n");
}

FIXTURE_TEST(arguments_of_an_event_are_found_by_its_set)
{
	add_bundle(0, SWITCH(100, 10, 1, 20));
	expect("select key, value_type, display_value from ftrace_event join args using "
	       "(arg_set_id) order by args.id",
	       "prev_comm|string|p\nprev_pid|int|10\nprev_prio|int|0\nprev_state|int|1\nnext_comm|"
	       "string|n\nnext_pid|int|20\nnext_prio|int|120\n");
	expect("select extract_arg(arg_set_id, 'next_pid'), extract_arg(arg_set_id, 'none') from "
	       "ftrace_event",
	       "20|-\n");
}

/* Its message could be a GenericFtraceEvent: name, int_value. */
FIXTURE_TEST(a_described_event_without_fields_has_no_arguments)
{
	add_bundle(
		0,
		"generic_event_descriptors { field_id: 65540 event_descriptor: '\\x0a\\x04mine' } "
		"event { timestamp: 100 pid: 10 65540: '\\x12\\x07\\x0a\\x03key\\x20\\x07' }");
	expect("select name, extract_arg(arg_set_id, 'key') from ftrace_event", "mine|-\n");
}

static void add_instant(unsigned ts, const char *name)
{
	add_packet(2,
		   "track_event { type: 3 name: '%s' track_uuid: 0 } timestamp: %u "
		   "timestamp_clock_id: 64 "
		   "sequence_flags: 1",
		   name, ts);
}

FIXTURE_TEST(a_time_that_is_not_converted_does_not_move_its_clock)
{
	add_packet(1, "clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } clocks { clock_id: "
		      "3 timestamp: 500 } }");
	add_packet(2, "clock_snapshot { clocks { clock_id: 64 timestamp: 100 is_incremental: 1 } "
		      "clocks { clock_id: 65 timestamp: 5 } }");
	add_instant(10, "before");
	add_packet(2, "clock_snapshot { clocks { clock_id: 65 timestamp: 5 } clocks { clock_id: 6 "
		      "timestamp: 2000 } }");
	add_instant(20, "after");
	expect("select ts, name from slice order by ts", "2020|after\n2030|before\n");
}

FIXTURE_TEST(markers_nest_and_bind_their_thread)
{
	add_bundle(0, MARK(10, 21, "B|20|outer|more\\x0a") MARK(20, 21, "B|20|") MARK(30, 21, "E")
			      MARK(40, 21, "I|20|now") MARK(50, 21, "E|20")
				      MARK(60, 21, "C|20|depth|-7") MARK(70, 21, "B|20|open")
					      MARK(80, 21, "no marker"));
	expect("select s.ts, s.dur, s.name, s.depth, p.name from slice s left join slice p on p.id "
	       "= s.parent_id",
	       "10|40|outer|more|0|-\n20|10|[empty slice name]|1|outer|more\n"
	       "40|0|now|1|outer|more\n70|-1|open|0|-\n");
	expect("select tid, pid from thread join process using (upid) where tid = 21", "21|20\n");
	expect("select value, t.name, pid from counter c join process_counter_track t on t.id = "
	       "c.track_id join process using (upid)",
	       "-7.0|depth|20\n");
	expect("select value from stats where name = 'systrace_parse_failure'", "1\n");
}

FIXTURE_TEST(a_marker_ends_the_write_that_carries_it)
{
	char events[512];

	snprintf(events, sizeof(events),
		 EVENT(1000, 20, "sys_enter { id: %d }") MARK(1010, 20, "B|20|at")
			 EVENT(1020, 20, "sys_exit { id: %d }"),
		 SYS_write, SYS_write);
	add_kernel("6.1.0");
	add_bundle(0, events);
	expect("select ts, dur, depth from slice order by id", "1000|10|0\n1010|-1|0\n");
	expect("select value from stats where name = 'truncated_sys_write_duration'", "1\n");
}

static void add_marks(unsigned n, uint64_t first)
{
	strbuf_puts(&trace, "packet { trusted_packet_sequence_id: 2 ftrace_events { cpu: 0 ");
	for (unsigned i = 0; i < n; i++)
		strbuf_printf(&trace,
			      "event { timestamp: %" PRIu64 " pid: %u print { buf: 'text' } } ",
			      first + 2 * i, 10 + i % 3);
	strbuf_puts(&trace, "} }");
}

FIXTURE_TEST(times_and_ids_are_found_without_a_scan_and_are_the_same_rows)
{
	add_marks(9000, UINT64_C(4294960000));
	expect("select count(*), sum(+ts > 4294967300 and +ts <= 4294967310) = (select count(*) "
	       "from ftrace_event where ts > 4294967300 and ts <= 4294967310) from ftrace_event",
	       "9000|1\n");
	expect("select count(*) from ftrace_event where ts = 4294967302", "1\n");
	expect("select count(*) from ftrace_event where ts = 4294967301", "0\n");
	expect("select count(*), min(utid), max(utid) from ftrace_event where utid = 2 and ts < "
	       "4294967296",
	       "1216|2|2\n");
	expect("select ts from ftrace_event order by ts desc limit 2", "4294977998\n4294977996\n");
	expect("select ts from ftrace_event where id = 5000", "4294970000\n");
	expect("select count(*) from ftrace_event where ts >= 4294977990.5", "4\n");
}

FIXTURE_TEST(kernel_events_are_found_by_their_names)
{
	add_bundle(0, SWITCH(100, 10, 1, 20) MARK(200, 20, "text")
			      EVENT(300, 20, "sys_enter { id: 0 }") MARK(400, 20, "text"));
	expect("select ts from ftrace_event where name = 'print'", "200\n400\n");
	expect("select ts from ftrace_event where name = 'print' order by ts desc", "400\n200\n");
	expect("select ts from ftrace_event where name = 'print' and ts > 200", "400\n");
	expect("select ts from ftrace_event where name in ('sched_switch', 'sys_enter')",
	       "100\n300\n");
	expect("select count(*) from ftrace_event where name = 'nothing' or name = 5 or name is "
	       "null or name = 'PRINT'",
	       "0\n");
	expect("select ts from ftrace_event where name = 'PRINT' collate nocase", "200\n400\n");
	expect("select ts from ftrace_event where id = 3 and name = 'print'", "400\n");
	expect("select count(*) from ftrace_event where id = 2 and name = 'print'", "0\n");
}

FIXTURE_TEST(an_import_over_its_limit_ends_with_an_error)
{
	struct import_result result;
	struct store s;

	add_marks(20000, 0);
	store_init(&s, 700000);
	assert_int_equal(trace_import(&s, encode_trace(), &result), -EFBIG);
	store_deinit(&s);
}

FIXTURE_TEST(a_file_that_is_cut_off_gives_its_whole_packets)
{
	struct trace_bytes bytes;

	add_bundle(0, MARK(5, 11, "text"));
	add_bundle(0, MARK(6, 11, "text"));
	bytes = encode_trace();
	bytes.len -= 3;
	expect_of(bytes, "select count(*) from ftrace_event", "1\n");
}

/* ---- track events ---- */

static void add_track_event(unsigned ts, unsigned track, unsigned type, const char *name)
{
	add_packet(4, "track_event { type: %u track_uuid: %u name: '%s' } timestamp: %u", type,
		   track, name, ts);
}

FIXTURE_TEST(slices_of_one_track_name_share_rows_that_are_free)
{
	add_packet(4, "track_descriptor { uuid: 20 name: 'line' }");
	add_packet(4, "track_descriptor { uuid: 21 name: 'line' }");
	add_track_event(100, 20, 1, "a");
	add_track_event(110, 21, 1, "b");
	add_packet(4, "track_event { type: 2 track_uuid: 20 } timestamp: 120");
	add_track_event(130, 21, 1, "c");
	add_packet(4, "track_event { type: 2 track_uuid: 21 } timestamp: 140");
	add_packet(4, "track_event { type: 2 track_uuid: 21 } timestamp: 150");
	add_track_event(160, 20, 1, "d");
	expect("select ts, dur, name, track_id, depth from slice order by id",
	       "100|20|a|0|0\n110|40|b|1|0\n130|10|c|1|1\n160|-1|d|0|0\n");
	expect("select name, track_group_id from track order by id", "line|0\nline|0\n");
}

FIXTURE_TEST(a_track_whose_ancestors_end_nowhere_has_no_slices)
{
	add_packet(4, "track_descriptor { uuid: 20 parent_uuid: 99 name: 'orphan' }");
	add_packet(4, "track_descriptor { uuid: 21 parent_uuid: 22 name: 'loop' }");
	add_packet(4, "track_descriptor { uuid: 22 parent_uuid: 21 name: 'loop' }");
	add_track_event(100, 20, 3, "a");
	add_track_event(110, 21, 3, "b");
	add_track_event(120, 23, 3, "unknown tracks are of the machine");
	expect("select ts from slice", "120\n");
	expect("select name, value from stats where name in ('track_hierarchy_missing_uuid', "
	       "'track_event_track_hierarchy_loop') order by name",
	       "track_event_track_hierarchy_loop|3\ntrack_hierarchy_missing_uuid|2\n");
}
