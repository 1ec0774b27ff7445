/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

#include "base/core/err.h"

/* Where an export of several files writes: into the hidden directory of an output, or into a tar
 * archive on a stream. Each file is written from front to back, and one at a time. */
struct out_path;
struct export_dir {
	const struct out_path *out; /* borrowed; NULL: tar */
	FILE *tar; /* borrowed */
	const char *path; /* for messages */
};

/* Opens a file of this name, in the directory or a temporary one for the archive. Returns NULL and
 * sets e on failure. */
FILE *export_dir_open(const struct export_dir *f, const char *name, struct err_text *e);
/* Closes what export_dir_open() has returned, and copies it into an archive. Returns 0, or -errno
 * and sets e if any write to the file failed. Errors of the stream "tar" are the caller's to
 * check. */
int export_dir_close(const struct export_dir *f, const char *name, FILE *file, struct err_text *e);
/* Writes the end of an archive; no-op for a directory. */
void export_dir_finish(const struct export_dir *f);
