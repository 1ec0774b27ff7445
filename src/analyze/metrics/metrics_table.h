/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "analyze/metrics/metrics_list.h"
#include "base/core/hash_table.h"

/*
 * The values of all metrics: series by their labels, and the control groups ("subjects") that some
 * of them are about. It is filled by metrics_feed.h and written by metrics_write.h.
 *
 * Limits: only the chosen subjects, those that used the most CPU time, have series of their own;
 * the growth of all others is added to the series with id="other". Beyond the limit of series, no
 * new ones are created, which is counted.
 *
 * Names are untrusted. Not thread-safe.
 */

#define METRICS_SUBJECTS_MAX 16384u /* subjects that are followed */
#define METRICS_REASONS_MAX 16 /* of dropped packets; further ones are "other" */
#define METRICS_BLOCK_MAX                                                                          \
	128 /* series of a metric of disks; further ones have the device "other" */
#define METRICS_LABEL_MAX 256u /* bytes of a label's value; longer ones are cut */

/* Histograms of times in ns. Classic buckets end at 1 us * 4^i; the last one has no end. Native
 * buckets are those of schema 3 of Prometheus: index i ends at 2^(i/8) s. */
#define METRICS_CLASSIC 13
#define METRICS_NATIVE_FIRST (-240) /* index of native[0], which ends below 1 ns */
#define METRICS_NATIVE 296

struct metrics_exemplar {
	uint64_t ns; /* the value; 0: none */
	uint64_t at_ms; /* CLOCK_REALTIME */
	int32_t tid;
};

struct metrics_histogram {
	uint64_t count, sum_ns;
	uint64_t zero; /* values below 2 ns */
	uint64_t classic[METRICS_CLASSIC]; /* not cumulative */
	uint64_t native[METRICS_NATIVE];
	struct metrics_exemplar exemplars[METRICS_CLASSIC];
};

struct metrics_series {
	UT_hash_handle hh; /* by key */
	TAILQ_ENTRY(metrics_series) of_metric, of_subject;
	struct metrics_subject *subject; /* NULL: none */
	struct metrics_histogram *histogram; /* owned; NULL: no histogram */
	uint64_t total; /* of a counter */
	double gauge;
	enum metric_id metric;
	/* The identity: the metric, then the labels as text: NAME="VALUE",..., with \\, \" and \n
	 * escaped. */
	size_t key_len;
	char key[];
};

TAILQ_HEAD(metrics_series_list, metrics_series);

struct metrics_subject {
	UT_hash_handle hh; /* by path */
	char *path, *labels; /* owned; labels: as in a key; NULL until it may be chosen */
	char *facts; /* owned: labels of its names, without its path; NULL: none */
	struct metrics_series_list series;
	uint64_t first_ns, seen_ns; /* times of packets */
	uint64_t cpu_ns, cpu_before_ns; /* CPU time, now and when subjects were last chosen */
	bool is_chosen;
};

struct metrics_limits {
	uint32_t subjects; /* with series of their own */
	uint32_t series; /* lines of the text format */
};

struct metrics_table {
	struct metrics_limits limits;
	struct metrics_series *by_key; /* owned */
	struct metrics_series_list of[METRICS];
	struct metrics_subject *subjects; /* owned, by path */
	uint32_t n_chosen;
	uint32_t n_lines; /* of the text format, without comments */
	uint64_t generation; /* changes when a series was freed */
	char trace_uuid[37]; /* of the exemplars; "": none */
};

/* Returns 0 or -ENOMEM. */
int metrics_table_new(const struct metrics_limits *limits, struct metrics_table **ret);
void metrics_table_free(struct metrics_table *t);

/* Returns the subject with the path, created if needed; NULL if there are too many (counted) or
 * memory is out. now: time of the packet, ns. */
struct metrics_subject *metrics_subject_get(struct metrics_table *t, const char *path,
					    uint64_t now);
/* Frees a subject with its series. */
void metrics_subject_free(struct metrics_table *t, struct metrics_subject *s);
/* Chooses the subjects with series of their own: those whose CPU time grew most since the last
 * call. */
void metrics_subjects_choose(struct metrics_table *t);
/* Fixes the labels of the subject, so that it may be chosen, and chooses it if there is room. */
void metrics_subject_choose(struct metrics_table *t, struct metrics_subject *s);

/* Appends NAME="VALUE" to labels in the form of a key, if the value is not empty. */
struct strbuf;
void metrics_put_label(struct strbuf *b, const char *name, const char *value);

/* Returns the series of a metric with these values of its labels, created if needed; NULL if the
 * limit is reached (counted) or memory runs out. subject: NULL for metrics of the machine; one that
 * is not chosen stands for the series with id="other". The result is valid while t->generation
 * stays the same. */
struct metrics_series *metrics_series_get(struct metrics_table *t, enum metric_id metric,
					  struct metrics_subject *subject, const char *first,
					  const char *second);

/* Adds to a counter; creates it if needed. */
void metrics_increase_counter(struct metrics_table *t, enum metric_id metric,
			      struct metrics_subject *subject, const char *first, uint64_t more);

/* Returns the labels of a series. */
static inline const char *metrics_series_labels(const struct metrics_series *s)
{
	return s->key + 1;
}

/* Adds n values of ns each. */
void metrics_histogram_add(struct metrics_histogram *h, uint64_t ns, uint64_t n);
/* Returns the index of the classic bucket of a value. */
unsigned metrics_classic_bucket(uint64_t ns);
