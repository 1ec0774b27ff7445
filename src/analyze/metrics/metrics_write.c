/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/metrics/metrics_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "wire/pb_enc.h"

#define NATIVE_SCHEMA 3
#define COARSE_SCHEMA 2
#define ZERO_THRESHOLD 1e-9 /* s */
#define EXACT_IN_DOUBLE 9007199254740992.0 /* 2^53 */

/* The ends of the classic buckets, spelled as Prometheus spells numbers: a bound with two spellings
 * would be two series. */
static const char *const classic_ends[METRICS_CLASSIC] = {
	"1e-06",    "4e-06",	"1.6e-05",  "6.4e-05",	"0.000256", "0.001024", "0.004096",
	"0.016384", "0.065536", "0.262144", "1.048576", "4.194304", "+Inf",
};

/* ---- the choice of a format ---- */

struct accept_entry {
	const char *type; /* with its parameters */
	size_t len;
	double quality;
};

static bool span_contains(const char *s, size_t len, const char *word)
{
	return memmem(s, len, word, strlen(word)) != NULL;
}

/* Reads the next entry of an Accept header at *at and advances *at. Returns false at the end. */
static bool read_next_accept_entry(const char **at, struct accept_entry *ret)
{
	const char *q;

	*at += strspn(*at, " \t,");
	if (!**at)
		return false;
	*ret = (struct accept_entry){.type = *at, .len = strcspn(*at, ","), .quality = 1};
	q = memmem(*at, ret->len, "q=", 2);
	if (q && (q[-1] == ';' || q[-1] == ' '))
		ret->quality = q[2] == '0' || q[2] == '1' ? str_leading_double(q + 2) : 0;
	*at += ret->len;
	return true;
}

static enum metrics_format find_accepted_format(const struct accept_entry *a)
{
	if (span_contains(a->type, a->len, "application/vnd.google.protobuf") &&
	    span_contains(a->type, a->len, "proto=io.prometheus.client.MetricFamily") &&
	    span_contains(a->type, a->len, "encoding=delimited"))
		return METRICS_PROTOBUF;
	if (span_contains(a->type, a->len, "application/openmetrics-text") &&
	    (!span_contains(a->type, a->len, "version=") ||
	     span_contains(a->type, a->len, "version=1.0.0")))
		return METRICS_OPENMETRICS;
	return METRICS_TEXT;
}

enum metrics_format metrics_format_choose(const char *accept)
{
	double best[METRICS_FORMATS] = {0};
	struct accept_entry a;

	while (accept && read_next_accept_entry(&accept, &a)) {
		enum metrics_format f = find_accepted_format(&a);

		best[f] = a.quality > best[f] ? a.quality : best[f];
	}
	if (best[METRICS_PROTOBUF] > 0 && best[METRICS_PROTOBUF] >= best[METRICS_OPENMETRICS] &&
	    best[METRICS_PROTOBUF] >= best[METRICS_TEXT])
		return METRICS_PROTOBUF;
	return best[METRICS_OPENMETRICS] > 0 ? METRICS_OPENMETRICS : METRICS_TEXT;
}

