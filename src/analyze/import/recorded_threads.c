/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A config may limit a recording to the threads of a command or of processes. Of other threads,
 * such a trace has only what involves a recorded thread: the switch from a recorded thread to
 * another one, but not the next switch, which ends that run.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/import_steps.h"
#include "analyze/store/table_defs.h"
#include "gen/fields.h"

/* ---- the selection of the config ---- */

/* The threads that the config selects. */
struct selection {
	uint64_t *tids; /* owned */
	size_t n_tids, cap_tids;
	size_t unlimited; /* sources with kernel events of all threads */
	size_t limited; /* sources with kernel events of some threads only */
	bool has_requests; /* there is a source with only disk requests, of all threads */
	bool of_processes; /* the threads are those of processes (-p); else those of a command */
	bool failed; /* out of memory */
};

/* Returns true if the source only has events of disk requests. sonda records them for all threads
 * even where it records other events for some threads only (cli/record/record_threads.h), and
 * reports count them by the thread that made the request. */
static bool has_only_block_events(const struct pb_field *ftrace)
{
	static const char block[] = "block/";
	size_t n = 0, of_requests = 0;

	pb_for_each (f, ftrace) {
		if (f.id != PB_FTRACE_CONFIG_FTRACE_EVENTS || !f.data)
			continue;
		n++;
		of_requests += f.len >= strlen(block) && !memcmp(f.data, block, strlen(block));
	}
	return n && n == of_requests;
}

/* Adds the processes and threads that a source is limited to. Returns false if there are none. */
static bool add_selected_tids(const struct pb_field *ftrace, struct selection *s)
{
	size_t before = s->n_tids;
	uint64_t v;

	pb_for_each (f, ftrace) {
		if (f.id != PB_FTRACE_CONFIG_TIDS_TO_TRACE &&
		    f.id != PB_FTRACE_CONFIG_PIDS_TO_TRACE)
			continue;
		s->of_processes |= f.id == PB_FTRACE_CONFIG_PIDS_TO_TRACE;
		for (struct pb_packed p = pb_packed_of(&f); pb_packed_next(&p, &v);) {
			if (array_reserve(&s->tids, &s->cap_tids, s->n_tids + 1,
					  sizeof(*s->tids))) {
				s->failed = true;
				return true;
			}
			s->tids[s->n_tids++] = v;
		}
	}
	return s->n_tids > before;
}

static void recorded_threads_read_config(const struct pb_field *config, struct selection *s)
{
	pb_for_each (f, config) {
		struct pb_field source, ftrace;

		if (f.id != PB_TRACE_CONFIG_DATA_SOURCES || !f.data)
			continue;
		source = pb_inner_field(&f, PB_TRACE_CONFIG_DATA_SOURCE_CONFIG);
		ftrace = pb_inner_field(&source, PB_DATA_SOURCE_CONFIG_FTRACE_CONFIG);
		if (!ftrace.id)
			continue;
		if (add_selected_tids(&ftrace, s))
			s->limited++;
		else if (has_only_block_events(&ftrace))
			s->has_requests = true;
		else
			s->unlimited++;
	}
}

/* ---- the threads ---- */

static int compare_thread_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_selected(const struct selection *s, int64_t tid)
{
	uint64_t key = (uint64_t)tid;

	return s->n_tids && bsearch(&key, s->tids, s->n_tids, sizeof(key), compare_thread_numbers);
}

/* Of a process: whether it or an ancestor has a selected thread. */
enum descent { NOT_KNOWN, ASKED, YES, NO };

/* Goes up from the process to the first one whose descent is known, and sets it for all between. Of
 * processes (-p), only children that began during the trace are recorded. */
static void set_descent_of_ancestors(const struct store *store, const struct selection *s,
				     enum descent *of, uint32_t upid)
{
	const struct table *t = &store->tables[TABLE_PROCESS];
	enum descent found = NO;
	uint32_t at = upid;

	while (at < t->rows && of[at] == NOT_KNOWN) {
		of[at] = ASKED;
		at = s->of_processes && table_i64(t, PROCESS_START_TS, at) == NULL_I64
			     ? NULL_U32
			     : table_u32(t, PROCESS_PARENT, at);
	}
	if (at < t->rows && of[at] == YES)
		found = YES;
	for (at = upid; at < t->rows && of[at] == ASKED; at = table_u32(t, PROCESS_PARENT, at))
		of[at] = found;
}

