/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Scheduling priority of the threads that run the event loop or write files. Each thread has its
 * own state; the budget is in CPU time of the process, so all threads together keep to one budget.
 *
 * SCHED_FIFO has a budget of half of one CPU: after 50 ms of CPU time within a window of 100 ms the
 * threads run with nice -20 for the rest of the window and share the CPU with others. (With the
 * original priority they might not run at all, and would not notice the end of the window.) They
 * run with the original priority if half of the budget went into work that should not be boosted
 * (ordinary_ns). A thread whose callback does not return loses SCHED_FIFO by RLIMIT_RTTIME.
 *
 * PRIORITY_BOOST_BUDGETED is for work that must be done in time on a busy machine. It is SCHED_FIFO
 * with the lowest priority, so any other real-time task is preferred.
 */
enum priority_boost_policy {
	PRIORITY_BOOST_NONE,
	PRIORITY_BOOST_OTHER, /* the usual policy; priority 0 to 20, as nice 0 to -20 */
	PRIORITY_BOOST_BUDGETED, /* priority is ignored */
	PRIORITY_BOOST_FIFO, /* real time; priority 1 to 99 */
};

struct priority_boost {
	enum priority_boost_policy policy;
	uint32_t priority;
};

#define PRIORITY_BOOST_OTHER_MAX 20u
#define PRIORITY_BOOST_FIFO_MIN 1u
#define PRIORITY_BOOST_FIFO_MAX 99u

#define PRIORITY_BOOST_WINDOW_NS 100000000u
#define PRIORITY_BOOST_BUDGET_NS 50000000u /* CPU time in a window */

bool priority_boost_is_stronger(struct priority_boost a, struct priority_boost b);

/* The current and the original scheduling of a thread. Zero-initialise. */
struct priority_boost_state {
	bool active; /* the next three hold the original settings */
	int policy;
	int priority; /* priority of a real-time policy */
	int nice;
	struct priority_boost now;
	int fifo_priority; /* of SCHED_FIFO */
	bool has_budget; /* SCHED_FIFO while it lasts */
	bool spent; /* until the window is over */
	uint64_t ordinary_ns; /* time of work that should not be boosted; the caller adds to it */
	uint64_t window_ordinary_ns; /* ordinary_ns at the start of the window */
	uint64_t looked_ns; /* last check of the CPU time, CLOCK_MONOTONIC */
	uint64_t window_ns; /* start of the window, CLOCK_MONOTONIC */
	uint64_t window_cpu_ns; /* CPU time of the process at the start of the window */
};

/* Lowers RLIMIT_RTTIME of this process, and handles its signal (SIGXCPU). Call it before the
 * process drops its privileges. */
void priority_boost_init(void);

/*
 * Applies boost to the calling thread. PRIORITY_BOOST_NONE restores the original settings. If
 * real-time scheduling is not allowed, PRIORITY_BOOST_BUDGETED is nice -20. PRIORITY_BOOST_BUDGETED
 * does not change a thread that was real-time originally. For such a thread PRIORITY_BOOST_FIFO has
 * no budget.
 *
 * Returns 0, or -errno (-EPERM, -EACCES) with nothing changed. Only PRIORITY_BOOST_NONE ends the
 * boost in *s even if the kernel refuses to restore the settings, as it does if the boost was below
 * the original settings and the thread lacks the right to raise them. The thread keeps its current
 * settings, and the next call saves them as the original ones. The next boost therefore needs no
 * right to return to the former settings.
 */
int priority_boost_apply(struct priority_boost_state *s, struct priority_boost boost);

/* Enforces the budget. Call it in each iteration of the thread's loop; it reads the clock. */
void priority_boost_tick(struct priority_boost_state *s);

/* Lowers SCHED_FIFO with a budget to nice -20 until the next window. Call it before work that takes
 * long without a tick, such as loading a BPF program: other threads of the CPU then run, too. Does
 * nothing in a thread without a budget. */
void priority_boost_yield(void);

/* Returns the scheduling of the calling thread, for display: "SCHED_FIFO 1", "nice -20". */
struct priority_boost_words {
	char text[32];
};
struct priority_boost_words priority_boost_describe_current(void);
