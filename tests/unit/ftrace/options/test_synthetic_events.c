// SPDX-License-Identifier: Apache-2.0
/* What a kernel with histograms makes of it is in tests/kernels. */

#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/formats.h"
#include "ftrace/options/synthetic_events.h"

#define RSS_TRIGGER "instances/x/events/kmem/rss_stat/trigger"
#define SUSPEND_TRIGGER "instances/x/events/power/suspend_resume/trigger"

static Pb__FtraceConfig config;
static struct event_selection events;
static struct dynevents made;
static struct setup_errors errors;
static struct instance i;

SETUP
{
	fake_root_new();
	pb__ftrace_config__init(&config);
	fake_text("instances/x/events/kmem/rss_stat/format",
		  format_text(
			  "rss_stat", 7, FORMAT_COMMON,
			  FIELD("unsigned int mm_id", 8, 4, 0) FIELD("unsigned int curr", 12, 4, 0)
				  FIELD("int member", 16, 4, 1) FIELD("long size", 24, 8, 1)));
	fake_text("instances/x/events/power/suspend_resume/format",
		  format_text("suspend_resume", 8, FORMAT_COMMON,
			      FIELD("const char * action", 8, 8, 0) FIELD("int val", 16, 4, 1)
				      FIELD("bool start", 20, 1, 0)));
	fake_text(RSS_TRIGGER, "");
	fake_text(SUSPEND_TRIGGER, "");
	fake_text("synthetic_events", "");
	fake_text("dynamic_events", "");
	i = fake_instance();
	assert_int_equal(event_selection_add(&events, "kmem", "rss_stat"), 0);
}

TEARDOWN
{
	event_selection_deinit(&events);
	dynevents_destroy(&made);
	setup_errors_deinit(&errors);
	fake_instance_free(&i);
	fake_root_remove();
}

static void make(void)
{
	const struct setup s = {
		.root = fake_root, .config = &config, .instance = &i, .errors = &errors};

	assert_int_equal(synthetic_events_make(&events, &s, &made), 0);
}

FIXTURE_TEST(test_throttled)
{
	const struct setup s = {.config = &config};
	struct event_name rss = {.group = "kmem", .name = "rss_stat"};
	char want[256];

	make();
	assert_int_equal(made.n, 0); /* nobody asked */
	config.throttle_rss_stat = 1;
	make();
	assert_int_equal(made.n, 1);
	assert_string_equal(made.events[0]->repr.name, "rss_stat_throttled");
	snprintf(want, sizeof(want),
		 "%s unsigned int mm_id; unsigned int curr; int member; long size",
		 made.events[0]->name);
	assert_string_equal(fake_read("synthetic_events"), want);
	snprintf(want, sizeof(want),
		 "hist:keys=mm_id,member:bucket=size/0x80000:onchange($bucket).%s"
		 "(mm_id,curr,member,size)",
		 made.events[0]->name);
	assert_string_equal(fake_read(RSS_TRIGGER), want);
	assert_int_equal(events.n, 1);
	assert_string_equal(event_name_name(&events.events[0]), "rss_stat_throttled");
	assert_true(synthetic_event_replaces(&made, &s, &rss));
	rss.name = "kmalloc";
	assert_false(synthetic_event_replaces(&made, &s, &rss));
	assert_null(errors.failed);
}

FIXTURE_TEST(test_nothing_to_throttle)
{
	config.throttle_rss_stat = 1;
	event_selection_drop(&events, &events.events[0]);
	make();
	assert_int_equal(made.n, 0);
	assert_null(errors.failed);
}

FIXTURE_TEST(test_asked_for_by_name)
{
	char *requests[] = {"synthetic/rss_stat_throttled", "synthetic:suspend_resume_minimal"};

	assert_true(synthetic_event_requested(requests[0]));
	assert_true(synthetic_event_requested(requests[1]));
	assert_false(synthetic_event_requested("synthetic/other"));
	assert_false(synthetic_event_requested("synthetic/*"));
	assert_false(synthetic_event_requested("rss_stat_throttled"));
	config.ftrace_events = requests;
	config.n_ftrace_events = 2;
	make();
	assert_int_equal(made.n, 2);
	assert_int_equal(events.n, 3); /* kmem/rss_stat was asked for, too */
	assert_non_null(strstr(fake_read(SUSPEND_TRIGGER), "onmatch(power.suspend_resume)"));
	assert_non_null(strstr(fake_read("synthetic_events"), " bool start"));
}

FIXTURE_TEST(test_a_kernel_without)
{
	config.throttle_rss_stat = 1;
	unlink(fake_path("synthetic_events"));
	make();
	assert_int_equal(made.n, 0);
	assert_string_equal(event_name_name(&events.events[0]), "rss_stat");
	assert_string_equal(errors.failed[0],
			    "option:throttle_rss_stat (the kernel has no "
			    "synthetic events; kmem/rss_stat is recorded as it is)");
}

FIXTURE_TEST(test_a_kernel_with_other_fields)
{
	config.throttle_rss_stat = 1;
	fake_text("instances/x/events/kmem/rss_stat/format",
		  format_text("rss_stat", 7, FORMAT_COMMON,
			      FIELD("int member", 16, 4, 1) FIELD("long oversize", 24, 8, 1)));
	make();
	assert_int_equal(made.n, 0);
	assert_non_null(strstr(errors.failed[0], "has no mm_id"));
}

FIXTURE_TEST(test_a_histogram_that_is_refused)
{
	config.throttle_rss_stat = 1;
	unlink(fake_path(RSS_TRIGGER));
	make();
	assert_int_equal(made.n, 0);
	assert_memory_equal(fake_read("dynamic_events"), "-:synthetic/sonda_", 18);
	assert_non_null(strstr(errors.failed[0], "histogram"));
	assert_true(event_selection_has(&events, "kmem", "rss_stat"));
}

FIXTURE_TEST(test_histograms_are_taken_out)
{
	static const char trigger[] =
		"hist:keys=member:vals=hitcount:size=2048 [active]\n"
		"hist:keys=mm_id:size=2048:onchange($bucket).sonda_1_2_3(mm_id) [active]\n"
		"traceon:unlimited\n";
	char path[300];

	fake_text(RSS_TRIGGER, trigger);
	fake_text(SUSPEND_TRIGGER, "# Available triggers:\n# hist\n");
	synthetic_events_release(fake_path("instances/x"));
	snprintf(path, sizeof(path),
		 "%s!hist:keys=mm_id:size=2048:onchange($bucket).sonda_1_2_3(mm_id)", trigger);
	assert_string_equal(fake_read(RSS_TRIGGER), path);
	assert_string_equal(fake_read(SUSPEND_TRIGGER), "# Available triggers:\n# hist\n");
	synthetic_events_release("/nowhere");
}
