/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's part, that an event made anew is off and its old records gone, is in tests/root. */

#include "ftrace/options/event_filters.h"
#include "ftrace/session/session_refresh.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/fake_writer.h"
#include "unit/ftrace/formats.h"

static struct ftrace_session s;
static struct writer *w;
static Pb__FtraceConfig config;

static const char one_int[] = FIELD("int a", 8, 4, 1);
static const char two_ints[] = FIELD("int a", 8, 4, 1) FIELD("int b", 12, 4, 1);

/* An event in both places, with a directory that is new. */
static void make_dirs(const char *name, unsigned id, const char *fields)
{
	static unsigned made;
	char from[300], to[300];

	snprintf(from, sizeof(from), "%s/instances/x/events/%s", fake_root, name);
	snprintf(to, sizeof(to), "%s/old%u", fake_root, made++);
	rename(from, to); /* so that its number is not given again */
	fake_put("", "events/%s/format", name);
	fake_put(format_text(strchr(name, '/') + 1, id, FORMAT_COMMON, fields),
		 "instances/x/events/%s/format", name);
	fake_put("0\n", "instances/x/events/%s/enable", name);
}

/* And a module, as a sign that something has changed. */
static void make_event(const char *name, unsigned id, const char *fields)
{
	static unsigned modules;

	make_dirs(name, id, fields);
	fake_put("", "sys/module/m%u/x", modules++);
}

static void remove_event(const char *name)
{
	static unsigned removed;
	char from[300], to[300];

	snprintf(from, sizeof(from), "%s/instances/x/events/%s", fake_root, name);
	snprintf(to, sizeof(to), "%s/gone%u", fake_root, removed++);
	assert_int_equal(rename(from, to), 0);
	snprintf(from, sizeof(from), "%s/events/%s", fake_root, name);
	snprintf(to, sizeof(to), "%s/gone%u", fake_root, removed++);
	assert_int_equal(rename(from, to), 0);
	fake_put("", "sys/module/r%u/x", removed);
}

static bool is_on(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "instances/x/events/%s/enable", name);
	return fake_read(path)[0] == '1';
}

static const struct compiled_event *ev(uint16_t id)
{
	return event_table_get(&s.table, id);
}

SETUP
{
	static char *requests[] = {"mod/*", "late/event", "static/event"};
	static char sys[300];

	fake_root_new();
	pb__ftrace_config__init(&config);
	config.n_ftrace_events = 3;
	config.ftrace_events = requests;
	fake_text("tracing_on", "1");
	make_event("static/event", 10, one_int);
	make_event("mod/a", 11, one_int);
	s = (struct ftrace_session){
		.instance = fake_instance(),
		.setup = {.root = fake_root,
			  .config = &config,
			  .instance = &s.instance,
			  .errors = &s.errors},
	};
	w = fake_writer_new(4096);
	assert_int_equal(
		page_encoder_new(&s.table, &(struct ring_page_layout){.size = 4096}, w, &s.encoder),
		0);
	snprintf(sys, sizeof(sys), "%s/sys", fake_root);
	event_watch_begin(&s.watch, fake_root, sys);
	fake_text("sys/module/first/x", "");
	session_refresh(&s);
}

TEARDOWN
{
	page_encoder_free(s.encoder);
	event_table_deinit(&s.table);
	event_selection_deinit(&s.events);
	event_triggers_deinit(&s.triggers);
	setup_errors_deinit(&s.errors);
	fake_instance_free(&s.instance);
	writer_free(w);
	fake_root_remove();
}

FIXTURE_TEST(what_came_is_on)
{
	assert_string_equal(ev(10)->name, "event");
	assert_string_equal(ev(11)->name, "a");
	assert_true(is_on("static/event") && is_on("mod/a"));
	make_event("mod/b", 12, one_int);
	make_event("late/event", 13, two_ints);
	make_event("other/event", 14, one_int);
	session_refresh(&s);
	assert_true(is_on("mod/b") && is_on("late/event"));
	assert_false(is_on("other/event"));
	assert_string_equal(ev(12)->name, "b");
	assert_int_equal(ev(13)->n_ops, 2);
	assert_null(ev(14));
	assert_int_equal(s.events.n, 4);
	assert_null(s.errors.failed);
	assert_null(s.errors.unknown);
}

FIXTURE_TEST(what_went_is_forgotten)
{
	const struct compiled_event *kept = ev(10);

	remove_event("mod/a");
	session_refresh(&s);
	assert_null(ev(11));
	assert_ptr_equal(ev(10), kept);
	assert_int_equal(s.events.n, 1);
	assert_int_equal(s.table.n_events, 1);
	assert_string_equal(s.errors.failed[0], "mod/a (removed while recording)");
	/* It may come back, and bear another id. */
	make_event("mod/a", 15, two_ints);
	session_refresh(&s);
	assert_int_equal(ev(15)->n_ops, 2);
	assert_true(is_on("mod/a"));
}

FIXTURE_TEST(an_id_that_another_event_has_now)
{
	remove_event("mod/a");
	make_event("mod/c", 11, two_ints);
	session_refresh(&s);
	assert_string_equal(ev(11)->name, "c");
	assert_true(is_on("mod/c"));
	assert_int_not_equal(ev(11)->generic_index, ev(10)->generic_index);
}

FIXTURE_TEST(the_same_event_with_other_fields)
{
	make_event("mod/a", 11, two_ints);
	session_refresh(&s);
	assert_int_equal(ev(11)->n_ops, 2);
	assert_true(is_on("mod/a"));
	assert_string_equal(s.errors.failed[0], "mod/a (re-created while recording)");
	/* Made anew just as it was, it is off. */
	make_event("mod/a", 11, two_ints);
	session_refresh(&s);
	assert_int_equal(ev(11)->n_ops, 2);
	assert_true(is_on("mod/a"));
	assert_int_equal(tracefs_list_size(s.errors.failed), 1);
}

