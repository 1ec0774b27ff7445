// SPDX-License-Identifier: Apache-2.0
/* In plain files, which take any function; what a kernel takes is in tests/kernels/guest. */

#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/options/function_graph.h"
#include "ftrace/tracefs/override.h"

static struct setup_errors errors;
static struct instance own;
static struct function_graph graph;
static Pb__FtraceConfig config;
static struct setup s;

static void put_place(const char *folder)
{
	static const struct {
		const char *file, *text;
	} files[] = {
		{"tracing_on", "0\n"},
		{"available_tracers", "blk function_graph function nop\n"},
		{"current_tracer", "nop\n"},
		{"set_ftrace_filter", "#### all functions enabled ####\n"},
		{"set_ftrace_pid", "no pid\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		fake_put(files[i].text, "%s%s", folder, files[i].file);
}

SETUP
{
	fake_root_new();
	put_place("");
	put_place("instances/x/");
	fake_text("set_graph_function", "#### all functions enabled ####\n");
	fake_text("max_graph_depth", "0\n");
	fake_text("events/ftrace/funcgraph_entry/format", "");
	fake_text("events/ftrace/funcgraph_exit/format", "");
	own = fake_instance();
	own.path = strdup(fake_path("instances/x"));
	graph = (struct function_graph){0};
	pb__ftrace_config__init(&config);
	config.enable_function_graph = config.has_enable_function_graph = true;
	s = (struct setup){
		.root = fake_root, .config = &config, .instance = &own, .errors = &errors};
}

TEARDOWN
{
	function_graph_end(&graph);
	fake_instance_free(&own);
	free(own.path);
	setup_errors_deinit(&errors);
	fake_root_remove();
}

static void assert_reported(const char *text)
{
	for (char **at = errors.failed; at && *at; at++)
		if (strstr(*at, text))
			return;
	fail_msg("not reported: %s; but %s", text, errors.failed ? errors.failed[0] : "nothing");
}

FIXTURE_TEST(test_events)
{
	struct event_selection events = {0};

	assert_int_equal(function_graph_select(&events, &s), 0);
	assert_int_equal(events.n, 2);
	assert_true(event_is_funcgraph(&events.events[0]));
	assert_int_equal(event_selection_add(&events, "sched", "sched_switch"), 0);
	assert_int_equal(event_selection_add(&events, "ftrace", "print"), 0);
	function_graph_deselect(&events);
	assert_int_equal(events.n, 2);
	assert_true(event_selection_has(&events, "ftrace", "print"));
	event_selection_deinit(&events);
	assert_true(instance_has_tracer(&own, "function_graph"));
	assert_null(errors.failed);

	fake_text("instances/x/available_tracers", "function nop\n");
	assert_false(instance_has_tracer(&own, "function_graph"));
	fake_text("available_tracers", "blk function_graph_old nop\n");
	assert_int_equal(function_graph_select(&events, &s), 0);
	assert_int_equal(events.n, 0);
	assert_reported("no such tracer; it has: blk function_graph_old nop");
}

FIXTURE_TEST(test_not_asked_for)
{
	struct event_selection events = {0};

	config.enable_function_graph = false;
	config.function_graph_max_depth = 3;
	assert_int_equal(function_graph_select(&events, &s), 0);
	assert_int_equal(events.n, 0);
	assert_reported("function_graph_max_depth (enable_function_graph is not set)");
}

FIXTURE_TEST(test_all_of_it)
{
	char *filters[] = {"vfs_*", "do_sys_open"}, *roots[] = {"vfs_read"};

	config.function_filters = filters;
	config.n_function_filters = 2;
	config.function_graph_roots = roots;
	config.n_function_graph_roots = 1;
	config.function_graph_max_depth = 3;
	assert_int_equal(function_graph_set(&graph, &s), 0);
	assert_null(errors.failed);
	assert_string_equal(fake_read("instances/x/set_ftrace_filter"), "vfs_*\ndo_sys_open\n");
	assert_string_equal(fake_read("instances/x/current_tracer"), "function_graph");
	assert_string_equal(fake_read("set_graph_function"), "vfs_read\n");
	assert_string_equal(fake_read("max_graph_depth"), "3");
	assert_string_equal(fake_read("current_tracer"), "nop\n");
	function_graph_end(&graph);
	assert_string_equal(fake_read("set_graph_function"), "");
	assert_string_equal(fake_read("max_graph_depth"), "0");
}

FIXTURE_TEST(test_names_that_are_none)
{
	char *filters[] = {"vfs_read:traceoff", "two words", "", "!vfs_read", "vfs_*", "#x"};

	config.function_filters = filters;
	config.n_function_filters = 6;
	assert_int_equal(function_graph_set(&graph, &s), 0);
	assert_reported("vfs_read:traceoff: a colon would make it a command");
	assert_reported("two words: not the name");
	assert_reported("!vfs_read: not the name");
	assert_string_equal(fake_read("instances/x/set_ftrace_filter"), "vfs_*\n");
}

/* Without any filter that counts it would be all functions. */
FIXTURE_TEST(test_nothing_is_left)
{
	char *filters[] = {"a:b"};

	config.function_filters = filters;
	config.n_function_filters = 1;
	assert_true(function_graph_set(&graph, &s) < 0);
	assert_reported("would trace all functions");
	assert_string_equal(fake_read("instances/x/current_tracer"), "nop\n");

	setup_errors_deinit(&errors);
	config.n_function_filters = 0;
	config.function_graph_roots = filters;
	config.n_function_graph_roots = 1;
	assert_true(function_graph_set(&graph, &s) < 0);
	assert_string_equal(fake_read("instances/x/current_tracer"), "nop\n");
}

FIXTURE_TEST(test_somebody_has_roots)
{
	char *roots[] = {"vfs_read"};

	fake_text("set_graph_function", "his_function\n");
	fake_text("max_graph_depth", "5\n");
	/* His limits are ours too, which is told. */
	assert_int_equal(function_graph_set(&graph, &s), 0);
	assert_reported("limited by set_graph_function");
	assert_reported("limited by max_graph_depth");
	function_graph_end(&graph);
	assert_string_equal(fake_read("set_graph_function"), "his_function\n");
	assert_string_equal(fake_read("max_graph_depth"), "5\n");

	setup_errors_deinit(&errors);
	fake_text("instances/x/current_tracer", "nop\n");
	config.function_graph_roots = roots;
	config.n_function_graph_roots = 1;
	assert_int_equal(function_graph_set(&graph, &s), -EBUSY);
	assert_string_equal(fake_read("set_graph_function"), "his_function\n");
	assert_string_equal(fake_read("instances/x/current_tracer"), "nop\n");

	setup_errors_deinit(&errors);
	config.n_function_graph_roots = 0;
	config.function_graph_max_depth = 2;
	assert_int_equal(function_graph_set(&graph, &s), -EBUSY);
	assert_reported("function_graph_max_depth (it applies to the whole kernel");
	assert_string_equal(fake_read("max_graph_depth"), "5\n");
}

FIXTURE_TEST(test_in_a_lent_place)
{
	char *filters[] = {"vfs_*"};
	struct instance top;

	config.function_filters = filters;
	config.n_function_filters = 1;
	assert_int_equal(instance_attach(&top,
					 &(struct override_target){.root = fake_root, .place = ""},
					 NULL),
			 0);
	s.instance = &top;
	assert_int_equal(function_graph_set(&graph, &s), 0);
	assert_string_equal(fake_read("current_tracer"), "function_graph");
	assert_int_equal(instance_remove(&top), 0);
	function_graph_end(&graph);
	assert_string_equal(fake_read("current_tracer"), "nop");
	assert_string_equal(fake_read("set_ftrace_filter"), "");
}

FIXTURE_TEST(test_a_lent_place_that_is_in_use)
{
	static const struct {
		const char *file, *text, *idle, *why;
	} uses[] = {
		{"current_tracer", "blk\n", "nop\n", "another user has set a tracer there"},
		{"set_ftrace_filter", "his\n", "", "another user has set functions there"},
		{"set_ftrace_pid", "12\n", "", "another user has set threads there"},
	};
	struct instance top;

	assert_int_equal(instance_attach(&top,
					 &(struct override_target){.root = fake_root, .place = ""},
					 NULL),
			 0);
	s.instance = &top;
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
		fake_text(uses[i].file, uses[i].text);
		assert_int_equal(function_graph_set(&graph, &s), -EBUSY);
		assert_reported(uses[i].why);
		assert_string_equal(fake_read(uses[i].file), uses[i].text);
		fake_text(uses[i].file, uses[i].idle);
	}
	/* A new tracer would drop what is to be kept. */
	top.keeps_ring = true;
	assert_int_equal(function_graph_set(&graph, &s), -EBUSY);
	assert_reported("setting it would clear the rings");
	assert_int_equal(instance_remove(&top), 0);
}
