/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/pid_list.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text/str.h"

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

/* Returns the task id in the name of the entry, or 0 if the name is no id. */
static int32_t pid_list_parse_id(const struct dirent64 *e)
{
	uint32_t v;

	if (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
		return 0;
	return str_to_u32(e->d_name, &v) == 0 && v <= INT32_MAX ? (int32_t)v : 0;
}

/*
 * The kernel allocates an inode for each name that it lists. In task/ the directory offset counts
 * names: "." and ".." are 0 and 1, the leader is 2. If a kernel counts differently, fewer tasks
 * than expected are found at the end, and pid_list_rewind() lists all.
 */
#define BEHIND_LEADER 3

void pid_list_expect_threads(struct pid_list *l, uint32_t threads)
{
	l->expected = threads;
	l->skipped = threads > 1 && lseek(l->fd, BEHIND_LEADER, SEEK_SET) == BEHIND_LEADER;
	l->n = l->skipped;
}

static bool pid_list_rewind(struct pid_list *l)
{
	bool again = l->skipped && lseek(l->fd, 0, SEEK_SET) == 0;

	l->skipped = false;
	l->expected = 0;
	return again;
}

/* Returns false at the end, or if the process has exited. */
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
