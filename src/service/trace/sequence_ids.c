/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open-addressing table of eight-byte slots, at most half full. A long trace has a writer for
 * each thread that ever wrote; with an entry of uthash for each (64 bytes and an allocation) the
 * table would need most of a session's memory.
 *
 *	slots  | key, id |  -  |  -  | key, id | key, id |  -  | ...       key 0: free
 *	          ^ hash(key)
 */
#include "service/trace/sequence_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/open_table.h"
#include "base/core/siphash.h"
#include "service/ipc/limits.h"

struct sequence_slot {
	uint32_t key; /* producer_id << 16 | writer_id */
	uint32_t id;
};

#define FIRST_SLOTS 16

/* Returns the slot of the key, or the free one where it belongs. */
static struct sequence_slot *find(const struct sequence_ids *s, uint32_t key)
{
	size_t i = OPEN_TABLE_FIND(s->n_slots, siphash_keyed(&key, sizeof(key)), at,
				   !s->slots[at].key || s->slots[at].key == key);

	return &s->slots[i];
}

static bool grow(struct sequence_ids *s)
{
	return OPEN_TABLE_GROW(s->slots, s->n_slots, FIRST_SLOTS, slot, !slot->key,
			       siphash_keyed(&slot->key, sizeof(slot->key)));
}

bool sequence_ids_full(const struct sequence_ids *s)
{
	return s->last >= SEQUENCE_ID_SERVICE + MAX_SEQUENCES;
}

uint32_t sequence_ids_get(struct sequence_ids *s, uint16_t producer_id, uint16_t writer_id)
{
	uint32_t key = (uint32_t)producer_id << 16 | writer_id;
	struct sequence_slot *slot = s->n_slots ? find(s, key) : NULL;
	uint32_t used = s->last ? s->last - SEQUENCE_ID_SERVICE : 0;

	if (slot && slot->key)
		return slot->id;
	if (sequence_ids_full(s))
		return 0;
	if ((used + 1) * 2 > s->n_slots && !grow(s))
		return 0;
	slot = find(s, key);
	s->last = SEQUENCE_ID_SERVICE + used + 1;
	*slot = (struct sequence_slot){.key = key, .id = s->last};
	return slot->id;
}

int sequence_ids_copy(const struct sequence_ids *from, struct sequence_ids *to)
{
	if (from->n_slots == 0)
		return 0;
	to->slots = malloc(from->n_slots * sizeof(*to->slots));
	if (!to->slots)
		return -ENOMEM;
	memcpy(to->slots, from->slots, from->n_slots * sizeof(*to->slots));
	to->n_slots = from->n_slots;
	to->last = from->last;
	return 0;
}

void sequence_ids_deinit(struct sequence_ids *s)
{
	free(s->slots);
	*s = (struct sequence_ids){0};
}
