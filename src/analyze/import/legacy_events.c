/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of events of older programs, which say what they are by a letter (LegacyEvent.phase): B and
 * E begin and end a slice, X is a whole one, i, I and R are instants, M names a thread or a process.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/import/flows.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/track_event.h"
#include "gen/fields.h"

#define SCOPE_OF_EVERYTHING 1 /* InstantEventScope */
#define SCOPE_OF_PROCESS 2
#define DIRECTION_IN 1 /* FlowDirection */
#define DIRECTION_OUT 2
#define DIRECTION_BOTH 3

static int64_t us_to_ns(uint64_t us)
{
	int64_t ns;

	return __builtin_mul_overflow((int64_t)us, 1000, &ns) ? NULL_I64 : ns;
}

void legacy_event_read(struct track_event *e, const struct pb_field *message)
{
	struct legacy_event *l = &e->legacy;

	pb_for_each (f, message)
		switch (f.id) {
		case PB_TRACK_EVENT_LEGACY_EVENT_NAME_IID:
			e->legacy_name = f.u64;
			break;
		case PB_TRACK_EVENT_LEGACY_EVENT_PHASE:
			l->phase = (int32_t)f.u64;
			l->has_phase = true;
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
			l->has_bind_id = true;
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

bool legacy_event_is_scoped(const struct legacy_event *l)
{
	return l->has_phase && (l->phase == 'i' || l->phase == 'I') &&
	       (l->scope == SCOPE_OF_PROCESS || l->scope == SCOPE_OF_EVERYTHING);
}

bool legacy_event_is_of_process(const struct legacy_event *l)
{
	return l->scope == SCOPE_OF_PROCESS;
}

uint32_t legacy_event_track_row(struct import *im, struct machine *m, const struct track_event *e)
{
	static const struct track_type process_type = {
		"chrome_process_instant", NULL, false, {{"upid", false}}};
	static const struct track_type global_type = {
		"legacy_chrome_global_instants", NULL, false, {{NULL, false}}};
	struct arg_builder b = {.n = 0};
	int64_t upid = e->upid;
	uint32_t row, key;

	row = legacy_event_is_of_process(&e->legacy)
		      ? tracks_get(im, m, &process_type, NULL_U32, &upid)
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

void legacy_event_add_flow(struct import *im, const struct legacy_event *l, uint32_t slice)
{
	enum stat_number failure = STAT_FLOW_WITHOUT_DIRECTION;
	bool added = false;

	if (!l->has_bind_id)
		return;
	if (l->flow == DIRECTION_OUT) {
		failure = STAT_FLOW_DUPLICATE_ID;
		added = flows_begin(im, l->bind_id, slice);
	} else if (l->flow == DIRECTION_BOTH) {
		failure = STAT_FLOW_STEP_WITHOUT_START;
		added = flows_add_arrow(im, l->bind_id, slice, FLOW_FROM_HERE);
	} else if (l->flow == DIRECTION_IN) {
		failure = STAT_FLOW_END_WITHOUT_START;
		added = flows_add_arrow(im, l->bind_id, slice, FLOW_FROM_THERE);
	}
	if (!added)
		stats_add(im->store, failure, STAT_NO_INDEX, 1);
}

/* Sets *ret to the text of the event's first annotation, which may be empty. Returns false if the
 * event has no annotation. */
static bool first_text(const struct track_event *e, struct pb_field *ret)
{
	*ret = (struct pb_field){.id = 0};
	pb_for_each (f, &e->message) {
		if (f.id != PB_TRACK_EVENT_DEBUG_ANNOTATIONS || !f.data)
			continue;
		pb_read(&f, PB_TO(PB_DEBUG_ANNOTATION_STRING_VALUE, ret));
		return true;
	}
	return false;
}

bool legacy_event_rename(struct import *im, struct machine *m, const struct track_event *e)
{
	struct strings *s = &im->store->strings;
	const char *what = e->name == NULL_U32 ? "" : strings_get(s, e->name);
	bool is_thread = !strcmp(what, "thread_name"), is_process = !strcmp(what, "process_name");
	struct pb_field text;

	if (!is_thread && !is_process)
		return e->name != NULL_U32; /* a kind that is not imported */
	if ((is_thread ? e->utid : e->upid) == NULL_U32 || !first_text(e, &text))
		return false;
	if (!text.len)
		return true;
	if (is_thread)
		tasks_name_thread(&m->tasks, e->utid, strings_intern(s, text.data, text.len),
				  THREAD_BY_TYPE);
	else
		tasks_name_process(&m->tasks, e->upid, strings_intern(s, text.data, text.len),
				   PROCESS_BY_DESCRIPTOR);
	return true;
}
