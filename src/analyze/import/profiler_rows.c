/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/profiler_rows.h"

#include "analyze/import/cpus.h"
#include "analyze/import/remembered.h"
#include "analyze/import/tracks.h"
#include "analyze/store/columns.h"

uint32_t profiler_get_session(struct import *im, const struct machine *m, enum remembered_kind kind,
			      uint32_t sequence, uint32_t source)
{
	int64_t *known = import_remembered(im, m, kind, sequence);
	struct table *t = import_table(im, TABLE_PROFILER_SESSION);
	uint32_t row;

	if (known && *known)
		return (uint32_t)*known - 1;
	row = table_append(t);
	table_set_u32(t, PROFILER_SESSION_SOURCE, row, source);
	table_set_u32(t, PROFILER_SESSION_UNIT, row, NULL_U32);
	table_set_u32(t, PROFILER_SESSION_CMDLINE, row, NULL_U32);
	if (known)
		*known = (int64_t)row + 1;
	return row;
}

uint32_t profiler_get_task(struct import *im, uint32_t upid, uint32_t utid, uint32_t async)
{
	const struct row_key key = {ROW_TASK_CONTEXT, {upid, utid, async}};
	struct table *t = import_table(im, TABLE_TASK_CONTEXT);
	uint32_t row = row_keys_find(im, &key);

	if (row != NULL_U32)
		return row;
	row = table_append(t);
	table_set_u32(t, TASK_CONTEXT_UPID, row, upid);
	table_set_u32(t, TASK_CONTEXT_UTID, row, utid);
	table_set_u32(t, TASK_CONTEXT_ASYNC, row, async);
	return row_keys_add(im, &key, row);
}

uint32_t profiler_get_execution(struct import *im, struct machine *m, uint32_t cpu, uint32_t mode)
{
	uint32_t ucpu = cpu < MAX_CPUS ? m->row * MAX_CPUS + cpu : NULL_U32, row;
	const struct row_key key = {ROW_EXECUTION_CONTEXT, {ucpu, mode}};
	struct table *t = import_table(im, TABLE_EXECUTION_CONTEXT);
	struct cpu_state *c = import_get_cpu(im, m, cpu);

	if (c)
		c->seen = true;
	row = row_keys_find(im, &key);
	if (row != NULL_U32)
		return row;
	row = table_append(t);
	table_set_u32(t, EXECUTION_CONTEXT_UCPU, row, ucpu);
	table_set_u32(t, EXECUTION_CONTEXT_MODE, row, mode);
	return row_keys_add(im, &key, row);
}

void profiler_add_value(struct import *im, int64_t ts, uint32_t track, double value, uint32_t *set)
{
	struct table *t = import_table(im, TABLE_COUNTER_SET);
	uint32_t row = table_append(t);

	if (*set == NULL_U32)
		*set = row;
	table_set_u32(t, COUNTER_SET_SET, row, *set);
	table_set_u32(t, COUNTER_SET_COUNTER, row,
		      rows_add_counter(im, ts, track, value, NULL_U32));
}

void profiler_add_sample(struct import *im, const struct profiler_sample *s)
{
	struct table *t = import_table(im, TABLE_PROFILER_SAMPLE);
	uint32_t row = table_append(t);

	table_set_ts(t, PROFILER_SAMPLE_TS, row, s->ts);
	table_set_u32(t, PROFILER_SAMPLE_SOURCE, row, s->source);
	table_set_u32(t, PROFILER_SAMPLE_TASK, row, s->task);
	table_set_u32(t, PROFILER_SAMPLE_EXECUTION, row, s->execution);
	table_set_u32(t, PROFILER_SAMPLE_CALLSITE, row, s->callsite);
	table_set_u32(t, PROFILER_SAMPLE_SESSION, row, s->session);
	table_set_u32(t, PROFILER_SAMPLE_COUNTERS, row, s->values);
	table_set_u32(t, PROFILER_SAMPLE_UNWIND_ERROR, row, s->error);
	import_extend_bounds(im, s->ts);
}
