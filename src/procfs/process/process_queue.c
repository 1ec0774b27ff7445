/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_queue.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/open_table.h"
#include "gen/fields.h"

void process_queue_deinit(struct process_queue *q)
{
	free(q->tids);
	pid_set_clear(&q->waiting);
	*q = (struct process_queue){0};
}

/* Drops served ids from the front of the array when the array is full. */
static void reclaim_ids(struct process_queue *q)
{
	if (q->n < q->cap || q->next == 0)
		return;
	memmove(q->tids, q->tids + q->next, (q->n - q->next) * sizeof(*q->tids));
	q->n -= q->next;
	q->next = 0;
}

void process_queue_add(struct process_queue *q, int32_t tid)
{
	reclaim_ids(q);
	if (q->n - q->next >= PROCESS_QUEUE_MAX || pid_set_has(&q->waiting, tid))
		return;
	if (array_reserve(&q->tids, &q->cap, q->n + 1, sizeof(*q->tids)) < 0 ||
	    pid_set_add(&q->waiting, tid) < 0)
		return;
	q->tids[q->n++] = tid;
}

bool process_queue_run(struct process_queue *q, struct process_writer *n,
		       const struct time_slice *slice)
{
	while (!process_queue_is_empty(q)) {
		int32_t tid = q->tids[q->next++];

		pid_set_remove(&q->waiting, tid);
		process_writer_write_task(n, tid);
		if (time_slice_over(slice))
			break;
	}
	if (!process_queue_is_empty(q))
		return true;
	q->next = q->n = 0;
	return false;
}

void process_events_deinit(struct process_events *q)
{
	for (size_t i = q->next; i < q->n; i++)
		free(q->entries[i].file);
	free(q->entries);
	pid_map_clear(&q->number_of);
	*q = (struct process_events){0};
}

/* Returns the waiting entry of the task, or NULL. */
static struct task_state *process_queue_find(const struct process_events *q, int32_t tid)
{
	uint32_t number = (uint32_t)pid_map_get(&q->number_of, tid);
	size_t i = number - q->base - 1;

	return i >= q->next && i < q->n && q->entries[i].tid == tid ? &q->entries[i] : NULL;
}

static void set_file(struct process_events *q, struct task_state *t, char *file, uint32_t len)
{
	q->text -= t->file_len;
	free(t->file);
	t->file = file;
	t->file_len = len;
	q->text += len;
}

static bool is_more_than(const struct process_events *q, size_t entries, size_t text)
{
	size_t waiting = q->n - q->next;

	/* A single entry may have a name of any length. */
	return waiting > entries || (q->text > text && waiting > 1);
}

static void serve_first(struct process_events *q, struct process_writer *n)
{
	struct task_state *t = &q->entries[q->next++];

	t->closed |= is_more_than(q, PROCESS_EVENTS_MANY, PROCESS_EVENTS_MANY_TEXT);
	process_writer_write_state(n, t);
	set_file(q, t, NULL, 0);
	if (!process_events_is_empty(q))
		return;
	q->base += (uint32_t)q->n;
	q->next = q->n = 0;
	/* Memory of a burst is freed. */
	if (q->cap > PROCESS_EVENTS_MANY) {
		free(q->entries);
		q->entries = NULL;
		q->cap = 0;
	}
}

/* Drops served entries from the front of the array when the array is full. */
static void reclaim_events(struct process_events *q)
{
	if (q->n < q->cap || q->next == 0)
		return;
	memmove(q->entries, q->entries + q->next, (q->n - q->next) * sizeof(*q->entries));
	q->base += (uint32_t)q->next;
	q->n -= q->next;
	q->next = 0;
}

/* Returns NULL if memory runs out. */
static struct task_state *process_queue_append(struct process_events *q, struct process_writer *n,
					       int32_t tid)
{
	struct task_state *t;

	while (is_more_than(q, PROCESS_EVENTS_MAX - 1, PROCESS_EVENTS_TEXT_MAX))
		serve_first(q, n);
	reclaim_events(q);
	if (array_reserve(&q->entries, &q->cap, q->n + 1, sizeof(*q->entries)) < 0)
		return NULL;
	t = &q->entries[q->n++];
	*t = (struct task_state){.tid = tid};
	(void)pid_map_set(&q->number_of, tid, (int32_t)(q->base + (uint32_t)q->n));
	return t;
}

static void merge_event(struct process_events *q, struct task_state *t,
			const struct metadata_task *f)
{
	if (f->kind == METADATA_TASK_ENDED) {
		t->has_ended = true;
		return;
	}
	t->awaits_start = f->awaits_start;
	/*
	 * A later name or program means that another thread of the process took over the id. A NEW
	 * event that comes here is older than the entry (process_events_add), so the task has
	 * still ended.
	 */
	t->has_ended = t->has_ended && f->kind == METADATA_TASK_NEW;
	t->last_ns = MAX(t->last_ns, f->time_ns);
	if (f->kind == METADATA_TASK_EXEC) {
		char *file = strndup(f->file_len ? f->file : "", f->file_len);

		set_file(q, t, file, file ? f->file_len : 0);
		if (f->other)
			t->was = f->other;
		return;
	}
	if (!(f->kind == METADATA_TASK_NEW && t->has_name)) {
		t->has_name = true;
		memcpy(t->name, f->name, sizeof(t->name));
	}
	if (f->kind != METADATA_TASK_NEW)
		return;
	t->is_new = true;
	t->began_ns = f->time_ns;
	t->creator = f->other;
	t->is_thread = f->is_thread;
	t->is_sibling = f->is_sibling;
}

void process_events_add(struct process_events *q, struct process_writer *n,
			const struct metadata_task *f)
{
	struct task_state *t = process_queue_find(q, f->tid);

	if (f->kind == METADATA_TASK_ENDED)
		process_writer_task_ended(n, f->tid, f->time_ns);
	else if (f->kind == METADATA_TASK_NEW)
		process_writer_task_began(n, f->tid, f->time_ns);
	/*
	 * A NEW event reuses the id: it closes the entry and begins another one. But a NEW event
	 * that is older than the entry belongs to it: above the limits of the publisher, events
	 * come in any order.
	 */
	if (t && f->kind == METADATA_TASK_NEW && (t->is_new || f->time_ns >= t->last_ns)) {
		t->closed = true;
		t = NULL;
	}
	/* The exit of a task that is not waiting needs no entry: it was written already. */
	if (!t && f->kind != METADATA_TASK_ENDED)
		t = process_queue_append(q, n, f->tid);
	if (t)
		merge_event(q, t, f);
}

bool process_events_run(struct process_events *q, struct process_writer *n,
			const struct time_slice *slice)
{
	while (!process_events_is_empty(q)) {
		serve_first(q, n);
		if (time_slice_over(slice))
			break;
	}
	return !process_events_is_empty(q);
}
