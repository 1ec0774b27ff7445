/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cut/cut_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"

struct cut_state_entry {
	UT_hash_handle hh;
	int64_t ts;
	size_t key_len, len;
	uint8_t bytes[]; /* the key, then the data */
};

void cut_state_deinit(struct cut_state *s)
{
	HASH_CLEAR(hh, s->by_key);
	for (size_t i = 0; i < s->n; i++)
		free(s->entries[i]);
	free(s->entries);
	*s = (struct cut_state){0};
}

int cut_state_add(struct cut_state *s, int64_t ts, const void *key, size_t key_len,
		  const void *data, size_t len)
{
	struct cut_state_entry *e, *old;

	HASH_FIND(hh, s->by_key, key, key_len, old);
	if (old && old->ts <= ts)
		return 0;
	if (key_len + len > CUT_STATE_MAX - s->bytes)
		return -EFBIG;
	e = malloc(sizeof(*e) + key_len + len);
	if (!e || array_reserve(&s->entries, &s->cap, s->n + 1, sizeof(*s->entries))) {
		free(e);
		return -ENOMEM;
	}
	e->ts = ts;
	e->key_len = key_len;
	e->len = len;
	memcpy(e->bytes, key, key_len);
	memcpy(e->bytes + key_len, data, len);
	if (old)
		HASH_DEL(s->by_key, old);
	HASH_ADD_KEYPTR(hh, s->by_key, e->bytes, key_len, e);
	if (!e->hh.tbl) {
		free(e);
		return -ENOMEM;
	}
	s->entries[s->n++] = e;
	s->bytes += key_len + len;
	return 1;
}

const void *cut_state_get(const struct cut_state *s, size_t i, size_t *ret_len)
{
	*ret_len = s->entries[i]->len;
	return s->entries[i]->bytes + s->entries[i]->key_len;
}
