/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>

#include "import/file/byte_reader.h"

/* The events of a perf.data, and the fields of its records that depend on them
 * (perf_event_open(2): sample_type, read_format). */
#define PERF_ATTRS_MAX 1024
#define PERF_IDS_MAX (1u << 20) /* of all events together */

struct perf_event {
	struct perf_event_attr attr;
	char name[64]; /* "": unknown */
	uint64_t n_samples;
	uint64_t count; /* of all samples so far */
};

struct perf_id {
	uint64_t id;
	uint32_t event;
};

struct perf_attrs {
	struct perf_event *events; /* owned: room for PERF_ATTRS_MAX, so that they stay in place */
	size_t n_events;
	struct perf_id *ids; /* owned; sorted when is_sorted */
	size_t n_ids, ids_cap;
	bool is_sorted;
};

void perf_attrs_deinit(struct perf_attrs *a);

/* Reads an attribute, whose length is in its field size, at most `limit`. Returns false if it is
 * malformed. */
bool perf_attr_read(const uint8_t *data, size_t limit, struct perf_event_attr *ret);
/* Adds an event with its ids, n_ids numbers. Returns 0, -EBADMSG above a limit, or -ENOMEM. */
int perf_attrs_add(struct perf_attrs *a, const struct perf_event_attr *attr,
		   struct byte_reader *ids, size_t n_ids);

/* The fields of a sample; 0 for those that the event does not record. */
struct perf_sample {
	struct perf_event *event; /* borrowed */
	uint64_t time, ip, period;
	uint32_t pid, tid, cpu;
	bool has_cpu;
	const uint8_t *callchain; /* n_callchain u64; NULL: none */
	uint64_t n_callchain;
	const uint8_t *raw; /* raw_len bytes; NULL: none */
	uint32_t raw_len;
};

/* Reads a sample. The record includes its header. Returns false if it is malformed, or of an
 * unknown event. */
bool perf_sample_read(struct perf_attrs *a, const uint8_t *record, size_t len,
		      struct perf_sample *ret);

/* The end of other records: sample_id_all. 0 for what is not recorded. */
struct perf_record_end {
	uint64_t time;
	uint32_t tid;
	uint32_t cpu;
	bool has_cpu;
	size_t size; /* bytes at the end of the record */
};

struct perf_record_end perf_record_end_read(const struct perf_attrs *a, const uint8_t *record,
					    size_t len);
