/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At the end of a bundle: writes the names in order of their numbers, then each column as a packed
 * field.
 */
#include "ftrace/encode/compact_sched.h"
#include "gen/fields.h"

#define FIELD(name) PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_##name

static const uint32_t column_fields[COMPACT_COLUMNS] = {
	[SWITCH_TIME] = FIELD(SWITCH_TIMESTAMP),
	[SWITCH_PREV_STATE] = FIELD(SWITCH_PREV_STATE),
	[SWITCH_NEXT_PID] = FIELD(SWITCH_NEXT_PID),
	[SWITCH_NEXT_PRIO] = FIELD(SWITCH_NEXT_PRIO),
	[SWITCH_NEXT_COMM] = FIELD(SWITCH_NEXT_COMM_INDEX),
	[WAKING_TIME] = FIELD(WAKING_TIMESTAMP),
	[WAKING_PID] = FIELD(WAKING_PID),
	[WAKING_TARGET_CPU] = FIELD(WAKING_TARGET_CPU),
	[WAKING_PRIO] = FIELD(WAKING_PRIO),
	[WAKING_COMM] = FIELD(WAKING_COMM_INDEX),
	[WAKING_FLAGS] = FIELD(WAKING_COMMON_FLAGS),
};

void compact_sched_clear(struct compact_sched *s)
{
	s->room = COMPACT_MAX_EVENTS;
	s->switch_time = 0;
	s->waking_time = 0;
	comm_table_clear(&s->comms);
	for (unsigned i = 0; i < COMPACT_COLUMNS; i++)
		s->end[i] = s->bytes[i];
}

static void write_names(const struct comm_table *t, struct pb_enc *e)
{
	for (uint32_t i = 0; i < t->n; i++)
		pb_enc_bytes(e, FIELD(INTERN_TABLE), &t->comms[i], comm_len(t->comms[i]));
}

void compact_sched_write(const struct compact_sched *s, struct pb_enc *e)
{
	if (s->room == COMPACT_MAX_EVENTS)
		return;
	pb_enc_open(e, PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED);
	write_names(&s->comms, e);
	for (unsigned i = 0; i < COMPACT_COLUMNS; i++)
		if (s->end[i] != s->bytes[i])
			pb_enc_bytes(e, column_fields[i], s->bytes[i],
				     (size_t)(s->end[i] - s->bytes[i]));
	pb_enc_close(e);
}
