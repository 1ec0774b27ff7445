/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <sys/resource.h>

#include "unit/service/rig.h"
#include "unit/test.h"

/* May this process raise itself? */
static bool is_allowed(void)
{
	int nice = getpriority(PRIO_PROCESS, 0);

	if (setpriority(PRIO_PROCESS, 0, nice - 1) < 0)
		return false;
	setpriority(PRIO_PROCESS, 0, nice);
	return true;
}

#define BOOST(n)                                                                                   \
	"buffers { size_kb: 4 } priority_boost { policy: POLICY_SCHED_OTHER priority: " n " }"

STAGE_TEST(strongest_wish_holds_while_its_session_lives)
{
	struct peer *other = rig_consumer(&g->rig);
	int before = getpriority(PRIO_PROCESS, 0);

	if (!is_allowed())
		skip();
	stage_begin(g, BOOST("3"));
	assert_int_equal(getpriority(PRIO_PROCESS, 0), -3);
	peer_enable(other, BOOST("7"));
	rig_until(&g->rig, rig_session(&g->rig)->id == 2);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), -7);
	rig_hang_up(&g->rig, other);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), -3);
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_FREE, NULL, 0)));
	rig_until(&g->rig, TAILQ_EMPTY(&g->rig.sessions->list));
	assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}

/* The end of what makes way for it does not take its priority away. */
STAGE_TEST(exclusive_session_keeps_its_priority)
{
	struct peer *other = rig_consumer(&g->rig);
	int before = getpriority(PRIO_PROCESS, 0);

	if (geteuid() != 0 || !is_allowed())
		skip();
	stage_begin(g, BOOST("3"));
	peer_enable(other, BOOST("5") " exclusive_prio: 1");
	rig_until(&g->rig, rig_session(&g->rig)->id == 2);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), -5);
	rig_hang_up(&g->rig, other);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
}

/* One that the kernel does not allow is refused, and nothing of it stays. */
STAGE_TEST(what_the_kernel_refuses_is_refused)
{
	if (is_allowed())
		skip();
	assert_true(
		peer_tracing_ended(g->cons, peer_enable(g->cons, BOOST("3")), "priority_boost"));
	assert_true(TAILQ_EMPTY(&g->rig.sessions->list));
}
