/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a track event that tokens and rows read: its fields, and the values kept for it. */
#include "analyze/import/track_event.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "gen/fields.h"

#define SLOT_INSTRUCTIONS 17

struct event_value_key {
	const uint8_t *packet;
	uint64_t slot;
};

struct event_value {
	struct event_value_key key;
	double value;
	UT_hash_handle hh;
};

/* ---- values ---- */

static void event_value_set(struct import *im, const uint8_t *packet, unsigned slot, double value)
{
	struct event_value *v = budget_alloc(&im->store->budget, sizeof(*v));

	if (v) {
		v->key = (struct event_value_key){.packet = packet, .slot = slot};
		v->value = value;
	}
	BUDGET_HASH_ADD(&im->store->budget, im->event_values, key, v);
}

bool event_value_get(struct import *im, const uint8_t *packet, unsigned slot, double *ret)
{
	struct event_value_key key = {.packet = packet, .slot = slot};
	struct event_value *v;

	HASH_FIND(hh, im->event_values, &key, sizeof(key), v);
	if (v)
		*ret = v->value;
	return v;
}

void event_values_deinit(struct import *im)
{
	HASH_FREE(im->event_values);
}

/* ---- the event ---- */

static int64_t us_to_ns(uint64_t us)
{
	int64_t ns;

	return __builtin_mul_overflow((int64_t)us, 1000, &ns) ? NULL_I64 : ns;
}

/* Reads the parts of an older program's event. */
static void legacy_event_read(struct track_event *e, const struct pb_field *message)
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

void track_event_read(struct track_event *e, struct sequences *q, const struct pb_field *message)
{
	struct sequence_state *state = sequences_state(q, e->state);

	e->message = *message;
	e->thread_ns = e->instructions = NULL_I64;
	e->name = e->category = NULL_U32;
	pb_for_each (f, message)
		switch (f.id) {
		case PB_TRACK_EVENT_TYPE:
			e->type = f.u64;
			e->has_type = true;
			break;
		case PB_TRACK_EVENT_TRACK_UUID:
			e->track = f.u64;
			e->has_track = e->names_track = true;
			break;
		case PB_TRACK_EVENT_LEGACY_EVENT:
			if (f.data)
				legacy_event_read(e, &f);
			break;
		case PB_TRACK_EVENT_CALLSTACK:
		case PB_TRACK_EVENT_CALLSTACK_IID:
			if ((f.id == PB_TRACK_EVENT_CALLSTACK) == !!f.data)
				e->callstack = f;
			break;
		case PB_TRACK_EVENT_COUNTER_VALUE:
		case PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE:
			if (!f.data)
				e->counter = f;
			break;
		}
	if (!e->has_track && state->has_default_track) {
		e->track = state->default_track;
		e->has_track = true;
	}
}

double counter_value(const struct described_track *d, const struct pb_field *f)
{
	bool is_real = f->id == PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE ||
		       f->id == PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES;
	double v;

	if (is_real)
		memcpy(&v, &f->u64, sizeof(v));
	else
		v = (double)(int64_t)f->u64;
	return v * (double)d->counter.multiplier;
}

/* ---- extra counters ---- */

/* Lists the values of a repeated field, packed or not. fixed: they have 8 bytes each, else they are
 * varints. Returns their number, at most max + 1. */
static size_t track_event_list_values(const struct pb_field *message, uint32_t field, bool fixed,
				      struct pb_field *ret, size_t max)
{
	struct pb_field f;
	struct pb_dec d;
	size_t n = 0;

	pb_dec_init(&d, message->data, message->len);
	while (n <= max && pb_dec_next(&d, &f)) {
		if (f.id != field)
			continue;
		if (f.data && fixed) {
			for (size_t i = 0; i + 8 <= f.len && n <= max; i += 8) {
				struct pb_field one = {.id = field};

				memcpy(&one.u64, f.data + i, sizeof(one.u64));
				ret[n++] = one;
			}
			continue;
		}
		for (struct pb_packed p = pb_packed_of(&f); n <= max;) {
			struct pb_field one = {.id = field};

			if (!f.data)
				one.u64 = f.u64;
			else if (!pb_packed_next(&p, &one.u64))
				break;
			ret[n++] = one;
			if (!f.data)
				break;
		}
	}
	return n;
}

#define LIST (EXTRA_COUNTERS_MAX + 1)

