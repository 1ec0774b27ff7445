/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/session/ftrace_stats.h"
#include "unit/message_text.h"

static const char text[] = "entries: 73968\n"
			   "overrun: 18446744073709551615\n"
			   "commit overrun: 3\n"
			   "bytes: 4294967297\n"
			   "oldest event ts:  3114.613493\n"
			   "now ts: 12345678901.721846\n"
			   "dropped events: 5\n"
			   "read events: 4918\n"
			   "something new: 7\n";

TEST(counters_of_64_bits)
{
	struct ring_stats s = {.cpu = 7};

	assert_int_equal(ring_stats_parse(text, &s), 0);
	assert_int_equal(s.cpu, 7);
	assert_int_equal(s.entries, 73968);
	assert_true(s.overrun == UINT64_MAX);
	assert_int_equal(s.commit_overrun, 3);
	assert_true(s.bytes == 4294967297);
	assert_int_equal(s.dropped_events, 5);
	assert_int_equal(s.read_events, 4918);
	assert_true(s.oldest_event_ts > 3114.6134 && s.oldest_event_ts < 3114.6136);
	assert_true(s.now_ts > 12345678901.7 && s.now_ts < 12345678901.8);
}

TEST(texts_without_counters)
{
	struct ring_stats s = {.cpu = 7, .entries = 1};

	assert_int_equal(ring_stats_parse("", &s), -EINVAL);
	assert_int_equal(ring_stats_parse("hello: 1\nworld", &s), -EINVAL);
	assert_int_equal(s.entries, 1);
	assert_int_equal(ring_stats_parse("read events: 9", &s), 0); /* no line end */
	assert_int_equal(s.read_events, 9);
	assert_int_equal(s.entries, 0);
}

TEST(stats_have_the_counters_and_reports_of_a_session)
{
	struct ring_stats ring = {.cpu = 3, .entries = 9, .now_ts = 1.5};
	struct ring_stats_all all = {.rings = &ring, .n = 1};
	uint64_t counts[RING_PAGE_STATUS_COUNT] = {
		[RING_PAGE_END_OVERFLOW] = 5, [RING_PAGE_INVALID_EVENT] = 1};
	struct setup_errors errors = {0};
	struct dynevent probe = {.type = DYNEVENT_UPROBE, .repr = {"mine", "read", 0}, .hits = 6};
	struct dynevent synthetic = {.type = DYNEVENT_SYNTHETIC, .repr = {"synthetic", "x", 0}};
	struct dynevents probes = {.events = (struct dynevent *[]){&synthetic, &probe}, .n = 2};
	const struct ftrace_stats_extra extra = {.preserved = true,
						 .kprobe_hits = 5,
						 .ksyms_parsed = 7,
						 .ksyms_kb = 9,
						 .probes = &probes};
	const struct ftrace_stats_packet p = {
		.phase = FTRACE_STATS_END,
		.all = &all,
		.errors = &errors,
		.status_counts = counts,
		.more = &extra,
		.buffer_pages = 2049,
		.requested_pages = 2048,
	};
	struct pb_mem m;

	setup_error_add_unknown_event(&errors, "a/b");
	setup_error_add(&errors, "c/d (why)");
	setup_error_add_unlisted(&errors, 57);
	setup_error_set_fatal(&errors, "none");
	assert_int_equal(pb_mem_init(&m), 0);
	ftrace_stats_write(&p, &m.enc);
	assert_message(
		"TracePacket", m.buf, pb_mem_len(&m),
		"ftrace_stats { phase: 2 cpu_stats { cpu: 3 entries: 9 overrun: 0 commit_overrun: "
		"0 "
		"bytes_read: 0 oldest_event_ts: 0 now_ts: 1.5 dropped_events: 0 read_events: 0 } "
		"atrace_errors: 'none' unknown_ftrace_events: 'a/b' failed_ftrace_events: 'c/d "
		"(why)' "
		"failed_ftrace_events: 'and 57 more' kernel_symbols_parsed: 7 "
		"kernel_symbols_mem_kb: 9 "
		"preserve_ftrace_buffer: 1 kprobe_stats { hits: 5 misses: 0 } "
		"probe_stats { group: 'mine' name: 'read' hits: 6 misses: 0 } ftrace_parse_errors: "
		"15 "
		"ftrace_parse_errors: 17 cpu_buffer_size_pages: 2049 cached_cpu_buffer_size_pages: "
		"2048 }");
	setup_errors_deinit(&errors);
	pb_mem_deinit(&m);
}

TEST(stats_without_counters_have_their_phase_only)
{
	const struct ftrace_stats_packet p = {.phase = FTRACE_STATS_START,
					      .all = &(struct ring_stats_all){0},
					      .more = &(struct ftrace_stats_extra){0}};
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	ftrace_stats_write(&p, &m.enc);
	assert_message("TracePacket", m.buf, pb_mem_len(&m), "ftrace_stats { phase: 1 }");
	pb_mem_deinit(&m);
}
