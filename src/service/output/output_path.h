/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"

/*
 * Makes the file of TraceConfig.output_path, which must not be there yet, readable for all.
 *
 * Somebody else asks for it, so what this process may do is not enough: unless asker is root or the
 * user that this process runs as, the folder must be asker's own, or writable for everybody. It is
 * the folder that was checked in which the file is made, whatever becomes of the path meanwhile.
 *
 * path is absolute. 0, or -errno with the reason in e (-EEXIST: it is there).
 */
int output_path_create(const char *path, uid_t asker, struct err_text *e, int *ret_fd);

/* Which file it is, whatever its path leads to later. */
struct output_file {
	dev_t dev;
	ino_t ino; /* 0: none */
};
struct output_file output_file_of(int fd);
/* Removes one that was made so, with the same check, if it is still that file. Somebody else may
 * have done it already. */
void output_path_remove(const char *path, uid_t asker, const struct output_file *file);
