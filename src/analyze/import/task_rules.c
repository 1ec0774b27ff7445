/* SPDX-License-Identifier: Apache-2.0 */
/* Events of tasks and of the scheduler: what each changes in thread, process and thread_state. */
#include <string.h>

#include "analyze/import/event_rules.h"
#include "analyze/import/import_steps.h"
#include "base/core/mem.h"
#include "gen/fields.h"

#define CLONE_THREAD 0x10000u

/* The fields that these events have; each sets some of them. */
struct task_fields {
	int32_t tid;
	uint64_t number; /* clone flags, caller */
	bool io_wait;
	uint32_t comm; /* a string; NULL_U32: none */
};

static void new_task(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct task_fields t = {.comm = NULL_U32};
	struct tasks *tasks = &m->tasks;
	uint32_t utid, upid;

	pb_for_each (f, &e->message) {
		if (f.id == PB_TASK_NEWTASK_FTRACE_EVENT_PID)
			t.tid = (int32_t)f.u64;
		else if (f.id == PB_TASK_NEWTASK_FTRACE_EVENT_COMM)
			t.comm = strings_intern(&im->store->strings, f.data, f.len);
		else if (f.id == PB_TASK_NEWTASK_FTRACE_EVENT_CLONE_FLAGS)
			t.number = f.u64;
	}
	if (!t.tid)
		return;
	if (t.number & CLONE_THREAD) {
		utid = tasks_new_thread(tasks, t.tid, e->ts);
		tasks_name_thread(tasks, utid, t.comm, THREAD_BY_FTRACE);
		tasks_share_process(tasks, utid, e->utid);
	} else {
		upid = tasks_new_process(tasks, t.tid, e->ts, &utid);
		tasks_name_thread(tasks, utid, t.comm, THREAD_BY_FTRACE);
		tasks_name_process(tasks, upid, t.comm, PROCESS_BY_SYSTEM);
		tasks_set_parent_of(tasks, upid, e->utid);
	}
	rows_new_task(im, m, e->ts, utid, e->utid);
}

static void rename(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct task_fields t = {.comm = NULL_U32};
	uint32_t utid, upid;

	pb_for_each (f, &e->message) {
		if (f.id == PB_TASK_RENAME_FTRACE_EVENT_PID)
			t.tid = (int32_t)f.u64;
		else if (f.id == PB_TASK_RENAME_FTRACE_EVENT_NEWCOMM)
			t.comm = strings_intern(&im->store->strings, f.data, f.len);
	}
	utid = tasks_thread(&m->tasks, t.tid);
	tasks_name_thread(&m->tasks, utid, t.comm, THREAD_BY_FTRACE);
	upid = tasks_upid(&m->tasks, utid);
	if (upid != NULL_U32 &&
	    table_i64(import_table(im, TABLE_PROCESS), PROCESS_PID, upid) == t.tid)
		tasks_name_process(&m->tasks, upid, t.comm, PROCESS_BY_SYSTEM);
}

static void process_free(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	(void)im;
	pb_for_each (f, &e->message)
		if (f.id == PB_SCHED_PROCESS_FREE_FTRACE_EVENT_PID)
			tasks_end(&m->tasks, (int32_t)f.u64, e->ts);
}

static void waking(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct task_fields t = {.comm = NULL_U32};
	uint8_t irq = NULL_U8; /* other producers do not write the flags */
	uint32_t utid;

	pb_for_each (f, &e->message) {
		if (f.id == PB_SCHED_WAKING_FTRACE_EVENT_PID)
			t.tid = (int32_t)f.u64;
		else if (f.id == PB_SCHED_WAKING_FTRACE_EVENT_COMM)
			t.comm = strings_intern(&im->store->strings, f.data, f.len);
		else if (f.id == PB_SCHED_WAKING_FTRACE_EVENT_COMMON_FLAGS)
			irq = rows_in_interrupt(f.u64);
	}
	utid = tasks_thread(&m->tasks, t.tid);
	tasks_name_thread(&m->tasks, utid, t.comm, THREAD_BY_FTRACE);
	rows_waking(im, m, e->ts, utid, e->utid, irq);
}