const char *metrics_format_type(enum metrics_format format)
{
	static const char *const types[METRICS_FORMATS] = {
		[METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
		[METRICS_OPENMETRICS] =
			"application/openmetrics-text; version=1.0.0; charset=utf-8",
		[METRICS_PROTOBUF] =
			("application/vnd.google.protobuf; "
			 "proto=io.prometheus.client.MetricFamily; encoding=delimited"),
	};

	return types[format];
}

/* ---- numbers ---- */

static double metrics_value(enum metric_unit unit, uint64_t total)
{
	return unit == METRIC_NS ? (double)total / 1e9 : (double)total;
}

/* Seconds are printed from the integer: a double has no room for the ns of more than 104 days. */
static void put_total(struct strbuf *out, enum metric_unit unit, uint64_t total)
{
	if (unit == METRIC_NS)
		strbuf_printf(out, "%" PRIu64 ".%09" PRIu64, total / 1000000000,
			      total % 1000000000);
	else
		strbuf_printf(out, "%" PRIu64, total);
}

static void put_gauge(struct strbuf *out, double v)
{
	if (fabs(v) < EXACT_IN_DOUBLE && v == trunc(v))
		strbuf_printf(out, "%.0f", v);
	else
		strbuf_printf(out, "%.15g", v);
}

static double metrics_gauge_value(const struct metrics_series *s)
{
	return metric_defs[s->metric].kind == METRIC_INFO ? 1 : s->gauge;
}

/* ---- text ---- */

/* Returns the length of the name of the family in OpenMetrics: samples of counters and infos have a
 * suffix there. */
static size_t metrics_family_len(const struct metric_def *d)
{
	size_t suffix = d->kind == METRIC_COUNTER ? strlen("_total")
			: d->kind == METRIC_INFO  ? strlen("_info")
						  : 0;

	return strlen(d->name) - suffix;
}

static void put_name(struct strbuf *out, const char *name, const char *suffix, const char *labels,
		     const char *le)
{
	strbuf_printf(out, "%s%s", name, suffix);
	if (*labels || le)
		strbuf_printf(out, "{%s", labels);
	if (le)
		strbuf_printf(out, "%sle=\"%s\"", *labels ? "," : "", le);
	strbuf_puts(out, *labels || le ? "} " : " ");
}

static void put_exemplar(const struct metrics_table *t, const struct metrics_exemplar *x,
			 struct strbuf *out)
{
	if (!x->ns || !t->trace_uuid[0])
		return;
	strbuf_printf(out, " # {trace_uuid=\"%s\",tid=\"%d\"} ", t->trace_uuid, (int)x->tid);
	put_total(out, METRIC_NS, x->ns);
	strbuf_printf(out, " %" PRIu64 ".%03u", x->at_ms / 1000, (unsigned)(x->at_ms % 1000));
}

static void put_histogram(const struct metrics_table *t, const struct metrics_series *s,
			  bool with_exemplars, struct strbuf *out)
{
	const struct metrics_histogram *h = s->histogram;
	const char *name = metric_defs[s->metric].name, *labels = metrics_series_labels(s);
	uint64_t sum = 0;

	for (size_t i = 0; i < METRICS_CLASSIC; i++) {
		sum += h->classic[i];
		put_name(out, name, "_bucket", labels, classic_ends[i]);
		put_total(out, METRIC_NUMBER, sum);
		if (with_exemplars)
			put_exemplar(t, &h->exemplars[i], out);
		strbuf_putc(out, '\n');
	}
	put_name(out, name, "_sum", labels, NULL);
	put_total(out, METRIC_NS, h->sum_ns);
	strbuf_putc(out, '\n');
	put_name(out, name, "_count", labels, NULL);
	put_total(out, METRIC_NUMBER, h->count);
	strbuf_putc(out, '\n');
}

static void put_number(const struct metrics_series *s, struct strbuf *out)
{
	const struct metric_def *d = &metric_defs[s->metric];

	put_name(out, d->name, "", metrics_series_labels(s), NULL);
	if (d->kind == METRIC_COUNTER)
		put_total(out, d->unit, s->total);
	else
		put_gauge(out, metrics_gauge_value(s));
	strbuf_putc(out, '\n');
}

/* Appends the comment lines of a metric. Format 0.0.4 has the name of the samples here, OpenMetrics
 * the name of the family, with its unit. */
static void put_comments(const struct metric_def *d, bool is_open, struct strbuf *out)
{
	static const char *const types[] = {
		[METRIC_COUNTER] = "counter",
		[METRIC_GAUGE] = "gauge",
		[METRIC_HISTOGRAM] = "histogram",
		[METRIC_INFO] = "info",
	};
	const char *type = d->kind == METRIC_INFO && !is_open ? "gauge" : types[d->kind];
	int len = (int)(is_open ? metrics_family_len(d) : strlen(d->name));
	char name[128];

	snprintf(name, sizeof(name), "%.*s", len, d->name);
	strbuf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, d->help, name, type);
	if (is_open && str_ends(name, "_seconds"))
		strbuf_printf(out, "# UNIT %s seconds\n", name);
	else if (is_open && str_ends(name, "_bytes"))
		strbuf_printf(out, "# UNIT %s bytes\n", name);
}

static void write_text(const struct metrics_table *t, bool is_open, struct strbuf *out)
{
	const struct metrics_series *s;

	for (size_t i = 0; i < METRICS; i++) {
		if (TAILQ_EMPTY(&t->of[i]))
			continue;
		put_comments(&metric_defs[i], is_open, out);
		TAILQ_FOREACH (s, &t->of[i], of_metric) {
			if (s->histogram)
				put_histogram(t, s, is_open, out);
			else
				put_number(s, out);
		}
	}
	if (is_open)
		strbuf_puts(out, "# EOF\n");
}

/* ---- protobuf: io/prometheus/client/metrics.proto ---- */

