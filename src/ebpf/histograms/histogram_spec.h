/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "bpf/hist.h"
#include "config/linux/ebpf_counters_config.pb-c.h"
#include "ebpf/engine/features.h"

/* What a histogram counts: the checked config, and the places of its fields in the records of this
 * kernel. The config may be from any consumer. */
#define HISTOGRAM_WORD 64 /* bytes of a word of the config, with its NUL */
#define HISTOGRAM_NAME 640
#define HISTOGRAM_EVENT (2 * HISTOGRAM_WORD) /* "group/name" */
#define HISTOGRAM_KEYS 1024u /* default */
#define HISTOGRAM_KEYS_MAX 8192u

struct histogram_spec {
	char name[HISTOGRAM_NAME]; /* as in the option --hist of sonda record */
	char event[HISTOGRAM_EVENT],
		end_event[HISTOGRAM_EVENT]; /* end_event: empty if there is a field */
	char field[HISTOGRAM_WORD], key[HISTOGRAM_WORD]; /* may be empty */
	char match[HIST_MATCHES][HISTOGRAM_WORD];
	uint32_t n_matches;
	uint32_t max_keys;
	int64_t min;
	uint64_t step;
	uint32_t n_steps; /* 0: powers of two */
};

/* Returns 0, or -EINVAL and sets e. */
int histogram_spec_read(const Pb__EbpfCountersConfig__Histogram *c, struct histogram_spec *ret,
			struct err_text *e);

/* Finds the fields in the formats of the events, and replaces the names of the events by
 * "group/name". Returns 0, or -errno and sets e. */
int histogram_spec_find_fields(struct histogram_spec *s, const struct ebpf_features *f,
			       struct hist_settings *ret, struct err_text *e);

/* A field, as a format file describes it. */
struct record_field {
	uint32_t offset, size; /* bytes */
	bool is_signed, is_text, is_address;
	bool is_other; /* neither a number nor an array of char: another array, a text elsewhere */
};

/* Finds a field in the text of a format file. Returns 0, or -ENOENT. */
int record_field_find(const char *format, const char *name, struct record_field *ret);
