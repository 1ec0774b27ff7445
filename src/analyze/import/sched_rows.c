/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes rows of sched and thread_state from switches and wakings. Each thread has at most one open
 * row of thread_state; the idle thread of a machine has none. A CPU has at most one open row of
 * sched.
 */
#include <string.h>

#include "analyze/import/cpus.h"
#include "analyze/import/event_rules.h"
#include "analyze/import/ftrace_rows.h"
#include "analyze/import/import_steps.h"
#include "analyze/store/table_defs.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/stranger.h"

/* ---- states ---- */

#define IS_NEW_LAYOUT(m)                                                                           \
	((m)->kernel_major > 4 || ((m)->kernel_major == 4 && (m)->kernel_minor >= 14))

/* Bits of prev_state, before Linux 4.14 and from 4.14 on, in the order of their letters in the
 * text. */
static const struct {
	uint16_t bit;
	char letter;
} old_bits[] = {{0x1, 'S'},  {0x2, 'D'},  {0x4, 'T'},	{0x8, 't'},   {0x10, 'X'}, {0x20, 'Z'},
		{0x40, 'x'}, {0x80, 'K'}, {0x100, 'W'}, {0x200, 'P'}, {0x400, 'N'}},
  new_bits[] = {{0x1, 'S'},  {0x2, 'D'},  {0x4, 'T'},  {0x8, 't'},
		{0x10, 'X'}, {0x20, 'Z'}, {0x40, 'P'}, {0x80, 'I'}};

/* Writes the letters of a state, such as "S" or "R+". Returns how many there are; 0 for bits that
 * this version of the kernel does not have. */
static size_t format_state(const struct machine *m, uint16_t bits, char text[static 16])
{
	size_t n = 0;
	bool is_new = IS_NEW_LAYOUT(m);
	uint16_t preempted = is_new					    ? 0x100
			     : m->kernel_major == 4 && m->kernel_minor >= 8 ? 0x1000
									    : 0x800;

	if (is_new && bits & 0xfe00)
		return 0;
	if (!is_new && (bits & (uint16_t) ~(preempted | 0x7ff)))
		return 0;
	if (bits == preempted) {
		text[0] = 'R';
		text[1] = '+';
		return 2;
	}
	bits &= (uint16_t)~preempted;
	if (!bits)
		text[n++] = 'R';
	if (!is_new && bits == 0x402) {
		text[n++] = 'I';
		return n;
	}
	for (size_t i = 0; i < (is_new ? ARRAY_SIZE(new_bits) : ARRAY_SIZE(old_bits)); i++)
		if (bits & (is_new ? new_bits[i].bit : old_bits[i].bit))
			text[n++] = is_new ? new_bits[i].letter : old_bits[i].letter;
	return n;
}

/* Returns the number of the state (store_state_number()); NULL_U16, which it counts, for a value
 * that no kernel has. */
static uint16_t sched_rows_get_state(struct import *im, struct machine *m, int64_t prev_state)
{
	uint16_t bits = (uint16_t)prev_state;
	char text[16];
	size_t n;

	if (bits < ARRAY_SIZE(m->states) && m->states[bits])
		return (uint16_t)(m->states[bits] - 1);
	n = format_state(m, bits, text);
	if (!n) {
		stats_add(im->store, STAT_TASK_STATE_INVALID, STAT_NO_INDEX, 1);
		return NULL_U16;
	}
	n = store_state_number(im->store, strings_intern(&im->store->strings, text, n));
	if (bits < ARRAY_SIZE(m->states) && n != NULL_U16)
		m->states[bits] = (uint16_t)(n + 1);
	return (uint16_t)n;
}

/* ---- thread_state ---- */

static void open_state(struct import *im, uint32_t utid, int64_t ts, uint16_t state, uint32_t more)
{
	struct table *t = import_table(im, TABLE_THREAD_STATE);
	struct thread_info *info = &im->infos.threads[utid];
	uint32_t row = table_append(t);

	table_set_ts(t, STATE_TS, row, ts);
	table_set_dur(t, STATE_DUR, row, -1);
	table_set_u32(t, STATE_UTID, row, utid);
	table_set_u16(t, STATE_STATE, row, state);
	table_set_u32(t, STATE_MORE, row, more);
	info->state_row = row;
	if (state == STORE_STATE_RUNNING)
		info->blocked_row = NULL_U32;
	else if (state != STORE_STATE_RUNNABLE)
		info->blocked_row = row;
}