enum {
	FAMILY_NAME = 1,
	FAMILY_HELP,
	FAMILY_TYPE,
	FAMILY_METRIC,
	TYPE_COUNTER = 0,
	TYPE_GAUGE = 1,
	TYPE_HISTOGRAM = 4,
	METRIC_LABEL = 1,
	METRIC_OF_GAUGE = 2,
	METRIC_OF_COUNTER = 3,
	METRIC_OF_HISTOGRAM = 7,
	PAIR_NAME = 1,
	PAIR_VALUE = 2,
	NUMBER_VALUE = 1,
	HISTOGRAM_COUNT = 1,
	HISTOGRAM_SUM = 2,
	HISTOGRAM_BUCKET = 3,
	HISTOGRAM_SCHEMA = 5,
	HISTOGRAM_ZERO_THRESHOLD = 6,
	HISTOGRAM_ZERO_COUNT = 7,
	HISTOGRAM_SPAN = 12,
	HISTOGRAM_DELTA = 13,
	BUCKET_COUNT = 1,
	BUCKET_END = 2,
	BUCKET_EXEMPLAR = 3,
	SPAN_OFFSET = 1,
	SPAN_LENGTH = 2,
	EXEMPLAR_LABEL = 1,
	EXEMPLAR_VALUE = 2,
	EXEMPLAR_TIME = 3,
	TIME_SECONDS = 1,
	TIME_NANOS = 2,
};

static void encode_label(struct pb_enc *e, uint32_t field, const char *name, size_t name_len,
			 const char *value, size_t len)
{
	pb_enc_open(e, field);
	pb_enc_bytes(e, PAIR_NAME, name, name_len);
	pb_enc_bytes(e, PAIR_VALUE, value, len);
	pb_enc_close(e);
}

/* Encodes labels, which are in the form of a key, as pairs. */
static void encode_labels(struct pb_enc *e, const char *at)
{
	char value[METRICS_LABEL_MAX + 1];

	while (*at) {
		const char *name = at, *equals = strchr(at, '=');
		size_t n = 0;

		for (at = equals + 2; *at != '"'; at++) {
			bool is_escaped = *at == '\\';

			at += is_escaped;
			value[n++] = is_escaped && *at == 'n' ? '\n' : *at;
		}
		encode_label(e, METRIC_LABEL, name, (size_t)(equals - name), value, n);
		at += at[1] == ',' ? 2 : 1;
	}
}

static void encode_exemplar(struct pb_enc *e, const struct metrics_table *t,
			    const struct metrics_exemplar *x)
{
	char tid[16];

	if (!x->ns || !t->trace_uuid[0])
		return;
	snprintf(tid, sizeof(tid), "%d", (int)x->tid);
	pb_enc_open(e, BUCKET_EXEMPLAR);
	encode_label(e, EXEMPLAR_LABEL, "trace_uuid", strlen("trace_uuid"), t->trace_uuid,
		     strlen(t->trace_uuid));
	encode_label(e, EXEMPLAR_LABEL, "tid", strlen("tid"), tid, strlen(tid));
	pb_enc_double(e, EXEMPLAR_VALUE, (double)x->ns / 1e9);
	pb_enc_open(e, EXEMPLAR_TIME);
	pb_enc_u64(e, TIME_SECONDS, x->at_ms / 1000);
	pb_enc_u64(e, TIME_NANOS, x->at_ms % 1000 * 1000000);
	pb_enc_close(e);
	pb_enc_close(e);
}

static void encode_classic_buckets(struct pb_enc *e, const struct metrics_table *t,
				   const struct metrics_histogram *h)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < METRICS_CLASSIC; i++) {
		sum += h->classic[i];
		pb_enc_open(e, HISTOGRAM_BUCKET);
		pb_enc_u64(e, BUCKET_COUNT, sum);
		pb_enc_double(e, BUCKET_END,
			      i == METRICS_CLASSIC - 1 ? INFINITY
						       : str_leading_double(classic_ends[i]));
		encode_exemplar(e, t, &h->exemplars[i]);
		pb_enc_close(e);
	}
}

static void encode_bucket_span(struct pb_enc *e, int32_t offset, uint32_t length)
{
	pb_enc_open(e, HISTOGRAM_SPAN);
	pb_enc_sint(e, SPAN_OFFSET, offset);
	pb_enc_u64(e, SPAN_LENGTH, length);
	pb_enc_close(e);
}

/* Native buckets of either schema: [i] has the index first + i. */
struct native_buckets {
	int first, n;
	uint64_t of[METRICS_NATIVE];
};

/* Returns true for the waits of control groups, which have 4 buckets for each power of two
 * (bpf/cgroup_waits.h). */
static bool is_coarse(enum metric_id metric)
{
	return metric == METRIC_RUNQ_THROTTLED || metric == METRIC_SUBJECT_RUNQ;
}

/* Copies the buckets. If `coarse`, converts them from schema 3 to schema 2: two buckets, of which
 * the second one has an even index, become one. */
