// SPDX-License-Identifier: Apache-2.0
/* From requests to rows and switches. On a kernel: tests/root/test_filters.sh,
 * test_attached_instance.sh. */

#include "ftrace/options/event_enable.h"
#include "unit/ftrace/setups.h"

static const char switch_fields[] =
	FIELD("long prev_state", 8, 8, 1) FIELD("char next_comm[16]", 16, 16, 0)
		FIELD("pid_t next_pid", 32, 4, 1) FIELD("int next_prio", 36, 4, 1);
static const char one_int[] = FIELD("int a", 8, 4, 1);

static struct event_selection events;
static struct event_table table;

static void forget(void)
{
	event_selection_deinit(&events);
	event_table_deinit(&table);
}

TEARDOWN
{
	forget();
	setup_remove();
}

static void begin(const char *config)
{
	forget();
	setup_begin(config);
	assert_int_equal(event_enable_select(&events, &setup), 0);
}

static void compile(struct event_table_options options)
{
	assert_int_equal(event_enable_compile(&events, &setup, &options, &table), 0);
}

static int id_of(const char *group, const char *name)
{
	const struct event_name *e = event_selection_find(&events, group, name);

	assert_non_null(e);
	return e->id;
}

static bool is_on(const char *event)
{
	char file[128];

	snprintf(file, sizeof(file), "events/%s/enable", event);
	return !strcmp(fake_written(file), "1");
}

/* ---- which ---- */

SETUP
{
	fake_root_new();
}

FIXTURE_TEST(test_events_that_a_session_makes_are_not_looked_for)
{
	fake_formatted_event("irq/softirq_entry", 3, one_int);
	begin("ftrace_events: 'irq/*' ftrace_events: 'synthetic/rss_stat_throttled' "
	      "ftrace_events: 'irq/nosuch'");
	assert_int_equal(events.n, 1);
	assert_string_equal(events.events[0].name, "softirq_entry");
	assert_int_equal(tracefs_list_size(errors.unknown), 1);
	assert_string_equal(errors.unknown[0], "irq/nosuch");
}

/* ---- rows ---- */

