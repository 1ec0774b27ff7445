/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each row describes a column: its name in SQL, and how it is stored. Names, types and meaning are
 * those of trace_processor's tables, so that scripts run on both.
 */
#include "analyze/store/table_defs.h"

#include "analyze/store/event_args.h"
#include "analyze/store/memory_columns.h"
#include "analyze/store/stack_columns.h"
#include "base/core/mem.h"
#include "gen/fields.h"

/* Most columns leave out the last member, of which clang warns. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static const struct table *table_defs_table_of(const struct store *s, enum store_table which)
{
	return &s->tables[which];
}

static void set_int(struct value *ret, int64_t i)
{
	*ret = (struct value){.kind = VALUE_INT, .i = i};
}

static void set_u32(struct value *ret, uint32_t v)
{
	if (v != NULL_U32)
		set_int(ret, v);
}

static void set_string(const struct store *s, struct value *ret, uint32_t id)
{
	if (id < s->strings.n)
		*ret = (struct value){
			.kind = VALUE_TEXT, .s = s->strings.of[id].s, .len = s->strings.of[id].len};
}

/* Sets NULL, for columns about which no Linux trace says anything. */
static void no_value(const struct store *s, uint32_t row, struct value *ret)
{
	(void)s;
	(void)row;
	*ret = (struct value){.kind = VALUE_NULL};
}

/* ---- process, sched ---- */

/* Android numbers its uids as user * UIDS_A_USER + app. */
#define UIDS_A_USER 100000

static void process_appid(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t uid = table_u32(table_defs_table_of(s, TABLE_PROCESS), PROCESS_UID, row);

	if (uid != NULL_U32)
		set_int(ret, uid % UIDS_A_USER);
}

static void process_user_id(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t uid = table_u32(table_defs_table_of(s, TABLE_PROCESS), PROCESS_UID, row);

	if (uid != NULL_U32)
		set_int(ret, uid / UIDS_A_USER);
}

static void sched_ts_end(const struct store *s, uint32_t row, struct value *ret)
{
	const struct table *t = table_defs_table_of(s, TABLE_SCHED);

	set_int(ret, table_ts(t, SCHED_TS, row) + table_dur(t, SCHED_DUR, row));
}

/* ---- thread_state: what STATE_MORE means depends on the state ---- */

enum state_class { STATE_RUNNING, STATE_RUNNABLE, STATE_BLOCKED };

static enum state_class class_of(const struct store *s, uint32_t row)
{
	uint16_t state = table_u16(table_defs_table_of(s, TABLE_THREAD_STATE), STATE_STATE, row);

	return state == STORE_STATE_RUNNING    ? STATE_RUNNING
	       : state == STORE_STATE_RUNNABLE ? STATE_RUNNABLE
					       : STATE_BLOCKED;
}

static uint32_t detail_row_of(const struct store *s, uint32_t row, enum state_class wanted)
{
	return class_of(s, row) == wanted
		       ? table_u32(table_defs_table_of(s, TABLE_THREAD_STATE), STATE_MORE, row)
		       : NULL_U32;
}

static void state_ucpu(const struct store *s, uint32_t row, struct value *ret)
{
	set_u32(ret, detail_row_of(s, row, STATE_RUNNING));
}

static void state_waker_utid(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = detail_row_of(s, row, STATE_RUNNABLE);

	if (more != NULL_U32)
		set_u32(ret, table_u32(table_defs_table_of(s, TABLE_WAKER), WAKER_UTID, more));
}

static void state_waker_id(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = detail_row_of(s, row, STATE_RUNNABLE);

	if (more != NULL_U32)
		set_u32(ret, table_u32(table_defs_table_of(s, TABLE_WAKER), WAKER_ROW, more));
}

static void state_irq_context(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = detail_row_of(s, row, STATE_RUNNABLE);
	uint8_t irq = more == NULL_U32 ? NULL_U8
				       : table_u8(table_defs_table_of(s, TABLE_WAKER),
						  WAKER_IRQ_CONTEXT, more);

	if (irq != NULL_U8)
		set_int(ret, irq);
}

static void state_io_wait(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = detail_row_of(s, row, STATE_BLOCKED);

	if (more != NULL_U32)
		set_int(ret,
			table_u8(table_defs_table_of(s, TABLE_BLOCKED), BLOCKED_IO_WAIT, more));
}

static void state_blocked_function(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = detail_row_of(s, row, STATE_BLOCKED);

	if (more != NULL_U32)
		set_string(
			s, ret,
			table_u32(table_defs_table_of(s, TABLE_BLOCKED), BLOCKED_FUNCTION, more));
}

/* ---- ftrace_event ---- */

static void ftrace_name(const struct store *s, uint32_t row, struct value *ret)
{
	event_args_name(s, row, ret);
}

static void ftrace_args(const struct store *s, uint32_t row, struct value *ret)
{
	int64_t set = event_args_set_id(s, row);

	if (set >= 0)
		set_int(ret, set);
}

