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

static const struct table *table_of(const struct store *s, enum store_table which)
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

/* NULL, for columns about which no Linux trace says anything. */
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
	uint32_t uid = table_u32(table_of(s, TABLE_PROCESS), PROCESS_UID, row);

	if (uid != NULL_U32)
		set_int(ret, uid % UIDS_A_USER);
}

static void process_user_id(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t uid = table_u32(table_of(s, TABLE_PROCESS), PROCESS_UID, row);

	if (uid != NULL_U32)
		set_int(ret, uid / UIDS_A_USER);
}

static void sched_ts_end(const struct store *s, uint32_t row, struct value *ret)
{
	const struct table *t = table_of(s, TABLE_SCHED);

	set_int(ret, table_ts(t, SCHED_TS, row) + table_dur(t, SCHED_DUR, row));
}

/* ---- thread_state: what STATE_MORE means depends on the state ---- */

enum state_class { STATE_RUNNING, STATE_RUNNABLE, STATE_BLOCKED };

static enum state_class class_of(const struct store *s, uint32_t row)
{
	uint16_t state = table_u16(table_of(s, TABLE_THREAD_STATE), STATE_STATE, row);

	return state == STORE_STATE_RUNNING    ? STATE_RUNNING
	       : state == STORE_STATE_RUNNABLE ? STATE_RUNNABLE
					       : STATE_BLOCKED;
}

static uint32_t more_of(const struct store *s, uint32_t row, enum state_class wanted)
{
	return class_of(s, row) == wanted
		       ? table_u32(table_of(s, TABLE_THREAD_STATE), STATE_MORE, row)
		       : NULL_U32;
}

static void state_ucpu(const struct store *s, uint32_t row, struct value *ret)
{
	set_u32(ret, more_of(s, row, STATE_RUNNING));
}

static void state_waker_utid(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = more_of(s, row, STATE_RUNNABLE);

	if (more != NULL_U32)
		set_u32(ret, table_u32(table_of(s, TABLE_WAKER), WAKER_UTID, more));
}

static void state_waker_id(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = more_of(s, row, STATE_RUNNABLE);

	if (more != NULL_U32)
		set_u32(ret, table_u32(table_of(s, TABLE_WAKER), WAKER_ROW, more));
}

static void state_irq_context(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = more_of(s, row, STATE_RUNNABLE);
	uint8_t irq = more == NULL_U32
			      ? NULL_U8
			      : table_u8(table_of(s, TABLE_WAKER), WAKER_IRQ_CONTEXT, more);

	if (irq != NULL_U8)
		set_int(ret, irq);
}

static void state_io_wait(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = more_of(s, row, STATE_BLOCKED);

	if (more != NULL_U32)
		set_int(ret, table_u8(table_of(s, TABLE_BLOCKED), BLOCKED_IO_WAIT, more));
}

static void state_blocked_function(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = more_of(s, row, STATE_BLOCKED);

	if (more != NULL_U32)
		set_string(s, ret, table_u32(table_of(s, TABLE_BLOCKED), BLOCKED_FUNCTION, more));
}

/* ---- ftrace_event ---- */

static void ftrace_name(const struct store *s, uint32_t row, struct value *ret)
{
	event_args_name(s, row, ret);
}

static void ftrace_args(const struct store *s, uint32_t row, struct value *ret)
{
	int64_t set = event_args_set(s, row);

	if (set >= 0)
		set_int(ret, set);
}

