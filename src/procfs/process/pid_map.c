/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/pid_map.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/core/mem.h"

/*
 * A bitmap in two levels, because ids in use are close together:
 *
 *	tid  =  | leaf: 7 bits | word: 9 bits | bit: 6 bits |
 */

#define WORD_BITS 64

static uint64_t *word_of(const struct pid_set *s, int32_t tid)
{
	uint64_t *leaf;

	if (tid <= 0 || tid >= PID_LIMIT)
		return NULL;
	leaf = s->leaf[tid / PID_SET_LEAF];
	return leaf ? &leaf[tid % PID_SET_LEAF / WORD_BITS] : NULL;
}

static uint64_t bit_of(int32_t tid)
{
	return 1ull << tid % WORD_BITS;
}

bool pid_set_has(const struct pid_set *s, int32_t tid)
{
	const uint64_t *w = word_of(s, tid);

	return w && *w & bit_of(tid);
}

int pid_set_add(struct pid_set *s, int32_t tid)
{
	uint64_t **leaf;

	if (tid <= 0 || tid >= PID_LIMIT)
		return -ERANGE;
	leaf = &s->leaf[tid / PID_SET_LEAF];
	if (!*leaf)
		*leaf = calloc(PID_SET_LEAF / WORD_BITS, sizeof(**leaf));
	if (!*leaf)
		return -ENOMEM;
	*word_of(s, tid) |= bit_of(tid);
	return 0;
}

void pid_set_remove(struct pid_set *s, int32_t tid)
{
	uint64_t *w = word_of(s, tid);

	if (w)
		*w &= ~bit_of(tid);
}

void pid_set_clear(struct pid_set *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->leaf); i++) {
		free(s->leaf[i]);
		s->leaf[i] = NULL;
	}
}

int32_t pid_map_get(const struct pid_map *m, int32_t tid)
{
	const int32_t *leaf;

	if (tid <= 0 || tid >= PID_LIMIT)
		return 0;
	leaf = m->leaf[tid / PID_MAP_LEAF];
	return leaf ? leaf[tid % PID_MAP_LEAF] : 0;
}

int pid_map_set(struct pid_map *m, int32_t tid, int32_t v)
{
	int32_t **leaf;

	if (tid <= 0 || tid >= PID_LIMIT)
		return -ERANGE;
	leaf = &m->leaf[tid / PID_MAP_LEAF];
	if (!*leaf && v)
		*leaf = calloc(PID_MAP_LEAF, sizeof(**leaf));
	if (*leaf)
		(*leaf)[tid % PID_MAP_LEAF] = v;
	return *leaf || !v ? 0 : -ENOMEM;
}

void pid_map_clear(struct pid_map *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(m->leaf); i++) {
		free(m->leaf[i]);
		m->leaf[i] = NULL;
	}
}
