/* SPDX-License-Identifier: Apache-2.0 */
#include <tracefs.h>

#include "config/text.h"
#include "ftrace/events/ftrace_config.h"
#include "unit/test.h"

#define GIB (1ull << 30)

static struct ftrace_settings s;
static struct setup_errors errors;

static int teardown(void **state)
{
	setup_errors_deinit(&errors);
	return 0;
}

/* text NULL: no config at all. */
static void read_config(const char *text, uint64_t ram)
{
	Pb__FtraceConfig *c = NULL;
	struct strbuf syntax = {0};

	setup_errors_deinit(&errors);
	if (text)
		assert_int_equal(text_parse(&pb__ftrace_config__descriptor, "", text, strlen(text),
					    &syntax, (ProtobufCMessage **)&c),
				 0);
	ftrace_settings_read(c, &(struct ftrace_machine){ram, 4}, &s, &errors);
	if (c)
		pb__ftrace_config__free_unpacked(c, NULL);
}

#define FIXTURE_TEST(name) TEST_WITH(name, NULL, teardown)

FIXTURE_TEST(defaults)
{
	for (unsigned i = 0; i < 2; i++) {
		read_config(i ? "" : NULL, 8 * GIB);
		assert_int_equal(s.drain_period_ms, 100);
		assert_int_equal(s.buffer_size_kb, 8192);
		assert_true(s.events.compact);
		assert_false(s.events.no_generic);
		assert_false(s.events.legacy_generic);
		assert_false(s.mono_raw_clock);
		assert_null(errors.failed);
	}
}

/* Rings without a size have one by memory (of 4 CPUs 1/64 of it) and by how frequent events are. */
FIXTURE_TEST(ring_size)
{
	static const struct {
		const char *config;
		uint64_t ram;
		uint32_t kb;
	} rows[] = {
		{"buffer_size_kb: 64", 8 * GIB, 64},
		{"buffer_size_kb: 64 buffer_size_lower_bound: true", 8 * GIB, 8192},
		{"buffer_size_kb: 9000 buffer_size_lower_bound: true", 8 * GIB, 9000},
		{"buffer_size_kb: 524288", 8 * GIB, 524288},
		{"ftrace_events: 'sched/sched_switch'", 8 * GIB, 8192},
		{"", 2 * GIB, 8192},
		{"", 2 * GIB - 1, 4096},
		{"", 1 << 20, 1024},
		/* Frequent events, by a group, a pattern or a name. */
		{"ftrace_events: 'sched/*' ftrace_events: 'raw_syscalls/*'", 8 * GIB, 16384},
		{"ftrace_events: '*'", 8 * GIB, 16384},
		{"ftrace_events: 'sys_enter'", 8 * GIB, 16384},
		{"enable_function_graph: true", 8 * GIB, 16384},
		{"ftrace_events: 'kmem:kmalloc'", 2 * GIB, 8192},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		read_config(rows[i].config, rows[i].ram);
		if (s.buffer_size_kb != rows[i].kb || errors.failed)
			fail_msg("'%s': %u kB", rows[i].config, s.buffer_size_kb);
	}
}

FIXTURE_TEST(subbuffers_and_the_watermark)
{
	read_config("", 8 * GIB);
	assert_int_equal(s.subbuf_size_kb, 0);
	assert_int_equal(s.watermark, 0);
	read_config("subbuf_size_kb: 16 drain_buffer_percent: 50", 8 * GIB);
	assert_int_equal(s.subbuf_size_kb, 16);
	assert_int_equal(s.watermark, 50);
	assert_null(errors.failed);
}

FIXTURE_TEST(drain_period)
{
	read_config("drain_period_ms: 1", GIB);
	assert_int_equal(s.drain_period_ms, 1);
	assert_true(s.period_is_set);
	read_config("drain_period_ms: 60000", GIB);
	assert_int_equal(s.drain_period_ms, 60000);
	read_config("drain_period_ms: 60001", GIB);
	assert_int_equal(s.drain_period_ms, 100);
	assert_false(s.period_is_set);
	assert_string_equal(errors.failed[0],
			    "option:drain_period_ms (60001 is ignored: the range is 1 to 60000)");
	read_config("drain_period_ms: 0", GIB);
	assert_int_equal(s.drain_period_ms, 100);
}

