/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of sonda recorder, the file of --args, and the config of its words. */
#include "base/text/str.h"
#include "cli/recorder/recorder_crash.h"
#include "cli/recorder/recorder_dir.h"
#include "cli/recorder/recorder_options.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static struct recorder_options o;
static struct err_text e;

/* The options point into argv, which lives as long as the test's block. */
#define PARSE(...) parse((char *[]){(char *)"recorder", __VA_ARGS__, NULL})

static int parse(char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return recorder_options_parse(argc, argv, &o, &e);
}

#define A(text) (char *)text

TEST(defaults)
{
	assert_int_equal(PARSE(A("run")), 0);
	assert_int_equal(o.action, RECORDER_RUN);
	assert_string_equal(o.dir, RECORDER_DEFAULT_DIR);
	assert_int_equal(o.keep_ms, 3600000);
	assert_int_equal(o.part_ms, 60000);
	assert_int_equal(o.max_bytes, 2ull << 30);
	assert_int_equal(o.n_words, 0);
	recorder_options_deinit(&o);
}

TEST(options_and_words)
{
	assert_int_equal(PARSE(A("enable"), A("--keep"), A("10m"), A("sched"), A("--size"),
			       A("1gb"), A("--dir"), A("/ring"), A("net")),
			 0);
	assert_int_equal(o.action, RECORDER_ENABLE);
	assert_int_equal(o.keep_ms, 600000);
	assert_int_equal(o.part_ms, 10000);
	assert_int_equal(o.max_bytes, 1ull << 30);
	assert_string_equal(o.dir, "/ring");
	assert_int_equal(o.n_words, 2);
	assert_string_equal(o.words[1], "net");
	assert_int_equal(recorder_options_parts(&o), 244);
	assert_true(recorder_options_part_bytes(&o) * 246 <= o.max_bytes);
}

/* Counts the parts of an hour with this many bytes in its first minutes, evenly in each. */
static uint64_t parts_of_hour(uint64_t bytes, unsigned busy_minutes)
{
	uint64_t part = recorder_options_part_bytes(&o);
	uint64_t in_minute = bytes / busy_minutes;

	return 60 - busy_minutes + busy_minutes * ((in_minute + part - 1) / part);
}

TEST(uneven_minutes_do_not_shorten_the_ring)
{
	static const char *const sizes[] = {"200mb", "2gb", "64gb"};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(PARSE(A("run"), A("--size"), (char *)sizes[i]), 0);
		for (unsigned busy = 1; busy <= 60; busy++)
			assert_in_range(parts_of_hour(o.max_bytes / 10 * 7, busy), 1,
					recorder_options_parts(&o));
		assert_true((recorder_options_parts(&o) + 1) * recorder_options_part_bytes(&o) <=
			    o.max_bytes);
	}
	assert_int_equal(PARSE(A("run"), A("--size"), A("16mb")), 0);
	assert_int_equal(recorder_options_parts(&o), 61);
}

TEST(mistakes_are_named)
{
	assert_int_equal(recorder_options_parse(1, (char *[]){A("recorder"), NULL}, &o, &e),
			 -EINVAL);
	assert_int_equal(PARSE(A("start")), -EINVAL);
	assert_non_null(
		strstr(e.text, "unknown action 'start': use enable, run, status or disable"));
	assert_int_equal(PARSE(A("run"), A("--size"), A("1mb")), -EINVAL);
	assert_int_equal(PARSE(A("run"), A("--keep"), A("5s")), -EINVAL);
	assert_int_equal(PARSE(A("run"), A("--part"), A("1h")), -EINVAL);
	assert_int_equal(PARSE(A("run"), A("--part"), A("10ms")), -EINVAL);
	assert_int_equal(PARSE(A("run"), A("--dir"), A("ring")), -EINVAL);
	assert_int_equal(PARSE(A("run"), A("--part"), A("1s"), A("--keep"), A("10m"), A("--size"),
			       A("16mb")),
			 -EINVAL);
	assert_int_equal(PARSE(A("run"), A("--in-kernel"), A("--size"), A("1mb")), -EINVAL);
	assert_int_equal(PARSE(A("status"), A("--in-kernel")), -EINVAL);
	assert_int_equal(PARSE(A("run"), A("--json")), -EINVAL);
	assert_int_equal(PARSE(A("run"), A("--remove")), -EINVAL);
	assert_int_equal(PARSE(A("run"), A("--"), A("-c")), -EINVAL);
	assert_int_equal(PARSE(A("run"), A("a\nb")), -EINVAL);
	assert_int_equal(PARSE(A("status"), A("sched")), -EINVAL);
	assert_int_equal(PARSE(A("enable"), A("--args"), A("/dev/null")), -EINVAL);
	assert_int_equal(PARSE(A("run"), A("--args"), A("/nowhere/args")), -ENOENT);
}