static void mark_selected_processes(struct store *store, const struct selection *s,
				    enum descent *of)
{
	const struct table *threads = &store->tables[TABLE_THREAD];
	uint32_t upid;

	for (uint32_t utid = 0; utid < threads->rows; utid++) {
		upid = table_u32(threads, THREAD_UPID, utid);
		store->recorded[utid] = is_selected(s, table_i64(threads, THREAD_TID, utid));
		if (store->recorded[utid] && upid != NULL_U32)
			of[upid] = YES;
	}
	for (upid = 0; upid < store->tables[TABLE_PROCESS].rows; upid++)
		set_descent_of_ancestors(store, s, of, upid);
	for (uint32_t utid = 0; utid < threads->rows; utid++) {
		upid = table_u32(threads, THREAD_UPID, utid);
		store->recorded[utid] |= upid != NULL_U32 && of[upid] == YES;
	}
}

/* Marks the threads with system calls as recorded: for other threads, the kernel writes only the
 * switches from and to recorded ones. */
static void mark_syscall_threads(struct store *store)
{
	const struct table *slices = &store->tables[TABLE_SLICE];
	const struct table *tracks = &store->tables[TABLE_TRACK];

	for (uint32_t row = 0; row < slices->rows; row++) {
		uint32_t utid = table_u32(tracks, TRACK_UTID, table_u32(slices, SLICE_TRACK, row));
		uint32_t name = table_u32(slices, SLICE_NAME, row);

		if (utid != NULL_U32 && name != NULL_U32 && !store->recorded[utid])
			store->recorded[utid] =
				!strncmp(strings_get(&store->strings, name), "sys_", 4);
	}
}

static int find_recorded(struct store *store, struct selection *s)
{
	const struct table *threads = &store->tables[TABLE_THREAD];
	enum descent *of = calloc((size_t)store->tables[TABLE_PROCESS].rows + 1, sizeof(*of));

	store->recorded = calloc((size_t)threads->rows + 1, sizeof(*store->recorded));
	if (!of || !store->recorded) {
		free(of);
		return -ENOMEM;
	}
	if (s->n_tids)
		qsort(s->tids, s->n_tids, sizeof(*s->tids), compare_thread_numbers);
	mark_selected_processes(store, s, of);
	mark_syscall_threads(store);
	for (uint32_t utid = 0; utid < threads->rows; utid++)
		store->recorded[utid] &= table_u8(threads, THREAD_IS_IDLE, utid) != 1;
	free(of);
	return 0;
}

/* ---- runs without an end ---- */

/* Gives open runs of threads that are not recorded the length 0. Each run of a thread has a row in
 * both tables, in the same order; idle threads have no states. */
static void end_open_runs(struct store *s)
{
	struct table *runs = &s->tables[TABLE_SCHED], *states = &s->tables[TABLE_THREAD_STATE];
	const struct table *threads = &s->tables[TABLE_THREAD];
	uint32_t state = 0;

	for (uint32_t run = 0; run < runs->rows; run++) {
		uint32_t utid = table_u32(runs, SCHED_UTID, run);
		bool idle = table_u8(threads, THREAD_IS_IDLE, utid) == 1;

		while (!idle && state < states->rows &&
		       table_u16(states, STATE_STATE, state) != STORE_STATE_RUNNING)
			state++;
		if (!s->recorded[utid] && table_dur(runs, SCHED_DUR, run) < 0)
			table_set_dur(runs, SCHED_DUR, run, 0);
		if (idle || state == states->rows)
			continue;
		if (!s->recorded[utid])
			table_set_dur(states, STATE_DUR, state, table_dur(runs, SCHED_DUR, run));
		state++;
	}
}

void recorded_threads_finish(struct import *im)
{
	struct store *store = im->store;
	bool switches = store->tables[TABLE_SCHED].rows > 0;
	struct selection s = {.n_tids = 0};

	recorded_threads_read_config(&im->config, &s);
	if (s.failed)
		store->budget.error = -ENOMEM;
	else if (s.limited && !s.unlimited && (s.has_requests || switches)) {
		/* Without switches and requests, all events are of recorded threads. */
		s.of_processes &= switches;
		if (find_recorded(store, &s) < 0)
			store->budget.error = -ENOMEM;
		else
			end_open_runs(store);
	}
	free(s.tids);
}
