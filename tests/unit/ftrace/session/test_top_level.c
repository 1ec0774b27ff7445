/* SPDX-License-Identifier: Apache-2.0 */
/* FIFOs stand in for the rings of a top level in plain files. */

#include <event2/event.h>

#include "base/event_loop/coroutine.h"
#include "ftrace/session/top_level.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/fake_writer.h"
#include "unit/ftrace/formats.h"

/* A session's side. */
struct side {
	struct setup_errors errors;
	struct ftrace_settings settings;
	struct setup setup;
	struct instance own;
	struct writer *writer;
	struct function_graph graph;
	struct top_level top;
	Pb__FtraceConfig config;
};

static struct side a, b;
static struct event_base *loop;
static int pipe_fd;

static void begin_side(struct side *side)
{
	*side = (struct side){.settings = {.drain_period_ms = 100, .buffer_size_kb = 8192}};
	pb__ftrace_config__init(&side->config);
	side->own = fake_instance();
	side->own.path = strdup(fake_path("instances/x"));
	side->writer = fake_writer_new(4096);
	side->setup = (struct setup){
		.root = fake_root,
		.proc_root = "/nope",
		.config = &side->config,
		.instance = &side->own,
		.errors = &side->errors,
	};
}

static void end_side(struct side *side)
{
	top_level_close(&side->top);
	function_graph_end(&side->graph);
	writer_free(side->writer);
	fake_instance_free(&side->own);
	free(side->own.path);
	setup_errors_deinit(&side->errors);
}

SETUP
{
	static const char *const files[][2] = {
		{"tracing_on", "1\n"},
		{"trace", "markers of before"},
		{"trace_clock", "[local] boot\n"},
		{"buffer_size_kb", "100\n"},
		{"current_tracer", "nop\n"},
		{"available_tracers", "function_graph nop\n"},
		{"set_event", ""},
		{"set_ftrace_filter", ""},
		{"set_ftrace_pid", ""},
		{"set_graph_function", ""},
		{"max_graph_depth", "0\n"},
		{"tracing_cpumask", "3\n"},
		{"instances/x/available_tracers", "function nop\n"},
		{"per_cpu/cpu0/stats", "entries: 0\nnow ts:  1424.957748\nread events: 0\n"},
		{"events/header_page", HEADER_PAGE},
	};

	fake_root_new();
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		fake_text(files[i][0], files[i][1]);
	fake_text("events/ftrace/print/format",
		  format_text("print", 5, FORMAT_COMMON, PRINT_FIELDS));
	fake_text("events/ftrace/funcgraph_entry/format",
		  format_text("funcgraph_entry", 11, FORMAT_COMMON,
			      FIELD("unsigned long func", 8, 8, 0) FIELD("int depth", 16, 4, 1)));
	assert_int_equal(mkfifo(fake_path("per_cpu/cpu0/trace_pipe_raw"), 0600), 0);
	pipe_fd = open(fake_path("per_cpu/cpu0/trace_pipe_raw"), O_RDWR | O_NONBLOCK);
	loop = event_base_new();
	begin_side(&a);
	begin_side(&b);
}

TEARDOWN
{
	end_side(&a);
	end_side(&b);
	event_base_free(loop);
	close(pipe_fd);
	fake_root_remove();
}

static void want(struct event_selection *events, const char *group, const char *name)
{
	assert_int_equal(event_selection_add(events, group, name), 0);
}

static int try_top(struct side *side)
{
	const struct ds_env env = {.loop = loop, .sys_root = "/nowhere"};
	const struct top_level_options o = {
		.setup = &side->setup,
		.settings = &side->settings,
		.env = &env,
		.writer = side->writer,
		.graph = &side->graph,
	};

	return top_level_open(&side->top, &o);
}

static bool open_top(struct side *side)
{
	assert_int_equal(try_top(side), 0);
	return top_level_is_open(&side->top);
}

static bool open_for(struct side *side, const char *event)
{
	want(&side->top.events, "ftrace", event);
	side->config.enable_function_graph = strcmp(event, "print") != 0;
	return open_top(side);
}

static void assert_failed(const struct side *side, const char *text)
{
	assert_non_null(side->errors.failed);
	if (!strstr(side->errors.failed[0], text))
		fail_msg("%s", side->errors.failed[0]);
}

