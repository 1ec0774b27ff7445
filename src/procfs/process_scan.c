/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process_scan.h"

/*
 * One step is one task:
 *
 *	processes   1   2   3 ... 700        readdir of /proc
 *	                          |
 *	threads                  700 701 702 readdir of /proc/700/task, only where there are several
 *
 * Both folders stay open between turns; the kernel's order in them is by number, so the walk goes
 * on where it was, whoever has come or gone.
 */

int process_scan_begin(struct process_scan *s, const struct process_names *n)
{
	return proc_list_open(&s->processes, n->files->root, 0);
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
	(void)proc_list_open(&s->threads, n->files->root, pid);
}

/* False: that was the last. */
static bool step(struct process_scan *s, struct process_names *n)
{
	int32_t id;

	if (proc_list_is_open(&s->threads)) {
		if (!proc_list_next(&s->threads, &id))
			proc_list_close(&s->threads);
		else if (id != s->threads.pid)
			process_names_thread(n, &s->threads, id, s->namespaced);
		return true;
	}
	if (!proc_list_next(&s->processes, &id))
		return false;
	step_process(s, n, id);
	return true;
}

bool process_scan_run(struct process_scan *s, struct process_names *n, const struct turn *turn)
{
	do {
		if (!step(s, n)) {
			process_scan_end(s);
			return false;
		}
	} while (!turn_over(turn));
	return true;
}

void process_scan_end(struct process_scan *s)
{
	proc_list_close(&s->threads);
	proc_list_close(&s->processes);
}
