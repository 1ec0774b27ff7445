// SPDX-License-Identifier: Apache-2.0
/* What the command line of perfetto makes; the programs together are in
 * tests/interop/test_perfetto_cli.sh. */
#include "unit/test.h"
#include "cli/perfetto/perfetto_config.h"

static struct perfetto_options o;
static Pb__TraceConfig *config;

static int parse(const char *line)
{
	static char copy[512];
	char *argv[32];
	int argc = 0, code;

	snprintf(copy, sizeof(copy), "perfetto %s", line);
	for (char *p = strtok(copy, " "); p; p = strtok(NULL, " "))
		argv[argc++] = p;
	argv[argc] = NULL;
	optind = 0;
	code = perfetto_options_parse(argc, argv, &o);
	if (code < 0)
		code = perfetto_config(&o, &config);
	return code;
}

static void done(void)
{
	perfetto_options_deinit(&o);
	pb__trace_config__free_unpacked(config, NULL);
	config = NULL;
}

TEST(test_words_become_events_and_categories)
{
	const Pb__FtraceConfig *f;

	assert_int_equal(parse("-t 2m -b 1g -o x sched/sched_switch sched a/b"), -1);
	assert_int_equal(config->duration_ms, 120000);
	assert_int_equal(config->buffers[0]->size_kb, 1 << 20);
	assert_false(config->write_into_file);
	assert_int_equal(config->n_data_sources, 3);
	f = config->data_sources[0]->config->ftrace_config;
	assert_int_equal(f->n_ftrace_events, 2);
	assert_string_equal(f->ftrace_events[1], "a/b");
	assert_int_equal(f->n_atrace_categories, 1);
	assert_string_equal(f->atrace_categories[0], "sched");
	done();
}

TEST(test_defaults_are_perfettos)
{
	assert_int_equal(parse("-o x sched"), -1);
	assert_int_equal(config->duration_ms, 10000);
	assert_int_equal(config->buffers[0]->size_kb, 32768);
	assert_int_equal(config->flush_period_ms, 30000);
	assert_true(config->trace_uuid_msb || config->trace_uuid_lsb);
	done();
	assert_int_equal(parse("-s 3mb -t 5ms -o x disk"), -1);
	assert_true(config->write_into_file);
	assert_int_equal(config->max_file_size_bytes, 3 << 20);
	assert_int_equal(config->duration_ms, 5);
	assert_string_equal(config->data_sources[3]->config->name, "linux.sys_stats");
	done();
}

TEST(test_quotes_do_not_leave_their_string)
{
	assert_int_equal(parse("-t 1s -a x\"y\\ -o x"), -1);
	assert_string_equal(config->data_sources[0]->config->ftrace_config->atrace_apps[0],
			    "x\"y\\");
	done();
	assert_int_equal(parse("-t 1s -o x --add-note k=v=\"w sched"), -1);
	assert_string_equal(config->trace_attributes->attribute[0]->key, "k");
	assert_string_equal(config->trace_attributes->attribute[0]->string_value, "v=\"w");
	done();
}

TEST(test_empty_config_is_none)
{
	assert_int_equal(parse("-c /dev/null -t 100ms -o x"), -1);
	assert_int_equal(config->duration_ms, 100);
	assert_string_equal(config->data_sources[0]->config->name, "linux.process_stats");
	done();
	assert_int_equal(parse("-c /dev/null --txt -o x sched"), -1);
	assert_string_equal(config->data_sources[0]->config->name, "linux.ftrace");
	done();
	assert_int_equal(parse("-c /dev/null -o x"), 1);
	perfetto_options_deinit(&o);
}

TEST(test_each_note_is_in_the_config)
{
	const Pb__TraceAttributes *a;

	assert_int_equal(parse("-t 1s -o x --add-note a=1 --add-attribute b=2 sched"), -1);
	a = config->trace_attributes;
	assert_int_equal(a->n_attribute, 2);
	assert_string_equal(a->attribute[0]->key, "a");
	assert_string_equal(a->attribute[1]->key, "b");
	assert_string_equal(a->attribute[1]->string_value, "2");
	done();
}

TEST(test_conflicts_end_with_1)
{
	static const char *const lines[] = {
		"--query -d",
		"--long",
		"--attach a --detach b",
		"--detach b -d",
		"--stop",
		"--clone 1 --clone-by-name b",
		"--clone-for-bugreport",
		"--save-for-bugreport -t 1s",
		"--query -t 1s",
		"-c :test -t 1s",
		"--query -c :test",
		"--txt --txt-lossy -o x sched",
		"-t 10 -o x sched",
		"-b 10MB -o x sched",
		"-o x",
		"--upload",
		"--add-note =v",
		"-c /nonexistent -o x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (parse(lines[i]) != 1)
			fail_msg("%s", lines[i]);
		perfetto_options_deinit(&o);
	}
	assert_int_equal(parse("--version"), 0);
	assert_int_equal(parse("--reset-guardrails"), 0);
	perfetto_options_deinit(&o);
}
