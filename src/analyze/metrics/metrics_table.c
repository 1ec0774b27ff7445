/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/metrics/metrics_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

#define NS_PER_SECOND 1e9
#define OTHER_LABELS "id=\"other\""

int metrics_table_new(const struct metrics_limits *limits, struct metrics_table **ret)
{
	struct metrics_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->limits = *limits;
	for (size_t i = 0; i < METRICS; i++)
		TAILQ_INIT(&t->of[i]);
	*ret = t;
	return 0;
}

static uint32_t count_metric_lines(enum metric_id metric)
{
	return metric_defs[metric].kind == METRIC_HISTOGRAM ? METRICS_CLASSIC + 2 : 1;
}

static void metrics_series_free(struct metrics_table *t, struct metrics_series *s)
{
	HASH_DEL(t->by_key, s);
	TAILQ_REMOVE(&t->of[s->metric], s, of_metric);
	if (s->subject)
		TAILQ_REMOVE(&s->subject->series, s, of_subject);
	t->n_lines -= count_metric_lines(s->metric);
	t->generation++;
	free(s->histogram);
	free(s);
}

void metrics_table_free(struct metrics_table *t)
{
	if (!t)
		return;
	while (t->subjects)
		metrics_subject_free(t, t->subjects);
	while (t->by_key)
		metrics_series_free(t, t->by_key);
	free(t);
}

/* ---- labels ---- */

void metrics_put_label(struct strbuf *b, const char *name, const char *value)
{
	size_t len = strnlen(value, METRICS_LABEL_MAX), i = 0;

	if (!len)
		return;
	strbuf_printf(b, "%s%s=\"", b->len ? "," : "", name);
	while (i < len) {
		size_t n = str_utf8_len(value + i, len - i);

		if (!n)
			strbuf_putc(b, '?');
		else if (value[i] == '\n')
			strbuf_puts(b, "\\n");
		else if (value[i] == '"' || value[i] == '\\')
			strbuf_printf(b, "\\%c", value[i]);
		else
			strbuf_add(b, value + i, n);
		i += n ? n : 1;
	}
	strbuf_putc(b, '"');
}

/* ---- subjects ---- */

static void metrics_count_left_out(struct metrics_table *t)
{
	struct metrics_series *s = metrics_series_get(t, METRIC_LEFT_OUT, NULL, NULL, NULL);

	if (s)
		s->total++;
}

struct metrics_subject *metrics_subject_get(struct metrics_table *t, const char *path, uint64_t now)
{
	struct metrics_subject *s;

