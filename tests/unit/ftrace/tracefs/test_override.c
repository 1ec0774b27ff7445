/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/tracefs/override.h"
#include "ftrace/tracefs/undo_log.h"
#include "unit/ftrace/busy_writes.h"
#include "unit/ftrace/fake_tracefs.h"

static const char *root(void)
{
	return fake_path("t");
}

static const char *records(void)
{
	return fake_path("s");
}

static int try_loan(const char *place, struct override **ret, struct err_text *e)
{
	return override_new(
		&(struct override_target){.root = root(), .subdir = place, .state = records()}, ret,
		e);
}

static struct override * override(const char *place)
{
	struct override *l;

	assert_int_equal(try_loan(place, &l, NULL), 0);
	return l;
}

SETUP
{
	fake_root_new();
	fake_text("t/tracing_on", "0\n");
	fake_text("t/trace_clock", "[local] boot\n");
	fake_text("t/current_tracer", "nop\n");
	fake_text("t/set_event_pid", "");
	fake_text("t/set_ftrace_filter", "#### all functions enabled ####\n");
	fake_text("t/events/a/b/enable", "0\n");
	fake_text("t/events/a/c/enable", "1\n");
	fake_text("t/events/a/b/filter", "none\n");
	fake_text("t/events/a/b/trigger", "");
}

static const char *reads(const char *file)
{
	char name[128];

	snprintf(name, sizeof(name), "t/%s", file);
	return fake_read(name);
}

TEARDOWN
{
	fake_root_remove();
}

FIXTURE_TEST(settings_are_restored)
{
	struct override *l = override("");

	assert_int_equal(override_write(l, "tracing_on", "1"), 0);
	assert_int_equal(override_write(l, "trace_clock", "local"), 0); /* it is */
	assert_int_equal(override_write(l, "events/a/b/enable", "1"), 0);
	assert_int_equal(override_write(l, "events/a/c/enable", "1"), 0);
	assert_int_equal(override_write(l, "events/a/b/filter", "x == 1"), 0);
	assert_int_equal(override_write(l, "events/a/b/filter", "x == 2"), 0);
	assert_int_equal(override_write(l, "nope", "1"), -ENOENT);
	assert_string_equal(reads("tracing_on"), "1");
	assert_string_equal(reads("trace_clock"), "[local] boot\n");
	assert_false(override_has_changed(l, "trace_clock"));
	assert_string_equal(reads("events/a/c/enable"), "1\n");
	assert_string_equal(reads("events/a/b/filter"), "x == 2");
	assert_null(override_refused_file(l));
	override_free(l);
	assert_string_equal(reads("tracing_on"), "0");
	assert_string_equal(reads("events/a/b/enable"), "0");
	assert_string_equal(reads("events/a/c/enable"), "1\n");
	assert_string_equal(reads("events/a/b/filter"), "0");
	assert_int_equal(access(fake_path("s/top-level"), F_OK), -1);
	assert_null(override_free(NULL));
}

FIXTURE_TEST(what_others_change_meanwhile_stays)
{
	struct override *l = override("");

	assert_int_equal(override_write(l, "trace_clock", "boot"), 0);
	assert_int_equal(override_write(l, "tracing_on", "1"), 0);
	fake_text("t/trace_clock", "local boot [tai]\n");
	override_free(l);
	assert_string_equal(reads("trace_clock"), "local boot [tai]\n");
	assert_string_equal(reads("tracing_on"), "0");
}

FIXTURE_TEST(the_last_one_puts_back)
{
	struct override *a = override(""), *b = override("");

	assert_int_equal(override_write(a, "events/a/b/enable", "1"), 0);
	assert_true(override_is_held_by_others(b, "events/a/b/enable"));
	assert_false(override_is_held_by_others(a, "events/a/b/enable"));
	assert_true(override_has_changed(a, "events/a/b/enable"));
	assert_false(override_has_changed(b, "events/a/b/enable"));
	assert_int_equal(override_write(b, "events/a/b/enable", "1"), 0);
	assert_false(override_has_changed(a, "events/a/b/enable"));
	assert_int_equal(override_write(a, "tracing_on", "0"), 0);
	assert_int_equal(override_write(b, "tracing_on", "1"), 0);
	assert_int_equal(override_write(a, "tracing_on", "1"), 0);
	override_release(a, "tracing_on");
	assert_string_equal(reads("tracing_on"), "1");
	override_free(a);
	assert_false(override_is_held_by_others(b, "events/a/b/enable"));
	assert_true(override_has_changed(b, "events/a/b/enable"));
	assert_string_equal(reads("events/a/b/enable"), "1");
	assert_string_equal(reads("tracing_on"), "1");
	override_release(b, "tracing_on");
	assert_string_equal(reads("tracing_on"), "0");
	override_free(b);
	assert_string_equal(reads("events/a/b/enable"), "0");
}

