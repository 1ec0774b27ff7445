/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/proc_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

/*
 * Every file is opened relative to the root's descriptor, read whole and closed. A file of /proc is
 * made by the kernel at the read, so keeping it open would save little, and a descriptor for each
 * task is not to be had.
 */

/* "4194304/task/4194304/status" */
#define PATH_SIZE 48
/* A status has about 1.5 kB. */
#define READ_SIZE 4096
/* What the buffer may keep between two files. */
#define TEXT_KEEP (64u << 10)

int proc_files_init(struct proc_files *f, const char *root)
{
	long hz = sysconf(_SC_CLK_TCK);
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*f = (struct proc_files){
		.root = fd,
		.ns_per_tick = NS_PER_S / (uint64_t)(hz > 0 ? hz : 100),
	};
	return 0;
}

void proc_files_deinit(struct proc_files *f)
{
	closep(&f->root);
	strbuf_deinit(&f->text);
}

/* Reads up to max bytes; *ret_more tells that there are others. A read that fills less than its
 * buffer is a file's last: /proc makes the whole text before it gives the first byte. */
static int read_fd(struct strbuf *b, int fd, size_t max, bool *ret_more)
{
	for (;;) {
		size_t room = MIN(max - b->len, (size_t)READ_SIZE);
		char *to = strbuf_reserve(b, READ_SIZE);
		ssize_t n;

		if (!to)
			return -ENOMEM;
		n = read(fd, to, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		b->len += (size_t)n;
		if ((size_t)n < room || room == 0) {
			*ret_more = room == 0;
			return 0;
		}
	}
}

static int read_file(struct proc_files *f, const char *path, size_t max, bool *ret_more)
{
	_cleanup_(closep) int fd = openat(f->root, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (f->text.cap > TEXT_KEEP)
		strbuf_deinit(&f->text);
	strbuf_clear(&f->text);
	return read_fd(&f->text, fd, max, ret_more);
}

static int read_status(struct proc_files *f, const char *path, struct proc_status *ret)
{
	bool more = false;
	int r = read_file(f, path, PROC_STATUS_FILE_MAX, &more);

	if (r < 0)
		return r;
	return more ? -EFBIG : proc_status_parse(f->text.s, f->text.len, ret);
}

int proc_files_status(struct proc_files *f, int32_t pid, struct proc_status *ret)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%d/status", pid);
	return read_status(f, path, ret);
}

int proc_files_thread_status(struct proc_files *f, int32_t pid, int32_t tid,
			     struct proc_status *ret)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%d/task/%d/status", pid, tid);
	return read_status(f, path, ret);
}

int proc_files_comm(struct proc_files *f, int32_t pid, int32_t tid, struct proc_name *ret)
{
	char path[PATH_SIZE];
	bool more;
	int r;

	snprintf(path, sizeof(path), "%d/task/%d/comm", pid, tid);
	r = read_file(f, path, READ_SIZE, &more);
	if (r == 0)
		proc_comm_parse(f->text.s, f->text.len, ret);
	return r;
}

int proc_files_stat(struct proc_files *f, int32_t pid, struct proc_stat *ret)
{
	char path[PATH_SIZE];
	bool more;
	int r;

	snprintf(path, sizeof(path), "%d/stat", pid);
	r = read_file(f, path, READ_SIZE, &more);
	return r < 0 ? r : proc_stat_parse(f->text.s, f->text.len, ret);
}

int proc_files_smaps(struct proc_files *f, int32_t pid, struct proc_smaps *ret)
{
	char path[PATH_SIZE];
	bool more;
	int r;

	snprintf(path, sizeof(path), "%d/smaps_rollup", pid);
	r = read_file(f, path, READ_SIZE, &more);
	if (r == 0)
		proc_smaps_parse(f->text.s, f->text.len, ret);
	return r;
}

int proc_files_number(struct proc_files *f, int32_t pid, const char *file, int64_t *ret_v)
{
	char path[PATH_SIZE];
	bool more;
	int r;

	snprintf(path, sizeof(path), "%d/%s", pid, file);
	r = read_file(f, path, READ_SIZE, &more);
	return r < 0 ? r : proc_number_parse(f->text.s, f->text.len, ret_v);
}

int proc_files_cmdline(struct proc_files *f, int32_t pid, const char **ret_text, size_t *ret_len)
{
	char path[PATH_SIZE];
	bool more;
	int r;

	snprintf(path, sizeof(path), "%d/cmdline", pid);
	r = read_file(f, path, PROC_CMDLINE_FILE_MAX, &more);
	if (r < 0)
		return r;
	*ret_text = f->text.s;
	*ret_len = f->text.len;
	return 0;
}

ssize_t proc_files_fd(const struct proc_files *f, int32_t tid, int32_t fd, char *path, size_t size)
{
	char name[PATH_SIZE];
	ssize_t n;

	snprintf(name, sizeof(name), "%d/fd/%d", tid, fd);
	n = readlinkat(f->root, name, path, size);
	return n < 0 ? -errno : n;
}

int proc_list_open(struct proc_list *l, const struct proc_files *f, int32_t pid)
{
	_cleanup_(closep) int fd = -1;
	char path[PATH_SIZE] = ".";

	assert(!l->dir);
	if (pid)
		snprintf(path, sizeof(path), "%d/task", pid);
	fd = openat(f->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	l->dir = fdopendir(fd);
	if (!l->dir)
		return -errno;
	(void)TAKE_FD(fd); /* closedir() closes it */
	return 0;
}

/* A name that is a task's number, or 0. */
static int32_t task_of(const struct dirent *e)
{
	uint32_t v;

	if (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
		return 0;
	return str_to_u32(e->d_name, &v) == 0 && v <= INT32_MAX ? (int32_t)v : 0;
}

bool proc_list_next(struct proc_list *l, int32_t *ret_pid)
{
	struct dirent *e;

	while ((e = readdir(l->dir))) {
		int32_t pid = task_of(e);

		if (pid > 0) {
			*ret_pid = pid;
			return true;
		}
	}
	return false;
}

void proc_list_close(struct proc_list *l)
{
	if (l->dir)
		closedir(l->dir);
	l->dir = NULL;
}
