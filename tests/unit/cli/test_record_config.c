// SPDX-License-Identifier: Apache-2.0
/* Configs are compared as text, the way a person would write them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "cli/record_config.h"
#include "config/text.h"
#include "kernel_events.h"

static struct fake_tracefs tracefs;
static struct tracefs_events events;

static int setup(void **state)
{
	(void)state;
	fake_tracefs_make(&tracefs);
	return tracefs_events_load(tracefs.root, &events);
}

static int teardown(void **state)
{
	(void)state;
	tracefs_events_deinit(&events);
	fake_tracefs_remove(&tracefs);
	return 0;
}

static char *text_of(const Pb__TraceConfig *config)
{
	struct strbuf b = {0};

	text_print(&config->base, &b);
	return strbuf_take(&b);
}

static void test_the_config_of_a_word(void **state)
{
	static char *words[] = {(char *)"sched"};
	struct record_options o = {.events = words, .n_events = 1, .buffer_kb = 32768};
	Pb__TraceConfig *config;
	struct err_text e;
	char *text;

	(void)state;
	assert_int_equal(record_config_from_words(&o, NULL, &e, &config), 0);
	text = text_of(config);
	assert_string_equal(text, "buffers {\n"
				  "  size_kb: 32768\n"
				  "  fill_policy: RING_BUFFER\n"
				  "}\n"
				  "data_sources {\n"
				  "  config {\n"
				  "    name: \"linux.ftrace\"\n"
				  "    ftrace_config {\n"
				  "      ftrace_events: \"sched/sched_switch\"\n"
				  "      ftrace_events: \"sched/sched_waking\"\n"
				  "      ftrace_events: \"sched/sched_wakeup_new\"\n"
				  "      ftrace_events: \"sched/sched_process_exec\"\n"
				  "      ftrace_events: \"sched/sched_process_exit\"\n"
				  "      ftrace_events: \"sched/sched_process_fork\"\n"
				  "      ftrace_events: \"sched/sched_process_free\"\n"
				  "      ftrace_events: \"task/task_newtask\"\n"
				  "      ftrace_events: \"task/task_rename\"\n"
				  "    }\n"
				  "  }\n"
				  "}\n"
				  "data_sources {\n"
				  "  config {\n"
				  "    name: \"linux.process_stats\"\n"
				  "    process_stats_config {\n"
				  "      scan_all_processes_on_start: true\n"
				  "      record_thread_names: true\n"
				  "    }\n"
				  "  }\n"
				  "}\n"
				  "data_sources {\n"
				  "  config {\n"
				  "    name: \"linux.system_info\"\n"
				  "  }\n"
				  "}\n"
				  "flush_period_ms: 30000\n");
	free(text);
	pb__trace_config__free_unpacked(config, NULL);
}

static void test_options_go_where_they_belong(void **state)
{
	static char *words[] = {(char *)"irq/*"};
	struct record_options o = {.events = words,
				   .n_events = 1,
				   .buffer_kb = 64,
				   .ring_kb = 8192,
				   .duration_ms = 1500};
	Pb__TraceConfig *config;
	struct err_text e;

	(void)state;
	assert_int_equal(record_config_from_words(&o, NULL, &e, &config), 0);
	assert_int_equal(config->buffers[0]->size_kb, 64);
	assert_true(config->has_duration_ms);
	assert_int_equal(config->duration_ms, 1500);
	assert_int_equal(config->data_sources[0]->config->ftrace_config->buffer_size_kb, 8192);
	pb__trace_config__free_unpacked(config, NULL);
}

/* ---- words ---- */

static int words_to_events(const char *const *words, const struct tracefs_events *of_kernel,
			   struct err_text *e, char text[static 1024])
{
	char *list[8];
	struct record_options o = {.events = list, .buffer_kb = 1};
	Pb__TraceConfig *config;
	Pb__FtraceConfig *f;
	int r;

	for (; *words; words++)
		list[o.n_events++] = (char *)*words;
	r = record_config_from_words(&o, of_kernel, e, &config);
	if (r)
		return r;
	text[0] = '\0';
	f = config->data_sources[0]->config->ftrace_config;
	for (size_t i = 0; i < f->n_ftrace_events; i++)
		sprintf(text + strlen(text), "%s%s", i ? " " : "", f->ftrace_events[i]);
	pb__trace_config__free_unpacked(config, NULL);
	return 0;
}

