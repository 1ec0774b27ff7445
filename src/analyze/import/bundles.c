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
