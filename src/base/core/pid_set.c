/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/pid_set.h"

#include <errno.h>
#include <sys/mman.h>

#define BYTES (PID_LIMIT / 8)

int pid_set_reserve(struct pid_set *s)
{
	void *p;

	if (s->words)
		return 0;
	p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	s->words = p;
	return 0;
}

int pid_set_add(struct pid_set *s, int32_t tid)
{
	int r;

	if (tid <= 0 || tid >= PID_LIMIT)
		return -ERANGE;
	r = pid_set_reserve(s);
	if (!r)
		pid_set_insert(s, tid);
	return r;
}

void pid_set_remove(struct pid_set *s, int32_t tid)
{
	if (pid_set_has(s, tid))
		s->words[tid / 64] &= ~(1ull << tid % 64);
}

void pid_set_clear(struct pid_set *s)
{
	if (s->words)
		munmap(s->words, BYTES);
	s->words = NULL;
}

int32_t pid_set_next(const struct pid_set *s, int32_t tid)
{
	uint64_t left;

	if (!s->words || tid >= PID_LIMIT - 1)
		return 0;
	tid++;
	left = s->words[tid / 64] >> tid % 64 << tid % 64;
	for (int32_t w = tid / 64;; left = s->words[w]) {
		if (left)
			return w * 64 + __builtin_ctzll(left);
		if (++w == PID_LIMIT / 64)
			return 0;
	}
}
