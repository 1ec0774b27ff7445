/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process_names.h"

#include "procfs/process_tree.h"

/*
 * Two ways lead here. The scan comes from the folders: /proc/PID, then /proc/PID/task/TID, so the
 * owner of a thread is known, and its name is to be had from the small file "comm". The kernel's
 * events bring bare numbers: of those the whole status must be read, to know whose they are.
 *
 * A number is taken as seen only after its row is written. One that is given out anew is forgotten
 * where somebody tells of it (a new task, an exec); without such news the old description stays
 * until the state is cleared.
 */

static void describe_thread(struct process_names *n, int32_t tgid, int32_t tid,
			    const struct proc_name *name, const struct proc_status *nested)
{
	process_tree_thread(n->packet, &(struct thread_row){
					       .tid = tid,
					       .tgid = tgid,
					       .name = n->options.thread_names ? name : NULL,
					       .nstid = nested ? nested->nspid : NULL,
					       .n_nstid = nested ? nested->n_nspid : 0,
				       });
	/* Without memory to remember it, it is told twice. */
	(void)process_seen_add(&n->seen, tid);
}

static void describe_process(struct process_names *n, const struct proc_status *s)
{
	struct process_row row = {.status = s, .cmdline = ""};
	struct proc_stat stat;

	if (n->options.age && proc_files_stat(n->files, s->pid, &stat) == 0) {
		row.has_start = true;
		row.start_from_boot_ns = stat.starttime * n->files->ns_per_tick;
	}
	/* A kernel thread has none, and one that cannot be read is as good as none. */
	if (!s->kthread)
		(void)proc_files_cmdline(n->files, s->pid, &row.cmdline, &row.cmdline_len);
	process_tree_process(n->packet, &row);
	(void)process_seen_add(&n->seen, s->pid);
	if (!n->options.skip_main_thread)
		describe_thread(n, s->pid, s->pid, &s->name, s);
}

bool process_names_process(struct process_names *n, int32_t pid, struct proc_status *ret_status)
{
	process_packet_next(n->packet);
	/* A number that now belongs to another process's thread is none of a leader. */
	if (proc_files_status(n->files, pid, ret_status) != 0 || ret_status->tgid != pid ||
	    ret_status->pid != pid)
		return false;
	if (!process_seen_has(&n->seen, pid))
		describe_process(n, ret_status);
	return true;
}

void process_names_thread(struct process_names *n, int32_t pid, int32_t tid, bool namespaced)
{
	struct proc_status status;
	struct proc_name name;

	if (process_seen_has(&n->seen, tid))
		return;
	process_packet_next(n->packet);
	if (namespaced) {
		if (proc_files_thread_status(n->files, pid, tid, &status) == 0)
			describe_thread(n, pid, tid, &status.name, &status);
	} else if (!n->options.thread_names) {
		describe_thread(n, pid, tid, NULL, NULL);
	} else if (proc_files_comm(n->files, pid, tid, &name) == 0) {
		describe_thread(n, pid, tid, &name, NULL);
	}
}

void process_names_task(struct process_names *n, int32_t tid)
{
	struct proc_status status, leader;

	if (tid <= 0 || process_seen_has(&n->seen, tid))
		return;
	process_packet_next(n->packet);
	if (proc_files_status(n->files, tid, &status) != 0 || status.pid != tid)
		return;
	if (status.tgid == tid) {
		describe_process(n, &status);
		return;
	}
	if (!process_seen_has(&n->seen, status.tgid))
		(void)process_names_process(n, status.tgid, &leader);
	describe_thread(n, status.tgid, tid, &status.name, &status);
}

void process_names_forget(struct process_names *n, int32_t tid)
{
	process_seen_remove(&n->seen, tid);
}

void process_names_clear(struct process_names *n)
{
	process_seen_clear(&n->seen);
	n->packet->new_state = true;
}
