/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/passed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "service/ipc/ipc_host.h"

#define FUSE_MAGIC 0x65735546 /* FUSE_SUPER_MAGIC of the kernel */

/* /dev/null and /dev/full */
#define MEM_MAJOR 1
#define NULL_MINOR 3
#define FULL_MINOR 7

/* AT_STATX_DONT_SYNC: the type is known without asking the server of a file system. */
static bool has_type_of_file(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0)
		return false;
	return S_ISREG(st.stx_mode) || S_ISFIFO(st.stx_mode) ||
	       (S_ISCHR(st.stx_mode) && st.stx_rdev_major == MEM_MAJOR &&
		(st.stx_rdev_minor == NULL_MINOR || st.stx_rdev_minor == FULL_MINOR));
}

/*
 * FUSE answers without its server where the asking process may not use the mount: another user's,
 * without allow_other or of another user namespace. With allow_other, which the administrator permits
 * (user_allow_other in /etc/fuse.conf), the server is asked.
 */
static bool is_of_fuse(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == FUSE_MAGIC;
}

static int check(int fd, uid_t user, struct err_text *e)
{
	if (!has_type_of_file(fd))
		return err_set(e, -EINVAL,
			       "write_into_file: the descriptor is neither a regular file nor a "
			       "pipe");
	if (user != 0 && is_of_fuse(fd))
		return err_set(e, -EINVAL,
			       "write_into_file: the file is of a FUSE file system, which could "
			       "block the service; only root may pass one");
	return 0;
}

int passed_file_take(struct ipc_conn *conn, struct err_text *e)
{
	int fd = ipc_conn_take_fd(conn);

	err_set(e, 0, "%s", "");
	if (fd < 0 || check(fd, ipc_conn_peer(conn)->uid, e) == 0)
		return fd;
	ipc_conn_close_fd(conn, fd);
	return -1;
}
