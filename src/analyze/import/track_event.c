/* SPDX-License-Identifier: Apache-2.0 */
/* What tokens and rows read of a track event: its fields, and the values kept for it. */
#include "analyze/import/track_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "gen/fields.h"

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

void event_value_set(struct import *im, const uint8_t *packet, unsigned slot, double value)
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
