/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The threads seen since the last clear, each once: a bit each in front of a list. The bits of all
 * ids that Linux can give (2^22) are half a MiB of address space, of which only the pages in use
 * are ever touched.
 */
#define TID_LIMIT (1u << 22) /* PID_MAX_LIMIT of 64-bit kernels */

struct tid_set {
	uint64_t *seen; /* owned */
	int32_t *tids; /* owned */
	size_t n;
	size_t cap;
};

/* Room for cap threads: more than that between two clears are not remembered. 0 or -ENOMEM. */
int tid_set_init(struct tid_set *s, size_t cap);
void tid_set_deinit(struct tid_set *s);
void tid_set_clear(struct tid_set *s);
/* Takes out, at the next tid_set_close_up, one that may be in it. */
void tid_set_mark_out(struct tid_set *s, int32_t tid);
void tid_set_close_up(struct tid_set *s);
/* All of one into another, as far as there is room. */
void tid_set_move(struct tid_set *from, struct tid_set *to);

/* Thread 0 (idle) and what cannot be a thread id is left out. */
static inline void tid_set_add(struct tid_set *s, int32_t tid)
{
	uint64_t bit = 1ull << (tid & 63), *word;

	if ((uint32_t)tid - 1 >= TID_LIMIT - 1)
		return;
	word = s->seen + (tid >> 6);
	if ((*word & bit) || s->n == s->cap)
		return;
	*word |= bit;
	s->tids[s->n++] = tid;
}
