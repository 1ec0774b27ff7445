/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_packet.h"

#include "base/core/clock.h"
#include "client/transport/writer.h"
#include "gen/fields.h"

/*
 *	| timestamp | incremental_state_cleared | process_tree: row row row ... collection_end |
 */

static const uint32_t packet_fields[] = {
	[PROCESS_PACKET_TREE] = PB_TRACE_PACKET_PROCESS_TREE,
	[PROCESS_PACKET_STATS] = PB_TRACE_PACKET_PROCESS_STATS,
};

static const uint32_t end_fields[] = {
	[PROCESS_PACKET_TREE] = PB_PROCESS_TREE_COLLECTION_END_TIMESTAMP,
	[PROCESS_PACKET_STATS] = PB_PROCESS_STATS_COLLECTION_END_TIMESTAMP,
};

void process_packet_next(struct process_packet *p)
{
	if (p->single_event || (p->e && pb_enc_pos(p->e) - p->start_pos >= PROCESS_PACKET_BYTES))
		process_packet_end(p);
	p->single_event = false;
	p->task_ns = clock_boot_ns();
}

void process_packet_next_at(struct process_packet *p, uint64_t ns)
{
	process_packet_next(p);
	if (!ns)
		return;
	process_packet_end(p);
	p->single_event = true;
	p->task_ns = ns + 1;
}

struct pb_enc *process_packet_open(struct process_packet *p, enum process_packet_kind kind)
{
	if (p->e && p->kind != kind)
		process_packet_end(p);
	if (p->e)
		return p->e;
	p->e = writer_begin(p->w);
	p->kind = kind;
	pb_enc_u64(p->e, PB_TRACE_PACKET_TIMESTAMP, p->task_ns);
	if (p->new_state)
		pb_enc_bool(p->e, PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED, true);
	p->new_state = false;
	pb_enc_open(p->e, packet_fields[kind]);
	p->start_pos = pb_enc_pos(p->e);
	return p->e;
}

struct pb_enc *process_packet_open_row(struct process_packet *p, enum process_packet_kind kind,
				       uint32_t field)
{
	pb_enc_open(process_packet_open(p, kind), field);
	return p->e;
}

void process_packet_end(struct process_packet *p)
{
	if (!p->e)
		return;
	if (!p->single_event)
		pb_enc_u64(p->e, end_fields[p->kind], clock_boot_ns());
	pb_enc_close(p->e);
	writer_end(p->w);
	p->e = NULL;
}
