/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces made by hand, a few packets each, and what SQL says of them: the expected rows are those
 * of trace_processor 55.3 for the same packets, or of 58 if they differ.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "analyze/import/import.h"
#include "analyze/store/store_open.h"
#include "analyze/tables/database.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "unit/test.h"

#define LIMIT_BYTES (64u << 20)

/* ---- packets ---- */

static void put_varint(struct strbuf *b, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		strbuf_putc(b, (char)(v | 0x80));
	strbuf_putc(b, (char)v);
}

static void put_u64(struct strbuf *b, uint32_t field, uint64_t v)
{
	put_varint(b, (uint64_t)field << 3);
	put_varint(b, v);
}

static void put_bytes(struct strbuf *b, uint32_t field, const void *s, size_t len)
{
	put_varint(b, (uint64_t)field << 3 | 2);
	put_varint(b, len);
	strbuf_add(b, s, len);
}

/* Moves the inner message into the outer one. */
static void put_message(struct strbuf *b, uint32_t field, struct strbuf *inner)
{
	put_bytes(b, field, inner->s, inner->len);
	strbuf_deinit(inner);
}

static void put_packet(struct strbuf *trace, uint32_t sequence, uint32_t field,
		       struct strbuf *payload)
{
	struct strbuf p = {0};

	put_message(&p, field, payload);
	put_u64(&p, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence);
	put_message(trace, PB_TRACE_PACKET, &p);
}

static void put_kernel(struct strbuf *trace, const char *release)
{
	struct strbuf info = {0}, name = {0};
	struct utsname here;

	uname(&here); /* names of system calls are known for this machine */
	put_bytes(&name, PB_UTSNAME_RELEASE, release, strlen(release));
	put_bytes(&name, PB_UTSNAME_MACHINE, here.machine, strlen(here.machine));
	put_message(&info, PB_SYSTEM_INFO_UTSNAME, &name);
	put_packet(trace, 1, PB_TRACE_PACKET_SYSTEM_INFO, &info);
}

static void put_event(struct strbuf *bundle, uint64_t ts, int tid, uint32_t field,
		      struct strbuf *event)
{
	struct strbuf e = {0};

	put_u64(&e, PB_FTRACE_EVENT_TIMESTAMP, ts);
	put_u64(&e, PB_FTRACE_EVENT_PID, (uint64_t)tid);
	put_message(&e, field, event);
	put_message(bundle, PB_FTRACE_EVENT_BUNDLE_EVENT, &e);
}

static void put_switch(struct strbuf *bundle, uint64_t ts, int prev, uint64_t state, int next)
{
	struct strbuf e = {0};

	put_bytes(&e, PB_SCHED_SWITCH_FTRACE_EVENT_PREV_COMM, "p", 1);
	put_u64(&e, PB_SCHED_SWITCH_FTRACE_EVENT_PREV_PID, (uint64_t)prev);
	put_u64(&e, PB_SCHED_SWITCH_FTRACE_EVENT_PREV_STATE, state);
	put_bytes(&e, PB_SCHED_SWITCH_FTRACE_EVENT_NEXT_COMM, "n", 1);
	put_u64(&e, PB_SCHED_SWITCH_FTRACE_EVENT_NEXT_PID, (uint64_t)next);
	put_u64(&e, PB_SCHED_SWITCH_FTRACE_EVENT_NEXT_PRIO, 120);
	put_event(bundle, ts, prev, PB_FTRACE_EVENT_SCHED_SWITCH, &e);
}

static void put_line(struct strbuf *bundle, uint64_t ts, int tid, const char *line)
{
	struct strbuf e = {0};

	put_bytes(&e, PB_PRINT_FTRACE_EVENT_BUF, line, strlen(line));
	put_event(bundle, ts, tid, PB_FTRACE_EVENT_PRINT, &e);
}

static void put_print(struct strbuf *bundle, uint64_t ts, int tid)
{
	put_line(bundle, ts, tid, "text");
}

static void put_call(struct strbuf *bundle, uint64_t ts, int tid, bool enter, uint64_t number)
{
	struct strbuf e = {0};

	put_u64(&e, PB_SYS_ENTER_FTRACE_EVENT_ID, number);
	put_event(bundle, ts, tid, enter ? PB_FTRACE_EVENT_SYS_ENTER : PB_FTRACE_EVENT_SYS_EXIT,
		  &e);
}

