/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing. A uuid is its own hash value. */
#include "lib/track_event/track_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

#define FIRST_SLOTS 16u

static void insert(struct track_set *s, const struct seen_track *t)
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
			insert(&bigger, &s->slots[i]);
	free(s->slots);
	*s = bigger;
	return true;
}

bool track_set_add(struct track_set *s, uint64_t uuid)
{
	const struct seen_track t = {.uuid = uuid};

	if (s->used == TRACK_SET_MAX || (2 * s->used >= s->n_slots && !track_set_grow(s)))
		return false;
	insert(s, &t);
	return true;
}

void track_set_clear(struct track_set *s)
{
	if (s->used)
		memset(s->slots, 0, s->n_slots * sizeof(*s->slots));
	s->used = 0;
}

void track_set_deinit(struct track_set *s)
{
	freep(&s->slots);
	s->n_slots = s->used = 0;
}
