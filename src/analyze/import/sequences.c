/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/sequences.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/store/stats.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "gen/fields.h"

struct interned_key {
	uint64_t iid;
	uint64_t table;
};

struct interned_entry {
	struct interned_key key;
	uint32_t string;
	uint32_t len;
	const uint8_t *data; /* the entry's message */
	UT_hash_handle hh;
};

struct running_sum {
	uint64_t track;
	double sum;
	UT_hash_handle hh;
};

struct packet_sequence {
	struct packet_sequence_info info;
	UT_hash_handle hh;
};

static void sequences_set_enomem(struct sequences *q)
{
	if (!q->store->budget.error)
		q->store->budget.error = -ENOMEM;
}

void sequences_init(struct sequences *q, struct store *store)
{
	*q = (struct sequences){.store = store};
}

static void free_state(struct sequence_state *s)
{
	HASH_FREE(s->interned);
	HASH_FREE(s->sums);
	free(s);
}

void sequences_deinit(struct sequences *q)
{
	HASH_FREE(q->by_id);
	for (size_t i = 0; i < q->n_states; i++)
		free_state(q->states[i]);
	free(q->states);
	*q = (struct sequences){0};
}

static uint32_t new_state(struct sequences *q)
{
	struct sequence_state *s;

	if (!budget_charge(&q->store->budget, sizeof(*s)) ||
	    array_reserve(&q->states, &q->cap_states, q->n_states + 1, sizeof(*q->states)))
		goto fail;
	s = calloc(1, sizeof(*s));
	if (!s)
		goto fail;
	s->base = (uint32_t)q->n_states;
	q->states[q->n_states] = s;
	return (uint32_t)q->n_states++;
fail:
	sequences_set_enomem(q);
	return NULL_U32;
}

struct packet_sequence_info *sequences_find(struct sequences *q, uint32_t id)
{
	struct packet_sequence *s;

	HASH_FIND(hh, q->by_id, &id, sizeof(id), s);
	return s ? &s->info : NULL;
}

struct packet_sequence_info *sequences_get(struct sequences *q, uint32_t id)
{
	struct packet_sequence_info *found = sequences_find(q, id);
	struct packet_sequence *s;
	uint32_t state;

	if (found)
		return found;
	state = new_state(q);
	s = state != NULL_U32 && budget_charge(&q->store->budget, sizeof(*s))
		    ? calloc(1, sizeof(*s))
		    : NULL;
	if (!s) {
		sequences_set_enomem(q);
		return NULL;
	}
	s->info.id = id;
	s->info.state = state;
	HASH_ADD(hh, q->by_id, info.id, sizeof(s->info.id), s);
	if (!s->hh.tbl) {
		free(s);
		sequences_set_enomem(q);
		return NULL;
	}
	return &s->info;
}

struct sequence_state *sequences_state(struct sequences *q, uint32_t number)
{
	return q->states[number];
}

/* Returns the state whose interned entries and sums the state with this number uses. */
static struct sequence_state *sequences_base(struct sequences *q, uint32_t number)
{
	return q->states[q->states[number]->base];
}

double sequences_add_to_sum(struct sequences *q, uint32_t state, uint64_t track, double v)
{
	struct sequence_state *s = sequences_base(q, state);
	struct running_sum *r;

	HASH_FIND(hh, s->sums, &track, sizeof(track), r);
	if (!r) {
		r = budget_alloc(&q->store->budget, sizeof(*r));
		if (r)
			r->track = track;
		r = BUDGET_HASH_ADD(&q->store->budget, s->sums, track, r);
	}
	return r ? r->sum += v : v;
}

void sequences_clear(struct sequences *q, struct packet_sequence_info *s)
{
	struct sequence_thread thread = sequences_state(q, s->state)->thread;
	uint32_t state = new_state(q);

	if (state == NULL_U32)
		return;
	thread.has_time = false;
	sequences_state(q, state)->thread = thread;
	s->state = state;
	s->valid = true;
}

