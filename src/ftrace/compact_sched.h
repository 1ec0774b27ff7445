/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/comm_table.h"
#include "ftrace/event_encode.h"
#include "wire/pb_enc.h"

/*
 * sched_switch and sched_waking as columns: every field of CompactSched grows in its own array, in
 * its final encoding (packed varints), until the bundle ends. Takes 8 bytes an event instead of 42,
 * because times are deltas, names are numbers, and what the switch before said is not repeated.
 *
 * About 200 KiB of address space, of which only what the bundles fill is touched.
 */
#define COMPACT_MAX_EVENTS 2048 /* of one kind in a bundle */
#define COMPACT_VARINT_MAX 10

struct compact_column {
	uint8_t *end;
	uint8_t bytes[COMPACT_MAX_EVENTS * COMPACT_VARINT_MAX];
};

struct compact_sched {
	uint32_t n_switch;
	uint32_t n_waking;
	uint64_t switch_time; /* of the last one; the first delta is the time itself */
	uint64_t waking_time;
	struct comm_table comms;
	struct {
		struct compact_column time, prev_state, next_pid, next_prio, next_comm;
	} switches;
	struct {
		struct compact_column time, pid, target_cpu, prio, comm, flags;
	} wakings;
};

/* Forgets everything. Also before the first use, on zeroed memory. */
void compact_sched_clear(struct compact_sched *s);

/* There is no room for one event more. */
static inline bool compact_sched_full(const struct compact_sched *s)
{
	return s->n_switch == COMPACT_MAX_EVENTS || s->n_waking == COMPACT_MAX_EVENTS ||
	       comm_table_full(&s->comms);
}

/* One record of row->min_len bytes or more; not full. row->kind says which columns. */
void compact_sched_switch(struct compact_sched *s, const struct event_row *row,
			  const struct page_record *r, struct encode_ctx *ctx);
void compact_sched_waking(struct compact_sched *s, const struct event_row *row,
			  const struct page_record *r, struct encode_ctx *ctx);

/* Writes the field compact_sched into an open bundle, if there is anything. */
void compact_sched_write(const struct compact_sched *s, struct pb_enc *e);