static void close_state(struct import *im, uint32_t utid, int64_t ts)
{
	struct table *t = import_table(im, TABLE_THREAD_STATE);
	uint32_t row = im->infos.threads[utid].state_row;

	if (row != NULL_U32)
		table_set_dur(t, STATE_DUR, row, ts - table_ts(t, STATE_TS, row));
}

/* Returns the state of the thread's open row; NULL_U16 if there is no row, or it has no state. */
static uint16_t find_open_state(struct import *im, uint32_t utid)
{
	uint32_t row = im->infos.threads[utid].state_row;

	return row == NULL_U32 ? NULL_U16
			       : table_u16(import_table(im, TABLE_THREAD_STATE), STATE_STATE, row);
}

static uint32_t add_waker(struct import *im, uint32_t waker, uint8_t irq)
{
	struct table *t = import_table(im, TABLE_WAKER);
	uint32_t row = table_append(t);

	table_set_u32(t, WAKER_UTID, row, waker);
	table_set_u32(t, WAKER_ROW, row,
		      find_open_state(im, waker) == STORE_STATE_RUNNING
			      ? im->infos.threads[waker].state_row
			      : NULL_U32);
	table_set_u8(t, WAKER_IRQ_CONTEXT, row, irq);
	return row;
}

static void add_switch_states(struct import *im, struct machine *m, uint32_t cpu, int64_t ts,
			      uint32_t prev, uint16_t prev_state, uint32_t next)
{
	if (prev != m->tasks.idle) {
		/* If the thread was not running, a switch to it is missing, so its row stays
		 * open. */
		if (find_open_state(im, prev) == STORE_STATE_RUNNING)
			close_state(im, prev, ts);
		open_state(im, prev, ts, prev_state, NULL_U32);
	}
	if (next != m->tasks.idle) {
		close_state(im, next, ts);
		open_state(im, next, ts, STORE_STATE_RUNNING, m->row * MAX_CPUS + cpu);
	}
}

/* Adds a row if the thread still slept when its timer was due (at `due`): any thread may wake it
 * before the timer does. */
static void store_late_timer(struct import *im, uint32_t utid, int64_t ts, int64_t due)
{
	struct table *t = import_table(im, TABLE_LATE_TIMER);
	uint32_t row;

	if (due == NULL_I64 || ts < due)
		return;
	row = table_append(t);
	table_set_u32(t, LATE_TIMER_STATE, row, im->infos.threads[utid].state_row);
	table_set_i64(t, LATE_TIMER_NS, row, ts - due);
}

/* Makes a sleeping thread runnable. If the thread is running or runnable already, adds a row of a
 * spurious wakeup instead. irq: 1 if an interrupt woke it, 0 if not, NULL_U8: unknown. */
static void import_waking(struct import *im, struct machine *m, int64_t ts, uint32_t utid,
			  uint32_t waker, uint8_t irq)
{
	uint32_t open = im->infos.threads[utid].state_row;
	int64_t due = im->infos.threads[utid].timer_due;
	uint16_t state = find_open_state(im, utid);

	if (utid == m->tasks.idle)
		return;
	im->infos.threads[utid].timer_due = NULL_I64;
	if (open != NULL_U32 && (state == STORE_STATE_RUNNING || state == STORE_STATE_RUNNABLE)) {
		struct table *t = import_table(im, TABLE_SPURIOUS_WAKEUP);
		uint32_t row = table_append(t);

		table_set_ts(t, SPURIOUS_TS, row, ts);
		table_set_u32(t, SPURIOUS_STATE, row, open);
		table_set_u8(t, SPURIOUS_IRQ, row, irq);
		table_set_u32(t, SPURIOUS_UTID, row, utid);
		table_set_u32(t, SPURIOUS_WAKER, row, waker);
		return;
	}
	close_state(im, utid, ts);
	open_state(im, utid, ts, STORE_STATE_RUNNABLE, add_waker(im, waker, irq));
	store_late_timer(im, utid, ts, due);
}

static void import_new_task(struct import *im, struct machine *m, int64_t ts, uint32_t utid,
			    uint32_t parent)
{
	if (utid != m->tasks.idle)
		open_state(im, utid, ts, STORE_STATE_RUNNABLE, add_waker(im, parent, 0));
}

