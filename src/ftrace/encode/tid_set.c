// SPDX-License-Identifier: Apache-2.0
/* The set is emptied by its list, never by a sweep over the bits. */
#include <errno.h>
#include <stdlib.h>

#include "ftrace/encode/tid_set.h"

int tid_set_init(struct tid_set *s, size_t cap)
{
	*s = (struct tid_set){
		.seen = calloc(TID_LIMIT / 64, sizeof(*s->seen)),
		.tids = calloc(cap, sizeof(*s->tids)),
		.cap = cap,
	};
	if (s->seen && s->tids)
		return 0;
	tid_set_deinit(s);
	return -ENOMEM;
}

void tid_set_deinit(struct tid_set *s)
{
	free(s->seen);
	free(s->tids);
	*s = (struct tid_set){0};
}

void tid_set_clear(struct tid_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->seen[s->tids[i] >> 6] = 0;
	s->n = 0;
}

void tid_set_mark_out(struct tid_set *s, int32_t tid)
{
	if ((uint32_t)tid < TID_LIMIT)
		s->seen[tid >> 6] &= ~(1ull << (tid & 63));
}

void tid_set_close_up(struct tid_set *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->seen[s->tids[i] >> 6] >> (s->tids[i] & 63) & 1)
			s->tids[n++] = s->tids[i];
	s->n = n;
}

void tid_set_move(struct tid_set *from, struct tid_set *to)
{
	for (size_t i = 0; i < from->n; i++)
		tid_set_add(to, from->tids[i]);
	tid_set_clear(from);
}
