/* SPDX-License-Identifier: Apache-2.0 */
/* In an attached instance. In an own one: settings.txt; with a kernel: tests/kernels/guest. */

#include "ftrace/options/function_graph.h"
#include "ftrace/tracefs/override.h"
#include "unit/ftrace/fake_tracefs.h"

static struct setup_errors errors;
static struct instance own;
static struct function_graph graph;
static Pb__FtraceConfig config;
static struct setup s;

static void put_place(const char *dir)
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
		fake_put(files[i].text, "%s%s", dir, files[i].file);
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

FIXTURE_TEST(an_attached_instance)
{
	char *filters[] = {"vfs_*"};
	struct instance top;

	config.function_filters = filters;
	config.n_function_filters = 1;
	assert_int_equal(instance_attach(&top,
					 &(struct override_target){.root = fake_root, .subdir = ""},
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

FIXTURE_TEST(an_attached_instance_that_is_in_use)
{
	static const struct {
		const char *file, *text, *idle, *why;
	} uses[] = {
		{"current_tracer", "blk\n", "nop\n", "another tool has already set a tracer"},
		{"set_ftrace_filter", "other\n", "", "another tool has already set functions"},
		{"set_ftrace_pid", "12\n", "", "another tool has already set threads"},
	};
	struct instance top;

	assert_int_equal(instance_attach(&top,
					 &(struct override_target){.root = fake_root, .subdir = ""},
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
	assert_reported("setting the tracer would clear the rings");
	assert_int_equal(instance_remove(&top), 0);
}
