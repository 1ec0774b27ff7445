/* SPDX-License-Identifier: Apache-2.0 */
/* The computed columns, the tables of columns.def, and a store of them. */
#include "analyze/store/table_defs.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/store/event_args.h"
#include "analyze/store/stats.h"
#include "base/core/lower_bound.h"
#include "gen/fields.h"

/* Most columns leave out the last member, about which clang would warn. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static const struct table *table_defs_table_of(const struct store *s, enum store_table which)
{
	return &s->tables[which];
}

static void set_int_value(struct value *ret, int64_t i)
{
	*ret = (struct value){.kind = VALUE_INT, .i = i};
}

static void set_u32_value(struct value *ret, uint32_t v)
{
	if (v != NULL_U32)
		set_int_value(ret, v);
}

static void set_string_value(const struct store *s, struct value *ret, uint32_t id)
{
	if (id < s->strings.n)
		*ret = (struct value){
			.kind = VALUE_TEXT, .s = s->strings.of[id].s, .len = s->strings.of[id].len};
}

/* Sets NULL, for columns that no Linux trace has values for. */
static void set_null_value(const struct store *s, uint32_t row, struct value *ret)
{
	*ret = (struct value){.kind = VALUE_NULL};
}

/* ---- cgroup_wait, cgroup_wait_length ---- */

static void cgroup_wait_cause(const struct store *s, uint32_t row, struct value *ret)
{
	static const char *const names[CGROUP_WAIT_CAUSES] = {"neighbours", "own threads",
							      "kernel threads", "idle CPU wakes up",
							      "own CPU quota"};
	const char *name =
		names[table_u8(table_defs_table_of(s, TABLE_CGROUP_WAIT), CGROUP_WAIT_CAUSE, row)];

	*ret = (struct value){.kind = VALUE_TEXT, .s = name, .len = strlen(name)};
}

static void cgroup_wait_from(const struct store *s, uint32_t row, struct value *ret)
{
	set_int_value(ret,
		      cgroup_wait_begin(table_u8(table_defs_table_of(s, TABLE_CGROUP_WAIT_LENGTH),
						 CGROUP_WAIT_LENGTH_BUCKET, row)));
}

/* NULL: the last bucket has no end. */
static void cgroup_wait_to(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t bucket = table_u8(table_defs_table_of(s, TABLE_CGROUP_WAIT_LENGTH),
				   CGROUP_WAIT_LENGTH_BUCKET, row);

	if (bucket + 1 < CGROUP_WAIT_BUCKETS)
		set_int_value(ret, cgroup_wait_begin(bucket + 1));
}

/* ---- process, sched ---- */

/* Android numbers its uids as user * UIDS_A_USER + app. */
#define UIDS_A_USER 100000

static void process_appid(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t uid = table_u32(table_defs_table_of(s, TABLE_PROCESS), PROCESS_UID, row);

	if (uid != NULL_U32)
		set_int_value(ret, uid % UIDS_A_USER);
}

static void process_user_id(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t uid = table_u32(table_defs_table_of(s, TABLE_PROCESS), PROCESS_UID, row);

	if (uid != NULL_U32)
		set_int_value(ret, uid / UIDS_A_USER);
}

static void sched_ts_end(const struct store *s, uint32_t row, struct value *ret)
{
	const struct table *t = table_defs_table_of(s, TABLE_SCHED);

	set_int_value(ret, table_ts(t, SCHED_TS, row) + table_dur(t, SCHED_DUR, row));
}

/* ---- thread_state: what STATE_MORE means depends on the state ---- */

enum state_class { STATE_RUNNING, STATE_RUNNABLE, STATE_BLOCKED };

static enum state_class find_state_class(const struct store *s, uint32_t row)
{
	uint16_t state = table_u16(table_defs_table_of(s, TABLE_THREAD_STATE), STATE_STATE, row);

	return state == STORE_STATE_RUNNING    ? STATE_RUNNING
	       : state == STORE_STATE_RUNNABLE ? STATE_RUNNABLE
					       : STATE_BLOCKED;
}

static uint32_t find_detail_row(const struct store *s, uint32_t row, enum state_class wanted)
{
	return find_state_class(s, row) == wanted
		       ? table_u32(table_defs_table_of(s, TABLE_THREAD_STATE), STATE_MORE, row)
		       : NULL_U32;
}

