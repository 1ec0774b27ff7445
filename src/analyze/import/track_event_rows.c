/* SPDX-License-Identifier: Apache-2.0 */
/* Makes rows of track events in the order of time: slices, instants, counters, flows. */
#include <stdlib.h>
#include <string.h>

#include "analyze/import/call_stacks.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/slices.h"
#include "analyze/import/states.h"
#include "analyze/import/track_event.h"
#include "analyze/import/tracks.h"
#include "analyze/store/columns.h"
#include "gen/fields.h"

/*
 * Parts of events of older programs, which say what they are by a letter (LegacyEvent.phase): B and
 * E begin and end a slice, X is a whole one, i, I and R are instants, M names a thread or a
 * process.
 */

#define SCOPE_OF_EVERYTHING 1 /* InstantEventScope */
#define SCOPE_OF_PROCESS 2
#define DIRECTION_IN 1 /* FlowDirection */
#define DIRECTION_OUT 2
#define DIRECTION_BOTH 3

/* Returns true for an instant of a process or of everything, which has a track of its own. */
static bool legacy_event_is_scoped(const struct legacy_event *l)
{
	return l->has_phase && (l->phase == 'i' || l->phase == 'I') &&
	       (l->scope == SCOPE_OF_PROCESS || l->scope == SCOPE_OF_EVERYTHING);
}

static bool legacy_event_is_of_process(const struct legacy_event *l)
{
	return l->scope == SCOPE_OF_PROCESS;
}

/* Returns the row of the track of a scoped instant. */
static uint32_t legacy_event_track_row(struct import *im, struct machine *m,
				       const struct track_event *e)
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

/* Adds the flow of the event's bind_id to a slice. */
static void legacy_event_add_flow(struct import *im, const struct legacy_event *l, uint32_t slice)
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
static bool find_text_of_first_annotation(const struct track_event *e, struct pb_field *ret)
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

/* Renames a thread or process according to an M (metadata) event. Returns false for an event
 * without a name, or without the thread or process. */
