/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/err.h"

struct ipc_conn;
struct statx;

/* A file that a consumer passed. close(2) may take as long as its file system wants (NFS, an
 * overlayfs on FUSE), so it is closed in the background (base/system/background_close.h). */
struct passed_file {
	int fd; /* owned; -1: none */
	uint64_t user; /* of the consumer */
};

/* A destructor, for _cleanup_. */
void passed_file_closep(struct passed_file *f);
/* Returns the file, and leaves *f without one. */
struct passed_file passed_file_release(struct passed_file *f);

/* Like fstat(2), but only with attributes that the kernel has cached: it does not wait for a
 * file system. Returns 0 or -errno. */
int passed_file_stat(int fd, struct statx *ret);

/* Returns the file that came with the current request of the connection; the caller owns it.
 * Returns no file if none came (e is "") or if the file is refused (e has the reason). Only a
 * regular file, a pipe, /dev/null and /dev/full are accepted. A write to another type may block,
 * and the receiver of a socket would get the uid and pid of the service with the data
 * (SCM_CREDENTIALS). */
struct passed_file passed_file_adopt(struct ipc_conn *conn, struct err_text *e);
