/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process_tree.h"

#include "base/clock.h"
#include "client/writer.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

/*
 * Rows of both kinds follow each other as they are found, in one message:
 *
 *	| timestamp | incremental_state_cleared | process_tree: process thread thread process ... end |
 */

static void open_packet(struct process_tree *t)
{
	t->e = writer_begin(t->w);
	pb_enc_u64(t->e, PB_TRACE_PACKET_TIMESTAMP, t->start_ns);
	if (t->new_state)
		pb_enc_bool(t->e, PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED, true);
	t->new_state = false;
	pb_enc_open(t->e, PB_TRACE_PACKET_PROCESS_TREE);
	t->start_pos = pb_enc_pos(t->e);
}

void process_tree_end(struct process_tree *t)
{
	if (!t->e)
		return;
	pb_enc_u64(t->e, PB_PROCESS_TREE_COLLECTION_END_TIMESTAMP, clock_boot_ns());
	pb_enc_close(t->e);
	writer_end(t->w);
	t->e = NULL;
}

void process_tree_next(struct process_tree *t)
{
	if (t->e && pb_enc_pos(t->e) - t->start_pos >= PROCESS_TREE_PACKET_BYTES)
		process_tree_end(t);
	if (!t->e)
		t->start_ns = clock_boot_ns();
}

static struct pb_enc *begin_row(struct process_tree *t, uint32_t field)
{
	if (!t->e)
		open_packet(t);
	pb_enc_open(t->e, field);
	return t->e;
}

static void put_name(struct pb_enc *e, uint32_t field, const struct proc_name *name)
{
	pb_enc_bytes(e, field, name->s, name->len);
}

/* Says so where the name had to stand in: it is how readers know kernel threads and the dead. */
static void put_cmdline(struct pb_enc *e, const struct process_row *row)
{
	const char *p = row->cmdline, *end = p + row->cmdline_len, *arg;
	bool any = false;
	size_t len;

	while ((p = proc_cmdline_next(p, end, &arg, &len))) {
		pb_enc_bytes(e, PB_PROCESS_TREE_PROCESS_CMDLINE, arg, len);
		any = true;
	}
	if (any)
		return;
	put_name(e, PB_PROCESS_TREE_PROCESS_CMDLINE, &row->status->name);
	pb_enc_bool(e, PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM, true);
}

void process_tree_process(struct process_tree *t, const struct process_row *row)
{
	struct pb_enc *e = begin_row(t, PB_PROCESS_TREE_PROCESSES);
	const struct proc_status *s = row->status;

	pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_PID, s->pid);
	if (proc_status_has(s, PROC_STATUS_PPID))
		pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_PPID, s->ppid);
	put_cmdline(e, row);
	/* The field is signed, uids are not: 4294967294 travels as -2. */
	if (proc_status_has(s, PROC_STATUS_UID))
		pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_UID, (int32_t)s->uid);
	for (unsigned i = 0; i < s->n_nspid; i++)
		pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_NSPID, s->nspid[i]);
	if (row->has_start)
		pb_enc_u64(e, PB_PROCESS_TREE_PROCESS_PROCESS_START_FROM_BOOT,
			   row->start_from_boot_ns);
	if (proc_status_has(s, PROC_STATUS_KTHREAD))
		pb_enc_bool(e, PB_PROCESS_TREE_PROCESS_IS_KTHREAD, s->kthread);
	pb_enc_close(e);
}

void process_tree_thread(struct process_tree *t, const struct thread_row *row)
{
	struct pb_enc *e = begin_row(t, PB_PROCESS_TREE_THREADS);

	pb_enc_i64(e, PB_PROCESS_TREE_THREAD_TID, row->tid);
	if (row->name)
		put_name(e, PB_PROCESS_TREE_THREAD_NAME, row->name);
	pb_enc_i64(e, PB_PROCESS_TREE_THREAD_TGID, row->tgid);
	for (unsigned i = 0; i < row->n_nstid; i++)
		pb_enc_i64(e, PB_PROCESS_TREE_THREAD_NSTID, row->nstid[i]);
	pb_enc_close(e);
}
