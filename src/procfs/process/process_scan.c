/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_scan.h"

#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"

/*
 * A table has two arrays, which are swapped after each pass. A pass walks /proc in order of ids, so
 * the rows it collects are sorted.
 */

static int by_pid(const void *a, const void *b)
{
	int32_t x = ((const struct polled *)a)->source.pid;
	int32_t y = ((const struct polled *)b)->source.pid;

	return (x > y) - (x < y);
}

static void process_scan_release(struct process_table *t, struct polled *p)
{
	if (t->gone)
		t->gone(t->ctx, p);
	process_counter_files_deinit(&p->source);
}

bool process_table_release(struct process_table *t)
{
	for (unsigned i = 0; i < PROCESS_TABLE_PIECE; i++) {
		struct polled_rows *r = t->last.n ? &t->last : &t->next;

		if (r->n == 0)
			return false;
		if (!r->rows[--r->n].taken)
			process_counter_files_deinit(&r->rows[r->n].source);
	}
	return true;
}

/* Does not call gone. */
static void process_table_deinit(struct process_table *t)
{
	while (process_table_release(t))
		;
	free(t->last.rows);
	free(t->next.rows);
	t->last = t->next = (struct polled_rows){0};
}

static struct polled *process_scan_find(const struct polled_rows *r, int32_t pid)
{
	const struct polled key = {.source.pid = pid};

	return r->n ? bsearch(&key, r->rows, r->n, sizeof(key), by_pid) : NULL;
}

/*
 * Returns the row of the process, an empty one if it is new; valid until the next call. Returns
 * NULL if memory runs out.
 */
static struct polled *process_table_take(struct process_table *t, int32_t pid)
{
	struct polled_rows *next = &t->next;
	struct polled *old = process_scan_find(&t->last, pid), *p;

	if (array_reserve(&next->rows, &next->cap, next->n + 1, sizeof(*next->rows)) < 0)
		return NULL;
	p = &next->rows[next->n++];
	if (old && !old->taken) {
		*p = *old;
		old->taken = true;
	} else {
		*p = (struct polled){.source = PROCESS_COUNTER_FILES(pid), .is_new = true};
	}
	return p;
}

/* The id was reused: drops the row and starts an empty one. */
static void process_table_renew(struct process_table *t, struct polled *p)
{
	int32_t pid = p->source.pid;

	process_scan_release(t, p);
	*p = (struct polled){.source = PROCESS_COUNTER_FILES(pid), .is_new = true};
}

static bool is_sorted(const struct polled_rows *r)
{
	for (size_t i = 1; i < r->n; i++)
		if (r->rows[i - 1].source.pid > r->rows[i].source.pid)
			return false;
	return true;
}

static bool process_table_drop_exited(struct process_table *t)
{
	struct polled_rows last = t->last;
	size_t end = MIN(t->released + PROCESS_TABLE_PIECE, last.n);

	for (; t->released < end; t->released++) {
		struct polled *p = &last.rows[t->released];

		if (!p->taken)
			process_scan_release(t, p);
		p->taken = true;
	}
	if (t->released < last.n)
		return true;
	t->released = 0;
	if (!is_sorted(&t->next))
		qsort(t->next.rows, t->next.n, sizeof(*t->next.rows), by_pid);
	t->last = t->next;
	t->next = last;
	t->next.n = 0;
	return false;
}

static void process_scan_forget(const struct polled_rows *r)
{
	for (size_t i = 0; i < r->n; i++)
		r->rows[i].has = 0;
}

/* Forgets which counters were written. */
static void process_table_forget(struct process_table *t)
{
	process_scan_forget(&t->last);
	process_scan_forget(&t->next);
}

/*
 * Returns the counters (bits) that are not in the trace with their current value, and stores them
 * as written.
 */
static uint32_t polled_change(struct polled *p, const struct process_counters *now)
{
	uint32_t changed = now->has & ~p->has;

	for (unsigned i = 0; i < PROCESS_COUNTERS; i++) {
		if (!((now->has & ~now->same) >> i & 1))
			continue;
		if (p->v[i] != now->v[i])
			changed |= 1u << i;
		p->v[i] = now->v[i];
	}
	p->has |= now->has;
	return changed;
}

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

