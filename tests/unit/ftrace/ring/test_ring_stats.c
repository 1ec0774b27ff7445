/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/session/ftrace_stats.h"
#include "gen/fields.h"
#include "unit/ftrace/fake_tracefs.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"

static const char text[] = "entries: 73968\n"
			   "overrun: 18446744073709551615\n"
			   "commit overrun: 3\n"
			   "bytes: 4294967297\n"
			   "oldest event ts:  3114.613493\n"
			   "now ts: 12345678901.721846\n"
			   "dropped events: 5\n"
			   "read events: 4918\n"
			   "something new: 7\n";

TEST(test_counters_of_64_bits)
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

TEST(test_texts_without_counters)
{
	struct ring_stats s = {.cpu = 7, .entries = 1};

	assert_int_equal(ring_stats_parse("", &s), -EINVAL);
	assert_int_equal(ring_stats_parse("hello: 1\nworld", &s), -EINVAL);
	assert_int_equal(s.entries, 1);
	assert_int_equal(ring_stats_parse("read events: 9", &s), 0); /* no line end */
	assert_int_equal(s.read_events, 9);
	assert_int_equal(s.entries, 0);
}

TEST(test_the_packet)
{
	struct ring_stats ring = {.cpu = 3, .entries = 9, .now_ts = 1.5};
	struct ring_stats_all all = {.rings = &ring, .n = 1};
	uint64_t counts[RING_PAGE_STATUS_COUNT] = {
		[RING_PAGE_END_OVERFLOW] = 5, [RING_PAGE_INVALID_EVENT] = 1};
	struct setup_errors errors = {0};
	struct dynevent probe = {.type = DYNEVENT_UPROBE, .repr = {"mine", "read", 0}, .hits = 6};
	struct dynevent synthetic = {.type = DYNEVENT_SYNTHETIC, .repr = {"synthetic", "x", 0}};
	struct dynevents probes = {.events = (struct dynevent *[]){&synthetic, &probe}, .n = 2};
	struct ftrace_stats_packet p = {
		.phase = FTRACE_STATS_END,
		.all = &all,
		.errors = &errors,
		.status_counts = counts,
		.more =
			&(struct ftrace_stats_extra){
				.preserved = true,
				.kprobe_hits = 5,
				.ksyms_parsed = 7,
				.ksyms_kb = 9,
				.probes = &probes,
			},
		.buffer_pages = 2049,
		.requested_pages = 2048,
	};
	static const uint32_t order[] = {
		PB_FTRACE_STATS_PHASE,
		PB_FTRACE_STATS_CPU_STATS,
		PB_FTRACE_STATS_ATRACE_ERRORS,
		PB_FTRACE_STATS_UNKNOWN_FTRACE_EVENTS,
		PB_FTRACE_STATS_FAILED_FTRACE_EVENTS,
		PB_FTRACE_STATS_FAILED_FTRACE_EVENTS,
		PB_FTRACE_STATS_KERNEL_SYMBOLS_PARSED,
		PB_FTRACE_STATS_KERNEL_SYMBOLS_MEM_KB,
		PB_FTRACE_STATS_PRESERVE_FTRACE_BUFFER,
		PB_FTRACE_STATS_KPROBE_STATS,
		PB_FTRACE_STATS_PROBE_STATS,
		PB_FTRACE_STATS_FTRACE_PARSE_ERRORS,
		PB_FTRACE_STATS_FTRACE_PARSE_ERRORS,
		PB_FTRACE_STATS_CPU_BUFFER_SIZE_PAGES,
		PB_FTRACE_STATS_CACHED_CPU_BUFFER_SIZE_PAGES,
	};
	struct pb_field f, stats;
	struct pb_dec d, inner;
	struct pb_mem m;

	setup_error_unknown_event(&errors, "a/b");
	setup_error_add(&errors, "c/d (why)");
	setup_error_add_unlisted(&errors, 57);
	setup_error_fatal(&errors, "none");
	assert_int_equal(pb_mem_init(&m), 0);
	ftrace_stats_write(&p, &m.enc);
	pb_dec_init(&d, m.buf, pb_mem_len(&m));
	assert_true(pb_dec_next(&d, &stats) && stats.id == PB_TRACE_PACKET_FTRACE_STATS);
	pb_dec_init(&d, stats.data, stats.len);
	for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
		assert_true(pb_dec_next(&d, &f));
		assert_int_equal(f.id, order[i]);
		if (i && f.id == PB_FTRACE_STATS_FAILED_FTRACE_EVENTS)
			assert_true(pb_field_is(&f, order[i - 1] == f.id ? "and 57 more"
									 : "c/d (why)"));
		if (f.id == PB_FTRACE_STATS_CPU_STATS) {
			struct pb_field cpu;

			pb_dec_init(&inner, f.data, f.len);
			assert_true(pb_dec_next(&inner, &cpu) && cpu.u64 == 3);
			assert_true(pb_dec_next(&inner, &cpu) && cpu.u64 == 9);
		}
		if (f.id == PB_FTRACE_STATS_KPROBE_STATS) {
			struct pb_field n;

			pb_dec_init(&inner, f.data, f.len);
			assert_true(pb_dec_next(&inner, &n) && n.u64 == 5);
			assert_true(pb_dec_next(&inner, &n) && n.u64 == 0);
		}
		if (f.id == PB_FTRACE_STATS_PROBE_STATS) {
			struct pb_field n;

			pb_dec_init(&inner, f.data, f.len);
			assert_true(pb_dec_next(&inner, &n) && pb_field_is(&n, "mine"));
			assert_true(pb_dec_next(&inner, &n) && pb_field_is(&n, "read"));
			assert_true(pb_dec_next(&inner, &n) && n.u64 == 6);
		}
	}
	assert_false(pb_dec_next(&d, &f));
	setup_errors_deinit(&errors);
	pb_mem_deinit(&m);
}

TEST(test_nothing_more_to_say)
{
	struct ftrace_stats_extra nothing = {0};
	struct ring_stats_all none = {0};
	struct ftrace_stats_packet p = {
		.phase = FTRACE_STATS_START, .all = &none, .more = &nothing};
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	ftrace_stats_write(&p, &m.enc);
	assert_true(pb_mem_len(&m) <= 8); /* phase alone */
	pb_mem_deinit(&m);
}
