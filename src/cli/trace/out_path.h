/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/core/err.h"

/* An output file or directory that gets its name when it is complete. Until then it is a hidden
 * directory beside that name, or a file in this directory. Only its owner can read it, and SIGINT,
 * SIGTERM and SIGHUP remove it. Another user who may write to the directory cannot put anything
 * else in its place. */
struct out_path {
	const char *path; /* borrowed: the final name */
	char *hidden; /* owned: name of the hidden directory; NULL: none */
	int dir; /* owned: descriptor of the hidden directory */
	bool is_dir; /* the output is the directory, not a file in it */
	bool replace; /* an existing output */
};

/* Creates the hidden directory (mode 0700) and, unless is_dir, the file in it (0600). A process can
 * have one unfinished output at a time. path is borrowed as long as o. Returns 0; -EEXIST and sets
 * e if the name is taken and not to be replaced, or is a directory where a file is wanted, or the
 * reverse; else -errno and sets e. */
int out_path_create(struct out_path *o, const char *path, bool is_dir, bool replace,
		    struct err_text *e);
/* Gives the output its name and frees o. Returns 0, or -errno and sets e; then the output is
 * removed. An old directory with other files than *.csv and *.parquet is not replaced
 * (-ENOTEMPTY). */
int out_path_finish(struct out_path *o, struct err_text *e);
/* Removes an output that is not finished. No-op after out_path_finish(). */
void out_path_deinit(struct out_path *o);

/* Writes a path of the hidden file, /proc/self/fd/N/output, which is valid as long as o. The caller
 * must not resolve its links with realpath(3): that would give the name of the hidden directory,
 * which another user may have replaced. */
#define OUT_PATH_INSIDE_MAX 64
void out_path_get_proc_path(const struct out_path *o, char buf[static OUT_PATH_INSIDE_MAX]);

/* Opens a file for writing: the hidden file (name NULL), or a new file of this name in the hidden
 * directory. The caller closes it, with out_close(). Returns NULL with errno on failure. */
FILE *out_path_open(const struct out_path *o, const char *name);

/* Opens the pipe or device at path for writing; sets *ret to NULL if path is a regular file or does
 * not exist. Follows links. Returns 0, or -errno and sets e: -EACCES for a link, pipe or device of
 * another user in a world-writable directory. */
int out_path_open_special(const char *path, FILE **ret, struct err_text *e);

/* Flushes f, and closes it unless it is stdout. Returns 0, or -errno and sets e if any write to f
 * failed. */
int out_close(FILE *f, const char *path, struct err_text *e);