	HASH_FIND_STR(t->subjects, path, s);
	if (s)
		return s;
	if (HASH_COUNT(t->subjects) >= METRICS_SUBJECTS_MAX) {
		metrics_count_left_out(t);
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	TAILQ_INIT(&s->series);
	s->first_ns = s->seen_ns = now;
	s->path = strdup(path);
	if (s->path)
		HASH_ADD_KEYPTR(hh, t->subjects, s->path, strlen(s->path), s);
	if (s->path && s->hh.tbl)
		return s;
	free(s->path);
	free(s);
	return NULL;
}

static void metrics_subject_remove_series(struct metrics_table *t, struct metrics_subject *s)
{
	while (!TAILQ_EMPTY(&s->series))
		metrics_series_free(t, TAILQ_FIRST(&s->series));
	t->n_chosen -= s->is_chosen;
	t->generation++;
	s->is_chosen = false;
}

void metrics_subject_free(struct metrics_table *t, struct metrics_subject *s)
{
	metrics_subject_remove_series(t, s);
	HASH_DEL(t->subjects, s);
	free(s->path);
	free(s->labels);
	free(s->facts);
	free(s);
}

static int metrics_subject_set_labels(struct metrics_subject *s)
{
	struct strbuf b = {0};

	if (s->labels)
		return 0;
	metrics_put_label(&b, "id", s->path);
	if (s->facts && *s->facts)
		strbuf_printf(&b, ",%s", s->facts);
	s->labels = strbuf_take(&b);
	return s->labels ? 0 : -ENOMEM;
}

void metrics_subject_choose(struct metrics_table *t, struct metrics_subject *s)
{
	if (metrics_subject_set_labels(s) < 0 || s->is_chosen || t->n_chosen >= t->limits.subjects)
		return;
	s->is_chosen = true;
	t->n_chosen++;
	t->generation++;
}

static uint64_t metrics_subject_growth(const struct metrics_subject *s)
{
	return s->cpu_ns > s->cpu_before_ns ? s->cpu_ns - s->cpu_before_ns : 0;
}

/* Sorts the largest growth first; with the same growth, chosen subjects come before others. */
static int metrics_subject_compare(const void *a, const void *b)
{
	const struct metrics_subject *x = *(struct metrics_subject *const *)a,
				     *y = *(struct metrics_subject *const *)b;
	uint64_t gx = metrics_subject_growth(x), gy = metrics_subject_growth(y);

	if (gx != gy)
		return gx > gy ? -1 : 1;
	return y->is_chosen - x->is_chosen;
}

/* Chooses the subjects that have series of their own: those that grew most. A subject without
 * labels is not chosen, as its labels may still change. */
void metrics_subjects_choose(struct metrics_table *t)
{
	size_t n = HASH_COUNT(t->subjects), i = 0;
	struct metrics_subject **all = calloc(n + 1, sizeof(struct metrics_subject *)), *s, *next;

	if (!all)
		return;
	HASH_ITER (hh, t->subjects, s, next)
		if (s->labels)
			all[i++] = s;
	n = i;
	qsort(all, n, sizeof(*all), metrics_subject_compare);
	for (i = t->limits.subjects; i < n; i++)
		if (all[i]->is_chosen)
			metrics_subject_remove_series(t, all[i]);
	for (i = 0; i < n && i < t->limits.subjects; i++)
		metrics_subject_choose(t, all[i]);
	HASH_ITER (hh, t->subjects, s, next)
		s->cpu_before_ns = s->cpu_ns;
	free(all);
}

/* ---- series ---- */

static void put_key(struct strbuf *b, enum metric_id metric, const struct metrics_subject *subject,
		    const char *first, const char *second)
{
	const struct metric_def *d = &metric_defs[metric];
	struct strbuf own = {0};

	if (d->labels[0] && first)
		metrics_put_label(&own, d->labels[0], first);
	if (d->labels[1] && second)
		metrics_put_label(&own, d->labels[1], second);
	strbuf_putc(b, (char)(metric + 1));
	if (subject)
		strbuf_puts(b, subject->is_chosen ? subject->labels : OTHER_LABELS);
	if (own.len)
		strbuf_printf(b, "%s%s", subject ? "," : "", own.s);
	b->failed |= own.failed;
	strbuf_deinit(&own);
}

/* Returns true if the limit leaves room: metrics about sonda itself always have some. */
static bool metrics_has_room(const struct metrics_table *t, enum metric_id metric)
{
	return metric >= METRIC_BUILD ||
	       t->n_lines + count_metric_lines(metric) <= t->limits.series;
}

static struct metrics_series *metrics_series_new(struct metrics_table *t, enum metric_id metric,
						 struct metrics_subject *subject,
						 const struct strbuf *key)
{
	struct metrics_series *s = calloc(1, sizeof(*s) + key->len + 1);
	bool has_histogram = metric_defs[metric].kind == METRIC_HISTOGRAM;

	if (!s)
		return NULL;
	s->metric = metric;
	s->key_len = key->len;
	memcpy(s->key, key->s, key->len + 1);
	s->histogram = has_histogram ? calloc(1, sizeof(*s->histogram)) : NULL;
	if (!has_histogram || s->histogram)
		HASH_ADD(hh, t->by_key, key, (unsigned)s->key_len, s);
	if (!s->hh.tbl) {
		free(s->histogram);
		free(s);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&t->of[metric], s, of_metric);
	s->subject = subject && subject->is_chosen ? subject : NULL;
	if (s->subject)
		TAILQ_INSERT_TAIL(&subject->series, s, of_subject);
	t->n_lines += count_metric_lines(metric);
	return s;
}

/* Returns true if further values of the first label of a metric are counted as "other". */
static bool metrics_has_reached_label_limit(const struct metrics_table *t, enum metric_id metric)
{
	static const uint16_t caps[METRICS] = {
		[METRIC_DROPPED_PACKETS] = METRICS_REASONS_MAX,
		[METRIC_BLOCK_LATENCY] = METRICS_BLOCK_MAX,
		[METRIC_BLOCK_BYTES] = METRICS_BLOCK_MAX,
		[METRIC_BLOCK_REQUESTS] = METRICS_BLOCK_MAX,
		[METRIC_BLOCK_IN_FLIGHT] = METRICS_BLOCK_MAX,
	};
	const struct metrics_series *s;
	uint16_t n = 0;

	if (!caps[metric])
		return false;
	TAILQ_FOREACH (s, &t->of[metric], of_metric)
		n++;
	return n >= caps[metric];
}

/* Returns the series with the label "other", which counts the values of a new label for which there
 * is no room. For gauges, which cannot be added up, counts a series that is left out, and returns
 * NULL. */
static struct metrics_series *metrics_series_get_other(struct metrics_table *t,
						       enum metric_id metric,
						       struct metrics_subject *subject,
						       const char *second)
{
	if (metric_defs[metric].kind != METRIC_GAUGE)
		return metrics_series_get(t, metric, subject, "other", second);
	metrics_count_left_out(t);
	return NULL;
}

struct metrics_series *metrics_series_get(struct metrics_table *t, enum metric_id metric,
					  struct metrics_subject *subject, const char *first,
					  const char *second)
{
	struct metrics_series *s = NULL;
	struct strbuf key = {0};

	put_key(&key, metric, subject, first, second);
	if (!key.failed) {
		HASH_FIND(hh, t->by_key, key.s, key.len, s);
		if (!s && metrics_has_reached_label_limit(t, metric) &&
		    strcmp(first ? first : "", "other") != 0)
			s = metrics_series_get_other(t, metric, subject, second);
		else if (!s && metrics_has_room(t, metric))
			s = metrics_series_new(t, metric, subject, &key);
		else if (!s)
			metrics_count_left_out(t);
	}
	strbuf_deinit(&key);
	return s;
}

void metrics_increase_counter(struct metrics_table *t, enum metric_id metric,
			      struct metrics_subject *subject, const char *first, uint64_t more)
{
	struct metrics_series *s = metrics_series_get(t, metric, subject, first, NULL);

	if (s)
		s->total += more;
}

/* ---- histograms ---- */

unsigned metrics_classic_bucket(uint64_t ns)
{
	uint64_t end = 1000;
	unsigned i = 0;

	while (i < METRICS_CLASSIC - 1 && ns > end) {
		end *= 4;
		i++;
	}
	return i;
}

void metrics_histogram_add(struct metrics_histogram *h, uint64_t ns, uint64_t n)
{
	int index;

	h->count += n;
	h->classic[metrics_classic_bucket(ns)] += n;
	if (ns < 2) {
		h->zero += n;
		return;
	}
	index = (int)ceil(log2((double)ns / NS_PER_SECOND) * 8) - METRICS_NATIVE_FIRST;
	h->native[MIN(MAX(index, 0), METRICS_NATIVE - 1)] += n;
}
