/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapped file is opened by the first of these paths that works:
 *
 *	/proc/PID/map_files/START-END   the mapped file itself, even if it was deleted
 *	/proc/PID/root/PATH             the path as the process sees it
 *	/PATH                           the path as this process sees it, if the process has ended
 *
 * It must be a regular file with the inode and the device of the mapping. It is opened with O_PATH
 * first, which has no side effects if the path names a device. A debug file is the first of its
 * paths that is a world-readable regular file; each is tried as the process sees it, then as this
 * process sees it. A perf map must not be a symbolic link. It is opened as the process sees it;
 * after the process has ended, as this process sees it, unless they have different pid namespaces.
 */
#include "stacks/files/file_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/helper_pair.h"
#include "base/text/span.h"
#include "stacks/files/file_messages.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40 /* since Linux 5.9; for map_files */
#endif

#define PROC_PATH_MAX (FILE_PATH_MAX + 64)
#define JIT_FILE_MAX (1ull << 30) /* bytes; of a perf map or jitdump */
#define JIT_FILE_CLOCK_NS                                                                          \
	20000000ull /* by which the times of a process and of its file may differ */

/* Overlayfs and btrfs return other device numbers from stat(2) than the kernel has in mappings. For
 * their files only the inode is compared. */
static bool is_on_device(int fd, const struct stat *st, const struct file_request *q)
{
	struct statfs fs;

	return st->st_dev == makedev(q->major, q->minor) ||
	       (fstatfs(fd, &fs) == 0 && ((unsigned long)fs.f_type == OVERLAYFS_SUPER_MAGIC ||
					  (unsigned long)fs.f_type == BTRFS_SUPER_MAGIC));
}

static bool is_requested_file(int fd, const struct stat *st, const struct file_request *q)
{
	if (!S_ISREG(st->st_mode))
		return false;
	if (q->kind == FILE_REQUEST_DEBUG_FILE)
		return st->st_mode & S_IROTH;
	return st->st_ino == q->inode && is_on_device(fd, st, q);
}

/* Returns a descriptor or -errno. */
static int open_checked(const char *path, const struct file_request *q)
{
	_cleanup_(closep) int found = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (found < 0 || fstat(found, &st) < 0)
		return -errno;
	if (!is_requested_file(found, &st, q))
		return -ESTALE;
	return helper_open_found(found, 0);
}

static int open_elf(const struct file_request *q)
{
	char path[PROC_PATH_MAX];
	int fd = -ENOENT;

	if (q->pid) {
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", q->pid,
			 (unsigned long long)q->start, (unsigned long long)q->end);
		fd = open_checked(path, q);
	}
	if (fd < 0 && q->pid) {
		snprintf(path, sizeof(path), "/proc/%d/root%s", q->pid, q->path);
		fd = open_checked(path, q);
	}
	return fd < 0 ? open_checked(q->path, q) : fd;
}

/* Opens the first of the paths that can be opened, each below the root of the process and below
 * ours. Returns the descriptor, or the last -errno. */
static int open_debug_file(const struct file_request *q, size_t len)
{
	struct span rest = {q->path, len};
	char path[PROC_PATH_MAX];
	const char *end;
	int fd = -ENOENT;

	while (fd < 0 && (end = memchr(rest.p, '\0', rest.len))) {
		const char *at = rest.p;

		rest.len -= (size_t)(end + 1 - rest.p);
		rest.p = end + 1;
		if (q->pid) {
			snprintf(path, sizeof(path), "/proc/%d/root%s", q->pid, at);
			fd = open_checked(path, q);
		}
		if (fd < 0)
			fd = open_checked(at, q);
	}
	return fd;
}

/* Returns true if a file of names can be trusted. It lies in a world-writable directory and
 * outlives its process, so it must belong to the user of the process, and have changed since the
 * process began. */
static bool is_trusted_jit_file(int fd, const struct file_request *q)
{
	struct stat st;
	uint64_t changed;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != q->uid ||
	    (uint64_t)st.st_size > JIT_FILE_MAX)
		return false;
	changed = (uint64_t)st.st_ctim.tv_sec * NS_PER_S + (uint64_t)st.st_ctim.tv_nsec;
	return changed + JIT_FILE_CLOCK_NS >= q->started;
}

/* Opens the perf map of the process, if it can be trusted. Returns the descriptor or -errno. */
static int open_perf_map(const struct file_request *q)
{
	char path[64];
	_cleanup_(closep) int found = -1;

	if (q->has_ended && q->pid_inside != q->pid)
		return -ESRCH;
	if (q->has_ended)
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", q->pid);
	else
		snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", q->pid,
			 q->pid_inside);
	found = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (found < 0)
		return -errno;
	if (!is_trusted_jit_file(found, q))
		return -EPERM;
	return helper_open_found(found, 0);
}

static int open_jitdump(const struct file_request *q)
{
	_cleanup_(closep) int fd = q->has_ended ? -ESRCH : open_elf(q);

	if (fd < 0)
		return fd;
	return is_trusted_jit_file(fd, q) ? TAKE_FD(fd) : -EPERM;
}

static int open_maps(const struct file_request *q)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", q->pid, q->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns a descriptor or -errno. len: bytes of the paths. */
static int open_requested_file(struct file_request *q, size_t len)
{
	switch (q->kind) {
	case FILE_REQUEST_MAPS:
	case FILE_REQUEST_DATA_MAPS:
		return open_maps(q);
	case FILE_REQUEST_ELF:
	case FILE_REQUEST_ROWS: /* the vDSO has no path, and needs no descriptor */
		q->path[MIN(len, sizeof(q->path) - 1)] = '\0';
		return open_elf(q);
	case FILE_REQUEST_DEBUG_FILE:
		return open_debug_file(q, len);
	case FILE_REQUEST_PERF_MAP:
		return open_perf_map(q);
	case FILE_REQUEST_JITDUMP:
		q->path[MIN(len, sizeof(q->path) - 1)] = '\0';
		return open_jitdump(q);
	default:
		return -EINVAL;
	}
}

void file_opener_run(int fd, int other, void *ctx)
{
	static const unsigned needed[] = {CAP_CHECKPOINT_RESTORE, CAP_DAC_READ_SEARCH,
					  CAP_SYS_PTRACE};
	static const char *const calls[] = {"fstatfs", NULL};
	static struct file_request q;

	helper_confine_opener(needed, ARRAY_SIZE(needed), calls);
	for (;;) {
		ssize_t n = helper_receive(fd, &(struct iovec){&q, sizeof(q)}, 1, -1, NULL);
		int opened = -1;

		if (n < (ssize_t)FILE_REQUEST_HEAD)
			_exit(0); /* the parent has ended */
		if (q.kind != FILE_REQUEST_NAMES && q.kind != FILE_REQUEST_CLOSE_ALL) {
			opened = open_requested_file(&q, (size_t)n - FILE_REQUEST_HEAD);
			q.n = opened < 0 ? (uint32_t)-opened : 0;
			if (q.kind != FILE_REQUEST_DATA_MAPS)
				n = FILE_REQUEST_HEAD;
		}
		if (helper_send(other, &q, (size_t)n, opened, 0) < 0)
			_exit(0); /* the second process has ended */
		closep(&opened);
	}
}