static void test_words_become_events(void **state)
{
	static const struct {
		const char *words[4];
		const char *events;
	} cases[] = {
		{{"sched/sched_switch"}, "sched/sched_switch"},
		{{"sched:sched_switch"}, "sched/sched_switch"},
		{{"sched_switch"}, "sched_switch"},
		{{"sched:*"}, "sched/*"},
		{{"nosuch/*"}, "nosuch/*"},
		{{"b/2", "a/1", "b:2"}, "b/2 a/1"},
		{{"task/task_rename", "sched"},
		 "task/task_rename sched/sched_switch sched/sched_waking sched/sched_wakeup_new "
		 "sched/sched_process_exec sched/sched_process_exit sched/sched_process_fork "
		 "sched/sched_process_free task/task_newtask"},
		/* Patterns that producers do not expand. */
		{{"sched/sched_wak*"}, "sched/sched_waking sched/sched_wakeup"},
		{{"block:*_issue"}, "block/block_rq_issue"},
		{{"*irq_entry"}, "irq/softirq_entry"},
		{{"soft*", "irq/softirq_exit"}, "irq/softirq_entry irq/softirq_exit"},
		{{"irq/softirq_e[nx]*"}, "irq/softirq_entry irq/softirq_exit"},
		{{"*/task_renam?"}, "task/task_rename"},
		{{"sched/nosuch_*"}, "sched/nosuch_*"},
	};
	char text[1024];
	struct err_text e;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(words_to_events(cases[i].words, &events, &e, text), 0);
		assert_string_equal(text, cases[i].events);
	}
}

static void test_words_that_cannot_be_events(void **state)
{
	static const char *const words[] = {"",	  "/",	 "a/",	 "/b",	     "a/b/c", ":b",
					    "a:", "a b", "a\tb", "\xc3\xa4", "a/b\n"};
	struct err_text e;
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *list[] = {words[i], NULL};

		if (words_to_events(list, &events, &e, text) != -EINVAL)
			fail_msg("'%s' was accepted", words[i]);
		assert_non_null(strstr(e.text, "cannot be the name of an event"));
	}
}

