/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The application's threads, as far as they trace, and the right to use a thread's writers:
 *
 *	the thread itself   thread_enter() ... thread_leave()     two stores, no lock
 *	any other thread    threads_claim(): waits until the thread is outside, keeps it outside
 *
 * An enter inside another one of the same thread (a signal handler, an allocator's hook) fails.
 *
 * The two sides order a store and a load of the other's word, which takes a full barrier on both.
 * Claims are rare, so they make the barrier for all threads with membarrier(2); entering then needs
 * the compiler's order only.
 */

struct sonda_writer;

struct thread {
	_Atomic uint32_t busy; /* the thread is inside */
	_Atomic uint32_t wanted; /* it must stay outside; a futex */
	/* Writers by data source and instance; NULL: none. Whoever is inside, or has claimed the
	 * thread, may use and change them. */
	struct sonda_writer **slots; /* owned, as are the writers */
	unsigned n_slots;
	bool exits; /* it makes no new writers */
	struct thread *prev, *next; /* all threads */
};

extern __thread struct thread *thread_self_ __attribute__((tls_model("initial-exec")));
extern _Atomic bool thread_full_barrier_; /* the kernel has no membarrier */

/* Before the first thread of the library starts: the kernel registers a process with one thread for
 * membarrier(2) at once; with more, it waits for all CPUs, on the first event's way. */
void threads_init(void);
/* Makes the calling thread known. Returns NULL if memory is out, or it was called inside itself. */
struct thread *thread_new(void);
/* After a failed check of `wanted`: waits until the claim is over. */
void thread_wait_outside(struct thread *t);

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZED 1
#endif
#endif

static inline void thread_mark_busy(struct thread *t)
{
#ifdef THREAD_SANITIZED
	atomic_exchange_explicit(&t->busy, 1, memory_order_seq_cst);
#else
	atomic_store_explicit(&t->busy, 1, memory_order_relaxed);
	if (__builtin_expect(atomic_load_explicit(&thread_full_barrier_, memory_order_relaxed), 0))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
#endif
}

static inline void thread_leave(struct thread *t)
{
	atomic_store_explicit(&t->busy, 0, memory_order_release);
}

/* Returns the calling thread, inside; NULL if it is inside already, or memory is out. */
static inline struct thread *thread_enter(void)
{
	struct thread *t = thread_self_;

	if (__builtin_expect(!t, 0)) {
		t = thread_new();
		if (!t)
			return NULL;
	}
	if (atomic_load_explicit(&t->busy, memory_order_relaxed))
		return NULL;
	for (;;) {
		thread_mark_busy(t);
		if (__builtin_expect(!atomic_load_explicit(&t->wanted, memory_order_acquire), 1))
			return t;
		thread_leave(t);
		thread_wait_outside(t);
	}
}

/*
 * Calls fn for every thread while it is outside, in any order; waits for those that are inside, at
 * most timeout_ms, or for ever if it is negative. fn must not enter or claim. Not from inside.
 */
void threads_claim(void (*fn)(struct thread *t, void *ctx), void *ctx, int timeout_ms);

/* As threads_claim() without a limit, but all threads stay outside until `last` was called. */
void threads_claim_all(void (*fn)(struct thread *t, void *ctx), void (*last)(void *ctx), void *ctx);

/* Frees the writers of a thread, which is claimed or exits. Set by the owner of writers. */
extern void (*_Atomic thread_free_writers)(struct thread *t);

/* When the library is unloaded or the process ends: no thread is made known any more, and the
 * calling one is forgotten. Others may be between enter and leave at exit(), so what they have
 * stays. */
void threads_deinit(void);

/* Around fork(). In the child only the calling thread is left, without writers, but perhaps inside;
 * the memory of its writers stays until it leaves. */
void threads_before_fork(void);
void threads_after_fork(void);
void threads_forget_others(void);
