/* SPDX-License-Identifier: Apache-2.0 */
/* Makes rows of track events in the order of time: slices, instants, counters, flows. */
#include <string.h>

#include "analyze/import/flows.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/slice_rules.h"
#include "analyze/import/slices.h"
#include "analyze/import/track_event.h"
#include "gen/fields.h"

static void count_error(struct import *im)
{
	stats_add(im->store, STAT_TRACK_EVENT_PARSER_ERRORS, STAT_NO_INDEX, 1);
}

/* ---- names ---- */

static uint32_t interned(struct import *im, struct machine *m, const struct track_event *e,
			 uint32_t table, uint64_t iid)
{
	uint32_t s = sequences_string(&m->sequences, e->state, table, iid);

	if (s == NULL_U32)
		stats_add(im->store, STAT_INTERNED_DATA_TOKENIZER_ERRORS, STAT_NO_INDEX, 1);
	return s;
}

static uint32_t legacy_name(struct import *im, struct machine *m, const struct track_event *e)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, e->legacy.data, e->legacy.len);
	while (e->legacy.id && pb_dec_next(&d, &f))
		if (f.id == PB_TRACK_EVENT_LEGACY_EVENT_NAME_IID && f.u64)
			return interned(im, m, e, PB_INTERNED_DATA_EVENT_NAMES, f.u64);
	return NULL_U32;
}

static uint32_t name_of(struct import *im, struct machine *m, const struct track_event *e)
{
	uint32_t name = legacy_name(im, m, e);
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, e->message.data, e->message.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_TRACK_EVENT_NAME_IID && f.u64)
			name = interned(im, m, e, PB_INTERNED_DATA_EVENT_NAMES, f.u64);
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
static uint32_t category_of(struct import *im, struct machine *m, const struct track_event *e)
{
	struct strings *s = &im->store->strings;
	struct category_list c = {.only = NULL_U32};
	unsigned unknown = 0;
	uint64_t iid, last = 0;
	struct pb_field f;
	struct pb_dec d;
	uint32_t id;

	pb_dec_init(&d, e->message.data, e->message.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id != PB_TRACK_EVENT_CATEGORY_IIDS)
			continue;
		for (struct pb_packed p = pb_packed_of(&f); pb_packed_next(&p, &iid);) {
			id = interned(im, m, e, PB_INTERNED_DATA_EVENT_CATEGORIES, iid);
			if (id != NULL_U32)
				add_category(im, &c, id);
			unknown += id == NULL_U32;
			last = iid;
		}
	}
	pb_dec_init(&d, e->message.data, e->message.len);
	while (pb_dec_next(&d, &f))
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

/*
 * Adds the thread that wrote the event as an argument, if the event's track is not the track of a
 * thread, nor that of another process, nor the default track.
 */
static void add_passthrough(struct import *im, struct machine *m, const struct track_event *e,
			    const struct described_track *d)
{
	const struct sequence_thread *t = &sequences_state(&m->sequences, e->state)->thread;
	uint32_t utid;

	if (!d || !t->known || !d->key.uuid || d->owner == OWNER_THREAD)
		return;
	utid = tasks_thread_of(&m->tasks, t->tid, t->pid);
	if (d->owner == OWNER_PROCESS && tasks_upid(&m->tasks, utid) != d->owner_id)
		return;
	arg_builder_int(im->store, &im->args, "legacy_event.passthrough_utid", ARG_UINT, utid);
}

static void collect_args(struct import *im, struct machine *m, const struct track_event *e,
			 const struct described_track *d)
{
	im->args.n = 0;
	track_event_args(im, m, e);
	add_passthrough(im, m, e, d);
}

/* ---- counters ---- */

static void add_counter(struct import *im, struct machine *m, const struct track_event *e,
			struct described_track *d, const struct pb_field *value, unsigned slot,
			uint32_t args, double *ret)
{
	uint32_t row = described_counter_row(im, m, d);

	if (!event_value_get(im, e->packet, slot, ret))
		*ret = counter_value(d, value);
	rows_counter(im, e->ts, row, *ret, args);
}

static void add_extras(struct import *im, struct machine *m, struct track_event *e)
{
	struct extra_counter extras[EXTRA_COUNTERS_MAX];
	double v;
	size_t n;

	track_event_extras(im, m, e, extras, &n); /* valid, else the event has no token */
	for (size_t i = 0; i < n; i++) {
		struct described_track *d =
			described_of_event(im, m, extras[i].track, NULL_U32, NULL);

		if (!d || d->kind != DESCRIBED_COUNTER) {
			count_error(im);
			continue;
		}
		add_counter(im, m, e, d, &extras[i].value, (unsigned)i + 1, NULL_U32, &v);
		if (d->counter.builtin == BUILTIN_THREAD_TIME)
			e->thread_ns = whole_number(v);
		else if (d->counter.builtin == BUILTIN_THREAD_INSTRUCTIONS)
			e->instructions = whole_number(v);
	}
}

