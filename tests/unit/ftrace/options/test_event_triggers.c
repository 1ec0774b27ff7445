// SPDX-License-Identifier: Apache-2.0
/* What the kernel itself does with them is in tests/root/test_filters.sh. */

#include <event2/event.h>

#include "base/event_loop/coroutine.h"
#include "ftrace/options/event_triggers.h"
#include "unit/ftrace/setups.h"

static struct event_selection events;
static struct event_triggers triggers;

SETUP
{
	fake_root_new();
	fake_event("sched/sched_switch");
	fake_event("sched/sched_waking");
	fake_event("irq/softirq");
	fake_event("ftrace/print");
	fake_event("ftrace/kernel_stack");
	fake_text("instances/x/options/copy_trace_marker", "0");
}

TEARDOWN
{
	event_triggers_deinit(&triggers);
	event_selection_deinit(&events);
	setup_remove();
}

/* The two of sched and print are selected and have rows. */
static void select_events(const char *config)
{
	char *requests[] = {"sched/*", "print"};

	event_triggers_deinit(&triggers);
	event_selection_deinit(&events);
	setup_begin(config);
	assert_int_equal(event_select(fake_root, requests, 2, &events, &errors), 0);
	assert_int_equal(event_triggers_imply(&events, &setup), 0);
	for (size_t i = 0; i < events.n; i++)
		events.events[i].id = (int)i + 1;
}

static void prepare(const char *config)
{
	select_events(config);
	assert_int_equal(event_triggers_prepare(&events, &setup, &triggers), 0);
}

static void assert_prepared(unsigned i, const char *event, const char *command)
{
	char file[128];

	snprintf(file, sizeof(file), "events/%s/trigger", event);
	assert_true(i < triggers.n);
	assert_string_equal(triggers.list[i].file, file);
	assert_string_equal(triggers.list[i].command, command);
}

FIXTURE_TEST(test_commands)
{
	prepare("event_triggers { event: 'sched_switch' action: ACTION_STACKTRACE }"
		"event_triggers { event: 'sched_waking' action: ACTION_TRACEOFF count: 7 "
		"filter: ' pid == 5 ' }"
		"event_triggers { event: 'irq/softirq' action: ACTION_TRACEON filter: '0' "
		"count: 4294967295 }");
	assert_int_equal(triggers.n, 3);
	assert_prepared(0, "sched/sched_switch", "stacktrace");
	assert_prepared(1, "sched/sched_waking", "traceoff:7 if pid == 5");
	assert_prepared(2, "irq/softirq", "traceon:4294967295");
	assert_int_equal(n_failed(), 0);
	/* Nothing acts yet; the filter was tried, and is gone. */
	assert_string_equal(fake_written("events/sched/sched_waking/trigger"), "");
	assert_string_equal(fake_written("events/sched/sched_waking/filter"), "0");
}

static void prepare_when_cancelled(void *ctx)
{
	while (coroutine_yield() == 0)
		;
	*(int *)ctx = event_triggers_prepare(&events, &setup, &triggers);
}

FIXTURE_TEST(test_cancelled)
{
	static const struct coroutine_ops ops = {.run = prepare_when_cancelled};
	struct event_base *loop = event_base_new();
	struct coroutine *work;
	int r = 0;

	select_events("event_triggers { event: 'softirq' action: ACTION_TRACEOFF }");
	coroutine_start(&work, loop, &ops, &r);
	coroutine_finish(work);
	assert_int_equal(r, -ECANCELED);
	event_base_free(loop);
}

FIXTURE_TEST(test_a_stack_is_an_event)
{
	prepare("event_triggers { event: 'sched_switch' action: ACTION_STACKTRACE }");
	assert_non_null(event_selection_find(&events, "ftrace", "kernel_stack"));
	prepare("event_triggers { event: 'sched_switch' action: ACTION_TRACEOFF }");
	assert_null(event_selection_find(&events, "ftrace", "kernel_stack"));
}