FIXTURE_TEST(one_value_for_all)
{
	struct override *a = override(""), *b = override("");

	assert_int_equal(override_write(a, "current_tracer", "function_graph"), 0);
	assert_int_equal(override_write(b, "current_tracer", "function_graph"), 0);
	assert_int_equal(override_write(b, "current_tracer", "function"), -EBUSY);
	assert_string_equal(override_refused_file(b), "current_tracer");
	assert_int_equal(override_write(a, "current_tracer", "function"), -EBUSY);
	assert_string_equal(reads("current_tracer"), "function_graph");
	/* A setting that had the wanted value is held, too. */
	assert_int_equal(override_write(a, "trace_clock", "local"), 0);
	assert_int_equal(override_write(b, "trace_clock", "boot"), -EBUSY);
	override_free(a);
	assert_int_equal(override_write(b, "trace_clock", "boot"), 0);
	assert_int_equal(override_write(b, "current_tracer", "function"), 0);
	override_free(b);
	assert_string_equal(reads("current_tracer"), "nop");
	assert_string_equal(reads("trace_clock"), "local");
}

FIXTURE_TEST(a_filter_excludes_other_sessions)
{
	struct override *a = override(""), *b = override(""), *c;
	struct err_text e;

	assert_int_equal(override_write(a, "events/a/b/filter", "x == 1"), -EBUSY);
	assert_int_equal(override_save(a, "set_event_pid", NULL), -EBUSY);
	override_free(b);
	assert_int_equal(override_write(a, "events/a/b/filter", "x == 1"), 0);
	assert_int_equal(try_loan("", &c, &e), -EBUSY);
	assert_non_null(strstr(e.text, "events/a/b/filter"));
	/* Another place is another matter. */
	fake_text("t/instances/x/tracing_on", "1\n");
	c = override("instances/x");
	assert_false(override_is_held_by_others(c, "events/a/b/filter"));
	override_free(c);

	/* Who reads no records there does not mind. */
	assert_int_equal(override_new(&(struct override_target){.root = root(),
								.subdir = "",
								.reads_nothing = true},
				      &c, NULL),
			 0);
	assert_int_equal(override_write(a, "set_event_pid", "1"), 0);
	override_free(a);
	a = override("");
	assert_int_equal(override_write(a, "events/a/b/filter", "x == 1"), 0);
	override_free(c);
	override_free(a);
}

FIXTURE_TEST(a_session_that_joins_keeps_the_settings)
{
	struct override *a = override(""), *b = override("");

	assert_int_equal(override_write(a, "trace_clock", "boot"), 0);
	assert_int_equal(override_write(a, "current_tracer", "nop"), 0); /* it is */
	assert_int_equal(override_write(a, "events/a/b/enable", "1"), 0);
	override_join(b);
	override_free(a);
	assert_string_equal(reads("trace_clock"), "boot");
	assert_string_equal(reads("events/a/b/enable"), "0");
	override_free(b);
	assert_string_equal(reads("trace_clock"), "local");
}

FIXTURE_TEST(lists)
{
	struct override *a = override(""), *b = override("");

	assert_int_equal(override_append(a, "set_ftrace_filter", "x\n"), -EBUSY); /* not begun */
	assert_int_equal(override_write(a, "set_ftrace_filter", ""), 0);
	fake_text("t/set_ftrace_filter", ""); /* the comment is the kernel's */
	assert_int_equal(override_append(a, "set_ftrace_filter", "x\n"), 0);
	assert_int_equal(override_append(a, "set_ftrace_filter", "y\n"), 0);
	assert_string_equal(reads("set_ftrace_filter"), "x\ny\n");
	assert_int_equal(override_write(b, "set_ftrace_filter", "x\n"), -EBUSY);
	assert_int_equal(override_append(b, "set_ftrace_filter", "x\n"), -EBUSY);
	assert_int_equal(override_write(b, "set_ftrace_filter", "x\ny\n"), 0);
	override_free(a);
	assert_string_equal(reads("set_ftrace_filter"), "x\ny\n");
	override_free(b);
	assert_string_equal(reads("set_ftrace_filter"), "");
}

/* The other session goes on, so the record on disk is written anew. */
static struct override *release_busy_clock(void)
{
	struct override *a = override(""), *b = override("");

