/* SPDX-License-Identifier: Apache-2.0 */
#include "client/loop/event_base_loop.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "client/loop/io_loop.h"

/* The loop's descriptor is readable when one of its own is. The timer is the next deadline, or now
 * if a turn is needed. Tasks wait for the next iteration of the base, so that a client sends the
 * data of one iteration together. */
struct event_base_loop {
	struct io_loop loop;
	struct event *readable; /* owned */
	struct event *timer; /* owned */
	bool turns; /* event_base_loop_run_once() runs; it frees the loop if `freed` is set */
	bool freed; /* event_base_loop_free() was called */
};

static void event_base_loop_wake(void *ctx)
{
	struct event_base_loop *b = ctx;

	if (!b->freed)
		event_timer_us(b->timer, 0);
}

static void event_base_loop_run_once(evutil_socket_t fd, short what, void *ctx)
{
	struct event_base_loop *b = ctx;
	int ms;

	b->turns = true;
	ms = io_loop_run_once(&b->loop);
	b->turns = false;
	if (b->freed) {
		event_base_loop_free(&b->loop);
	} else if (ms < 0) {
		event_del(b->timer);
	} else {
		event_timer_ms(b->timer, (uint64_t)ms);
	}
}

struct io_loop *event_base_loop_new(struct event_base *base)
{
	struct event_base_loop *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	if (io_loop_init_driven(&b->loop, event_base_loop_wake, b) < 0) {
		free(b);
		return NULL;
	}
	b->timer = evtimer_new(base, event_base_loop_run_once, b);
	b->readable =
		event_new(base, b->loop.epoll, EV_READ | EV_PERSIST, event_base_loop_run_once, b);
	if (!b->timer || !b->readable || event_add(b->readable, NULL) < 0) {
		event_base_loop_free(&b->loop);
		return NULL;
	}
	return &b->loop;
}

void event_base_loop_free(struct io_loop *l)
{
	struct event_base_loop *b;

	if (!l)
		return;
	b = container_of(l, struct event_base_loop, loop);
	event_freep(&b->readable);
	event_freep(&b->timer);
	b->freed = true;
	if (b->turns)
		return;
	io_loop_deinit_driven(&b->loop);
	free(b);
}