FIXTURE_TEST(switches)
{
	read_config("compact_sched { enabled: true }", GIB);
	assert_true(s.events.compact);
	read_config("compact_sched { enabled: false }", GIB);
	assert_false(s.events.compact);
	read_config("disable_generic_events: true denser_generic_event_encoding: false", GIB);
	assert_true(s.events.no_generic);
	assert_true(s.events.legacy_generic);
	read_config("denser_generic_event_encoding: true use_monotonic_raw_clock: true", GIB);
	assert_false(s.events.legacy_generic);
	assert_true(s.mono_raw_clock);
	assert_false(s.keep_broken_pages);
	read_config("debug_ftrace_abi: true", GIB);
	assert_true(s.keep_broken_pages);
	assert_false(s.events.symbols);
	read_config("symbolize_ksyms: true", GIB);
	assert_true(s.events.symbols);
	assert_null(errors.failed);
}

FIXTURE_TEST(options_that_ask_for_nothing)
{
	read_config(
		"symbolize_ksyms: false print_filter {} instance_name: '' "
		"ksyms_mem_policy: KSYMS_RETAIN initialize_ksyms_synchronously_for_testing: true",
		GIB);
	assert_null(errors.failed);
}

FIXTURE_TEST(fields_of_the_future_are_named)
{
	static const uint8_t bytes[] = {0xc0, 0x3e, 5}; /* field 1000 */
	Pb__FtraceConfig *c = pb__ftrace_config__unpack(NULL, sizeof(bytes), bytes);

	assert_non_null(c);
	ftrace_settings_read(c, &(struct ftrace_machine){GIB, 4}, &s, &errors);
	assert_int_equal(tracefs_list_size(errors.failed), 1);
	assert_string_equal(errors.failed[0], "option:field 1000 (unknown to this version)");
	pb__ftrace_config__free_unpacked(c, NULL);
}

/* ---- reports ---- */

TEST(lists_of_reports)
{
	struct setup_errors r = {0};

	setup_error_add_unknown_event(&r, "sched/nope");
	setup_error_add(&r, "option:%s (%d)", "x", 5);
	setup_error_add(&r, "another");
	setup_error_set_fatal(&r, "first %d", 1);
	setup_error_set_fatal(&r, "second");
	setup_error_set_notice(&r, "100% of it");
	setup_error_set_notice(&r, "and again");
	assert_int_equal(tracefs_list_size(r.unknown), 1);
	assert_string_equal(r.unknown[0], "sched/nope");
	assert_int_equal(tracefs_list_size(r.failed), 2);
	assert_string_equal(r.failed[0], "option:x (5)");
	assert_string_equal(r.fatal, "first 1");
	assert_string_equal(r.notice, "100% of it");
	setup_errors_deinit(&r);
	assert_null(r.unknown);
	setup_errors_deinit(&r);
}

/* What is past the limit is counted. */
TEST(limits_of_reports)
{
	static char longest[5000];
	struct setup_errors r = {0};

	memset(longest, 'x', sizeof(longest) - 1);
	for (unsigned i = 0; i < SETUP_ERRORS_MAX + 50; i++)
		setup_error_add(&r, "%s", longest);
	assert_int_equal(tracefs_list_size(r.failed), SETUP_ERRORS_MAX);
	assert_in_range(strlen(r.failed[0]), 400, 600);
	assert_int_equal(r.failed_more, 50);
	assert_int_equal(r.unknown_more, 0);
	setup_error_add_once(&r, "%s", longest); /* which is in the list */
	setup_error_add_once(&r, "another");
	setup_error_add_unlisted(&r, 7);
	assert_int_equal(r.failed_more, 58);
	for (unsigned i = 0; i < SETUP_ERRORS_MAX + 3; i++)
		setup_error_add_unknown_event(&r, "a/b");
	assert_int_equal(tracefs_list_size(r.unknown), SETUP_ERRORS_MAX);
	assert_int_equal(r.unknown_more, 3);
	setup_errors_deinit(&r);
	assert_int_equal(r.failed_more, 0);
}