TEST(the_ring_that_survives_a_crash)
{
	struct strbuf line = {0};

	assert_int_equal(PARSE(A("enable"), A("--crash-size"), A("9mb"), A("--grub")), 0);
	assert_true(o.crash && o.grub);
	assert_int_equal(o.crash_bytes, 9 << 20);
	recorder_crash_put_line(o.crash_bytes, &line);
	assert_string_equal(line.s, "reserve_mem=9M:2M:sonda_crash "
				    "trace_instance=sonda_crash^traceoff@sonda_crash");
	strbuf_deinit(&line);
	assert_int_equal(PARSE(A("run"), A("--crash"), A("--grub")), -EINVAL);
	assert_int_equal(PARSE(A("enable"), A("--grub")), -EINVAL);
	assert_int_equal(PARSE(A("status"), A("--crash")), -EINVAL);
	assert_int_equal(PARSE(A("enable"), A("--crash-size"), A("1mb")), -EINVAL);
}

TEST(help)
{
	assert_int_equal(PARSE(A("--help")), 0);
	assert_true(o.help);
	assert_int_equal(PARSE(A("run"), A("-h")), 0);
	assert_true(o.help);
}

static const char *put_args(void *const *state, const char *text)
{
	const char *path = temp_dir_path(state, 0, "args");
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
	return path;
}

TEST_WITH(arguments_come_from_a_file, temp_dir_setup, temp_dir_teardown)
{
	const char *path = put_args(state, "# a comment\n--keep\n30m\n\nsched\nirq:*\n");

	assert_int_equal(PARSE(A("run"), A("--args"), A(path)), 0);
	assert_int_equal(o.action, RECORDER_RUN);
	assert_int_equal(o.keep_ms, 1800000);
	assert_int_equal(o.n_words, 2);
	assert_string_equal(o.words[1], "irq:*");
	recorder_options_deinit(&o);
	assert_int_equal(PARSE(A("run"), A("--args"), A(path), A("sched")), -EINVAL);
	put_args(state, "--args\nx\n");
	assert_int_equal(PARSE(A("run"), A("--args"), A(path)), -EINVAL);
	put_args(state, "--nosuch\n");
	assert_int_equal(PARSE(A("run"), A("--args"), A(path)), -EINVAL);
	put_args(state, "");
	assert_int_equal(PARSE(A("run"), A("--args"), A(path)), 0);
	recorder_options_deinit(&o);
}

/* ---- the config ---- */

TEST(parts_name_every_process)
{
	Pb__TraceConfig *c;
	bool names = false;

	assert_int_equal(PARSE(A("run"), A("minimal")), 0);
	if (recorder_config_build(&o, &c, &e))
		fail_msg("%s", e.text);
	assert_true(c->write_into_file);
	assert_null(c->output_path);
	assert_int_equal(c->duration_ms, 0);
	assert_int_equal(c->rotate->period_ms, 60000);
	assert_int_equal(c->rotate->max_file_size_bytes, recorder_options_part_bytes(&o));
	assert_int_equal(c->rotate->keep, recorder_options_parts(&o));
	assert_int_equal(c->max_file_size_bytes, 0);
	assert_string_equal(c->unique_session_name, RECORDER_SESSION_NAME);
	for (size_t i = 0; i < c->n_data_sources; i++) {
		Pb__ProcessStatsConfig *p = c->data_sources[i]->config->process_stats_config;

		names |= p && p->scan_after_clear;
	}
	assert_true(names);
	pb__trace_config__free_unpacked(c, NULL);
}

