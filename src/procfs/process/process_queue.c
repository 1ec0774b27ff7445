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
static struct task_state *find(const struct process_events *q, int32_t tid)
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
static struct task_state *append(struct process_events *q, struct process_writer *n, int32_t tid)
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
	struct task_state *t = find(q, f->tid);

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
		t = append(q, n, f->tid);
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

#define TABLE_MIN 1024u

void process_fds_deinit(struct process_fds *f)
{
	free(f->waiting);
	free(f->table);
	pid_map_clear(&f->lives);
	*f = (struct process_fds){0};
}

void process_fds_clear(struct process_fds *f)
{
	f->n_entries = 0;
	if (f->table)
		memset(f->table, 0, f->table_cap * sizeof(*f->table));
}

void process_fds_renew(struct process_fds *f, int32_t pid)
{
	uint32_t life = (uint32_t)pid_map_get(&f->lives, pid);

	(void)pid_map_set(&f->lives, pid, (int32_t)(life + 1));
}

/* ---- written descriptors ---- */

static uint32_t hash_of_fd(int32_t pid, int32_t fd)
{
	uint32_t hash = ((uint32_t)pid * 0x9e3779b1 ^ (uint32_t)fd) * 0x85ebca6b;

	return hash ^ hash >> 15;
}

/* Returns the entry of the descriptor, or the empty entry for it. */
static struct process_fd_entry *place(const struct process_fds *f, int32_t pid, int32_t fd)
{
	size_t i = OPEN_TABLE_FIND(f->table_cap, hash_of_fd(pid, fd), at,
				   !f->table[at].pid ||
					   (f->table[at].pid == pid && f->table[at].fd == fd));

	return &f->table[i];
}

/* Makes room for one more entry. Returns false if memory runs out. */
static bool reserve(struct process_fds *f)
{
	if (f->n_entries < f->table_cap / 2)
		return true;
	if (f->n_entries >= PROCESS_FDS_MAX) {
		process_fds_clear(f);
		return true;
	}
	return OPEN_TABLE_GROW(f->table, f->table_cap, TABLE_MIN, e, !e->pid,
			       hash_of_fd(e->pid, e->fd));
}

static uint32_t hash_of(uint32_t life, const char *path, size_t len)
{
	uint32_t h = 2166136261 ^ life;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)path[i]) * 16777619;
	return h;
}

/* Stores the target. Returns false if it was written already. */
static bool is_new(struct process_fds *f, int32_t pid, int32_t fd, uint32_t hash)
{
	struct process_fd_entry *t;

	if (!reserve(f))
		return true;
	t = place(f, pid, fd);
	if (t->pid && t->hash == hash)
		return false;
	f->n_entries += !t->pid;
	*t = (struct process_fd_entry){pid, fd, hash};
	return true;
}

/* ---- waiting descriptors ---- */

static void reclaim_fds(struct process_fds *f)
{
	if (f->n < f->cap || f->next == 0)
		return;
	memmove(f->waiting, f->waiting + f->next, (f->n - f->next) * sizeof(*f->waiting));
	f->n -= f->next;
	f->next = 0;
}

void process_fds_add(struct process_fds *f, const struct metadata_fd *fd)
{
	reclaim_fds(f);
	if (f->n - f->next >= PROCESS_FDS_MAX ||
	    array_reserve(&f->waiting, &f->cap, f->n + 1, sizeof(*f->waiting)) < 0) {
		f->dropped++;
		return;
	}
	f->waiting[f->n++] = *fd;
}

static void write_fd(struct process_fds *f, struct process_writer *n, int32_t pid, int32_t fd,
		     const char *path, size_t len)
{
	struct pb_enc *e;

	if (pid != f->written)
		process_packet_end(
			n->packet); /* the open packet may be about the previous owner of the id */
	f->written = pid;
	e = process_packet_row(n->packet, PROCESS_PACKET_STATS, PB_PROCESS_STATS_PROCESSES);
	pb_enc_i64(e, PB_PROCESS_STATS_PROCESS_PID, pid);
	pb_enc_open(e, PB_PROCESS_STATS_PROCESS_FDS);
	pb_enc_u64(e, PB_PROCESS_STATS_FD_INFO_FD, (uint64_t)fd);
	pb_enc_bytes(e, PB_PROCESS_STATS_FD_INFO_PATH, path, len);
	pb_enc_close(e);
	pb_enc_close(e);
}

static void keep_unread(struct process_fds *f, const struct metadata_fd *fd)
{
	if (f->n_unread < PROCESS_FDS_UNREAD_MAX)
		f->unread[f->n_unread++] = *fd;
	else
		f->dropped++;
}

/* A descriptor that is closed by now, or whose process has exited, has no target. */
static void resolve(struct process_fds *f, struct process_writer *n, const struct metadata_fd *fd)
{
	int32_t pid = pid_relations_tgid(&n->relations, fd->tid);
	uint32_t life = (uint32_t)pid_map_get(&f->lives, pid);
	char path[PATH_MAX];
	ssize_t len;

	if (!pid)
		return;
	process_packet_next(n->packet);
	len = proc_files_fd(n->files, fd->tid, fd->fd, path, sizeof(path));
	if (len == -EAGAIN)
		keep_unread(f, fd);
	else if (len > 0 && is_new(f, pid, fd->fd, hash_of(life, path, (size_t)len)))
		write_fd(f, n, pid, fd->fd, path, (size_t)len);
}

bool process_fds_run(struct process_fds *f, struct process_writer *n,
		     const struct time_slice *slice)
{
	while (!process_fds_is_empty(f)) {
		struct metadata_fd fd = f->waiting[f->next++];

		resolve(f, n, &fd);
		if (time_slice_over(slice))
			break;
	}
	if (!process_fds_is_empty(f))
		return true;
	f->next = f->n = 0;
	return false;
}

void process_fds_read_again(struct process_fds *f, struct process_writer *n,
			    const struct time_slice *slice)
{
	size_t count = f->n_unread, i;

	/* Entries that are still unread move to the front. */
	f->n_unread = 0;
	for (i = 0; i < count && !time_slice_over(slice); i++) {
		struct metadata_fd fd = f->unread[i];

		resolve(f, n, &fd);
	}
	for (; i < count; i++)
		f->unread[f->n_unread++] = f->unread[i];
}
