/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/task_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

void task_events_deinit(struct task_events *q)
{
	for (size_t i = q->next; i < q->n; i++)
		free(q->entries[i].file);
	free(q->entries);
	*q = (struct task_events){0};
}

static void task_events_set_file(struct task_events *q, struct task_state *s, char *file,
				 uint32_t len)
{
	q->text -= s->file_len;
	free(s->file);
	s->file = file;
	s->file_len = len;
	q->text += len;
}

static bool task_events_has_more_than(const struct task_events *q, size_t entries, size_t text)
{
	size_t waiting = q->n - q->next;

	/* A single entry may have a name of any length. */
	return waiting > entries || (q->text > text && waiting > 1);
}

static void task_events_write_first(struct task_events *q, struct process_tree *t)
{
	struct task_state *s = &q->entries[q->next++];

	s->closed |= task_events_has_more_than(q, TASK_EVENTS_MANY, TASK_EVENTS_MANY_TEXT);
	process_tree_write_state(t, s);
	task_events_set_file(q, s, NULL, 0);
	if (!task_events_is_empty(q))
		return;
	q->base += (uint32_t)q->n;
	q->next = q->n = 0;
	/* Memory of a burst is freed. */
	if (q->cap > TASK_EVENTS_MANY) {
		free(q->entries);
		q->entries = NULL;
		q->cap = 0;
	}
}

/* Appends an entry for the task. Above the limits, writes the oldest entries first. Returns NULL if
 * memory runs out. */
static struct task_state *task_events_append(struct task_events *q, struct process_tree *t,
					     int32_t tid)
{
	struct task_state *s;

	while (task_events_has_more_than(q, TASK_EVENTS_MAX - 1, TASK_EVENTS_TEXT_MAX))
		task_events_write_first(q, t);
	/* Written entries leave the array when it is full. */
	if (q->n == q->cap && q->next) {
		memmove(q->entries, q->entries + q->next, (q->n - q->next) * sizeof(*q->entries));
		q->base += (uint32_t)q->next;
		q->n -= q->next;
		q->next = 0;
	}
	if (array_reserve(&q->entries, &q->cap, q->n + 1, sizeof(*q->entries)) < 0)
		return NULL;
	s = &q->entries[q->n++];
	*s = (struct task_state){.tid = tid};
	task_table_add(&t->tasks, tid)->event = q->base + (uint32_t)q->n;
	return s;
}

/* Adds an event to the entry of its task. */
static void task_events_merge(struct task_events *q, struct task_state *s,
			      const struct metadata_task *e)
{
	if (e->kind == METADATA_TASK_ENDED) {
		s->has_ended = true;
		return;
	}
	s->awaits_start = e->awaits_start;
	/* A later name or program means that another thread of the process took over the id. A NEW
	 * event that comes here is older than the entry (task_events_add), so the task has still
	 * ended. */
	s->has_ended = s->has_ended && e->kind == METADATA_TASK_NEW;
	s->last_ns = MAX(s->last_ns, e->time_ns);
	if (e->kind == METADATA_TASK_EXEC) {
		char *file = strndup(e->file_len ? e->file : "", e->file_len);

		task_events_set_file(q, s, file, file ? e->file_len : 0);
		if (e->other)
			s->was = e->other;
		return;
	}
	if (!(e->kind == METADATA_TASK_NEW && s->has_name)) {
		s->has_name = true;
		memcpy(s->name, e->name, sizeof(s->name));
	}
	if (e->kind != METADATA_TASK_NEW)
		return;
	s->is_new = true;
	s->began_ns = e->time_ns;
	s->creator = e->other;
	s->is_thread = e->is_thread;
	s->is_sibling = e->is_sibling;
}

void task_events_add(struct task_events *q, struct process_tree *t, const struct metadata_task *e)
{
	struct task *task = task_table_add(&t->tasks, e->tid);
	/* The index of the waiting entry of the task, if the number is not stale. */
	size_t i = task->event - q->base - 1;
	struct task_state *s = NULL;

	if (i >= q->next && i < q->n && q->entries[i].tid == e->tid)
		s = &q->entries[i];
	task->unknown_s = 0;
	if (e->kind == METADATA_TASK_NEW) {
		task->began_ns = e->time_ns;
		task->ended_ns = 0;
	} else if (e->kind == METADATA_TASK_ENDED) {
		task->ended_ns = e->time_ns;
	}
	/* A NEW event reuses the id: it closes the entry and begins another one. But a NEW event
	 * that is older than the entry belongs to it: above the limits of the publisher, events
	 * come in any order. */
	if (s && e->kind == METADATA_TASK_NEW && (s->is_new || e->time_ns >= s->last_ns)) {
		s->closed = true;
		s = NULL;
	}
	/* The exit of a task that is not waiting needs no entry: it was written already. */
	if (!s && e->kind != METADATA_TASK_ENDED)
		s = task_events_append(q, t, e->tid);
	if (s)
		task_events_merge(q, s, e);
}

bool task_events_write_all(struct task_events *q, struct process_tree *t,
			   const struct time_slice *slice)
{
	while (!task_events_is_empty(q)) {
		task_events_write_first(q, t);
		if (time_slice_over(slice))
			break;
	}
	return !task_events_is_empty(q);
}