FIXTURE_TEST(test_rows)
{
	fake_formatted_event("irq/softirq_entry", 3, FIELD("unsigned int vec", 8, 4, 0));
	fake_formatted_event("mine/event", 4, one_int);
	begin("ftrace_events: 'irq/*' ftrace_events: 'mine/event'");
	compile((struct event_table_options){0});
	assert_int_equal(id_of("irq", "softirq_entry"), 3);
	assert_int_equal(id_of("mine", "event"), 4);
	assert_string_equal(event_table_get(&table, 3)->name, "softirq_entry");
	assert_int_equal(event_table_get(&table, 4)->generic_index, 0);
	assert_true(events.events[0].folder != 0);
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(test_fields_that_a_row_has_no_room_for_are_reported)
{
	static char fields[16000];
	size_t at = 0;

	for (unsigned i = 0; i < 257; i++)
		at += (size_t)snprintf(fields + at, sizeof(fields) - at,
				       "\tfield:u8 f%u;\toffset:%u;\tsize:1;\tsigned:0;\n", i,
				       8 + i);
	fake_formatted_event("mine/event", 4, fields);
	begin("ftrace_events: 'mine/event'");
	compile((struct event_table_options){0});
	assert_int_equal(id_of("mine", "event"), 4);
	assert_int_equal(n_failed(), 1);
	assert_string_equal(errors.failed[0], "mine/event (2 of its fields are not recorded)");
}

FIXTURE_TEST(test_events_that_have_no_row_are_reported)
{
	fake_formatted_event("irq/softirq_entry", 3, FIELD("unsigned int vec", 8, 4, 0));
	fake_formatted_event("mine/event", 4, one_int);
	fake_event("mine/gone");
	fake_event("mine/noise");
	fake_text("instances/x/events/mine/noise/format", "noise");
	begin("ftrace_events: 'irq/*' ftrace_events: 'mine/*'");
	compile((struct event_table_options){.no_generic = true});
	assert_int_equal(id_of("irq", "softirq_entry"), 3);
	assert_int_equal(id_of("mine", "event"), EVENT_NO_ID);
	assert_int_equal(n_failed(), 3);
	assert_string_equal(errors.failed[0], "mine/event (the config disables generic events)");
	assert_string_equal(errors.failed[1], "mine/gone (No such file or directory)");
	assert_string_equal(errors.failed[2], "mine/noise (unexpected format)");
	/* Nor are they switched on. */
	event_enable_all(&events, &setup, &table);
	assert_true(is_on("irq/softirq_entry"));
	assert_false(is_on("mine/event"));
	assert_int_equal(n_failed(), 3);
}

/* ---- columns ---- */

/* What becomes of switches with that config. */
static enum compiled_kind kind_of_switches(const char *config)
{
	struct event_table_options options = {.compact = true};

	begin(config);
	assert_int_equal(event_enable_compile(&events, &setup, &options, &table), 0);
	assert_int_equal(options.compact,
			 event_table_get(&table, 5)->kind == COMPILED_COMPACT_SWITCH);
	return event_table_get(&table, 5)->kind;
}

#define SWITCHES "ftrace_events: 'sched/sched_switch' "
#define TRIGGER(action) "event_triggers { event: 'sched_switch' action: ACTION_" action " } "

/* Who leaves the CPU is not in them, so there are none where a switch may be missing. */
FIXTURE_TEST(test_switches_are_columns_where_none_is_left_out)
{
	fake_formatted_event("sched/sched_switch", 5, switch_fields);
	assert_int_equal(kind_of_switches(SWITCHES), COMPILED_COMPACT_SWITCH);
	assert_int_equal(kind_of_switches(SWITCHES TRIGGER("STACKTRACE")), COMPILED_COMPACT_SWITCH);
	/* Once, for good; and late. */
	assert_int_equal(kind_of_switches(SWITCHES TRIGGER("TRACEOFF")), COMPILED_COMPACT_SWITCH);
	assert_int_equal(kind_of_switches(SWITCHES TRIGGER("TRACEON")), COMPILED_COMPACT_SWITCH);

	assert_int_equal(kind_of_switches(SWITCHES TRIGGER("TRACEOFF") TRIGGER("TRACEON")),
			 COMPILED_FIELDS);
	assert_int_equal(kind_of_switches(SWITCHES "tids_to_trace: 5"), COMPILED_FIELDS);
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(test_switches_with_a_filter_are_no_columns)
{
	struct event_table_options options = {.compact = true};

	fake_formatted_event("sched/sched_switch", 5, switch_fields);
	begin(SWITCHES);
	events.events[0].filter = strdup("next_prio < 100");
	assert_int_equal(event_enable_compile(&events, &setup, &options, &table), 0);
	assert_int_equal(event_table_get(&table, 5)->kind, COMPILED_FIELDS);
}

static enum compiled_kind kind_in_lent(const char *file, const char *text)
{
	struct event_table_options options = {.compact = true};
	int r;

	fake_put(text, "instances/x/%s", file);
	begin(SWITCHES);
	instance.override = (struct override *)&instance;
	r = event_enable_compile(&events, &setup, &options, &table);
	instance.override = NULL;
	assert_int_equal(r, 0);
	return event_table_get(&table, 5)->kind;
}

FIXTURE_TEST(test_an_owner_may_leave_switches_out)
{
	static const char filter[] = "events/sched/sched_switch/filter";

	fake_formatted_event("sched/sched_switch", 5, switch_fields);
	assert_int_equal(kind_in_lent(filter, "none\n"), COMPILED_COMPACT_SWITCH);
	assert_int_equal(kind_in_lent(filter, "next_prio < 100\n"), COMPILED_FIELDS);
	assert_int_equal(kind_in_lent(filter, "none\n"), COMPILED_COMPACT_SWITCH);
	assert_int_equal(kind_in_lent("set_event_pid", ""), COMPILED_COMPACT_SWITCH);
	assert_int_equal(kind_in_lent("set_event_pid", "5\n"), COMPILED_FIELDS);
	assert_int_equal(kind_in_lent("set_event_pid", ""), COMPILED_COMPACT_SWITCH);
	assert_int_equal(kind_in_lent("set_event_notrace_pid", "5\n"), COMPILED_FIELDS);
}

/* Both or none. */
FIXTURE_TEST(test_columns_take_a_format_that_is_known)
{
	fake_formatted_event("sched/sched_switch", 5, switch_fields);
	fake_formatted_event("sched/sched_waking", 6, one_int);
	assert_int_equal(kind_of_switches(SWITCHES "ftrace_events: 'sched/sched_waking'"),
			 COMPILED_FIELDS);
	assert_int_equal(n_failed(), 1);
	assert_string_equal(errors.failed[0],
			    "perfetto/compact_sched (unexpected format of sched_waking)");
	assert_int_equal(event_table_get(&table, 6)->kind, COMPILED_FIELDS);
	/* Of one that nobody asks for it does not matter. */
	assert_int_equal(kind_of_switches(SWITCHES), COMPILED_COMPACT_SWITCH);
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(test_no_columns_without_switches)
{
	struct event_table_options options = {.compact = true};

	fake_formatted_event("sched/sched_waking", 6, one_int);
	begin("ftrace_events: 'sched/sched_waking'");
	assert_int_equal(event_enable_compile(&events, &setup, &options, &table), 0);
	assert_false(options.compact);
	assert_int_equal(n_failed(), 0);
}

/* ---- switches ---- */

FIXTURE_TEST(test_an_event_that_cannot_be_switched_on_loses_its_row)
{
	fake_formatted_event("irq/softirq_entry", 3, FIELD("unsigned int vec", 8, 4, 0));
	fake_formatted_event("irq/softirq_exit", 4, FIELD("unsigned int vec", 8, 4, 0));
	fake_refusal("events/irq/softirq_exit/enable");
	begin("ftrace_events: 'irq/*'");
	compile((struct event_table_options){0});
	event_enable_all(&events, &setup, &table);
	assert_true(is_on("irq/softirq_entry"));
	assert_int_equal(id_of("irq", "softirq_entry"), 3);
	assert_non_null(event_table_get(&table, 3));
	assert_int_equal(id_of("irq", "softirq_exit"), EVENT_NO_ID);
	assert_null(event_table_get(&table, 4));
	assert_int_equal(n_failed(), 1);
	assert_non_null(strstr(errors.failed[0], "irq/softirq_exit ("));
}

/* ftrace/NAME with a row, switched on; gives why it was refused, or "". */
static const char *try_of_ftrace(const char *name)
{
	char event[64], request[96];

	snprintf(event, sizeof(event), "ftrace/%s", name);
	snprintf(request, sizeof(request), "ftrace_events: '%s'", event);
	fake_formatted_event(event, 9, one_int);
	begin(request);
	compile((struct event_table_options){0});
	event_enable_all(&events, &setup, &table);
	assert_false(is_on(event)); /* they have no such switch */
	assert_int_equal(event_table_get(&table, 9) != NULL, n_failed() == 0);
	return n_failed() ? errors.failed[0] : "";
}

FIXTURE_TEST(test_markers_are_copied_where_the_kernel_can)
{
	static const char option[] = "instances/x/options/copy_trace_marker";

	assert_string_equal(try_of_ftrace("print"),
			    "ftrace/print (the kernel has no options/copy_trace_marker)");
	fake_text(option, "0\n");
	assert_string_equal(try_of_ftrace("print"), "");
	/* Once the instance records, and not before. */
	assert_string_equal(fake_read(option), "0\n");
	assert_string_equal(try_of_ftrace("raw_data"), "");
	assert_string_equal(fake_read(option), "0\n");
}

#define NO_TRACER " (the records of a tracer that is not set)"

FIXTURE_TEST(test_records_without_a_switch)
{
	assert_string_equal(try_of_ftrace("kernel_stack"), "");
	assert_string_equal(try_of_ftrace("user_stack"), "");
	assert_string_equal(try_of_ftrace("function"), "ftrace/function" NO_TRACER);
	assert_string_equal(try_of_ftrace("funcgraph_entry"), "ftrace/funcgraph_entry" NO_TRACER);
	assert_string_equal(try_of_ftrace("bprint"), "ftrace/bprint" NO_TRACER);
	fake_text("instances/x/options/trace_printk_dest", "1\n");
	assert_string_equal(try_of_ftrace("bprint"), "");
	assert_string_equal(try_of_ftrace("bputs"), "");
}

FIXTURE_TEST(test_the_tracer_of_functions)
{
	fake_formatted_event("ftrace/funcgraph_entry", 9, one_int);
	begin("ftrace_events: 'ftrace/funcgraph_entry'");
	setup.functions = true;
	compile((struct event_table_options){0});
	event_enable_all(&events, &setup, &table);
	assert_int_equal(n_failed(), 0);
	assert_int_equal(id_of("ftrace", "funcgraph_entry"), 9);
}

TEST(test_which_come_from_where)
{
	assert_true(event_is_marker(&(struct event_name){.group = "ftrace", .name = "raw_data"}));
	assert_false(event_is_marker(&(struct event_name){.group = "mine", .name = "print"}));
	assert_false(event_is_marker(&(struct event_name){.group = "ftrace", .name = "bprint"}));
	assert_true(event_is_printk(&(struct event_name){.group = "ftrace", .name = "bputs"}));
	assert_false(event_is_printk(&(struct event_name){.group = "ftrace", .name = "print"}));
}
