/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The threads of the program that trace, and the right to use a thread's writers:
 *
 *	the thread itself   thread_enter() ... thread_leave()     two stores, no lock
 *	any other thread    threads_claim(): waits until the thread is outside, keeps it outside
 *
 * An enter inside another one of the same thread (a signal handler, an allocator's hook) fails.
 *
 * Each side stores its own word and then loads the other's, which needs a full barrier on both
 * sides. Claims are rare, so they issue the barrier for all threads with membarrier(2); then an
 * enter only needs to keep the compiler from reordering.
 */

struct sonda_writer;

struct thread {
	_Atomic uint32_t busy; /* the thread is inside */
	_Atomic uint32_t wanted; /* set while the thread must stay outside; a futex */
	/* Writers by data source and instance; NULL: none. Used by the thread while it is inside,
	 * and by others while they have claimed it. */
	struct sonda_writer **slots; /* owned, as are the writers */
	unsigned n_slots;
	bool exits; /* the thread ends, and makes no new writers */
	struct thread *prev, *next; /* all threads */
};

extern __thread struct thread *thread_self_ __attribute__((tls_model("initial-exec")));
extern _Atomic bool thread_full_barrier_; /* the kernel has no membarrier */

/* Call before the library's first thread starts. The kernel registers a process with one thread for
 * membarrier(2) at once; with more threads it waits for all CPUs, which would delay the first
 * event. */
void threads_init(void);
/* Adds the calling thread to the list. Returns NULL if there is no memory, or for a nested call. */
struct thread *thread_add_self(void);
/* Called by t itself: waits while another thread claims it (threads_claim()). */
void thread_wait_unclaimed(struct thread *t);

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

/* Returns the calling thread, which is inside now. Returns NULL if it was inside already, or there
 * is no memory. */
static inline struct thread *thread_enter(void)
{
	struct thread *t = thread_self_;

	if (__builtin_expect(!t, 0)) {
		t = thread_add_self();
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
		thread_wait_unclaimed(t);
	}
}

/* Calls fn for every thread while it is outside, in any order. Waits for threads that are inside,
 * at most timeout_ms, and then skips them; negative: no limit. fn must not enter or claim. The
 * caller must not be inside. */
void threads_claim(void (*fn)(struct thread *t, void *ctx), void *ctx, int timeout_ms);

/* Like threads_claim() without a limit, but all threads stay outside until `last` has returned. */
void threads_claim_all(void (*fn)(struct thread *t, void *ctx), void (*last)(void *ctx), void *ctx);

/* Frees the writers of a thread that ends. Set by lib/data_source. */
extern void (*_Atomic thread_free_writers)(struct thread *t);

/* Call when the library is unloaded or the process ends. No thread is added afterwards. Frees the
 * entry of the caller. Other threads may be inside at exit(), so their entries are not freed. */
void threads_deinit(void);

/* Call these around fork(). The child has only the calling thread, without writers. It may be
 * inside, so the memory of its writers is not freed. */
void threads_before_fork(void);
void threads_after_fork(void);
void threads_free_others(void);
