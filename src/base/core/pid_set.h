/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A set of task ids (pids and tids): a bitmap of 512 KiB of address space. The kernel provides only
 * the pages that are written; these are few, because ids in use are close together.
 */

/* Above the largest task id of the kernel (PID_MAX_LIMIT). */
#define PID_LIMIT (1 << 22)

/* Zero-initialise; end with pid_set_clear. */
struct pid_set {
	uint64_t *words; /* owned mapping; NULL: empty */
};

/* Allocates the bitmap: until pid_set_clear(), pid_set_add() then has enough memory. Returns 0 or
 * -ENOMEM. */
int pid_set_reserve(struct pid_set *s);
/* Returns 0, -ERANGE for ids outside of 0 < tid < PID_LIMIT, or -ENOMEM. */
int pid_set_add(struct pid_set *s, int32_t tid);
void pid_set_remove(struct pid_set *s, int32_t tid);
/* Empties the set and frees its memory. */
void pid_set_clear(struct pid_set *s);
/* Returns the smallest id of the set above tid (>= 0), or 0 if there is none. */
int32_t pid_set_next(const struct pid_set *s, int32_t tid);

static inline bool pid_set_has(const struct pid_set *s, int32_t tid)
{
	return tid > 0 && tid < PID_LIMIT && s->words && s->words[tid / 64] >> tid % 64 & 1;
}

/* pid_set_add() for hot paths: pid_set_reserve() must have succeeded. Returns true if tid is valid
 * and was not in the set. */
static inline bool pid_set_insert(struct pid_set *s, int32_t tid)
{
	uint64_t bit = 1ull << (tid & 63), *word;

	if ((uint32_t)tid - 1 >= PID_LIMIT - 1)
		return false;
	word = s->words + (tid >> 6);
	if (*word & bit)
		return false;
	*word |= bit;
	return true;
}
