/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of older programs, which say what they are by a letter (LegacyEvent.phase): B and E begin
 * and end a slice, X is a whole one, i and I are instants, M names a thread or a process.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/import/flows.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/slice_rules.h"
#include "analyze/import/slices.h"
#include "analyze/import/track_event.h"
#include "gen/fields.h"

#define SCOPE_OF_EVERYTHING 1 /* InstantEventScope */
#define SCOPE_OF_PROCESS 2
#define FLOW_IN 1 /* FlowDirection */
#define FLOW_OUT 2

struct legacy {
	int32_t phase;
	int64_t dur, thread_dur, instructions; /* times in ns; NULL_I64: unknown */
	uint64_t scope, bind_id, flow;
	int64_t pid, tid;
	bool has_pid, has_tid;
};

static int64_t us_to_ns(uint64_t us)
{
	int64_t ns;

	return __builtin_mul_overflow((int64_t)us, 1000, &ns) ? NULL_I64 : ns;
}

static void read_legacy(const struct pb_field *message, struct legacy *l)
{
	struct pb_field f;
	struct pb_dec d;

	*l = (struct legacy){.dur = NULL_I64, .thread_dur = NULL_I64, .instructions = NULL_I64};
	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f))
		switch (f.id) {
		case PB_TRACK_EVENT_LEGACY_EVENT_PHASE:
			l->phase = (int32_t)f.u64;
			break;
		case PB_TRACK_EVENT_LEGACY_EVENT_DURATION_US:
			l->dur = us_to_ns(f.u64);
			break;
		case PB_TRACK_EVENT_LEGACY_EVENT_THREAD_DURATION_US:
			l->thread_dur = us_to_ns(f.u64);
			break;
		case PB_TRACK_EVENT_LEGACY_EVENT_THREAD_INSTRUCTION_DELTA:
			l->instructions = (int64_t)f.u64;
			break;
		case PB_TRACK_EVENT_LEGACY_EVENT_INSTANT_EVENT_SCOPE:
			l->scope = f.u64;
			break;
		case PB_TRACK_EVENT_LEGACY_EVENT_BIND_ID:
			l->bind_id = f.u64;
			break;
		case PB_TRACK_EVENT_LEGACY_EVENT_FLOW_DIRECTION:
			l->flow = f.u64;
			break;
		case PB_TRACK_EVENT_LEGACY_EVENT_PID_OVERRIDE:
			l->pid = (int32_t)f.u64;
			l->has_pid = true;
			break;
		case PB_TRACK_EVENT_LEGACY_EVENT_TID_OVERRIDE:
			l->tid = (int32_t)f.u64;
			l->has_tid = true;
			break;
		}
}

/* Returns the utid of the event's thread, or NULL_U32. */
static uint32_t thread_of(struct import *im, struct machine *m, const struct track_event *e,
			  const struct legacy *l)
{
	const struct sequence_thread *t = &sequences_state(&m->sequences, e->state)->thread;
	const struct described_track *d;

	if (l->has_pid && l->has_tid)
		return tasks_thread_of(&m->tasks, l->tid, l->pid);
	if (e->has_track) {
		d = described_of_event(im, m, e->track, e->name, e->seq);
		return d && d->owner == OWNER_THREAD ? d->owner_id : NULL_U32;
	}
	return t->known ? tasks_thread_of(&m->tasks, t->tid, t->pid) : NULL_U32;
}

static uint32_t instant_row(struct import *im, struct machine *m, uint32_t utid, uint64_t scope)
{
	static const struct track_type process_type = {
		"chrome_process_instant", NULL, false, {{"upid", false}}};
	static const struct track_type global_type = {
		"legacy_chrome_global_instants", NULL, false, {{NULL, false}}};
	struct arg_builder b = {.n = 0};
	int64_t upid = tasks_upid(&m->tasks, utid);
	uint32_t row, key;

	if (scope == SCOPE_OF_PROCESS && upid == NULL_U32)
		return NULL_U32;
	row = scope == SCOPE_OF_PROCESS ? tracks_get(im, m, &process_type, NULL_U32, &upid)
					: tracks_get(im, m, &global_type, NULL_U32, NULL);
	key = strings_intern_z(&im->store->strings, "source");
	arg_builder_add(
		im->store, &b,
		&(struct stored_arg){.key = key,
				     .flat_key = key,
				     .type = ARG_STRING,
				     .value = strings_intern_z(&im->store->strings, "chrome")});
	table_set_u32(import_table(im, TABLE_TRACK), TRACK_SOURCE_ARGS, row,
		      arg_sets_add(im->store, &b));
	free(b.args);
	return row;
}

