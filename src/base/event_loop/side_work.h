/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct event_base;
struct side_work;

/*
 * Long work that is written down straight, as one function, and yet done in turns (base/event_loop/turn.h):
 * it has a stack of its own, a thread's, but runs only while the loop waits for it. So it may use
 * whatever the loop's callbacks use, and needs no lock. The two are at work at the same time in one
 * place, between side_leave and side_return: around a call of the kernel that may take long, and
 * that concerns nobody else's memory.
 *
 *	loop    begin .......... | timer, socket ... | ......... | timer, socket ... | ....... | done
 *	work          run, pause |                   | run, leave| (in the kernel)   | return  |
 *
 * The first turn is in side_work_begin itself, so that work that is over soon ends there.
 */
struct side_work_ops {
	void (*run)(void *ctx); /* on the side */
	void (*done)(void *ctx); /* on the loop, when run has returned; may begin other work */
};

/*
 * *ret is the work until it ends, NULL from then on; it has to stay where it is. ops and ctx are
 * borrowed as long. Where there can be no thread all of it is done at once.
 */
void side_work_begin(struct side_work **ret, struct event_base *loop,
		     const struct side_work_ops *ops, void *ctx);
/* From now on side_pause tells the work to give up; it ends as always, in turns. NULL is fine. */
void side_work_cancel(struct side_work *w);
/* The same, and waits for the end of it; done is not called. NULL is fine. */
void side_work_end(struct side_work *w);

/* ---- of the work; elsewhere they do nothing ---- */

/* Between two steps: where the turn is over the loop has the next one. 0, or -ECANCELED: nobody wants
 * the rest. */
int side_pause(void);
/* The loop goes on meanwhile. Not to be nested. */
void side_leave(void);
void side_return(void);