static void import_blocked_reason(struct import *im, struct machine *m, uint32_t utid, bool io_wait,
				  uint32_t function)
{
	uint32_t blocked = im->infos.threads[utid].blocked_row, row;
	struct table *t = import_table(im, TABLE_BLOCKED);

	if (blocked == NULL_U32 || utid == m->tasks.idle)
		return;
	row = table_append(t);
	table_set_u8(t, BLOCKED_IO_WAIT, row, io_wait);
	table_set_u32(t, BLOCKED_FUNCTION, row, function);
	table_set_u32(import_table(im, TABLE_THREAD_STATE), STATE_MORE, blocked, row);
}

/* ---- sched ---- */

static void close_slice(struct import *im, struct cpu_sched *c, int64_t ts, uint16_t state)
{
	struct table *t = import_table(im, TABLE_SCHED);

	if (c->slice == NULL_U32)
		return;
	table_set_dur(t, SCHED_DUR, c->slice, ts - table_ts(t, SCHED_TS, c->slice));
	table_set_u16(t, SCHED_END_STATE, c->slice, state);
}

static uint32_t open_slice(struct import *im, struct machine *m, uint32_t cpu, int64_t ts,
			   uint32_t utid, int32_t prio)
{
	struct table *t = import_table(im, TABLE_SCHED);
	uint32_t row = table_append(t);

	table_set_ts(t, SCHED_TS, row, ts);
	table_set_dur(t, SCHED_DUR, row, -1);
	table_set_u32(t, SCHED_CPU, row, m->row * MAX_CPUS + cpu);
	table_set_u32(t, SCHED_UTID, row, utid);
	table_set_u16(t, SCHED_END_STATE, row, NULL_U16);
	table_set_i32(t, SCHED_PRIORITY, row, prio);
	return row;
}

static void store_last_switch(struct cpu_sched *c, uint32_t utid, int32_t tid, int32_t prio)
{
	c->has_last = true;
	c->utid = utid;
	c->tid = tid;
	c->prio = prio;
}

static uint32_t get_named_thread(struct machine *m, int32_t tid, uint32_t comm)
{
	uint32_t utid = tasks_get_thread(&m->tasks, tid);

	tasks_name_thread(&m->tasks, utid, comm, THREAD_BY_FTRACE);
	return utid;
}

/* Returns true for a switch to a thread that is not recorded (ftrace/encode/subject_sched.h). */
static bool is_to_stranger(const struct queued_event *e)
{
	return e->tid == 0 && (int32_t)e->a == COMPACT_STRANGER_PRIO;
}

void import_compact_switch(struct import *im, struct machine *m, uint32_t cpu,
			   const struct queued_event *e)
{
	struct table *compact = import_table(im, TABLE_COMPACT_SWITCH);
	struct cpu_sched *c = &m->cpus[cpu].sched;
	uint32_t next = get_named_thread(m, e->tid, e->comm), prev = c->utid, row;
	int32_t next_prio = (int32_t)e->a;
	uint16_t state;

	if (!c->has_last) {
		stats_add(im->store, STAT_COMPACT_SCHED_SWITCH_SKIPPED, STAT_NO_INDEX, 1);
		store_last_switch(c, next, e->tid, next_prio);
		return;
	}
	row = table_append(compact);
	table_set_u32(compact, SWITCH_PREV_COMM, row,
		      table_u32(import_table(im, TABLE_THREAD), THREAD_NAME, prev));
	table_set_i32(compact, SWITCH_PREV_PRIO, row, c->prio);
	table_set_i32(compact, SWITCH_PREV_STATE, row, (int32_t)e->b);
	table_set_u32(compact, SWITCH_NEXT_COMM, row, e->comm);
	table_set_u32(compact, SWITCH_NEXT_UTID, row, next);
	table_set_i32(compact, SWITCH_NEXT_PRIO, row, next_prio);
	rows_add_ftrace(im, m, cpu, e->ts, PB_FTRACE_EVENT_SCHED_SWITCH, prev, PAYLOAD_SWITCH, row);
	if (!rows_is_early(m, e->ts)) {
		state = sched_rows_get_state(im, m, (int32_t)e->b);
		close_slice(im, c, e->ts, state);
		c->slice = is_to_stranger(e) ? NULL_U32
					     : open_slice(im, m, cpu, e->ts, next, next_prio);
		add_switch_states(im, m, cpu, e->ts, prev, state, next);
	}
	store_last_switch(c, next, e->tid, next_prio);
}

