/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * How urgently a thread runs: that of a process's loop, and those that write its files. Each has a state of
 * its own; the CPU time of their budgets is that of the process, so all threads together keep to one budget.
 *
 * PRIORITY_BOOST_BUDGETED is for work that has to be done in time on a machine whose CPUs are busy: SCHED_FIFO
 * with the least priority, so that any other real-time task comes first, for half of the time of one
 * CPU. Of each 100 ms in which the process has used 50 ms of CPU, the rest it runs with nice -20: it
 * shares the CPU with the others then. As it was found it would not run at all on such a machine, nor
 * notice that the 100 ms are over. A callback that does not end is cut off by RLIMIT_RTTIME.
 */
enum priority_boost_policy {
	PRIORITY_BOOST_NONE,
	PRIORITY_BOOST_OTHER, /* the usual policy; priority 0 to 20, as nice 0 to -20 */
	PRIORITY_BOOST_BUDGETED, /* its priority means nothing */
	PRIORITY_BOOST_FIFO, /* real time without a budget; priority 1 to 99 */
};

struct priority_boost {
	enum priority_boost_policy policy;
	uint32_t priority;
};

#define PRIORITY_BOOST_OTHER_MAX 20u
#define PRIORITY_BOOST_FIFO_MIN 1u
#define PRIORITY_BOOST_FIFO_MAX 99u

#define PRIORITY_BOOST_WINDOW_NS 100000000u
#define PRIORITY_BOOST_BUDGET_NS 50000000u /* of CPU time in a window */

bool priority_boost_is_stronger(struct priority_boost a, struct priority_boost b);

/* What the calling thread runs as, and ran as before. Zero-initialise. */
struct priority_boost_state {
	bool active; /* the next three are what was before */
	int policy;
	int priority; /* of a real-time policy */
	int nice;
	struct priority_boost now;
	bool has_budget; /* SCHED_FIFO while it lasts */
	bool spent; /* until the window is over: nice -20 */
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
	uint64_t window_ns; /* where the window begins, */
	uint64_t window_cpu_ns; /* and the CPU time of the process then */
};

/* Before the process gives up its rights: cuts off what does not end. */
void priority_boost_init(void);

/* PRIORITY_BOOST_NONE: as before the first. Returns 0, or -errno (-EPERM, -EACCES): it runs on as it did. Where real
 * time is not allowed, PRIORITY_BOOST_BUDGETED is nice -20; a process that was found in real time stays as it
 * is. */
int priority_boost_apply(struct priority_boost_state *s, struct priority_boost boost);

/* In each round of the thread's loop: keeps to the budget. Costs a look at the clock. */
void priority_boost_tick(struct priority_boost_state *s);

/* What the calling thread runs as now, for display: "SCHED_FIFO 1", "nice -20". */
struct priority_boost_words {
	char text[32];
};
struct priority_boost_words priority_boost_now(void);