int process_scan_begin(struct process_scan *s, const struct process_writer *n, bool only_new)
{
	int r = pid_list_open(&s->processes, n->files->root, 0);

	s->only_new = only_new;
	/* If taskstats is unavailable, names are read from the files. */
	if (r == 0 && n->options.thread_names && n->files->own_numbers)
		(void)taskstats_open(&s->taskstats);
	return r;
}

static void step_process(struct process_scan *s, struct process_writer *n, int32_t pid)
{
	struct proc_status status;

	if ((s->only_new && pid_set_has(&n->seen, pid)) ||
	    !process_writer_write_process(n, pid, &status))
		return;
	if (proc_status_has(&status, PROC_STATUS_THREADS) && status.threads <= 1)
		return;
	s->namespaced = status.n_nspid > 0;
	/* The process may have exited by now. */
	if (pid_list_open(&s->threads, n->files->root, pid) == 0)
		pid_list_expect(&s->threads, status.threads);
}

static void name_waiting(struct process_scan *s, struct process_writer *n)
{
	if (s->n_waiting == 0)
		return;
	process_packet_next(n->packet);
	(void)taskstats_get(&s->taskstats, s->waiting, s->n_waiting);
	for (unsigned i = 0; i < s->n_waiting; i++) {
		const struct taskstats_name *t = &s->waiting[i];

		if (t->tgid == s->processes_of[i])
			process_writer_write_named_thread(n, t->tgid, t->tid, &t->name);
		else
			process_writer_write_task(n, t->tid);
	}
	s->n_waiting = 0;
}

static void step_thread(struct process_scan *s, struct process_writer *n, int32_t tid)
{
	if (s->namespaced || !s->taskstats.open) {
		process_writer_write_thread(n, &s->threads, tid, s->namespaced);
		return;
	}
	s->processes_of[s->n_waiting] = s->threads.pid;
	s->waiting[s->n_waiting++].tid = tid;
	if (s->n_waiting == TASKSTATS_MAX)
		name_waiting(s, n);
}

/* Returns false after the last task. */
static bool scan_step(struct process_scan *s, struct process_writer *n)
{
	int32_t id;

	if (pid_list_is_open(&s->threads)) {
		if (!pid_list_next(&s->threads, &id))
			pid_list_close(&s->threads);
		else if (id != s->threads.pid)
			step_thread(s, n, id);
		return true;
	}
	if (!pid_list_next(&s->processes, &id))
		return false;
	step_process(s, n, id);
	return true;
}

bool process_scan_run(struct process_scan *s, struct process_writer *n,
		      const struct time_slice *slice)
{
	bool more;

	do
		more = scan_step(s, n);
	while (more && !time_slice_over(slice));
	name_waiting(s, n);
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

void process_poll_deinit(struct process_poll *p)
{
	pid_list_close(&p->processes);
	process_table_deinit(&p->table);
	process_tracks_deinit(&p->tracks);
	pid_map_clear(&p->unknown);
}

void process_poll_end(struct process_poll *p)
{
	p->at = POLL_IDLE;
	pid_list_close(&p->processes);
	pid_list_close(&p->tracks.threads);
}

/* The id may belong to a new task that is not in the trace. */
static void forget_name(struct process_poll *p, int32_t tid)
{
	if (p->knows_starts)
		return;
	pid_set_remove(&p->writer->seen, tid);
	pid_relations_forget(&p->writer->relations, tid);
}

static void forget_process(void *ctx, struct polled *row)
{
	struct process_poll *p = ctx;

	if (process_tracks_is_on(&p->tracks))
		process_tracks_gone(&p->tracks, row->source.pid, &row->tracks);
	forget_name(p, row->source.pid);
}

int process_poll_begin(struct process_poll *p, struct process_writer *n)
{
	int r = pid_list_open(&p->processes, n->files->root, 0);

	if (r < 0)
		return r;
	p->writer = n;
	p->table.gone = forget_process;
	p->table.ctx = p;
	if (p->pass % p->options.full_every == 0)
		process_table_forget(&p->table);
	p->pass++;
	p->at = POLL_TASKS;
	return 0;
}

static void poll_process(struct process_poll *p, struct process_writer *n, int32_t pid)
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
		process_packet_end(
			n->packet); /* the open packet may be about the previous owner of the id */
	row->is_new = false;
	changed = polled_change(row, &now);
	process_counters_write(n->packet, pid, row->v, changed);
	if (process_tracks_is_on(&p->tracks))
		process_tracks_read(&p->tracks, n->files, pid, now.idle, &row->tracks);
}

