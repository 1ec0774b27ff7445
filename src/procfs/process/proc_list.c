/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/proc_list.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text/str.h"

/*
 * getdents64(2) into a buffer of our own: a scan opens a folder for each process that has threads,
 * and opendir(3) asks the kernel twice and allocates for each one.
 */

int proc_list_open(struct proc_list *l, int root, int32_t pid)
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

/* A name that is a task's number, or 0. */
static int32_t task_of(const struct dirent64 *e)
{
	uint32_t v;

	if (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
		return 0;
	return str_to_u32(e->d_name, &v) == 0 && v <= INT32_MAX ? (int32_t)v : 0;
}

/*
 * The kernel makes an inode for each name that it lists. In task it counts them: behind "." and ".."
 * the leader is at 2. Should another kernel count in another way there are too few in the end.
 */
#define BEHIND_LEADER 3

void proc_list_expect(struct proc_list *l, uint32_t threads)
{
	l->expected = threads;
	l->skipped = threads > 1 && lseek(l->fd, BEHIND_LEADER, SEEK_SET) == BEHIND_LEADER;
	l->n = l->skipped;
}

static bool start_again(struct proc_list *l)
{
	bool again = l->skipped && lseek(l->fd, 0, SEEK_SET) == 0;

	l->skipped = false;
	l->expected = 0;
	return again;
}

/* False: there are no more, or the process is gone. */
static bool fill(struct proc_list *l)
{
	ssize_t n;

	/* To be told that there is nothing more costs as much as a small folder. */
	if (l->expected && l->n >= l->expected)
		return false;
	do
		n = getdents64(l->fd, l->names, sizeof(l->names));
	while (n == 0 && start_again(l));
	l->at = 0;
	l->end = n > 0 ? (uint32_t)n : 0;
	return n > 0;
}

bool proc_list_next(struct proc_list *l, int32_t *ret_tid)
{
	while (l->at < l->end || fill(l)) {
		const struct dirent64 *e = (const struct dirent64 *)(l->names + l->at);
		int32_t tid = task_of(e);

		l->at += e->d_reclen;
		if (tid > 0) {
			/* The leader is counted already, where it is thought to be behind. */
			l->n += !l->skipped || tid != l->pid;
			*ret_tid = tid;
			return true;
		}
	}
	return false;
}

void proc_list_close(struct proc_list *l)
{
	if (l->open)
		close(l->fd);
	l->open = false;
}
