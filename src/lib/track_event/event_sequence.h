/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/data_source.h>
#include <sonda/event_args.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/track_event/event_config.h"

/* The interning ids of one sequence and one field of InternedData. Maps the process-wide number of
 * a text (string_ids.h) to its id in this sequence: 1, 2, ... in the order of first use. So a
 * sequence with few texts has short ids. */
struct intern_map {
	uint16_t *iids; /* owned; by number; 0: not defined in this sequence */
	uint32_t size;
	uint16_t last;
};

/* Returns the interning id, or 0 if the sequence has not defined this text. */
static inline uint32_t intern_map_find(const struct intern_map *m, uint32_t id)
{
	return id < m->size ? m->iids[id] : 0;
}

/* Assigns the next interning id to a number that has none, and returns it. Returns 0 if there is no
 * memory, if no interning id is left, or if id is 0; the text is then written in full. */
uint32_t intern_map_add(struct intern_map *m, uint32_t id);

/*
 * The tracks that a sequence has described since its last reset, and the last values of its
 * incremental counters.
 */

#define TRACK_SET_MAX 4096u /* tracks; before it is full, the sequence is reset */

struct seen_track {
	uint64_t uuid; /* 0: free */
	int64_t last_value; /* of an incremental counter */
};

struct track_set {
	struct seen_track *slots; /* owned; a power of two, at most half of them used */
	uint32_t n_slots;
	uint32_t used;
};

/* Returns the entry, valid until the next add; NULL: not in the set. uuid is not 0. */
static inline struct seen_track *track_set_find(const struct track_set *s, uint64_t uuid)
{
	if (s->used == 0)
		return NULL;
	for (uint64_t i = uuid;; i++) {
		struct seen_track *t = &s->slots[i & (s->n_slots - 1)];

		if (t->uuid == uuid)
			return t;
		if (t->uuid == 0)
			return NULL;
	}
}

/*
 * The incremental state of one sequence: the definitions in the packets of one thread in one
 * instance since the last reset. Zero-initialise. Only the thread of the sequence uses it.
 */

/* Fields of InternedData. */
enum intern_field {
	INTERN_CATEGORY,
	INTERN_NAME,
	INTERN_ANNOTATION,
	INTERN_LOCATION,
	INTERN_TYPE_NAME,
	INTERN_VALUE,
	INTERN_LOG_BODY, /* each body is new, so it is in no map */
	INTERN_FIELDS,
};

/* Clocks of a sequence. */
#define CLOCK_ID_BOOTTIME 6u
#define CLOCK_ID_INCREMENTAL 64u /* differences, in units */
#define CLOCK_ID_UNITS 65u /* boot time in units of more than 1 ns */

#define DYNAMIC_CATEGORIES 32u /* size of the cache of decisions */

struct event_sequence {
	uint64_t last_ns; /* of the incremental clock */
	uint32_t default_clock;
	int32_t tid;
	uint64_t thread_time_ns; /* sum of the thread_time counter */
	uint64_t thread_time_read_ns; /* boot time of the last reading */
	uint32_t last_log_body;
	bool overflow; /* a table is full: reset before the next event */
	struct intern_map maps[INTERN_FIELDS];
	struct track_set tracks;
	/* Cache of decisions: hash of a category, with the decision in the lowest bit; 0: none. */
	uint64_t categories[DYNAMIC_CATEGORIES];
};

void event_sequence_deinit(struct event_sequence *s);

/* Clears the state, and writes the packets that a sequence begins with: the reset with its clocks
 * and defaults, and the descriptors of the thread, the process and, if the config requests it, the
 * counter of the thread's CPU time. */
void event_sequence_reset(struct event_sequence *s, struct sonda_writer *w,
			  const struct event_config *c, uint64_t now_ns);

/* Writes the descriptors of a track and its parents, unless the sequence has them. Resets the
 * sequence first if its set of tracks is nearly full. */
void event_sequence_describe(struct event_sequence *s, struct sonda_writer *w,
			     const struct event_config *c, const struct sonda_track *track,
			     uint64_t uuid, uint64_t now_ns);

/* A value of TracePacket.timestamp; clock 0 is the sequence's default. */
struct event_stamp {
	uint64_t value;
	uint32_t clock;
};

/* Returns a boot time as a timestamp, and moves the incremental clock to it. */
static inline struct event_stamp event_sequence_stamp(struct event_sequence *s,
						      const struct event_config *c, uint64_t ns)
{
	uint64_t units;

	if (s->default_clock == CLOCK_ID_INCREMENTAL && ns >= s->last_ns) {
		units = ns - s->last_ns;
		if (__builtin_expect(c->unit_multiplier == 1, 1)) {
			s->last_ns = ns;
			return (struct event_stamp){units, 0};
		}
		units /= c->unit_multiplier;
		s->last_ns += units * c->unit_multiplier;
		return (struct event_stamp){units, 0};
	}
	units = c->unit_multiplier > 1 ? ns / c->unit_multiplier : ns;
	if (s->default_clock != CLOCK_ID_INCREMENTAL)
		return (struct event_stamp){units, 0};
	return (struct event_stamp){units,
				    c->unit_multiplier == 1 ? CLOCK_ID_BOOTTIME : CLOCK_ID_UNITS};
}

/* Returns a time of the caller as a timestamp, and moves the incremental clock to it. A time far in
 * the future does not move the incremental clock, which cannot go back. */
struct event_stamp event_sequence_make_stamp(struct event_sequence *s, const struct event_config *c,
					     uint32_t clock, uint64_t value);

/* Returns event_config_enables_dynamic() of the category, from the cache if possible. */
bool event_sequence_enables(struct event_sequence *s, const struct event_config *c,
			    const char *category);

/* Returns the CPU time that the thread has used since the last reading, in units; 0 if less than
 * the config's thread_time_subsampling_ns has passed. */
uint64_t event_sequence_thread_time(struct event_sequence *s, const struct event_config *c,
				    uint64_t now_ns);