static void put_new_task(struct strbuf *bundle, uint64_t ts, int by, int tid, uint64_t flags)
{
	struct strbuf e = {0};

	put_u64(&e, PB_TASK_NEWTASK_FTRACE_EVENT_PID, (uint64_t)tid);
	put_bytes(&e, PB_TASK_NEWTASK_FTRACE_EVENT_COMM, "kid", 3);
	put_u64(&e, PB_TASK_NEWTASK_FTRACE_EVENT_CLONE_FLAGS, flags);
	put_event(bundle, ts, by, PB_FTRACE_EVENT_TASK_NEWTASK, &e);
}

static void put_free(struct strbuf *bundle, uint64_t ts, int tid)
{
	struct strbuf e = {0};

	put_u64(&e, PB_SCHED_PROCESS_FREE_FTRACE_EVENT_PID, (uint64_t)tid);
	put_event(bundle, ts, tid, PB_FTRACE_EVENT_SCHED_PROCESS_FREE, &e);
}

/* A packet with a process tree of one process. */
static void put_process(struct strbuf *trace, uint64_t ts, int pid, int ppid, const char *name)
{
	struct strbuf process = {0}, tree = {0}, p = {0};

	put_u64(&process, PB_PROCESS_TREE_PROCESS_PID, (uint64_t)pid);
	put_u64(&process, PB_PROCESS_TREE_PROCESS_PPID, (uint64_t)ppid);
	put_bytes(&process, PB_PROCESS_TREE_PROCESS_CMDLINE, name, strlen(name));
	put_message(&tree, PB_PROCESS_TREE_PROCESSES, &process);
	put_message(&p, PB_TRACE_PACKET_PROCESS_TREE, &tree);
	put_u64(&p, PB_TRACE_PACKET_TIMESTAMP, ts);
	put_u64(&p, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, 3);
	put_message(trace, PB_TRACE_PACKET, &p);
}

static struct strbuf bundle_of(uint32_t cpu)
{
	struct strbuf b = {0};

	put_u64(&b, PB_FTRACE_EVENT_BUNDLE_CPU, cpu);
	return b;
}

/* ---- answers ---- */

/* Runs the statement on the trace; rows are lines, columns are separated by '|', NULL is "-". */
static void expect(const struct strbuf *trace, const char *sql, const char *expected)
{
	struct trace_bytes bytes = {.data = malloc(trace->len + 1), .len = trace->len};
	struct strbuf got = {0};
	struct import_result result;
	sqlite3_stmt *st;
	struct store s;
	sqlite3 *db;

	assert_non_null(bytes.data);
	if (trace->len)
		memcpy(bytes.data, trace->s, trace->len);
	store_init(&s, LIMIT_BYTES);
	assert_int_equal(trace_import(&s, bytes, &result), 0);
	assert_int_equal(database_open(&s, &db), 0);
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	strbuf_puts(&got, "");
	while (sqlite3_step(st) == SQLITE_ROW)
		for (int i = 0, n = sqlite3_column_count(st); i < n; i++) {
			const char *text = (const char *)sqlite3_column_text(st, i);

			strbuf_printf(&got, "%s%s", text ? text : "-", i == n - 1 ? "\n" : "|");
		}
	sqlite3_finalize(st);
	sqlite3_close(db);
	store_deinit(&s);
	assert_string_equal(got.s ? got.s : "", expected);
	strbuf_deinit(&got);
}

/* flags: -1 for a producer that does not write them. */
static void put_waking(struct strbuf *bundle, uint64_t ts, int tid, int woken, int flags)
{
	struct strbuf e = {0};

	put_bytes(&e, PB_SCHED_WAKING_FTRACE_EVENT_COMM, "w", 1);
	put_u64(&e, PB_SCHED_WAKING_FTRACE_EVENT_PID, (uint64_t)woken);
	if (flags >= 0)
		put_u64(&e, PB_SCHED_WAKING_FTRACE_EVENT_COMMON_FLAGS, (uint64_t)flags);
	put_event(bundle, ts, tid, PB_FTRACE_EVENT_SCHED_WAKING, &e);
}

