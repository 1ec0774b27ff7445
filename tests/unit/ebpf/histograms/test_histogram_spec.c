/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/histograms/histogram_spec.h"

#include <errno.h>
#include <stdio.h>

#include "unit/test.h"

/* Lines of format files, as kernels print them. */
static const char complete[] =
	"name: block_rq_complete\nID: 1100\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n"
	"\tfield:int error;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n"
	"\tfield:char comm[32];\toffset:46;\tsize:32;\tsigned:0;\n"
	"\tfield:u8 bytes[6];\toffset:80;\tsize:6;\tsigned:0;\n"
	"\tfield:__data_loc char[] cmd;\toffset:88;\tsize:4;\tsigned:0;\n"
	"\tfield:void * rq;\toffset:96;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long call_site;\toffset:104;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long call;\toffset:112;\tsize:8;\tsigned:0;\n"
	"\tfield:bool done;\toffset:120;\tsize:1;\tsigned:0;\n"
	"\n"
	"print fmt: \"%d %pS\", REC->dev, (void *)REC->call_site\n";
static const char issue[] = "format:\n"
			    "\tfield:dev_t dev;\toffset:12;\tsize:4;\tsigned:0;\n"
			    "\tfield:sector_t sector;\toffset:24;\tsize:8;\tsigned:0;\n";

static int find_event(void *ctx, const char *event, char *ret, size_t size)
{
	const char *name = strchr(event, '/');

	name = name ? name + 1 : event;
	if (strcmp(name, "issue") != 0 && strcmp(name, "complete") != 0)
		return -ENOENT;
	return (size_t)snprintf(ret, size, "block/%s", name) < size ? 0 : -ENOENT;
}

static int read_format(void *ctx, const char *event, struct strbuf *b)
{
	strbuf_puts(b, strcmp(event, "block/issue") == 0 ? issue : complete);
	return 0;
}

static const struct ebpf_features features = {.find_event = find_event, .read_format = read_format};

typedef Pb__EbpfCountersConfig__Histogram config;
static struct histogram_spec spec;
static struct hist_settings settings;
static struct err_text why;

/* Reads a config and finds its fields; tests change it first. */
static int find(const config *c)
{
	int r = histogram_spec_read(c, &spec, &why);

	return r < 0 ? r : histogram_spec_find_fields(&spec, &features, &settings, &why);
}

static config value_of(const char *field, const char *key)
{
	config c = PB__EBPF_COUNTERS_CONFIG__HISTOGRAM__INIT;

	c.event = (char *)"complete";
	c.field = (char *)field;
	c.key = (char *)key;
	return c;
}

static void check_refused(const config *c, const char *expected)
{
	assert_true(find(c) < 0);
	if (!strstr(why.text, expected))
		fail_msg("'%s' is not in '%s'", expected, why.text);
}

