/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct event_base;
struct coroutine;

/*
 * A coroutine: long work that is written as one function and runs in time slices
 * (base/event_loop/time_slice.h). It has a thread for its stack, but it runs only while the loop
 * waits for it. So it may use everything that callbacks of the loop use, and needs no lock. The one
 * exception is the part between coroutine_block_begin() and coroutine_block_end(), where both run
 * at once: a system call that may block for long and touches no shared memory.
 *
 *	loop       start ......... | timer, socket ... | .......... | timer, ...  | ....... | done
 *	coroutine       run, yield |                   | run, block | (in kernel) | return  |
 *
 * coroutine_start() runs the first time slice itself, so short work ends before it returns.
 */
struct coroutine_ops {
	void (*run)(void *ctx); /* called in the coroutine */
	void (*done)(void *ctx); /* called in the loop after run; may start a coroutine */
};

/* Starts a coroutine. *ret points to it until it ends, and is NULL afterwards; ret must stay valid
 * until the end. ops and ctx are borrowed just as long. If no thread can be created, run and done
 * are called before coroutine_start() returns. */
void coroutine_start(struct coroutine **ret, struct event_base *loop,
		     const struct coroutine_ops *ops, void *ctx);
/* Makes the coroutine wait until the loop has nothing else to do. No-op for NULL. */
void coroutine_run_last(struct coroutine *w);
/* Makes coroutine_yield() return -ECANCELED. The coroutine still runs in time slices until run
 * returns, and done is called. No-op for NULL. */
void coroutine_cancel(struct coroutine *w);
/* Cancels the coroutine and waits for its end; done is not called. No-op for NULL. */
void coroutine_finish(struct coroutine *w);

/* ---- calls from within a coroutine; elsewhere they do nothing ---- */

/* Yields to the loop if the time slice is over. Returns 0, or -ECANCELED if the coroutine was
 * cancelled. */
int coroutine_yield(void);
/* Lets the loop continue until coroutine_block_end(), which preserves errno. Must not be nested. */
void coroutine_block_begin(void);
void coroutine_block_end(void);
