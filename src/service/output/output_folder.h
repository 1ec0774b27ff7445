/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"

/*
 * Files of TraceConfig.output_path in the folder that --output-dir names.
 *
 * The path is relative to that folder, and leads to no place outside: it has no component "." or "..",
 * and no symbolic link is followed. Every consumer may have files in the folder itself; in a folder
 * below it root, the service's user, and users that own it or may write there as everybody may.
 */

/* Which file it is, whatever its path leads to later. */
struct output_file {
	dev_t dev;
	ino_t ino; /* 0: none */
};
struct output_file output_file_of(int fd);

/*
 * Makes a file that is not there yet, with mode 0600, open for reading and writing, and gives it to
 * the user; giving it to another user than this process' takes CAP_CHOWN. The umask of the process
 * must be 0.
 *
 * 0, or -errno (-EEXIST: it is there) with the reason in e (may be NULL).
 */
int output_folder_create(int folder, const char *path, uid_t user, struct err_text *e, int *ret_fd);
/* Removes one that was made so, with the same checks, if it is still that file. Somebody else may
 * have done it already. */
void output_folder_remove(int folder, const char *path, uid_t user, const struct output_file *file);
