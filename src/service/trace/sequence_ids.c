/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open hash table of eight-byte slots, at most half full: a long trace sees a writer for every
 * thread that ever wrote, so an entry of uthash (64 bytes and an allocation) would be most of what
 * a session holds. Entries are never removed.
 *
 *	slots  | key, id |  -  |  -  | key, id | key, id |  -  | ...       key 0: free
 *	          ^ hash(key)
 */
#include "service/trace/sequence_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/siphash.h"
#include "service/ipc/limits.h"

struct sequence_slot {
	uint32_t key; /* producer_id << 16 | writer_id */
	uint32_t id;
};

#define FIRST_SLOTS 16

static size_t hash(uint32_t key, size_t n_slots)
{
	return (size_t)siphash_keyed(&key, sizeof(key)) & (n_slots - 1);
}

/* The slot of the key, or the free one where it belongs. There always is a free one. */
static struct sequence_slot *find(struct sequence_slot *slots, size_t n_slots, uint32_t key)
{
	size_t i = hash(key, n_slots);

	while (slots[i].key && slots[i].key != key)
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

static int grow(struct sequence_ids *s)
{
	size_t n = s->n_slots ? s->n_slots * 2 : FIRST_SLOTS;
	struct sequence_slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; i < s->n_slots; i++)
		if (s->slots[i].key)
			*find(slots, n, s->slots[i].key) = s->slots[i];
	free(s->slots);
	s->slots = slots;
	s->n_slots = n;
	return 0;
}

bool sequence_ids_full(const struct sequence_ids *s)
{
	return s->last >= SEQUENCE_ID_SERVICE + MAX_SEQUENCES;
}

uint32_t sequence_ids_get(struct sequence_ids *s, uint16_t producer_id, uint16_t writer_id)
{
	uint32_t key = (uint32_t)producer_id << 16 | writer_id;
	struct sequence_slot *slot = s->n_slots ? find(s->slots, s->n_slots, key) : NULL;
	uint32_t used = s->last ? s->last - SEQUENCE_ID_SERVICE : 0;

	if (slot && slot->key)
		return slot->id;
	if (sequence_ids_full(s))
		return 0;
	if ((used + 1) * 2 > s->n_slots && grow(s) < 0)
		return 0;
	slot = find(s->slots, s->n_slots, key);
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
