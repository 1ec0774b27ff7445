/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A leaky bucket for each of the users that took the most time lately. A user that is not in the full
 * table replaces the one that took the least.
 */
#include <stddef.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "service/ipc/quota.h"

/* A user may take AT_ONCE_NS before it has to wait. MOST_NS bounds the wait to 8 s. */
#define AT_ONCE_NS (4 * NS_PER_MS)
#define MOST_NS NS_PER_S

static uint64_t taken(const struct cpu_share *t, size_t i, uint64_t now_ns)
{
	uint64_t back = (now_ns - MIN(now_ns, t->users[i].at_ns)) / CPU_SHARE_PART;

	return t->users[i].ns - MIN(t->users[i].ns, back);
}

void cpu_share_charge(struct quota *q, uint64_t user, uint64_t ns, uint64_t now_ns)
{
	struct cpu_share *t = &q->cpu;
	size_t i, least = 0;

	for (i = 0; i < CPU_SHARE_USERS; i++) {
		if (t->users[i].ns && t->users[i].user == user)
			break;
		if (taken(t, i, now_ns) < taken(t, least, now_ns))
			least = i;
	}
	if (i == CPU_SHARE_USERS) {
		i = least;
		t->users[i].user = user;
		t->users[i].ns = 0;
	}
	t->users[i].ns = MIN(taken(t, i, now_ns) + ns, MOST_NS);
	t->users[i].at_ns = now_ns;
}

bool cpu_share_is_left(struct quota *q, uint64_t user, uint64_t now_ns)
{
	const struct cpu_share *t = &q->cpu;

	for (size_t i = 0; i < CPU_SHARE_USERS; i++)
		if (t->users[i].ns && t->users[i].user == user)
			return taken(t, i, now_ns) <= AT_ONCE_NS;
	return true;
}
