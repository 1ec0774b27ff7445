/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timer of CLOCK_MONOTONIC is a libevent timer. A timerfd is needed for two kinds of timers:
 *
 * - those of CLOCK_BOOTTIME, since libevent has no timers of this clock;
 * - long ones: while a timer of libevent is pending, its epoll_wait(2) returns every 35 minutes.
 *
 * The timerfd is created at each start, and closed by stop or when a one-shot timer has fired.
 *
 * libevent counts a timeout from the start of the loop iteration, not from evtimer_add(). Its
 * timers may therefore fire too early. One that fires before due_ns is added again.
 */
#include "base/event_loop/loop_timer.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"

#define LONG_MS (30u * 60 * 1000)

static void arm_until_due(struct loop_timer *t)
{
	uint64_t now = clock_mono_ns();

	event_timer_us(t->event, t->due_ns > now ? (t->due_ns - now + 999) / 1000 : 0);
}

static void start_monotonic_timer(struct loop_timer *t, uint32_t ms)
{
	t->due_ns = clock_mono_ns() + ms * NS_PER_MS;
	arm_until_due(t);
}

static void on_monotonic_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct loop_timer *t = ctx;

	if (clock_mono_ns() < t->due_ns) {
		arm_until_due(t);
		return;
	}
	if (t->period_ms)
		start_monotonic_timer(t, clock_ms_to_tick(t->period_ms));
	t->fire(t->ctx);
}

static void stop_timerfd(struct loop_timer *t)
{
	if (!t->fd_event)
		return;
	event_freep(&t->fd_event);
	close(t->fd);
}

static void on_timerfd(evutil_socket_t fd, short what, void *ctx)
{
	struct loop_timer *t = ctx;
	uint64_t ticks;

	if (read(fd, &ticks, sizeof(ticks)) != (ssize_t)sizeof(ticks))
		return;
	if (!t->period_ms)
		stop_timerfd(t);
	t->fire(t->ctx);
}

static struct timespec timespec_of_ns(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S),
				 .tv_nsec = (long)(ns % NS_PER_S)};
}

/* Returns false if the timerfd or its event cannot be created. first_ns is a time of `clock`. */
static bool start_timerfd(struct loop_timer *t, clockid_t clock, uint64_t first_ns,
			  uint64_t period_ns)
{
	struct itimerspec when = {.it_value = timespec_of_ns(first_ns),
				  .it_interval = timespec_of_ns(period_ns)};
	_cleanup_(closep) int fd = timerfd_create(clock, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
		return false;
	t->fd_event = event_new(t->loop, fd, EV_READ | EV_PERSIST, on_timerfd, t);
	if (!t->fd_event)
		return false;
	if (event_add(t->fd_event, NULL) < 0) {
		event_freep(&t->fd_event);
		return false;
	}
	t->fd = TAKE_FD(fd);
	return true;
}

int loop_timer_init(struct loop_timer *t, struct event_base *loop, void (*fire)(void *ctx),
		    void *ctx)
{
	memset(t, 0, sizeof(*t));
	t->loop = loop;
	t->fire = fire;
	t->ctx = ctx;
	t->event = evtimer_new(loop, on_monotonic_timer, t);
	return t->event ? 0 : -ENOMEM;
}

void loop_timer_stop(struct loop_timer *t)
{
	if (t->event)
		evtimer_del(t->event);
	stop_timerfd(t);
}

void loop_timer_deinit(struct loop_timer *t)
{
	stop_timerfd(t);
	event_freep(&t->event);
}

void loop_timer_once(struct loop_timer *t, uint32_t ms, bool boottime)
{
	clockid_t clock = boottime ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;

	loop_timer_stop(t);
	t->period_ms = 0;
	if ((boottime || ms > LONG_MS) &&
	    start_timerfd(t, clock, clock_ns(clock) + ms * NS_PER_MS, 0))
		return;
	start_monotonic_timer(t, ms);
}

void loop_timer_every(struct loop_timer *t, uint32_t period_ms, bool boottime)
{
	clockid_t clock = boottime ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
	uint64_t period_ns = period_ms * NS_PER_MS;

	loop_timer_stop(t);
	t->period_ms = period_ms;
	if ((boottime || period_ms > LONG_MS) &&
	    start_timerfd(t, clock, (clock_ns(clock) / period_ns + 1) * period_ns, period_ns))
		return;
	start_monotonic_timer(t, clock_ms_to_tick(period_ms));
}