/* The list was read before it went, and reads the same again when it is back. */
FIXTURE_TEST(an_event_that_went_while_it_was_looked_for)
{
	fake_text("dynamic_events", "p:late/event vfs_read a=%di\n");
	make_dirs("late/event", 13, one_int);
	session_refresh(&s);
	assert_true(is_on("late/event"));
	remove_event("late/event");
	session_refresh(&s);
	assert_null(ev(13));
	make_dirs("late/event", 13, one_int);
	session_refresh(&s);
	assert_true(is_on("late/event"));
	assert_non_null(ev(13));
}

FIXTURE_TEST(a_module_of_many_events)
{
	make_event("mod/b", 12, one_int);
	make_event("mod/c", 13, one_int);
	session_refresh(&s);
	remove_event("mod/a");
	remove_event("mod/b");
	make_event("mod/c", 13, two_ints);
	session_refresh(&s);
	assert_int_equal(tracefs_list_size(s.errors.failed), 2);
	assert_string_equal(s.errors.failed[0], "mod/* (2 events removed while recording)");
	assert_string_equal(s.errors.failed[1], "mod/c (re-created while recording)");
}

/* Also where hardly a record that was read is in the trace. */
FIXTURE_TEST(an_emptied_ring_is_reported)
{
	struct cpu_stream cpu = {.events = 1, .left_out = 99};

	s.ring.streams = &cpu;
	s.ring.n_streams = 1;
	fake_text("instances/x/per_cpu/cpu0/stats", "entries: 0\nread events: 100\n");
	make_event("mod/b", 12, one_int);
	session_refresh(&s);
	remove_event("mod/a");
	session_refresh(&s);
	assert_string_equal(s.errors.failed[0], "mod/a (removed while recording)");
	assert_false(cpu.gap);
	fake_text("instances/x/per_cpu/cpu0/stats", "entries: 0\nread events: 7\n");
	remove_event("mod/b");
	session_refresh(&s);
	assert_string_equal(s.errors.failed[1],
			    "mod/b (removed while recording; unread records were lost)");
	assert_true(cpu.gap);
}

FIXTURE_TEST(events_that_fail_are_reported_once)
{
	make_event("mod/bad", 16, "\tfield: nonsense\n");
	session_refresh(&s);
	assert_null(ev(16));
	assert_false(is_on("mod/bad"));
	assert_string_equal(s.errors.failed[0], "mod/bad (unexpected format)");
	make_event("mod/good", 17, one_int);
	session_refresh(&s);
	assert_non_null(ev(17));
	assert_int_equal(tracefs_list_size(s.errors.failed), 1);
}

FIXTURE_TEST(filters_count_for_what_came)
{
	Pb__FtraceConfig__EventFilter filter = PB__FTRACE_CONFIG__EVENT_FILTER__INIT;
	Pb__FtraceConfig__EventFilter *filters[] = {&filter};

	filter.event = "mod/*";
	filter.filter = "a == 1";
	config.n_event_filters = 1;
	config.event_filters = filters;
	make_event("mod/b", 12, one_int);
	fake_text("instances/x/events/mod/b/filter", "none\n");
	make_event("mod/nofilter", 18, one_int);
	session_refresh(&s);
	assert_string_equal(fake_read("instances/x/events/mod/b/filter"), "a == 1");
	assert_true(is_on("mod/b"));
	/* Not unfiltered, rather not at all. */
	assert_false(is_on("mod/nofilter"));
	assert_null(ev(18));
	assert_int_equal(tracefs_list_size(s.errors.failed), 1);
	assert_non_null(strstr(s.errors.failed[0], "mod/nofilter (filter refused"));
}

/* Nothing has changed by then but that it can. */
FIXTURE_TEST(what_failed_is_tried_again)
{
	config.n_event_filters =
		EVENT_FILTERS_MAX + 1; /* that there are none of is not looked at */
	make_event("mod/b", 12, one_int);
	session_refresh(&s);
	assert_false(is_on("mod/b"));
	assert_null(ev(12));
	session_refresh(&s);
	assert_int_equal(tracefs_list_size(s.errors.failed), 1);
	assert_string_equal(
		s.errors.failed[0],
		"events that appeared while recording (Argument list too long; sonda retries)");
	config.n_event_filters = 0;
	session_refresh(&s);
	assert_true(is_on("mod/b"));
	assert_non_null(ev(12));
	assert_int_equal(s.events.n, 3);
	assert_int_equal(tracefs_list_size(s.errors.failed), 1);
}

FIXTURE_TEST(strings_of_a_new_module)
{
	fake_text("printk_formats", "0x10 : \"old\"\n");
	assert_int_equal(printk_formats_parse(&s.table.strings, "0x10 : \"old\"\n"), 0);
	fake_text("printk_formats", "0x10 : \"old\"\n0x20 : \"a longer one\"\n");
	make_event("mod/b", 12, one_int);
	session_refresh(&s);
	assert_int_equal(printk_formats_find(&s.table.strings, 0x10)->len, 3);
	/* As long as there is room for it. */
	assert_int_equal(printk_formats_find(&s.table.strings, 0x20)->len, 3);
}

FIXTURE_TEST(while_a_bundle_is_open_nothing_happens)
{
	make_event("mod/b", 12, one_int);
	bundle_begin(&s.encoder->bundle, &(struct bundle_head){.sync = &s.encoder->sync});
	session_refresh(&s);
	assert_null(ev(12));
	bundle_end(&s.encoder->bundle);
	session_refresh(&s);
	assert_non_null(ev(12));
}
