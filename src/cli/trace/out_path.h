/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/core/err.h"

/*
 * An output file or folder that gets its name when it is complete. Until then it is a hidden folder
 * beside that name, or a file in it. Only its owner can read it, and a signal that ends the program
 * removes it. Another user who may write to the directory cannot put anything else in its place.
 */
struct out_path {
	const char *path; /* borrowed: the final name */
	char *hidden; /* owned: name of the hidden folder; NULL: none */
	int folder; /* owned: the hidden folder */
	bool is_folder; /* the folder is the output */
	bool replace; /* an existing one */
};

/* Creates the hidden folder (mode 0700) and file (0600). One at a time. Returns 0; -EEXIST and sets
 * e if the name is taken and not to be replaced; else -errno and sets e. */
int out_path_create(struct out_path *o, const char *path, bool is_folder, bool replace,
		    struct err_text *e);
/* Gives it its name. Returns 0, or -errno and sets e; then it is removed. */
int out_path_finish(struct out_path *o, struct err_text *e);
/* Removes what is not finished. No-op otherwise. */
void out_path_deinit(struct out_path *o);

/* Writes a path of the hidden file, which holds while o does. Symbolic links in it must not be
 * resolved by name: the descriptor of the folder is one. */
#define OUT_PATH_INSIDE_MAX 64
void out_path_inside(const struct out_path *o, char buf[static OUT_PATH_INSIDE_MAX]);

/* Opens a file for writing: the hidden one (name NULL), or a new one in the hidden folder. Returns
 * NULL with errno. */
FILE *out_path_open(const struct out_path *o, const char *name);

/* Opens the pipe or device at the path for writing; *ret is NULL if there is none. Returns 0, or
 * -errno and sets e: another user's in a world-writable directory is refused. */
int out_path_special(const char *path, FILE **ret, struct err_text *e);

/* Ends a file. Returns 0, or -errno of any of its writes, and sets e. */
int out_close(FILE *f, const char *path, struct err_text *e);