static void add_counter_event(struct import *im, struct machine *m, const struct track_event *e)
{
	struct described_track *d = described_of_event(im, m, e->track, NULL_U32, NULL);
	double v;

	if (!d || d->kind != DESCRIBED_COUNTER) {
		count_error(im);
		return;
	}
	collect_args(im, m, e, d);
	add_counter(im, m, e, d, &e->counter, 0, arg_sets_add(im->store, &im->args), &v);
}

/* Thread times in events of older programs are also counters of the thread. */
void take_track_event_times(struct import *im, struct machine *m, struct track_event *e)
{
	static const struct track_type types[] = {
		{"thread_time", NULL, true, {{"utid", false}}},
		{"thread_instructions", NULL, true, {{"utid", false}}},
	};
	static const char *const names[] = {"thread_time", "thread_instruction_count"};
	const struct sequence_thread *t = &sequences_state(&m->sequences, e->state)->thread;
	int64_t *const to[] = {&e->thread_ns, &e->instructions};

	for (unsigned i = 0; i < 2; i++) {
		int64_t utid;
		double v;

		if (!event_value_get(im, e->packet, SLOT_THREAD_TIME + i, &v))
			continue;
		*to[i] = whole_number(v);
		if (!t->known)
			continue;
		utid = tasks_thread_of(&m->tasks, t->tid, t->pid);
		rows_counter(im, e->ts,
			     tracks_get(im, m, &types[i],
					strings_intern_z(&im->store->strings, names[i]), &utid),
			     v, NULL_U32);
	}
}

/* ---- flows ---- */

static void add_flow(struct import *im, bool ends, uint64_t id, uint32_t slice)
{
	if (ends)
		flows_end(im, id, slice);
	else
		flows_step(im, id, slice);
}

/* Adds the flows of `field`; those of `old_field` if there is no `field`. */
static void add_flows_of(struct import *im, const struct track_event *e, uint32_t field,
			 uint32_t old_field, bool ends, uint32_t slice)
{
	bool found = false;
	struct pb_field f;
	struct pb_dec d;
	uint64_t id;

	pb_dec_init(&d, e->message.data, e->message.len);
	while (pb_dec_next(&d, &f)) {
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
	pb_dec_init(&d, e->message.data, e->message.len);
	while (pb_dec_next(&d, &f)) {
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
	add_flows_of(im, e, PB_TRACK_EVENT_FLOW_IDS, PB_TRACK_EVENT_FLOW_IDS_OLD, false, slice);
	add_flows_of(im, e, PB_TRACK_EVENT_TERMINATING_FLOW_IDS,
		     PB_TRACK_EVENT_TERMINATING_FLOW_IDS_OLD, true, slice);
}

/* ---- slices ---- */

/* Returns the row of the event's track; NULL_U32: there is none. An event without a track is on the
 * track of its sequence's thread, if a descriptor named the thread; *ret is NULL then. */
static uint32_t row_of(struct import *im, struct machine *m, const struct track_event *e,
		       struct described_track **ret)
{
	const struct sequence_thread *t = &sequences_state(&m->sequences, e->state)->thread;
	enum slice_step step = e->type == EVENT_BEGIN ? STEP_BEGIN
			       : e->type == EVENT_END ? STEP_END
						      : STEP_INSTANT;

	*ret = NULL;
	if (!e->has_track && t->known)
		return slice_rules_thread_track(im, m, tasks_thread_of(&m->tasks, t->tid, t->pid));
	*ret = described_of_event(im, m, e->track, e->name, e->seq);
	return *ret ? described_slice_row(im, m, *ret, e->name, step) : NULL_U32;
}

static void add_slice(struct import *im, struct machine *m, struct track_event *e)
{
	struct described_track *d;
	uint32_t row = row_of(im, m, e, &d), slice;

	if (row == NULL_U32) {
		count_error(im);
		return;
	}
	take_track_event_times(im, m, e);
	add_extras(im, m, e);
	collect_args(im, m, e, d);
	if (e->type == EVENT_END)
		slice = slices_end(im, e->ts, row, e->category, e->name, &im->args);
	else
		slice = slices_begin(im, e->ts, e->type == EVENT_INSTANT ? 0 : -1, row, e->category,
				     e->name, &im->args);
	slices_set_thread_times(im, slice, e->type == EVENT_END, e->thread_ns, e->instructions);
	add_flows(im, e, slice);
}

void rows_track_event(struct import *im, struct machine *m, int64_t ts, const struct packet *p,
		      const uint8_t *packet, uint32_t state)
{
	struct track_event e = {.ts = ts, .state = state, .packet = packet};

	e.seq = sequences_find(&m->sequences, p->sequence);
	track_event_read(&e, &m->sequences, &p->payload);
	if (e.type == EVENT_COUNTER) {
		add_extras(im, m, &e);
		add_counter_event(im, m, &e);
		return;
	}
	e.name = name_of(im, m, &e);
	e.category = category_of(im, m, &e);
	if (e.type == EVENT_BEGIN || e.type == EVENT_END || e.type == EVENT_INSTANT)
		add_slice(im, m, &e);
	else if (e.legacy.id)
		rows_legacy_event(im, m, &e);
	else
		count_error(im);
}