TEST(a_waking_out_of_columns_says_whether_an_interrupt_woke_the_thread)
{
	struct strbuf t = {0}, b = bundle_of(0);

	put_switch(&b, 10, 0, 0, 11);
	put_waking(&b, 20, 11, 12, 0x81);
	put_waking(&b, 30, 11, 13, 0x08);
	put_waking(&b, 40, 11, 14, 0x11);
	put_waking(&b, 50, 11, 15, -1);
	put_packet(&t, 1, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	expect(&t, "SELECT ts, irq_context FROM thread_state WHERE state = 'R' ORDER BY ts",
	       "20|0\n30|1\n40|1\n50|-\n");
	expect(&t, "SELECT ts, common_flags FROM ftrace_event ORDER BY ts",
	       "10|0\n20|129\n30|8\n40|17\n50|0\n");
	expect(&t, "SELECT count(*) FROM args WHERE key = 'common_flags'", "0\n");
	strbuf_deinit(&t);
}

/* Of a recording of the thread 11 and its children: 50 and 52 leave their CPUs unseen. */
static struct strbuf some_switches(void)
{
	struct strbuf t = {0}, a = bundle_of(0), b = bundle_of(1);

	put_switch(&a, 10, 0, 0, 11);
	put_new_task(&a, 15, 11, 12, 0x10000);
	put_switch(&a, 20, 11, 1, 50);
	put_switch(&a, 40, 51, 0, 11);
	put_switch(&a, 60, 11, 1, 52);
	put_switch(&b, 50, 12, 1, 50);
	put_switch(&b, 55, 50, 0, 12);
	put_process(&t, 5, 11, 1, "p");
	put_packet(&t, 1, PB_TRACE_PACKET_FTRACE_EVENTS, &a);
	put_packet(&t, 1, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	return t;
}

static void put_config_of_thread(struct strbuf *trace, uint64_t tid)
{
	struct strbuf ftrace = {0}, source = {0}, sources = {0}, config = {0};

	put_u64(&ftrace, PB_FTRACE_CONFIG_TIDS_TO_TRACE, tid);
	put_message(&source, PB_DATA_SOURCE_CONFIG_FTRACE_CONFIG, &ftrace);
	put_message(&sources, PB_TRACE_CONFIG_DATA_SOURCE_CONFIG, &source);
	put_message(&config, PB_TRACE_CONFIG_DATA_SOURCES, &sources);
	put_packet(trace, 1, PB_TRACE_PACKET_TRACE_CONFIG, &config);
}

TEST(a_thread_that_is_not_recorded_never_runs_to_the_end)
{
	static const char sched[] = "SELECT ts, tid, dur FROM sched JOIN thread USING (utid) "
				    "ORDER BY ts";
	static const char states[] = "SELECT ts, tid, dur FROM thread_state JOIN thread USING "
				     "(utid) WHERE state = 'Running' ORDER BY ts";
	struct strbuf t = some_switches();

	/* Without a config they may have run. */
	expect(&t, sched, "10|11|10\n20|50|-1\n40|11|20\n50|50|5\n55|12|-1\n60|52|-1\n");
	expect(&t, states, "10|11|10\n20|50|30\n40|11|20\n50|50|5\n55|12|-1\n60|52|-1\n");
	put_config_of_thread(&t, 11);
	expect(&t, sched, "10|11|10\n20|50|0\n40|11|20\n50|50|5\n55|12|-1\n60|52|0\n");
	expect(&t, states, "10|11|10\n20|50|0\n40|11|20\n50|50|5\n55|12|-1\n60|52|0\n");
	strbuf_deinit(&t);
}

TEST(a_recording_of_no_thread_that_is_there_has_no_end_of_runs)
{
	struct strbuf t = some_switches();

	put_config_of_thread(&t, 99);
	expect(&t, "SELECT count(*) FROM sched WHERE dur < 0", "0\n");
	strbuf_deinit(&t);
}

TEST(equal_times_of_two_cpus_come_in_bursts)
{
	struct strbuf t = {0}, a = bundle_of(0), b = bundle_of(1), c = bundle_of(0);

	put_print(&a, 5, 11);
	put_print(&b, 10, 12);
	put_print(&b, 20, 12);
	put_print(&c, 20, 11);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &a);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &c);
	expect(&t,
	       "select ts, tid from ftrace_event join thread using (utid) order by ftrace_event.id",
	       "5|11\n10|12\n20|12\n20|11\n");
	strbuf_deinit(&t);
}

