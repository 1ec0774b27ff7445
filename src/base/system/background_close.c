/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop owns the queue. It is a list in an array with one slot for each descriptor number, so
 * that adding a descriptor never needs memory:
 *
 *	first --> slots[17] --> slots[5] --> slots[9] <-- last
 *
 * The loop gives each idle thread the first descriptor whose owner occupies fewer than two threads:
 *
 *	loop     fd, owner -> sem_post(work)                        sem_trywait(done)
 *	thread                sem_wait(work) -> close -> sem_post(done), finished_fd
 *
 * The loop never waits for a thread: it takes no lock, and does not call pthread_cond_signal(),
 * which in glibc before 2.41 waits until threads that were signalled before have run. On a busy
 * machine that would delay the service's replies.
 */
#include "base/system/background_close.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/thread.h"

#define N_THREADS 8
#define THREADS_OF_OWNER 2
#define MAX_SLOTS (1u << 20)
#define STACK_BYTES (256u << 10)
#define NONE (-1)

struct slot {
	uint64_t owner;
	int next; /* the next descriptor in the queue, or NONE */
};

/* One thread. fd changes only while the thread waits for work. */
struct closer {
	sem_t work, done;
	int fd; /* owned by the thread between work and done */
	bool busy; /* only the loop uses this and owner */
	uint64_t owner; /* owner of fd */
};

static struct {
	struct slot *slots; /* owned; NULL: not started */
	size_t n_slots;
	int first, last; /* NONE: empty */
	int finished_fd; /* eventfd: a thread has closed a descriptor */
	struct closer closers[N_THREADS];
} closing = {.first = NONE, .last = NONE, .finished_fd = -1};

/* ---- the queue ---- */

static unsigned count_threads_of(uint64_t owner)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N_THREADS; i++)
		n += closing.closers[i].busy && closing.closers[i].owner == owner;
	return n;
}

static void background_close_enqueue(int fd, uint64_t owner)
{
	closing.slots[fd] = (struct slot){.owner = owner, .next = NONE};
	if (closing.last == NONE)
		closing.first = fd;
	else
		closing.slots[closing.last].next = fd;
	closing.last = fd;
}

/* Removes the first descriptor whose owner may occupy another thread. Returns it, or NONE. */
static int background_close_dequeue(void)
{
	int before = NONE;

	for (int fd = closing.first; fd != NONE; before = fd, fd = closing.slots[fd].next) {
		int next = closing.slots[fd].next;

		if (count_threads_of(closing.slots[fd].owner) >= THREADS_OF_OWNER)
			continue;
		if (before == NONE)
			closing.first = next;
		else
			closing.slots[before].next = next;
		if (closing.last == fd)
			closing.last = before;
		return fd;
	}
	return NONE;
}

/* ---- the threads ---- */

/* Clears SO_LINGER, so that most sockets close at once. The process that passed the socket may set
 * it again meanwhile. */
static void close_without_linger(int fd)
{
	const struct linger none = {0};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
}

static void await_semaphore(sem_t *s)
{
	while (sem_wait(s) < 0)
		;
}

static void *background_close_run(void *arg)
{
	const uint64_t one = 1;
	struct closer *c = arg;

	sem_post(&c->done); /* start_threads() waits for it */
	for (;;) {
		await_semaphore(&c->work);
		close_without_linger(c->fd);
		sem_post(&c->done);
		(void)!write(closing.finished_fd, &one, sizeof(one));
	}
	return NULL;
}

static int start_threads(void)
{
	int r = 0;

	for (unsigned i = 0; i < N_THREADS && r == 0; i++) {
		struct closer *c = &closing.closers[i];

		sem_init(&c->work, 0, 0);
		sem_init(&c->done, 0, 0);
		r = thread_start(NULL, STACK_BYTES, background_close_run, c);
		/* libc starts a thread with system calls that the later filter does not allow, so
		 * wait until the thread runs. */
		if (r == 0)
			await_semaphore(&c->done);
	}
	return r;
}

static void disable_in_child(void)
{
	closing.slots = NULL;
}

int background_close_start(void)
{
	struct rlimit l;
	struct slot *slots;
	size_t n;
	int r;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return -errno;
	n = MIN((size_t)l.rlim_cur, MAX_SLOTS);
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	closing.finished_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = closing.finished_fd < 0 ? -errno : start_threads();
	if (r < 0) {
		/* Threads that were started wait forever. They do not use the eventfd. */
		closep(&closing.finished_fd);
		free(slots);
		return r;
	}
	pthread_atfork(NULL, NULL, disable_in_child);
	closing.n_slots = n;
	closing.slots = slots;
	return 0;
}

/* ---- called by the loop ---- */

static void collect_finished(void)
{
	for (unsigned i = 0; i < N_THREADS; i++)
		if (closing.closers[i].busy && sem_trywait(&closing.closers[i].done) == 0)
			closing.closers[i].busy = false;
}

static void assign_fds_to_idle_threads(void)
{
	for (unsigned i = 0; i < N_THREADS; i++) {
		struct closer *c = &closing.closers[i];
		int fd = c->busy ? NONE : background_close_dequeue();

		if (fd == NONE)
			continue;
		c->busy = true;
		c->owner = closing.slots[fd].owner;
		c->fd = fd;
		sem_post(&c->work);
	}
}

void background_close(int fd, uint64_t owner)
{
	if (fd < 0)
		return;
	if (!closing.slots || (size_t)fd >= closing.n_slots) {
		close(fd);
		return;
	}
	background_close_enqueue(fd, owner);
	collect_finished();
	assign_fds_to_idle_threads();
}

int background_close_finished_fd(void)
{
	return closing.slots ? closing.finished_fd : -1;
}

void background_close_continue(void)
{
	uint64_t n;

	(void)!read(closing.finished_fd, &n, sizeof(n));
	collect_finished();
	assign_fds_to_idle_threads();
}

unsigned background_close_count_waiting(uint64_t owner)
{
	unsigned n;

	if (!closing.slots)
		return 0;
	collect_finished();
	n = count_threads_of(owner);
	for (int fd = closing.first; fd != NONE; fd = closing.slots[fd].next)
		n += closing.slots[fd].owner == owner;
	return n;
}
