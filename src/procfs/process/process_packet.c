/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_packet.h"

#include <errno.h>
#include <string.h>

#include "base/core/clock.h"
#include "client/transport/writer.h"
#include "gen/fields.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "client/counters/tracks.h"

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

static void open_packet(struct process_packet *p, enum process_packet_kind kind)
{
	p->e = writer_begin(p->w);
	p->kind = kind;
	pb_enc_u64(p->e, PB_TRACE_PACKET_TIMESTAMP, p->task_ns);
	if (p->new_state)
		pb_enc_bool(p->e, PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED, true);
	p->new_state = false;
	pb_enc_open(p->e, packet_fields[kind]);
	p->start_pos = pb_enc_pos(p->e);
}

/* Returns the packet itself, for fields that are not messages. */
static struct pb_enc *process_packet_open(struct process_packet *p, enum process_packet_kind kind)
{
	if (p->e && p->kind != kind)
		process_packet_end(p);
	if (!p->e)
		open_packet(p, kind);
	return p->e;
}

struct pb_enc *process_packet_row(struct process_packet *p, enum process_packet_kind kind,
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

static void process_packet_put_name(struct pb_enc *e, uint32_t field, const struct proc_name *name)
{
	pb_enc_bytes(e, field, name->s, name->len);
}

/*
 * Marks rows whose command line is missing: readers detect kernel threads and exiting processes
 * that way.
 */
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
	process_packet_put_name(e, PB_PROCESS_TREE_PROCESS_CMDLINE, &row->status->name);
	pb_enc_bool(e, PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM, true);
}

void process_packet_add_process(struct process_packet *p, const struct process_row *row)
{
	struct pb_enc *e = process_packet_row(p, PROCESS_PACKET_TREE, PB_PROCESS_TREE_PROCESSES);
	const struct proc_status *s = row->status;

	pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_PID, s->pid);
	if (proc_status_has(s, PROC_STATUS_PPID))
		pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_PPID, s->ppid);
	put_cmdline(e, row);
	/* The field is signed, uids are not: 4294967294 is written as -2. */
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

void process_packet_add_thread(struct process_packet *p, const struct thread_row *row)
{
	struct pb_enc *e = process_packet_row(p, PROCESS_PACKET_TREE, PB_PROCESS_TREE_THREADS);

	pb_enc_i64(e, PB_PROCESS_TREE_THREAD_TID, row->tid);
	if (row->name)
		process_packet_put_name(e, PB_PROCESS_TREE_THREAD_NAME, row->name);
	pb_enc_i64(e, PB_PROCESS_TREE_THREAD_TGID, row->tgid);
	for (unsigned i = 0; i < row->n_nstid; i++)
		pb_enc_i64(e, PB_PROCESS_TREE_THREAD_NSTID, row->nstid[i]);
	pb_enc_close(e);
}

static bool is_errors(const struct proc_errors *t)
{
	return t->count || t->absent;
}

static const char *process_packet_reason_of(const struct proc_errors *t)
{
	return t->absent	     ? "this kernel lacks it"
	       : t->error == -EAGAIN ? "not read in time"
				     : fs_reason(-t->error);
}

void process_errors_log(struct process_errors *t, const struct proc_files *f)
{
	for (unsigned i = 0; i < PROC_FILES; i++) {
		if (!is_errors(&f->errors[i]) || t->logged >> i & 1)
			continue;
		t->logged |= 1u << i;
		log_warn("linux.process_stats: /proc/PID/%s: %s; its values are missing",
			 proc_file_name(i), process_packet_reason_of(&f->errors[i]));
	}
	if (!t->refused_tracks || t->logged_refused)
		return;
	t->logged_refused = true;
	log_warn("linux.process_stats: more than %u counter tracks; the excess is dropped",
		 TRACKS_MAX);
}

static uint64_t process_packet_sum_of(const struct process_errors *t, const struct proc_files *f)
{
	uint64_t sum = t->refused_tracks;

	for (unsigned i = 0; i < PROC_FILES; i++)
		sum += f->errors[i].count + f->errors[i].absent;
	return sum;
}

void process_errors_write(struct process_errors *t, const struct proc_files *f,
			  struct process_packet *p)
{
	uint64_t sum = process_packet_sum_of(t, f);

	if (sum == t->written)
		return;
	t->written = sum;
	process_packet_next(p);
	for (unsigned i = 0; i < PROC_FILES; i++) {
		const struct proc_errors *k = &f->errors[i];
		struct pb_enc *e;

		if (!is_errors(k))
			continue;
		e = process_packet_row(p, PROCESS_PACKET_STATS, PB_PROCESS_STATS_UNREAD_FILES);
		pb_enc_str(e, PB_PROCESS_STATS_UNREAD_FILE_NAME, proc_file_name(i));
		pb_enc_i64(e, PB_PROCESS_STATS_UNREAD_FILE_ERROR, -k->error);
		pb_enc_u64(e, PB_PROCESS_STATS_UNREAD_FILE_COUNT, k->count);
		pb_enc_close(e);
	}
	if (t->refused_tracks)
		pb_enc_u64(process_packet_open(p, PROCESS_PACKET_STATS),
			   PB_PROCESS_STATS_REFUSED_TRACKS, t->refused_tracks);
	process_packet_end(p);
}