FIXTURE_TEST(which_events)
{
	struct event_selection events = {0};

	want(&events, "sched", "sched_switch");
	want(&events, "ftrace", "print");
	want(&events, "ftrace", "funcgraph_entry");
	want(&events, "other", "print");
	a.config.enable_function_graph = true;
	assert_int_equal(top_level_move_events(&a.top, &events, &a.setup), 0);
	assert_int_equal(events.n, 2);
	assert_true(event_selection_has(&a.top.events, "ftrace", "print"));
	assert_true(event_selection_has(&a.top.events, "ftrace", "funcgraph_entry"));

	/* A kernel whose instances can have them. */
	event_selection_deinit(&a.top.events);
	want(&events, "ftrace", "print");
	want(&events, "ftrace", "funcgraph_entry");
	fake_text("instances/x/options/copy_trace_marker", "0\n");
	fake_text("instances/x/available_tracers", "function_graph nop\n");
	assert_int_equal(top_level_move_events(&a.top, &events, &a.setup), 0);
	assert_int_equal(events.n, 4);
	event_selection_deinit(&events);
	assert_false(open_top(&a)); /* nothing to open */
	assert_null(a.errors.failed);
}

static void open_when_cancelled(void *ctx)
{
	while (coroutine_yield() == 0)
		;
	*(int *)ctx = try_top(&a);
}

FIXTURE_TEST(cancelled)
{
	static const struct coroutine_ops ops = {.run = open_when_cancelled};
	struct coroutine *work;
	int r = 0;

	want(&a.top.events, "ftrace", "print");
	coroutine_start(&work, loop, &ops, &r);
	coroutine_finish(work);
	assert_int_equal(r, -ECANCELED);
	assert_false(top_level_is_open(&a.top));
	assert_string_equal(fake_read("tracing_on"), "1");
}

FIXTURE_TEST(markers)
{
	assert_true(open_for(&a, "print"));
	assert_null(a.errors.failed);
	assert_string_equal(fake_read("tracing_on"), "0");
	assert_string_equal(fake_read("trace"), "");
	assert_string_equal(fake_read("trace_clock"), "boot");
	assert_string_equal(fake_read("buffer_size_kb"), "1408");
	assert_string_equal(fake_read("current_tracer"), "nop\n");
	top_level_start(&a.top);
	assert_string_equal(fake_read("tracing_on"), "1");
	top_level_stop(&a.top);
	assert_string_equal(fake_read("tracing_on"), "0");
	assert_int_equal(top_level_close(&a.top), 0);
	assert_string_equal(fake_read("tracing_on"), "1");
	assert_string_equal(fake_read("trace_clock"), "local");
	assert_string_equal(fake_read("buffer_size_kb"), "100");
}

FIXTURE_TEST(one_reader_for_all)
{
	assert_true(open_for(&a, "print"));
	top_level_start(&a.top);
	fake_text("trace", "markers since");
	assert_true(open_for(&b, "print"));
	assert_ptr_equal(a.top.ring.ring, b.top.ring.ring);
	assert_string_equal(fake_read("trace"), "markers since");
	assert_string_equal(fake_read("tracing_on"), "1");
	top_level_stop(&a.top);
	top_level_close(&a.top);
	assert_string_equal(fake_read("tracing_on"), "1");
	assert_string_equal(fake_read("trace_clock"), "boot");
	top_level_start(&b.top);
	top_level_stop(&b.top);
	assert_string_equal(fake_read("tracing_on"), "0");
	top_level_close(&b.top);
	assert_string_equal(fake_read("tracing_on"), "1");
	assert_string_equal(fake_read("trace_clock"), "local");
}

FIXTURE_TEST(a_ring_that_is_large_already)
{
	fake_text("buffer_size_kb", "4096\n");
	assert_true(open_for(&a, "print"));
	assert_string_equal(fake_read("buffer_size_kb"), "4096\n");
	top_level_close(&a.top);
	/* Unless the config wants to have more. */
	a.config.buffer_size_kb = 8192;
	assert_true(open_for(&a, "print"));
	assert_string_equal(fake_read("buffer_size_kb"), "8192");
	top_level_close(&a.top);
	assert_string_equal(fake_read("buffer_size_kb"), "4096");
}

