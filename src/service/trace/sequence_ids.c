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
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/open_table.h"
#include "base/core/siphash.h"
#include "service/ipc/ipc_peer.h"
#include "service/ipc/limits.h"

struct sequence_slot {
	uint32_t key; /* producer_id << 16 | writer_id */
	uint32_t id;
};

struct sequence_user {
	uid_t uid;
	uint32_t n; /* its ids; 0: the slot is free */
};

#define FIRST_SLOTS 16

/* ---- users ---- */

static uid_t quota_user_of(const struct trace_buffer_writer *writer)
{
	return writer->machine_id ? UID_UNKNOWN : writer->uid;
}

/* Returns the slot of the user, or the free one where it belongs, with room for one more user.
 * NULL: no memory. */
static struct sequence_user *find_or_reserve_user(struct sequence_ids *s, uid_t uid)
{
	if ((s->n_users + 1) * 2 > s->n_user_slots &&
	    !OPEN_TABLE_GROW(s->users, s->n_user_slots, FIRST_SLOTS, user, !user->n,
			     siphash_keyed(&user->uid, sizeof(user->uid))))
		return NULL;
	return &s->users[OPEN_TABLE_FIND(s->n_user_slots, siphash_keyed(&uid, sizeof(uid)), at,
					 !s->users[at].n || s->users[at].uid == uid)];
}

/* Counts one more id for a user that is not root. Returns 0, -EDQUOT or -ENOMEM. */
static int charge_user(struct sequence_ids *s, uid_t uid)
{
	struct sequence_user *u = find_or_reserve_user(s, uid);

	if (!u)
		return -ENOMEM;
	if (u->n >= quota_share(MAX_SEQUENCES, s->of_users - u->n))
		return -EDQUOT;
	s->n_users += u->n == 0;
	s->of_users++;
	*u = (struct sequence_user){.uid = uid, .n = u->n + 1};
	return 0;
}

/* ---- ids ---- */

/* Returns the slot of the key, or the free one where it belongs. */
static struct sequence_slot *sequence_ids_find(const struct sequence_ids *s, uint32_t key)
{
	size_t i = OPEN_TABLE_FIND(s->n_slots, siphash_keyed(&key, sizeof(key)), at,
				   !s->slots[at].key || s->slots[at].key == key);

	return &s->slots[i];
}

static bool sequence_ids_grow(struct sequence_ids *s)
{
	return OPEN_TABLE_GROW(s->slots, s->n_slots, FIRST_SLOTS, slot, !slot->key,
			       siphash_keyed(&slot->key, sizeof(slot->key)));
}

int sequence_ids_get_or_add(struct sequence_ids *s, const struct quota *q,
			    const struct trace_buffer_writer *writer, uint32_t *ret)
{
	uint32_t key = (uint32_t)writer->producer_id << 16 | writer->writer_id;
	struct sequence_slot *slot = s->n_slots ? sequence_ids_find(s, key) : NULL;
	uint32_t used = s->last ? s->last - SEQUENCE_ID_SERVICE : 0;
	uid_t user = quota_user_of(writer);
	int r = 0;

	if (slot && slot->key) {
		*ret = slot->id;
		return 0;
	}
	if (used >= MAX_SEQUENCES)
		return -EDQUOT;
	if ((used + 1) * 2 > s->n_slots && !sequence_ids_grow(s))
		return -ENOMEM;
	if (!quota_is_root(q, user))
		r = charge_user(s, user);
	if (r < 0)
		return r;
	s->last = SEQUENCE_ID_SERVICE + used + 1;
	*sequence_ids_find(s, key) = (struct sequence_slot){.key = key, .id = s->last};
	*ret = s->last;
	return 0;
}

/* ---- life ---- */

int sequence_ids_copy(const struct sequence_ids *from, struct sequence_ids *to)
{
	size_t slots = from->n_slots * sizeof(*to->slots);
	size_t users = from->n_user_slots * sizeof(*to->users);

	*to = *from;
	to->slots = slots ? malloc(slots) : NULL;
	to->users = users ? malloc(users) : NULL;
	if ((slots && !to->slots) || (users && !to->users))
		return -ENOMEM;
	if (slots)
		memcpy(to->slots, from->slots, slots);
	if (users)
		memcpy(to->users, from->users, users);
	return 0;
}

void sequence_ids_deinit(struct sequence_ids *s)
{
	free(s->slots);
	free(s->users);
	*s = (struct sequence_ids){0};
}
