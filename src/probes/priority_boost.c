/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/priority_boost.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

static int save(struct priority_boost *p)
{
	struct sched_param param;

	p->policy = sched_getscheduler(0);
	if (p->policy < 0 || sched_getparam(0, &param) < 0)
		return -errno;
	p->priority = param.sched_priority;
	errno = 0;
	p->nice = getpriority(PRIO_PROCESS, 0); /* -1 is a good value */
	return -errno;
}

static int run_as(int policy, int priority, int nice)
{
	const struct sched_param param = {.sched_priority = priority};

	/* The nice value first: if it may not be, nothing has changed. */
	if (setpriority(PRIO_PROCESS, 0, nice) < 0 || sched_setscheduler(0, policy, &param) < 0)
		return -errno;
	return 0;
}

int priority_boost_apply(struct priority_boost *p, struct boost boost)
{
	struct priority_boost before = *p;
	int r = 0;

	if (!before.active && boost.policy != BOOST_NONE)
		r = save(&before);
	if (r < 0)
		return r;
	switch (boost.policy) {
	case BOOST_FIFO:
		r = run_as(SCHED_FIFO, (int)boost.priority, before.nice);
		break;
	case BOOST_OTHER:
		r = run_as(SCHED_OTHER, 0, -(int)boost.priority);
		break;
	case BOOST_NONE:
		r = before.active ? run_as(before.policy, before.priority, before.nice) : 0;
		before.active = false;
		*p = before;
		return r;
	}
	before.active = before.active || r == 0;
	*p = before;
	return r;
}