TEST(the_default_is_the_preset_recorder)
{
	Pb__TraceConfig *c;

	assert_int_equal(PARSE(A("run")), 0);
	if (recorder_config_build(&o, &c, &e))
		fail_msg("%s", e.text);
	assert_true(c->n_data_sources > 3);
	pb__trace_config__free_unpacked(c, NULL);
}

/* ---- rings in the kernel ---- */

TEST(the_size_is_that_of_the_kernels_rings)
{
	assert_int_equal(PARSE(A("run"), A("--in-kernel")), 0);
	assert_int_equal(o.kernel_bytes, RECORDER_DEFAULT_KERNEL_BYTES);
	assert_int_equal(o.max_bytes, RECORDER_DEFAULT_BYTES);
	assert_int_equal(PARSE(A("run"), A("--size"), A("4gb"), A("--in-kernel")), 0);
	assert_int_equal(o.kernel_bytes, 4ull << 30);
	assert_int_equal(o.max_bytes, 8ull << 30);
	assert_int_equal(PARSE(A("run"), A("--size"), A("4gb")), 0);
	assert_int_equal(o.kernel_bytes, 0);
}

TEST(rings_in_the_kernel_are_read_on_request)
{
	const Pb__FtraceConfig *events = NULL, *names = NULL;
	Pb__TraceConfig *c;

	assert_int_equal(PARSE(A("run"), A("--in-kernel"), A("--dir"), A("/ring")), 0);
	if (recorder_config_build(&o, &c, &e))
		fail_msg("%s", e.text);
	for (size_t i = 0; i < c->n_data_sources; i++) {
		const Pb__FtraceConfig *f = c->data_sources[i]->config->ftrace_config;

		if (f && f->without_task_events)
			events = f;
		else if (f)
			names = f;
	}
	assert_true(events && events->read_on_flush_only && names && names->read_on_flush_only);
	assert_int_equal(events->buffer_size_kb / names->buffer_size_kb, 3);
	assert_true(str_starts(events->kept_instance, "recorder-"));
	assert_true(str_starts(names->kept_instance, events->kept_instance));
	assert_true(str_ends(names->kept_instance, "-names"));
	assert_int_equal(c->rotate->period_ms, 0);
	assert_true(c->flush_period_ms > 86400000 && c->file_write_period_ms > 86400000);
	pb__trace_config__free_unpacked(c, NULL);
}

static void assert_refused(const char *word, const char *why)
{
	Pb__TraceConfig *c;

	assert_int_equal(PARSE(A("run"), A("--in-kernel"), A(word)), 0);
	assert_int_equal(recorder_config_build(&o, &c, &e), -EINVAL);
	if (!strstr(e.text, why))
		fail_msg("%s", e.text);
}

TEST(other_data_sources_are_refused_in_the_kernel)
{
	assert_refused("minimal", "but one of the words requires polls of linux.process_stats");
	assert_refused("vmstat", "but one of the words requires linux.sys_stats");
	assert_refused("runq", "but one of the words requires linux.ebpf_counters");
	assert_int_equal(PARSE(A("run"), A("--in-kernel"), A("--size"), A("1023gb")), 0);
	assert_int_equal(recorder_config_build(&o, &(Pb__TraceConfig *){NULL}, &e), -EINVAL);
	assert_non_null(strstr(e.text, "a quarter of the memory"));
}

/* ---- triggers ---- */

