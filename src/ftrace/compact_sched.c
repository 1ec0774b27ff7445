// SPDX-License-Identifier: Apache-2.0
/*
 *	record            time | prev_state | next_pid | next_prio | next_comm
 *	                   |         |           |           |           |
 *	columns         [delta ] [ varint ]  [ varint ]  [ varint ]  [ number ]    grow to the right
 *
 *	at the bundle's end: the names in order of their numbers, then each column as a packed field
 *
 * The steps of a compact row lie in the order of event_compile.c's tables.
 */
#include "ftrace/compact_sched.h"
#include "ftrace/load.h"
#include "ftrace/msg_bytes.h"
#include "gen/fields.h"

enum { SWITCH_PREV_STATE, SWITCH_NEXT_PID, SWITCH_NEXT_PRIO, SWITCH_NEXT_COMM };
enum { WAKING_PID, WAKING_TARGET_CPU, WAKING_PRIO, WAKING_COMM, WAKING_FLAGS };

static inline void put(struct compact_column *c, uint64_t v)
{
	c->end = msg_put_varint(c->end, v);
}

static void clear(struct compact_column *c)
{
	c->end = c->bytes;
}

void compact_sched_clear(struct compact_sched *s)
{
	s->n_switch = 0;
	s->n_waking = 0;
	s->switch_time = 0;
	s->waking_time = 0;
	comm_table_clear(&s->comms);
	clear(&s->switches.time);
	clear(&s->switches.prev_state);
	clear(&s->switches.next_pid);
	clear(&s->switches.next_prio);
	clear(&s->switches.next_comm);
	clear(&s->wakings.time);
	clear(&s->wakings.pid);
	clear(&s->wakings.target_cpu);
	clear(&s->wakings.prio);
	clear(&s->wakings.comm);
	clear(&s->wakings.flags);
}

/* Sign-extended, as protobuf wants an int32. */
static inline uint64_t load_s32(const struct page_record *r, const struct field_op *op)
{
	return (uint64_t)(int32_t)load32(r->payload + op->offset);
}

static inline uint64_t load_pid(const struct page_record *r, const struct field_op *op,
				struct encode_ctx *ctx)
{
	uint64_t pid = load_s32(r, op);

	if (ctx->tids)
		tid_set_add(ctx->tids, (int32_t)pid);
	return pid;
}

void compact_sched_switch(struct compact_sched *s, const struct event_row *row,
			  const struct page_record *r, struct encode_ctx *ctx)
{
	const struct field_op *ops = row->ops;
	const struct field_op *state = &ops[SWITCH_PREV_STATE];

	put(&s->switches.time, r->time - s->switch_time);
	s->switch_time = r->time;
	put(&s->switches.prev_state,
	    state->kind == FIELD_S64 ? load64(r->payload + state->offset) : load_s32(r, state));
	put(&s->switches.next_pid, load_pid(r, &ops[SWITCH_NEXT_PID], ctx));
	put(&s->switches.next_prio, load_s32(r, &ops[SWITCH_NEXT_PRIO]));
	put(&s->switches.next_comm,
	    comm_table_get(&s->comms, r->payload + ops[SWITCH_NEXT_COMM].offset));
	s->n_switch++;
	if (ctx->tids)
		event_tell_tids(row, r, ctx);
}

void compact_sched_waking(struct compact_sched *s, const struct event_row *row,
			  const struct page_record *r, struct encode_ctx *ctx)
{
	const struct field_op *ops = row->ops;

	put(&s->wakings.time, r->time - s->waking_time);
	s->waking_time = r->time;
	put(&s->wakings.pid, load_pid(r, &ops[WAKING_PID], ctx));
	put(&s->wakings.target_cpu, load_s32(r, &ops[WAKING_TARGET_CPU]));
	put(&s->wakings.prio, load_s32(r, &ops[WAKING_PRIO]));
	put(&s->wakings.comm, comm_table_get(&s->comms, r->payload + ops[WAKING_COMM].offset));
	put(&s->wakings.flags, r->payload[ops[WAKING_FLAGS].offset]);
	s->n_waking++;
	if (ctx->tids)
		event_tell_tids(row, r, ctx);
}

static void write_column(struct pb_enc *e, uint32_t field, const struct compact_column *c)
{
	pb_enc_bytes(e, field, c->bytes, (size_t)(c->end - c->bytes));
}

static void write_names(const struct comm_table *t, struct pb_enc *e)
{
	for (uint32_t i = 0; i < t->n; i++)
		pb_enc_bytes(e, PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_INTERN_TABLE, &t->comms[i],
			     comm_len(t->comms[i]));
}

#define COLUMN(name) PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_##name

void compact_sched_write(const struct compact_sched *s, struct pb_enc *e)
{
	if (!s->n_switch && !s->n_waking)
		return;
	pb_enc_open(e, PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED);
	write_names(&s->comms, e);
	if (s->n_switch) {
		write_column(e, COLUMN(SWITCH_TIMESTAMP), &s->switches.time);
		write_column(e, COLUMN(SWITCH_PREV_STATE), &s->switches.prev_state);
		write_column(e, COLUMN(SWITCH_NEXT_PID), &s->switches.next_pid);
		write_column(e, COLUMN(SWITCH_NEXT_PRIO), &s->switches.next_prio);
		write_column(e, COLUMN(SWITCH_NEXT_COMM_INDEX), &s->switches.next_comm);
	}
	if (s->n_waking) {
		write_column(e, COLUMN(WAKING_TIMESTAMP), &s->wakings.time);
		write_column(e, COLUMN(WAKING_PID), &s->wakings.pid);
		write_column(e, COLUMN(WAKING_TARGET_CPU), &s->wakings.target_cpu);
		write_column(e, COLUMN(WAKING_PRIO), &s->wakings.prio);
		write_column(e, COLUMN(WAKING_COMM_INDEX), &s->wakings.comm);
		write_column(e, COLUMN(WAKING_COMMON_FLAGS), &s->wakings.flags);
	}
	pb_enc_close(e);
}
