/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

#include "wire/pb_varint.h"

/*
 * The columns of a page: each is a row of varints (PAGE_COLUMN_STRING and PAGE_COLUMN_COUNTER_REAL:
 * bytes), compressed by zlib, and in the file one element of base64 whose id is the column's name.
 * Numbers that may be negative are zigzag-encoded; "+1" is a number whose 0 is NULL. Times are ns
 * since the trace's start.
 *
 * Rows are grouped (runs by CPU, states by thread, slices and samples by track), and sorted by time
 * within a group.
 */

/* X(identifier, name): page_columns.c and the program of the page list them in this order. */
#define PAGE_COLUMN_LIST(X)                                                                        \
	X(STRING, "string") /* a varint length and the bytes of each */                            \
	X(STATE_NAME, "state.name") /* string +1, by state number */                               \
	X(PROCESS_PID, "process.pid")                                                              \
	X(PROCESS_NAME, "process.name") /* string +1 */                                            \
	X(PROCESS_MACHINE, "process.machine")                                                      \
	X(THREAD_TID, "thread.tid")                                                                \
	X(THREAD_NAME, "thread.name") /* string +1 */                                              \
	X(THREAD_PROCESS, "thread.process") /* +1 */                                               \
	X(THREAD_IDLE, "thread.idle")                                                              \
	X(THREAD_MACHINE, "thread.machine")                                                        \
	X(THREAD_STATES, "thread.states") /* how many states it has */                             \
	X(CPU_ID, "cpu.id") /* 4096 * machine + CPU */                                             \
	X(CPU_RUNS, "cpu.runs") /* how many runs it has */                                         \
	X(RUN_GAP, "run.gap") /* from the end of the run before; zigzag */                         \
	X(RUN_DUR, "run.dur") /* +1; 0: it did not end */                                          \
	X(RUN_THREAD, "run.thread")                                                                \
	X(RUN_END_STATE, "run.end") /* state +1 */                                                 \
	X(RUN_PRIORITY, "run.priority") /* minus the thread's last one in this column; zigzag */   \
	X(STATE_GAP, "state.gap") /* as run.gap */                                                 \
	X(STATE_END, "state.end") /* see page_tasks.c */                                           \
	X(STATE_STATE, "state.state") /* +1 */                                                     \
	X(STATE_CPU, "state.cpu") /* if running: CPU +2; 0: as its run, 1: NULL */                 \
	X(STATE_WAKER, "state.waker") /* if runnable: its waker, +1 */                             \
	X(STATE_IRQ, "state.irq") /* if runnable: an interrupt woke it, +1 */                      \
	X(STATE_BLOCKED, "state.blocked") /* others: 0, or 1 + io_wait + 2 * (function +1) */      \
	X(TRACK_ID, "track.id")                                                                    \
	X(TRACK_NAME, "track.name") /* string +1 */                                                \
	X(TRACK_TYPE, "track.type") /* string +1 */                                                \
	X(TRACK_UNIT, "track.unit") /* string +1 */                                                \
	X(TRACK_THREAD, "track.thread") /* +1 */                                                   \
	X(TRACK_PROCESS, "track.process") /* +1 */                                                 \
	X(TRACK_CPU, "track.cpu") /* +1 */                                                         \
	X(TRACK_PARENT, "track.parent") /* track id +1 */                                          \
	X(TRACK_MACHINE, "track.machine")                                                          \
	X(TRACK_SLICES, "track.slices") /* how many slices it has */                               \
	X(TRACK_SAMPLES, "track.samples") /* how many samples it has */                            \
	X(TRACK_REAL, "track.real") /* 1: values are doubles in counter.real */                    \
	X(SLICE_TIME, "slice.time") /* minus that of the slice before; zigzag */                   \
	X(SLICE_DUR, "slice.dur") /* +1; 0: it did not end */                                      \
	X(SLICE_NAME, "slice.name") /* string +1 */                                                \
	X(SLICE_CATEGORY, "slice.category") /* string +1 */                                        \
	X(SLICE_DEPTH, "slice.depth")                                                              \
	X(COUNTER_TIME, "counter.time") /* minus that of the sample before; zigzag */              \
	X(COUNTER_VALUE, "counter.value") /* minus the value before; zigzag */                     \
	X(COUNTER_REAL, "counter.real") /* 8 bytes, little endian */                               \
	X(FUNCTION_NAME, "function.name") /* string +1 */                                          \
	X(FUNCTION_FILE, "function.file") /* path of the mapped file, string +1 */                 \
	X(FUNCTION_KIND, "function.kind") /* 0: of a program, 1: of the kernel, 2: a note */       \
	X(SITE_PARENT, "site.parent") /* +1; the caller */                                         \
	X(SITE_FUNCTION, "site.function")                                                          \
	X(PROFILE_NAME, "profile.name") /* string +1 */                                            \
	X(PROFILE_UNIT, "profile.unit") /* string +1 */                                            \
	X(PROFILE_EDGE, "profile.edge") /* 1, 2: stacks at the start, the end of slices; else 0 */ \
	X(PROFILE_SAMPLES, "profile.samples") /* how many it has */                                \
	X(STACK_TIME, "stack.time") /* minus that of the sample before; zigzag */                  \
	X(STACK_THREAD, "stack.thread") /* +1 */                                                   \
	X(STACK_SITE, "stack.site") /* the innermost call site */                                  \
	X(STACK_WEIGHT, "stack.weight")

enum page_column_id {
#define X(identifier, name) PAGE_COLUMN_##identifier,
	PAGE_COLUMN_LIST(X)
#undef X
		PAGE_COLUMNS
};

#define PAGE_COLUMN_ROOM 8192

struct page_column {
	z_stream z;
	uint8_t room[PAGE_COLUMN_ROOM]; /* bytes that are not compressed yet */
	size_t n_room;
	uint8_t *bytes; /* owned: compressed */
	size_t n_bytes, cap_bytes;
};

struct page_columns {
	struct page_column *of; /* owned: PAGE_COLUMNS */
	int error; /* 0 or -ENOMEM */
};

/* Returns 0 or -ENOMEM. */
int page_columns_init(struct page_columns *c);
void page_columns_deinit(struct page_columns *c);

/* Compresses the pending bytes of a column. flush: Z_NO_FLUSH, or Z_FINISH after its last byte.
 * Errors stay in c->error. */
void page_column_compress(struct page_columns *c, enum page_column_id id, int flush);

/* Appends a number. */
static inline void page_put(struct page_columns *c, enum page_column_id id, uint64_t v)
{
	struct page_column *column = &c->of[id];

	if (column->n_room > PAGE_COLUMN_ROOM - 10)
		page_column_compress(c, id, Z_NO_FLUSH);
	column->n_room = (size_t)(pb_put_varint(column->room + column->n_room, v) - column->room);
}

/* Add and subtract times. The result wraps if a hostile trace makes it exceed 64 bits. */
static inline int64_t page_add_times(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t page_subtract_times(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline void page_put_signed(struct page_columns *c, enum page_column_id id, int64_t v)
{
	page_put(c, id, pb_zigzag(v));
}

void page_put_bytes(struct page_columns *c, enum page_column_id id, const void *data, size_t len);

/* Ends all columns and writes their elements. Returns 0 or -errno. */
int page_columns_write(struct page_columns *c, FILE *to);
