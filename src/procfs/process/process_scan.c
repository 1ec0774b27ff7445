/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_scan.h"

/*
 * One step serves one task:
 *
 *	processes   1   2   3 ... 700        readdir of /proc
 *	                          |
 *	threads                  700 701 702 readdir of /proc/700/task, if it has several threads
 *	                              |   |
 *	waiting                     | | | | |	requested together: taskstats.h
 *
 * Both directories stay open between time slices. The kernel lists by id, so the walk continues
 * where it was even if tasks have started or exited meanwhile.
 */

int process_scan_begin(struct process_scan *s, const struct process_tree *t, bool only_new)
{
	int r = pid_list_open(&s->processes, t->files->root, 0);

	s->only_new = only_new;
	/* If taskstats is unavailable, names are read from the files. */
	if (r == 0 && t->options.thread_names && t->files->own_numbers)
		(void)taskstats_open(&s->taskstats);
	return r;
}

/* Requests the names of the waiting threads and writes them. */
static void scan_write_waiting_threads(struct process_scan *s, struct process_tree *t)
{
	if (s->n_waiting == 0)
		return;
	process_packet_prepare(t->packet);
	(void)taskstats_get_names(&s->taskstats, s->waiting, s->n_waiting);
	for (unsigned i = 0; i < s->n_waiting; i++) {
		const struct taskstats_name *w = &s->waiting[i];

		if (w->tgid == s->processes_of[i])
			process_tree_write_named_thread(t, w->tgid, w->tid, &w->name);
	}
	s->n_waiting = 0;
}

/* Serves one task. Returns false after the last one. */
static bool scan_step(struct process_scan *s, struct process_tree *t)
{
	struct proc_status status;
	int32_t id;

	if (pid_list_is_open(&s->threads)) {
		if (!pid_list_next(&s->threads, &id)) {
			pid_list_close(&s->threads);
		} else if (id == s->threads.pid) {
			/* The leader has been written with its process. */
		} else if (s->namespaced || !s->taskstats.open) {
			process_tree_write_thread(t, &s->threads, id, s->namespaced);
		} else {
			s->processes_of[s->n_waiting] = s->threads.pid;
			s->waiting[s->n_waiting++].tid = id;
			if (s->n_waiting == TASKSTATS_MAX)
				scan_write_waiting_threads(s, t);
		}
		return true;
	}
	if (!pid_list_next(&s->processes, &id))
		return false;
	if ((s->only_new && task_table_find(&t->tasks, id)->has_row) ||
	    !process_tree_write_process(t, id, &status))
		return true;
	if (proc_status_has(&status, PROC_STATUS_THREADS) && status.threads <= 1)
		return true;
	s->namespaced = status.n_nspid > 0;
	/* The process may have exited by now. */
	if (pid_list_open(&s->threads, t->files->root, id) == 0)
		pid_list_expect_threads(&s->threads, status.threads);
	return true;
}

bool process_scan_run(struct process_scan *s, struct process_tree *t,
		      const struct time_slice *slice)
{
	bool more;

	do
		more = scan_step(s, t);
	while (more && !time_slice_over(slice));
	scan_write_waiting_threads(s, t);
	if (!more)
		process_scan_end(s);
	return more;
}

void process_scan_end(struct process_scan *s)
{
	pid_list_close(&s->threads);
	pid_list_close(&s->processes);
	taskstats_close(&s->taskstats);
}
