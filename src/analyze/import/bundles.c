/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/bundles.h"

#include "base/core/mem.h"
#include "gen/fields.h"

#define CLOCK_UNSPECIFIED 0 /* FtraceClock */
#define CLOCK_MONO_RAW 4

void bundle_head_read(const struct pb_field *bundle, struct bundle_head *ret)
{
	*ret = (struct bundle_head){.clock = CLOCK_UNSPECIFIED};
	pb_read(bundle, PB_TO_ANY(PB_FTRACE_EVENT_BUNDLE_CPU, &ret->cpu),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_LOST_EVENTS, &ret->lost),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK, &ret->clock),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP, &ret->ftrace_ns),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP, &ret->boot_ns),
		PB_TO_ANY(PB_FTRACE_EVENT_BUNDLE_LAST_READ_EVENT_TIMESTAMP, &ret->previous_end),
		PB_TO_ANY(PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP, &ret->previous_end),
		PB_TO_ANY(PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS, &ret->descriptors),
		PB_TO_ANY(PB_FTRACE_EVENT_BUNDLE_FURTHER_FIELD_DESCRIPTORS, &ret->descriptors),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED, &ret->columns));
}

clock_key bundle_sync_clock(const struct bundle_head *h, uint32_t sequence, struct clocks *c)
{
	clock_key clock = h->clock == CLOCK_MONO_RAW ? CLOCK_MONOTONIC_RAW_ID
			  : h->clock == CLOCK_UNSPECIFIED
				  ? CLOCK_BOOTTIME_ID
				  : clock_make_key(CLOCK_SEQUENCE_FIRST, sequence);
	struct clock_reading pair[] = {
		{.clock = clock, .value = (int64_t)h->ftrace_ns, .unit = 1},
		{.clock = CLOCK_BOOTTIME_ID, .value = (int64_t)h->boot_ns, .unit = 1},
	};

	if (h->ftrace_ns && h->boot_ns && clock != CLOCK_BOOTTIME_ID)
		clocks_add_snapshot(c, pair, ARRAY_SIZE(pair));
	return clock;
}

/* The time is usually, but not always, the first field. */
bool bundle_event_time(const struct pb_field *event, uint64_t *ret)
{
	struct pb_field found = {0};

	if (event->len && event->data[0] == (PB_FTRACE_EVENT_TIMESTAMP << 3) &&
	    pb_get_varint(event->data + 1, event->data + event->len, ret))
		return true;
	pb_read(event, PB_TO_ANY(PB_FTRACE_EVENT_TIMESTAMP, &found));
	*ret = found.u64;
	return found.id && !found.data;
}

/* ---- columns ---- */

#define COLUMN(x) PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_##x

static void open_rows(const struct pb_field *columns, const uint32_t fields[COMPACT_COLUMNS],
		      struct compact_rows *ret)
{
	*ret = (struct compact_rows){.fields = fields};
	pb_for_each (f, columns)
		for (size_t i = 0; i < COMPACT_COLUMNS; i++)
			if (f.id == fields[i]) {
				ret->in[i] = pb_packed_of(&f);
				ret->has_rows |= i == COMPACT_TIME;
				ret->has_flags |= i == COMPACT_FLAGS;
			}
}

void compact_begin_switches(const struct pb_field *columns, struct compact_rows *ret)
{
	static const uint32_t fields[COMPACT_COLUMNS] = {
		COLUMN(SWITCH_TIMESTAMP), COLUMN(SWITCH_PREV_STATE),	  COLUMN(SWITCH_NEXT_PID),
		COLUMN(SWITCH_NEXT_PRIO), COLUMN(SWITCH_NEXT_COMM_INDEX),
	};

	open_rows(columns, fields, ret);
}

void compact_begin_wakings(const struct pb_field *columns, struct compact_rows *ret)
{
	static const uint32_t fields[COMPACT_COLUMNS] = {
		COLUMN(WAKING_TIMESTAMP), COLUMN(WAKING_PID),	     COLUMN(WAKING_TARGET_CPU),
		COLUMN(WAKING_PRIO),	  COLUMN(WAKING_COMM_INDEX), COLUMN(WAKING_COMMON_FLAGS),
	};

	open_rows(columns, fields, ret);
}

int compact_next(struct compact_rows *r)
{
	uint64_t delta;

	if (!pb_packed_next(&r->in[COMPACT_TIME], &delta))
		return 0;
	r->row[COMPACT_TIME] += delta;
	for (size_t i = 1; i < COMPACT_FLAGS; i++)
		if (!pb_packed_next(&r->in[i], &r->row[i]))
			return -1;
	return r->has_flags && !pb_packed_next(&r->in[COMPACT_FLAGS], &r->row[COMPACT_FLAGS]) ? -1
											      : 1;
}
