/* SPDX-License-Identifier: Apache-2.0 */
/* What settings.txt cannot say of the enabled events. On a kernel: tests/root/test_filters.sh. */
#include "ftrace/options/event_enable.h"
#include "unit/ftrace/setups.h"

static struct event_selection events;
static struct event_table table;

SETUP
{
	fake_root_new();
}

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

FIXTURE_TEST(more_fields_than_an_event_can_have)
{
	struct event_table_options options = {0};
	static char fields[16000];
	size_t at = 0;

	for (unsigned i = 0; i < 257; i++)
		at += (size_t)snprintf(fields + at, sizeof(fields) - at,
				       "\tfield:u8 f%u;\toffset:%u;\tsize:1;\tsigned:0;\n", i,
				       8 + i);
	fake_formatted_event("mine/event", 4, fields);
	begin("ftrace_events: 'mine/event'");
	assert_int_equal(event_enable_compile(&events, &setup, &options, &table), 0);
	assert_non_null(event_table_get(&table, 4));
	assert_int_equal(n_failed(), 1);
	assert_string_equal(errors.failed[0], "mine/event (2 of its fields are not recorded)");
}

/* In an instance of another process its settings may leave switches out. */
FIXTURE_TEST(columns_in_an_attached_instance)
{
	static const struct {
		const char *file, *text;
		bool columns;
	} rows[] = {
		{"events/sched/sched_switch/filter", "none\n", true},
		{"events/sched/sched_switch/filter", "next_prio < 100\n", false},
		{"events/sched/sched_switch/filter", "none\n", true},
		{"set_event_pid", "", true},
		{"set_event_pid", "5\n", false},
		{"set_event_pid", "", true},
		{"set_event_notrace_pid", "5\n", false},
	};

	fake_formatted_event("sched/sched_switch", 5, SWITCH_FIELDS);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct event_table_options options = {.compact = true};
		int r;

		fake_put(rows[i].text, "instances/x/%s", rows[i].file);
		begin("ftrace_events: 'sched/sched_switch'");
		instance.override = (struct override *)&instance;
		r = event_enable_compile(&events, &setup, &options, &table);
		instance.override = NULL;
		assert_int_equal(r, 0);
		assert_int_equal(event_table_get(&table, 5)->kind,
				 rows[i].columns ? COMPILED_COMPACT_SWITCH : COMPILED_FIELDS);
	}
}
