/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	|<------- window, 100 ms ------->|<------- window
 *	| SCHED_FIFO ....... | nice -20  | SCHED_FIFO ...
 *	  50 ms of CPU used  ^ or the original priority
 *
 * The CPU time is checked every few ms, between two callbacks of the loop. The kernel sends SIGXCPU
 * if the thread has run with SCHED_FIFO for 200 ms without blocking (RLIMIT_RTTIME).
 */
#include "base/system/priority_boost.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/core/clock.h"

#define LOOK_NS 5000000u
#define RUNAWAY_US 200000u

/* For the signal handler: the original policy of this thread while it has a budget, else -1. */
static _Thread_local volatile sig_atomic_t runaway_policy = -1;

bool priority_boost_is_stronger(struct priority_boost a, struct priority_boost b)
{
	return a.policy != b.policy ? a.policy > b.policy : a.priority > b.priority;
}

/* ---- scheduling of this thread ---- */

static int priority_boost_save(struct priority_boost_state *s)
{
	struct sched_param param;

	s->policy = sched_getscheduler(0);
	if (s->policy < 0 || sched_getparam(0, &param) < 0)
		return -errno;
	s->priority = param.sched_priority;
	errno = 0;
	s->nice = getpriority(PRIO_PROCESS, 0); /* -1 is a valid value */
	return -errno;
}

/* Returns 0, or -errno with nothing changed. */
static int set_scheduling(int policy, int priority, int nice)
{
	const struct sched_param param = {.sched_priority = priority};
	int before = getpriority(PRIO_PROCESS, 0), r;

	if (setpriority(PRIO_PROCESS, 0, nice) < 0)
		return -errno;
	if (sched_setscheduler(0, policy, &param) == 0)
		return 0;
	r = -errno;
	setpriority(PRIO_PROCESS, 0, before);
	return r;
}

static int set_boosted_nice(void)
{
	return set_scheduling(SCHED_OTHER, 0, -(int)PRIORITY_BOOST_OTHER_MAX);
}

static int restore_scheduling(const struct priority_boost_state *s)
{
	return set_scheduling(s->policy, s->priority, s->nice);
}

/* ---- the budget ---- */

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static bool is_real_time(int policy)
{
	return policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE;
}

static void begin_window(struct priority_boost_state *s, uint64_t now)
{
	s->window_ns = now;
	s->window_cpu_ns = cpu_ns();
	s->window_ordinary_ns = s->ordinary_ns;
	s->spent = false;
}

static int set_budgeted_fifo(struct priority_boost_state *s, uint32_t priority)
{
	int r;

	s->fifo_priority = (int)priority;
	r = set_scheduling(SCHED_FIFO, s->fifo_priority, s->nice);
	/* The administrator may have started this process as a real-time task: it has no budget. */
	s->has_budget = r == 0 && !is_real_time(s->policy);
	begin_window(s, clock_mono_ns());
	return r;
}

static void on_runaway(int signal_number)
{
	const struct sched_param param = {0};
	int error = errno, policy = (int)runaway_policy;

	if (policy >= 0)
		sched_setscheduler(0, policy, &param);
	errno = error;
}

void priority_boost_init(void)
{
	struct sigaction action = {.sa_handler = on_runaway, .sa_flags = SA_RESTART};
	struct rlimit l;

	if (getrlimit(RLIMIT_RTTIME, &l) < 0 || sigaction(SIGXCPU, &action, NULL) < 0)
		return;
	if (l.rlim_cur > RUNAWAY_US) {
		l.rlim_cur = RUNAWAY_US;
		setrlimit(RLIMIT_RTTIME, &l);
	}
}

void priority_boost_tick(struct priority_boost_state *s)
{
	static const struct timespec least = {.tv_nsec = 1};
	uint64_t now;

	if (!s->has_budget)
		return;
	now = clock_mono_ns();
	if (now - s->looked_ns < LOOK_NS)
		return;
	s->looked_ns = now;
	if (now - s->window_ns >= PRIORITY_BOOST_WINDOW_NS) {
		/* Nothing else restores the priority after on_runaway() lowered it. */
		set_scheduling(SCHED_FIFO, s->fifo_priority, s->nice);
		/* RLIMIT_RTTIME counts CPU time since the thread last blocked. A loop that always
		 * has work may keep to its budget for many windows without blocking; this call
		 * prevents a SIGXCPU for it. */
		if (cpu_ns() - s->window_cpu_ns >= PRIORITY_BOOST_BUDGET_NS / 2)
			(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &least, NULL);
		begin_window(s, now);
	} else if (!s->spent && cpu_ns() - s->window_cpu_ns >= PRIORITY_BOOST_BUDGET_NS) {
		s->spent = true;
		if (s->ordinary_ns - s->window_ordinary_ns >= PRIORITY_BOOST_BUDGET_NS / 2 ||
		    set_boosted_nice() < 0)
			restore_scheduling(s);
	}
}

void priority_boost_yield(void)
{
	if (runaway_policy >= 0)
		(void)set_boosted_nice();
}

/* ---- the boost ---- */

int priority_boost_apply(struct priority_boost_state *s, struct priority_boost boost)
{
	struct priority_boost_state before = *s;
	int r = 0;

	if (boost.policy == s->now.policy && boost.priority == s->now.priority)
		return 0;
	if (!s->active)
		r = priority_boost_save(s);
	if (r < 0)
		return r;
	s->has_budget = false;
	switch (boost.policy) {
	case PRIORITY_BOOST_FIFO:
		r = set_budgeted_fifo(s, boost.priority);
		break;
	case PRIORITY_BOOST_BUDGETED:
		if (is_real_time(s->policy))
			r = restore_scheduling(s);
		else if (set_budgeted_fifo(s, PRIORITY_BOOST_FIFO_MIN) < 0)
			r = set_boosted_nice();
		break;
	case PRIORITY_BOOST_OTHER:
		/* Priority 0 requests no boost, so the nice value of the start applies: a user may
		 * not lower one that nice(1) has set. */
		r = set_scheduling(SCHED_OTHER, 0, boost.priority ? -(int)boost.priority : s->nice);
		break;
	case PRIORITY_BOOST_NONE:
		r = restore_scheduling(s);
		break;
	}
	if (r < 0 && boost.policy != PRIORITY_BOOST_NONE) {
		*s = before;
	} else {
		s->now = boost;
		s->active = boost.policy != PRIORITY_BOOST_NONE;
	}
	runaway_policy = s->has_budget ? s->policy : -1;
	return r;
}

struct priority_boost_words priority_boost_describe_current(void)
{
	struct sched_param param = {0};
	int policy = sched_getscheduler(0);
	struct priority_boost_words w;

	sched_getparam(0, &param);
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		snprintf(w.text, sizeof(w.text), "%s %d",
			 policy == SCHED_FIFO ? "SCHED_FIFO" : "SCHED_RR", param.sched_priority);
	else
		snprintf(w.text, sizeof(w.text), "nice %d", getpriority(PRIO_PROCESS, 0));
	return w;
}
