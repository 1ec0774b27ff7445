/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/loop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/core/cancel.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/thread.h"

#define FEW_FDS 16 /* for these there is always room */

/* The process has one loop. Descriptors and timers are used by its thread only; the lock guards the
 * other fields. */
static struct loop {
	pthread_mutex_t lock;
	pthread_cond_t ran; /* a task has run, for loop_call() */
	struct loop_task *first, **last; /* posted tasks; last NULL: not initialised */
	bool runs, ends;
	pthread_t thread;
	int wake; /* eventfd; while runs */
	struct loop_fd *fds;
	struct loop_timer *timers;
	struct pollfd *polled; /* owned: the argument of poll(2); the first one is wake */
	struct loop_fd **watched; /* owned; watched[i] is the descriptor of polled[i + 1] */
	size_t polled_cap, watched_cap;
} loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .ran = PTHREAD_COND_INITIALIZER, .wake = -1};

static __thread bool is_here;

bool loop_is_here(void)
{
	return is_here;
}

bool loop_runs(void)
{
	bool runs;

	pthread_mutex_lock(&loop.lock);
	runs = loop.runs;
	pthread_mutex_unlock(&loop.lock);
	return runs;
}

/* ---- descriptors and timers ---- */

void loop_add_fd(struct loop_fd *f)
{
	f->next = loop.fds;
	loop.fds = f;
}

void loop_remove_fd(struct loop_fd *f)
{
	for (struct loop_fd **p = &loop.fds; *p; p = &(*p)->next)
		if (*p == f) {
			*p = f->next;
			return;
		}
}

void loop_disarm(struct loop_timer *t)
{
	for (struct loop_timer **p = &loop.timers; *p; p = &(*p)->next)
		if (*p == t) {
			*p = t->next;
			break;
		}
	t->armed = false;
}

void loop_arm(struct loop_timer *t, unsigned ms)
{
	loop_disarm(t);
	t->deadline = clock_mono_ns() + ms * NS_PER_MS;
	t->armed = true;
	t->next = loop.timers;
	loop.timers = t;
}

/* Runs the timers that are due. Returns the milliseconds until the next one, or -1. */
static int run_timers(void)
{
	uint64_t now = clock_mono_ns(), next = UINT64_MAX;
	struct loop_timer *t = loop.timers;

	while (t) {
		if (t->deadline > now) {
			t = t->next;
			continue;
		}
		loop_disarm(t);
		t->fn(t);
		t = loop.timers; /* fn may have changed the list */
	}
	for (t = loop.timers; t; t = t->next)
		next = MIN(next, t->deadline);
	if (next == UINT64_MAX)
		return -1;
	now = clock_mono_ns();
	return next <= now ? 0 : (int)MIN((next - now) / NS_PER_MS + 1, 1000000u);
}

static bool is_watched(const struct loop_fd *f)
{
	for (const struct loop_fd *i = loop.fds; i; i = i->next)
		if (i == f)
			return true;
	return false;
}

static int reserve_fds(size_t n)
{
	int r = array_reserve(&loop.polled, &loop.polled_cap, n + 1, sizeof(*loop.polled));

	return r ? r : array_reserve(&loop.watched, &loop.watched_cap, n, sizeof(*loop.watched));
}

static void free_fds(void)
{
	free(TAKE_PTR(loop.polled));
	free(TAKE_PTR(loop.watched));
	loop.polled_cap = loop.watched_cap = 0;
}

/* Without memory for all descriptors, the newest are polled: their number shrinks as they end. */
static void wait_for_fds(int timeout_ms)
{
	struct pollfd *p;
	size_t all = 0, n = 0;
	uint64_t count;

	for (struct loop_fd *f = loop.fds; f; f = f->next)
		all++;
	if (reserve_fds(all))
		all = MIN(all, MIN(loop.polled_cap - 1, loop.watched_cap));
	p = loop.polled;
	p[0] = (struct pollfd){.fd = loop.wake, .events = POLLIN};
	for (struct loop_fd *f = loop.fds; f && n < all; f = f->next) {
		loop.watched[n++] = f;
		p[n] = (struct pollfd){.fd = f->fd, .events = f->events};
	}
	if (poll(p, n + 1, timeout_ms) <= 0)
		return;
	if (p[0].revents)
		(void)!read(loop.wake, &count, sizeof(count));
	for (size_t i = 0; i < n; i++)
		if (p[i + 1].revents && is_watched(loop.watched[i])) /* a fn may have removed it */
			loop.watched[i]->fn(loop.watched[i], p[i + 1].revents);
}

/* ---- tasks ---- */

