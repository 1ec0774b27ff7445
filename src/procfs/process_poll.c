/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process_poll.h"

void process_poll_deinit(struct process_poll *p)
{
	proc_list_close(&p->processes);
	process_table_deinit(&p->table);
}

/* Its number may be given to another one, whom the trace does not know. */
static void forget_process(void *ctx, struct polled *row)
{
	struct process_poll *p = ctx;

	if (p->heard)
		return;
	process_seen_remove(&p->names->seen, row->source.pid);
	process_kin_forget(&p->names->kin, row->source.pid);
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
	return 0;
}

static void poll_process(struct process_poll *p, struct process_names *n, int32_t pid)
{
	struct polled *row = process_table_take(&p->table, pid);
	struct process_counters now;

	if (!row)
		return;
	process_packet_next(n->packet);
	if (process_counters_read(n->files, &row->source, &p->options.counters, &now) < 0) {
		process_table_renew(&p->table, row);
		(void)process_counters_read(n->files, &row->source, &p->options.counters, &now);
	}
	process_counters_write(n->packet, pid, &now, polled_change(row, &now));
}

bool process_poll_run(struct process_poll *p, struct process_names *n, struct process_queue *q,
		      const struct turn *turn)
{
	int32_t pid;

	do {
		if (!proc_list_next(&p->processes, &pid)) {
			proc_list_close(&p->processes);
			process_table_turn(&p->table);
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
	process_table_forget(&p->table);
}
