/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"

/*
 * Is the descriptor that a consumer of this user passed a file for a trace? 0; -EINVAL with the
 * reason in e, for what is
 *
 *	- no regular file, pipe, /dev/null or /dev/full: a write to it may block, and the receiver of
 *	  a socket would get the uid and pid of the service with the data (SCM_CREDENTIALS)
 *	- a file of FUSE, unless the user is root: each call on it, close(2) too, takes as long as the
 *	  process that serves the file system wants
 *
 * The check itself waits for no file system.
 */
int passed_file_check(int fd, uid_t user, struct err_text *e);
