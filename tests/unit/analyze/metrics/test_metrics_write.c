/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/metrics/metrics_write.h"

#include <ctype.h>
#include <math.h>

#include "base/text/str.h"
#include "unit/test.h"
#include "wire/pb_read.h"

static struct metrics_table *table;
static struct strbuf out;

static int set_up(void **state)
{
	const struct metrics_limits limits = {.subjects = 8, .series = 1000};

	return metrics_table_new(&limits, &table);
}

static int tear_down(void **state)
{
	metrics_table_free(table);
	strbuf_deinit(&out);
	return 0;
}

#define WRITE_TEST(name) TEST_WITH(name, set_up, tear_down)

TEST(the_format_is_chosen_by_the_header)
{
	static const char protobuf[] =
		"application/"
		"vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,"
		"application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/"
		"*;q=0.1";

	assert_int_equal(metrics_format_choose(NULL), METRICS_TEXT);
	assert_int_equal(metrics_format_choose(""), METRICS_TEXT);
	assert_int_equal(metrics_format_choose("*/*"), METRICS_TEXT);
	assert_int_equal(metrics_format_choose("text/plain;version=0.0.4;q=1,*/*;q=0.1"),
			 METRICS_TEXT);
	assert_int_equal(metrics_format_choose("application/openmetrics-text;version=1.0.0,"
					       "application/openmetrics-text;version=0.0.1;q=0.75,"
					       "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
			 METRICS_OPENMETRICS);
	assert_int_equal(metrics_format_choose("application/openmetrics-text;version=2.0.0"),
			 METRICS_TEXT);
	assert_int_equal(metrics_format_choose(protobuf), METRICS_PROTOBUF);
	/* Not the one with the highest quality. */
	assert_int_equal(
		metrics_format_choose(
			"application/openmetrics-text,application/vnd.google.protobuf;"
			"proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.3"),
		METRICS_OPENMETRICS);
	/* Without the encoding it is another format. */
	assert_int_equal(metrics_format_choose("application/vnd.google.protobuf"), METRICS_TEXT);
	assert_int_equal(metrics_format_choose(",,; q=,,q=1"), METRICS_TEXT);
}

static struct metrics_series *one(enum metric_id id, const char *first, const char *second)
{
	struct metrics_series *s = metrics_series_get(table, id, NULL, first, second);

	assert_non_null(s);
	return s;
}

static void fill(void)
{
	one(METRIC_CONTEXT_SWITCHES, NULL, NULL)->total = 7;
	one(METRIC_BUILD, "1.0", NULL);
	one(METRIC_SESSION_UP, "metrics", NULL)->gauge = 1;
	one(METRIC_BLOCK_BYTES, "sd\"a\\\n", "read")->total = 4096;
	for (uint64_t ns = 0; ns < 3000; ns += 3)
		metrics_histogram_add(one(METRIC_RUNQ_LATENCY, NULL, NULL)->histogram, ns, 2);
}

WRITE_TEST(openmetrics_has_families_units_and_an_end)
{
	fill();
	metrics_write(table, METRICS_OPENMETRICS, &out);
	assert_non_null(strstr(out.s, "# TYPE sonda_context_switches counter\n"));
	assert_non_null(strstr(out.s, "\nsonda_context_switches_total 7\n"));
	assert_non_null(strstr(out.s, "# TYPE sonda_build info\n"));
	assert_non_null(strstr(out.s, "# UNIT sonda_runq_latency_seconds seconds\n"));
	assert_non_null(strstr(out.s, "{device=\"sd\\\"a\\\\\\n\",operation=\"read\"} 4096\n"));
	assert_true(str_ends(out.s, "\n# EOF\n"));
}

/* The length before each message, and one message for each family. */
WRITE_TEST(protobuf_is_delimited_and_its_sums_agree)
{
	unsigned families = 0, histograms = 0;
	struct pb_dec d;

	fill();
	metrics_write(table, METRICS_PROTOBUF, &out);
	for (const uint8_t *at = (const uint8_t *)out.s, *end = at + out.len; at < end;
	     families++) {
		struct pb_field metric = {0}, histogram, f;
		uint64_t len = 0, count = 0, zero = 0, classic = 0;
		int64_t delta = 0, sum = 0;
		unsigned shift = 0;

		do
			len |= (uint64_t)(*at & 0x7f) << shift, shift += 7;
		while (*at++ & 0x80);
		assert_true(len <= (uint64_t)(end - at));
		for (pb_dec_init(&d, at, len); pb_dec_next(&d, &f);)
			if (f.id == 4)
				metric = f;
		assert_true(pb_dec_ok(&d) && metric.data);
		at += len;
		histogram = pb_inner_field(&metric, 7);
		if (!histogram.data)
			continue;
		histograms++;
		assert_true(pb_read(&histogram, PB_TO(1, &count), PB_TO(7, &zero)));
		pb_for_each (x, &histogram) {
			uint64_t v;

			if (x.id == 3) {
				classic = 0;
				pb_read(&x, PB_TO(1, &classic));
			}
			for (struct pb_packed p = pb_packed_of(&x);
			     x.id == 13 && pb_packed_next(&p, &v);) {
				delta += (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
				sum += delta;
			}
		}
		assert_int_equal(count, 2000);
		assert_int_equal(classic, count); /* the last bucket is +Inf */
		assert_int_equal((uint64_t)sum + zero, count);
	}
	assert_int_equal(families, 5);
	assert_int_equal(histograms, 1);
}

/* What a linter of Prometheus would report. */
static int64_t zigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

WRITE_TEST(a_backslash_before_n_is_no_newline)
{
	one(METRIC_BLOCK_BYTES, "sd\\na", "read")->total = 1;
	metrics_write(table, METRICS_PROTOBUF, &out);
	assert_non_null(memmem(out.s, out.len, "sd\\na", 5));
}

/* One value, which ends below 2^(-79/8) s, and below 2^(-39/4) s. */
WRITE_TEST(a_native_histogram_has_the_resolution_of_its_counts)
{
	static const struct {
		enum metric_id metric;
		int schema, index;
	} expected[] = {{METRIC_RUNQ_LATENCY, 3, -79}, {METRIC_RUNQ_THROTTLED, 2, -39}};
	const uint8_t *at, *end;
	struct pb_dec d;
	unsigned i = 0;

	for (; i < ARRAY_SIZE(expected); i++)
		metrics_histogram_add(one(expected[i].metric, NULL, NULL)->histogram, 1 << 20, 1);
	metrics_write(table, METRICS_PROTOBUF, &out);
	at = (const uint8_t *)out.s;
	end = at + out.len;
	for (i = 0; at < end; i++) {
		struct pb_field f, metric = {0}, histogram, span;
		uint64_t len = 0, schema = 0, offset = 0, length = 0;

		for (unsigned shift = 0;; shift += 7) {
			len |= (uint64_t)(*at & 0x7f) << shift;
			if (!(*at++ & 0x80))
				break;
		}
		for (pb_dec_init(&d, at, len); pb_dec_next(&d, &f);)
			if (f.id == 4)
				metric = f;
		at += len;
		histogram = pb_inner_field(&metric, 7);
		assert_true(pb_read(&histogram, PB_TO(5, &schema)));
		span = pb_inner_field(&histogram, 12);
		assert_true(pb_read(&span, PB_TO(1, &offset), PB_TO(2, &length)));
		assert_int_equal(zigzag(schema), expected[i].schema);
		assert_int_equal(zigzag(offset), expected[i].index);
		assert_int_equal(length, 1);
	}
	assert_int_equal(i, ARRAY_SIZE(expected));
}

TEST(names_follow_the_conventions)
{
	for (size_t i = 0; i < METRICS; i++) {
		const struct metric_def *m = &metric_defs[i];
		const char *unit = m->unit == METRIC_NS || i == METRIC_SNAPSHOT_TIME ? "_seconds"
				   : m->unit == METRIC_BYTES			     ? "_bytes"
										     : "";
		const char *suffix = m->kind == METRIC_COUNTER ? "_total"
				     : m->kind == METRIC_INFO  ? "_info"
							       : "";
		char end[32];

		snprintf(end, sizeof(end), "%s%s", unit, suffix);
		assert_true(str_ends(m->name, end));
		assert_true(str_starts(m->name, "sonda_"));
		for (const char *c = m->name; *c; c++)
			assert_true(islower((unsigned char)*c) || *c == '_');
		assert_int_equal(str_ends(m->name, "_total"), m->kind == METRIC_COUNTER);
		assert_false(str_ends(m->name, "_count") || str_ends(m->name, "_sum") ||
			     str_ends(m->name, "_bucket"));
		assert_true(m->help[0] && str_ends(m->help, "."));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(m->name, metric_defs[k].name);
	}
}

TEST(classic_buckets_end_at_powers_of_4_us)
{
	assert_int_equal(metrics_classic_bucket(0), 0);
	assert_int_equal(metrics_classic_bucket(1000), 0);
	assert_int_equal(metrics_classic_bucket(1001), 1);
	assert_int_equal(metrics_classic_bucket(4194304000ull), 11);
	assert_int_equal(metrics_classic_bucket(UINT64_MAX), 12);
}
