/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/core/err.h"

/*
 * An output file or folder that gets its name when it is complete. Until then it is a hidden
 * neighbour of that name, which only its owner can read, and which a signal that ends the program
 * removes.
 */
struct out_path {
	const char *path; /* borrowed: the final name */
	char *hidden; /* owned; NULL: none */
	bool is_folder;
	bool replace; /* an existing one */
};

/* Creates the hidden file (mode 0600) or folder (0700). One at a time. Returns 0; -EEXIST and sets
 * e if the name is taken and not to be replaced; else -errno and sets e. */
int out_path_create(struct out_path *o, const char *path, bool is_folder, bool replace,
		    struct err_text *e);
/* Gives it its name. Returns 0, or -errno and sets e; then it is removed. */
int out_path_finish(struct out_path *o, struct err_text *e);
/* Removes what is not finished. No-op otherwise. */
void out_path_deinit(struct out_path *o);

/* Opens a file for writing: the hidden one (name NULL), or one in the hidden folder. Returns NULL
 * with errno. */
FILE *out_path_open(const struct out_path *o, const char *name);

/* Ends a file. Returns 0, or -errno of any of its writes, and sets e. */
int out_close(FILE *f, const char *path, struct err_text *e);