static size_t list_counter_tracks(const struct track_event *e, const struct sequence_state *state,
				  uint32_t field, struct pb_field ret[static LIST])
{
	size_t n = track_event_list_values(&e->message, field, false, ret, EXTRA_COUNTERS_MAX);

	/* The defaults have the same field numbers. */
	if (!n && state->event_defaults.id)
		n = track_event_list_values(&state->event_defaults, field, false, ret,
					    EXTRA_COUNTERS_MAX);
	return n;
}

bool track_event_list_extras(struct import *im, struct machine *m, const struct track_event *e,
			     struct extra_counter extras[static EXTRA_COUNTERS_MAX], size_t *ret_n)
{
	static const struct {
		uint32_t values, tracks;
		bool fixed;
	} kinds[] = {
		{PB_TRACK_EVENT_EXTRA_COUNTER_VALUES, PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS,
		 false},
		{PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES,
		 PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, true},
	};
	const struct sequence_state *state = sequences_state(&m->sequences, e->state);
	struct pb_field values[LIST], tracks[LIST];

	*ret_n = 0;
	for (size_t k = 0; k < 2; k++) {
		size_t n_values =
			       track_event_list_values(&e->message, kinds[k].values, kinds[k].fixed,
						       values, EXTRA_COUNTERS_MAX),
		       n_tracks;

		if (!n_values)
			continue;
		n_tracks = list_counter_tracks(e, state, kinds[k].tracks, tracks);
		for (size_t i = 0; i < n_values; i++) {
			if (i == n_tracks || *ret_n == EXTRA_COUNTERS_MAX) {
				enum stat_number reason =
					!n_tracks
						? STAT_TRACK_EVENT_EXTRA_COUNTER_MISSING_TRACK_UUIDS
					: i == n_tracks
						? STAT_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUID_MISMATCH
						: STAT_TRACK_EVENT_EXTRA_COUNTER_EXCEEDS_MAX;

				stats_add(im->store, reason, STAT_NO_INDEX, 1);
				return false;
			}
			extras[(*ret_n)++] =
				(struct extra_counter){.track = tracks[i].u64, .value = values[i]};
		}
	}
	return true;
}

/*
 * ---- tokens: times and counters that are differences from earlier events are read in the order of
 * the file, all other fields when the events are in the order of time ----
 */

static void track_event_count_stat(struct import *im, enum stat_number stat)
{
	stats_add(im->store, stat, STAT_NO_INDEX, 1);
}

static struct described_track *find_counter(struct import *im, struct machine *m, uint64_t uuid)
{
	struct described_track *d = described_find(im, m, uuid);

	return d && d->kind == DESCRIBED_COUNTER ? d : NULL;
}

/* If the counter is incremental: adds the value to its sum, and keeps the sum for the event. */
static void add_to_counter_sum(struct import *im, struct machine *m, const struct track_event *e,
			       const struct described_track *d, const struct pb_field *value,
			       unsigned slot)
{
	if (d->counter.incremental)
		event_value_set(im, e->packet, slot,
				sequences_add_to_sum(&m->sequences, e->state, d->key.uuid,
						     counter_value(d, value)));
}

static bool read_counter_value(struct import *im, struct machine *m, const struct track_event *e)
{
	const struct described_track *d = find_counter(im, m, e->track);

	if (!e->has_track)
		track_event_count_stat(im, STAT_TRACK_EVENT_COUNTER_MISSING_TRACK_UUID);
	else if (!e->counter.id)
		track_event_count_stat(im, STAT_TRACK_EVENT_COUNTER_MISSING_VALUE);
	else if (!d)
		track_event_count_stat(im, STAT_TRACK_EVENT_COUNTER_INVALID_TRACK_UUID);
	else
		add_to_counter_sum(im, m, e, d, &e->counter, 0);
	return e->has_track && e->counter.id && d;
}

static bool read_extra_counters(struct import *im, struct machine *m, const struct track_event *e)
{
	struct extra_counter extras[EXTRA_COUNTERS_MAX];
	size_t n;
	bool valid = track_event_list_extras(im, m, e, extras, &n);

	for (size_t i = 0; i < n; i++) {
		const struct described_track *d = find_counter(im, m, extras[i].track);

		if (!d) {
			track_event_count_stat(im, STAT_TRACK_EVENT_EXTRA_COUNTER_INVALID_TRACK);
			return false;
		}
		add_to_counter_sum(im, m, e, d, &extras[i].value, (unsigned)i + 1);
	}
	return valid;
}