	assert_int_equal(override_write(a, "trace_clock", "boot"), 0);
	assert_int_equal(override_write(b, "tracing_on", "1"), 0);
	busy_text = "local";
	override_free(a);
	busy_text = NULL;
	fake_text("t/trace_clock", "boot");
	assert_non_null(strstr(fake_read("s/top-level"), "[local] boot"));
	return b;
}

FIXTURE_TEST(a_setting_that_is_busy_is_restored_later)
{
	override_free(release_busy_clock());
	assert_string_equal(reads("trace_clock"), "local");
	assert_int_equal(access(fake_path("s/top-level"), F_OK), -1);
}

FIXTURE_TEST(a_setting_that_was_busy_may_be_changed)
{
	struct override *b, *c;

	fake_text("t/trace_clock", "[local] boot\n");
	b = release_busy_clock();
	c = override("");
	assert_int_equal(override_write(c, "trace_clock", "tai"), 0);
	assert_string_equal(reads("trace_clock"), "tai");
	assert_int_equal(override_write(b, "trace_clock", "boot"), -EBUSY);
	override_free(c);
	assert_string_equal(reads("trace_clock"), "local");
	override_free(b);
}

FIXTURE_TEST(a_saved_list_is_restored)
{
	struct override *a = override("");

	assert_int_equal(override_save(a, "set_event_pid", NULL), 0);
	fake_text("t/set_event_pid", "1\n2\n");
	assert_int_equal(override_save(a, "set_event_pid", NULL), 0);
	override_free(a);
	assert_string_equal(reads("set_event_pid"), "");
}

FIXTURE_TEST(triggers_are_added)
{
	struct override *a = override("");

	assert_int_equal(override_write(a, "events/a/b/trigger", "stacktrace"), 0);
	assert_int_equal(override_write(a, "events/a/b/trigger", "traceoff"), 0);
	assert_string_equal(reads("events/a/b/trigger"), "stacktracetraceoff");
	fake_text("t/events/a/b/trigger", "");
	override_free(a);
	assert_string_equal(reads("events/a/b/trigger"), "!traceoff!stacktrace");
}

FIXTURE_TEST(nothing_is_changed_where_it_cannot_be)
{
	struct override *a = override("");

	/* Root may write to what cannot be written; a directory is one of the few things it
	 * cannot. */
	mkdir(fake_path("t/directory"), 0755);
	assert_int_equal(override_write(a, "directory", "1"), -EACCES);
	override_free(a);
	assert_int_equal(access(fake_path("s/top-level"), F_OK), -1);
}

FIXTURE_TEST(settings_of_a_killed_process_are_rolled_back)
{
	pid_t pid = fork();
	struct override *a;
	int status;

	if (pid == 0) {
		a = override("");
		if (override_write(a, "tracing_on", "1") ||
		    override_write(a, "trace_clock", "boot") ||
		    override_write(a, "events/a/c/enable", "1") ||
		    override_write(a, "events/a/b/trigger", "stacktrace"))
			_exit(1);
		fake_text("t/trace_clock", "local [boot]\n");
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	/* Plain files do not read as the kernel's would: not "local [boot]" after "boot". */
	fake_text("t/trace_clock", "boot");
	fake_text("t/events/a/b/trigger", "");
	assert_int_equal(undo_logs_roll_back(records(), root()), 1);
	assert_string_equal(reads("tracing_on"), "0");
	assert_string_equal(reads("events/a/c/enable"), "1\n");
	assert_string_equal(reads("events/a/b/trigger"), "!stacktrace");
}

FIXTURE_TEST(without_records)
{
	struct override *l;

	assert_int_equal(
		override_new(&(struct override_target){.root = root(), .subdir = ""}, &l, NULL), 0);
	assert_int_equal(override_write(l, "tracing_on", "1"), 0);
	override_free(l);
	assert_string_equal(reads("tracing_on"), "0");
	assert_int_equal(access(records(), F_OK), -1);
}

FIXTURE_TEST(sixty_four_sessions_share_a_directory)
{
	struct override *all[64], *more;
	struct err_text e;

	for (size_t i = 0; i < 64; i++) {
		all[i] = override("");
		assert_int_equal(override_write(all[i], "tracing_on", "1"), 0);
	}
	assert_int_equal(try_loan("", &more, &e), -EBUSY);
	override_free(all[7]);
	all[7] = override("");
	assert_false(override_has_changed(all[7], "tracing_on"));
	for (size_t i = 0; i < 64; i++) {
		assert_string_equal(reads("tracing_on"), "1");
		override_free(all[i]);
	}
	assert_string_equal(reads("tracing_on"), "0");
}
