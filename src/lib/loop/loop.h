/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The library's thread: a poll(2) loop with descriptors, timers and tasks that other threads post.
 * All signals are blocked. The lists are intrusive, so that only loop_start() allocates. Functions
 * for descriptors and timers are for the loop's thread only.
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
/* Runs the posted tasks, and ends the thread. No-op on the loop's thread. */
void loop_stop(void);
bool loop_runs(void);
/* Returns true on the loop's thread. */
bool loop_is_here(void);
/* Around fork(): before it, after it in the parent, and after it in the child. The child has no
 * loop, and its posted tasks are dropped. */
void loop_before_fork(void);
void loop_after_fork(void);
void loop_forget(void);

/* Runs the task on the loop's thread. No-op if it is posted already. Tasks run in the order of
 * their posts. Any thread, also before loop_start(). */
void loop_post(struct loop_task *t);
/* Removes a posted task. No-op if it is not posted. For the loop's thread, or if there is none. */
void loop_unpost(struct loop_task *t);
/* Runs the task on the loop's thread, and waits for that. Runs it directly if the caller is that
 * thread or there is none. */
void loop_call(struct loop_task *t);

/* The loop polls at most 64 descriptors: the last ones that were added. */
void loop_add_fd(struct loop_fd *f);
/* No-op if it was not added. */
void loop_remove_fd(struct loop_fd *f);
/* Arms the timer, or arms it again. */
void loop_arm(struct loop_timer *t, unsigned ms);
/* No-op if it is not armed. */
void loop_disarm(struct loop_timer *t);
