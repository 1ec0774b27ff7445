/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop handles no other event while urgent ones are due. So after each batch of accepts the
 * sockets of an urgent host pause, until all other due events are handled, or have had as much time
 * as the batch took:
 *
 *	accept 16 --> pause --+-- others_ran: the other events are handled ----+--> resume
 *	                      +-- resume: they had as much time as the batch --+
 */
#include "service/ipc/listeners.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/sock.h"

#define ACCEPTS_AT_ONCE 16
#define FAILURE_PAUSE_NS (200 * NS_PER_MS)
#define LEAST_PAUSE_NS (NS_PER_MS / 5)

struct listener {
	LIST_ENTRY(listener) link;
	struct listeners *all; /* borrowed: it owns us */
	struct event *readable; /* owned */
	int fd; /* owned */
	const struct ipc_entrance *entrance; /* borrowed */
};

static void pause_all(struct listeners *l, uint64_t ns)
{
	struct listener *one;

	LIST_FOREACH (one, &l->list, link)
		event_del(one->readable);
	/* Makes the timer start now, not at the start of this loop iteration. */
	(void)event_base_update_cache_time(l->loop);
	event_timer_us(l->resume, ns / 1000);
}

static void on_resume(evutil_socket_t fd, short what, void *ctx)
{
	struct listeners *l = ctx;
	struct listener *one;

	(void)fd, (void)what;
	event_del(l->resume);
	event_del(l->others_ran);
	LIST_FOREACH (one, &l->list, link)
		event_add(one->readable, NULL);
}

/* Returns 0, or -errno if a connection waits that cannot be accepted. */
static int accept_waiting(struct listener *one)
{
	int fd, r;

	for (unsigned i = 0; i < ACCEPTS_AT_ONCE; i++) {
		r = sock_accept(one->fd, &fd);
		if (r < 0)
			return r == -EAGAIN ? 0 : r;
		one->all->on_connection(one->all->ctx, fd, one->entrance);
	}
	return 0;
}

static void on_acceptable(evutil_socket_t fd, short what, void *ctx)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct listener *one = ctx;
	struct listeners *l = one->all;
	int r = accept_waiting(one);

	(void)fd, (void)what;
	if (r < 0) {
		/* The kernel keeps reporting that a peer waits. */
		l->on_failure(l->ctx, r);
		pause_all(l, FAILURE_PAUSE_NS);
	} else if (l->is_urgent) {
		pause_all(l, MAX(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin, LEAST_PAUSE_NS));
		event_active(l->others_ran, EV_TIMEOUT, 0);
	}
}

static void listener_free(struct listener *one)
{
	event_freep(&one->readable);
	closep(&one->fd);
	free(one);
}

int listeners_add(struct listeners *l, int taken_fd, const struct ipc_entrance *entrance)
{
	_cleanup_(closep) int fd = taken_fd;
	struct listener *one = calloc(1, sizeof(*one));

	if (!one)
		return -ENOMEM;
	one->all = l;
	one->fd = TAKE_FD(fd);
	one->entrance = entrance;
	one->readable = event_new(l->loop, one->fd, EV_READ | EV_PERSIST, on_acceptable, one);
	if (one->readable && l->is_urgent)
		(void)event_priority_set(one->readable, 0);
	if (!one->readable || event_add(one->readable, NULL) < 0) {
		listener_free(one);
		return -ENOMEM;
	}
	LIST_INSERT_HEAD(&l->list, one, link);
	return 0;
}

int listeners_init(struct listeners *l)
{
	LIST_INIT(&l->list);
	l->resume = evtimer_new(l->loop, on_resume, l);
	l->others_ran = evtimer_new(l->loop, on_resume, l);
	if (!l->resume || !l->others_ran) {
		listeners_deinit(l);
		return -ENOMEM;
	}
	if (l->is_urgent)
		(void)event_priority_set(l->resume, 0);
	return 0;
}

void listeners_deinit(struct listeners *l)
{
	struct listener *one;

	while ((one = LIST_FIRST(&l->list))) {
		LIST_REMOVE(one, link);
		listener_free(one);
	}
	event_freep(&l->resume);
	event_freep(&l->others_ran);
}