FIXTURE_TEST(test_stacks_of_recorded_events_only)
{
	/* Not of its own stacks either. */
	prepare("event_triggers { event: '*' action: ACTION_STACKTRACE }");
	assert_int_equal(triggers.n, 3);
	assert_prepared(0, "ftrace/print", "stacktrace");
	assert_prepared(1, "sched/sched_switch", "stacktrace");
	assert_prepared(2, "sched/sched_waking", "stacktrace");
	assert_int_equal(n_failed(), 0);

	prepare("event_triggers { event: 'softirq' action: ACTION_STACKTRACE }"
		"event_triggers { event: 'nope' action: ACTION_STACKTRACE }");
	assert_int_equal(triggers.n, 0);
	assert_int_equal(n_failed(), 1);
	assert_string_equal(
		errors.failed[0],
		"option:event_triggers (stacktrace of softirq: the event is not recorded)");
	assert_string_equal(errors.unknown[0], "nope");

	/* One that lost its row. */
	select_events("event_triggers { event: 'sched/*' action: ACTION_STACKTRACE }");
	event_selection_find(&events, "sched", "sched_switch")->id = EVENT_NO_ID;
	assert_int_equal(event_triggers_prepare(&events, &setup, &triggers), 0);
	assert_int_equal(triggers.n, 1);
	assert_prepared(0, "sched/sched_waking", "stacktrace");
}

FIXTURE_TEST(test_stacks_of_what_passes_the_events_filter)
{
	select_events("event_triggers { event: 'sched_switch' action: ACTION_STACKTRACE "
		      "filter: 'b' } "
		      "event_triggers { event: 'sched_switch' action: ACTION_TRACEOFF filter: 'c' }"
		      "event_triggers { event: 'sched_waking' action: ACTION_STACKTRACE }");
	event_selection_find(&events, "sched", "sched_switch")->filter = strdup("a");
	event_selection_find(&events, "sched", "sched_waking")->filter = strdup("d");
	fake_text("instances/x/events/sched/sched_waking/filter", "d");
	assert_int_equal(event_triggers_prepare(&events, &setup, &triggers), 0);
	assert_int_equal(triggers.n, 3);
	assert_prepared(0, "sched/sched_switch", "stacktrace if (a) && (b)");
	assert_prepared(1, "sched/sched_switch", "traceoff if c");
	assert_prepared(2, "sched/sched_waking", "stacktrace if d");
	/* And that is still there. */
	assert_string_equal(fake_written("events/sched/sched_switch/filter"), "a");
	assert_string_equal(fake_written("events/sched/sched_waking/filter"), "d");
}

FIXTURE_TEST(test_of_these_threads_only)
{
	prepare("tids_to_trace: 5 "
		"event_triggers { event: 'sched_switch' action: ACTION_TRACEOFF }"
		"event_triggers { event: 'sched_waking' action: ACTION_TRACEOFF filter: 'a' }");
	assert_prepared(0, "sched/sched_switch", "traceoff if common_pid >= 0");
	assert_prepared(1, "sched/sched_waking", "traceoff if a");
}

/* The kernel gives all markers, and sonda keeps these: so it is with their stacks. */
FIXTURE_TEST(test_stacks_of_markers_of_these_threads)
{
	static const char with_filter[] =
		"event_triggers { event: 'print' action: ACTION_STACKTRACE filter: 'a' }";
	static const char without[] = "event_triggers { event: 'print' action: ACTION_STACKTRACE }";
	char config[256];

	snprintf(config, sizeof(config), "tids_to_trace: [5, 7] %s", without);
	prepare(config);
	assert_prepared(0, "ftrace/print", "stacktrace if common_pid == 5 || common_pid == 7");
	snprintf(config, sizeof(config), "tids_to_trace: [5, 7] %s", with_filter);
	prepare(config);
	assert_prepared(0, "ftrace/print",
			"stacktrace if (common_pid == 5 || common_pid == 7) && (a)");
	/* With children to follow all are kept. */
	snprintf(config, sizeof(config), "tids_to_trace: 5 follow_children: true %s", with_filter);
	prepare(config);
	assert_prepared(0, "ftrace/print", "stacktrace if a");
}