/* Sets the flags of a sched_waking, else 0: other events are recorded without their flags. */
static void ftrace_flags(const struct store *s, uint32_t row, struct value *ret)
{
	const struct table *t = table_defs_table_of(s, TABLE_FTRACE);
	uint64_t payload = (uint64_t)table_i64(t, FTRACE_PAYLOAD, row), flags = 0;
	struct pb_dec d = event_args_message(s, row);
	struct pb_field f;

	if ((payload & PAYLOAD_KIND) == PAYLOAD_WAKING)
		flags = table_u16(table_defs_table_of(s, TABLE_COMPACT_WAKING), WAKING_FLAGS,
				  (uint32_t)(payload >> PAYLOAD_BITS));
	else if (table_u16(t, FTRACE_KIND, row) == PB_FTRACE_EVENT_SCHED_WAKING)
		while (pb_dec_next(&d, &f))
			if (f.id == PB_SCHED_WAKING_FTRACE_EVENT_COMMON_FLAGS)
				flags = f.u64;
	set_int(ret, (int64_t)flags);
}

/* ---- slices: few of them have times of their thread ---- */

uint32_t slice_times_row(const struct table *t, uint32_t slice)
{
	uint32_t lo = 0, hi = t->rows;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (table_u32(t, SLICE_TIMES_SLICE, mid) < slice)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->rows && table_u32(t, SLICE_TIMES_SLICE, lo) == slice ? lo : NULL_U32;
}

static void slice_time(const struct store *s, uint32_t slice, unsigned column, struct value *ret)
{
	const struct table *t = table_defs_table_of(s, TABLE_SLICE_TIMES);
	uint32_t row = slice_times_row(t, slice);

	if (row != NULL_U32 && table_i64(t, column, row) != NULL_I64)
		set_int(ret, table_i64(t, column, row));
}

static void slice_thread_ts(const struct store *s, uint32_t row, struct value *ret)
{
	slice_time(s, row, SLICE_TIMES_THREAD_TS, ret);
}

static void slice_thread_dur(const struct store *s, uint32_t row, struct value *ret)
{
	slice_time(s, row, SLICE_TIMES_THREAD_DUR, ret);
}

static void slice_instructions(const struct store *s, uint32_t row, struct value *ret)
{
	slice_time(s, row, SLICE_TIMES_INSTRUCTIONS, ret);
}

static void slice_instruction_delta(const struct store *s, uint32_t row, struct value *ret)
{
	slice_time(s, row, SLICE_TIMES_INSTRUCTION_DELTA, ret);
}

/* ---- the tables ---- */

static const struct column_def thread_columns[] = {
	[THREAD_UTID] = {.name = "utid", .kind = COLUMN_ID},
	[THREAD_ID] = {.name = "id", .kind = COLUMN_ID},
	[THREAD_TID] = {.name = "tid", .kind = COLUMN_I64},
	[THREAD_NAME] = {.name = "name", .kind = COLUMN_STRING},
	[THREAD_START_TS] = {.name = "start_ts", .kind = COLUMN_I64},
	[THREAD_END_TS] = {.name = "end_ts", .kind = COLUMN_I64},
	[THREAD_UPID] = {.name = "upid", .kind = COLUMN_U32},
	[THREAD_IS_MAIN] = {.name = "is_main_thread", .kind = COLUMN_U8},
	[THREAD_IS_IDLE] = {.name = "is_idle", .kind = COLUMN_U8},
	[THREAD_MACHINE] = {.name = "machine_id", .kind = COLUMN_U32},
	[THREAD_ARGS] = {.name = "arg_set_id", .kind = COLUMN_U32},
};

static const struct column_def process_columns[] = {
	[PROCESS_UPID] = {.name = "upid", .kind = COLUMN_ID},
	[PROCESS_ID] = {.name = "id", .kind = COLUMN_ID},
	[PROCESS_PID] = {.name = "pid", .kind = COLUMN_I64},
	[PROCESS_NAME] = {.name = "name", .kind = COLUMN_STRING},
	[PROCESS_START_TS] = {.name = "start_ts", .kind = COLUMN_I64},
	[PROCESS_END_TS] = {.name = "end_ts", .kind = COLUMN_I64},
	[PROCESS_PARENT] = {.name = "parent_upid", .kind = COLUMN_U32},
	[PROCESS_UID] = {.name = "uid", .kind = COLUMN_U32},
	[PROCESS_APPID] = {.name = "android_appid",
			   .kind = COLUMN_COMPUTED,
			   .compute = process_appid},
	[PROCESS_USER_ID] = {.name = "android_user_id",
			     .kind = COLUMN_COMPUTED,
			     .compute = process_user_id},
	[PROCESS_CMDLINE] = {.name = "cmdline", .kind = COLUMN_STRING},
	[PROCESS_ARGS] = {.name = "arg_set_id", .kind = COLUMN_U32},
	[PROCESS_MACHINE] = {.name = "machine_id", .kind = COLUMN_U32},
};