/* Runs all posted tasks. Returns false if the loop ends. */
static bool run_tasks(void)
{
	struct loop_task *t;
	bool ends;

	pthread_mutex_lock(&loop.lock);
	while ((t = loop.first)) {
		loop.first = t->next;
		if (!loop.first)
			loop.last = &loop.first;
		t->posted = false;
		pthread_mutex_unlock(&loop.lock);
		t->fn(t); /* may free t */
		pthread_mutex_lock(&loop.lock);
	}
	ends = loop.ends || !loop.runs;
	pthread_mutex_unlock(&loop.lock);
	return !ends;
}

static void *loop_run(void *arg)
{
	(void)arg;
	is_here = true;
	while (run_tasks()) {
		int timeout = run_timers();

		wait_for_fds(timeout);
	}
	return NULL;
}

static void wake(void)
{
	NO_CANCEL();
	uint64_t one = 1;

	if (loop.wake >= 0)
		(void)!write(loop.wake, &one, sizeof(one));
}

/* Call with loop.lock held. */
static void post(struct loop_task *t)
{
	if (t->posted)
		return;
	if (!loop.last)
		loop.last = &loop.first;
	t->posted = true;
	t->next = NULL;
	*loop.last = t;
	loop.last = &t->next;
	wake();
}

void loop_post(struct loop_task *t)
{
	pthread_mutex_lock(&loop.lock);
	post(t);
	pthread_mutex_unlock(&loop.lock);
}

void loop_unpost(struct loop_task *t)
{
	pthread_mutex_lock(&loop.lock);
	if (t->posted) {
		struct loop_task **p = &loop.first;

		while (*p != t)
			p = &(*p)->next;
		*p = t->next;
		if (loop.last == &t->next)
			loop.last = p;
		t->posted = false;
	}
	pthread_mutex_unlock(&loop.lock);
}

struct call {
	struct loop_task task;
	struct loop_task *inner;
	bool done;
};

static void run_call(struct loop_task *t)
{
	struct call *c = container_of(t, struct call, task);

	c->inner->fn(c->inner);
	pthread_mutex_lock(&loop.lock);
	c->done = true;
	pthread_cond_broadcast(&loop.ran);
	pthread_mutex_unlock(&loop.lock);
}

void loop_call(struct loop_task *t)
{
	NO_CANCEL();
	struct call c = {.task = {.fn = run_call}, .inner = t};

	pthread_mutex_lock(&loop.lock);
	if (is_here || !loop.runs) {
		pthread_mutex_unlock(&loop.lock);
		t->fn(t);
		return;
	}
	post(&c.task);
	while (!c.done)
		pthread_cond_wait(&loop.ran, &loop.lock);
	pthread_mutex_unlock(&loop.lock);
}

/* ---- the thread ---- */

int loop_start(void)
{
	NO_CANCEL();
	int r = -EALREADY;

	pthread_mutex_lock(&loop.lock);
	if (!loop.runs) {
		loop.ends = false;
		loop.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		loop.runs = true; /* before the thread can get the lock */
		r = loop.wake < 0 ? -errno : reserve_fds(FEW_FDS);
		if (!r)
			r = thread_start(&loop.thread, 0, loop_run, NULL);
		if (!r)
			pthread_setname_np(loop.thread, "libsonda");
		if (r < 0) {
			closep(&loop.wake);
			free_fds();
			loop.runs = false;
		}
	}
	pthread_mutex_unlock(&loop.lock);
	return r;
}

void loop_stop(void)
{
	NO_CANCEL();
	pthread_mutex_lock(&loop.lock);
	if (!loop.runs || is_here) {
		pthread_mutex_unlock(&loop.lock);
		return;
	}
	loop.ends = true;
	wake();
	pthread_mutex_unlock(&loop.lock);
	pthread_join(loop.thread, NULL);
	pthread_mutex_lock(&loop.lock);
	closep(&loop.wake);
	free_fds();
	loop.runs = false;
	pthread_mutex_unlock(&loop.lock);
	run_tasks(); /* tasks that were posted after the thread's last check */
}

void loop_before_fork(void)
{
	pthread_mutex_lock(&loop.lock);
}

void loop_after_fork(void)
{
	pthread_mutex_unlock(&loop.lock);
}

void loop_forget(void)
{
	closep(&loop.wake);
	pthread_mutex_init(&loop.lock, NULL);
	pthread_cond_init(&loop.ran, NULL);
	loop.runs = loop.ends = false;
	for (struct loop_task *t = loop.first; t; t = t->next)
		t->posted = false;
	loop.first = NULL;
	loop.last = NULL;
	loop.fds = NULL;
	loop.timers = NULL;
	is_here = false;
}