TEST(a_field_by_each_key)
{
	static const struct {
		const char *key;
		enum hist_key_kind kind;
		uint32_t offset, size;
	} rows[] = {
		{NULL, HIST_BY_NOTHING, 0, 0},	  {"comm", HIST_BY_COMM, 0, 0},
		{"pid", HIST_BY_PID, 0, 0},	  {"tid", HIST_BY_TID, 0, 0},
		{"cgroup", HIST_BY_CGROUP, 0, 0}, {"cpu", HIST_BY_CPU, 0, 0},
		{"error", HIST_BY_NUMBER, 28, 4}, {"rwbs", HIST_BY_TEXT, 34, 10},
		{"done", HIST_BY_NUMBER, 120, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		config c = value_of("nr_sector", rows[i].key);

		assert_int_equal(find(&c), 0);
		assert_int_equal(settings.value.offset, 24);
		assert_int_equal(settings.value.size, 4);
		assert_false(settings.value.is_signed);
		assert_int_equal(settings.key_kind, rows[i].kind);
		assert_int_equal(settings.key.offset, rows[i].offset);
		assert_int_equal(settings.key.size, rows[i].size);
	}
	assert_true(settings.n_steps == 0);
	assert_string_equal(spec.name, "complete: nr_sector by done");
	assert_string_equal(spec.event, "block/complete");
	assert_int_equal(spec.max_keys, HISTOGRAM_KEYS);
}

TEST(signs)
{
	config c = value_of("error", "error");

	assert_int_equal(find(&c), 0);
	assert_true(settings.value.is_signed);
	assert_true(settings.key.is_signed);
}

TEST(a_long_text_is_cut_to_the_key)
{
	struct record_field f;

	assert_int_equal(record_field_find(complete, "comm", &f), 0);
	assert_true(f.is_text);
	assert_int_equal(f.size, 32);
}

TEST(fields_that_cannot_be_counted)
{
	static const struct {
		const char *field, *key, *why;
	} rows[] = {
		{"rq", NULL, "complete.rq is an address"},
		{"call_site", NULL, "complete.call_site is an address"},
		{"nr_sector", "rq", "complete.rq is an address"},
		{"nr_sector", "bytes", "complete.bytes is not a number"},
		{"nr_sector", "cmd", "complete.cmd is not a number"},
		{"rwbs", NULL, "complete.rwbs is not a number"},
		{"nr", NULL, "complete has no field 'nr'"},
		{"unsigned", NULL, "complete has no field 'unsigned'"},
		{"common_pid", NULL, "BPF programs cannot read the field 'common_pid'"},
		{"nr_sector", "sect", "has no field 'sect'"},
		{"a b", NULL, "field: 'a b' is not a valid name"},
		{"nr_sector", "x\n", "is not a valid name"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		config c = value_of(rows[i].field, rows[i].key);

		check_refused(&c, rows[i].why);
	}
}

/* "call" is printed nowhere, "call_site" as a pointer. */
TEST(a_field_whose_name_begins_that_of_an_address)
{
	config c = value_of("call", NULL);

	assert_int_equal(find(&c), 0);
	assert_int_equal(settings.value.offset, 112);
}

TEST(a_time_between_events_that_have_fields_in_common)
{
	char *match[] = {(char *)"dev", (char *)"sector", (char *)"dev"};
	config c = PB__EBPF_COUNTERS_CONFIG__HISTOGRAM__INIT;

	c.event = (char *)"issue";
	c.end_event = (char *)"block/complete";
	c.match = match;
	c.n_match = 2;
	assert_int_equal(find(&c), 0);
	assert_int_equal(settings.n_matches, 2);
	assert_int_equal(settings.begin[0].offset, 12);
	assert_int_equal(settings.end[0].offset, 8);
	assert_int_equal(settings.begin[1].offset, 24);
	assert_int_equal(settings.end[1].size, 8);
	assert_string_equal(spec.name, "issue..block/complete: time on dev,sector");
	c.n_match = 0;
	assert_int_equal(find(&c), 0);
	assert_int_equal(settings.n_matches, 0);
	c.n_match = 3;
	check_refused(&c, "too many fields; the limit is 2");
	c.n_match = 1;
	match[0] = (char *)"nr_sector";
	check_refused(&c, "block/issue has no field 'nr_sector'");
}

TEST(events_that_do_not_exist)
{
	static const char *const names[] = {
		"x", "block/x", "", "../complete", "/complete", "block/", "a/b/complete", "comp*"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		config c = value_of("nr_sector", NULL);

		c.event = (char *)names[i];
		assert_true(find(&c) < 0);
	}
}

TEST(either_a_field_or_a_second_event)
{
	config c = value_of(NULL, NULL);
	char *match[] = {(char *)"dev"};

	check_refused(&c, "either field or end_event");
	c.end_event = (char *)"issue";
	c.field = (char *)"dev";
	check_refused(&c, "either field or end_event");
	c.end_event = NULL;
	c.match = match;
	c.n_match = 1;
	check_refused(&c, "match requires end_event");
}

TEST(linear_buckets)
{
	static const struct {
		int64_t min;
		uint64_t step;
		uint32_t steps;
		bool works;
	} rows[] = {
		{0, 8, 32, true},
		{-100, 1, HIST_STEPS_MAX, true},
		{0, 1, HIST_STEPS_MAX + 1, false},
		{0, 0, 1, false},
		{0, 1, 0, false},
		{INT64_MAX - 1, 1, 1, true},
		{INT64_MAX - 1, 1, 2, false},
		{0, UINT64_MAX, 2, false},
		{INT64_MIN, UINT64_MAX, 1, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Pb__EbpfCountersConfig__Histogram__Linear l =
			PB__EBPF_COUNTERS_CONFIG__HISTOGRAM__LINEAR__INIT;
		config c = value_of("nr_sector", NULL);

		l.min = rows[i].min;
		l.step = rows[i].step;
		l.steps = rows[i].steps;
		c.linear = &l;
		assert_int_equal(find(&c) == 0, rows[i].works);
		if (!rows[i].works)
			continue;
		assert_true(settings.min == rows[i].min && settings.step == rows[i].step);
		assert_int_equal(settings.n_steps, rows[i].steps);
	}
}

TEST(the_number_of_keys_has_a_limit)
{
	config c = value_of("nr_sector", "pid");

	c.max_keys = 1u << 30;
	assert_int_equal(find(&c), 0);
	assert_int_equal(spec.max_keys, HISTOGRAM_KEYS_MAX);
}

/* The longest words together. */
TEST(a_name_of_the_longest_words_fits)
{
	Pb__EbpfCountersConfig__Histogram__Linear l =
		PB__EBPF_COUNTERS_CONFIG__HISTOGRAM__LINEAR__INIT;
	char word[HISTOGRAM_WORD], event[HISTOGRAM_EVENT];
	char *match[] = {word, word};
	config c = PB__EBPF_COUNTERS_CONFIG__HISTOGRAM__INIT;

	memset(word, 'w', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	memset(event, 'e', sizeof(event));
	event[sizeof(event) - 1] = '\0';
	l.min = INT64_MIN;
	l.step = UINT64_MAX / HIST_STEPS_MAX;
	l.steps = HIST_STEPS_MAX;
	c.event = c.end_event = event;
	c.match = match;
	c.n_match = 2;
	c.key = word;
	c.linear = &l;
	assert_int_equal(histogram_spec_read(&c, &spec, &why), 0);
	/* The name is longer than a line of the config can be, and is cut. */
	assert_true(strlen(spec.name) < sizeof(spec.name));
}
