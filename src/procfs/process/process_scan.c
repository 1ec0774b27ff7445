/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_scan.h"

/*
 * One step is one task:
 *
 *	processes   1   2   3 ... 700        readdir of /proc
 *	                          |
 *	threads                  700 701 702 readdir of /proc/700/task, only where there are several
 *	                              |   |
 *	waiting                     | | | | |	asked for at once: task_names.h
 *
 * Both folders stay open between turns; the kernel's order in them is by number, so the walk goes
 * on where it was, whoever has come or gone.
 */

int process_scan_begin(struct process_scan *s, const struct process_names *n)
{
	int r = proc_list_open(&s->processes, n->files->root, 0);

	/* Where it does not open, the names are read from the files. */
	if (r == 0 && n->options.thread_names && n->files->own_numbers)
		(void)task_names_open(&s->task_names);
	return r;
}

static void step_process(struct process_scan *s, struct process_names *n, int32_t pid)
{
	struct proc_status status;

	if (!process_names_process(n, pid, &status))
		return;
	if (proc_status_has(&status, PROC_STATUS_THREADS) && status.threads <= 1)
		return;
	s->namespaced = status.n_nspid > 0;
	/* It may have ended by now. */
	if (proc_list_open(&s->threads, n->files->root, pid) == 0)
		proc_list_expect(&s->threads, status.threads);
}

static void name_waiting(struct process_scan *s, struct process_names *n)
{
	if (s->n_waiting == 0)
		return;
	process_packet_next(n->packet);
	(void)task_names_get(&s->task_names, s->waiting, s->n_waiting);
	for (unsigned i = 0; i < s->n_waiting; i++) {
		const struct task_name *t = &s->waiting[i];

		if (t->tgid == s->processes_of[i])
			process_names_called(n, t->tgid, t->tid, &t->name);
		else
			process_names_task(n, t->tid);
	}
	s->n_waiting = 0;
}

static void step_thread(struct process_scan *s, struct process_names *n, int32_t tid)
{
	if (s->namespaced || !s->task_names.open) {
		process_names_thread(n, &s->threads, tid, s->namespaced);
		return;
	}
	s->processes_of[s->n_waiting] = s->threads.pid;
	s->waiting[s->n_waiting++].tid = tid;
	if (s->n_waiting == TASK_NAMES_MAX)
		name_waiting(s, n);
}

/* False: that was the last. */
static bool step(struct process_scan *s, struct process_names *n)
{
	int32_t id;

	if (proc_list_is_open(&s->threads)) {
		if (!proc_list_next(&s->threads, &id))
			proc_list_close(&s->threads);
		else if (id != s->threads.pid)
			step_thread(s, n, id);
		return true;
	}
	if (!proc_list_next(&s->processes, &id))
		return false;
	step_process(s, n, id);
	return true;
}

bool process_scan_run(struct process_scan *s, struct process_names *n,
		      const struct time_slice *turn)
{
	bool more;

	do
		more = step(s, n);
	while (more && !time_slice_over(turn));
	name_waiting(s, n);
	if (!more)
		process_scan_end(s);
	return more;
}

void process_scan_end(struct process_scan *s)
{
	proc_list_close(&s->threads);
	proc_list_close(&s->processes);
	task_names_close(&s->task_names);
}