TEST(triggers_have_names)
{
	assert_int_equal(PARSE(A("run"), A("--on"), A("trigger:mine"), A("--on"), A("unit-failed"),
			       A("--on"), A("unit-failed:nginx*"), A("--on"),
			       A("oom=journal:Out of memory: .*=1"), A("--on"),
			       A("counter:runq latency p99 > 20ms"), A("--on"),
			       A("counter:tcp retransmits>5")),
			 0);
	assert_int_equal(o.triggers.n, 6);
	assert_string_equal(o.triggers.of[0].name, "mine");
	assert_string_equal(o.triggers.of[1].name, "unit-failed");
	assert_string_equal(o.triggers.of[2].name, "unit-failed-2");
	assert_string_equal(o.triggers.of[3].name, "oom");
	assert_string_equal(o.triggers.of[3].argument, "Out of memory: .*=1");
	assert_string_equal(o.triggers.of[4].name, "counter");
	assert_int_equal(o.triggers.of[4].argument_len, strlen("runq latency p99"));
	assert_true(o.triggers.of[4].above == 20e6);
	assert_true(o.triggers.of[5].above == 5);
	assert_string_equal(recorder_triggers_spec(&o.triggers, "oom"),
			    "oom=journal:Out of memory: .*=1");
	assert_null(recorder_triggers_spec(&o.triggers, "recorder"));
}

TEST(triggers_that_make_no_sense_are_refused)
{
	static const char *const bad[] = {
		"",
		"late",
		"trigger:",
		"trigger:a/b",
		"trigger:.a",
		"trigger:recorder",
		"x=trigger:y",
		"counter:runq",
		"counter:>5",
		"counter:a>b",
		"counter:a>-1",
		"counter:a>nan",
		"journal:",
		"a b=journal:x",
		"signal:x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(PARSE(A("run"), A("--on"), A(bad[i])), -EINVAL);
		assert_true(!strncmp(e.text, "--on ", 5) || !*bad[i]);
	}
	assert_int_equal(PARSE(A("run"), A("--on"), A("trigger:a"), A("--on"), A("trigger:a")),
			 -EINVAL);
	assert_int_equal(PARSE(A("run"), A("--on"), A("journal:a\nb")), -EINVAL);
	assert_int_equal(PARSE(A("status"), A("--on"), A("trigger:a")), -EINVAL);
}

TEST(triggers_are_sent_by_their_data_sources)
{
	Pb__SystemdJournaldConfig *journal = NULL;
	Pb__EbpfCountersConfig *ebpf = NULL;
	Pb__TraceConfig *c;

	assert_int_equal(PARSE(A("run"), A("--on"), A("unit-failed:a*"), A("--on"), A("journal:x"),
			       A("--on"), A("counter:runq latency p99>1ms"), A("runq"),
			       A("journal")),
			 0);
	if (recorder_config_build(&o, &c, &e))
		fail_msg("%s", e.text);
	for (size_t i = 0; i < c->n_data_sources; i++) {
		Pb__DataSourceConfig *d = c->data_sources[i]->config;

		journal = d->journald_config ? d->journald_config : journal;
		ebpf = d->ebpf_counters_config ? d->ebpf_counters_config : ebpf;
	}
	assert_int_equal(journal->n_triggers, 2);
	assert_true(journal->triggers[0]->unit_failed);
	assert_string_equal(journal->triggers[0]->unit, "a*");
	assert_string_equal(journal->triggers[1]->message, "x");
	assert_int_equal(ebpf->n_triggers, 1);
	assert_string_equal(ebpf->triggers[0]->counter, "runq latency p99");
	pb__trace_config__free_unpacked(c, NULL);
	c = recorder_triggers_config(&o.triggers);
	assert_int_equal(c->trigger_config->n_triggers, 4);
	assert_string_equal(c->trigger_config->triggers[0]->name, "recorder");
	pb__trace_config__free_unpacked(c, NULL);
}

TEST(triggers_need_their_data_source)
{
	Pb__TraceConfig *c;

	assert_int_equal(
		PARSE(A("run"), A("--on"), A("counter:runq latency p99>1ms"), A("minimal")), 0);
	assert_int_equal(recorder_config_build(&o, &c, &e), -EINVAL);
	assert_non_null(strstr(e.text, "no eBPF counters are recorded"));
	assert_int_equal(PARSE(A("run"), A("--on"), A("unit-failed"), A("minimal")), 0);
	assert_int_equal(recorder_config_build(&o, &c, &e), -EINVAL);
	assert_non_null(strstr(e.text, "add the word journal"));
}