static void put_mismatch(struct strbuf *t, uint64_t first_state)
{
	struct strbuf b = bundle_of(0);

	put_switch(&b, 100, 10, first_state, 20);
	put_switch(&b, 200, 20, 1, 30);
	put_switch(&b, 300, 99, 2, 40);
	put_switch(&b, 400, 40, 0, 0);
	put_packet(t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
}

TEST(a_switch_from_another_thread_leaves_the_slice_open)
{
	struct strbuf t = {0};

	put_kernel(&t, "6.1.0");
	put_mismatch(&t, 1);
	expect(&t, "select ts, dur, end_state from sched order by id",
	       "100|100|S\n200|-1|-\n300|100|R\n400|-1|-\n");
	expect(&t, "select value from stats where name = 'mismatched_sched_switch_tids'", "1\n");
	expect(&t, "select state, dur from thread_state join thread using (utid) where tid = 30",
	       "Running|-1\n");
	expect(&t, "select state, s.ts from thread_state s join thread using (utid) where tid = 99",
	       "D|300\n");
	expect(&t, "select group_concat(tid) from (select tid from thread order by utid)",
	       "0,20,10,30,40,99\n");
	strbuf_deinit(&t);
}

TEST(letters_of_states_depend_on_the_kernel)
{
	struct strbuf t = {0}, u = {0};

	put_kernel(&t, "6.1.0");
	put_mismatch(&t, 0x100);
	expect(&t, "select state from thread_state join thread using (utid) where tid = 10",
	       "R+\n");
	put_mismatch(&u, 0x100);
	expect(&u, "select state from thread_state join thread using (utid) where tid = 10", "W\n");
	strbuf_deinit(&t);
	strbuf_deinit(&u);
}

TEST(a_thread_gets_the_process_of_its_creator)
{
	struct strbuf t = {0}, b = bundle_of(0);

	put_new_task(&b, 10, 30, 31, 0x10000);
	put_new_task(&b, 20, 20, 30, 0);
	put_new_task(&b, 30, 30, 32, 0x10000);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	expect(&t,
	       "select tid, upid is null, is_main_thread from thread where tid > 30 order by utid",
	       "31|1|-\n32|0|0\n");
	expect(&t, "select pid, name, start_ts from process where pid = 30", "30|kid|20\n");
	strbuf_deinit(&t);
}

TEST(the_creator_of_a_process_replaces_the_parent_of_its_tree)
{
	static const char processes[] =
		"select p.upid, p.pid, p.name, p.start_ts, p.end_ts, p.parent_upid, q.pid "
		"from process p left join process q on q.upid = p.parent_upid order by p.upid";
	struct strbuf t = {0}, u = {0}, b = bundle_of(0);

	/* The tree sees the process at its end, and its creator after that. */
	put_new_task(&b, 10, 20, 30, 0);
	put_free(&b, 17, 30);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	put_process(&t, 15, 30, 0, "bash");
	put_process(&t, 20, 20, 1, "sh");
	expect(&t, processes,
	       "0|0|-|-|-|-|-\n1|30|bash|10|17|3|20\n2|1|-|-|-|-|-\n3|20|sh|-|-|2|1\n");

	/* The pid is used again before the creators are known. A later tree has another parent of
	 * the process, which is the same process. */
	b = bundle_of(0);
	put_new_task(&b, 10, 20, 30, 0);
	put_free(&b, 17, 30);
	put_new_task(&b, 18, 21, 30, 0);
	put_packet(&u, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	put_process(&u, 15, 30, 0, "bash");
	put_process(&u, 20, 20, 1, "sh");
	put_process(&u, 21, 30, 7, "x");
	put_process(&u, 22, 21, 20, "y");
	put_process(&u, 23, 30, 20, "z");
	expect(&u, processes,
	       "0|0|-|-|-|-|-\n1|30|bash|10|17|4|20\n2|30|z|18|-|6|21\n3|1|-|-|-|-|-\n"
	       "4|20|sh|-|-|3|1\n5|7|-|-|-|-|-\n6|21|y|-|-|4|20\n");
	expect(&u, "select value from stats where name = 'process_tracker_parent_pid_changed'",
	       "1\n");
	strbuf_deinit(&t);
	strbuf_deinit(&u);
}

TEST(a_full_switch_before_the_data_of_all_cpus_makes_no_row)
{
	struct strbuf t = {0}, a = bundle_of(1), b = bundle_of(0);

	put_u64(&a, PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP, 1200);
	put_print(&a, 1300, 11);
	put_switch(&b, 1100, 10, 1, 20);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &a);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	expect(&t, "select (select count(*) from ftrace_event), (select count(*) from sched)",
	       "1|0\n");
	expect(&t, "select extract_metadata('ftrace_latest_data_start_ns')", "1200\n");
	strbuf_deinit(&t);
}

TEST(arguments_of_an_event_are_found_by_its_set)
{
	struct strbuf t = {0}, b = bundle_of(0);

	put_switch(&b, 100, 10, 1, 20);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	expect(&t,
	       "select key, value_type, display_value from ftrace_event join args using "
	       "(arg_set_id) order by args.id",
	       "prev_comm|string|p\nprev_pid|int|10\nprev_prio|int|0\nprev_state|int|1\nnext_comm|"
	       "string|n\n"
	       "next_pid|int|20\nnext_prio|int|120\n");
	expect(&t,
	       "select extract_arg(arg_set_id, 'next_pid'), extract_arg(arg_set_id, 'none') from "
	       "ftrace_event",
	       "20|-\n");
	strbuf_deinit(&t);
}

TEST(a_described_event_without_fields_has_no_arguments)
{
	struct strbuf t = {0}, b = bundle_of(0), description = {0}, e = {0}, field = {0};
	static const char descriptor[] = "\n\004mine"; /* DescriptorProto.name */

	put_u64(&description, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID, 65540);
	put_bytes(&description, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR,
		  descriptor, strlen(descriptor));
	put_message(&b, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS, &description);
	/* A message that could be a GenericFtraceEvent. */
	put_bytes(&field, PB_GENERIC_FTRACE_EVENT_FIELD_NAME, "key", 3);
	put_u64(&field, PB_GENERIC_FTRACE_EVENT_FIELD_INT_VALUE, 7);
	put_message(&e, PB_GENERIC_FTRACE_EVENT_FIELD, &field);
	put_event(&b, 100, 10, 65540, &e);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	expect(&t, "select name, extract_arg(arg_set_id, 'key') from ftrace_event", "mine|-\n");
	strbuf_deinit(&t);
}

static void put_clock(struct strbuf *snapshot, uint64_t clock, uint64_t ts, bool incremental)
{
	struct strbuf c = {0};

	put_u64(&c, PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, clock);
	put_u64(&c, PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, ts);
	put_u64(&c, PB_CLOCK_SNAPSHOT_CLOCK_IS_INCREMENTAL, incremental);
	put_message(snapshot, PB_CLOCK_SNAPSHOT_CLOCKS, &c);
}

static void put_instant(struct strbuf *trace, uint64_t ts, uint64_t clock, const char *name)
{
	struct strbuf event = {0}, p = {0};

	put_u64(&event, PB_TRACK_EVENT_TYPE, 3);
	put_bytes(&event, PB_TRACK_EVENT_NAME, name, strlen(name));
	put_u64(&event, PB_TRACK_EVENT_TRACK_UUID, 0);
	put_message(&p, PB_TRACE_PACKET_TRACK_EVENT, &event);
	put_u64(&p, PB_TRACE_PACKET_TIMESTAMP, ts);
	put_u64(&p, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, clock);
	put_u64(&p, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, 2);
	put_u64(&p, PB_TRACE_PACKET_SEQUENCE_FLAGS, 1);
	put_message(trace, PB_TRACE_PACKET, &p);
}

TEST(a_time_that_is_not_converted_does_not_move_its_clock)
{
	struct strbuf t = {0}, machine = {0}, own = {0}, both = {0};

	put_clock(&machine, 6, 1000, false);
	put_clock(&machine, 3, 500, false);
	put_packet(&t, 1, PB_TRACE_PACKET_CLOCK_SNAPSHOT, &machine);
	put_clock(&own, 64, 100, true);
	put_clock(&own, 65, 5, false);
	put_packet(&t, 2, PB_TRACE_PACKET_CLOCK_SNAPSHOT, &own);
	put_instant(&t, 10, 64, "before");
	put_clock(&both, 65, 5, false);
	put_clock(&both, 6, 2000, false);
	put_packet(&t, 2, PB_TRACE_PACKET_CLOCK_SNAPSHOT, &both);
	put_instant(&t, 20, 64, "after");
	expect(&t, "select ts, name from slice order by ts", "2020|after\n2030|before\n");
	strbuf_deinit(&t);
}

TEST(markers_nest_and_bind_their_thread)
{
	struct strbuf t = {0}, b = bundle_of(0);

	put_line(&b, 10, 21, "B|20|outer|more\n");
	put_line(&b, 20, 21, "B|20|");
	put_line(&b, 30, 21, "E");
	put_line(&b, 40, 21, "I|20|now");
	put_line(&b, 50, 21, "E|20");
	put_line(&b, 60, 21, "C|20|depth|-7");
	put_line(&b, 70, 21, "B|20|open");
	put_line(&b, 80, 21, "no marker");
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	expect(&t,
	       "select s.ts, s.dur, s.name, s.depth, p.name from slice s left join slice p on p.id "
	       "= s.parent_id",
	       "10|40|outer|more|0|-\n20|10|[empty slice "
	       "name]|1|outer|more\n40|0|now|1|outer|more\n70|-1|open|0|-\n");
	expect(&t, "select tid, pid from thread join process using (upid) where tid = 21",
	       "21|20\n");
	expect(&t,
	       "select value, t.name, pid from counter c join process_counter_track t on t.id = "
	       "c.track_id"
	       " join process using (upid)",
	       "-7.0|depth|20\n");
	expect(&t, "select value from stats where name = 'systrace_parse_failure'", "1\n");
	strbuf_deinit(&t);
}

TEST(a_marker_ends_the_write_that_carries_it)
{
	struct strbuf t = {0}, b = bundle_of(0);

	put_kernel(&t, "6.1.0");
	put_call(&b, 1000, 20, true, SYS_write);
	put_line(&b, 1010, 20, "B|20|at");
	put_call(&b, 1020, 20, false, SYS_write);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	expect(&t, "select ts, dur, depth from slice order by id", "1000|10|0\n1010|-1|0\n");
	expect(&t, "select value from stats where name = 'truncated_sys_write_duration'", "1\n");
	strbuf_deinit(&t);
}

TEST(times_and_ids_are_found_without_a_scan_and_are_the_same_rows)
{
	struct strbuf t = {0}, b = bundle_of(0);

	for (uint64_t i = 0; i < 9000; i++)
		put_print(&b, UINT64_C(4294960000) + i * 2, 10 + (int)(i % 3));
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	expect(&t,
	       "select count(*), sum(+ts > 4294967300 and +ts <= 4294967310) = (select count(*) "
	       "from ftrace_event"
	       " where ts > 4294967300 and ts <= 4294967310) from ftrace_event",
	       "9000|1\n");
	expect(&t, "select count(*) from ftrace_event where ts = 4294967302", "1\n");
	expect(&t, "select count(*) from ftrace_event where ts = 4294967301", "0\n");
	expect(&t,
	       "select count(*), min(utid), max(utid) from ftrace_event where utid = 2 and ts < "
	       "4294967296",
	       "1216|2|2\n");
	expect(&t, "select ts from ftrace_event order by ts desc limit 2",
	       "4294977998\n4294977996\n");
	expect(&t, "select ts from ftrace_event where id = 5000", "4294970000\n");
	expect(&t, "select count(*) from ftrace_event where ts >= 4294977990.5", "4\n");
	strbuf_deinit(&t);
}

TEST(kernel_events_are_found_by_their_names)
{
	struct strbuf t = {0}, b = bundle_of(0);

	put_switch(&b, 100, 10, 1, 20);
	put_print(&b, 200, 20);
	put_call(&b, 300, 20, true, 0);
	put_print(&b, 400, 20);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	expect(&t, "select ts from ftrace_event where name = 'print'", "200\n400\n");
	expect(&t, "select ts from ftrace_event where name = 'print' order by ts desc",
	       "400\n200\n");
	expect(&t, "select ts from ftrace_event where name = 'print' and ts > 200", "400\n");
	expect(&t, "select ts from ftrace_event where name in ('sched_switch', 'sys_enter')",
	       "100\n300\n");
	expect(&t,
	       "select count(*) from ftrace_event where name = 'nothing' or name = 5 or name is "
	       "null or name = 'PRINT'",
	       "0\n");
	expect(&t, "select ts from ftrace_event where name = 'PRINT' collate nocase", "200\n400\n");
	expect(&t, "select ts from ftrace_event where id = 3 and name = 'print'", "400\n");
	expect(&t, "select count(*) from ftrace_event where id = 2 and name = 'print'", "0\n");
	strbuf_deinit(&t);
}

TEST(an_import_over_its_limit_ends_with_an_error)
{
	struct strbuf t = {0}, b = bundle_of(0);
	struct import_result result;
	struct trace_bytes bytes;
	struct store s;

	for (uint64_t i = 0; i < 20000; i++)
		put_print(&b, i, 11);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	bytes = (struct trace_bytes){.len = t.len};
	bytes.data = (uint8_t *)strbuf_take(&t);
	store_init(&s, 700000);
	assert_int_equal(trace_import(&s, bytes, &result), -EFBIG);
	store_deinit(&s);
}

TEST(a_file_that_is_cut_off_gives_its_whole_packets)
{
	struct strbuf t = {0}, a = bundle_of(0), b = bundle_of(0);

	put_print(&a, 5, 11);
	put_print(&b, 6, 11);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &a);
	put_packet(&t, 2, PB_TRACE_PACKET_FTRACE_EVENTS, &b);
	t.len -= 3;
	expect(&t, "select count(*) from ftrace_event", "1\n");
	strbuf_deinit(&t);
}

