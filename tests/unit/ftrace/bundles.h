/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gen/fields.h"
#include "unit/ftrace/fake_writer.h"
#include "wire/pb_dec.h"

/* The bundles of a fake writer's trace, taken apart. */
#define BUNDLES_MAX 4096
#define BUNDLE_COLUMNS 13 /* by field number in CompactSched; 0 is unused */

struct bundle_view {
	struct pb_field whole;
	uint32_t cpu;
	bool lost;
	uint64_t lost_count;
	uint64_t previous_end;
	unsigned ranges; /* lost ranges, */
	uint64_t range[3]; /* and the last one: beginning, end, events */
	unsigned events; /* fields "event" */
	unsigned errors;
	uint64_t error_time; /* of the last one */
	uint64_t error_status;
	struct pb_field broken_page;
	unsigned descriptors;
	unsigned names; /* of the intern table */
	struct pb_field compact;
	struct pb_field columns[BUNDLE_COLUMNS];
};

static struct bundle_view bundles[BUNDLES_MAX];
static unsigned n_bundles;

static inline void bundles_take_compact(struct bundle_view *b)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, b->compact.data, b->compact.len);
	while (pb_dec_next(&d, &f)) {
		assert(f.id < BUNDLE_COLUMNS);
		if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_INTERN_TABLE)
			b->names++;
		else
			b->columns[f.id] = f;
	}
	assert(pb_dec_ok(&d));
}

static inline void bundles_take_error(struct bundle_view *b, const struct pb_field *error)
{
	struct pb_field f;
	struct pb_dec d;

	b->errors++;
	b->error_time = 0;
	pb_dec_init(&d, error->data, error->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_FTRACE_EVENT_BUNDLE_FTRACE_ERROR_TIMESTAMP)
			b->error_time = f.u64;
		else
			b->error_status = f.u64;
	assert(pb_dec_ok(&d));
}

static inline void bundles_take_range(struct bundle_view *b, const struct pb_field *range)
{
	struct pb_field f;
	struct pb_dec d;

	b->ranges++;
	memset(b->range, 0, sizeof(b->range));
	pb_dec_init(&d, range->data, range->len);
	while (pb_dec_next(&d, &f)) {
		assert(f.id >= 1 && f.id <= 3);
		b->range[f.id - 1] = f.u64;
	}
	assert(pb_dec_ok(&d));
}

static inline void bundles_take(struct bundle_view *b, const struct pb_field *bundle)
{
	struct pb_field f;
	struct pb_dec d;

	*b = (struct bundle_view){.whole = *bundle};
	pb_dec_init(&d, bundle->data, bundle->len);
	while (pb_dec_next(&d, &f))
		switch (f.id) {
		case PB_FTRACE_EVENT_BUNDLE_CPU:
			b->cpu = (uint32_t)f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_EVENTS:
			b->lost = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_EVENT_COUNT:
			b->lost_count = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP:
			b->previous_end = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_RANGES:
			bundles_take_range(b, &f);
			break;
		case PB_FTRACE_EVENT_BUNDLE_EVENT:
			b->events++;
			break;
		case PB_FTRACE_EVENT_BUNDLE_ERROR:
			bundles_take_error(b, &f);
			break;
		case PB_FTRACE_EVENT_BUNDLE_BROKEN_ABI_TRACE_PAGE:
			assert(!b->broken_page.data);
			b->broken_page = f;
			break;
		case PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS:
			b->descriptors++;
			break;
		case PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED:
			b->compact = f;
			bundles_take_compact(b);
			break;
		}
	assert(pb_dec_ok(&d));
}

/* Fills bundles[] from the trace. */
static inline void bundles_read(const struct writer *w)
{
	struct pb_field packet, f;
	struct pb_dec d, inner;

	n_bundles = 0;
	pb_dec_init(&d, w->begin, fake_writer_len(w));
	while (pb_dec_next(&d, &packet)) {
		pb_dec_init(&inner, packet.data, packet.len);
		while (pb_dec_next(&inner, &f))
			if (f.id == PB_TRACE_PACKET_FTRACE_EVENTS) {
				assert(n_bundles < BUNDLES_MAX);
				bundles_take(&bundles[n_bundles++], &f);
			}
		assert(pb_dec_ok(&inner));
	}
	assert(pb_dec_ok(&d));
}

/* The values of a column; gives their number. */
static inline unsigned bundle_column(const struct bundle_view *b, uint32_t id, uint64_t *values)
{
	struct pb_packed p;
	unsigned n = 0;

	if (!b->columns[id].data)
		return 0;
	p = pb_packed_of(&b->columns[id]);
	while (pb_packed_next(&p, &values[n]))
		n++;
	return n;
}

/* The i-th name of the intern table, as a field. */
static inline struct pb_field bundle_name(const struct bundle_view *b, unsigned i)
{
	struct pb_field f = {0};
	struct pb_dec d;

	pb_dec_init(&d, b->compact.data, b->compact.len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_INTERN_TABLE && i-- == 0)
			return f;
	return (struct pb_field){0};
}

/* All bundles as text, what is 0 left out:
 * "cpu 1 after 1000 lost 77 events 2 | cpu 1 after 2000 gap 1200-2000 (77) errors 2 at 3000
 * ...". */
static inline const char *bundles_text(void)
{
	static char text[4096];
	FILE *out = fmemopen(text, sizeof(text), "w");

	for (const struct bundle_view *b = bundles; b < bundles + n_bundles; b++) {
		fprintf(out, "%scpu %u", b > bundles ? " | " : "", b->cpu);
		if (b->previous_end)
			fprintf(out, " after %" PRIu64, b->previous_end);
		if (b->lost || b->lost_count)
			fprintf(out, " lost %" PRIu64, b->lost_count);
		if (b->ranges)
			fprintf(out, " gap %" PRIu64 "-%" PRIu64 " (%" PRIu64 ")", b->range[0],
				b->range[1], b->range[2]);
		if (b->events)
			fprintf(out, " events %u", b->events);
		if (b->names)
			fprintf(out, " names %u", b->names);
		if (b->descriptors)
			fprintf(out, " descriptors %u", b->descriptors);
		if (b->errors)
			fprintf(out, " errors %u at %" PRIu64, b->errors, b->error_time);
		if (b->broken_page.data)
			fprintf(out, " page %zu", b->broken_page.len);
	}
	fclose(out);
	return n_bundles ? text : "";
}

#define assert_bundles(want) assert_string_equal(bundles_text(), want)
