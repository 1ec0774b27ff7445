/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two semaphores pass control: `go` resumes the coroutine, `back` returns to the loop. Only the
 * side that has control touches the fields, with two exceptions: `is_blocked` and the scheduling of
 * the thread belong to the coroutine, which asks the loop for control by `wake`.
 *
 *	RUNNING -- yield -------> WAITING   resumes in the next iteration of the loop
 *	        -- block_begin -> AWAY      resumes after block_end
 *	        -- end ---------> ENDED
 */
#include "base/event_loop/coroutine.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/thread.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/time_slice.h"

#define STACK_BYTES (1u << 20)

enum coroutine_state { COROUTINE_WAITING, COROUTINE_AWAY, COROUTINE_ENDED };

struct coroutine {
	const struct coroutine_ops *ops; /* borrowed */
	void *ctx; /* borrowed */
	struct coroutine **owner; /* borrowed: set to NULL when the coroutine ends */
	pthread_t thread;
	int policy; /* scheduling of the thread; only the coroutine uses this and the next two */
	int policy_before; /* scheduling of the thread before coroutine_block_begin() */
	struct sched_param param_before;
	int loop_policy; /* scheduling of the loop when it last resumed the coroutine */
	struct sched_param loop_param;
	sem_t go; /* the loop lets the coroutine run */
	sem_t back; /* the coroutine has paused or ended, so the loop continues */
	int wake; /* owned: an eventfd */
	struct event *event; /* owned: of wake */
	struct time_slice slice;
	enum coroutine_state state; /* valid while the loop has control */
	bool cancelled;
	bool is_awaited; /* coroutine_finish() waits for the end: no yield returns to the loop */
	bool is_blocked;
};

static _Thread_local struct coroutine *current;

static void await_semaphore(sem_t *s)
{
	while (sem_wait(s) && errno == EINTR)
		;
}

/* ---- in the coroutine ---- */

static void yield_control(struct coroutine *w, enum coroutine_state state)
{
	w->state = state;
	sem_post(&w->back);
}

static void request_resume(struct coroutine *w)
{
	uint64_t one = 1;
	ssize_t n = write(w->wake, &one, sizeof(one)); /* a full counter wakes the loop as well */

	(void)n;
}

/* Gives the coroutine's thread the priority of the loop, while the loop waits for it. */
static void adopt_priority(struct coroutine *w)
{
	if (w->policy != w->loop_policy && !sched_setscheduler(0, w->loop_policy, &w->loop_param))
		w->policy = w->loop_policy;
}

int coroutine_yield(void)
{
	struct coroutine *w = current;

	if (!w)
		return 0;
	if (!w->is_awaited && time_slice_over(&w->slice)) {
		request_resume(w);
		yield_control(w, COROUTINE_WAITING);
		await_semaphore(&w->go);
		adopt_priority(w);
	}
	return w->cancelled ? -ECANCELED : 0;
}

/* Lowers the priority to the normal one for a blocking call, for which no other work waits. */
static void drop_coroutine_priority(struct coroutine *w)
{
	static const struct sched_param none = {0};

	w->policy_before = w->policy;
	w->param_before = w->loop_param;
	if ((w->policy == SCHED_FIFO || w->policy == SCHED_RR) &&
	    !sched_setscheduler(0, SCHED_OTHER, &none))
		w->policy = SCHED_OTHER;
}

/* Restores the priority that drop_coroutine_priority() lowered. Without it the coroutine might get
 * no CPU on a busy machine, and the loop would wait for it. */
static void restore_priority(struct coroutine *w)
{
	if (w->policy != w->policy_before &&
	    !sched_setscheduler(0, w->policy_before, &w->param_before))
		w->policy = w->policy_before;
}

void coroutine_block_begin(void)
{
	struct coroutine *w = current;

	if (!w || w->is_awaited)
		return;
	drop_coroutine_priority(w);
	w->is_blocked = true;
	yield_control(w, COROUTINE_AWAY);
}

void coroutine_block_end(void)
{
	struct coroutine *w = current;
	int error = errno;

	if (!w || !w->is_blocked)
		return;
	w->is_blocked = false;
	restore_priority(w);
	request_resume(w);
	await_semaphore(&w->go);
	adopt_priority(w);
	errno = error;
}

static void *coroutine_begin(void *arg)
{
	struct coroutine *w = arg;

	current = w;
	await_semaphore(&w->go);
	adopt_priority(w);
	w->ops->run(w->ctx);
	yield_control(w, COROUTINE_ENDED);
	return NULL;
}

/* ---- on the loop ---- */

/* Stores the scheduling of the loop for adopt_priority(). */
static void publish_priority(struct coroutine *w)
{
	w->loop_policy = sched_getscheduler(0);
	if (w->loop_policy < 0 || sched_getparam(0, &w->loop_param) < 0)
		w->loop_policy = SCHED_OTHER;
}

static void coroutine_resume(struct coroutine *w)
{
	publish_priority(w);
	w->slice = time_slice_start(clock_mono_ns);
	sem_post(&w->go);
	await_semaphore(&w->back);
}

static void coroutine_release(struct coroutine *w)
{
	*w->owner = NULL;
	event_freep(&w->event);
	if (w->wake >= 0)
		close(w->wake);
	sem_destroy(&w->go);
	sem_destroy(&w->back);
	free(w);
}

/* Runs the coroutine until it pauses or ends. If it has ended, frees it and calls its done. */
static void resume_and_free_if_ended(struct coroutine *w)
{
	const struct coroutine_ops *ops = w->ops;
	void *ctx = w->ctx;

	coroutine_resume(w);
	if (w->state != COROUTINE_ENDED)
		return;
	pthread_join(w->thread, NULL);
	coroutine_release(w);
	ops->done(ctx);
}

static void on_wake_fd(evutil_socket_t fd, short what, void *arg)
{
	struct coroutine *w = arg;
	uint64_t n;

	if (read(fd, &n, sizeof(n)) == sizeof(n))
		resume_and_free_if_ended(w);
}

static int coroutine_set_up(struct coroutine *w, struct event_base *loop)
{
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->wake < 0)
		return -errno;
	w->event = event_new(loop, w->wake, EV_READ | EV_PERSIST, on_wake_fd, w);
	if (!w->event || event_add(w->event, NULL))
		return -ENOMEM;
	return thread_start(&w->thread, STACK_BYTES, coroutine_begin, w);
}

void coroutine_run_last(struct coroutine *w)
{
	if (w && w->event)
		event_priority_set(w->event,
				   event_base_get_npriorities(event_get_base(w->event)) - 1);
}

void coroutine_start(struct coroutine **ret, struct event_base *loop,
		     const struct coroutine_ops *ops, void *ctx)
{
	struct coroutine *w = calloc(1, sizeof(*w));

	*ret = w;
	if (w) {
		*w = (struct coroutine){.ops = ops,
					.ctx = ctx,
					.owner = ret,
					.wake = -1,
					.policy = sched_getscheduler(0)};
		sem_init(&w->go, 0, 0);
		sem_init(&w->back, 0, 0);
		if (!coroutine_set_up(w, loop)) {
			resume_and_free_if_ended(w);
			return;
		}
		coroutine_release(w);
	}
	ops->run(ctx);
	ops->done(ctx);
}

void coroutine_cancel(struct coroutine *w)
{
	if (w)
		w->cancelled = true;
}

void coroutine_finish(struct coroutine *w)
{
	if (!w)
		return;
	w->cancelled = w->is_awaited = true;
	do
		coroutine_resume(w);
	while (w->state != COROUTINE_ENDED);
	pthread_join(w->thread, NULL);
	coroutine_release(w);
}