static void add_bound_flow(struct import *im, const struct legacy *l, uint32_t slice)
{
	if (slice == NULL_U32 || !l->bind_id || !l->flow)
		return;
	if (l->flow == FLOW_IN)
		flows_end(im, l->bind_id, slice);
	else
		flows_step(im, l->bind_id, slice);
}

static void add_slice(struct import *im, struct machine *m, struct track_event *e,
		      const struct legacy *l, uint32_t utid)
{
	uint32_t row = slice_rules_thread_track(im, m, utid), slice;
	bool other_row = false;

	if ((l->phase == 'i' || l->phase == 'I') &&
	    (l->scope == SCOPE_OF_PROCESS || l->scope == SCOPE_OF_EVERYTHING)) {
		row = instant_row(im, m, utid, l->scope);
		other_row = true;
	}
	im->args.n = 0;
	track_event_args(im, m, e);
	if (other_row)
		arg_builder_int(im->store, &im->args, "legacy_event.passthrough_utid", ARG_UINT,
				utid);
	if (row == NULL_U32)
		return;
	if (l->phase == 'E')
		slice = slices_end(im, e->ts, row, e->category, e->name, &im->args);
	else
		slice = slices_begin(im, e->ts,
				     l->phase == 'B'   ? -1
				     : l->phase == 'X' ? l->dur
						       : 0,
				     row, e->category, e->name, &im->args);
	slices_set_thread_times(im, slice, l->phase == 'E', e->thread_ns, e->instructions);
	if (l->phase == 'X')
		slices_set_thread_durs(im, slice, l->thread_dur, l->instructions);
	add_bound_flow(im, l, slice);
}

/* The annotation `name` of an event M is the new name of the event's thread or process. */
static void add_name(struct import *im, struct machine *m, const struct track_event *e,
		     uint32_t utid)
{
	struct strings *s = &im->store->strings;
	const char *what = e->name == NULL_U32 ? "" : strings_get(s, e->name);
	uint32_t key = strings_intern_z(s, "debug.name"), upid = tasks_upid(&m->tasks, utid);

	im->args.n = 0;
	track_event_args(im, m, e);
	for (size_t i = 0; i < im->args.n; i++) {
		const struct stored_arg *a = &im->args.args[i];

		if (a->key != key || a->type != ARG_STRING)
			continue;
		if (!strcmp(what, "thread_name"))
			tasks_name_thread(&m->tasks, utid, (uint32_t)a->value, THREAD_BY_TYPE);
		else if (!strcmp(what, "process_name") && upid != NULL_U32)
			tasks_name_process(&m->tasks, upid, (uint32_t)a->value,
					   PROCESS_BY_DESCRIPTOR);
	}
	im->args.n = 0;
}

void rows_legacy_event(struct import *im, struct machine *m, struct track_event *e)
{
	struct legacy l;
	uint32_t utid;

	read_legacy(&e->legacy, &l);
	if (l.phase <= 0 || l.phase > 'z' || !strchr("BEXiIM", l.phase))
		return; /* a kind that is not imported */
	take_track_event_times(im, m, e);
	utid = thread_of(im, m, e, &l);
	if (utid == NULL_U32 || (l.phase == 'X' && (l.dur == NULL_I64 || l.dur < 0)))
		stats_add(im->store, STAT_TRACK_EVENT_PARSER_ERRORS, STAT_NO_INDEX, 1);
	else if (l.phase == 'M')
		add_name(im, m, e, utid);
	else
		add_slice(im, m, e, &l, utid);
}
