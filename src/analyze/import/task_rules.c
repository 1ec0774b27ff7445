/* SPDX-License-Identifier: Apache-2.0 */
/* Events of tasks and of the scheduler: what each changes in thread, process and thread_state. */
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
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, e->data, e->len);
	while (pb_dec_next(&d, &f)) {
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
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, e->data, e->len);
	while (pb_dec_next(&d, &f)) {
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
	struct pb_field f;
	struct pb_dec d;

	(void)im;
	pb_dec_init(&d, e->data, e->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_SCHED_PROCESS_FREE_FTRACE_EVENT_PID)
			tasks_end(&m->tasks, (int32_t)f.u64, e->ts);
}

static void waking(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct task_fields t = {.comm = NULL_U32};
	uint8_t irq = NULL_U8; /* other producers do not write the flags */
	struct pb_field f;
	struct pb_dec d;
	uint32_t utid;

	pb_dec_init(&d, e->data, e->len);
	while (pb_dec_next(&d, &f)) {
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
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, e->data, e->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_PID)
			t.tid = (int32_t)f.u64;
		else if (f.id == PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_CALLER)
			t.number = f.u64;
		else if (f.id == PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_IO_WAIT)
			t.io_wait = f.u64 != 0;
	}
	rows_blocked_reason(im, m, tasks_thread(&m->tasks, t.tid), t.io_wait,
			    event_symbol(m, e, t.number));
}

const struct event_rule task_rules[] = {
	{PB_FTRACE_EVENT_TASK_NEWTASK, new_task, NULL},
	{PB_FTRACE_EVENT_TASK_RENAME, rename, NULL},
	{PB_FTRACE_EVENT_SCHED_PROCESS_FREE, process_free, NULL},
	{PB_FTRACE_EVENT_SCHED_WAKING, waking, NULL},
	{PB_FTRACE_EVENT_SCHED_BLOCKED_REASON, blocked_reason, "caller"},
	{PB_FTRACE_EVENT_WORKQUEUE_QUEUE_WORK, NULL, "function"},
	{PB_FTRACE_EVENT_WORKQUEUE_ACTIVATE_WORK, NULL, "function"},
	{0, NULL, NULL},
};