static const struct column_def sched_columns[] = {
	[SCHED_ID] = {.name = "id", .kind = COLUMN_ID},
	[SCHED_TS] = {.name = "ts", .kind = COLUMN_TS},
	[SCHED_DUR] = {.name = "dur", .kind = COLUMN_DUR},
	[SCHED_CPU] = {.name = "cpu", .kind = COLUMN_U32},
	[SCHED_UTID] = {.name = "utid", .kind = COLUMN_U32},
	[SCHED_END_STATE] = {.name = "end_state", .kind = COLUMN_STATE},
	[SCHED_PRIORITY] = {.name = "priority", .kind = COLUMN_I32},
	[SCHED_UCPU] = {.name = "ucpu", .kind = COLUMN_SAME, .arg = SCHED_CPU},
	[SCHED_TS_END] = {.name = "ts_end", .kind = COLUMN_COMPUTED, .compute = sched_ts_end},
};

static const struct column_def state_columns[] = {
	[STATE_ID] = {.name = "id", .kind = COLUMN_ID},
	[STATE_TS] = {.name = "ts", .kind = COLUMN_TS},
	[STATE_DUR] = {.name = "dur", .kind = COLUMN_DUR},
	[STATE_CPU] = {.name = "cpu", .kind = COLUMN_COMPUTED, .compute = state_ucpu},
	[STATE_UTID] = {.name = "utid", .kind = COLUMN_U32},
	[STATE_STATE] = {.name = "state", .kind = COLUMN_STATE},
	[STATE_IO_WAIT] = {.name = "io_wait", .kind = COLUMN_COMPUTED, .compute = state_io_wait},
	[STATE_BLOCKED_FUNCTION] = {.name = "blocked_function",
				    .kind = COLUMN_COMPUTED,
				    .arg = 1,
				    .compute = state_blocked_function},
	[STATE_WAKER_UTID] = {.name = "waker_utid",
			      .kind = COLUMN_COMPUTED,
			      .compute = state_waker_utid},
	[STATE_WAKER_ID] = {.name = "waker_id", .kind = COLUMN_COMPUTED, .compute = state_waker_id},
	[STATE_IRQ_CONTEXT] = {.name = "irq_context",
			       .kind = COLUMN_COMPUTED,
			       .compute = state_irq_context},
	[STATE_UCPU] = {.name = "ucpu", .kind = COLUMN_COMPUTED, .compute = state_ucpu},
	[STATE_MORE] = {.kind = COLUMN_U32},
};

static const struct column_def waker_columns[] = {
	[WAKER_UTID] = {.kind = COLUMN_U32},
	[WAKER_ROW] = {.kind = COLUMN_U32},
	[WAKER_IRQ_CONTEXT] = {.kind = COLUMN_U8},
};

static const struct column_def late_timer_columns[] = {
	[LATE_TIMER_STATE] = {.kind = COLUMN_U32},
	[LATE_TIMER_NS] = {.kind = COLUMN_I64},
};

static const struct column_def blocked_columns[] = {
	[BLOCKED_IO_WAIT] = {.kind = COLUMN_U8},
	[BLOCKED_FUNCTION] = {.kind = COLUMN_STRING},
};

static const struct column_def spurious_columns[] = {
	[SPURIOUS_ID] = {.name = "id", .kind = COLUMN_ID},
	[SPURIOUS_TS] = {.name = "ts", .kind = COLUMN_TS},
	[SPURIOUS_STATE] = {.name = "thread_state_id", .kind = COLUMN_U32},
	[SPURIOUS_IRQ] = {.name = "irq_context", .kind = COLUMN_U8},
	[SPURIOUS_UTID] = {.name = "utid", .kind = COLUMN_U32},
	[SPURIOUS_WAKER] = {.name = "waker_utid", .kind = COLUMN_U32},
};

static const struct column_def ftrace_columns[] = {
	[FTRACE_ID] = {.name = "id", .kind = COLUMN_ID},
	[FTRACE_TS] = {.name = "ts", .kind = COLUMN_TS},
	[FTRACE_NAME] = {.name = "name",
			 .kind = COLUMN_COMPUTED,
			 .arg = 1,
			 .compute = ftrace_name,
			 .of = FTRACE_KIND},
	[FTRACE_CPU] = {.name = "cpu", .kind = COLUMN_U32},
	[FTRACE_UTID] = {.name = "utid", .kind = COLUMN_U32},
	[FTRACE_ARGS] = {.name = "arg_set_id", .kind = COLUMN_COMPUTED, .compute = ftrace_args},
	[FTRACE_FLAGS] = {.name = "common_flags", .kind = COLUMN_COMPUTED, .compute = ftrace_flags},
	[FTRACE_UCPU] = {.name = "ucpu", .kind = COLUMN_SAME, .arg = FTRACE_CPU},
	[FTRACE_KIND] = {.kind = COLUMN_U16},
	[FTRACE_PAYLOAD] = {.kind = COLUMN_I64},
};

static const struct column_def switch_columns[] = {
	[SWITCH_PREV_COMM] = {.kind = COLUMN_STRING}, [SWITCH_PREV_PRIO] = {.kind = COLUMN_I32},
	[SWITCH_PREV_STATE] = {.kind = COLUMN_I32},   [SWITCH_NEXT_COMM] = {.kind = COLUMN_STRING},
	[SWITCH_NEXT_UTID] = {.kind = COLUMN_U32},    [SWITCH_NEXT_PRIO] = {.kind = COLUMN_I32},
};

