/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/perf_attrs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "ftrace/format/unaligned.h"

#define SAMPLE_HEAD sizeof(struct perf_event_header)

void perf_attrs_deinit(struct perf_attrs *a)
{
	free(a->events);
	free(a->ids);
	*a = (struct perf_attrs){0};
}

bool perf_attr_read(const uint8_t *data, size_t limit, struct perf_event_attr *ret)
{
	uint32_t size;

	if (limit < PERF_ATTR_SIZE_VER0)
		return false;
	size = load32(data + offsetof(struct perf_event_attr, size));
	if (size < PERF_ATTR_SIZE_VER0 || size > limit)
		return false;
	*ret = (struct perf_event_attr){0};
	memcpy(ret, data, MIN(size, sizeof(*ret)));
	return true;
}

int perf_attrs_add(struct perf_attrs *a, const struct perf_event_attr *attr,
		   struct byte_reader *ids, size_t n_ids)
{
	if (a->n_events == PERF_ATTRS_MAX || n_ids > PERF_IDS_MAX - a->n_ids ||
	    n_ids > byte_reader_left(ids) / sizeof(uint64_t))
		return -EBADMSG;
	if (!a->events)
		a->events = calloc(PERF_ATTRS_MAX, sizeof(*a->events));
	if (!a->events || array_reserve(&a->ids, &a->ids_cap, a->n_ids + n_ids, sizeof(*a->ids)))
		return -ENOMEM;
	for (size_t i = 0; i < n_ids; i++)
		a->ids[a->n_ids++] = (struct perf_id){byte_reader_u64(ids), (uint32_t)a->n_events};
	a->events[a->n_events++] = (struct perf_event){.attr = *attr};
	a->is_sorted = false;
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = ((const struct perf_id *)a)->id, y = ((const struct perf_id *)b)->id;

	return x < y ? -1 : x > y;
}

static struct perf_event *find_event_by_id(struct perf_attrs *a, uint64_t id)
{
	const struct perf_id key = {.id = id}, *found;

	if (!a->is_sorted && a->n_ids)
		qsort(a->ids, a->n_ids, sizeof(*a->ids), compare_ids);
	a->is_sorted = true;
	found = a->n_ids ? bsearch(&key, a->ids, a->n_ids, sizeof(*a->ids), compare_ids) : NULL;
	return found ? &a->events[found->event] : NULL;
}

/* Returns where the id is in samples of this type, in bytes after the header; -1: there is none. */
static int find_id_offset(uint64_t type)
{
	static const uint64_t before[] = {PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
					  PERF_SAMPLE_ADDR};
	int offset = 0;

	if (type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	for (unsigned i = 0; i < ARRAY_SIZE(before); i++)
		offset += type & before[i] ? 8 : 0;
	return offset;
}

/* Finds the event of a sample by its id, which all events of a file have at the same place. Returns
 * NULL if the file has no such event. */
static struct perf_event *find_event_of_sample(struct perf_attrs *a, const uint8_t *record,
					       size_t len)
{
	int offset;

	if (!a->n_events)
		return NULL;
	if (a->n_events == 1)
		return a->events;
	offset = find_id_offset(a->events[0].attr.sample_type);
	if (offset < 0 || SAMPLE_HEAD + (size_t)offset + sizeof(uint64_t) > len)
		return NULL;
	return find_event_by_id(a, load64(record + SAMPLE_HEAD + offset));
}

/* Skips the counts of PERF_SAMPLE_READ. */
static void skip_sample_counts(struct byte_reader *r, uint64_t format)
{
	uint64_t n = 1, times = 0, each = 1;

	times += format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 1 : 0;
	times += format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 1 : 0;
	each += format & PERF_FORMAT_ID ? 1 : 0;
	each += format & (1u << 4) ? 1 : 0; /* PERF_FORMAT_LOST */
	if (format & PERF_FORMAT_GROUP)
		n = byte_reader_u64(r);
	if (n > byte_reader_left(r))
		r->failed = true;
	else
		byte_reader_read(r, 8 * (times + n * each));
}

bool perf_sample_read(struct perf_attrs *a, const uint8_t *record, size_t len,
		      struct perf_sample *ret)
{
	struct perf_event *event = find_event_of_sample(a, record, len);
	struct perf_sample s = {.event = event};
	struct byte_reader r;
	uint64_t type;

	if (!event || len < SAMPLE_HEAD)
		return false;
	type = event->attr.sample_type;
	r = byte_reader_make(record + SAMPLE_HEAD, len - SAMPLE_HEAD);
	if (type & PERF_SAMPLE_IDENTIFIER)
		byte_reader_u64(&r);
	if (type & PERF_SAMPLE_IP)
		s.ip = byte_reader_u64(&r);
	if (type & PERF_SAMPLE_TID) {
		s.pid = byte_reader_u32(&r);
		s.tid = byte_reader_u32(&r);
	}
	if (type & PERF_SAMPLE_TIME)
		s.time = byte_reader_u64(&r);
	if (type & PERF_SAMPLE_ADDR)
		byte_reader_u64(&r);
	if (type & PERF_SAMPLE_ID)
		byte_reader_u64(&r);
	if (type & PERF_SAMPLE_STREAM_ID)
		byte_reader_u64(&r);
	if (type & PERF_SAMPLE_CPU) {
		s.cpu = byte_reader_u32(&r);
		s.has_cpu = true;
		byte_reader_u32(&r);
	}
	s.period = type & PERF_SAMPLE_PERIOD ? byte_reader_u64(&r) : event->attr.sample_period;
	if (type & PERF_SAMPLE_READ)
		skip_sample_counts(&r, event->attr.read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		s.n_callchain = byte_reader_u64(&r);
		if (s.n_callchain > byte_reader_left(&r) / 8)
			return false;
		s.callchain = byte_reader_read(&r, s.n_callchain * 8);
	}
	if (type & PERF_SAMPLE_RAW) {
		s.raw_len = byte_reader_u32(&r);
		s.raw = byte_reader_read(&r, s.raw_len);
	}
	*ret = s;
	return !r.failed;
}

struct perf_record_end perf_record_end_read(const struct perf_attrs *a, const uint8_t *record,
					    size_t len)
{
	static const uint64_t fields[] = {PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
					  PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
					  PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER};
	struct perf_record_end end = {0};
	struct byte_reader r;
	uint64_t type;

	if (!a->n_events || !a->events[0].attr.sample_id_all)
		return end;
	type = a->events[0].attr.sample_type;
	for (unsigned i = 0; i < ARRAY_SIZE(fields); i++)
		end.size += type & fields[i] ? 8 : 0;
	if (len < SAMPLE_HEAD + end.size)
		return (struct perf_record_end){0};
	r = byte_reader_make(record + len - end.size, end.size);
	if (type & PERF_SAMPLE_TID) {
		byte_reader_u32(&r);
		end.tid = byte_reader_u32(&r);
	}
	if (type & PERF_SAMPLE_TIME)
		end.time = byte_reader_u64(&r);
	if (type & PERF_SAMPLE_ID)
		byte_reader_u64(&r);
	if (type & PERF_SAMPLE_STREAM_ID)
		byte_reader_u64(&r);
	if (type & PERF_SAMPLE_CPU) {
		end.cpu = byte_reader_u32(&r);
		end.has_cpu = true;
	}
	return end;
}