static void test_a_word_of_any_length_is_refused_or_fits(void **state)
{
	const char *list[] = {NULL, NULL};
	char word[400], text[1024];
	struct err_text e;

	(void)state;
	memset(word, 'x', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	list[0] = word;
	assert_int_equal(words_to_events(list, NULL, &e, text), -EINVAL);
	word[TRACEFS_EVENTS_MAX_NAME] = '\0';
	assert_int_equal(words_to_events(list, NULL, &e, text), -EINVAL);
	word[TRACEFS_EVENTS_MAX_NAME - 1] = '\0';
	assert_int_equal(words_to_events(list, NULL, &e, text), 0);
}

static void test_a_pattern_needs_the_kernels_list(void **state)
{
	static const char *const words[] = {"sched/sched_*", NULL};
	static const char *const whole_group[] = {"sched/*", NULL};
	struct err_text e;
	char text[1024];

	(void)state;
	assert_int_equal(words_to_events(words, NULL, &e, text), -EINVAL);
	assert_non_null(strstr(e.text, "available_events"));
	assert_int_equal(words_to_events(whole_group, NULL, &e, text), 0);
}

/* ---- files ---- */

static int load(const char *content, size_t len, bool is_text, struct strbuf *errors,
		Pb__TraceConfig **ret)
{
	char path[] = "/tmp/test-config-XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, content, len), 0);
	close(fd);
	r = record_config_from_file(path, is_text, errors, ret);
	unlink(path);
	return r;
}

static void test_text_and_binary_files_are_told_apart(void **state)
{
	static const char text[] = "buffers { size_kb: 64 }\nduration_ms: 7\n";
	struct strbuf errors = {0};
	Pb__TraceConfig *first, *second;
	uint8_t *bytes;
	size_t len;

	(void)state;
	assert_int_equal(load(text, strlen(text), false, &errors, &first), 0);
	assert_int_equal(first->duration_ms, 7);
	assert_int_equal(record_config_pack(first, &bytes, &len), 0);
	assert_int_equal(load((char *)bytes, len, false, &errors, &second), 0);
	assert_int_equal(second->buffers[0]->size_kb, 64);
	assert_null(errors.s);
	pb__trace_config__free_unpacked(first, NULL);
	pb__trace_config__free_unpacked(second, NULL);
	free(bytes);
}

/* A field of a later version: the service may know it. */
static void test_unknown_fields_of_a_binary_config_are_kept(void **state)
{
	static const char bytes[] = "\x0a\x02\x08\x40\xc2\x3e\x03xyz"; /* field 1000 */
	struct strbuf errors = {0};
	Pb__TraceConfig *config;
	uint8_t *packed;
	size_t len;

	(void)state;
	assert_int_equal(load(bytes, sizeof(bytes) - 1, false, &errors, &config), 0);
	assert_int_equal(record_config_pack(config, &packed, &len), 0);
	assert_int_equal(len, sizeof(bytes) - 1);
	assert_memory_equal(packed, bytes, len);
	free(packed);
	pb__trace_config__free_unpacked(config, NULL);
}

static void test_a_mistake_in_text_is_shown_where_it_is(void **state)
{
	static const char text[] = "buffers { size_kb: 64 }\nbufers { }\n";
	struct strbuf errors = {0};
	Pb__TraceConfig *config;

	(void)state;
	assert_int_equal(load(text, strlen(text), false, &errors, &config), -EINVAL);
	assert_non_null(strstr(errors.s, ":2:1: error: "));
	assert_non_null(strstr(errors.s, "buffers"));
	strbuf_deinit(&errors);
}

static void test_files_that_cannot_be_read(void **state)
{
	struct strbuf errors = {0}, big = {0};
	Pb__TraceConfig *config;

	(void)state;
	assert_int_equal(record_config_from_file("/nonexistent/c.cfg", false, &errors, &config),
			 -ENOENT);
	assert_string_equal(errors.s, "/nonexistent/c.cfg: No such file or directory\n");
	strbuf_clear(&errors);
	assert_int_equal(record_config_from_file("/tmp", false, &errors, &config), -EISDIR);
	strbuf_clear(&errors);
	for (int i = 0; i <= (int)RECORD_CONFIG_MAX_BYTES / 16; i++)
		strbuf_puts(&big, "# 16 bytes here\n");
	assert_int_equal(load(big.s, big.len, true, &errors, &config), -EFBIG);
	assert_non_null(strstr(errors.s, "too large"));
	strbuf_deinit(&big);
	strbuf_deinit(&errors);
}

/* What asks the command line for more than a recording must not be ignored. */
static void test_fields_for_another_command_line_are_refused_by_name(void **state)
{
	static const char *const fields[][2] = {
		{"activate_triggers: 'x'", "activate_triggers"},
		{"cmd_trace_start_delay { min_delay_ms: 1 }", "cmd_trace_start_delay"},
		{"incident_report_config { }", "incident_report_config"},
		{"android_report_config { }", "android_report_config"},
		{"trigger_config { trigger_mode: CLONE_SNAPSHOT }", "CLONE_SNAPSHOT"},
		{"trigger_config { use_clone_snapshot_if_available: true }",
		 "use_clone_snapshot_if_available"},
	};
	struct strbuf errors = {0};
	Pb__TraceConfig *config;
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		snprintf(text, sizeof(text), "buffers { size_kb: 64 } %s", fields[i][0]);
		assert_int_equal(load(text, strlen(text), false, &errors, &config), -EINVAL);
		assert_non_null(strstr(errors.s, fields[i][1]));
		strbuf_clear(&errors);
	}
	strbuf_deinit(&errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_config_of_a_word),
		cmocka_unit_test(test_options_go_where_they_belong),
		cmocka_unit_test(test_words_become_events),
		cmocka_unit_test(test_words_that_cannot_be_events),
		cmocka_unit_test(test_a_word_of_any_length_is_refused_or_fits),
		cmocka_unit_test(test_a_pattern_needs_the_kernels_list),
		cmocka_unit_test(test_text_and_binary_files_are_told_apart),
		cmocka_unit_test(test_unknown_fields_of_a_binary_config_are_kept),
		cmocka_unit_test(test_a_mistake_in_text_is_shown_where_it_is),
		cmocka_unit_test(test_files_that_cannot_be_read),
		cmocka_unit_test(test_fields_for_another_command_line_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
