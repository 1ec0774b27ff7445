/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The library's one thread: a poll(2) loop with descriptors, timers and tasks that other threads
 * post. It blocks all signals. All objects are intrusive, so that only loop_start() allocates.
 * Descriptors and timers are for the loop's thread alone.
 */

struct loop_fd {
	int fd;
	short events; /* POLLIN, POLLOUT; may change at any time */
	void (*fn)(struct loop_fd *f, short revents);
	struct loop_fd *next;
};

struct loop_timer {
	uint64_t deadline; /* CLOCK_MONOTONIC ns */
	bool armed;
	void (*fn)(struct loop_timer *t);
	struct loop_timer *next;
};

struct loop_task {
	void (*fn)(struct loop_task *t);
	struct loop_task *next;
	bool posted;
};

/* Starts the thread. Returns 0, -EALREADY or -errno. */
int loop_start(void);
/* Runs the tasks that were posted, and ends the thread. Not from the loop. */
void loop_stop(void);
bool loop_runs(void);
/* Returns true on the loop's thread. */
bool loop_is_here(void);
/* Around fork(): before it, after it in the parent, and after it in the child, where there is no
 * loop any more and what was posted is forgotten. */
void loop_before_fork(void);
void loop_after_fork(void);
void loop_forget(void);

/* Runs the task on the loop's thread; a task that waits already is not posted twice. Any thread,
 * and before loop_start() too. Tasks run in their order. */
void loop_post(struct loop_task *t);
/* No-op if it is not posted. On the loop's thread, or when there is none. */
void loop_unpost(struct loop_task *t);
/* Posts and waits until the task has run; runs it directly on the loop's thread or if there is
 * none. */
void loop_call(struct loop_task *t);

void loop_add_fd(struct loop_fd *f);
/* No-op if it was not added. */
void loop_remove_fd(struct loop_fd *f);
/* Arms the timer, also if it is armed. */
void loop_arm(struct loop_timer *t, unsigned ms);
/* No-op if it is not armed. */
void loop_disarm(struct loop_timer *t);
