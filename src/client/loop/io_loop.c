/* SPDX-License-Identifier: Apache-2.0 */
#include "client/loop/io_loop.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/core/cancel.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/thread.h"

#define FDS_OF_TURN 16 /* others are ready in the next turn */

static __thread const struct io_loop *here;

bool io_loop_is_current(const struct io_loop *l)
{
	return here == l;
}

bool io_loop_runs(struct io_loop *l)
{
	bool runs;

	pthread_mutex_lock(&l->lock);
	runs = l->runs;
	pthread_mutex_unlock(&l->lock);
	return runs;
}

static void io_loop_wake(struct io_loop *l)
{
	NO_CANCEL();
	uint64_t one = 1;

	if (l->wake)
		l->wake(l->ctx);
	else if (l->wake_fd >= 0)
		(void)!write(l->wake_fd, &one, sizeof(one));
}

/* ---- descriptors and timers ---- */

int io_watch(struct io_loop *l, struct io_fd *f)
{
	struct epoll_event e = {.events = f->events, .data.ptr = f};

	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, f->fd, &e) < 0)
		return -errno;
	f->next = l->fds;
	l->fds = f;
	return 0;
}

void io_unwatch(struct io_loop *l, struct io_fd *f)
{
	for (struct io_fd **p = &l->fds; *p; p = &(*p)->next)
		if (*p == f) {
			*p = f->next;
			epoll_ctl(l->epoll, EPOLL_CTL_DEL, f->fd, NULL);
			return;
		}
}

void io_set_events(struct io_loop *l, struct io_fd *f, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = f};

	if (events == f->events)
		return;
	f->events = events;
	epoll_ctl(l->epoll, EPOLL_CTL_MOD, f->fd, &e);
}

void io_timer_disarm(struct io_loop *l, struct io_timer *t)
{
	for (struct io_timer **p = &l->timers; *p; p = &(*p)->next)
		if (*p == t) {
			*p = t->next;
			break;
		}
	t->armed = false;
}

void io_timer_arm(struct io_loop *l, struct io_timer *t, unsigned ms)
{
	io_timer_disarm(l, t);
	t->deadline = clock_mono_ns() + ms * NS_PER_MS;
	t->armed = true;
	t->next = l->timers;
	l->timers = t;
	if (l->wake)
		l->wake(l->ctx);
}

/* Runs the timers that are due. Returns the milliseconds until the next one, or -1. */
static int run_timers(struct io_loop *l)
{
	uint64_t now = clock_mono_ns(), next = UINT64_MAX;
	struct io_timer *t = l->timers;

	while (t) {
		if (t->deadline > now) {
			t = t->next;
			continue;
		}
		io_timer_disarm(l, t);
		t->fn(t);
		t = l->timers; /* fn may have changed the list */
	}
	for (t = l->timers; t; t = t->next)
		next = MIN(next, t->deadline);
	if (next == UINT64_MAX)
		return -1;
	now = clock_mono_ns();
	return next <= now ? 0 : (int)MIN((next - now) / NS_PER_MS + 1, 1000000u);
}

static bool fd_is_watched(const struct io_loop *l, const struct io_fd *f)
{
	for (const struct io_fd *i = l->fds; i; i = i->next)
		if (i == f)
			return true;
	return false;
}

static void wait_for_fds(struct io_loop *l, int timeout_ms)
{
	struct epoll_event ready[FDS_OF_TURN];
	int n = epoll_wait(l->epoll, ready, ARRAY_SIZE(ready), timeout_ms);
	uint64_t count;

	for (int i = 0; i < n; i++) {
		struct io_fd *f = ready[i].data.ptr;

		if (!f)
			(void)!read(l->wake_fd, &count, sizeof(count));
		else if (fd_is_watched(l, f)) /* a function before it may have removed it */
			f->fn(f, ready[i].events);
	}
}

/* ---- tasks ---- */

static void run_tasks(struct io_loop *l)
{
	struct io_task *t;

	pthread_mutex_lock(&l->lock);
	while ((t = l->first)) {
		l->first = t->next;
		if (!l->first)
			l->last = &l->first;
		t->posted = false;
		pthread_mutex_unlock(&l->lock);
		t->fn(t); /* may free t */
		pthread_mutex_lock(&l->lock);
	}
	pthread_mutex_unlock(&l->lock);
}

/* Appends a task, unless it is posted already, and wakes the loop. Call it with l->lock held. */
static void io_loop_append(struct io_loop *l, struct io_task *t)
{
	if (t->posted)
		return;
	if (!l->last)
		l->last = &l->first;
	t->posted = true;
	t->next = NULL;
	*l->last = t;
	l->last = &t->next;
	io_loop_wake(l);
}

void io_post(struct io_loop *l, struct io_task *t)
{
	pthread_mutex_lock(&l->lock);
	io_loop_append(l, t);
	pthread_mutex_unlock(&l->lock);
}

