/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event;
struct event_base;

/*
 * A timer on the event loop, one-shot or periodic. Periodic timers fire at multiples of the period
 * since the clock's zero, so that the ticks of all sessions coincide.
 *
 * The clock is CLOCK_MONOTONIC, which stops during suspend, or CLOCK_BOOTTIME, which does not. If a
 * timerfd of CLOCK_BOOTTIME cannot be created, CLOCK_MONOTONIC is used. A loop whose timers are all
 * longer than half an hour does not wake up before one is due.
 */
struct loop_timer {
	struct event_base *loop; /* borrowed */
	void (*fire)(void *ctx);
	void *ctx;
	struct event *event; /* owned */
	struct event *fd_event; /* owned; NULL: no timerfd is used */
	int fd; /* owned; a timerfd, valid while fd_event is set */
	uint32_t period_ms; /* 0: once */
	uint64_t due_ns; /* of CLOCK_MONOTONIC */
};

/* Returns 0 or -ENOMEM. deinit may be called on zeroed memory, and twice. */
int loop_timer_init(struct loop_timer *t, struct event_base *loop, void (*fire)(void *ctx),
		    void *ctx);
void loop_timer_deinit(struct loop_timer *t);

/* Each start replaces the previous one. period_ms is above 0. fire is called from the loop, never
 * from inside a start, and may start, stop or deinit the timer. */
void loop_timer_once(struct loop_timer *t, uint32_t ms, bool boottime);
void loop_timer_every(struct loop_timer *t, uint32_t period_ms, bool boottime);
void loop_timer_stop(struct loop_timer *t);
