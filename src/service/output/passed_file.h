/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/err.h"

struct ipc_conn;
struct statx;

/*
 * A file that a consumer passed. close(2) may take as long as its file system wants (NFS, an
 * overlay of FUSE), so it is closed in the background (base/system/close_aside.h).
 */
struct passed_file {
	int fd; /* owned; -1: none */
	uint64_t user; /* of the consumer */
};

/* A destructor, for _cleanup_. */
void passed_file_closep(struct passed_file *f);
/* Returns the file, and leaves *f without one. */
struct passed_file passed_file_release(struct passed_file *f);

/* Opens the list of mounts, for the check: a process in a sandbox cannot. Without it, the check
 * asks each file system, and waits for it. Returns 0 or -errno. */
int passed_file_start(void);

/* Like fstat(2), but only with attributes that the kernel has cached: it does not wait for a
 * file system. Returns 0 or -errno. */
int passed_file_stat(int fd, struct statx *ret);

/*
 * Returns the file that came with the present call of the connection, now the caller's, if it
 * is one for a trace; else none, and e is the reason ("" if none came). Refused are
 *
 *	- other types than a regular file, a pipe, /dev/null and /dev/full: a write may block, and the
 *	  receiver of a socket would get the uid and pid of the service with the data
 *	  (SCM_CREDENTIALS)
 *	- files of FUSE, unless the peer is root: each call on them, also close(2), takes as long as
 *	  the process that serves the file system likes
 *
 * The check waits for no file system that is mounted in the service's namespace, and for no FUSE.
 */
struct passed_file passed_file_take(struct ipc_conn *conn, struct err_text *e);