FIXTURE_TEST(test_of_markers_where_they_are_copied)
{
	static const char config[] =
		"event_triggers { event: 'print' action: ACTION_TRACEOFF filter: 'a' }";

	prepare(config);
	assert_prepared(0, "ftrace/print", "traceoff if a");
	/* Once the instance records, and not before. */
	assert_string_equal(fake_written("options/copy_trace_marker"), "0");
	unlink(fake_path("instances/x/options/copy_trace_marker"));
	prepare(config);
	assert_int_equal(triggers.n, 0);
	assert_string_equal(errors.failed[0], "ftrace/print (trigger refused: the kernel has no "
					      "options/copy_trace_marker)");
}

FIXTURE_TEST(test_refused_filters_are_told)
{
	fake_refusal("events/sched/sched_switch/filter");
	prepare("event_triggers { event: 'sched/*' action: ACTION_TRACEOFF filter: 'a' }");
	assert_int_equal(triggers.n, 1);
	assert_prepared(0, "sched/sched_waking", "traceoff if a");
	assert_int_equal(n_failed(), 1);
	assert_string_equal(errors.failed[0],
			    "sched/sched_switch (trigger refused: Is a directory: a)");
}

FIXTURE_TEST(test_what_says_nothing)
{
	prepare("event_triggers { event: 'sched_switch' }"
		"event_triggers { action: ACTION_TRACEOFF }"
		"event_triggers { event: 'sched_switch' action: ACTION_UNSPECIFIED }");
	assert_int_equal(triggers.n, 0);
	assert_int_equal(n_failed(), 3);
	assert_string_equal(errors.failed[0],
			    "option:event_triggers (sched_switch: no action is named)");
	assert_string_equal(errors.failed[1], "option:event_triggers (no event is named)");
}

static int start(void)
{
	return event_triggers_start(&triggers, &instance, &errors);
}

FIXTURE_TEST(test_they_act_from_the_start_to_the_stop)
{
	prepare("event_triggers { event: 'sched_switch' action: ACTION_TRACEOFF count: 2 }"
		"event_triggers { event: 'sched_waking' action: ACTION_TRACEON count: 3 }");
	assert_false(triggers.begin_paused);
	assert_int_equal(start(), 0);
	assert_string_equal(fake_written("tracing_on"), "1");
	assert_string_equal(fake_written("events/sched/sched_switch/trigger"), "traceoff:2");
	assert_string_equal(fake_written("events/sched/sched_waking/trigger"), "traceon:3");

	/* Only what could begin it again has to go. */
	event_triggers_stop(&triggers, &instance);
	assert_string_equal(fake_written("tracing_on"), "0");
	assert_string_equal(fake_written("events/sched/sched_switch/trigger"), "traceoff:2");
	assert_string_equal(fake_written("events/sched/sched_waking/trigger"), "traceon:3!traceon");
}

FIXTURE_TEST(test_a_recording_that_waits_for_its_begin)
{
	prepare("event_triggers { event: 'sched_waking' action: ACTION_TRACEON }");
	assert_true(triggers.begin_paused);
	assert_int_equal(start(), 0);
	assert_string_equal(fake_written("tracing_on"), "0");
	event_triggers_stop(&triggers, &instance);

	/* Nothing would ever begin it. */
	fake_refusal("events/sched/sched_waking/trigger");
	prepare("event_triggers { event: 'sched_waking' action: ACTION_TRACEON }");
	assert_int_equal(start(), 0);
	assert_string_equal(fake_written("tracing_on"), "1");
	assert_int_equal(n_failed(), 1);
	assert_string_equal(errors.failed[0], "sched/sched_waking (trigger refused: Is a "
					      "directory: traceon)");
}

FIXTURE_TEST(test_without_any)
{
	prepare("");
	assert_int_equal(start(), 0);
	assert_string_equal(fake_written("tracing_on"), "1");
	event_triggers_stop(&triggers, &instance);
	assert_string_equal(fake_written("tracing_on"), "0");

	fake_refusal("tracing_on");
	assert_int_equal(start(), -EISDIR);
}
