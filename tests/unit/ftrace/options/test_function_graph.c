// SPDX-License-Identifier: Apache-2.0
/* In plain files, which take any function; what a kernel takes is in tests/kernels/guest. */

#include "unit/test.h"
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/options/function_graph.h"
#include "ftrace/tracefs/override.h"

static struct setup_errors errors;
static struct instance own;
static struct function_graph graph;
static Pb__FtraceConfig config;
static struct setup s;

static void put_place(void **state, const char *folder)
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
	char path[128];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s%s", folder, files[i].file);
		fake_text(*state, path, files[i].text);
	}
}

static int setup(void **state)
{
	if (temp_dir_setup(state))
		return -1;
	put_place(state, "");
	put_place(state, "instances/x/");
	fake_text(*state, "set_graph_function", "#### all functions enabled ####\n");
	fake_text(*state, "max_graph_depth", "0\n");
	fake_text(*state, "events/ftrace/funcgraph_entry/format", "");
	fake_text(*state, "events/ftrace/funcgraph_exit/format", "");
	own = fake_instance(*state);
	own.path = strdup(temp_dir_path(state, 0, "instances/x"));
	graph = (struct function_graph){0};
	pb__ftrace_config__init(&config);
	config.enable_function_graph = config.has_enable_function_graph = true;
	s = (struct setup){.root = *state, .config = &config, .instance = &own, .errors = &errors};
	return 0;
}

static int teardown(void **state)
{
	function_graph_end(&graph);
	fake_instance_free(&own);
	free(own.path);
	setup_errors_deinit(&errors);
	return temp_dir_teardown(state);
}

static void assert_reported(const char *text)
{
	for (char **at = errors.failed; at && *at; at++)
		if (strstr(*at, text))
			return;
	fail_msg("not reported: %s; but %s", text, errors.failed ? errors.failed[0] : "nothing");
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(test_events)
{
	struct event_selection events = {0};

	assert_int_equal(function_graph_select(&events, &s), 0);
	assert_int_equal(events.n, 2);
	assert_true(function_graph_event(&events.events[0]));
	assert_int_equal(event_selection_add(&events, "sched", "sched_switch"), 0);
	assert_int_equal(event_selection_add(&events, "ftrace", "print"), 0);
	function_graph_deselect(&events);
	assert_int_equal(events.n, 2);
	assert_true(event_selection_has(&events, "ftrace", "print"));
	event_selection_deinit(&events);
	assert_true(instance_has_tracer(&own, "function_graph"));
	assert_null(errors.failed);

	fake_text(*state, "instances/x/available_tracers", "function nop\n");
	assert_false(instance_has_tracer(&own, "function_graph"));
	fake_text(*state, "available_tracers", "blk function_graph_old nop\n");
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
	assert_string_equal(fake_read(*state, "instances/x/set_ftrace_filter"),
			    "vfs_*\ndo_sys_open\n");
	assert_string_equal(fake_read(*state, "instances/x/current_tracer"), "function_graph");
	assert_string_equal(fake_read(*state, "set_graph_function"), "vfs_read\n");
	assert_string_equal(fake_read(*state, "max_graph_depth"), "3");
	assert_string_equal(fake_read(*state, "current_tracer"), "nop\n");
	function_graph_end(&graph);
	assert_string_equal(fake_read(*state, "set_graph_function"), "");
	assert_string_equal(fake_read(*state, "max_graph_depth"), "0");
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
	assert_string_equal(fake_read(*state, "instances/x/set_ftrace_filter"), "vfs_*\n");
}

/* Without any filter that counts it would be all functions. */
FIXTURE_TEST(test_nothing_is_left)
{
	char *filters[] = {"a:b"};

	config.function_filters = filters;
	config.n_function_filters = 1;
	assert_true(function_graph_set(&graph, &s) < 0);
	assert_reported("all functions would be traced");
	assert_string_equal(fake_read(*state, "instances/x/current_tracer"), "nop\n");

	setup_errors_deinit(&errors);
	config.n_function_filters = 0;
	config.function_graph_roots = filters;
	config.n_function_graph_roots = 1;
	assert_true(function_graph_set(&graph, &s) < 0);
	assert_string_equal(fake_read(*state, "instances/x/current_tracer"), "nop\n");
}

FIXTURE_TEST(test_somebody_has_roots)
{
	char *roots[] = {"vfs_read"};

	fake_text(*state, "set_graph_function", "his_function\n");
	fake_text(*state, "max_graph_depth", "5\n");
	/* His limits are ours too, which is told. */
	assert_int_equal(function_graph_set(&graph, &s), 0);
	assert_reported("limited by set_graph_function");
	assert_reported("limited by max_graph_depth");
	function_graph_end(&graph);
	assert_string_equal(fake_read(*state, "set_graph_function"), "his_function\n");
	assert_string_equal(fake_read(*state, "max_graph_depth"), "5\n");

	setup_errors_deinit(&errors);
	fake_text(*state, "instances/x/current_tracer", "nop\n");
	config.function_graph_roots = roots;
	config.n_function_graph_roots = 1;
	assert_int_equal(function_graph_set(&graph, &s), -EBUSY);
	assert_string_equal(fake_read(*state, "set_graph_function"), "his_function\n");
	assert_string_equal(fake_read(*state, "instances/x/current_tracer"), "nop\n");

	setup_errors_deinit(&errors);
	config.n_function_graph_roots = 0;
	config.function_graph_max_depth = 2;
	assert_int_equal(function_graph_set(&graph, &s), -EBUSY);
	assert_reported("function_graph_max_depth (it goes for the whole kernel");
	assert_string_equal(fake_read(*state, "max_graph_depth"), "5\n");
}

FIXTURE_TEST(test_in_a_lent_place)
{
	char *filters[] = {"vfs_*"};
	struct instance top;

	config.function_filters = filters;
	config.n_function_filters = 1;
	assert_int_equal(
		instance_attach(&top, &(struct override_target){.root = *state, .place = ""}, NULL),
		0);
	s.instance = &top;
	assert_int_equal(function_graph_set(&graph, &s), 0);
	assert_string_equal(fake_read(*state, "current_tracer"), "function_graph");
	assert_int_equal(instance_remove(&top), 0);
	function_graph_end(&graph);
	assert_string_equal(fake_read(*state, "current_tracer"), "nop");
	assert_string_equal(fake_read(*state, "set_ftrace_filter"), "");
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

	assert_int_equal(
		instance_attach(&top, &(struct override_target){.root = *state, .place = ""}, NULL),
		0);
	s.instance = &top;
	for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
		fake_text(*state, uses[i].file, uses[i].text);
		assert_int_equal(function_graph_set(&graph, &s), -EBUSY);
		assert_reported(uses[i].why);
		assert_string_equal(fake_read(*state, uses[i].file), uses[i].text);
		fake_text(*state, uses[i].file, uses[i].idle);
	}
	/* A new tracer would drop what is to be kept. */
	top.keeps_ring = true;
	assert_int_equal(function_graph_set(&graph, &s), -EBUSY);
	assert_reported("what is in the rings would be dropped");
	assert_int_equal(instance_remove(&top), 0);
}
