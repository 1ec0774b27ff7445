/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/refusals.h"
#include "unit/proto_text.h"
#include "unit/test.h"

static void add(struct name_list *l, const char *text)
{
	name_list_add(l, (const uint8_t *)text, strlen(text));
}

static void check_options(const char *ftrace, const char *entry, enum refused_options expected)
{
	struct ftrace_scan s = {0};
	Pb__TraceConfig *config;
	char text[512];

	snprintf(text, sizeof(text),
		 "data_sources { config { name: 'linux.ftrace' ftrace_config { %s } } }", ftrace);
	config = (Pb__TraceConfig *)proto_parse(&pb__trace_config__descriptor, text);
	add(&s.failed, entry);
	assert_int_equal(refused_options(config, &s), expected);
	name_list_deinit(&s.failed);
	pb__trace_config__free_unpacked(config, NULL);
}

#define FILTER(event) "event_filters { event: '" event "' filter: 'x == 1' } "
#define WRONG_FILTER "sched/a (filter refused: Field not found at character 2: x^ == 1)"

TEST(a_filter_that_no_event_accepts_is_wrong)
{
	check_options(FILTER("sched/a"), WRONG_FILTER, OPTIONS_WRONG);
	check_options(FILTER("a"), WRONG_FILTER, OPTIONS_WRONG);
	check_options(FILTER("a"), "sched/ab (filter refused: no)", OPTIONS_ACCEPTED);
	check_options(FILTER("a"), "sched/a (filter refused: Permission denied)", OPTIONS_REFUSED);
}

TEST(a_filter_that_some_event_accepts_is_not)
{
	check_options(FILTER("sched/a") FILTER("sched/b"), WRONG_FILTER, OPTIONS_ACCEPTED);
	check_options(FILTER("sched/*"), WRONG_FILTER, OPTIONS_ACCEPTED);
	check_options("ftrace_events: 'sched/a'", "sched/a (out of memory)", OPTIONS_ACCEPTED);
}

TEST(probes_and_tracers_count_by_themselves)
{
	check_options("", "option:kprobe_events (the kernel has no kprobe_events)",
		      OPTIONS_REFUSED);
	check_options("",
		      "option:uprobe_events (Failed to find the given file at character 5: "
		      "p:x ^/no:0x1)",
		      OPTIONS_WRONG);
	check_options("", "option:uprobe_events ('/a:main' is not a place in a program)",
		      OPTIONS_WRONG);
	check_options("uprobe_events: 'p:g/past /a:0x1'", "g/past (no instruction)",
		      OPTIONS_REFUSED);
	check_options("uprobe_events: 'p:past /a:0x1'", "uprobes/past (limited by 3)",
		      OPTIONS_ACCEPTED);
	check_options("", "option:event_triggers (none)", OPTIONS_ACCEPTED);
}

#define STACKS "data_sources { config { name: 'linux.perf' } }"
#define COUNTERS "data_sources { config { name: 'linux.sys_stats' } }"
#define NAMES "data_sources { config { name: 'linux.process_stats' } }"

static void check_sources(const char *text, bool from_words, const struct name_list *missing,
			  const char *unread, const char *some, const char *all)
{
	Pb__TraceConfig *config =
		(Pb__TraceConfig *)proto_parse(&pb__trace_config__descriptor, text);
	struct trace_scan scan = {0};
	struct record_facts f = {
		.config = config, .scan = &scan, .sources = missing, .from_words = from_words};
	struct err_text why;

	add(&scan.sources.unread, unread);
	why.text[0] = '\0';
	assert_int_equal(refusals_find_sources(&f, false, &why), some != NULL);
	assert_string_equal(why.text, some ? some : "");
	assert_int_equal(refusals_find_sources(&f, true, &why), all != NULL);
	name_list_deinit(&scan.sources.unread);
	pb__trace_config__free_unpacked(config, NULL);
}

TEST(sources_that_recorded_nothing)
{
	static const char denied[] = "linux.perf: perf_event_open: Permission denied";
	struct name_list missing = {0};

	check_sources(STACKS, true, NULL, denied, denied, denied);
	check_sources(STACKS NAMES, true, NULL, denied, denied, denied);
	/* A config asks for names by itself. */
	check_sources(STACKS NAMES, false, NULL, denied, denied, NULL);
	check_sources(STACKS COUNTERS, true, NULL, denied, denied, NULL);
	check_sources(COUNTERS, true, NULL, "/proc/vmstat: Permission denied", NULL, NULL);
	add(&missing, "linux.sys_stats");
	check_sources(STACKS COUNTERS, true, &missing, "",
		      "no producer provides the data source 'linux.sys_stats'", NULL);
	check_sources(COUNTERS, false, &missing, "", NULL, NULL);
	name_list_deinit(&missing);
}