void sequences_set_defaults(struct sequences *q, struct packet_sequence_info *s,
			    const struct pb_field *f)
{
	struct sequence_state *state = sequences_state(q, s->state), *old = state;

	if (old->queued) { /* queued events keep the defaults that they were written with */
		uint32_t number = new_state(q);

		if (number == NULL_U32)
			return;
		state = sequences_state(q, number);
		state->base = old->base;
		state->thread = old->thread;
		s->state = number;
	}
	state->event_defaults = (struct pb_field){.id = 0};
	state->perf_defaults = (struct pb_field){.id = 0};
	state->stack_defaults = (struct pb_field){.id = 0};
	state->default_clock = 0;
	state->has_default_track = false;
	pb_for_each (part, f) {
		if (part.id == PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID)
			state->default_clock = (uint32_t)part.u64;
		if (part.id == PB_TRACE_PACKET_DEFAULTS_PERF_SAMPLE_DEFAULTS && part.data)
			state->perf_defaults = part;
		if (part.id == PB_TRACE_PACKET_DEFAULTS_STACK_SAMPLE_DEFAULTS && part.data)
			state->stack_defaults = part;
		if (part.id != PB_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS || !part.data)
			continue;
		state->event_defaults = part;
		pb_for_each (inner, &part)
			if (inner.id == PB_TRACK_EVENT_DEFAULTS_TRACK_UUID) {
				state->default_track = inner.u64;
				state->has_default_track = true;
			}
	}
}

static struct interned_entry *find_interned_entry(struct sequence_state *s, uint32_t table,
						  uint64_t iid)
{
	struct interned_key key = {.iid = iid, .table = table};
	struct interned_entry *e;

	HASH_FIND(hh, s->interned, &key, sizeof(key), e);
	return e;
}

/* Keeps the first entry with an iid. */
static void sequences_add_entry(struct sequences *q, struct sequence_state *s,
				const struct pb_field *entry, uint64_t iid,
				const struct pb_field *text)
{
	struct interned_entry *e;

	if (find_interned_entry(s, entry->id, iid) || entry->len > UINT32_MAX)
		return;
	e = budget_alloc(&q->store->budget, sizeof(*e));
	if (!e)
		return;
	e->key = (struct interned_key){.iid = iid, .table = entry->id};
	e->data = entry->data;
	e->len = (uint32_t)entry->len;
	e->string = strings_intern(&q->store->strings, text->data, text->data ? text->len : 0);
	BUDGET_HASH_ADD(&q->store->budget, s->interned, key, e);
}

/* All entries have the form {iid = 1, text = 2, ...}. */
void sequences_intern(struct sequences *q, struct packet_sequence_info *s, const struct pb_field *f)
{
	struct sequence_state *state = sequences_base(q, s->state);

	pb_for_each (entry, f) {
		struct pb_field text = {.id = 0};
		uint64_t iid = 0;

		if (!entry.data)
			continue;
		pb_read(&entry, PB_TO(PB_INTERNED_STRING_IID, &iid),
			PB_TO(PB_INTERNED_STRING_STR, &text));
		if (iid)
			sequences_add_entry(q, state, &entry, iid, &text);
		else
			stats_add(q->store, STAT_INTERNED_DATA_TOKENIZER_ERRORS, STAT_NO_INDEX, 1);
	}
}

uint32_t sequences_string(struct sequences *q, uint32_t state, uint32_t table, uint64_t iid)
{
	struct interned_entry *e = find_interned_entry(sequences_base(q, state), table, iid);

	return e ? e->string : NULL_U32;
}

bool sequences_has(struct sequences *q, uint32_t state, uint32_t table, uint64_t iid)
{
	return find_interned_entry(sequences_base(q, state), table, iid) != NULL;
}

bool sequences_message(struct sequences *q, uint32_t state, uint32_t table, uint64_t iid,
		       struct pb_field *ret)
{
	struct interned_entry *e = find_interned_entry(sequences_base(q, state), table, iid);

	if (!e) {
		stats_add(q->store, STAT_INTERNED_DATA_TOKENIZER_ERRORS, STAT_NO_INDEX, 1);
		return false;
	}
	*ret = (struct pb_field){.id = table, .data = e->data, .len = e->len};
	return true;
}
