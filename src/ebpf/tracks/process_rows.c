/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/tracks/process_rows.h"

#include "client/transport/writer.h"
#include "gen/fields.h"

static void process_rows_begin(struct process_rows *p)
{
	/* Pending values of tracks are written before other packets. */
	tracks_end(p->run->tracks);
	p->e = writer_begin(p->run->writer);
	p->n = 0;
	pb_enc_u64(p->e, PB_TRACE_PACKET_TIMESTAMP, p->at);
	pb_enc_open(p->e, PB_TRACE_PACKET_EBPF_PROCESS_ROWS);
	pb_enc_str(p->e, PB_EBPF_PROCESS_ROWS_FAMILY, p->run->family->name);
	pb_enc_u64(p->e, PB_EBPF_PROCESS_ROWS_COLUMNS, p->columns);
}

/* Ends the rows of a packet, which are one packed field. */
static void end_rows(struct process_rows *p)
{
	if (p->n)
		pb_enc_close(p->e);
	p->n = 0;
}

void process_rows_add(struct process_rows *p, uint32_t pid, const uint64_t *values)
{
	if (p->n == PROCESS_ROWS_EACH)
		process_rows_end(p);
	if (!p->e)
		process_rows_begin(p);
	if (!p->n++)
		pb_enc_open(p->e, PB_EBPF_PROCESS_ROWS_ROWS);
	pb_enc_packed_varint(p->e, pid);
	for (uint32_t i = 0; i < p->columns; i++)
		pb_enc_packed_varint(p->e, values[i]);
}

void process_rows_add_name(struct process_rows *p, uint32_t pid, const struct process_rows_name *n)
{
	if (!p->e)
		process_rows_begin(p);
	end_rows(p);
	pb_enc_open(p->e, PB_EBPF_PROCESS_ROWS_PROCESSES);
	pb_enc_u64(p->e, PB_EBPF_PROCESS_ROWS_PROCESS_PID, pid);
	pb_enc_str(p->e, PB_EBPF_PROCESS_ROWS_PROCESS_NAME, n->name);
	if (n->is_kthread)
		pb_enc_bool(p->e, PB_EBPF_PROCESS_ROWS_PROCESS_IS_KTHREAD, true);
	if (n->parent_pid)
		pb_enc_u64(p->e, PB_EBPF_PROCESS_ROWS_PROCESS_PARENT_PID, n->parent_pid);
	if (n->tgid)
		pb_enc_u64(p->e, PB_EBPF_PROCESS_ROWS_PROCESS_TGID, n->tgid);
	pb_enc_close(p->e);
}

void process_rows_end(struct process_rows *p)
{
	if (!p->e)
		return;
	end_rows(p);
	pb_enc_close(p->e);
	p->e = NULL;
	writer_end(p->run->writer);
}
