/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads track events in the file's order for what depends on earlier events: times and counters
 * that are differences. All else is read when the events are in the order of time.
 */
#include "analyze/import/track_event.h"

#include "gen/fields.h"

static void track_event_tokens_count_stat(struct import *im, enum stat_number stat)
{
	stats_add(im->store, stat, STAT_NO_INDEX, 1);
}

static struct described_track *find_counter(struct import *im, struct machine *m, uint64_t uuid)
{
	struct described_track *d = described_find(im, m, uuid);

	return d && d->kind == DESCRIBED_COUNTER ? d : NULL;
}

/* If the counter is incremental: adds the value to its sum, and keeps the sum for the event. */
static void keep_sum(struct import *im, struct machine *m, const struct track_event *e,
		     const struct described_track *d, const struct pb_field *value, unsigned slot)
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
		track_event_tokens_count_stat(im, STAT_TRACK_EVENT_COUNTER_MISSING_TRACK_UUID);
	else if (!e->counter.id)
		track_event_tokens_count_stat(im, STAT_TRACK_EVENT_COUNTER_MISSING_VALUE);
	else if (!d)
		track_event_tokens_count_stat(im, STAT_TRACK_EVENT_COUNTER_INVALID_TRACK_UUID);
	else
		keep_sum(im, m, e, d, &e->counter, 0);
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
			track_event_tokens_count_stat(im,
						      STAT_TRACK_EVENT_EXTRA_COUNTER_INVALID_TRACK);
			return false;
		}
		keep_sum(im, m, e, d, &extras[i].value, (unsigned)i + 1);
	}
	return valid;
}

/* Returns false, and counts it, for a difference to a value that is not known. */
static bool read_thread_times(struct import *im, const struct track_event *e,
			      struct sequence_thread *t, bool has_thread)
{
	pb_for_each (f, &e->message) {
		switch (f.id) {
		case PB_TRACK_EVENT_THREAD_TIME_DELTA_US:
			if (!has_thread) {
				track_event_tokens_count_stat(
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
				track_event_tokens_count_stat(
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

bool tokens_track_event(struct import *im, struct machine *m, const struct packet *p,
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
		track_event_tokens_count_stat(im, STAT_TRACK_EVENT_STATE_MISSING_TRACK_UUID);
		return false;
	}
	return read_extra_counters(im, m, &e);
}

int tokens_track_event_time(struct import *im, struct machine *m, const struct packet *p,
			    struct packet_sequence_info *seq, int64_t *ret)
{
	struct sequence_thread *t = &sequences_state(&m->sequences, seq->state)->thread;

	pb_for_each (f, &p->payload) {
		int64_t us = (int64_t)f.u64, ns;
		bool is_delta = f.id == PB_TRACK_EVENT_TIMESTAMP_DELTA_US;

		if (!is_delta && (f.id != PB_TRACK_EVENT_TIMESTAMP_ABSOLUTE_US || !us))
			continue;
		if (is_delta && !(seq->valid && t->has_time)) {
			track_event_tokens_count_stat(
				im, STAT_TRACK_EVENT_SKIPPED_TIMESTAMP_DELTA_WITHOUT_VALID_STATE);
			return -1;
		}
		if (__builtin_mul_overflow(us, 1000, &ns) ||
		    (is_delta && __builtin_add_overflow(t->ns, ns, &t->ns))) {
			track_event_tokens_count_stat(im, STAT_TRACK_EVENT_TOKENIZER_ERRORS);
			return -1;
		}
		ns = is_delta ? t->ns : ns;
		if (!clocks_to_trace_time(&m->clocks, CLOCK_MONOTONIC_ID, ns, ret))
			*ret = ns;
		return 1;
	}
	return 0;
}
