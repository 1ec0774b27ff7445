/* SPDX-License-Identifier: Apache-2.0 */
/* Events of tasks and of the scheduler: what each changes in thread, process and thread_state. */
#include <string.h>

#include "analyze/import/event_rules.h"
#include "analyze/import/import_steps.h"
#include "base/core/mem.h"
#include "gen/fields.h"

#define CLONE_THREAD 0x10000u

static void task_newtask(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct tasks *tasks = &m->tasks;
	struct pb_field text = {0};
	uint32_t utid, upid, comm;
	uint64_t flags = 0;
	int32_t tid = 0;

	pb_read(&e->message, PB_TO(PB_TASK_NEWTASK_FTRACE_EVENT_PID, &tid),
		PB_TO(PB_TASK_NEWTASK_FTRACE_EVENT_COMM, &text),
		PB_TO(PB_TASK_NEWTASK_FTRACE_EVENT_CLONE_FLAGS, &flags));
	comm = import_intern_text(im, &text);
	if (!tid)
		return;
	if (flags & CLONE_THREAD) {
		utid = tasks_new_thread(tasks, tid, e->ts);
		tasks_name_thread(tasks, utid, comm, THREAD_BY_FTRACE);
		tasks_share_process(tasks, utid, e->utid);
	} else {
		upid = tasks_new_process(tasks, tid, e->ts, &utid);
		tasks_name_thread(tasks, utid, comm, THREAD_BY_FTRACE);
		tasks_name_process(tasks, upid, comm, PROCESS_BY_SYSTEM);
		tasks_set_parent_of(tasks, upid, e->utid);
	}
	rows_new_task(im, m, e->ts, utid, e->utid);
}

static void task_rename(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	uint32_t utid, upid, comm;
	struct pb_field text = {0};
	int32_t tid = 0;

	pb_read(&e->message, PB_TO(PB_TASK_RENAME_FTRACE_EVENT_PID, &tid),
		PB_TO(PB_TASK_RENAME_FTRACE_EVENT_NEWCOMM, &text));
	comm = import_intern_text(im, &text);
	utid = tasks_get_thread(&m->tasks, tid);
	tasks_name_thread(&m->tasks, utid, comm, THREAD_BY_FTRACE);
	upid = tasks_upid(&m->tasks, utid);
	if (upid != NULL_U32 &&
	    table_i64(import_table(im, TABLE_PROCESS), PROCESS_PID, upid) == tid)
		tasks_name_process(&m->tasks, upid, comm, PROCESS_BY_SYSTEM);
}

static void sched_process_free(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field pid;

	(void)im;
	if (event_field(e, PB_SCHED_PROCESS_FREE_FTRACE_EVENT_PID, &pid))
		tasks_end_thread(&m->tasks, (int32_t)pid.u64, e->ts);
}

static void sched_waking(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field text = {0};
	uint64_t flags = UINT64_MAX;
	uint32_t utid;
	int32_t tid = 0;

	pb_read(&e->message, PB_TO(PB_SCHED_WAKING_FTRACE_EVENT_PID, &tid),
		PB_TO(PB_SCHED_WAKING_FTRACE_EVENT_COMM, &text),
		PB_TO(PB_SCHED_WAKING_FTRACE_EVENT_COMMON_FLAGS, &flags));
	utid = tasks_get_thread(&m->tasks, tid);
	tasks_name_thread(&m->tasks, utid, import_intern_text(im, &text), THREAD_BY_FTRACE);
	/* other producers do not write the flags */
	rows_waking(im, m, e->ts, utid, e->utid,
		    flags == UINT64_MAX ? NULL_U8 : rows_in_interrupt(flags));
}

static void sched_blocked_reason(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	uint64_t caller = 0;
	bool io_wait = false;
	int32_t tid = 0;

	pb_read(&e->message, PB_TO(PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_PID, &tid),
		PB_TO(PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_CALLER, &caller),
		PB_TO(PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_IO_WAIT, &io_wait));
	rows_blocked_reason(im, m, tasks_get_thread(&m->tasks, tid), io_wait,
			    event_symbol_name(m, e, caller));
}

/*
 * Converts the expiry of a timer. Its clock is not in the event: of the clocks that a sleep can have
 * it is the one whose time is nearest to that of the event.
 */
static int64_t convert_expiry(struct machine *m, int64_t now, int64_t expires)
{
	static const uint32_t ids[] = {CLOCK_MONOTONIC_ID, CLOCK_BOOTTIME_ID, CLOCK_REALTIME_ID};
	int64_t due = NULL_I64, distance = INT64_MAX, ts, from_now;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		if (clocks_convert(&m->clocks, ids[i], expires, &ts) != CLOCK_CONVERTED)
			continue;
		ts = clocks_to_service_time(&m->clocks, ts);
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
static void hrtimer_start(struct import *im, struct machine *m, const struct ftrace_event *e)
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
	info->timer_due = convert_expiry(m, e->ts, (int64_t)expires.u64);
	info->timer = timer.u64;
	info->timer_state = e->sequence_state;
}

/* Forgets the timer of the thread's sleep: it has not slept after all. Timers have other numbers in
 * another state of the sequence: then this may be the thread's timer. */
static void hrtimer_cancel(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct thread_info *info = &im->infos.threads[e->utid];
	struct pb_field timer;

	(void)m;
	event_field(e, PB_HRTIMER_CANCEL_FTRACE_EVENT_HRTIMER, &timer);
	if (info->timer_state != e->sequence_state || info->timer == timer.u64)
		info->timer_due = NULL_I64;
}

const struct event_rule task_rules[] = {
	{PB_FTRACE_EVENT_TASK_NEWTASK, task_newtask, NULL},
	{PB_FTRACE_EVENT_TASK_RENAME, task_rename, NULL},
	{PB_FTRACE_EVENT_SCHED_PROCESS_FREE, sched_process_free, NULL},
	{PB_FTRACE_EVENT_SCHED_WAKING, sched_waking, NULL},
	{PB_FTRACE_EVENT_SCHED_BLOCKED_REASON, sched_blocked_reason, "caller"},
	{PB_FTRACE_EVENT_HRTIMER_START, hrtimer_start, NULL},
	{PB_FTRACE_EVENT_HRTIMER_CANCEL, hrtimer_cancel, NULL},
	{PB_FTRACE_EVENT_WORKQUEUE_QUEUE_WORK, NULL, "function"},
	{PB_FTRACE_EVENT_WORKQUEUE_ACTIVATE_WORK, NULL, "function"},
	{0, NULL, NULL},
};