void import_compact_waking(struct import *im, struct machine *m, uint32_t cpu,
			   const struct queued_event *e)
{
	struct table *compact = import_table(im, TABLE_COMPACT_WAKING);
	const struct cpu_sched *c = &m->cpus[cpu].sched;
	uint16_t flags = (uint16_t)(e->b >> 16);
	uint32_t row;

	if (!c->has_last) {
		stats_add(im->store, STAT_COMPACT_SCHED_WAKING_SKIPPED, STAT_NO_INDEX, 1);
		return;
	}
	row = table_append(compact);
	table_set_u32(compact, WAKING_COMM, row, e->comm);
	table_set_i32(compact, WAKING_TID, row, e->tid);
	table_set_i32(compact, WAKING_PRIO, row, (int32_t)e->a);
	table_set_i32(compact, WAKING_CPU, row, (int16_t)e->b);
	table_set_u16(compact, WAKING_FLAGS, row, flags);
	rows_add_ftrace(im, m, cpu, e->ts, PB_FTRACE_EVENT_SCHED_WAKING, c->utid, PAYLOAD_WAKING,
			row);
	if (!rows_is_early(m, e->ts))
		import_waking(im, m, e->ts, tasks_get_thread(&m->tasks, e->tid), c->utid,
			      is_record_in_interrupt(flags));
}

/* ---- sched_switch with all of its fields ---- */

static void read_switch(struct store *s, const uint8_t *data, size_t len, struct sched_switch *ret)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		switch (f.id) {
		case PB_SCHED_SWITCH_FTRACE_EVENT_PREV_COMM:
			ret->prev_comm = strings_intern(&s->strings, f.data, f.len);
			break;
		case PB_SCHED_SWITCH_FTRACE_EVENT_PREV_PID:
			ret->prev_tid = (int32_t)f.u64;
			break;
		case PB_SCHED_SWITCH_FTRACE_EVENT_PREV_PRIO:
			ret->prev_prio = (int32_t)f.u64;
			break;
		case PB_SCHED_SWITCH_FTRACE_EVENT_PREV_STATE:
			ret->prev_state = (int64_t)f.u64;
			break;
		case PB_SCHED_SWITCH_FTRACE_EVENT_NEXT_COMM:
			ret->next_comm = strings_intern(&s->strings, f.data, f.len);
			break;
		case PB_SCHED_SWITCH_FTRACE_EVENT_NEXT_PID:
			ret->next_tid = (int32_t)f.u64;
			break;
		case PB_SCHED_SWITCH_FTRACE_EVENT_NEXT_PRIO:
			ret->next_prio = (int32_t)f.u64;
			break;
		}
}

void import_full_switch(struct import *im, struct machine *m, uint32_t cpu, int64_t ts,
			const uint8_t *data, size_t len)
{
	struct cpu_sched *c = &m->cpus[cpu].sched;
	struct sched_switch sw = {.prev_tid = 0};
	uint32_t next, prev;
	uint16_t state;

	if (rows_is_early(m, ts))
		return; /* unlike other early events, a full switch has no row of ftrace_event */
	read_switch(im->store, data, len, &sw);
	next = get_named_thread(m, sw.next_tid, sw.next_comm);
	prev = get_named_thread(m, sw.prev_tid, sw.prev_comm);
	rows_add_ftrace(im, m, cpu, ts, PB_FTRACE_EVENT_SCHED_SWITCH, prev, PAYLOAD_RAW,
			(uintptr_t)data);
	state = sched_rows_get_state(im, m, sw.prev_state);
	if (c->has_last && c->tid == sw.prev_tid)
		close_slice(im, c, ts, state);
	else if (c->has_last)
		stats_add(im->store, STAT_MISMATCHED_SCHED_SWITCH_TIDS, STAT_NO_INDEX, 1);
	c->slice = open_slice(im, m, cpu, ts, next, sw.next_prio);
	add_switch_states(im, m, cpu, ts, prev, state, next);
	store_last_switch(c, next, sw.next_tid, sw.next_prio);
}

