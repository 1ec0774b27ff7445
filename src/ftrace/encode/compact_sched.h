/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/encode/field_value.h"
#include "ftrace/encode/intern_tables.h"
#include "ftrace/encode/pb_unchecked.h"
#include "ftrace/format/unaligned.h"
#include "wire/pb_enc.h"

/*
 * sched_switch and sched_waking as columns: each field of CompactSched grows in an array of its
 * own, in its final encoding (packed varints), until the bundle ends. An event takes 8 bytes
 * instead of 42, because times are deltas, names are numbers, and facts of the previous switch are
 * not repeated.
 *
 *	record            time | prev_state | next_pid | next_prio | next_comm
 *	                   |         |           |           |           |
 *	columns         [delta ] [ varint ]  [ varint ]  [ varint ]  [ number ]    grow to the right
 *
 * Uses about 700 KiB of address space; only the part that bundles fill is ever touched.
 */
#define COMPACT_MAX_EVENTS 4096 /* in a bundle */
#define COMPACT_VARINT_MAX 10

enum compact_column {
	SWITCH_TIME,
	SWITCH_PREV_STATE,
	SWITCH_NEXT_PID,
	SWITCH_NEXT_PRIO,
	SWITCH_NEXT_COMM,
	WAKING_TIME,
	WAKING_PID,
	WAKING_TARGET_CPU,
	WAKING_PRIO,
	WAKING_COMM,
	WAKING_FLAGS,
	COMPACT_COLUMNS,
};

_Static_assert(COMM_TABLE_MAX >= COMPACT_MAX_EVENTS, "each may bring a name");

struct compact_sched {
	uint32_t room; /* events for which there is room */
	uint64_t switch_time; /* time of the previous event; the first delta is the time itself */
	uint64_t waking_time;
	uint8_t *end[COMPACT_COLUMNS]; /* write positions in bytes */
	struct comm_table comms;
	uint8_t bytes[COMPACT_COLUMNS][COMPACT_MAX_EVENTS * COMPACT_VARINT_MAX];
};

/* Empties the columns. Call it before the first use, too, on zeroed memory. */
void compact_sched_clear(struct compact_sched *s);

/* Returns true if there is no room for another event. */
static inline bool compact_sched_full(const struct compact_sched *s)
{
	return !s->room;
}

/* Writes the field compact_sched into an open bundle, unless it is empty. */
void compact_sched_write(const struct compact_sched *s, struct pb_enc *e);

/* Appends a value to a column. Fast for values that fit into one byte. */
static inline void compact_put(struct compact_sched *s, enum compact_column column, uint64_t v)
{
	s->end[column] = unchecked_put_varint(s->end[column], v);
}

static inline void compact_put_time(struct compact_sched *s, enum compact_column column,
				    uint64_t delta)
{
	s->end[column] = unchecked_put_mixed_varint(s->end[column], delta);
}

/* Writes the pid and the name, each to its column. */
static inline void compact_put_task(struct compact_sched *s, enum compact_column pid_column,
				    int32_t pid, enum compact_column comm_column,
				    const uint8_t *comm)
{
	const struct comm_task *task = comm_table_task(&s->comms, pid, comm);
	struct comm raw;

	if (__builtin_expect(task != NULL, 1)) {
		memcpy(s->end[pid_column], task->pid_bytes, sizeof(task->pid_bytes));
		s->end[pid_column] += task->pid_len;
		compact_put(s, comm_column, task->index);
		return;
	}
	memcpy(&raw, comm, sizeof(raw));
	compact_put(s, pid_column, (uint64_t)pid);
	compact_put(s, comm_column, comm_table_intern(&s->comms, raw));
}

/* Returns a field of 32 bits, sign-extended to 64 bits as protobuf requires for an int32. */
static inline uint64_t compact_s32(const struct ring_record *r, const struct field_op *op)
{
	return (uint64_t)(int32_t)load32(r->payload + op->offset);
}

/* Notes the next or the woken thread for the metadata bus. The current thread (common_pid) was the
 * next thread of an earlier switch. */
static inline void compact_add_tid(struct encode_ctx *ctx, const struct ring_record *r,
				   const struct field_op *pid)
{
	if (ctx->metadata)
		tid_list_add(metadata_tids(ctx->metadata, r->time),
			     (int32_t)load32(r->payload + pid->offset));
}

/* Adds one record of at least ev->min_len bytes. The columns must not be full. The ops are in the
 * order of the columns after the time (event_compile.c). */
static inline void compact_sched_switch(struct compact_sched *s, const struct compiled_event *ev,
					const struct ring_record *r, struct encode_ctx *ctx)
{
	const struct field_op *state = &ev->ops[0], *pid = &ev->ops[1], *prio = &ev->ops[2],
			      *comm = &ev->ops[3];

	compact_put_time(s, SWITCH_TIME, r->time - s->switch_time);
	s->switch_time = r->time;
	compact_put(s, SWITCH_PREV_STATE,
		    state->type == FIELD_S64 ? load64(r->payload + state->offset)
					     : compact_s32(r, state));
	compact_put(s, SWITCH_NEXT_PRIO, compact_s32(r, prio));
	compact_put_task(s, SWITCH_NEXT_PID, (int32_t)load32(r->payload + pid->offset),
			 SWITCH_NEXT_COMM, r->payload + comm->offset);
	s->room--;
	compact_add_tid(ctx, r, pid);
}

static inline void compact_sched_waking(struct compact_sched *s, const struct compiled_event *ev,
					const struct ring_record *r, struct encode_ctx *ctx)
{
	const struct field_op *pid = &ev->ops[0], *cpu = &ev->ops[1], *prio = &ev->ops[2],
			      *comm = &ev->ops[3], *flags = &ev->ops[4];

	compact_put_time(s, WAKING_TIME, r->time - s->waking_time);
	s->waking_time = r->time;
	compact_put(s, WAKING_TARGET_CPU, compact_s32(r, cpu));
	compact_put(s, WAKING_PRIO, compact_s32(r, prio));
	compact_put_task(s, WAKING_PID, (int32_t)load32(r->payload + pid->offset), WAKING_COMM,
			 r->payload + comm->offset);
	compact_put(s, WAKING_FLAGS, r->payload[flags->offset]);
	s->room--;
	compact_add_tid(ctx, r, pid);
}