static void state_ucpu(const struct store *s, uint32_t row, struct value *ret)
{
	set_u32_value(ret, find_detail_row(s, row, STATE_RUNNING));
}

static void state_waker_utid(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = find_detail_row(s, row, STATE_RUNNABLE);

	if (more != NULL_U32)
		set_u32_value(ret,
			      table_u32(table_defs_table_of(s, TABLE_WAKER), WAKER_UTID, more));
}

static void state_waker_id(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = find_detail_row(s, row, STATE_RUNNABLE);

	if (more != NULL_U32)
		set_u32_value(ret, table_u32(table_defs_table_of(s, TABLE_WAKER), WAKER_ROW, more));
}

static void state_irq_context(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = find_detail_row(s, row, STATE_RUNNABLE);
	uint8_t irq = more == NULL_U32 ? NULL_U8
				       : table_u8(table_defs_table_of(s, TABLE_WAKER),
						  WAKER_IRQ_CONTEXT, more);

	if (irq != NULL_U8)
		set_int_value(ret, irq);
}

static void state_io_wait(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = find_detail_row(s, row, STATE_BLOCKED);

	if (more != NULL_U32)
		set_int_value(ret, table_u8(table_defs_table_of(s, TABLE_BLOCKED), BLOCKED_IO_WAIT,
					    more));
}

static void state_blocked_function(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t more = find_detail_row(s, row, STATE_BLOCKED);

	if (more != NULL_U32)
		set_string_value(
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
		set_int_value(ret, set);
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
	set_int_value(ret, (int64_t)flags);
}

/* ---- slices: few of them have times of their thread ---- */

uint32_t slice_times_row(const struct table *t, uint32_t slice)
{
	uint32_t at = LOWER_BOUND(i, 0, t->rows, table_u32(t, SLICE_TIMES_SLICE, i) < slice);

	return at < t->rows && table_u32(t, SLICE_TIMES_SLICE, at) == slice ? at : NULL_U32;
}

static void slice_time(const struct store *s, uint32_t slice, unsigned column, struct value *ret)
{
	const struct table *t = table_defs_table_of(s, TABLE_SLICE_TIMES);
	uint32_t row = slice_times_row(t, slice);

	if (row != NULL_U32 && table_i64(t, column, row) != NULL_I64)
		set_int_value(ret, table_i64(t, column, row));
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

const struct table_def table_defs[TABLES] = {
#define TABLE(table, name_, ts_)                                                                   \
	[TABLE_##table] = {.name = name_,                                                          \
			   .n_columns = table##_COLUMNS,                                           \
			   .ts = ts_,                                                              \
			   .columns = (const struct column_def[]) {
#define COLUMN(column, ...) [column] = {__VA_ARGS__},
#define END(table)                                                                                 \
	}                                                                                          \
	}                                                                                          \
	,
#include "analyze/store/columns.def"
#undef TABLE
#undef COLUMN
#undef END
};

void store_init(struct store *s, uint64_t limit)
{
	*s = (struct store){.budget.limit = limit};
	strings_init(&s->strings, &s->budget);
	for (unsigned i = 0; i < TABLES; i++)
		table_init(&s->tables[i], &table_defs[i], &s->budget);
	store_state_number(s, strings_intern_z(&s->strings, "Running"));
	store_state_number(s, strings_intern_z(&s->strings, "R"));
}

void generic_event_deinit(struct generic_event *g)
{
	free(g->fields);
	free(g->values);
	*g = (struct generic_event){.name = 0};
}

void store_deinit(struct store *s)
{
	for (unsigned i = 0; i < TABLES; i++)
		table_deinit(&s->tables[i]);
	for (size_t i = 0; i < s->n_generic; i++)
		generic_event_deinit(&s->generic[i]);
	free(s->further);
	for (size_t i = 0; i < s->n_bytes; i++)
		trace_bytes_free(&s->bytes[i]);
	stats_deinit(s);
	strings_deinit(&s->strings);
	free(s->generic);
	free(s->bytes);
	free(s->bytes_by_address);
	free(s->states);
	free(s->arg_slots);
	free(s->recorded);
	*s = (struct store){0};
}
