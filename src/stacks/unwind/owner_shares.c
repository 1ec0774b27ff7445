/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind/owner_shares.h"

#include "base/core/hash_table.h"

struct owner_share {
	uint32_t owner; /* key */
	uint32_t n; /* above 0 */
	UT_hash_handle hh;
};

static struct owner_share *owner_shares_find(const struct owner_shares *s, uint32_t owner)
{
	struct owner_share *o;

	HASH_FIND(hh, s->all, &owner, sizeof(owner), o);
	return o;
}

bool owner_shares_have_room(const struct owner_shares *s, uint32_t owner, uint32_t n)
{
	const struct owner_share *o = owner_shares_find(s, owner);

	return owner == 0 || (n <= s->max_each && (o ? o->n : 0) <= s->max_each - n &&
			      n <= s->max_all && s->total <= s->max_all - n);
}

bool owner_shares_add(struct owner_shares *s, uint32_t owner, uint32_t n)
{
	struct owner_share *o = owner_shares_find(s, owner);

	if (owner == 0 || n == 0)
		return true;
	if (!owner_shares_have_room(s, owner, n))
		return false;
	if (!o) {
		o = calloc(1, sizeof(*o));
		if (!o)
			return false;
		o->owner = owner;
		HASH_ADD(hh, s->all, owner, sizeof(owner), o);
		if (!o->hh.tbl) {
			free(o);
			return false;
		}
	}
	o->n += n;
	s->total += n;
	return true;
}

void owner_shares_remove(struct owner_shares *s, uint32_t owner, uint32_t n)
{
	struct owner_share *o = owner == 0 ? NULL : owner_shares_find(s, owner);

	if (!o)
		return;
	o->n -= n;
	s->total -= n;
	if (o->n == 0) {
		HASH_DEL(s->all, o);
		free(o);
	}
}

void owner_shares_deinit(struct owner_shares *s)
{
	HASH_FREE(s->all);
	s->total = 0;
}
