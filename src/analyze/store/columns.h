/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The tables of the store, and the columns of tasks and of kernel events. table_defs.c describes
 * the columns.
 */

enum store_table {
	TABLE_THREAD,
	TABLE_PROCESS,
	TABLE_SCHED,
	TABLE_THREAD_STATE,
	TABLE_WAKER, /* who woke the thread of a runnable row of thread_state */
	TABLE_LATE_TIMER, /* runnable rows of thread_state whose wakeup was late */
	TABLE_BLOCKED, /* why the thread of a blocked row of thread_state waited */
	TABLE_SPURIOUS_WAKEUP,
	TABLE_FTRACE,
	TABLE_COMPACT_SWITCH,
	TABLE_COMPACT_WAKING,
	TABLE_ARGS, /* the sets of arguments that are stored (arg_sets.h) */
	TABLE_CALL, /* sys_enter and sys_exit of the slices of system calls */
	TABLE_TRACK,
	TABLE_COUNTER,
	TABLE_SLICE,
	TABLE_SLICE_TIMES, /* CPU time and instructions of the thread, for slices with them */
	TABLE_STATE,
	TABLE_FLOW,
	TABLE_METADATA,
	TABLE_CLOCK_SNAPSHOT,
	TABLE_MACHINE,
	TABLE_CPU,
	TABLE_PROFILER_SESSION,
	TABLE_PROFILER_SAMPLE,
	TABLE_TASK_CONTEXT,
	TABLE_EXECUTION_CONTEXT,
	TABLE_ASYNC_CONTEXT,
	TABLE_COUNTER_SET, /* the counters of samples */
	TABLE_STACK_CALLSITE,
	TABLE_STACK_FRAME,
	TABLE_STACK_MAPPING,
	TABLE_STACK_SYMBOL,
	TABLE_EVENT_CALLSTACK, /* of track events */
	TABLE_SMAPS,
	TABLE_MEMORY_MAPPINGS,
	TABLE_STATS,
	TABLE_TRACE_BOUNDS,
	TABLES
};

enum thread_column {
	THREAD_UTID,
	THREAD_ID,
	THREAD_TID,
	THREAD_NAME,
	THREAD_START_TS,
	THREAD_END_TS,
	THREAD_UPID,
	THREAD_IS_MAIN,
	THREAD_IS_IDLE,
	THREAD_MACHINE,
	THREAD_ARGS
};

enum process_column {
	PROCESS_UPID,
	PROCESS_ID,
	PROCESS_PID,
	PROCESS_NAME,
	PROCESS_START_TS,
	PROCESS_END_TS,
	PROCESS_PARENT,
	PROCESS_UID,
	PROCESS_APPID,
	PROCESS_USER_ID,
	PROCESS_CMDLINE,
	PROCESS_ARGS,
	PROCESS_MACHINE
};

enum sched_column {
	SCHED_ID,
	SCHED_TS,
	SCHED_DUR,
	SCHED_CPU,
	SCHED_UTID,
	SCHED_END_STATE,
	SCHED_PRIORITY,
	SCHED_UCPU,
	SCHED_TS_END
};

enum thread_state_column {
	STATE_ID,
	STATE_TS,
	STATE_DUR,
	STATE_CPU,
	STATE_UTID,
	STATE_STATE,
	STATE_IO_WAIT,
	STATE_BLOCKED_FUNCTION,
	STATE_WAKER_UTID,
	STATE_WAKER_ID,
	STATE_IRQ_CONTEXT,
	STATE_UCPU,
	STATE_MORE, /* Running: ucpu; R: row of TABLE_WAKER; else row of TABLE_BLOCKED; or NULL */
};

enum waker_column { WAKER_UTID, WAKER_ROW, WAKER_IRQ_CONTEXT };
enum blocked_column { BLOCKED_IO_WAIT, BLOCKED_FUNCTION };

enum spurious_column {
	SPURIOUS_ID,
	SPURIOUS_TS,
	SPURIOUS_STATE,
	SPURIOUS_IRQ,
	SPURIOUS_UTID,
	SPURIOUS_WAKER
};

enum ftrace_column {
	FTRACE_ID,
	FTRACE_TS,
	FTRACE_NAME,
	FTRACE_CPU,
	FTRACE_UTID,
	FTRACE_ARGS,
	FTRACE_FLAGS,
	FTRACE_UCPU,
	FTRACE_KIND,
	FTRACE_PAYLOAD
};

enum compact_switch_column {
	SWITCH_PREV_COMM,
	SWITCH_PREV_PRIO,
	SWITCH_PREV_STATE,
	SWITCH_NEXT_COMM,
	SWITCH_NEXT_UTID,
	SWITCH_NEXT_PRIO
};

enum compact_waking_column { WAKING_COMM, WAKING_TID, WAKING_PRIO, WAKING_CPU, WAKING_FLAGS };

enum late_timer_column { LATE_TIMER_STATE, LATE_TIMER_NS }; /* how long the timer was due */

enum call_column { CALL_ENTER, CALL_EXIT }; /* each a row of TABLE_FTRACE, or NULL */

enum args_column { ARGS_ID, ARGS_SET, ARGS_KEY, ARGS_FLAT_KEY, ARGS_TYPE, ARGS_VALUE };