/* ---- track events ---- */

static void put_track_event(struct strbuf *trace, uint64_t ts, uint64_t track, unsigned type,
			    const char *name)
{
	struct strbuf e = {0}, p = {0};

	put_u64(&e, PB_TRACK_EVENT_TYPE, type);
	put_u64(&e, PB_TRACK_EVENT_TRACK_UUID, track);
	if (name)
		put_bytes(&e, PB_TRACK_EVENT_NAME, name, strlen(name));
	put_message(&p, PB_TRACE_PACKET_TRACK_EVENT, &e);
	put_u64(&p, PB_TRACE_PACKET_TIMESTAMP, ts);
	put_u64(&p, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, 4);
	put_message(trace, PB_TRACE_PACKET, &p);
}

static void put_track(struct strbuf *trace, uint64_t uuid, uint64_t parent, const char *name)
{
	struct strbuf d = {0};

	put_u64(&d, PB_TRACK_DESCRIPTOR_UUID, uuid);
	if (parent)
		put_u64(&d, PB_TRACK_DESCRIPTOR_PARENT_UUID, parent);
	put_bytes(&d, PB_TRACK_DESCRIPTOR_NAME, name, strlen(name));
	put_packet(trace, 4, PB_TRACE_PACKET_TRACK_DESCRIPTOR, &d);
}

