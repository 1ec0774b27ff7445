/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/passed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/system/background_close.h"
#include "service/ipc/ipc_host.h"

/* /dev/null and /dev/full */
#define MEM_MAJOR 1
#define NULL_MINOR 3
#define FULL_MINOR 7

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

void passed_file_closep(struct passed_file *f)
{
	background_close(TAKE_FD(f->fd), f->user);
}

struct passed_file passed_file_release(struct passed_file *f)
{
	struct passed_file taken = *f;

	f->fd = -1;
	return taken;
}

struct passed_file passed_file_adopt(struct ipc_conn *conn, struct err_text *e)
{
	struct passed_file f = {.fd = ipc_conn_pop_fd(conn), .user = ipc_conn_peer(conn)->uid};
	struct statx st;

	err_set(e, 0, "%s", "");
	if (f.fd >= 0 && (passed_file_stat(f.fd, &st) < 0 || !has_valid_type(&st))) {
		err_set(e, -EINVAL,
			"write_into_file: the descriptor is neither a regular file nor a pipe");
		passed_file_closep(&f);
	}
	return f;
}
