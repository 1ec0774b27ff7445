/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets of the program and of directories: which wins, which are refused; and that the shipped
 * ones are good.
 */

#include "cli/terminal/presets.h"
#include "config/linux/ebpf_counters_config.pb-c.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static const char irq_event[] = "data_sources { config { name: \"linux.ftrace\" "
				"ftrace_config { ftrace_events: \"a/b\" } } }";

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int find(struct presets *p, const char *name, const struct preset **ret, struct err_text *e)
{
	return presets_find(p, name, strlen(name), ret, e);
}

static int count(void *n, const char *name)
{
	++*(unsigned *)n;
	return 0;
}

TEST_WITH(test_the_first_dir_wins_and_the_program_is_the_last, temp_dir_setup, temp_dir_teardown)
{
	const char *dirs[] = {"/nosuch", *state, NULL};
	struct presets *p = presets_new(dirs);
	const struct preset *s;
	struct err_text e;
	unsigned n = 0, m = 0;

	assert_int_equal(presets_for_each(p, count, &n), 0);
	assert_int_equal(find(p, "irq", &s, &e), 0);
	assert_null(s->path);
	presets_free(p);

	write_file(*state, "irq.cfg", irq_event);
	write_file(*state, "my-own.cfg", irq_event);
	write_file(*state, "no_word.cfg", irq_event); /* a word's '_' is '-' */
	write_file(*state, "readme", "no preset");
	p = presets_new(dirs);
	assert_int_equal(find(p, "irq", &s, &e), 0);
	assert_non_null(strstr(s->path, "/irq.cfg"));
	assert_string_equal(s->title, "");
	assert_string_equal(s->config->data_sources[0]->config->ftrace_config->ftrace_events[0],
			    "a/b");
	assert_int_equal(find(p, "my_own", &s, &e), 0);
	assert_string_equal(s->name, "my-own");
	assert_int_equal(find(p, "nosuch", &s, &e), -ENOENT);
	assert_int_equal(presets_for_each(p, count, &m), 0);
	assert_int_equal(m, n + 1);
	presets_free(p);
}

TEST_WITH(test_bad_files_are_refused_with_the_reason, temp_dir_setup, temp_dir_teardown)
{
	static const struct {
		const char *text;
		const char *sentence;
	} cases[] = {
		{"data_sourcs {}", "did you mean \"data_sources\"?"},
		{"", "the config is empty"},
		{"buffers { size_kb: 64 }", "buffers: a preset may contain only data_sources"},
		{"duration_ms: 5 data_sources { config { name: \"x\" } }", "duration_ms: a preset"},
		{"data_sources { config { } }", "a data source has no name"},
		{"data_sources { }", "a data source has no name"},
		{"data_sources { config { name: \"x\" target_buffer: 1 } }", "target_buffer"},
	};
	const char *dirs[] = {*state, NULL};
	const struct preset *s;
	struct err_text e;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct presets *p = presets_new(dirs);

		write_file(*state, "bad.cfg", cases[i].text);
		assert_true(presets_has(p, "bad", 3));
		assert_int_equal(find(p, "bad", &s, &e), -EINVAL);
		if (!strstr(e.text, cases[i].sentence) || !strstr(e.text, "bad.cfg"))
			fail_msg("%s", e.text);
		presets_free(p);
	}
}

