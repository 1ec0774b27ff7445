/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The loop of a client: descriptors, timers, and tasks that other threads post. It runs on a thread
 * of its own (libsonda), or inside the event loop of a program, which has one descriptor to poll
 * and one deadline (client/loop/event_base_loop.h). The lists are intrusive: only the thread is
 * allocated. Functions for descriptors and timers are for the loop's thread only.
 */

struct io_fd {
	int fd;
	uint32_t events; /* EPOLLIN, EPOLLOUT; changed by io_set_events() */
	void (*fn)(struct io_fd *f, uint32_t events);
	struct io_fd *next;
};

struct io_timer {
	uint64_t deadline; /* CLOCK_MONOTONIC ns */
	bool armed;
	void (*fn)(struct io_timer *t);
	struct io_timer *next;
};

struct io_task {
	void (*fn)(struct io_task *t);
	struct io_task *next;
	bool posted;
};

/* Descriptors and timers are used by the loop's thread only; the lock guards the other fields. */
struct io_loop {
	pthread_mutex_t lock;
	pthread_cond_t ran; /* a task has run, for io_call() */
	struct io_task *first, **last; /* posted tasks; last NULL: none was posted yet */
	bool runs, ends; /* the thread */
	pthread_t thread;
	int wake_fd; /* owned: eventfd of the thread; -1: none */
	int epoll; /* owned; -1: the loop does not run */
	struct io_fd *fds;
	struct io_timer *timers;
	void (*wake)(void *ctx); /* a driven loop: requests a turn soon */
	void *ctx;
};

#define IO_LOOP_INIT                                                                               \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER, .ran = PTHREAD_COND_INITIALIZER, .wake_fd = -1, \
		.epoll = -1                                                                        \
	}

/* ---- on a thread of its own; all signals except SIGSYS are blocked ---- */

/* Starts the thread. Returns 0, -EALREADY or -errno. */
int io_loop_start(struct io_loop *l, const char *name);
/* Runs the posted tasks, and ends the thread. No-op on the loop's thread. */
void io_loop_stop(struct io_loop *l);
bool io_loop_runs(struct io_loop *l);
/* Returns true on the loop's thread. */
bool io_loop_is_current(const struct io_loop *l);
/* Call these around fork(). The child has no loop, and its posted tasks are dropped. */
void io_loop_before_fork(struct io_loop *l);
void io_loop_after_fork_in_parent(struct io_loop *l);
void io_loop_after_fork_in_child(struct io_loop *l);

/* ---- driven by a program's own loop, on its thread ---- */

/* wake: called when a turn is needed, from any function of the loop. Returns 0 or -errno. */
int io_loop_init_driven(struct io_loop *l, void (*wake)(void *ctx), void *ctx);
void io_loop_deinit_driven(struct io_loop *l);
/* Handles what is due, without waiting. Call when the descriptor l->epoll is readable, after a
 * wake, and at the deadline. Returns the milliseconds until the deadline, or -1 if no timer is
 * armed. A callback may deinit the loop; its memory must stay valid until the return. */
int io_loop_run_once(struct io_loop *l);

/* ---- for both ---- */

/* Runs the task on the loop's thread. No-op if it is posted already. Tasks run in the order of
 * their posts. Any thread, even before the start. */
void io_post(struct io_loop *l, struct io_task *t);
/* Removes a posted task. No-op if it is not posted. For the loop's thread, or if there is none. */
void io_remove_posted(struct io_loop *l, struct io_task *t);
/* Runs the task on the loop's thread, and waits until it has run. Runs it directly if the caller is
 * that thread or there is none. */
void io_call(struct io_loop *l, struct io_task *t);

/* Adds a descriptor. Returns 0 or -errno. */
int io_watch(struct io_loop *l, struct io_fd *f);
/* No-op if it was not added. */
void io_unwatch(struct io_loop *l, struct io_fd *f);
/* Changes the events to wait for. f must have been added. */
void io_set_events(struct io_loop *l, struct io_fd *f, uint32_t events);
/* Arms or re-arms the timer. */
void io_timer_arm(struct io_loop *l, struct io_timer *t, unsigned ms);
/* No-op if it is not armed. */
void io_timer_disarm(struct io_loop *l, struct io_timer *t);
