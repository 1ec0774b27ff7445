/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tracks that a sequence has described since its last reset, and the last values of its
 * incremental counters. */

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

/* Adds a track that is not in the set. Returns false if the set is full or there is no memory. */
bool track_set_add(struct track_set *s, uint64_t uuid);
void track_set_clear(struct track_set *s);
void track_set_deinit(struct track_set *s);