/*
 * Exits of threads are not tracked here. But a thread has exited if its id is now that of a
 * process.
 */
static void forget_thread(struct process_poll *p, int32_t pid)
{
	int32_t tgid = pid_relations_tgid(&p->writer->relations, pid);

	if (tgid && tgid != pid)
		forget_name(p, pid);
}

/*
 * The report of a task's start may still be in a kernel ring: the id appears in /proc before the
 * kernel emits the report. The report has the start time and the first parent; /proc may have
 * another parent by now (pid_map.h). So a task without a row is queued only when the rings have
 * been read up to REPORT_WAIT_S after the poll first saw it.
 */
#define REPORT_WAIT_S 2

static bool awaits_report(struct process_poll *p, int32_t tid)
{
	int32_t since;

	if (!p->knows_starts)
		return false;
	since = pid_map_get(&p->unknown, tid);
	if (since)
		return p->reported_until / NS_PER_S < (uint64_t)since + REPORT_WAIT_S;
	return pid_map_set(&p->unknown, tid, (int32_t)MAX(clock_boot_ns() / NS_PER_S, 1)) == 0;
}

void process_poll_task_reported(struct process_poll *p, int32_t tid)
{
	if (pid_map_get(&p->unknown, tid))
		(void)pid_map_set(&p->unknown, tid, 0);
}

static void queue_unknown(struct process_poll *p, struct process_writer *n, struct process_queue *q,
			  int32_t tid)
{
	if (pid_set_has(&n->seen, tid)) {
		process_poll_task_reported(p, tid);
		return;
	}
	if (!awaits_report(p, tid))
		process_queue_add(q, tid);
}

/* Returns false after the last task. */
static bool step_task(struct process_poll *p, struct process_writer *n, struct process_queue *q)
{
	int32_t pid, tid;

	if (process_tracks_thread(&p->tracks, n->files, &tid)) {
		queue_unknown(p, n, q, tid);
		return true;
	}
	if (!pid_list_next(&p->processes, &pid)) {
		pid_list_close(&p->processes);
		return false;
	}
	forget_thread(p, pid);
	poll_process(p, n, pid);
	queue_unknown(p, n, q, pid);
	return true;
}

/* Returns false if the pass is complete. */
static bool process_scan_step(struct process_poll *p, struct process_writer *n,
			      struct process_queue *q)
{
	switch (p->at) {
	case POLL_TASKS:
		if (!step_task(p, n, q))
			p->at = POLL_GONE_PROCESSES;
		break;
	case POLL_GONE_PROCESSES:
		if (!process_table_drop_exited(&p->table))
			p->at = process_tracks_is_on(&p->tracks) ? POLL_GONE_THREADS : POLL_IDLE;
		break;
	case POLL_GONE_THREADS:
		if (!process_tracks_drop_exited(&p->tracks))
			p->at = POLL_IDLE;
		break;
	case POLL_IDLE:
		break;
	}
	return p->at != POLL_IDLE;
}

bool process_poll_run(struct process_poll *p, struct process_writer *n, struct process_queue *q,
		      const struct time_slice *slice)
{
	bool more, on = process_tracks_is_on(&p->tracks);

	if (on)
		process_tracks_begin(&p->tracks);
	do
		more = process_scan_step(p, n, q);
	while (more && !time_slice_over(slice));
	if (on)
		process_tracks_end(&p->tracks);
	return more;
}

void process_poll_clear(struct process_poll *p)
{
	process_table_forget(&p->table);
	process_tracks_clear(&p->tracks);
}
