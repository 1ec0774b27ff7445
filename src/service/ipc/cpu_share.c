/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of the users that took the most time lately, with a leaky bucket for each. If the table
 * is full, a new user replaces the one that took the least.
 */
#include <stddef.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "service/ipc/quota.h"

/* A user may take AT_ONCE_NS before it has to wait. MOST_NS bounds the wait to 8 s. */
#define AT_ONCE_NS (4 * NS_PER_MS)
#define MOST_NS NS_PER_S

/* Returns now_ns without the time in which the service waited for a CPU. */
static uint64_t usable(const struct cpu_share *t, uint64_t now_ns)
{
	return now_ns - MIN(now_ns, t->without_cpu_ns);
}

/* Returns the level of a user's bucket. */
static uint64_t taken(const struct cpu_share *t, size_t i, uint64_t usable_ns)
{
	uint64_t back = (usable_ns - MIN(usable_ns, t->users[i].at_ns)) / CPU_SHARE_PART;

	return t->users[i].ns - MIN(t->users[i].ns, back);
}

void cpu_share_charge(struct quota *q, uint64_t user, uint64_t cpu_ns, uint64_t clock_ns,
		      uint64_t now_ns)
{
	struct cpu_share *t = &q->cpu;
	size_t i, least = 0;
	uint64_t at_ns;

	t->without_cpu_ns += clock_ns - MIN(clock_ns, cpu_ns);
	at_ns = usable(t, now_ns);
	for (i = 0; i < CPU_SHARE_USERS; i++) {
		if (t->users[i].ns && t->users[i].user == user)
			break;
		if (taken(t, i, at_ns) < taken(t, least, at_ns))
			least = i;
	}
	if (i == CPU_SHARE_USERS) {
		i = least;
		t->users[i].user = user;
		t->users[i].ns = 0;
	}
	t->users[i].ns = MIN(taken(t, i, at_ns) + cpu_ns, MOST_NS);
	t->users[i].at_ns = at_ns;
}

bool cpu_share_is_left(struct quota *q, uint64_t user, uint64_t now_ns)
{
	const struct cpu_share *t = &q->cpu;

	for (size_t i = 0; i < CPU_SHARE_USERS; i++)
		if (t->users[i].ns && t->users[i].user == user)
			return taken(t, i, usable(t, now_ns)) <= AT_ONCE_NS;
	return true;
}
