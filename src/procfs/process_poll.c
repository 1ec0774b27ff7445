/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process_poll.h"

/* A number that was a kernel thread's may be another process's by now: every so manieth pass looks
 * at all. */
#define KTHREADS_KEPT 64

void process_poll_deinit(struct process_poll *p)
{
	proc_list_close(&p->processes);
	process_cache_deinit(&p->cache);
	process_seen_clear(&p->kthreads);
}

int process_poll_begin(struct process_poll *p, const struct process_names *n)
{
	int r = proc_list_open(&p->processes, n->files, 0);

	if (r < 0)
		return r;
	if (p->pass % p->options.full_every == 0)
		process_cache_forget(&p->cache);
	if (p->pass % KTHREADS_KEPT == 0)
		process_seen_clear(&p->kthreads);
	p->pass++;
	return 0;
}

static void poll_process(struct process_poll *p, struct process_names *n, int32_t pid)
{
	bool memory = !process_seen_has(&p->kthreads, pid), is_kthread;
	struct process_counters now;

	if (!memory && !p->options.counters.runtime)
		return;
	process_packet_next(n->packet);
	process_counters_read(n->files, pid, &p->options.counters, memory, &now, &is_kthread);
	if (is_kthread)
		(void)process_seen_add(&p->kthreads, pid);
	process_counters_write(n->packet, pid, &now, process_cache_changed(&p->cache, pid, &now));
	if (p->options.full_every > 1)
		process_cache_put(&p->cache, pid, &now);
}

bool process_poll_run(struct process_poll *p, struct process_names *n, struct process_queue *q,
		      const struct turn *turn)
{
	int32_t pid;

	do {
		if (!proc_list_next(&p->processes, &pid)) {
			proc_list_close(&p->processes);
			process_cache_turn(&p->cache);
			return false;
		}
		poll_process(p, n, pid);
		if (!process_seen_has(&n->seen, pid))
			process_queue_add(q, pid);
	} while (!turn_over(turn));
	return true;
}

void process_poll_clear(struct process_poll *p)
{
	process_cache_forget(&p->cache);
	process_seen_clear(&p->kthreads);
}