static void fill_native_buckets(const struct metrics_histogram *h, bool coarse,
				struct native_buckets *ret)
{
	*ret = (struct native_buckets){.first = METRICS_NATIVE_FIRST, .n = METRICS_NATIVE};
	if (coarse) {
		ret->first = METRICS_NATIVE_FIRST / 2;
		ret->n = METRICS_NATIVE / 2 + 1;
	}
	for (int i = 0; i < METRICS_NATIVE; i++)
		ret->of[coarse ? (i + 1) / 2 : i] += h->native[i];
}

/* Appends the fields of a native histogram. The offset of the first span is the index of a bucket,
 * later ones are gaps; a delta is the difference from the bucket before it. Without values an empty
 * span marks the histogram as native. */
static void encode_native_histogram(struct pb_enc *e, const struct metrics_histogram *h,
				    bool coarse)
{
	int next = 0; /* the index after the last span */
	uint8_t bytes[10]; /* the longest varint */
	struct native_buckets b;
	uint64_t last = 0;
	bool any = false;

	fill_native_buckets(h, coarse, &b);
	pb_enc_sint(e, HISTOGRAM_SCHEMA, coarse ? COARSE_SCHEMA : NATIVE_SCHEMA);
	pb_enc_double(e, HISTOGRAM_ZERO_THRESHOLD, ZERO_THRESHOLD);
	pb_enc_u64(e, HISTOGRAM_ZERO_COUNT, h->zero);
	for (int i = 0; i < b.n;) {
		int n = 0;

		while (i + n < b.n && b.of[i + n])
			n++;
		if (n) {
			encode_bucket_span(e, i + b.first - next, (uint32_t)n);
			next = i + n + b.first;
			any = true;
		}
		i += n ? n : 1;
	}
	if (!any)
		encode_bucket_span(e, 0, 0);
	pb_enc_open(e, HISTOGRAM_DELTA);
	for (int i = 0; i < b.n; i++) {
		if (!b.of[i])
			continue;
		pb_enc_raw(e, bytes,
			   (size_t)(pb_put_varint(bytes, pb_zigzag((int64_t)(b.of[i] - last))) -
				    bytes));
		last = b.of[i];
	}
	pb_enc_close(e);
}

static void encode_series(struct pb_enc *e, const struct metrics_table *t,
			  const struct metrics_series *s)
{
	const struct metric_def *d = &metric_defs[s->metric];
	const struct metrics_histogram *h = s->histogram;

	pb_enc_open(e, FAMILY_METRIC);
	encode_labels(e, metrics_series_labels(s));
	if (h) {
		pb_enc_open(e, METRIC_OF_HISTOGRAM);
		pb_enc_u64(e, HISTOGRAM_COUNT, h->count);
		pb_enc_double(e, HISTOGRAM_SUM, (double)h->sum_ns / 1e9);
		encode_classic_buckets(e, t, h);
		encode_native_histogram(e, h, is_coarse(s->metric));
	} else {
		pb_enc_open(e, d->kind == METRIC_COUNTER ? METRIC_OF_COUNTER : METRIC_OF_GAUGE);
		pb_enc_double(e, NUMBER_VALUE,
			      d->kind == METRIC_COUNTER ? metrics_value(d->unit, s->total)
							: metrics_gauge_value(s));
	}
	pb_enc_close(e);
	pb_enc_close(e);
}

static void encode_family(struct pb_enc *e, const struct metrics_table *t,
			  const struct metric_def *d, const struct metrics_series_list *list)
{
	const struct metrics_series *s;

	pb_enc_str(e, FAMILY_NAME, d->name);
	pb_enc_str(e, FAMILY_HELP, d->help);
	pb_enc_u64(e, FAMILY_TYPE,
		   d->kind == METRIC_COUNTER	 ? TYPE_COUNTER
		   : d->kind == METRIC_HISTOGRAM ? TYPE_HISTOGRAM
						 : TYPE_GAUGE);
	TAILQ_FOREACH (s, list, of_metric)
		encode_series(e, t, s);
}

static void write_protobuf(const struct metrics_table *t, struct strbuf *out)
{
	uint8_t length[10];
	struct pb_mem m;

	if (pb_mem_init(&m) < 0) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < METRICS; i++) {
		size_t n;

		if (TAILQ_EMPTY(&t->of[i]))
			continue;
		pb_mem_reset(&m);
		encode_family(&m.enc, t, &metric_defs[i], &t->of[i]);
		n = (size_t)pb_enc_pos(&m.enc);
		out->failed |= m.failed;
		strbuf_add(out, length, (size_t)(pb_put_varint(length, n) - length));
		strbuf_add(out, m.buf, n);
	}
	pb_mem_deinit(&m);
}

void metrics_write(const struct metrics_table *t, enum metrics_format format, struct strbuf *out)
{
	if (format == METRICS_PROTOBUF)
		write_protobuf(t, out);
	else
		write_text(t, format == METRICS_OPENMETRICS, out);
}
