/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "service/output/output_folder.h"

/*
 * The child "sonda-files", which does for the service what takes a file system: it makes the files of
 * output_path, and removes the files of the service's sockets at the end. It keeps the user that
 * started the service; the service itself can then change its user, open no file and remove none.
 *
 * The child keeps CAP_CHOWN where there is an output folder, else no capability. Landlock leaves it that
 * folder and those of the sockets' files, and its system calls are filtered. One child a process.
 */
#define FILE_HELPER_REMOVES 16

struct file_helper_options {
	const char *output_dir; /* absolute; NULL: output_path is off */
	struct {
		const char *path;
		struct output_file file; /* removed if it is still that */
	} remove[FILE_HELPER_REMOVES]; /* at the end */
	size_t n_remove;
	bool no_sandbox;
};

/* Before the first thread. What o points to is borrowed during the call. 0; or -errno with the reason:
 * the folder is not there, or the child may not make files in it. */
int file_helper_start(const struct file_helper_options *o, struct err_text *e);
/* Removes the files of the list, and ends the child. Nothing where none was started. */
void file_helper_end(void);

/*
 * The file of an output_path, an absolute path, for a user: output_folder_create(). Without an output
 * folder, or where the path is not below it, -EPERM with a sentence that names --output-dir.
 */
int file_helper_create(const char *path, uid_t user, struct err_text *e, int *ret_fd);
/* output_folder_remove() of one that was made so. */
void file_helper_remove(const char *path, uid_t user, const struct output_file *file);
