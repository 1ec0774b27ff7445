/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"

/*
 * Files of TraceConfig.output_path in the directory that --output-dir names.
 *
 * The path is relative to that directory and cannot leave it: components "." and ".." are refused,
 * and symbolic links are not followed. Every consumer may create files in the directory itself. In
 * a directory below it, these users may create files: root, the user that started the service, the
 * owner of that directory, and every user if others may write there.
 */

/* The identity of a file, independent of its path. */
struct output_file {
	dev_t dev;
	ino_t ino; /* 0: none */
};
/* Returns the identity of an open file; ino is 0 if the kernel does not tell it. */
struct output_file output_file_of(int fd);

/*
 * Creates a new file with mode 0600, open for reading and writing, and changes its owner to the
 * user. That needs CAP_CHOWN, unless it is the user of this process. The umask must be 0.
 *
 * Returns 0, or -errno (-EEXIST: the path exists) and sets e (may be NULL).
 */
int output_dir_create(int dir, const char *path, uid_t user, struct err_text *e, int *ret_fd);
/* Removes a file that output_dir_create() made, with the same checks, if the path still names
 * it. */
void output_dir_remove(int dir, const char *path, uid_t user, const struct output_file *file);
