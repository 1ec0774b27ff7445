/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/passed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/close_aside.h"
#include "service/ipc/ipc_host.h"

/*
 * fstatfs(2) asks the server of FUSE and NFS, and stat(2) may ask it. So the check uses only what
 * the kernel knows: statx(2) with AT_STATX_DONT_SYNC returns the file's type and its device number,
 * and mountinfo lists the file system of each device number:
 *
 *	36 35 0:45 / /mnt rw,nosuid shared:1 - fuse.sshfs server: rw
 *	      ^ device                          ^ type, after the separator
 *
 * mountinfo has only the mounts of the service's namespace. For other mounts the check calls
 * fstatfs(2): the kernel answers for FUSE of another user namespace without its server, and NFS
 * cannot be mounted in a user namespace.
 */

#define FUSE_MAGIC 0x65735546 /* FUSE_SUPER_MAGIC of the kernel */

/* /dev/null and /dev/full */
#define MEM_MAJOR 1
#define NULL_MINOR 3
#define FULL_MINOR 7

static int mountinfo = -1;

int passed_file_start(void)
{
	if (mountinfo < 0)
		mountinfo = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	return mountinfo < 0 ? -errno : 0;
}

int passed_file_stat(int fd, struct statx *ret)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, ret) < 0
		       ? -errno
		       : 0;
}

static bool has_valid_type(const struct statx *st)
{
	return S_ISREG(st->stx_mode) || S_ISFIFO(st->stx_mode) ||
	       (S_ISCHR(st->stx_mode) && st->stx_rdev_major == MEM_MAJOR &&
		(st->stx_rdev_minor == NULL_MINOR || st->stx_rdev_minor == FULL_MINOR));
}

/* Returns true for "fuse", "fuse.NAME" and "fuseblk", but not for "fusectl". */
static bool is_fuse_type(const char *type)
{
	return !strncmp(type, "fuse", strlen("fuse")) &&
	       strncmp(type, "fusectl", strlen("fusectl"));
}

static bool line_has_device(const char *line, const struct statx *st)
{
	unsigned major, minor;

	return sscanf(line, "%*u %*u %u:%u", &major, &minor) == 2 && major == st->stx_dev_major &&
	       minor == st->stx_dev_minor;
}

/* Returns 1 or 0, or -ENOENT if mountinfo does not list the file's device. A line has no maximum
 * length: a mount point may be long. */
static int mount_is_of_fuse(const struct statx *st)
{
	_cleanup_(freep) char *line = NULL;
	size_t cap = 0;
	int fd = mountinfo < 0 ? -1 : fcntl(mountinfo, F_DUPFD_CLOEXEC, 0), found = -ENOENT;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f) {
		closep(&fd);
		return -ENOENT;
	}
	rewind(f);
	while (found < 0 && getline(&line, &cap, f) > 0) {
		const char *type = strstr(line, " - ");

		if (type && line_has_device(line, st))
			found = is_fuse_type(type + strlen(" - "));
	}
	fclose(f);
	return found;
}

static bool is_of_fuse(int fd, const struct statx *st)
{
	int r = mount_is_of_fuse(st);
	struct statfs fs;

	if (r >= 0)
		return r;
	return fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == FUSE_MAGIC;
}

static int passed_file_check(int fd, uid_t user, struct err_text *e)
{
	struct statx st;

	if (passed_file_stat(fd, &st) < 0 || !has_valid_type(&st))
		return err_set(e, -EINVAL,
			       "write_into_file: the descriptor is neither a regular file nor a "
			       "pipe");
	if (user != 0 && !S_ISFIFO(st.stx_mode) && is_of_fuse(fd, &st))
		return err_set(e, -EINVAL,
			       "write_into_file: the file is in a FUSE file system, which could "
			       "block the service; only root may pass one");
	return 0;
}

void passed_file_closep(struct passed_file *f)
{
	close_aside(TAKE_FD(f->fd), f->user);
}

struct passed_file passed_file_release(struct passed_file *f)
{
	struct passed_file taken = *f;

	f->fd = -1;
	return taken;
}

struct passed_file passed_file_take(struct ipc_conn *conn, struct err_text *e)
{
	uid_t uid = ipc_conn_peer(conn)->uid;
	struct passed_file f = {.fd = ipc_conn_take_fd(conn), .user = uid};

	err_set(e, 0, "%s", "");
	if (f.fd >= 0 && passed_file_check(f.fd, uid, e) < 0)
		passed_file_closep(&f);
	return f;
}
