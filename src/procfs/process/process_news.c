/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_news.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

void process_news_deinit(struct process_news *q)
{
	for (size_t i = q->next; i < q->n; i++)
		free(q->entries[i].file);
	free(q->entries);
	process_map_clear(&q->number_of);
	*q = (struct process_news){0};
}

/* The task's entry that waits, or NULL. */
static struct task_heard *find(const struct process_news *q, int32_t tid)
{
	uint32_t number = (uint32_t)process_map_get(&q->number_of, tid);
	size_t i = number - q->base - 1;

	return i >= q->next && i < q->n && q->entries[i].tid == tid ? &q->entries[i] : NULL;
}

static void set_file(struct process_news *q, struct task_heard *t, char *file, uint32_t len)
{
	q->text -= t->file_len;
	free(t->file);
	t->file = file;
	t->file_len = len;
	q->text += len;
}

static bool is_more_than(const struct process_news *q, size_t entries, size_t text)
{
	size_t waiting = q->n - q->next;

	/* A single one may have any name. */
	return waiting > entries || (q->text > text && waiting > 1);
}

static void serve_first(struct process_news *q, struct process_names *n)
{
	struct task_heard *t = &q->entries[q->next++];

	t->closed |= is_more_than(q, PROCESS_NEWS_MANY, PROCESS_NEWS_MANY_TEXT);
	process_names_heard(n, t);
	set_file(q, t, NULL, 0);
	if (!process_news_is_empty(q))
		return;
	q->base += (uint32_t)q->n;
	q->next = q->n = 0;
	/* What a flood took is not kept. */
	if (q->cap > PROCESS_NEWS_MANY) {
		free(q->entries);
		q->entries = NULL;
		q->cap = 0;
	}
}

/* Entries that were served leave the front of the array, where there is no more room behind. */
static void close_up(struct process_news *q)
{
	if (q->n < q->cap || q->next == 0)
		return;
	memmove(q->entries, q->entries + q->next, (q->n - q->next) * sizeof(*q->entries));
	q->base += (uint32_t)q->next;
	q->n -= q->next;
	q->next = 0;
}

/* NULL: memory is out. */
static struct task_heard *append(struct process_news *q, struct process_names *n, int32_t tid)
{
	struct task_heard *t;

	while (is_more_than(q, PROCESS_NEWS_MAX - 1, PROCESS_NEWS_TEXT_MAX))
		serve_first(q, n);
	close_up(q);
	if (array_reserve(&q->entries, &q->cap, q->n + 1, sizeof(*q->entries)) < 0)
		return NULL;
	t = &q->entries[q->n++];
	*t = (struct task_heard){.tid = tid};
	(void)process_map_set(&q->number_of, tid, (int32_t)(q->base + (uint32_t)q->n));
	return t;
}

static void hear(struct process_news *q, struct task_heard *t, const struct metadata_task *f)
{
	if (f->kind == METADATA_TASK_ENDED) {
		t->has_ended = true;
		return;
	}
	/* Unless it began before: see process_news_add. */
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

void process_news_add(struct process_news *q, struct process_names *n,
		      const struct metadata_task *f)
{
	struct task_heard *t = find(q, f->tid);

	if (f->kind == METADATA_TASK_ENDED)
		process_names_ended(n, f->tid, f->time_ns);
	else if (f->kind == METADATA_TASK_NEW)
		process_names_began(n, f->tid);
	/* Not if what came before happened later: more than could be held comes in any order. */
	if (t && f->kind == METADATA_TASK_NEW && (t->is_new || f->time_ns >= t->last_ns)) {
		t->closed = true;
		t = NULL;
	}
	/* The end of one that has been described is no news. */
	if (!t && f->kind != METADATA_TASK_ENDED)
		t = append(q, n, f->tid);
	if (t)
		hear(q, t, f);
}

bool process_news_run(struct process_news *q, struct process_names *n,
		      const struct time_slice *turn)
{
	while (!process_news_is_empty(q)) {
		serve_first(q, n);
		if (time_slice_over(turn))
			break;
	}
	return !process_news_is_empty(q);
}
