/* SPDX-License-Identifier: Apache-2.0 */
#include "service/priority.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

#include "service/service.h"
#include "service/session.h"

#define OTHER_MAX 20u
#define FIFO_MIN 1u
#define FIFO_MAX 99u
#define POLICY(name) PB__PRIORITY_BOOST_CONFIG__BOOST_POLICY__POLICY_##name

int priority_check(const Pb__TraceConfig *config, struct err_text *e)
{
	const Pb__PriorityBoostConfig *b = config->priority_boost;

	if (!b || (b->policy == POLICY(SCHED_OTHER) && b->priority <= OTHER_MAX) ||
	    (b->policy == POLICY(SCHED_FIFO) && b->priority >= FIFO_MIN && b->priority <= FIFO_MAX))
		return 0;
	return err_set(e, -EINVAL,
		       "priority_boost: policy %d with priority %u; it must be POLICY_SCHED_OTHER "
		       "with 0 to %u or POLICY_SCHED_FIFO with %u to %u",
		       (int)b->policy, b->priority, OTHER_MAX, FIFO_MIN, FIFO_MAX);
}

static const Pb__PriorityBoostConfig *stronger(const Pb__PriorityBoostConfig *a,
					       const Pb__PriorityBoostConfig *b)
{
	if (!a || !b)
		return a ? a : b;
	if (a->policy != b->policy)
		return a->policy > b->policy ? a : b;
	return a->priority >= b->priority ? a : b;
}

static const Pb__PriorityBoostConfig *strongest(const struct service *s,
						const Pb__TraceConfig *also)
{
	const Pb__PriorityBoostConfig *b = also ? also->priority_boost : NULL;
	const struct session *session;

	TAILQ_FOREACH (session, &s->sessions, link)
		if (session->state != SESSION_CLONED)
			b = stronger(b, session->config->priority_boost);
	return b;
}

/* The nice value first: where it may not be, nothing has changed. */
static int run_as(int policy, int priority, int nice)
{
	const struct sched_param param = {.sched_priority = priority};

	if (setpriority(PRIO_PROCESS, 0, nice) < 0 || sched_setscheduler(0, policy, &param) < 0)
		return -errno;
	return 0;
}

static int save(struct own_priority *own)
{
	struct sched_param param;

	if (own->is_saved)
		return 0;
	own->policy = sched_getscheduler(0);
	if (own->policy < 0 || sched_getparam(0, &param) < 0)
		return -errno;
	own->priority = param.sched_priority;
	errno = 0;
	own->nice = getpriority(PRIO_PROCESS, 0); /* -1 is a good value */
	own->is_saved = errno == 0;
	return -errno;
}

int priority_apply(struct service *s, const Pb__TraceConfig *also)
{
	const Pb__PriorityBoostConfig *b = strongest(s, also);
	struct own_priority *own = &s->own_priority;
	int r;

	if (!b && !own->is_saved)
		return 0;
	r = save(own);
	if (r < 0)
		return r;
	if (!b) {
		own->is_saved = false;
		return run_as(own->policy, own->priority, own->nice);
	}
	if (b->policy == POLICY(SCHED_FIFO))
		return run_as(SCHED_FIFO, (int)b->priority, own->nice);
	return run_as(SCHED_OTHER, 0, -(int)b->priority);
}
