/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/task_table.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/str.h"

/*
 * A clear touches no entry: it begins a new generation, and an entry of an older one is brought up
 * to date when it is next returned. The number wraps after some 10^8 clears.
 */

static struct task *task_table_refresh_entry(struct task_table *t, int32_t tid)
{
	struct task *task = &t->leaves[(uint32_t)tid / TASK_LEAF][(uint32_t)tid % TASK_LEAF];

	if (task->generation != t->generation) {
		task->has_row = false;
		if (task->generation < t->relations_from)
			task->relation = 0;
		task->generation = t->generation;
	}
	return task;
}

struct task *task_table_find(struct task_table *t, int32_t tid)
{
	size_t leaf = (uint32_t)tid / TASK_LEAF;

	if (tid > 0 && leaf < t->n_leaves && t->leaves[leaf])
		return task_table_refresh_entry(t, tid);
	t->none = (struct task){0};
	return &t->none;
}

struct task *task_table_add(struct task_table *t, int32_t tid)
{
	size_t leaf = (uint32_t)tid / TASK_LEAF, n = t->n_leaves;

	if (tid <= 0 || tid >= PID_LIMIT || (leaf < n && t->leaves[leaf]))
		return task_table_find(t, tid);
	if (leaf >= n) {
		if (array_reserve(&t->leaves, &t->cap_leaves, leaf + 1, sizeof(*t->leaves)) < 0)
			return task_table_find(t, tid);
		memset(t->leaves + n, 0, (leaf + 1 - n) * sizeof(*t->leaves));
		t->n_leaves = leaf + 1;
	}
	t->leaves[leaf] = calloc(TASK_LEAF, sizeof(**t->leaves));
	return task_table_find(t, tid);
}

void task_table_clear(struct task_table *t, bool keep_relations)
{
	t->generation = (t->generation + 1) & ((1u << 27) - 1);
	if (!keep_relations)
		t->relations_from = t->generation;
}

void task_table_deinit(struct task_table *t)
{
	for (size_t i = 0; i < t->n_leaves; i++)
		free(t->leaves[i]);
	free(t->leaves);
}

/*
 * The list calls getdents64(2) with its own buffer: a scan opens a directory for each process that
 * has threads, and opendir(3) makes two more system calls and an allocation for each.
 */

int pid_list_open(struct pid_list *l, int root, int32_t pid)
{
	char path[24] = ".";
	int fd;

	assert(!l->open);
	if (pid)
		snprintf(path, sizeof(path), "%d/task", pid);
	fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	l->open = true;
	l->fd = fd;
	l->pid = pid;
	l->at = l->end = 0;
	l->expected = l->n = 0;
	l->skipped = false;
	return 0;
}

/* Returns the task id in the name of the entry, or 0 if the name is not an id. */
static int32_t pid_list_parse_id(const struct dirent64 *e)
{
	uint32_t v;

	if (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
		return 0;
	return str_to_u32(e->d_name, &v) == 0 && v <= INT32_MAX ? (int32_t)v : 0;
}

/* The kernel allocates an inode for each name that it lists. In task/ the directory offset counts
 * names: "." and ".." are 0 and 1, the leader is 2. If a kernel counts differently, fewer tasks
 * than expected are found at the end, and pid_list_rewind() lists all. */
#define BEHIND_LEADER 3

void pid_list_expect_threads(struct pid_list *l, uint32_t threads)
{
	l->expected = threads;
	l->skipped = threads > 1 && lseek(l->fd, BEHIND_LEADER, SEEK_SET) == BEHIND_LEADER;
	l->n = l->skipped;
}

/* Starts the list again with all tasks, if the leader was skipped; otherwise returns false. */
static bool pid_list_rewind(struct pid_list *l)
{
	bool again = l->skipped && lseek(l->fd, 0, SEEK_SET) == 0;

	l->skipped = false;
	l->expected = 0;
	return again;
}

/* Reads the next names. Returns false at the end, or if the process has exited. */
static bool pid_list_fill(struct pid_list *l)
{
	ssize_t n;

	/* Reading the end of the directory costs as much as reading a small directory. */
	if (l->expected && l->n >= l->expected)
		return false;
	do
		n = getdents64(l->fd, l->names, sizeof(l->names));
	while (n == 0 && pid_list_rewind(l));
	l->at = 0;
	l->end = n > 0 ? (uint32_t)n : 0;
	return n > 0;
}

bool pid_list_next(struct pid_list *l, int32_t *ret_tid)
{
	while (l->at < l->end || pid_list_fill(l)) {
		const struct dirent64 *e = (const struct dirent64 *)(l->names + l->at);
		int32_t tid = pid_list_parse_id(e);

		l->at += e->d_reclen;
		if (tid > 0) {
			/* A leader that was skipped is in l->n already. */
			l->n += !l->skipped || tid != l->pid;
			*ret_tid = tid;
			return true;
		}
	}
	return false;
}

void pid_list_close(struct pid_list *l)
{
	if (l->open)
		close(l->fd);
	l->open = false;
}
