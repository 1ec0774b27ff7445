// SPDX-License-Identifier: Apache-2.0
#include "analyze/sample_counts.h"

#include "gen/fields.h"
#include "wire/pb_dec.h"

#define TRACK_EVENT_COUNTER 4 /* TrackEvent.Type */

static int kind_of(uint32_t packet_field)
{
	switch (packet_field) {
	case PB_TRACE_PACKET_SYS_STATS:
		return SAMPLES_SYS_STATS;
	case PB_TRACE_PACKET_PROCESS_STATS:
		return SAMPLES_PROCESS_STATS;
	case PB_TRACE_PACKET_BATTERY:
		return SAMPLES_BATTERY;
	case PB_TRACE_PACKET_JOURNALD_EVENT:
		return SAMPLES_JOURNAL;
	case PB_TRACE_PACKET_TRACK_EVENT:
		return SAMPLES_SLICES;
	}
	return -1;
}

bool sample_counts_reads(uint32_t packet_field)
{
	return kind_of(packet_field) >= 0;
}

static bool is_counter(const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_TRACK_EVENT_TYPE)
			return f.u64 == TRACK_EVENT_COUNTER;
	return false;
}

void sample_counts_add(struct sample_counts *c, uint32_t packet_field, const uint8_t *data,
		       size_t len)
{
	int kind = kind_of(packet_field);

	if (kind == SAMPLES_SLICES && is_counter(data, len))
		kind = SAMPLES_COUNTERS;
	if (kind >= 0)
		c->of[kind]++;
}

uint64_t sample_counts_total(const struct sample_counts *c)
{
	uint64_t sum = 0;

	for (int i = 0; i < SAMPLES_KINDS; i++)
		sum += c->of[i];
	return sum;
}

const char *sample_counts_name(enum sample_kind kind)
{
	static const char *const names[SAMPLES_KINDS] = {
		[SAMPLES_SYS_STATS] = "sys_stats", [SAMPLES_PROCESS_STATS] = "process_stats",
		[SAMPLES_BATTERY] = "battery",	   [SAMPLES_JOURNAL] = "journal",
		[SAMPLES_COUNTERS] = "counters",   [SAMPLES_SLICES] = "slices",
	};

	return names[kind];
}
