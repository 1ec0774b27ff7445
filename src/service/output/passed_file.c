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
 * How it works: fstatfs(2) asks the server of FUSE and NFS, and stat(2) may. The device number of a
 * file and its type are in the kernel; which file system has this device number stands in
 * mountinfo:
 *
 *	36 35 0:45 / /mnt rw,nosuid shared:1 - fuse.sshfs server: rw
 *	      ^ device                          ^ type, behind the separator
 *
 * mountinfo has only the mounts of our namespace. For the others fstatfs is asked: the kernel
 * answers for FUSE of another user namespace without its server, and in a user namespace nobody
 * mounts NFS.
 */

#define FUSE_MAGIC 0x65735546 /* FUSE_SUPER_MAGIC of the kernel */
#define MAX_LINE 4096

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

static bool is_of_type(const struct statx *st)
{
	return S_ISREG(st->stx_mode) || S_ISFIFO(st->stx_mode) ||
	       (S_ISCHR(st->stx_mode) && st->stx_rdev_major == MEM_MAJOR &&
		(st->stx_rdev_minor == NULL_MINOR || st->stx_rdev_minor == FULL_MINOR));
}

/* "fuse", "fuseblk", "fuse.NAME"; the module for users that mount from a disk included. */
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

/* Returns 1 or 0, or -ENOENT if no mount here has the file's device. */
static int mount_is_of_fuse(const struct statx *st)
{
	char line[MAX_LINE];
	int fd = mountinfo < 0 ? -1 : fcntl(mountinfo, F_DUPFD_CLOEXEC, 0), found = -ENOENT;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f) {
		closep(&fd);
		return -ENOENT;
	}
	rewind(f);
	while (found < 0 && fgets(line, sizeof(line), f)) {
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

static int check(int fd, uid_t user, struct err_text *e)
{
	struct statx st;

	if (passed_file_stat(fd, &st) < 0 || !is_of_type(&st))
		return err_set(e, -EINVAL,
			       "write_into_file: the descriptor is neither a regular file nor a "
			       "pipe");
	if (user != 0 && !S_ISFIFO(st.stx_mode) && is_of_fuse(fd, &st))
		return err_set(e, -EINVAL,
			       "write_into_file: the file is of a FUSE file system, which could "
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
	if (f.fd >= 0 && check(f.fd, uid, e) < 0)
		passed_file_closep(&f);
	return f;
}
