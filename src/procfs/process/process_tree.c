/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_tree.h"

#include "gen/fields.h"

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

void process_tree_process(struct process_packet *p, const struct process_row *row)
{
	struct pb_enc *e = process_packet_row(p, PROCESS_PACKET_TREE, PB_PROCESS_TREE_PROCESSES);
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

void process_tree_thread(struct process_packet *p, const struct thread_row *row)
{
	struct pb_enc *e = process_packet_row(p, PROCESS_PACKET_TREE, PB_PROCESS_TREE_THREADS);

	pb_enc_i64(e, PB_PROCESS_TREE_THREAD_TID, row->tid);
	if (row->name)
		put_name(e, PB_PROCESS_TREE_THREAD_NAME, row->name);
	pb_enc_i64(e, PB_PROCESS_TREE_THREAD_TGID, row->tgid);
	for (unsigned i = 0; i < row->n_nstid; i++)
		pb_enc_i64(e, PB_PROCESS_TREE_THREAD_NSTID, row->nstid[i]);
	pb_enc_close(e);
}
