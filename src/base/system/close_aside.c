/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue is a list through an array with a place for each descriptor number, so that adding to it
 * never needs memory:
 *
 *	first --> places[17] --> places[5] --> places[9] <-- last
 *
 * A thread takes the first descriptor whose owner occupies fewer than two threads.
 */
#include "base/system/close_aside.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"

#define N_THREADS 8
#define THREADS_OF_OWNER 2
#define MAX_PLACES (1u << 20)
#define STACK_BYTES (256u << 10)
#define NONE (-1)

struct place {
	uint64_t owner;
	int next; /* descriptor; NONE */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled, began;
	unsigned n_running;
	struct place *places; /* owned; NULL: not started */
	size_t n_places;
	int first, last; /* NONE: empty */
	struct {
		bool busy;
		uint64_t owner;
	} threads[N_THREADS];
} aside = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.filled = PTHREAD_COND_INITIALIZER,
	.began = PTHREAD_COND_INITIALIZER,
	.first = NONE,
	.last = NONE,
};

/* ---- the queue; the lock is held ---- */

static unsigned threads_of(uint64_t owner)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N_THREADS; i++)
		n += aside.threads[i].busy && aside.threads[i].owner == owner;
	return n;
}

static void put(int fd, uint64_t owner)
{
	aside.places[fd] = (struct place){.owner = owner, .next = NONE};
	if (aside.last == NONE)
		aside.first = fd;
	else
		aside.places[aside.last].next = fd;
	aside.last = fd;
}

/* The next descriptor that may be closed; NONE: there is none. */
static int take(void)
{
	int before = NONE;

	for (int fd = aside.first; fd != NONE; before = fd, fd = aside.places[fd].next) {
		int next = aside.places[fd].next;

		if (threads_of(aside.places[fd].owner) >= THREADS_OF_OWNER)
			continue;
		if (before == NONE)
			aside.first = next;
		else
			aside.places[before].next = next;
		if (aside.last == fd)
			aside.last = before;
		return fd;
	}
	return NONE;
}

/* ---- the threads ---- */

/* Without SO_LINGER most sockets close at once. Its peer may set it again, so this is no guarantee. */
static void close_for_long(int fd)
{
	const struct linger none = {0};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
}

static void *run(void *arg)
{
	size_t me = (size_t)(uintptr_t)arg;

	pthread_mutex_lock(&aside.lock);
	aside.n_running++;
	pthread_cond_signal(&aside.began);
	for (;;) {
		int fd = take();

		if (fd == NONE) {
			pthread_cond_wait(&aside.filled, &aside.lock);
			continue;
		}
		aside.threads[me].busy = true;
		aside.threads[me].owner = aside.places[fd].owner;
		pthread_mutex_unlock(&aside.lock);
		close_for_long(fd);
		pthread_mutex_lock(&aside.lock);
		aside.threads[me].busy = false;
	}
	return NULL;
}

/* libc starts a thread with calls that a system call filter does not allow. */
static void wait_for_threads(unsigned n)
{
	pthread_mutex_lock(&aside.lock);
	while (aside.n_running < n)
		pthread_cond_wait(&aside.began, &aside.lock);
	pthread_mutex_unlock(&aside.lock);
}

static int start_threads(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int r = pthread_attr_init(&attr);

	if (r)
		return -r;
	/* Signals are for the loop. */
	sigfillset(&all);
	sigdelset(&all, SIGSYS); /* the system call filter sends it to the thread itself */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (unsigned i = 0; i < N_THREADS && r == 0; i++) {
		r = pthread_create(&thread, &attr, run, (void *)(uintptr_t)i);
		if (r == 0)
			wait_for_threads(i + 1);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

static void forget_in_child(void)
{
	aside.places = NULL;
}

int close_aside_start(void)
{
	struct rlimit l;
	struct place *places;
	size_t n;
	int r;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return -errno;
	n = MIN((size_t)l.rlim_cur, MAX_PLACES);
	places = calloc(n, sizeof(*places));
	if (!places)
		return -ENOMEM;
	r = start_threads();
	if (r < 0) {
		free(places); /* threads that were started wait forever */
		return r;
	}
	pthread_atfork(NULL, NULL, forget_in_child);
	aside.n_places = n;
	aside.places = places;
	return 0;
}

/* ---- called by the loop ---- */

void close_aside(int fd, uint64_t owner)
{
	if (fd < 0)
		return;
	if (!aside.places || (size_t)fd >= aside.n_places) {
		close(fd);
		return;
	}
	pthread_mutex_lock(&aside.lock);
	put(fd, owner);
	pthread_cond_signal(&aside.filled);
	pthread_mutex_unlock(&aside.lock);
}

unsigned close_aside_waiting(uint64_t owner)
{
	unsigned n;

	if (!aside.places)
		return 0;
	pthread_mutex_lock(&aside.lock);
	n = threads_of(owner);
	for (int fd = aside.first; fd != NONE; fd = aside.places[fd].next)
		n += aside.places[fd].owner == owner;
	pthread_mutex_unlock(&aside.lock);
	return n;
}