TEST(slices_of_one_track_name_share_rows_that_are_free)
{
	struct strbuf t = {0};

	put_track(&t, 20, 0, "line");
	put_track(&t, 21, 0, "line");
	put_track_event(&t, 100, 20, 1, "a");
	put_track_event(&t, 110, 21, 1, "b");
	put_track_event(&t, 120, 20, 2, NULL);
	put_track_event(&t, 130, 21, 1, "c");
	put_track_event(&t, 140, 21, 2, NULL);
	put_track_event(&t, 150, 21, 2, NULL);
	put_track_event(&t, 160, 20, 1, "d");
	expect(&t, "select ts, dur, name, track_id, depth from slice order by id",
	       "100|20|a|0|0\n110|40|b|1|0\n130|10|c|1|1\n160|-1|d|0|0\n");
	expect(&t, "select name, track_group_id from track order by id", "line|0\nline|0\n");
	strbuf_deinit(&t);
}

TEST(a_track_whose_ancestors_end_nowhere_has_no_slices)
{
	struct strbuf t = {0};

	put_track(&t, 20, 99, "orphan");
	put_track(&t, 21, 22, "loop");
	put_track(&t, 22, 21, "loop");
	put_track_event(&t, 100, 20, 3, "a");
	put_track_event(&t, 110, 21, 3, "b");
	put_track_event(&t, 120, 23, 3, "unknown tracks are of the machine");
	expect(&t, "select ts from slice", "120\n");
	expect(&t,
	       "select name, value from stats where name in ('track_hierarchy_missing_uuid', "
	       "'track_event_track_hierarchy_loop') order by name",
	       "track_event_track_hierarchy_loop|3\ntrack_hierarchy_missing_uuid|2\n");
	strbuf_deinit(&t);
}