static void blocked_reason(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct task_fields t = {.tid = 0};

	pb_read(&e->message, PB_TO(PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_PID, &t.tid),
		PB_TO(PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_CALLER, &t.number),
		PB_TO(PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_IO_WAIT, &t.io_wait));
	rows_blocked_reason(im, m, tasks_thread(&m->tasks, t.tid), t.io_wait,
			    event_symbol(m, e, t.number));
}

/*
 * Converts the expiry of a timer. Its clock is not in the event: of the clocks that a sleep can have
 * it is the one whose time is nearest to that of the event.
 */
static int64_t due_time(struct machine *m, int64_t now, int64_t expires)
{
	static const uint32_t ids[] = {CLOCK_MONOTONIC_ID, CLOCK_BOOTTIME_ID, CLOCK_REALTIME_ID};
	int64_t due = NULL_I64, distance = INT64_MAX, ts, from_now;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		if (clocks_convert(&m->clocks, ids[i], expires, &ts) != CLOCK_CONVERTED)
			continue;
		ts = clocks_trace_time(&m->clocks, ts);
		if (__builtin_sub_overflow(ts, now, &from_now) || from_now == INT64_MIN)
			continue;
		from_now = from_now < 0 ? -from_now : from_now;
		if (from_now < distance) {
			distance = from_now;
			due = ts;
		}
	}
	return due;
}

/* A thread starts the timer of its own sleep; such timers are known by their function. */
static void timer_start(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct thread_info *info = &im->infos.threads[e->utid];
	struct pb_field function, expires, timer;
	uint32_t name;

	event_field(e, PB_HRTIMER_START_FTRACE_EVENT_FUNCTION, &function);
	event_field(e, PB_HRTIMER_START_FTRACE_EVENT_EXPIRES, &expires);
	event_field(e, PB_HRTIMER_START_FTRACE_EVENT_HRTIMER, &timer);
	if (e->sequence_state == NULL_U32)
		return;
	name = sequences_string(&m->sequences, e->sequence_state, PB_INTERNED_DATA_KERNEL_SYMBOLS,
				function.u64);
	if (name == NULL_U32 ||
	    strcmp(strings_get(&im->store->strings, name), "hrtimer_wakeup") != 0)
		return;
	im->store->has_sleep_timers = true;
	info->timer_due = due_time(m, e->ts, (int64_t)expires.u64);
	info->timer = timer.u64;
	info->timer_state = e->sequence_state;
}

/* The thread has not slept after all. Timers have other numbers in another state of the sequence:
 * then this may be the thread's timer. */
static void timer_cancel(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct thread_info *info = &im->infos.threads[e->utid];
	struct pb_field timer;

	(void)m;
	event_field(e, PB_HRTIMER_CANCEL_FTRACE_EVENT_HRTIMER, &timer);
	if (info->timer_state != e->sequence_state || info->timer == timer.u64)
		info->timer_due = NULL_I64;
}

const struct event_rule task_rules[] = {
	{PB_FTRACE_EVENT_TASK_NEWTASK, new_task, NULL},
	{PB_FTRACE_EVENT_TASK_RENAME, rename, NULL},
	{PB_FTRACE_EVENT_SCHED_PROCESS_FREE, process_free, NULL},
	{PB_FTRACE_EVENT_SCHED_WAKING, waking, NULL},
	{PB_FTRACE_EVENT_SCHED_BLOCKED_REASON, blocked_reason, "caller"},
	{PB_FTRACE_EVENT_HRTIMER_START, timer_start, NULL},
	{PB_FTRACE_EVENT_HRTIMER_CANCEL, timer_cancel, NULL},
	{PB_FTRACE_EVENT_WORKQUEUE_QUEUE_WORK, NULL, "function"},
	{PB_FTRACE_EVENT_WORKQUEUE_ACTIVATE_WORK, NULL, "function"},
	{0, NULL, NULL},
};