void sched_rows_end_session(struct import *im, struct machine *m)
{
	struct table *threads = import_table(im, TABLE_THREAD);

	if (m->last_event == INT64_MIN)
		return;
	for (size_t cpu = 0; cpu < m->n_cpus; cpu++) {
		struct cpu_sched *c = &m->cpus[cpu].sched;

		close_slice(im, c, m->last_event, NULL_U16);
		*c = (struct cpu_sched){.slice = NULL_U32};
	}
	for (uint32_t utid = 0; utid < im->infos.n_threads; utid++) {
		struct thread_info *info = &im->infos.threads[utid];

		if (table_u32(threads, THREAD_MACHINE, utid) != m->row)
			continue;
		close_state(im, utid, m->last_event);
		info->state_row = info->blocked_row = NULL_U32;
		info->timer_due = NULL_I64;
	}
	m->last_event = INT64_MIN;
}

/* Events of tasks and of the scheduler: what each changes in thread, process and thread_state. */

#define CLONE_THREAD 0x10000u

static void handle_task_newtask(struct import *im, struct machine *m, const struct ftrace_event *e)
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
	import_new_task(im, m, e->ts, utid, e->utid);
}

static void handle_task_rename(struct import *im, struct machine *m, const struct ftrace_event *e)
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

static void handle_sched_process_free(struct import *im, struct machine *m,
				      const struct ftrace_event *e)
{
	struct pb_field pid;

	if (event_field(e, PB_SCHED_PROCESS_FREE_FTRACE_EVENT_PID, &pid))
		tasks_end_thread(&m->tasks, (int32_t)pid.u64, e->ts);
}

static void handle_sched_waking(struct import *im, struct machine *m, const struct ftrace_event *e)
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
	import_waking(im, m, e->ts, utid, e->utid,
		      flags == UINT64_MAX ? NULL_U8 : is_record_in_interrupt(flags));
}

static void handle_sched_blocked_reason(struct import *im, struct machine *m,
					const struct ftrace_event *e)
{
	uint64_t caller = 0;
	bool io_wait = false;
	int32_t tid = 0;

	pb_read(&e->message, PB_TO(PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_PID, &tid),
		PB_TO(PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_CALLER, &caller),
		PB_TO(PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_IO_WAIT, &io_wait));
	import_blocked_reason(im, m, tasks_get_thread(&m->tasks, tid), io_wait,
			      event_symbol_name(m, e, caller));
}

/* Converts the expiry of a timer to the time of the trace; NULL_I64 if that is not possible. The
 * event does not name the timer's clock. Of the clocks that a sleep can use, it is taken to be the
 * one whose time is nearest to that of the event. */
static int64_t convert_timer_expiry(struct machine *m, int64_t now, int64_t expires)
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

/* Stores when the timer of a thread's own sleep is due. Such timers are recognised by their
 * function, hrtimer_wakeup(). */
static void handle_hrtimer_start(struct import *im, struct machine *m, const struct ftrace_event *e)
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
	info->timer_due = convert_timer_expiry(m, e->ts, (int64_t)expires.u64);
	info->timer = timer.u64;
	info->timer_state = e->sequence_state;
}

/* Forgets the timer of the thread's sleep, as the thread did not sleep after all. In another state
 * of the sequence, timers have other numbers: then this may be the thread's timer. */
static void handle_hrtimer_cancel(struct import *im, struct machine *m,
				  const struct ftrace_event *e)
{
	struct thread_info *info = &im->infos.threads[e->utid];
	struct pb_field timer;

	event_field(e, PB_HRTIMER_CANCEL_FTRACE_EVENT_HRTIMER, &timer);
	if (info->timer_state != e->sequence_state || info->timer == timer.u64)
		info->timer_due = NULL_I64;
}

const struct event_rule task_rules[] = {
	{PB_FTRACE_EVENT_TASK_NEWTASK, handle_task_newtask, NULL},
	{PB_FTRACE_EVENT_TASK_RENAME, handle_task_rename, NULL},
	{PB_FTRACE_EVENT_SCHED_PROCESS_FREE, handle_sched_process_free, NULL},
	{PB_FTRACE_EVENT_SCHED_WAKING, handle_sched_waking, NULL},
	{PB_FTRACE_EVENT_SCHED_BLOCKED_REASON, handle_sched_blocked_reason, "caller"},
	{PB_FTRACE_EVENT_HRTIMER_START, handle_hrtimer_start, NULL},
	{PB_FTRACE_EVENT_HRTIMER_CANCEL, handle_hrtimer_cancel, NULL},
	{PB_FTRACE_EVENT_WORKQUEUE_QUEUE_WORK, NULL, "function"},
	{PB_FTRACE_EVENT_WORKQUEUE_ACTIVATE_WORK, NULL, "function"},
	{0, NULL, NULL},
};