static const struct column_def waking_columns[] = {
	[WAKING_COMM] = {.kind = COLUMN_STRING}, [WAKING_TID] = {.kind = COLUMN_I32},
	[WAKING_PRIO] = {.kind = COLUMN_I32},	 [WAKING_CPU] = {.kind = COLUMN_I32},
	[WAKING_FLAGS] = {.kind = COLUMN_U16},
};

static const struct column_def args_columns[] = {
	[ARGS_ID] = {.kind = COLUMN_ID},      [ARGS_SET] = {.kind = COLUMN_U32},
	[ARGS_KEY] = {.kind = COLUMN_STRING}, [ARGS_FLAT_KEY] = {.kind = COLUMN_STRING},
	[ARGS_TYPE] = {.kind = COLUMN_U8},    [ARGS_VALUE] = {.kind = COLUMN_I64},
};

static const struct column_def call_columns[] = {
	[CALL_ENTER] = {.kind = COLUMN_U32},
	[CALL_EXIT] = {.kind = COLUMN_U32},
};

static const struct column_def track_columns[] = {
	[TRACK_ID] = {.name = "id", .kind = COLUMN_ID},
	[TRACK_NAME] = {.name = "name", .kind = COLUMN_STRING},
	[TRACK_PARENT] = {.name = "parent_id", .kind = COLUMN_U32},
	[TRACK_SOURCE_ARGS] = {.name = "source_arg_set_id", .kind = COLUMN_U32},
	[TRACK_MACHINE] = {.name = "machine_id", .kind = COLUMN_U32},
	[TRACK_TYPE] = {.name = "type", .kind = COLUMN_STRING},
	[TRACK_DIMENSIONS] = {.name = "dimension_arg_set_id", .kind = COLUMN_U32},
	[TRACK_GROUP] = {.name = "track_group_id", .kind = COLUMN_U32},
	[TRACK_EVENT_TYPE] = {.name = "event_type", .kind = COLUMN_STRING},
	[TRACK_UNIT] = {.name = "counter_unit", .kind = COLUMN_STRING},
	[TRACK_UTID] = {.name = "utid", .kind = COLUMN_U32},
	[TRACK_UPID] = {.name = "upid", .kind = COLUMN_U32},
	[TRACK_CPU] = {.name = "cpu", .kind = COLUMN_U32},
};

static const struct column_def counter_columns[] = {
	[COUNTER_ID] = {.name = "id", .kind = COLUMN_ID},
	[COUNTER_TS] = {.name = "ts", .kind = COLUMN_TS},
	[COUNTER_TRACK] = {.name = "track_id", .kind = COLUMN_U32},
	[COUNTER_VALUE] = {.name = "value", .kind = COLUMN_F64},
	[COUNTER_ARGS] = {.name = "arg_set_id", .kind = COLUMN_U32},
};

static const struct column_def slice_columns[] = {
	[SLICE_ID] = {.name = "id", .kind = COLUMN_ID},
	[SLICE_TS] = {.name = "ts", .kind = COLUMN_TS},
	[SLICE_DUR] = {.name = "dur", .kind = COLUMN_DUR},
	[SLICE_TRACK] = {.name = "track_id", .kind = COLUMN_U32},
	[SLICE_CATEGORY] = {.name = "category", .kind = COLUMN_STRING},
	[SLICE_NAME] = {.name = "name", .kind = COLUMN_STRING},
	[SLICE_DEPTH] = {.name = "depth", .kind = COLUMN_U16},
	[SLICE_PARENT] = {.name = "parent_id", .kind = COLUMN_U32},
	[SLICE_ARGS] = {.name = "arg_set_id", .kind = COLUMN_U32},
	[SLICE_THREAD_TS] = {.name = "thread_ts",
			     .kind = COLUMN_COMPUTED,
			     .compute = slice_thread_ts},
	[SLICE_THREAD_DUR] = {.name = "thread_dur",
			      .kind = COLUMN_COMPUTED,
			      .compute = slice_thread_dur},
	[SLICE_INSTRUCTIONS] = {.name = "thread_instruction_count",
				.kind = COLUMN_COMPUTED,
				.compute = slice_instructions},
	[SLICE_INSTRUCTION_DELTA] = {.name = "thread_instruction_delta",
				     .kind = COLUMN_COMPUTED,
				     .compute = slice_instruction_delta},
};

static const struct column_def slice_times_columns[] = {
	[SLICE_TIMES_SLICE] = {.kind = COLUMN_U32},
	[SLICE_TIMES_THREAD_TS] = {.kind = COLUMN_I64},
	[SLICE_TIMES_THREAD_DUR] = {.kind = COLUMN_I64},
	[SLICE_TIMES_INSTRUCTIONS] = {.kind = COLUMN_I64},
	[SLICE_TIMES_INSTRUCTION_DELTA] = {.kind = COLUMN_I64},
};

