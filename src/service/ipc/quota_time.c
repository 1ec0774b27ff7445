/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of the users that took the most lately. One that finds no place in it has the place of the
 * one that took the least.
 */
#include <stddef.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "service/ipc/quota.h"

/* So much at once, before a user has to wait; and what was taken is forgotten after some seconds. */
#define AT_ONCE_NS (4 * NS_PER_MS)
#define MOST_NS NS_PER_S

static uint64_t taken(const struct quota_time *t, size_t i, uint64_t now_ns)
{
	uint64_t back = (now_ns - MIN(now_ns, t->users[i].at_ns)) / QUOTA_TIME_SHARE;

	return t->users[i].ns - MIN(t->users[i].ns, back);
}

void quota_time_spend(struct quota *q, uint64_t user, uint64_t ns, uint64_t now_ns)
{
	struct quota_time *t = &q->time;
	size_t i, least = 0;

	for (i = 0; i < QUOTA_TIME_USERS; i++) {
		if (t->users[i].ns && t->users[i].user == user)
			break;
		if (taken(t, i, now_ns) < taken(t, least, now_ns))
			least = i;
	}
	if (i == QUOTA_TIME_USERS) {
		i = least;
		t->users[i].user = user;
		t->users[i].ns = 0;
	}
	t->users[i].ns = MIN(taken(t, i, now_ns) + ns, MOST_NS);
	t->users[i].at_ns = now_ns;
}

bool quota_time_is_left(struct quota *q, uint64_t user, uint64_t now_ns)
{
	const struct quota_time *t = &q->time;

	for (size_t i = 0; i < QUOTA_TIME_USERS; i++)
		if (t->users[i].ns && t->users[i].user == user)
			return taken(t, i, now_ns) <= AT_ONCE_NS;
	return true;
}
