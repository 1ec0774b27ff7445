/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include <event2/event.h>

/* Start a timer of libevent, which is one-shot (evtimer_new()) or periodic (EV_PERSIST); each start
 * replaces the previous one. Return 0, or -1 if memory runs out. The timer may fire early, by as
 * much as the current loop iteration has taken so far. The timers of base/event_loop/loop_timer.h
 * never fire early, tick at multiples of the period, and support CLOCK_BOOTTIME. */
static inline int event_timer_us(struct event *timer, uint64_t us)
{
	const struct timeval after = {.tv_sec = (time_t)(us / 1000000),
				      .tv_usec = (suseconds_t)(us % 1000000)};

	return event_add(timer, &after);
}

static inline int event_timer_ms(struct event *timer, uint64_t ms)
{
	return event_timer_us(timer, ms * 1000);
}

/* Starts the timer for the next loop iteration, unless it is already started. Unlike
 * event_active(), which would run before them, it lets due timers and ready sockets go first. */
static inline int event_timer_soon(struct event *timer)
{
	return evtimer_pending(timer, NULL) ? 0 : event_timer_us(timer, 0);
}