static const struct column_def track_state_columns[] = {
	[TRACK_STATE_ID] = {.name = "id", .kind = COLUMN_ID},
	[TRACK_STATE_TS] = {.name = "ts", .kind = COLUMN_TS},
	[TRACK_STATE_DUR] = {.name = "dur", .kind = COLUMN_DUR},
	[TRACK_STATE_TRACK] = {.name = "track_id", .kind = COLUMN_U32},
	[TRACK_STATE_VALUE] = {.name = "value", .kind = COLUMN_STRING},
	[TRACK_STATE_ARGS] = {.name = "arg_set_id", .kind = COLUMN_U32},
};

static const struct column_def flow_columns[] = {
	[FLOW_ID] = {.name = "id", .kind = COLUMN_ID},
	[FLOW_OUT] = {.name = "slice_out", .kind = COLUMN_U32},
	[FLOW_IN] = {.name = "slice_in", .kind = COLUMN_U32},
	[FLOW_TRACE_ID] = {.name = "trace_id", .kind = COLUMN_I64},
	[FLOW_ARGS] = {.name = "arg_set_id", .kind = COLUMN_U32},
};

static const struct column_def metadata_columns[] = {
	[METADATA_ID] = {.name = "id", .kind = COLUMN_ID},
	[METADATA_NAME] = {.name = "name", .kind = COLUMN_STRING},
	[METADATA_KEY_TYPE] = {.name = "key_type", .kind = COLUMN_STRING},
	[METADATA_INT] = {.name = "int_value", .kind = COLUMN_I64},
	[METADATA_STR] = {.name = "str_value", .kind = COLUMN_STRING},
	[METADATA_MACHINE] = {.name = "machine_id", .kind = COLUMN_U32},
	[METADATA_TRACE] = {.name = "trace_id", .kind = COLUMN_U32},
};

static const struct column_def clock_columns[] = {
	[CLOCK_ID] = {.name = "id", .kind = COLUMN_ID},
	[CLOCK_TS] = {.name = "ts", .kind = COLUMN_I64},
	[CLOCK_CLOCK] = {.name = "clock_id", .kind = COLUMN_I64},
	[CLOCK_NAME] = {.name = "clock_name", .kind = COLUMN_STRING},
	[CLOCK_VALUE] = {.name = "clock_value", .kind = COLUMN_I64},
	[CLOCK_SNAPSHOT] = {.name = "snapshot_id", .kind = COLUMN_U32},
	[CLOCK_MACHINE] = {.name = "machine_id", .kind = COLUMN_U32},
};

static const struct column_def machine_columns[] = {
	[MACHINE_ID] = {.name = "id", .kind = COLUMN_ID},
	[MACHINE_RAW_ID] = {.name = "raw_id", .kind = COLUMN_U32},
	[MACHINE_SYSNAME] = {.name = "sysname", .kind = COLUMN_STRING},
	[MACHINE_RELEASE] = {.name = "release", .kind = COLUMN_STRING},
	[MACHINE_VERSION] = {.name = "version", .kind = COLUMN_STRING},
	[MACHINE_ARCH] = {.name = "arch", .kind = COLUMN_STRING},
	[MACHINE_CPUS] = {.name = "num_cpus", .kind = COLUMN_U32},
	[MACHINE_ANDROID_BUILD] = {.name = "android_build_fingerprint",
				   .kind = COLUMN_COMPUTED,
				   .compute = no_value},
	[MACHINE_ANDROID_MANUFACTURER] = {.name = "android_device_manufacturer",
					  .kind = COLUMN_COMPUTED,
					  .compute = no_value},
	[MACHINE_ANDROID_SDK] = {.name = "android_sdk_version",
				 .kind = COLUMN_COMPUTED,
				 .compute = no_value},
	[MACHINE_RAM_BYTES] = {.name = "system_ram_bytes", .kind = COLUMN_I64},
	[MACHINE_RAM_GB] = {.name = "system_ram_gb", .kind = COLUMN_U32},
};

static const struct column_def cpu_columns[] = {
	[CPU_ID] = {.name = "id", .kind = COLUMN_U32},
	[CPU_UCPU] = {.name = "ucpu", .kind = COLUMN_SAME, .arg = CPU_ID},
	[CPU_CPU] = {.name = "cpu", .kind = COLUMN_U32},
	[CPU_CLUSTER] = {.name = "cluster_id", .kind = COLUMN_U32},
	[CPU_PROCESSOR] = {.name = "processor", .kind = COLUMN_STRING},
	[CPU_MACHINE] = {.name = "machine_id", .kind = COLUMN_U32},
	[CPU_CAPACITY] = {.name = "capacity", .kind = COLUMN_U32},
	[CPU_ARGS] = {.name = "arg_set_id", .kind = COLUMN_U32},
};

static const struct column_def profiler_session_columns[] = {
	[PROFILER_SESSION_ID] = {.name = "id", .kind = COLUMN_ID},
	[PROFILER_SESSION_SOURCE] = {.name = "source", .kind = COLUMN_STRING},
	[PROFILER_SESSION_UNIT] = {.name = "timebase_unit", .kind = COLUMN_STRING},
	[PROFILER_SESSION_CMDLINE] = {.name = "cmdline", .kind = COLUMN_STRING},
};

