/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_poll.h"

void process_poll_deinit(struct process_poll *p)
{
	proc_list_close(&p->processes);
	process_table_deinit(&p->table);
	process_usage_deinit(&p->usage);
}

void process_poll_end(struct process_poll *p)
{
	p->at = POLL_IDLE;
	proc_list_close(&p->processes);
	proc_list_close(&p->usage.threads);
}

/* The number may be given to another task, whom the trace does not know. */
static void forget_name(struct process_poll *p, int32_t tid)
{
	if (p->heard)
		return;
	process_seen_remove(&p->names->seen, tid);
	process_kin_forget(&p->names->kin, tid);
}

static void forget_process(void *ctx, struct polled *row)
{
	struct process_poll *p = ctx;

	if (process_usage_is_on(&p->usage))
		process_usage_gone(&p->usage, row->source.pid, &row->usage);
	forget_name(p, row->source.pid);
}

int process_poll_begin(struct process_poll *p, struct process_names *n)
{
	int r = proc_list_open(&p->processes, n->files->root, 0);

	if (r < 0)
		return r;
	p->names = n;
	p->table.gone = forget_process;
	p->table.ctx = p;
	if (p->pass % p->options.full_every == 0)
		process_table_forget(&p->table);
	p->pass++;
	p->at = POLL_TASKS;
	return 0;
}

static void poll_process(struct process_poll *p, struct process_names *n, int32_t pid)
{
	struct polled *row = process_table_take(&p->table, pid);
	struct process_counters now;
	uint32_t changed;

	if (!row || (row->is_new && !proc_files_has_run(n->files, pid, NULL)))
		return;
	process_packet_next(n->packet);
	if (process_counters_read(n->files, &row->source, &p->options.counters, &now) < 0) {
		process_table_renew(&p->table, row);
		process_packet_next(n->packet);
		(void)process_counters_read(n->files, &row->source, &p->options.counters, &now);
	}
	if (row->is_new)
		process_packet_end(n->packet); /* that began earlier, maybe before the process */
	row->is_new = false;
	changed = polled_change(row, &now);
	process_counters_write(n->packet, pid, row->v, changed);
	if (process_usage_is_on(&p->usage))
		process_usage_read(&p->usage, n->files, pid, &row->usage);
}

/* Ends of threads are not met: one that has a process' number now has ended. */
static void forget_thread(struct process_poll *p, int32_t pid)
{
	int32_t tgid = process_kin_tgid(&p->names->kin, pid);

	if (tgid && tgid != pid)
		forget_name(p, pid);
}

static void queue_unknown(struct process_names *n, struct process_queue *q, int32_t tid)
{
	if (!process_seen_has(&n->seen, tid))
		process_queue_add(q, tid);
}

/* False: that was the last. */
static bool step_task(struct process_poll *p, struct process_names *n, struct process_queue *q)
{
	int32_t pid, tid;

	if (process_usage_thread(&p->usage, n->files, &tid)) {
		queue_unknown(n, q, tid);
		return true;
	}
	if (!proc_list_next(&p->processes, &pid)) {
		proc_list_close(&p->processes);
		return false;
	}
	forget_thread(p, pid);
	poll_process(p, n, pid);
	queue_unknown(n, q, pid);
	return true;
}

/* False: the pass is over. */
static bool step(struct process_poll *p, struct process_names *n, struct process_queue *q)
{
	switch (p->at) {
	case POLL_TASKS:
		if (!step_task(p, n, q))
			p->at = POLL_GONE_PROCESSES;
		break;
	case POLL_GONE_PROCESSES:
		if (!process_table_turn(&p->table))
			p->at = process_usage_is_on(&p->usage) ? POLL_GONE_THREADS : POLL_IDLE;
		break;
	case POLL_GONE_THREADS:
		if (!process_usage_turn(&p->usage))
			p->at = POLL_IDLE;
		break;
	case POLL_IDLE:
		break;
	}
	return p->at != POLL_IDLE;
}

bool process_poll_run(struct process_poll *p, struct process_names *n, struct process_queue *q,
		      const struct time_slice *turn)
{
	bool more, on = process_usage_is_on(&p->usage);

	if (on)
		process_usage_begin(&p->usage);
	do
		more = step(p, n, q);
	while (more && !time_slice_over(turn));
	if (on)
		process_usage_end(&p->usage);
	return more;
}

void process_poll_clear(struct process_poll *p)
{
	process_table_forget(&p->table);
	process_usage_clear(&p->usage);
}
