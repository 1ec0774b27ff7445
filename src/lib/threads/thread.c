/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/threads/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"

#define CLAIM_WAIT_US 50

__thread struct thread *thread_self_;
static __thread bool in_new;
_Atomic bool thread_full_barrier_;
void (*_Atomic thread_free_writers)(struct thread *t);

static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* protects the list; held while threads are claimed */
static struct thread *all;
static pthread_key_t key; /* its destructor runs at the end of a thread */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

/* ---- barriers ---- */

static int call_membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

/* The barrier of call_outside_threads(): after it, earlier stores of `busy` by all threads are
 * visible. */
static void run_barrier_on_all_threads(void)
{
	if (!atomic_load_explicit(&thread_full_barrier_, memory_order_relaxed) &&
	    call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
		call_membarrier(MEMBARRIER_CMD_GLOBAL); /* slow, and needs no registration */
#ifndef THREAD_SANITIZED
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void thread_wait_unclaimed(struct thread *t)
{
	uint32_t wanted;

	while ((wanted = atomic_load_explicit(&t->wanted, memory_order_acquire)))
		futex_wait(&t->wanted, wanted);
}

/* ---- threads ---- */

/* Frees the calling thread's writers and its entry. The thread is inside. */
static void thread_free_entry(struct thread *t)
{
	t->exits = true;
	if (atomic_load(&thread_free_writers))
		atomic_load (&thread_free_writers)(t);
	thread_leave(t); /* threads_claim() may wait for it */
	pthread_mutex_lock(&lock);
	if (t->prev)
		t->prev->next = t->next;
	else
		all = t->next;
	if (t->next)
		t->next->prev = t->prev;
	pthread_mutex_unlock(&lock);
	thread_self_ = NULL;
	free(t->slots);
	free(t);
}

/* Called by the C library at the end of a thread, and again if another destructor has traced. */
static void on_exit_of_thread(void *arg)
{
	struct thread *t = arg;

	thread_self_ = t;
	/* A thread that was cancelled or has exited while it was inside is still inside. */
	if (atomic_load_explicit(&t->busy, memory_order_relaxed) || thread_enter())
		thread_free_entry(t);
}

static void register_barrier(void)
{
	if (call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0)
		atomic_store(&thread_full_barrier_, true);
}

static void thread_init(void)
{
	has_key = pthread_key_create(&key, on_exit_of_thread) == 0;
	register_barrier();
}

void threads_init(void)
{
	pthread_once(&once, thread_init);
}

struct thread *thread_add_self(void)
{
	struct thread *t;
	int saved = errno;

	if (in_new)
		return NULL;
	in_new = true;
	threads_init();
	t = has_key ? calloc(1, sizeof(*t)) : NULL;
	if (t && pthread_setspecific(key, t) != 0) {
		free(t);
		t = NULL;
	}
	if (t) {
		pthread_mutex_lock(&lock);
		t->next = all;
		if (all)
			all->prev = t;
		all = t;
		pthread_mutex_unlock(&lock);
	}
	thread_self_ = t;
	in_new = false;
	errno = saved;
	return t;
}

/* ---- claims ---- */

static bool thread_is_outside(const struct thread *t)
{
#ifdef THREAD_SANITIZED
	return !atomic_load_explicit(&t->busy, memory_order_seq_cst);
#else
	return !atomic_load_explicit(&t->busy, memory_order_acquire);
#endif
}

static void thread_release(struct thread *t)
{
	atomic_store_explicit(&t->wanted, 0, memory_order_release);
	futex_wake_all(&t->wanted);
}

/* Values of `wanted`. */
enum { WANTED = 1, CLAIMED = 2 };

/* Calls fn for each thread while it is outside; timeout_ms as for threads_claim(). last: called
 * while all are outside; NULL: none. */
static void call_outside_threads(void (*fn)(struct thread *t, void *ctx), void (*last)(void *ctx),
				 void *ctx, int timeout_ms)
{
	uint64_t end = clock_mono_ns() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * NS_PER_MS;
	const struct timespec wait = {.tv_nsec = CLAIM_WAIT_US * 1000};
	/* Enter, so that events which fn itself would trace on this thread are dropped. */
	struct thread *me = thread_enter();
	bool left = true, give_up = false;

	pthread_mutex_lock(&lock);
	for (struct thread *t = all; t; t = t->next)
		atomic_store_explicit(&t->wanted, WANTED, memory_order_seq_cst);
	run_barrier_on_all_threads();
	while (left) {
		left = false;
		give_up = timeout_ms >= 0 && clock_mono_ns() >= end;
		for (struct thread *t = all; t; t = t->next) {
			if (atomic_load_explicit(&t->wanted, memory_order_relaxed) != WANTED)
				continue;
			if (t == me || thread_is_outside(t))
				fn(t, ctx);
			else if (!give_up) {
				left = true;
				continue;
			}
			if (last)
				atomic_store_explicit(&t->wanted, CLAIMED, memory_order_relaxed);
			else
				thread_release(t);
		}
		if (left)
			nanosleep(&wait, NULL);
	}
	if (last) {
		last(ctx);
		for (struct thread *t = all; t; t = t->next)
			thread_release(t);
	}
	pthread_mutex_unlock(&lock);
	if (me)
		thread_leave(me);
}

void threads_claim(void (*fn)(struct thread *t, void *ctx), void *ctx, int timeout_ms)
{
	call_outside_threads(fn, NULL, ctx, timeout_ms);
}

void threads_claim_all(void (*fn)(struct thread *t, void *ctx), void (*last)(void *ctx), void *ctx)
{
	call_outside_threads(fn, last, ctx, -1);
}

void threads_deinit(void)
{
	struct thread *t = thread_self_;

	if (!has_key)
		return;
	pthread_key_delete(key);
	has_key = false; /* thread_add_self() fails from now on */
	if (t && thread_enter())
		thread_free_entry(t);
}

/* ---- fork ---- */

void threads_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void threads_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

void threads_free_others(void)
{
	struct thread *next;

	pthread_mutex_init(&lock, NULL);
	for (struct thread *t = all; t; t = next) {
		next = t->next;
		if (t == thread_self_)
			continue;
		/* Its writers may be in the middle of a write, so they are not freed. */
		free(t->slots);
		free(t);
	}
	all = thread_self_;
	if (all) {
		all->next = all->prev = NULL;
		atomic_store_explicit(&all->wanted, 0, memory_order_relaxed);
		for (unsigned i = 0; i < all->n_slots; i++)
			all->slots[i] = NULL;
	}
	register_barrier();
}