static bool legacy_event_rename(struct import *im, struct machine *m, const struct track_event *e)
{
	struct strings *s = &im->store->strings;
	const char *what = e->name == NULL_U32 ? "" : strings_get(s, e->name);
	bool is_thread = !strcmp(what, "thread_name"), is_process = !strcmp(what, "process_name");
	struct pb_field text;

	if (!is_thread && !is_process)
		return e->name != NULL_U32; /* a kind that is not imported */
	if ((is_thread ? e->utid : e->upid) == NULL_U32 || !find_text_of_first_annotation(e, &text))
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

/*
 * Finds the track, the thread and the process of a track event. An event with a uuid belongs to the
 * track that a descriptor describes. Events of older programs have no uuid, and belong to the
 * thread of their sequence, or to the thread that they name (LegacyEvent.pid_override,
 * tid_override).
 */

/* The tid of an event that names only a process. */
#define NO_TID (-1)

/* Returns the thread of an event's sequence, with its ids translated (import_translate_ids()). */
static const struct sequence_thread *thread_of_sequence(struct import *im, struct machine *m,
							const struct track_event *e)
{
	struct sequence_thread *t = &sequences_state(&m->sequences, e->state)->thread;

	import_translate_ids(im, m, t->writer, &t->pid, &t->tid);
	t->writer = 0;
	return t;
}

/* Sets the thread and process of an event without a uuid. Returns false for the numbers of the idle
 * thread. */
static bool set_thread_of_event(struct import *im, struct machine *m, struct track_event *e)
{
	const struct sequence_thread *t = thread_of_sequence(im, m, e);
	const struct legacy_event *l = &e->legacy;
	int64_t pid = l->has_pid ? l->pid : t->pid;
	int64_t tid = l->has_tid ? l->tid : l->has_pid ? NO_TID : t->tid;

	e->on_thread = true;
	if (!pid || !tid)
		return false;
	e->utid = tasks_get_thread_of_process(&m->tasks, tid, pid);
	e->upid = tasks_upid(&m->tasks, e->utid);
	return true;
}

/* Sets the track, thread and process of an event with a uuid, which is not 0. Returns false if the
 * owner of the track cannot be found. */
static bool set_track_of_event(struct import *im, struct machine *m, struct track_event *e)
{
	const struct sequence_thread *t = thread_of_sequence(im, m, e);
	struct described_track *d = described_get_for_event(im, m, e->track, e->seq);
	uint32_t writer;

	if (!d)
		return false;
	e->described = d;
	if (d->owner == OWNER_THREAD) {
		e->utid = d->owner_id;
		e->upid = tasks_upid(&m->tasks, e->utid);
		return true;
	}
	if (d->owner == OWNER_PROCESS)
		e->upid = d->owner_id;
	if (!t->known)
		return true;
	writer = tasks_get_thread_of_process(&m->tasks, t->tid, t->pid);
	if (d->owner == OWNER_NONE || tasks_upid(&m->tasks, writer) == d->owner_id)
		e->writer = writer;
	return true;
}

/* Finds the event's track, thread and process. Returns false if its track has no known owner, if it
 * names the idle thread, or if it is an instant of a thread or process that is not known. */
static bool track_event_find_owner(struct import *im, struct machine *m, struct track_event *e)
{
	const struct sequence_thread *t = &sequences_state(&m->sequences, e->state)->thread;
	const struct legacy_event *l = &e->legacy;

	e->utid = e->upid = e->writer = NULL_U32;
	if (e->track) {
		if (!set_track_of_event(im, m, e))
			return false;
	} else if (l->has_pid || (t->known && (!e->names_track || !e->has_type || l->has_tid))) {
		if (!set_thread_of_event(im, m, e))
			return false;
	}
	if (!l->has_phase || (l->phase != 'i' && l->phase != 'I'))
		return true;
	if (!legacy_event_is_scoped(l))
		return e->utid != NULL_U32;
	e->writer = e->utid;
	e->utid = NULL_U32;
	return e->upid != NULL_U32 || !legacy_event_is_of_process(l);
}

/* Returns the row of the event's track, made at the first use; NULL_U32: there is none. */
static uint32_t track_event_track_row(struct import *im, struct machine *m, struct track_event *e,
				      enum slice_step step)
{
	uint32_t row;

	if (e->on_thread && !legacy_event_is_scoped(&e->legacy))
		return tracks_get_thread_track(im, m, e->utid);
	if (!e->on_thread) {
		struct described_track *d =
			e->described ? e->described : described_get_for_event(im, m, 0, NULL);

		row = d ? described_slice_row(im, m, d, e->name, step) : NULL_U32;
		if (!legacy_event_is_scoped(&e->legacy))
			return row;
	}
	return legacy_event_track_row(im, m, e);
}

static void count_parser_error(struct import *im)
{
	stats_add(im->store, STAT_TRACK_EVENT_PARSER_ERRORS, STAT_NO_INDEX, 1);
}

/* ---- names ---- */

static uint32_t find_interned_text(struct import *im, struct machine *m,
				   const struct track_event *e, uint32_t table, uint64_t iid)
{
	uint32_t s = sequences_string(&m->sequences, e->state, table, iid);

	if (s == NULL_U32)
		stats_add(im->store, STAT_INTERNED_DATA_TOKENIZER_ERRORS, STAT_NO_INDEX, 1);
	return s;
}

static uint32_t track_event_rows_find_name(struct import *im, struct machine *m,
					   const struct track_event *e)
{
	uint32_t name = e->legacy_name ? find_interned_text(im, m, e, PB_INTERNED_DATA_EVENT_NAMES,
							    e->legacy_name)
				       : NULL_U32;

	pb_for_each (f, &e->message) {
		if (f.id == PB_TRACK_EVENT_NAME_IID && f.u64)
			name = find_interned_text(im, m, e, PB_INTERNED_DATA_EVENT_NAMES, f.u64);
		else if (f.id == PB_TRACK_EVENT_NAME && f.data)
			name = strings_intern(&im->store->strings, f.data, f.len);
	}
	return name;
}

/* The categories of an event, separated by commas. */
struct category_list {
	struct strbuf text;
	uint32_t only; /* the string of the last category: all of the list if n is 1 */
	unsigned n;
};

static void add_category(struct import *im, struct category_list *c, uint32_t string)
{
	const struct strings *s = &im->store->strings;

	strbuf_printf(&c->text, "%s", c->n ? "," : "");
	strbuf_add(&c->text, strings_get(s, string), s->of[string].len);
	c->only = string;
	c->n++;
}

/* Returns the event's categories: interned ones first, then those with a name. An unknown iid is
 * shown if it is the only category. */
static uint32_t join_categories(struct import *im, struct machine *m, const struct track_event *e)
{
	struct strings *s = &im->store->strings;
	struct category_list c = {.only = NULL_U32};
	unsigned unknown = 0;
	uint64_t iid, last = 0;
	uint32_t id;

	pb_for_each (f, &e->message) {
		if (f.id != PB_TRACK_EVENT_CATEGORY_IIDS)
			continue;
		for (struct pb_packed p = pb_packed_of(&f); pb_packed_next(&p, &iid);) {
			id = find_interned_text(im, m, e, PB_INTERNED_DATA_EVENT_CATEGORIES, iid);
			if (id != NULL_U32)
				add_category(im, &c, id);
			unknown += id == NULL_U32;
			last = iid;
		}
	}
	pb_for_each (f, &e->message)
		if (f.id == PB_TRACK_EVENT_CATEGORIES && f.data)
			add_category(im, &c, strings_intern(s, f.data, f.len));
	if (c.n > 1)
		c.only = strings_intern_buf(s, &c.text);
	else if (!c.n && unknown == 1)
		c.only = strings_intern_f(s, "unknown(%llu)", (unsigned long long)last);
	strbuf_deinit(&c.text);
	return c.only;
}

/* ---- arguments ---- */

static void collect_args(struct import *im, struct machine *m, const struct track_event *e,
			 const struct arg_builder *earlier)
{
	im->args.n = 0;
	track_event_add_args(im, m, e, earlier);
	if (e->writer != NULL_U32)
		arg_builder_add_int(im->store, &im->args, "legacy_event.passthrough_utid", ARG_UINT,
				    e->writer);
}

/* ---- call stacks ---- */

/* Returns the innermost call site of the event's call stack, or NULL_U32. */
static uint32_t get_callsite_of_event(struct import *im, struct machine *m,
				      const struct track_event *e)
{
	const struct stack_owner owner = {m, e->state, e->upid};
	uint32_t site = NULL_U32;

	if (e->callstack.data)
		return call_stack_add_inline(im, &e->callstack, "track_event_inline");
	if (!e->callstack.id)
		return NULL_U32;
	if (sequences_has(&m->sequences, e->state, PB_INTERNED_DATA_CALLSTACKS, e->callstack.u64))
		site = call_stack_get_interned(im, &owner, e->callstack.u64);
	else
		stats_add(im->store, STAT_INTERNED_DATA_TOKENIZER_ERRORS, STAT_NO_INDEX, 1);
	if (site == NULL_U32)
		count_parser_error(im);
	return site;
}

static void add_callstack(struct import *im, struct machine *m, const struct track_event *e,
			  uint32_t slice, bool is_end)
{
	struct table *t = import_table(im, TABLE_EVENT_CALLSTACK);
	uint32_t site = slice != NULL_U32 ? get_callsite_of_event(im, m, e) : NULL_U32, row;

	if (site == NULL_U32)
		return;
	row = table_append(t);
	table_set_u32(t, EVENT_CALLSTACK_SLICE, row, slice);
	table_set_u32(t, EVENT_CALLSTACK_TRACK, row,
		      table_u32(import_table(im, TABLE_SLICE), SLICE_TRACK, slice));
	table_set_u32(t, EVENT_CALLSTACK_SITE, row, is_end ? NULL_U32 : site);
	table_set_u32(t, EVENT_CALLSTACK_END_SITE, row, is_end ? site : NULL_U32);
}

/* ---- counters ---- */

static void track_event_rows_add_counter(struct import *im, struct machine *m,
					 const struct track_event *e, struct described_track *d,
					 const struct pb_field *value, unsigned slot, uint32_t args,
					 double *ret)
{
	uint32_t row = described_own_row(im, m, d);

	if (!event_value_get(im, e->packet, slot, ret))
		*ret = counter_value(d, value);
	rows_add_counter(im, e->ts, row, *ret, args);
}

static void track_event_rows_add_extra_counters(struct import *im, struct machine *m,
						struct track_event *e)
{
	struct extra_counter extras[EXTRA_COUNTERS_MAX];
	double v;
	size_t n;

	/* This succeeds: tokenize_track_event() dropped other events. */
	track_event_list_extras(im, m, e, extras, &n);
	for (size_t i = 0; i < n; i++) {
		struct described_track *d = described_get_for_event(im, m, extras[i].track, NULL);

		if (!d || d->kind != DESCRIBED_COUNTER) {
			count_parser_error(im);
			continue;
		}
		track_event_rows_add_counter(im, m, e, d, &extras[i].value, (unsigned)i + 1,
					     NULL_U32, &v);
		if (d->counter.builtin == BUILTIN_THREAD_TIME)
			e->thread_ns = whole_number(v);
		else if (d->counter.builtin == BUILTIN_THREAD_INSTRUCTIONS)
			e->instructions = whole_number(v);
	}
}

static void add_counter_event(struct import *im, struct machine *m, const struct track_event *e)
{
	struct described_track *d = e->described;
	double v;

	if (!d || d->kind != DESCRIBED_COUNTER) {
		count_parser_error(im);
		return;
	}
	collect_args(im, m, e, NULL);
	track_event_rows_add_counter(im, m, e, d, &e->counter, 0,
				     arg_sets_add(im->store, &im->args), &v);
	get_callsite_of_event(
		im, m, e); /* adds its rows, although no row has the call site of a counter */
}

/* Adds the thread times of events of older programs as values of the thread's counters, and sets
 * them in e. */
static void add_thread_times(struct import *im, struct machine *m, struct track_event *e)
{
	static const struct track_type types[] = {
		{"thread_time", NULL, true, {{"utid", false}}},
		{"thread_instructions", NULL, true, {{"utid", false}}},
	};
	static const char *const names[] = {"thread_time", "thread_instruction_count"};
	int64_t *const to[] = {&e->thread_ns, &e->instructions};
	int64_t utid = e->utid;

	for (unsigned i = 0; i < 2; i++) {
		double v;

		if (e->utid == NULL_U32 ||
		    !event_value_get(im, e->packet, SLOT_THREAD_TIME + i, &v))
			continue;
		*to[i] = whole_number(v);
		rows_add_counter(im, e->ts,
				 tracks_get(im, m, &types[i],
					    strings_intern_z(&im->store->strings, names[i]), &utid),
				 v, NULL_U32);
	}
}

/* ---- flows ---- */

static void add_flow(struct import *im, bool ends, uint64_t id, uint32_t slice)
{
	if (!flows_add_arrow(im, id, slice, ends ? FLOW_ENDS : FLOW_FROM_HERE) && !ends)
		flows_begin(im, id, slice);
}

/* Adds the flows of `field`; those of `old_field` if there is no `field`. */
static void add_field_flows(struct import *im, const struct track_event *e, uint32_t field,
			    uint32_t old_field, bool ends, uint32_t slice)
{
	bool found = false;
	uint64_t id;

	pb_for_each (f, &e->message) {
		if (f.id != field)
			continue;
		found = true;
		for (size_t at = 0; f.data && at + 8 <= f.len; at += 8) {
			memcpy(&id, f.data + at, sizeof(id));
			add_flow(im, ends, id, slice);
		}
		if (!f.data)
			add_flow(im, ends, f.u64, slice);
	}
	if (found)
		return;
	pb_for_each (f, &e->message) {
		if (f.id != old_field)
			continue;
		for (struct pb_packed p = pb_packed_of(&f); pb_packed_next(&p, &id);)
			add_flow(im, ends, id, slice);
	}
}

static void add_flows(struct import *im, const struct track_event *e, uint32_t slice)
{
	if (slice == NULL_U32)
		return;
	legacy_event_add_flow(im, &e->legacy, slice);
	add_field_flows(im, e, PB_TRACK_EVENT_FLOW_IDS, PB_TRACK_EVENT_FLOW_IDS_OLD, false, slice);
	add_field_flows(im, e, PB_TRACK_EVENT_TERMINATING_FLOW_IDS,
			PB_TRACK_EVENT_TERMINATING_FLOW_IDS_OLD, true, slice);
}

/* ---- states ---- */

static void add_state_event(struct import *im, struct machine *m, const struct track_event *e)
{
	struct described_track *d = e->described;

	if (!d || d->kind != DESCRIBED_STATE)
		return count_parser_error(im);
	collect_args(im, m, e, NULL);
	states_set(im, e->ts, described_own_row(im, m, d), e->name, &im->args);
}

/* ---- slices ---- */

/* Letters of LegacyEvent.phase, also for events that have a type. */
enum {
	PHASE_BEGIN = 'B',
	PHASE_END = 'E',
	PHASE_WHOLE = 'X',
	PHASE_INSTANT = 'i',
	PHASE_MARK = 'R'
};

static int32_t event_phase(const struct track_event *e)
{
	if (e->legacy.has_phase)
		return e->legacy.phase == 'I' ? PHASE_INSTANT : e->legacy.phase;
	return e->type == EVENT_BEGIN	  ? PHASE_BEGIN
	       : e->type == EVENT_END	  ? PHASE_END
	       : e->type == EVENT_INSTANT ? PHASE_INSTANT
					  : 0;
}

static void add_mark_phase_arg(struct import *im)
{
	struct strings *s = &im->store->strings;
	uint32_t key = strings_intern_z(s, "legacy_event.phase");

	arg_builder_add(im->store, &im->args,
			&(struct stored_arg){.key = key,
					     .flat_key = key,
					     .type = ARG_STRING,
					     .value = strings_intern_z(s, "R")});
}

static void track_event_rows_add_slice(struct import *im, struct machine *m, struct track_event *e,
				       int32_t phase)
{
	const struct legacy_event *l = &e->legacy;
	int64_t dur = phase == PHASE_BEGIN ? -1 : phase == PHASE_WHOLE ? l->dur : 0;
	bool is_end = phase == PHASE_END;
	uint32_t row, slice;

	if (l->has_phase && e->utid == NULL_U32 && strchr("BEX", phase))
		return count_parser_error(im);
	/* A duration that is too large is NULL_I64, which is negative. */
	if (phase == PHASE_WHOLE &&
	    (dur < 0 || (e->described && described_is_merged(e->described))))
		return count_parser_error(im);
	row = track_event_track_row(im, m, e,
				    phase == PHASE_BEGIN ? STEP_BEGIN
				    : is_end		 ? STEP_END
							 : STEP_INSTANT);
	if (row == NULL_U32)
		return count_parser_error(im);
	collect_args(im, m, e,
		     is_end ? slices_open_args(im, e->ts, row, e->category, e->name) : NULL);
	if (phase == PHASE_MARK)
		add_mark_phase_arg(im);
	slice = is_end ? slices_end(im, e->ts, row, e->category, e->name, &im->args)
		       : slices_begin(im, e->ts, dur, row, e->category, e->name, &im->args);
	if (e->utid != NULL_U32)
		slices_set_thread_times(im, slice, is_end, e->thread_ns, e->instructions);
	if (phase == PHASE_WHOLE)
		slices_set_thread_durs(im, slice, l->thread_dur, l->instructions);
	add_callstack(im, m, e, slice, is_end);
	add_flows(im, e, slice);
}

static void track_event_rows_add_event(struct import *im, struct machine *m, struct track_event *e)
{
	int32_t phase = event_phase(e);

	switch (phase) {
	case PHASE_BEGIN:
	case PHASE_END:
	case PHASE_WHOLE:
	case PHASE_INSTANT:
	case PHASE_MARK:
		track_event_rows_add_slice(im, m, e, phase);
		break;
	case 'M':
		if (!legacy_event_rename(im, m, e))
			count_parser_error(im);
		break;
	default: /* asynchronous slices, flows and others are not imported */
		if (!e->legacy.has_phase ||
		    (e->utid == NULL_U32 && (!phase || !strchr("benSTpFstf", phase))))
			count_parser_error(im);
	}
}

void import_track_event(struct import *im, struct machine *m, int64_t ts, const struct packet *p,
			const uint8_t *packet, uint32_t state)
{
	struct track_event e = {.ts = ts, .state = state, .packet = packet};

	e.seq = sequences_find(&m->sequences, p->sequence);
	track_event_read(&e, &m->sequences, &p->payload);
	if (e.type != EVENT_COUNTER) {
		e.name = track_event_rows_find_name(im, m, &e);
		e.category = join_categories(im, m, &e);
	}
	if ((!e.type && !e.legacy.has_phase) || !track_event_find_owner(im, m, &e)) {
		count_parser_error(im);
		return;
	}
	add_thread_times(im, m, &e);
	track_event_rows_add_extra_counters(im, m, &e);
	if (e.type == EVENT_COUNTER)
		add_counter_event(im, m, &e);
	else if (e.type == EVENT_STATE)
		add_state_event(im, m, &e);
	else
		track_event_rows_add_event(im, m, &e);
}
