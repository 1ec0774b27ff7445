/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sequence begins with these packets, also after each reset:
 *
 *	reset      clocks, defaults; depends on nothing         sequence_flags 1
 *	thread     descriptor of the thread's track             sequence_flags 2, as all later packets
 *	process    descriptor of the process's track
 *	counter    of the thread's CPU time, if the config requests it
 *
 * The reset has no event, because some readers read only the clocks of a packet with clocks.
 */
#include "lib/track_event/event_sequence.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "lib/data_source/packet.h"
#include "lib/track_event/track_descriptor.h"

#define FIRST_SIZE 64u

static bool intern_map_grow(struct intern_map *m, uint32_t id)
{
	uint32_t size = MAX(m->size, FIRST_SIZE);
	uint16_t *iids;

	while (size <= id)
		size *= 2;
	iids = realloc(m->iids, size * sizeof(*iids));
	if (!iids)
		return false;
	memset(iids + m->size, 0, (size - m->size) * sizeof(*iids));
	m->iids = iids;
	m->size = size;
	return true;
}

uint32_t intern_map_add(struct intern_map *m, uint32_t id)
{
	if (id == 0 || m->last == UINT16_MAX || (id >= m->size && !intern_map_grow(m, id)))
		return 0;
	return m->iids[id] = ++m->last;
}

/* Removes all ids, and keeps the memory. */
static void intern_map_clear(struct intern_map *m)
{
	if (m->last)
		memset(m->iids, 0, m->size * sizeof(*m->iids));
	m->last = 0;
}

static void intern_map_deinit(struct intern_map *m)
{
	freep(&m->iids);
	m->size = 0;
	m->last = 0;
}

/* Open addressing. A uuid is its own hash value. */

#define FIRST_SLOTS 16u

static void track_set_insert(struct track_set *s, const struct seen_track *t)
{
	uint64_t i = t->uuid;

	while (s->slots[i & (s->n_slots - 1)].uuid)
		i++;
	s->slots[i & (s->n_slots - 1)] = *t;
	s->used++;
}

static bool track_set_grow(struct track_set *s)
{
	struct track_set bigger = {.n_slots = s->n_slots ? 2 * s->n_slots : FIRST_SLOTS};

	bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (uint32_t i = 0; i < s->n_slots; i++)
		if (s->slots[i].uuid)
			track_set_insert(&bigger, &s->slots[i]);
	free(s->slots);
	*s = bigger;
	return true;
}

/* Adds a track that is not in the set. Returns false if the set is full or there is no memory. */
static bool track_set_add(struct track_set *s, uint64_t uuid)
{
	const struct seen_track t = {.uuid = uuid};

	if (s->used == TRACK_SET_MAX || (2 * s->used >= s->n_slots && !track_set_grow(s)))
		return false;
	track_set_insert(s, &t);
	return true;
}

static void track_set_clear(struct track_set *s)
{
	if (s->used)
		memset(s->slots, 0, s->n_slots * sizeof(*s->slots));
	s->used = 0;
}

static void track_set_deinit(struct track_set *s)
{
	freep(&s->slots);
	s->n_slots = s->used = 0;
}

#define STATE_CLEARED 1u
#define NEEDS_STATE 2u
#define MAX_AHEAD_NS NS_PER_S /* how far a caller's time may move the incremental clock */
#define MAX_ANCESTORS 100

void event_sequence_deinit(struct event_sequence *s)
{
	for (int i = 0; i < INTERN_FIELDS; i++)
		intern_map_deinit(&s->maps[i]);
	track_set_deinit(&s->tracks);
}

static void event_sequence_clear(struct event_sequence *s, const struct event_config *c,
				 uint64_t now_ns)
{
	for (int i = 0; i < INTERN_FIELDS; i++)
		intern_map_clear(&s->maps[i]);
	track_set_clear(&s->tracks);
	/* All times of the sequence are multiples of the unit. */
	s->last_ns = now_ns - now_ns % c->unit_multiplier;
	s->default_clock = !c->disable_incremental_timestamps ? CLOCK_ID_INCREMENTAL
			   : c->unit_multiplier > 1	      ? CLOCK_ID_UNITS
							      : CLOCK_ID_BOOTTIME;
	s->tid = gettid();
	s->thread_time_ns = s->thread_time_read_ns = 0;
	s->last_log_body = 0;
	s->overflow = false;
}

/* ---- the packets ---- */

static void write_clock(struct pb_enc *e, uint32_t id, uint64_t value, bool incremental,
			uint64_t multiplier)
{
	pb_enc_open(e, PB_CLOCK_SNAPSHOT_CLOCKS);
	pb_enc_u64(e, PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, id);
	pb_enc_u64(e, PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, value);
	if (id != CLOCK_ID_BOOTTIME) {
		pb_enc_bool(e, PB_CLOCK_SNAPSHOT_CLOCK_IS_INCREMENTAL, incremental);
		pb_enc_u64(e, PB_CLOCK_SNAPSHOT_CLOCK_UNIT_MULTIPLIER_NS, multiplier);
	}
	pb_enc_close(e);
}

static void write_clocks(const struct event_sequence *s, struct pb_enc *e, uint64_t multiplier)
{
	if (s->default_clock == CLOCK_ID_BOOTTIME)
		return;
	pb_enc_open(e, PB_TRACE_PACKET_CLOCK_SNAPSHOT);
	write_clock(e, CLOCK_ID_BOOTTIME, s->last_ns, false, 1);
	if (s->default_clock == CLOCK_ID_INCREMENTAL)
		write_clock(e, CLOCK_ID_INCREMENTAL, s->last_ns / multiplier, true, multiplier);
	if (multiplier > 1)
		write_clock(e, CLOCK_ID_UNITS, s->last_ns / multiplier, false, multiplier);
	pb_enc_close(e);
}

