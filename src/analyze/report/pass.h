/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/report/groups.h"
#include "analyze/report/machines.h"
#include "analyze/report/pass_list.h"
#include "analyze/store/store.h"
#include "analyze/store/table_defs.h"
#include "base/core/mem.h"
#include "base/text/str.h"

/*
 * What the passes share. A pass reads columns of the store and adds rows, which passes.h
 * describes.
 */

#define PASS_COLUMNS_MAX 13

struct request_list;

struct pass_input {
	const struct store *s;
	int64_t from, to; /* the window */
	const bool *chosen; /* by utid */
	const bool *chosen_groups; /* by row of cgroup; NULL: all */
	bool some; /* threads were asked for */
	bool limited; /* the config selects threads */
	int64_t machine; /* a row of machine, or MACHINES_ALL */
	/* The last row of each CPU in sched, of each thread in thread_state. */
	const uint32_t *last_of_cpu, *last_of_thread;
	struct request_list **requests; /* *requests is NULL until a pass needs them */
	/* The arguments. */
	const char *by; /* "" if left out */
	int64_t top, width;
};

struct pass_rows {
	unsigned columns;
	unsigned texts; /* bit i: column i has texts, besides the TEXT columns of the pass */
	int64_t *
		cells; /* owned; NULL_I64 is NULL; texts are ids of strings, or of pass_text_id() */
	size_t n, cap; /* cells */
	struct strbuf own_texts; /* those that are not strings of the store, each with a NUL */
	bool failed; /* out of memory */
};

struct pass {
	const char *name;
	const char *columns; /* their names; TEXT follows the name of a text */
	void (*run)(const struct pass_input *in, struct pass_rows *ret);
};

void request_list_free(struct request_list *l);

/* Adds the waits of the chosen threads for a CPU. Each item has the wait's first row of
 * thread_state, and its last one in other; a wait of a preempted thread may have two. */
void pass_find_longest_waits(const struct pass_input *in, struct largest *ret);

/* A wait for a CPU. */
struct cpu_wait {
	uint32_t row, utid;
	uint32_t cpu; /* on which it ended; NULL_U32: not known */
	int64_t begin, end;
};

/* Adds a group for each other thread that had the CPU during the wait, with the times of its runs.
 * The group's key is number << 32 | utid; `other` is when the thread first had the CPU in the
 * wait. */
void pass_add_holders(const struct pass_input *in, const struct cpu_wait *w, uint32_t number,
		      struct groups *g);

/* Adds a row: a value for each column of the pass. */
void pass_add_row(struct pass_rows *rows, const int64_t *values);
#define PASS_ROW(rows, ...) pass_add_row(rows, (const int64_t[]){__VA_ARGS__})

struct code;
struct stack_point;

/* Cuts the weight of a sample or wait to the window. Returns false if it does not belong to the
 * report: a sample or a total outside of the window, or of a thread that is not chosen, or a wait
 * that ended before the window or began after it. */
bool pass_select_point(const struct pass_input *in, struct stack_point *p);
/* Returns the cell with the name of a function; NULL_U32: NULL. */
int64_t pass_function_cell(struct pass_rows *rows, const struct code *c, uint32_t function);

/* Begins a text that is not a string of the store: the caller appends it to rows->own_texts,
 * without a NUL. Returns the value of its cell. */
int64_t pass_text_id(struct pass_rows *rows);

/* Returns a class of lengths: 0 below 1 us, 1 below 2 us, 2 below 4 us, and so on. */
static inline uint32_t pass_length(int64_t ns)
{
	uint64_t us = (uint64_t)ns / 1000;

	return us ? 64 - (uint32_t)__builtin_clzll(us) : 0;
}

/* Returns an id of a string, or of any other row, as a value; NULL_U32 becomes NULL. */
static inline int64_t pass_id_value(uint32_t id)
{
	return id == NULL_U32 ? NULL_I64 : id;
}

/* Returns true for the CPUs (ucpu) of the machine that the report is about. */
static inline bool pass_cpu_counts(const struct pass_input *in, uint32_t ucpu)
{
	return in->machine == MACHINES_ALL || ucpu / STORE_CPUS_OF_A_MACHINE == in->machine;
}

/* One interval, cut to the window. */
struct pass_span {
	uint32_t row, utid;
	int64_t begin, end; /* end >= begin */
};

/* A walk over the rows of sched or thread_state that overlap the window. Set in and table, and
 * zero-initialise the rest. */
struct pass_walk {
	const struct pass_input *in;
	enum store_table table;
	uint32_t next; /* row */
	size_t at; /* see table_next_ts() */
};

/* Advances to the next interval. Returns false at the end. */
bool pass_next_span(struct pass_walk *w, struct pass_span *ret);

/* Returns the last row of each value of a column (owned by the caller), or NULL if out of
 * memory. */
uint32_t *pass_last_rows(const struct table *t, unsigned column);

enum who_kind {
	WHO_THREAD,
	WHO_PROCESS,
	WHO_PROGRAM,
	WHO_CONTAINER, /* this and those below: subjects, to which a thread belongs for a time */
	WHO_UNIT,
	WHO_POD,
	WHO_CGROUP,
};

/* Maps threads to what a report counts by. */
struct pass_who {
	const struct store *s;
	/* Owned; by utid. Process: its upid, or number of processes + utid. Subjects: its first row
	 * of thread_cgroup, or NULL_U32. */
	uint32_t *of;
	uint32_t *main; /* owned; by upid: the name of its main thread */
	uint32_t *subject; /* owned; by row of cgroup. NULL: it is not by subjects */
	enum who_kind kind;
};

/* Maps by in->by. Returns false if out of memory. Deinit in either case. */
bool pass_who_init(struct pass_who *w, const struct pass_input *in);
void pass_who_deinit(struct pass_who *w);

/* Returns the same as pass_find_who_at(), for subjects only. */
uint32_t pass_subject_at(const struct pass_who *w, uint32_t utid, int64_t ts);

/* Returns whom the thread belongs to at ts; NULL_U32: unknown. */
static inline uint32_t pass_find_who_at(const struct pass_who *w, uint32_t utid, int64_t ts)
{
	return w->subject ? pass_subject_at(w, utid, ts) : w->of[utid];
}

/* Cuts the next part off an interval, in which its thread belongs to *ret_who. Returns false at the
 * end. */
bool pass_who_cut_span(const struct pass_who *w, struct pass_span *rest, struct pass_span *ret,
		       uint32_t *ret_who);

/* Returns the value of the column "who". who: of pass_find_who_at(); NULL_U32 becomes NULL. */
int64_t pass_who_value(const struct pass_who *w, uint32_t who);

/* The first returns true for "R" and "R+", the second for states that begin with "D". */
bool pass_is_runnable(const struct store *s, uint16_t state);
bool pass_is_blocked(const struct store *s, uint16_t state);

/* Returns the row of TABLE_WAKER of a wakeup; NULL_U32: its waker is unknown. */
uint32_t pass_waker_row(const struct store *s, uint32_t state_row);