static const struct column_def profiler_sample_columns[] = {
	[PROFILER_SAMPLE_ID] = {.name = "id", .kind = COLUMN_ID},
	[PROFILER_SAMPLE_TS] = {.name = "ts", .kind = COLUMN_TS},
	[PROFILER_SAMPLE_SOURCE] = {.name = "source", .kind = COLUMN_STRING},
	[PROFILER_SAMPLE_TASK] = {.name = "task_context_id", .kind = COLUMN_U32},
	[PROFILER_SAMPLE_EXECUTION] = {.name = "execution_context_id", .kind = COLUMN_U32},
	[PROFILER_SAMPLE_CALLSITE] = {.name = "callsite_id", .kind = COLUMN_U32},
	[PROFILER_SAMPLE_SESSION] = {.name = "session_id", .kind = COLUMN_U32},
	[PROFILER_SAMPLE_COUNTERS] = {.name = "counter_set_id", .kind = COLUMN_U32},
	[PROFILER_SAMPLE_UNWIND_ERROR] = {.name = "unwind_error", .kind = COLUMN_STRING},
};

static const struct column_def task_context_columns[] = {
	[TASK_CONTEXT_ID] = {.name = "id", .kind = COLUMN_ID},
	[TASK_CONTEXT_UPID] = {.name = "upid", .kind = COLUMN_U32},
	[TASK_CONTEXT_UTID] = {.name = "utid", .kind = COLUMN_U32},
	[TASK_CONTEXT_ASYNC] = {.name = "async_context_id", .kind = COLUMN_U32},
};

static const struct column_def execution_context_columns[] = {
	[EXECUTION_CONTEXT_ID] = {.name = "id", .kind = COLUMN_ID},
	[EXECUTION_CONTEXT_UCPU] = {.name = "ucpu", .kind = COLUMN_U32},
	[EXECUTION_CONTEXT_MODE] = {.name = "cpu_mode", .kind = COLUMN_STRING},
};

static const struct column_def async_context_columns[] = {
	[ASYNC_CONTEXT_ID] = {.name = "id", .kind = COLUMN_ID},
	[ASYNC_CONTEXT_NAME] = {.name = "name", .kind = COLUMN_STRING},
	[ASYNC_CONTEXT_KIND] = {.name = "kind", .kind = COLUMN_STRING},
	[ASYNC_CONTEXT_PARENT] = {.name = "parent_id", .kind = COLUMN_U32},
};

static const struct column_def counter_set_columns[] = {
	[COUNTER_SET_SET] = {.name = "counter_set_id", .kind = COLUMN_U32},
	[COUNTER_SET_COUNTER] = {.name = "counter_id", .kind = COLUMN_U32},
};

static const struct column_def stack_callsite_columns[] = {
	[STACK_CALLSITE_ID] = {.name = "id", .kind = COLUMN_ID},
	[STACK_CALLSITE_DEPTH] = {.name = "depth", .kind = COLUMN_U32},
	[STACK_CALLSITE_PARENT] = {.name = "parent_id", .kind = COLUMN_U32},
	[STACK_CALLSITE_FRAME] = {.name = "frame_id", .kind = COLUMN_U32},
};

static const struct column_def stack_frame_columns[] = {
	[STACK_FRAME_ID] = {.name = "id", .kind = COLUMN_ID},
	[STACK_FRAME_NAME] = {.name = "name", .kind = COLUMN_STRING},
	[STACK_FRAME_MAPPING] = {.name = "mapping", .kind = COLUMN_U32},
	[STACK_FRAME_REL_PC] = {.name = "rel_pc", .kind = COLUMN_I64},
	[STACK_FRAME_SYMBOL_SET] = {.name = "symbol_set_id", .kind = COLUMN_U32},
	[STACK_FRAME_DEOBFUSCATED] = {.name = "deobfuscated_name", .kind = COLUMN_STRING},
	[STACK_FRAME_TYPE] = {.name = "type", .kind = COLUMN_STRING},
};

static const struct column_def stack_mapping_columns[] = {
	[STACK_MAPPING_ID] = {.name = "id", .kind = COLUMN_ID},
	[STACK_MAPPING_BUILD_ID] = {.name = "build_id", .kind = COLUMN_STRING},
	[STACK_MAPPING_EXACT_OFFSET] = {.name = "exact_offset", .kind = COLUMN_I64},
	[STACK_MAPPING_START_OFFSET] = {.name = "start_offset", .kind = COLUMN_I64},
	[STACK_MAPPING_START] = {.name = "start", .kind = COLUMN_I64},
	[STACK_MAPPING_END] = {.name = "end", .kind = COLUMN_I64},
	[STACK_MAPPING_LOAD_BIAS] = {.name = "load_bias", .kind = COLUMN_I64},
	[STACK_MAPPING_NAME] = {.name = "name", .kind = COLUMN_STRING},
};