FIXTURE_TEST(a_top_level_that_is_in_use)
{
	static const struct {
		const char *file, *text, *idle, *why;
	} rows[] = {
		{"set_event", "sched:sched_switch\nirq:x\n", "",
		 "the event sched:sched_switch is enabled"},
		{"current_tracer", "function_graph\n", "nop\n", "current_tracer is function_graph"},
		{"tracing_on", "0\n", "1\n",
		 "the rings contain a stopped recording with 7 records"},
	};

	fake_text("per_cpu/cpu0/stats", "entries: 7\noverrun: 9\n");
	a.setup.proc_root = fake_path("proc");
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		fake_text(rows[i].file, rows[i].text);
		assert_false(open_for(&a, "print"));
		assert_failed(&a, "ftrace/print (tracefs' top level is in use: ");
		assert_failed(&a, rows[i].why);
		setup_errors_deinit(&a.errors);
		assert_string_equal(fake_read("trace"), "markers of before");
		assert_string_equal(fake_read(rows[i].file), rows[i].text);
		fake_text(rows[i].file, rows[i].idle);
	}
	fake_text("proc/123/comm", "someone\n");
	fake_mkdirs(fake_path("proc/123/fd/x"));
	fake_text("trace_pipe", "");
	assert_int_equal(symlink(fake_path("trace_pipe"), fake_path("proc/123/fd/3")), 0);
	a.setup.proc_root = fake_path("proc");
	assert_false(open_for(&a, "print"));
	assert_failed(&a, "someone (pid 123) reads the rings");
	unlink(fake_path("proc/123/fd/3"));
	setup_errors_deinit(&a.errors);
	/* Older kernels lack the file. */
	unlink(fake_path("set_event"));
	if (!open_for(&a, "print"))
		fail_msg("%s", a.errors.failed[0]);
}

FIXTURE_TEST(functions)
{
	char *filters[] = {"vfs_*"};

	a.config.function_filters = filters;
	a.config.n_function_filters = 1;
	want(&a.top.events, "ftrace", "print");
	assert_true(open_for(&a, "funcgraph_entry"));
	assert_null(a.errors.failed);
	assert_string_equal(fake_read("current_tracer"), "function_graph");
	assert_string_equal(fake_read("set_ftrace_filter"), "vfs_*\n");
	assert_string_equal(fake_read("buffer_size_kb"), "8192");
	assert_int_equal(a.top.table.n_events, 2);
	top_level_close(&a.top);
	assert_string_equal(fake_read("current_tracer"), "nop");
	assert_string_equal(fake_read("set_ftrace_filter"), "");
}

/* The markers are there, then, and nothing else. */
FIXTURE_TEST(functions_that_are_not_possible)
{
	char *filters[] = {"a:b"};

	a.config.function_filters = filters;
	a.config.n_function_filters = 1;
	want(&a.top.events, "ftrace", "print");
	assert_true(open_for(&a, "funcgraph_entry"));
	assert_failed(&a, "option:function_filters (a:b");
	assert_string_equal(fake_read("current_tracer"), "nop\n");
	top_level_close(&a.top);

	setup_errors_deinit(&a.errors);
	assert_false(open_for(&a, "funcgraph_entry"));
	assert_string_equal(fake_read("tracing_on"), "1");
}

FIXTURE_TEST(the_tracer_and_other_readers)
{
	assert_true(open_for(&a, "print"));
	assert_false(open_for(&b, "funcgraph_entry"));
	assert_failed(&b, "another recording reads the rings");
	top_level_close(&a.top);
	setup_errors_deinit(&b.errors);
	assert_true(open_for(&b, "funcgraph_entry"));
	assert_false(open_for(&a, "print"));
	assert_failed(&a, "another recording traces functions");
	/* With the same functions both may. */
	setup_errors_deinit(&a.errors);
	assert_true(open_for(&a, "funcgraph_entry"));
	assert_null(a.errors.failed);
}

FIXTURE_TEST(restrictions)
{
	uint32_t tid = 1;

	a.config.tracing_cpumask = (char *)"1";
	a.config.tids_to_trace = &tid;
	a.config.n_tids_to_trace = 1;
	assert_true(open_for(&a, "funcgraph_entry"));
	assert_string_equal(fake_read("tracing_cpumask"), "1");
	assert_string_equal(fake_read("set_ftrace_pid"), "1 ");
	/* No other session may read what lacks records. */
	assert_false(open_for(&b, "funcgraph_entry"));
	assert_failed(&b, "another recording has restricted what");
	top_level_close(&a.top);
	assert_string_equal(fake_read("tracing_cpumask"), "3");
	assert_string_equal(fake_read("set_ftrace_pid"), "");
}

FIXTURE_TEST(triggers_do_not_pause_it)
{
	Pb__FtraceConfig__EventTrigger off = PB__FTRACE_CONFIG__EVENT_TRIGGER__INIT;
	Pb__FtraceConfig__EventTrigger *triggers[] = {&off};

	off.action = PB__FTRACE_CONFIG__EVENT_TRIGGER__ACTION__ACTION_TRACEOFF;
	a.config.event_triggers = triggers;
	a.config.n_event_triggers = 1;
	assert_true(open_for(&a, "print"));
	assert_failed(&a, "option:event_triggers (ftrace/print is recorded at tracefs' top level");
	a.config.n_event_triggers = 0;
}