/* Of sched_waking only: other events are recorded without their flags. */
static void ftrace_flags(const struct store *s, uint32_t row, struct value *ret)
{
	const struct table *t = table_of(s, TABLE_FTRACE);
	uint64_t payload = (uint64_t)table_i64(t, FTRACE_PAYLOAD, row), flags = 0;
	struct pb_dec d = event_args_message(s, row);
	struct pb_field f;

	if ((payload & PAYLOAD_KIND) == PAYLOAD_WAKING)
		flags = table_u16(table_of(s, TABLE_COMPACT_WAKING), WAKING_FLAGS,
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
	const struct table *t = table_of(s, TABLE_SLICE_TIMES);
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
	[THREAD_UTID] = {"utid", COLUMN_ID, 0, NULL},
	[THREAD_ID] = {"id", COLUMN_ID, 0, NULL},
	[THREAD_TID] = {"tid", COLUMN_I64, 0, NULL},
	[THREAD_NAME] = {"name", COLUMN_STRING, 0, NULL},
	[THREAD_START_TS] = {"start_ts", COLUMN_I64, 0, NULL},
	[THREAD_END_TS] = {"end_ts", COLUMN_I64, 0, NULL},
	[THREAD_UPID] = {"upid", COLUMN_U32, 0, NULL},
	[THREAD_IS_MAIN] = {"is_main_thread", COLUMN_U8, 0, NULL},
	[THREAD_IS_IDLE] = {"is_idle", COLUMN_U8, 0, NULL},
	[THREAD_MACHINE] = {"machine_id", COLUMN_U32, 0, NULL},
	[THREAD_ARGS] = {"arg_set_id", COLUMN_U32, 0, NULL},
};

static const struct column_def process_columns[] = {
	[PROCESS_UPID] = {"upid", COLUMN_ID, 0, NULL},
	[PROCESS_ID] = {"id", COLUMN_ID, 0, NULL},
	[PROCESS_PID] = {"pid", COLUMN_I64, 0, NULL},
	[PROCESS_NAME] = {"name", COLUMN_STRING, 0, NULL},
	[PROCESS_START_TS] = {"start_ts", COLUMN_I64, 0, NULL},
	[PROCESS_END_TS] = {"end_ts", COLUMN_I64, 0, NULL},
	[PROCESS_PARENT] = {"parent_upid", COLUMN_U32, 0, NULL},
	[PROCESS_UID] = {"uid", COLUMN_U32, 0, NULL},
	[PROCESS_APPID] = {"android_appid", COLUMN_COMPUTED, 0, process_appid},
	[PROCESS_USER_ID] = {"android_user_id", COLUMN_COMPUTED, 0, process_user_id},
	[PROCESS_CMDLINE] = {"cmdline", COLUMN_STRING, 0, NULL},
	[PROCESS_ARGS] = {"arg_set_id", COLUMN_U32, 0, NULL},
	[PROCESS_MACHINE] = {"machine_id", COLUMN_U32, 0, NULL},
};

static const struct column_def sched_columns[] = {
	[SCHED_ID] = {"id", COLUMN_ID, 0, NULL},
	[SCHED_TS] = {"ts", COLUMN_TS, 0, NULL},
	[SCHED_DUR] = {"dur", COLUMN_DUR, 0, NULL},
	[SCHED_CPU] = {"cpu", COLUMN_U32, 0, NULL},
	[SCHED_UTID] = {"utid", COLUMN_U32, 0, NULL},
	[SCHED_END_STATE] = {"end_state", COLUMN_STATE, 0, NULL},
	[SCHED_PRIORITY] = {"priority", COLUMN_I32, 0, NULL},
	[SCHED_UCPU] = {"ucpu", COLUMN_SAME, SCHED_CPU, NULL},
	[SCHED_TS_END] = {"ts_end", COLUMN_COMPUTED, 0, sched_ts_end},
};

static const struct column_def state_columns[] = {
	[STATE_ID] = {"id", COLUMN_ID, 0, NULL},
	[STATE_TS] = {"ts", COLUMN_TS, 0, NULL},
	[STATE_DUR] = {"dur", COLUMN_DUR, 0, NULL},
	[STATE_CPU] = {"cpu", COLUMN_COMPUTED, 0, state_ucpu},
	[STATE_UTID] = {"utid", COLUMN_U32, 0, NULL},
	[STATE_STATE] = {"state", COLUMN_STATE, 0, NULL},
	[STATE_IO_WAIT] = {"io_wait", COLUMN_COMPUTED, 0, state_io_wait},
	[STATE_BLOCKED_FUNCTION] = {"blocked_function", COLUMN_COMPUTED, 1, state_blocked_function},
	[STATE_WAKER_UTID] = {"waker_utid", COLUMN_COMPUTED, 0, state_waker_utid},
	[STATE_WAKER_ID] = {"waker_id", COLUMN_COMPUTED, 0, state_waker_id},
	[STATE_IRQ_CONTEXT] = {"irq_context", COLUMN_COMPUTED, 0, state_irq_context},
	[STATE_UCPU] = {"ucpu", COLUMN_COMPUTED, 0, state_ucpu},
	[STATE_MORE] = {NULL, COLUMN_U32, 0, NULL},
};

static const struct column_def waker_columns[] = {
	[WAKER_UTID] = {NULL, COLUMN_U32, 0, NULL},
	[WAKER_ROW] = {NULL, COLUMN_U32, 0, NULL},
	[WAKER_IRQ_CONTEXT] = {NULL, COLUMN_U8, 0, NULL},
};

static const struct column_def late_timer_columns[] = {
	[LATE_TIMER_STATE] = {NULL, COLUMN_U32, 0, NULL},
	[LATE_TIMER_NS] = {NULL, COLUMN_I64, 0, NULL},
};

static const struct column_def blocked_columns[] = {
	[BLOCKED_IO_WAIT] = {NULL, COLUMN_U8, 0, NULL},
	[BLOCKED_FUNCTION] = {NULL, COLUMN_STRING, 0, NULL},
};

static const struct column_def spurious_columns[] = {
	[SPURIOUS_ID] = {"id", COLUMN_ID, 0, NULL},
	[SPURIOUS_TS] = {"ts", COLUMN_TS, 0, NULL},
	[SPURIOUS_STATE] = {"thread_state_id", COLUMN_U32, 0, NULL},
	[SPURIOUS_IRQ] = {"irq_context", COLUMN_U8, 0, NULL},
	[SPURIOUS_UTID] = {"utid", COLUMN_U32, 0, NULL},
	[SPURIOUS_WAKER] = {"waker_utid", COLUMN_U32, 0, NULL},
};

static const struct column_def ftrace_columns[] = {
	[FTRACE_ID] = {"id", COLUMN_ID, 0, NULL},
	[FTRACE_TS] = {"ts", COLUMN_TS, 0, NULL},
	[FTRACE_NAME] = {"name", COLUMN_COMPUTED, 1, ftrace_name, FTRACE_KIND},
	[FTRACE_CPU] = {"cpu", COLUMN_U32, 0, NULL},
	[FTRACE_UTID] = {"utid", COLUMN_U32, 0, NULL},
	[FTRACE_ARGS] = {"arg_set_id", COLUMN_COMPUTED, 0, ftrace_args},
	[FTRACE_FLAGS] = {"common_flags", COLUMN_COMPUTED, 0, ftrace_flags},
	[FTRACE_UCPU] = {"ucpu", COLUMN_SAME, FTRACE_CPU, NULL},
	[FTRACE_KIND] = {NULL, COLUMN_U16, 0, NULL},
	[FTRACE_PAYLOAD] = {NULL, COLUMN_I64, 0, NULL},
};

static const struct column_def switch_columns[] = {
	[SWITCH_PREV_COMM] = {NULL, COLUMN_STRING, 0, NULL},
	[SWITCH_PREV_PRIO] = {NULL, COLUMN_I32, 0, NULL},
	[SWITCH_PREV_STATE] = {NULL, COLUMN_I32, 0, NULL},
	[SWITCH_NEXT_COMM] = {NULL, COLUMN_STRING, 0, NULL},
	[SWITCH_NEXT_UTID] = {NULL, COLUMN_U32, 0, NULL},
	[SWITCH_NEXT_PRIO] = {NULL, COLUMN_I32, 0, NULL},
};

static const struct column_def waking_columns[] = {
	[WAKING_COMM] = {NULL, COLUMN_STRING, 0, NULL}, [WAKING_TID] = {NULL, COLUMN_I32, 0, NULL},
	[WAKING_PRIO] = {NULL, COLUMN_I32, 0, NULL},	[WAKING_CPU] = {NULL, COLUMN_I32, 0, NULL},
	[WAKING_FLAGS] = {NULL, COLUMN_U16, 0, NULL},
};

static const struct column_def args_columns[] = {
	[ARGS_ID] = {NULL, COLUMN_ID, 0, NULL},
	[ARGS_SET] = {NULL, COLUMN_U32, 0, NULL},
	[ARGS_KEY] = {NULL, COLUMN_STRING, 0, NULL},
	[ARGS_FLAT_KEY] = {NULL, COLUMN_STRING, 0, NULL},
	[ARGS_TYPE] = {NULL, COLUMN_U8, 0, NULL},
	[ARGS_VALUE] = {NULL, COLUMN_I64, 0, NULL},
};

static const struct column_def call_columns[] = {
	[CALL_ENTER] = {NULL, COLUMN_U32, 0, NULL},
	[CALL_EXIT] = {NULL, COLUMN_U32, 0, NULL},
};

static const struct column_def track_columns[] = {
	[TRACK_ID] = {"id", COLUMN_ID, 0, NULL},
	[TRACK_NAME] = {"name", COLUMN_STRING, 0, NULL},
	[TRACK_PARENT] = {"parent_id", COLUMN_U32, 0, NULL},
	[TRACK_SOURCE_ARGS] = {"source_arg_set_id", COLUMN_U32, 0, NULL},
	[TRACK_MACHINE] = {"machine_id", COLUMN_U32, 0, NULL},
	[TRACK_TYPE] = {"type", COLUMN_STRING, 0, NULL},
	[TRACK_DIMENSIONS] = {"dimension_arg_set_id", COLUMN_U32, 0, NULL},
	[TRACK_GROUP] = {"track_group_id", COLUMN_U32, 0, NULL},
	[TRACK_EVENT_TYPE] = {"event_type", COLUMN_STRING, 0, NULL},
	[TRACK_UNIT] = {"counter_unit", COLUMN_STRING, 0, NULL},
	[TRACK_UTID] = {"utid", COLUMN_U32, 0, NULL},
	[TRACK_UPID] = {"upid", COLUMN_U32, 0, NULL},
	[TRACK_CPU] = {"cpu", COLUMN_U32, 0, NULL},
};

static const struct column_def counter_columns[] = {
	[COUNTER_ID] = {"id", COLUMN_ID, 0, NULL},
	[COUNTER_TS] = {"ts", COLUMN_TS, 0, NULL},
	[COUNTER_TRACK] = {"track_id", COLUMN_U32, 0, NULL},
	[COUNTER_VALUE] = {"value", COLUMN_F64, 0, NULL},
	[COUNTER_ARGS] = {"arg_set_id", COLUMN_U32, 0, NULL},
};

static const struct column_def slice_columns[] = {
	[SLICE_ID] = {"id", COLUMN_ID, 0, NULL},
	[SLICE_TS] = {"ts", COLUMN_TS, 0, NULL},
	[SLICE_DUR] = {"dur", COLUMN_DUR, 0, NULL},
	[SLICE_TRACK] = {"track_id", COLUMN_U32, 0, NULL},
	[SLICE_CATEGORY] = {"category", COLUMN_STRING, 0, NULL},
	[SLICE_NAME] = {"name", COLUMN_STRING, 0, NULL},
	[SLICE_DEPTH] = {"depth", COLUMN_U16, 0, NULL},
	[SLICE_PARENT] = {"parent_id", COLUMN_U32, 0, NULL},
	[SLICE_ARGS] = {"arg_set_id", COLUMN_U32, 0, NULL},
	[SLICE_THREAD_TS] = {"thread_ts", COLUMN_COMPUTED, 0, slice_thread_ts},
	[SLICE_THREAD_DUR] = {"thread_dur", COLUMN_COMPUTED, 0, slice_thread_dur},
	[SLICE_INSTRUCTIONS] = {"thread_instruction_count", COLUMN_COMPUTED, 0, slice_instructions},
	[SLICE_INSTRUCTION_DELTA] = {"thread_instruction_delta", COLUMN_COMPUTED, 0,
				     slice_instruction_delta},
};

static const struct column_def slice_times_columns[] = {
	[SLICE_TIMES_SLICE] = {NULL, COLUMN_U32, 0, NULL},
	[SLICE_TIMES_THREAD_TS] = {NULL, COLUMN_I64, 0, NULL},
	[SLICE_TIMES_THREAD_DUR] = {NULL, COLUMN_I64, 0, NULL},
	[SLICE_TIMES_INSTRUCTIONS] = {NULL, COLUMN_I64, 0, NULL},
	[SLICE_TIMES_INSTRUCTION_DELTA] = {NULL, COLUMN_I64, 0, NULL},
};

static const struct column_def track_state_columns[] = {
	[TRACK_STATE_ID] = {"id", COLUMN_ID, 0, NULL},
	[TRACK_STATE_TS] = {"ts", COLUMN_TS, 0, NULL},
	[TRACK_STATE_DUR] = {"dur", COLUMN_DUR, 0, NULL},
	[TRACK_STATE_TRACK] = {"track_id", COLUMN_U32, 0, NULL},
	[TRACK_STATE_VALUE] = {"value", COLUMN_STRING, 0, NULL},
	[TRACK_STATE_ARGS] = {"arg_set_id", COLUMN_U32, 0, NULL},
};

static const struct column_def flow_columns[] = {
	[FLOW_ID] = {"id", COLUMN_ID, 0, NULL},
	[FLOW_OUT] = {"slice_out", COLUMN_U32, 0, NULL},
	[FLOW_IN] = {"slice_in", COLUMN_U32, 0, NULL},
	[FLOW_TRACE_ID] = {"trace_id", COLUMN_I64, 0, NULL},
	[FLOW_ARGS] = {"arg_set_id", COLUMN_U32, 0, NULL},
};

static const struct column_def metadata_columns[] = {
	[METADATA_ID] = {"id", COLUMN_ID, 0, NULL},
	[METADATA_NAME] = {"name", COLUMN_STRING, 0, NULL},
	[METADATA_KEY_TYPE] = {"key_type", COLUMN_STRING, 0, NULL},
	[METADATA_INT] = {"int_value", COLUMN_I64, 0, NULL},
	[METADATA_STR] = {"str_value", COLUMN_STRING, 0, NULL},
	[METADATA_MACHINE] = {"machine_id", COLUMN_U32, 0, NULL},
	[METADATA_TRACE] = {"trace_id", COLUMN_U32, 0, NULL},
};

static const struct column_def clock_columns[] = {
	[CLOCK_ID] = {"id", COLUMN_ID, 0, NULL},
	[CLOCK_TS] = {"ts", COLUMN_I64, 0, NULL},
	[CLOCK_CLOCK] = {"clock_id", COLUMN_I64, 0, NULL},
	[CLOCK_NAME] = {"clock_name", COLUMN_STRING, 0, NULL},
	[CLOCK_VALUE] = {"clock_value", COLUMN_I64, 0, NULL},
	[CLOCK_SNAPSHOT] = {"snapshot_id", COLUMN_U32, 0, NULL},
	[CLOCK_MACHINE] = {"machine_id", COLUMN_U32, 0, NULL},
};

static const struct column_def machine_columns[] = {
	[MACHINE_ID] = {"id", COLUMN_ID, 0, NULL},
	[MACHINE_RAW_ID] = {"raw_id", COLUMN_U32, 0, NULL},
	[MACHINE_SYSNAME] = {"sysname", COLUMN_STRING, 0, NULL},
	[MACHINE_RELEASE] = {"release", COLUMN_STRING, 0, NULL},
	[MACHINE_VERSION] = {"version", COLUMN_STRING, 0, NULL},
	[MACHINE_ARCH] = {"arch", COLUMN_STRING, 0, NULL},
	[MACHINE_CPUS] = {"num_cpus", COLUMN_U32, 0, NULL},
	[MACHINE_ANDROID_BUILD] = {"android_build_fingerprint", COLUMN_COMPUTED, 0, no_value},
	[MACHINE_ANDROID_MANUFACTURER] = {"android_device_manufacturer", COLUMN_COMPUTED, 0,
					  no_value},
	[MACHINE_ANDROID_SDK] = {"android_sdk_version", COLUMN_COMPUTED, 0, no_value},
	[MACHINE_RAM_BYTES] = {"system_ram_bytes", COLUMN_I64, 0, NULL},
	[MACHINE_RAM_GB] = {"system_ram_gb", COLUMN_U32, 0, NULL},
};

static const struct column_def cpu_columns[] = {
	[CPU_ID] = {"id", COLUMN_U32, 0, NULL},
	[CPU_UCPU] = {"ucpu", COLUMN_SAME, CPU_ID, NULL},
	[CPU_CPU] = {"cpu", COLUMN_U32, 0, NULL},
	[CPU_CLUSTER] = {"cluster_id", COLUMN_U32, 0, NULL},
	[CPU_PROCESSOR] = {"processor", COLUMN_STRING, 0, NULL},
	[CPU_MACHINE] = {"machine_id", COLUMN_U32, 0, NULL},
	[CPU_CAPACITY] = {"capacity", COLUMN_U32, 0, NULL},
	[CPU_ARGS] = {"arg_set_id", COLUMN_U32, 0, NULL},
};

static const struct column_def perf_session_columns[] = {
	[PERF_SESSION_ID] = {"id", COLUMN_ID, 0, NULL},
	[PERF_SESSION_CMDLINE] = {"cmdline", COLUMN_STRING, 0, NULL},
	[PERF_SESSION_PERF_SESSION_ID] = {"perf_session_id", COLUMN_ID, 0, NULL},
};

static const struct column_def perf_sample_columns[] = {
	[PERF_SAMPLE_ID] = {"id", COLUMN_ID, 0, NULL},
	[PERF_SAMPLE_TS] = {"ts", COLUMN_TS, 0, NULL},
	[PERF_SAMPLE_UTID] = {"utid", COLUMN_U32, 0, NULL},
	[PERF_SAMPLE_CPU] = {"cpu", COLUMN_U32, 0, NULL},
	[PERF_SAMPLE_CPU_MODE] = {"cpu_mode", COLUMN_STRING, 0, NULL},
	[PERF_SAMPLE_CALLSITE] = {"callsite_id", COLUMN_U32, 0, NULL},
	[PERF_SAMPLE_UNWIND_ERROR] = {"unwind_error", COLUMN_STRING, 0, NULL},
	[PERF_SAMPLE_SESSION] = {"perf_session_id", COLUMN_U32, 0, NULL},
};

static const struct column_def stack_callsite_columns[] = {
	[STACK_CALLSITE_ID] = {"id", COLUMN_ID, 0, NULL},
	[STACK_CALLSITE_DEPTH] = {"depth", COLUMN_U32, 0, NULL},
	[STACK_CALLSITE_PARENT] = {"parent_id", COLUMN_U32, 0, NULL},
	[STACK_CALLSITE_FRAME] = {"frame_id", COLUMN_U32, 0, NULL},
};

static const struct column_def stack_frame_columns[] = {
	[STACK_FRAME_ID] = {"id", COLUMN_ID, 0, NULL},
	[STACK_FRAME_NAME] = {"name", COLUMN_STRING, 0, NULL},
	[STACK_FRAME_MAPPING] = {"mapping", COLUMN_U32, 0, NULL},
	[STACK_FRAME_REL_PC] = {"rel_pc", COLUMN_I64, 0, NULL},
	[STACK_FRAME_SYMBOL_SET] = {"symbol_set_id", COLUMN_U32, 0, NULL},
	[STACK_FRAME_DEOBFUSCATED] = {"deobfuscated_name", COLUMN_STRING, 0, NULL},
	[STACK_FRAME_TYPE] = {"type", COLUMN_STRING, 0, NULL},
};

static const struct column_def stack_mapping_columns[] = {
	[STACK_MAPPING_ID] = {"id", COLUMN_ID, 0, NULL},
	[STACK_MAPPING_BUILD_ID] = {"build_id", COLUMN_STRING, 0, NULL},
	[STACK_MAPPING_EXACT_OFFSET] = {"exact_offset", COLUMN_I64, 0, NULL},
	[STACK_MAPPING_START_OFFSET] = {"start_offset", COLUMN_I64, 0, NULL},
	[STACK_MAPPING_START] = {"start", COLUMN_I64, 0, NULL},
	[STACK_MAPPING_END] = {"end", COLUMN_I64, 0, NULL},
	[STACK_MAPPING_LOAD_BIAS] = {"load_bias", COLUMN_I64, 0, NULL},
	[STACK_MAPPING_NAME] = {"name", COLUMN_STRING, 0, NULL},
};

static const struct column_def stack_symbol_columns[] = {
	[STACK_SYMBOL_ID] = {"id", COLUMN_ID, 0, NULL},
	[STACK_SYMBOL_SET] = {"symbol_set_id", COLUMN_U32, 0, NULL},
	[STACK_SYMBOL_NAME] = {"name", COLUMN_STRING, 0, NULL},
	[STACK_SYMBOL_SOURCE] = {"source_file", COLUMN_STRING, 0, NULL},
	[STACK_SYMBOL_LINE] = {"line_number", COLUMN_U32, 0, NULL},
	[STACK_SYMBOL_INLINED] = {"inlined", COLUMN_COMPUTED, 0, no_value},
};

static const struct column_def event_callstack_columns[] = {
	[EVENT_CALLSTACK_ID] = {"id", COLUMN_ID, 0, NULL},
	[EVENT_CALLSTACK_SLICE] = {"slice_id", COLUMN_U32, 0, NULL},
	[EVENT_CALLSTACK_TRACK] = {"track_id", COLUMN_U32, 0, NULL},
	[EVENT_CALLSTACK_SITE] = {"callsite_id", COLUMN_U32, 0, NULL},
	[EVENT_CALLSTACK_END_SITE] = {"end_callsite_id", COLUMN_U32, 0, NULL},
};

static const struct column_def stats_columns[] = {
	[STATS_NAME] = {"name", COLUMN_STRING, 0, NULL},
	[STATS_IDX] = {"idx", COLUMN_I64, 0, NULL},
	[STATS_SEVERITY] = {"severity", COLUMN_STRING, 0, NULL},
	[STATS_SOURCE] = {"source", COLUMN_STRING, 0, NULL},
	[STATS_VALUE] = {"value", COLUMN_I64, 0, NULL},
	[STATS_DESCRIPTION] = {"description", COLUMN_STRING, 0, NULL},
	[STATS_KEY] = {"key", COLUMN_U32, 0, NULL},
};

static const struct column_def bounds_columns[] = {
	[BOUNDS_START] = {"start_ts", COLUMN_I64, 0, NULL},
	[BOUNDS_END] = {"end_ts", COLUMN_I64, 0, NULL},
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
	[TABLE_PERF_SESSION] = DEF("perf_session", perf_session_columns, 0),
	[TABLE_PERF_SAMPLE] = DEF("perf_sample", perf_sample_columns, PERF_SAMPLE_TS),
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
