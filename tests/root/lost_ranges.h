/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gen/fields.h"
#include "unit/message_fields.h"

/* The lost ranges of a trace beside its events: no event of a CPU lies inside of one of its ranges,
 * none has an end before its beginning, and they do not overlap. For traces with the boot clock. */
struct range_seen {
	uint32_t cpu;
	uint64_t begin, end, count;
};

struct event_seen {
	uint32_t cpu;
	uint64_t ns;
};

static struct range_seen *ranges_seen;
static struct event_seen *events_seen;
static size_t n_ranges_seen, cap_ranges_seen, n_events_seen, cap_events_seen;

static inline void *seen_more(void *array, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return array;
	*cap = *cap ? *cap * 2 : 1024;
	array = realloc(array, *cap * size);
	assert(array);
	return array;
}

static inline void seen_event(uint32_t cpu, uint64_t ns)
{
	events_seen = seen_more(events_seen, n_events_seen, &cap_events_seen, sizeof(*events_seen));
	events_seen[n_events_seen++] = (struct event_seen){cpu, ns};
}

static inline void seen_range(uint32_t cpu, const struct pb_field *range)
{
	struct range_seen s = {.cpu = cpu};

	for_each_valid_field (f, range)
		switch (f.id) {
		case PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_BEGIN_TIMESTAMP:
			s.begin = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_END_TIMESTAMP:
			s.end = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_EVENT_COUNT:
			s.count = f.u64;
			break;
		}
	ranges_seen = seen_more(ranges_seen, n_ranges_seen, &cap_ranges_seen, sizeof(*ranges_seen));
	ranges_seen[n_ranges_seen++] = s;
}

/* The times of the first field of a FtraceEvent, and of a column of CompactSched. */
static inline void seen_event_field(uint32_t cpu, const struct pb_field *event)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, event->data, event->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_FTRACE_EVENT_TIMESTAMP)
			seen_event(cpu, f.u64);
}

static inline void seen_column(uint32_t cpu, const struct pb_field *f)
{
	struct pb_packed p = pb_packed_of(f);
	uint64_t v, ns = 0;

	while (pb_packed_next(&p, &v))
		seen_event(cpu, ns += v);
}

static inline void seen_bundle(const struct pb_field *bundle)
{
	uint32_t cpu = 0;

	for_each_valid_field (f, bundle)
		switch (f.id) {
		case PB_FTRACE_EVENT_BUNDLE_CPU:
			cpu = (uint32_t)f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_RANGES:
			seen_range(cpu, &f);
			break;
		case PB_FTRACE_EVENT_BUNDLE_EVENT:
			seen_event_field(cpu, &f);
			break;
		case PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED:
			pb_for_each (column, &f)
				if (column.id ==
					    PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP ||
				    column.id ==
					    PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_TIMESTAMP)
					seen_column(cpu, &column);
			break;
		}
}

static inline int seen_by_time(const void *a, const void *b)
{
	const struct event_seen *x = a, *y = b;

	return x->cpu != y->cpu ? (x->cpu > y->cpu) - (x->cpu < y->cpu)
				: (x->ns > y->ns) - (x->ns < y->ns);
}

/* How many events lie in ranges of their CPU, and ranges that begin before the one before ends. */
static inline uint64_t seen_wrong(void)
{
	uint64_t wrong = 0;

	if (n_events_seen > 0)
		qsort(events_seen, n_events_seen, sizeof(*events_seen), seen_by_time);
	for (size_t i = 0; i < n_ranges_seen; i++) {
		const struct range_seen *r = &ranges_seen[i];
		size_t low = 0, high = n_events_seen;

		/* The first event behind its beginning is not before its end. */
		while (low < high) {
			size_t at = low + (high - low) / 2;
			const struct event_seen after = {r->cpu, r->begin + 1};

			if (seen_by_time(&events_seen[at], &after) < 0)
				low = at + 1;
			else
				high = at;
		}
		wrong += low < n_events_seen && events_seen[low].cpu == r->cpu &&
			 events_seen[low].ns < r->end;
		wrong += r->end < r->begin;
		for (size_t k = 0; k < i; k++)
			wrong += ranges_seen[k].cpu == r->cpu && ranges_seen[k].end > r->begin;
	}
	return wrong;
}

static inline uint64_t seen_lost(uint32_t cpu)
{
	uint64_t n = 0;

	for (size_t i = 0; i < n_ranges_seen; i++)
		if (ranges_seen[i].cpu == cpu)
			n += ranges_seen[i].count;
	return n;
}