void io_remove_posted(struct io_loop *l, struct io_task *t)
{
	pthread_mutex_lock(&l->lock);
	if (t->posted) {
		struct io_task **p = &l->first;

		while (*p != t)
			p = &(*p)->next;
		*p = t->next;
		if (!t->next)
			l->last = p;
		t->posted = false;
	}
	pthread_mutex_unlock(&l->lock);
}

/* A task that io_call() has posted, on the stack of the thread that waits for it. */
struct io_waited_call {
	struct io_task task;
	struct io_loop *loop;
	struct io_task *inner; /* borrowed: the task of the caller */
	bool done; /* guarded by the lock of the loop */
};

static void run_call_of_waiting_thread(struct io_task *t)
{
	struct io_waited_call *c = container_of(t, struct io_waited_call, task);
	struct io_loop *l = c->loop;

	c->inner->fn(c->inner);
	pthread_mutex_lock(&l->lock);
	c->done = true;
	pthread_cond_broadcast(&l->ran);
	pthread_mutex_unlock(&l->lock);
}

void io_call(struct io_loop *l, struct io_task *t)
{
	NO_CANCEL();
	struct io_waited_call c = {
		.task = {.fn = run_call_of_waiting_thread}, .loop = l, .inner = t};

	pthread_mutex_lock(&l->lock);
	if (here == l || !l->runs) {
		pthread_mutex_unlock(&l->lock);
		t->fn(t);
		return;
	}
	io_loop_append(l, &c.task);
	while (!c.done)
		pthread_cond_wait(&l->ran, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

/* ---- the thread ---- */

static bool io_loop_should_end(struct io_loop *l)
{
	bool ends;

	pthread_mutex_lock(&l->lock);
	ends = l->ends && !l->first;
	pthread_mutex_unlock(&l->lock);
	return ends;
}

static void *io_loop_run(void *arg)
{
	struct io_loop *l = arg;

	here = l;
	for (;;) {
		run_tasks(l);
		if (io_loop_should_end(l))
			return NULL;
		wait_for_fds(l, run_timers(l));
	}
}

/* Opens the descriptors and starts the thread. Returns 0 or -errno. On failure the caller closes
 * them. */
static int io_loop_begin(struct io_loop *l, const char *name)
{
	struct epoll_event e = {.events = EPOLLIN};
	int r;

	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->epoll < 0 || l->wake_fd < 0 ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake_fd, &e) < 0)
		return -errno;
	r = thread_start(&l->thread, 0, io_loop_run, l);
	if (r == 0)
		pthread_setname_np(l->thread, name);
	return r;
}

int io_loop_start(struct io_loop *l, const char *name)
{
	NO_CANCEL();
	int r = -EALREADY;

	pthread_mutex_lock(&l->lock);
	if (!l->runs) {
		l->ends = false;
		l->runs = true; /* before the thread can get the lock */
		r = io_loop_begin(l, name);
		if (r < 0) {
			closep(&l->wake_fd);
			closep(&l->epoll);
			l->runs = false;
		}
	}
	pthread_mutex_unlock(&l->lock);
	return r;
}

void io_loop_stop(struct io_loop *l)
{
	NO_CANCEL();
	pthread_mutex_lock(&l->lock);
	if (!l->runs || here == l) {
		pthread_mutex_unlock(&l->lock);
		return;
	}
	l->ends = true;
	io_loop_wake(l);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	pthread_mutex_lock(&l->lock);
	closep(&l->wake_fd);
	closep(&l->epoll);
	l->runs = false;
	pthread_mutex_unlock(&l->lock);
	run_tasks(l); /* tasks that were posted after the thread's last check */
}

void io_loop_before_fork(struct io_loop *l)
{
	pthread_mutex_lock(&l->lock);
}

void io_loop_after_fork_in_parent(struct io_loop *l)
{
	pthread_mutex_unlock(&l->lock);
}

void io_loop_after_fork_in_child(struct io_loop *l)
{
	/* The descriptor is closed without EPOLL_CTL_DEL, because the parent has the same epoll
	 * instance. */
	closep(&l->wake_fd);
	closep(&l->epoll);
	for (struct io_task *t = l->first; t; t = t->next)
		t->posted = false;
	*l = (struct io_loop)IO_LOOP_INIT;
	here = NULL;
}

/* ---- driven ---- */

int io_loop_init_driven(struct io_loop *l, void (*wake)(void *ctx), void *ctx)
{
	*l = (struct io_loop)IO_LOOP_INIT;
	l->wake = wake;
	l->ctx = ctx;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	return l->epoll < 0 ? -errno : 0;
}

void io_loop_deinit_driven(struct io_loop *l)
{
	closep(&l->epoll);
}

int io_loop_run_once(struct io_loop *l)
{
	int ms;

	wait_for_fds(l, 0);
	run_tasks(l);
	ms = run_timers(l);
	return l->first ? 0 : ms;
}