/* Stores the thread times of an event for its rows, and adds differences to the times of the
 * sequence's thread. Returns false, and counts it, for a difference if these times are not
 * known. */
static bool read_thread_times(struct import *im, const struct track_event *e,
			      struct sequence_thread *t, bool has_thread)
{
	pb_for_each (f, &e->message) {
		switch (f.id) {
		case PB_TRACK_EVENT_THREAD_TIME_DELTA_US:
			if (!has_thread) {
				track_event_count_stat(
					im,
					STAT_TRACK_EVENT_SKIPPED_THREAD_TIME_DELTA_WITHOUT_VALID_STATE);
				return false;
			}
			t->thread_ns = (int64_t)((uint64_t)t->thread_ns + f.u64 * 1000);
			event_value_set(im, e->packet, SLOT_THREAD_TIME, (double)t->thread_ns);
			break;
		case PB_TRACK_EVENT_THREAD_TIME_ABSOLUTE_US:
			event_value_set(im, e->packet, SLOT_THREAD_TIME,
					(double)(int64_t)(f.u64 * 1000));
			break;
		case PB_TRACK_EVENT_THREAD_INSTRUCTION_COUNT_DELTA:
			if (!has_thread) {
				track_event_count_stat(
					im,
					STAT_TRACK_EVENT_SKIPPED_THREAD_INSTRUCTION_DELTA_WITHOUT_VALID_STATE);
				return false;
			}
			t->instructions = (int64_t)((uint64_t)t->instructions + f.u64);
			event_value_set(im, e->packet, SLOT_INSTRUCTIONS, (double)t->instructions);
			break;
		case PB_TRACK_EVENT_THREAD_INSTRUCTION_COUNT_ABSOLUTE:
			event_value_set(im, e->packet, SLOT_INSTRUCTIONS, (double)(int64_t)f.u64);
			break;
		}
	}
	return true;
}

bool tokenize_track_event(struct import *im, struct machine *m, const struct packet *p,
			  struct packet_sequence_info *seq, const uint8_t *packet)
{
	struct track_event e = {.state = seq->state, .packet = packet};
	struct sequence_state *state = sequences_state(&m->sequences, seq->state);

	track_event_read(&e, &m->sequences, &p->payload);
	state->queued = true;
	if (seq->dropped)
		stats_add(im->store, STAT_SONDA_TRACK_EVENTS_DROPPED, STAT_NO_INDEX,
			  (int64_t)seq->dropped);
	seq->dropped = 0;
	if (!read_thread_times(im, &e, &state->thread, seq->valid && state->thread.has_time))
		return false;
	if (e.type == EVENT_COUNTER && !read_counter_value(im, m, &e))
		return false;
	if (e.type == EVENT_STATE && !e.has_track) {
		track_event_count_stat(im, STAT_TRACK_EVENT_STATE_MISSING_TRACK_UUID);
		return false;
	}
	return read_extra_counters(im, m, &e);
}

int tokenize_track_event_time(struct import *im, struct machine *m, const struct packet *p,
			      struct packet_sequence_info *seq, int64_t *ret)
{
	struct sequence_thread *t = &sequences_state(&m->sequences, seq->state)->thread;

	pb_for_each (f, &p->payload) {
		int64_t us = (int64_t)f.u64, ns;
		bool is_delta = f.id == PB_TRACK_EVENT_TIMESTAMP_DELTA_US;

		if (!is_delta && (f.id != PB_TRACK_EVENT_TIMESTAMP_ABSOLUTE_US || !us))
			continue;
		if (is_delta && !(seq->valid && t->has_time)) {
			track_event_count_stat(
				im, STAT_TRACK_EVENT_SKIPPED_TIMESTAMP_DELTA_WITHOUT_VALID_STATE);
			return -1;
		}
		if (__builtin_mul_overflow(us, 1000, &ns) ||
		    (is_delta && __builtin_add_overflow(t->ns, ns, &t->ns))) {
			track_event_count_stat(im, STAT_TRACK_EVENT_TOKENIZER_ERRORS);
			return -1;
		}
		ns = is_delta ? t->ns : ns;
		if (!clocks_to_trace_time(&m->clocks, CLOCK_MONOTONIC_ID, ns, ret))
			*ret = ns;
		return 1;
	}
	return 0;
}
