/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unit/ftrace/oracle.h"

/*
 * The events of CompactSched against their records: what oracle.h does for events that are written as
 * themselves.
 *
 *	oracle_open_columns(&c, &compact_sched)
 *	oracle_check_columns(o, &c, event, &record, time)     each record of the two kinds, in order
 */
#define ORACLE_NAMES 8192

/* A compact event: its place in the columns of CompactSched, by field number. */
struct oracle_columns {
	struct pb_packed values[13];
	uint64_t time[2]; /* of the last switch, and of the last waking */
	struct pb_field names[ORACLE_NAMES];
	unsigned n_names;
	uint64_t left; /* events that have not been compared */
};

static inline void oracle_open_columns(struct oracle_columns *c, const struct pb_field *compact)
{
	struct pb_packed times;
	struct pb_field f;
	struct pb_dec d;
	uint64_t v;

	memset(c, 0, sizeof(*c));
	pb_dec_init(&d, compact->data, compact->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_INTERN_TABLE)
			c->names[c->n_names++ % ORACLE_NAMES] = f;
		else
			c->values[f.id] = pb_packed_of(&f);
	times = c->values[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP];
	while (pb_packed_next(&times, &v))
		c->left++;
	times = c->values[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_TIMESTAMP];
	while (pb_packed_next(&times, &v))
		c->left++;
}

static inline bool oracle_same_number(struct oracle *o, struct oracle_columns *c, unsigned column,
				      struct tep_event *event, const char *field,
				      const struct tep_record *r)
{
	struct tep_format_field *f = tep_find_any_field(event, field);
	unsigned long long want = 0;
	uint64_t got;

	if (!f || tep_read_number_field(f, r->data, &want) ||
	    !pb_packed_next(&c->values[column], &got))
		return oracle_fail(o, "column %u ends", column);
	if (f->size == 4 && (f->flags & TEP_FIELD_IS_SIGNED))
		want = (uint64_t)(int32_t)want;
	o->numbers++;
	return got == want ||
	       oracle_fail(o, "%s: %llu, not %llu", field, (unsigned long long)got, want);
}

static inline bool oracle_same_name(struct oracle *o, struct oracle_columns *c, unsigned column,
				    struct tep_event *event, const char *field,
				    struct tep_record *r)
{
	const char *want;
	uint64_t index;
	int len;

	if (!pb_packed_next(&c->values[column], &index) || index >= c->n_names)
		return oracle_fail(o, "column %u ends", column);
	want = tep_get_field_raw(NULL, event, field, r, &len, 0);
	o->texts++;
	return (c->names[index].len == strnlen(want, (size_t)len) &&
		!memcmp(c->names[index].data, want, c->names[index].len)) ||
	       oracle_fail(o, "%s", field);
}

#define ORACLE_COLUMN(name) PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_##name

static inline bool oracle_check_columns(struct oracle *o, struct oracle_columns *c,
					struct tep_event *event, struct tep_record *r,
					uint64_t time)
{
	bool waking = !strcmp(event->name, "sched_waking");
	uint64_t delta;

	c->left--;
	if (!pb_packed_next(&c->values[waking ? ORACLE_COLUMN(WAKING_TIMESTAMP)
					      : ORACLE_COLUMN(SWITCH_TIMESTAMP)],
			    &delta))
		return oracle_fail(o, "no time");
	c->time[waking] += delta;
	if (c->time[waking] != time)
		return oracle_fail(o, "time");
	if (waking)
		return oracle_same_number(o, c, ORACLE_COLUMN(WAKING_PID), event, "pid", r) &&
		       oracle_same_number(o, c, ORACLE_COLUMN(WAKING_TARGET_CPU), event,
					  "target_cpu", r) &&
		       oracle_same_number(o, c, ORACLE_COLUMN(WAKING_PRIO), event, "prio", r) &&
		       oracle_same_name(o, c, ORACLE_COLUMN(WAKING_COMM_INDEX), event, "comm", r) &&
		       oracle_same_number(o, c, ORACLE_COLUMN(WAKING_COMMON_FLAGS), event,
					  "common_flags", r);
	return oracle_same_number(o, c, ORACLE_COLUMN(SWITCH_PREV_STATE), event, "prev_state", r) &&
	       oracle_same_number(o, c, ORACLE_COLUMN(SWITCH_NEXT_PID), event, "next_pid", r) &&
	       oracle_same_number(o, c, ORACLE_COLUMN(SWITCH_NEXT_PRIO), event, "next_prio", r) &&
	       oracle_same_name(o, c, ORACLE_COLUMN(SWITCH_NEXT_COMM_INDEX), event, "next_comm", r);
}