/* A name is no path. */
TEST(test_names)
{
	static const char *const names[] = {"", "../etc/passwd", "a/b", "a.cfg", "irq ", "*"};
	struct presets *p = presets_new(NULL);
	const struct preset *s;
	struct err_text e;
	char longest[1000], buf[STR_NEAREST_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(find(p, names[i], &s, &e), -ENOENT);
	memset(longest, 'a', sizeof(longest));
	assert_int_equal(presets_find(p, longest, sizeof(longest), &s, &e), -ENOENT);
	assert_int_equal(presets_find(p, "irqs", 3, &s, &e), 0);
	assert_string_equal(presets_nearest(p, "shced", buf), "sched");
	assert_null(presets_nearest(p, "nothinglikethis", buf));
	presets_free(p);
}

/* ---- parts ---- */

static size_t count_sources(struct presets *p, const char *name)
{
	const struct preset *s;
	struct err_text e;

	if (find(p, name, &s, &e))
		return 0;
	assert_true(presets_has(p, name, strlen(name)));
	return s->config->n_data_sources;
}

TEST(test_parts)
{
	struct presets *p = presets_new(NULL);
	const struct preset *s;
	struct err_text e;

	assert_int_equal(count_sources(p, "mem"), 3);
	assert_int_equal(find(p, "mem-events", &s, &e), 0);
	assert_int_equal(s->config->n_data_sources, 1);
	assert_string_equal(s->config->data_sources[0]->config->name, "linux.ftrace");
	assert_true(str_starts(s->title, "Only the events of mem: "));
	assert_null(s->cost);
	assert_int_equal(find(p, "mem_counters", &s, &e), 0);
	assert_string_equal(s->config->data_sources[0]->config->name, "linux.sys_stats");
	assert_int_equal(find(p, "off-cpu-ebpf", &s, &e), 0);
	assert_string_equal(s->config->data_sources[0]->config->name, "linux.waits");

	/* A preset without this part, a part of a part, no preset, samples. */
	for (const char **name =
		     (const char *[]){"sched-ebpf", "stacks-events", "mem-ebpf-events",
				      "nosuch-events", "-events", "stacks-samples", NULL};
	     *name; name++)
		if (find(p, *name, &s, &e) != -ENOENT || presets_has(p, *name, strlen(*name)))
			fail_msg("there is a preset %s", *name);
	/* A file comes first. */
	assert_int_equal(find(p, "syscalls-ebpf", &s, &e), 0);
	assert_false(str_starts(s->title, "Only"));
	presets_free(p);
}

/* ---- the shipped ones ---- */

static struct presets *shipped;
static bool families[64], periods[64];

static bool is_period(const ProtobufCFieldDescriptor *f)
{
	return f->type == PROTOBUF_C_TYPE_UINT32 && f->id < 20000;
}

static int check_one(void *ctx, const char *name)
{
	const struct preset *s;
	struct err_text e;

	if (presets_find(shipped, name, strlen(name), &s, &e))
		fail_msg("%s", e.text);
	if (strlen(s->title) < 10)
		fail_msg("%s has no title", name);
	for (size_t i = 0; i < s->config->n_data_sources; i++) {
		const Pb__DataSourceConfig *c = s->config->data_sources[i]->config;
		const Pb__EbpfCountersConfig *b = c->ebpf_counters_config;
		const Pb__SysStatsConfig *y = c->sys_stats_config;

		for (size_t k = 0; b && k < b->n_families; k++)
			families[b->families[k]] = true;
		for (unsigned k = 0; y && k < y->base.descriptor->n_fields; k++)
			if (is_period(&y->base.descriptor->fields[k]) &&
			    *(uint32_t *)((char *)y + y->base.descriptor->fields[k].offset))
				periods[k] = true;
	}
	return 0;
}

TEST(test_the_shipped_ones_are_good_and_cover_all_families_and_periods)
{
	static const char *const needed[] = {"sched",
					     "io",
					     "syscalls",
					     "irq",
					     "mem",
					     "net",
					     "power",
					     "lock",
					     "counters",
					     "minimal",
					     "everything-cheap",
					     "freq",
					     "growth",
					     "idle",
					     "workq",
					     "pagecache",
					     "mem-events",
					     "mem-counters",
					     "mem_ebpf"};
	static const char *const no_dirs[] = {NULL};
	const ProtobufCEnumDescriptor *f = &pb__ebpf_counters_config__family__descriptor;
	const ProtobufCMessageDescriptor *y = &pb__sys_stats_config__descriptor;

	shipped = presets_new(no_dirs);
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!presets_has(shipped, needed[i], strlen(needed[i])))
			fail_msg("no preset %s", needed[i]);
	assert_int_equal(presets_for_each(shipped, check_one, NULL), 0);
	for (unsigned i = 0; i < f->n_values; i++)
		if (f->values[i].value && !families[f->values[i].value])
			fail_msg("no preset with the family %s", f->values[i].name);
	for (unsigned i = 0; i < y->n_fields; i++)
		if (is_period(&y->fields[i]) && !periods[i])
			fail_msg("no preset with %s", y->fields[i].name);
	presets_free(shipped);
}