static const struct column_def stack_symbol_columns[] = {
	[STACK_SYMBOL_ID] = {.name = "id", .kind = COLUMN_ID},
	[STACK_SYMBOL_SET] = {.name = "symbol_set_id", .kind = COLUMN_U32},
	[STACK_SYMBOL_NAME] = {.name = "name", .kind = COLUMN_STRING},
	[STACK_SYMBOL_SOURCE] = {.name = "source_file", .kind = COLUMN_STRING},
	[STACK_SYMBOL_LINE] = {.name = "line_number", .kind = COLUMN_U32},
	[STACK_SYMBOL_INLINED] = {.name = "inlined", .kind = COLUMN_COMPUTED, .compute = no_value},
};

static const struct column_def event_callstack_columns[] = {
	[EVENT_CALLSTACK_ID] = {.name = "id", .kind = COLUMN_ID},
	[EVENT_CALLSTACK_SLICE] = {.name = "slice_id", .kind = COLUMN_U32},
	[EVENT_CALLSTACK_TRACK] = {.name = "track_id", .kind = COLUMN_U32},
	[EVENT_CALLSTACK_SITE] = {.name = "callsite_id", .kind = COLUMN_U32},
	[EVENT_CALLSTACK_END_SITE] = {.name = "end_callsite_id", .kind = COLUMN_U32},
};

static const struct column_def stats_columns[] = {
	[STATS_NAME] = {.name = "name", .kind = COLUMN_STRING},
	[STATS_IDX] = {.name = "idx", .kind = COLUMN_I64},
	[STATS_SEVERITY] = {.name = "severity", .kind = COLUMN_STRING},
	[STATS_SOURCE] = {.name = "source", .kind = COLUMN_STRING},
	[STATS_VALUE] = {.name = "value", .kind = COLUMN_I64},
	[STATS_DESCRIPTION] = {.name = "description", .kind = COLUMN_STRING},
	[STATS_KEY] = {.name = "key", .kind = COLUMN_U32},
};

static const struct column_def smaps_columns[] = {
	[SMAPS_ID] = {.name = "id", .kind = COLUMN_ID},
	[SMAPS_UPID] = {.name = "upid", .kind = COLUMN_U32},
	[SMAPS_TS] = {.name = "ts", .kind = COLUMN_TS},
	[SMAPS_PATH] = {.name = "path", .kind = COLUMN_STRING},
	[SMAPS_SIZE] = {.name = "size_kb", .kind = COLUMN_I64},
	[SMAPS_PRIVATE_DIRTY] = {.name = "private_dirty_kb", .kind = COLUMN_I64},
	[SMAPS_SWAP] = {.name = "swap_kb", .kind = COLUMN_I64},
	[SMAPS_FILE_NAME] = {.name = "file_name", .kind = COLUMN_STRING},
	[SMAPS_START] = {.name = "start_address", .kind = COLUMN_I64},
	[SMAPS_MODULE_TIMESTAMP] = {.name = "module_timestamp", .kind = COLUMN_I64},
	[SMAPS_MODULE_DEBUGID] = {.name = "module_debugid", .kind = COLUMN_STRING},
	[SMAPS_MODULE_DEBUG_PATH] = {.name = "module_debug_path", .kind = COLUMN_STRING},
	[SMAPS_PROTECTION] = {.name = "protection_flags", .kind = COLUMN_I64},
	[SMAPS_PRIVATE_CLEAN] = {.name = "private_clean_resident_kb", .kind = COLUMN_I64},
	[SMAPS_SHARED_DIRTY] = {.name = "shared_dirty_resident_kb", .kind = COLUMN_I64},
	[SMAPS_SHARED_CLEAN] = {.name = "shared_clean_resident_kb", .kind = COLUMN_I64},
	[SMAPS_LOCKED] = {.name = "locked_kb", .kind = COLUMN_I64},
	[SMAPS_PROPORTIONAL] = {.name = "proportional_resident_kb", .kind = COLUMN_I64},
};

static const struct column_def mappings_columns[] = {
	[MAPPINGS_ID] = {.name = "id", .kind = COLUMN_ID},
	[MAPPINGS_TS] = {.name = "ts", .kind = COLUMN_TS},
	[MAPPINGS_UPID] = {.name = "upid", .kind = COLUMN_U32},
	[MAPPINGS_PATH] = {.name = "path", .kind = COLUMN_STRING},
	[MAPPINGS_IS_DELETED] = {.name = "is_deleted", .kind = COLUMN_U32},
	[MAPPINGS_COUNT] = {.name = "aggregate_count", .kind = COLUMN_I64},
	[MAPPINGS_SIZE] = {.name = "size_kb", .kind = COLUMN_I64},
	[MAPPINGS_RSS] = {.name = "rss_kb", .kind = COLUMN_I64},
	[MAPPINGS_ANONYMOUS] = {.name = "anonymous_kb", .kind = COLUMN_I64},
	[MAPPINGS_SWAP] = {.name = "swap_kb", .kind = COLUMN_I64},
	[MAPPINGS_SHARED_CLEAN] = {.name = "shared_clean_kb", .kind = COLUMN_I64},
	[MAPPINGS_SHARED_DIRTY] = {.name = "shared_dirty_kb", .kind = COLUMN_I64},
	[MAPPINGS_PRIVATE_CLEAN] = {.name = "private_clean_kb", .kind = COLUMN_I64},
	[MAPPINGS_PRIVATE_DIRTY] = {.name = "private_dirty_kb", .kind = COLUMN_I64},
	[MAPPINGS_LOCKED] = {.name = "locked_kb", .kind = COLUMN_I64},
	[MAPPINGS_PSS] = {.name = "pss_kb", .kind = COLUMN_I64},
	[MAPPINGS_PSS_DIRTY] = {.name = "pss_dirty_kb", .kind = COLUMN_I64},
	[MAPPINGS_SWAP_PSS] = {.name = "swap_pss_kb", .kind = COLUMN_I64},
};