static void write_defaults(const struct event_sequence *s, struct pb_enc *e, bool thread_time)
{
	pb_enc_open(e, PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	pb_enc_open(e, PB_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS);
	pb_enc_u64(e, PB_TRACK_EVENT_DEFAULTS_TRACK_UUID, thread_uuid(s->tid));
	if (thread_time)
		pb_enc_u64(e, PB_TRACK_EVENT_DEFAULTS_EXTRA_COUNTER_TRACK_UUIDS,
			   thread_time_uuid(s->tid));
	pb_enc_close(e);
	pb_enc_u64(e, PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID, s->default_clock);
	pb_enc_close(e);
}

static void write_cleared_state(struct event_sequence *s, struct sonda_writer *w,
				const struct event_config *c)
{
	struct pb_enc *e = packet_enc(sonda_packet_begin(w));

	write_clocks(s, e, c->unit_multiplier);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, event_sequence_stamp(s, c, s->last_ns).value);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
	write_defaults(s, e, c->enable_thread_time_sampling);
	sonda_packet_end(w);
}

/* Begins the packet of a descriptor; its time is that of the last event. Returns the encoder for
 * its fields. */
static struct pb_enc *begin_descriptor(struct event_sequence *s, struct sonda_writer *w,
				       const struct event_config *c)
{
	struct pb_enc *e = packet_enc(sonda_packet_begin(w));

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, event_sequence_stamp(s, c, s->last_ns).value);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	return e;
}

static void write_descriptor(struct event_sequence *s, struct sonda_writer *w,
			     const struct event_config *c, const struct sonda_track *t)
{
	track_descriptor_write(begin_descriptor(s, w, c), t);
	sonda_packet_end(w);
}

void event_sequence_reset(struct event_sequence *s, struct sonda_writer *w,
			  const struct event_config *c, uint64_t now_ns)
{
	struct sonda_track thread = sonda_track_make_(SONDA_TRACK_THREAD, NULL, 0, NULL);
	const struct sonda_track process = sonda_track_process();

	event_sequence_clear(s, c, now_ns);
	write_cleared_state(s, w, c);
	thread.tid = s->tid;
	write_descriptor(s, w, c, &thread);
	write_descriptor(s, w, c, &process);
	if (c->enable_thread_time_sampling) {
		thread_time_descriptor_write(begin_descriptor(s, w, c), s->tid, c->unit_multiplier);
		sonda_packet_end(w);
	}
	/* An event may name these tracks explicitly, and then need not describe them. */
	s->overflow = !track_set_add(&s->tracks, track_uuid(&thread)) ||
		      !track_set_add(&s->tracks, track_uuid(&process));
}

void event_sequence_describe(struct event_sequence *s, struct sonda_writer *w,
			     const struct event_config *c, const struct sonda_track *track,
			     uint64_t uuid, uint64_t now_ns)
{
	const struct sonda_track *chain[MAX_ANCESTORS];
	size_t n = 0;

	if (uuid == 0 || track_set_find(&s->tracks, uuid))
		return;
	if (s->tracks.used + MAX_ANCESTORS > TRACK_SET_MAX)
		event_sequence_reset(s, w, c, now_ns);
	for (; track && n < MAX_ANCESTORS; track = track_parent(track)) {
		uuid = track_uuid(track);
		if (uuid == 0 || track_set_find(&s->tracks, uuid))
			break;
		chain[n++] = track;
	}
	while (n > 0) {
		track = chain[--n];
		write_descriptor(s, w, c, track);
		if (!track_set_add(&s->tracks, track_uuid(track)))
			s->overflow = true;
	}
}

/* ---- times ---- */

struct event_stamp event_sequence_make_stamp(struct event_sequence *s, const struct event_config *c,
					     uint32_t clock, uint64_t value)
{
	const uint64_t mult = c->unit_multiplier;

	if (clock != CLOCK_ID_BOOTTIME)
		return (struct event_stamp){value, clock == s->default_clock ? 0 : clock};
	if (s->default_clock != CLOCK_ID_INCREMENTAL || value < s->last_ns + MAX_AHEAD_NS)
		return event_sequence_stamp(s, c, value);
	return (struct event_stamp){value / mult, mult == 1 ? CLOCK_ID_BOOTTIME : CLOCK_ID_UNITS};
}

uint64_t event_sequence_thread_time(struct event_sequence *s, const struct event_config *c,
				    uint64_t now_ns)
{
	uint64_t units;

	if (s->thread_time_read_ns && c->thread_time_subsampling_ns &&
	    now_ns - s->thread_time_read_ns < c->thread_time_subsampling_ns)
		return 0;
	units = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - s->thread_time_ns) / c->unit_multiplier;
	s->thread_time_read_ns = now_ns;
	s->thread_time_ns += units * c->unit_multiplier;
	return units;
}

/* ---- dynamic categories ---- */

bool event_sequence_enables(struct event_sequence *s, const struct event_config *c,
			    const char *category)
{
	uint64_t hash = sonda_hash_text(category) | 1;
	uint64_t *known = &s->categories[(hash >> 1) % DYNAMIC_CATEGORIES];
	bool enabled;

	if ((*known | 1) == hash)
		return *known & 1;
	enabled = event_config_enables_dynamic(c, category);
	*known = (hash & ~1ull) | enabled;
	return enabled;
}
