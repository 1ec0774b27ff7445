/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"

struct ipc_conn;

/*
 * Returns the descriptor that came with the present call of the connection, now the caller's, if it
 * is a file for a trace; else -1, and e is the reason ("" if none came). Refused are
 *
 *	- other types than a regular file, a pipe, /dev/null and /dev/full: a write may block, and the
 *	  receiver of a socket would get the uid and pid of the service with the data
 *	  (SCM_CREDENTIALS)
 *	- files of FUSE, unless the peer is root: each call on them, also close(2), takes as long as
 *	  the process that serves the file system likes
 *
 * The check itself waits for no file system.
 */
int passed_file_take(struct ipc_conn *conn, struct err_text *e);