static const struct column_def bounds_columns[] = {
	[BOUNDS_START] = {.name = "start_ts", .kind = COLUMN_I64},
	[BOUNDS_END] = {.name = "end_ts", .kind = COLUMN_I64},
};

#define DEF(name, columns, ts)                                                                     \
	{                                                                                          \
		name, columns, ARRAY_SIZE(columns), ts                                             \
	}

const struct table_def table_defs[TABLES] = {
	[TABLE_THREAD] = DEF("thread", thread_columns, 0),
	[TABLE_PROCESS] = DEF("process", process_columns, 0),
	[TABLE_SCHED] = DEF("sched", sched_columns, SCHED_TS),
	[TABLE_THREAD_STATE] = DEF("thread_state", state_columns, STATE_TS),
	[TABLE_WAKER] = DEF(NULL, waker_columns, 0),
	[TABLE_LATE_TIMER] = DEF(NULL, late_timer_columns, 0),
	[TABLE_BLOCKED] = DEF(NULL, blocked_columns, 0),
	[TABLE_SPURIOUS_WAKEUP] = DEF("spurious_sched_wakeup", spurious_columns, SPURIOUS_TS),
	[TABLE_FTRACE] = DEF("ftrace_event", ftrace_columns, FTRACE_TS),
	[TABLE_COMPACT_SWITCH] = DEF(NULL, switch_columns, 0),
	[TABLE_COMPACT_WAKING] = DEF(NULL, waking_columns, 0),
	[TABLE_ARGS] = DEF(NULL, args_columns, 0),
	[TABLE_CALL] = DEF(NULL, call_columns, 0),
	[TABLE_TRACK] = DEF("__intrinsic_track", track_columns, 0),
	[TABLE_COUNTER] = DEF("counter", counter_columns, COUNTER_TS),
	[TABLE_SLICE] = DEF("__intrinsic_slice", slice_columns, SLICE_TS),
	[TABLE_SLICE_TIMES] = DEF(NULL, slice_times_columns, 0),
	[TABLE_STATE] = DEF("__intrinsic_state", track_state_columns, TRACK_STATE_TS),
	[TABLE_FLOW] = DEF("flow", flow_columns, 0),
	[TABLE_METADATA] = DEF("metadata", metadata_columns, 0),
	[TABLE_CLOCK_SNAPSHOT] = DEF("clock_snapshot", clock_columns, 0),
	[TABLE_MACHINE] = DEF("machine", machine_columns, 0),
	[TABLE_CPU] = DEF("cpu", cpu_columns, 0),
	[TABLE_PROFILER_SESSION] = DEF("__intrinsic_profiler_session", profiler_session_columns, 0),
	[TABLE_PROFILER_SAMPLE] =
		DEF("__intrinsic_profiler_sample", profiler_sample_columns, PROFILER_SAMPLE_TS),
	[TABLE_TASK_CONTEXT] = DEF("__intrinsic_profiler_task_context", task_context_columns, 0),
	[TABLE_EXECUTION_CONTEXT] =
		DEF("__intrinsic_profiler_execution_context", execution_context_columns, 0),
	[TABLE_ASYNC_CONTEXT] = DEF("__intrinsic_profiler_async_context", async_context_columns, 0),
	[TABLE_COUNTER_SET] = DEF("__intrinsic_profiler_counter_set", counter_set_columns, 0),
	[TABLE_STACK_CALLSITE] = DEF("stack_profile_callsite", stack_callsite_columns, 0),
	[TABLE_STACK_FRAME] = DEF("stack_profile_frame", stack_frame_columns, 0),
	[TABLE_STACK_MAPPING] = DEF("stack_profile_mapping", stack_mapping_columns, 0),
	[TABLE_STACK_SYMBOL] = DEF("stack_profile_symbol", stack_symbol_columns, 0),
	[TABLE_EVENT_CALLSTACK] =
		DEF("__intrinsic_track_event_callstacks", event_callstack_columns, 0),
	[TABLE_SMAPS] = DEF("profiler_smaps", smaps_columns, SMAPS_TS),
	[TABLE_MEMORY_MAPPINGS] = DEF("process_memory_mappings", mappings_columns, MAPPINGS_TS),
	[TABLE_STATS] = DEF("stats", stats_columns, 0),
	[TABLE_TRACE_BOUNDS] = DEF("trace_bounds", bounds_columns, 0),
};
