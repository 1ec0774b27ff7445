/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "service/output/output_dir.h"

/*
 * The child process "sonda-files" makes all changes to the file system for the service: it creates
 * the files of output_path, and removes the files of the service's sockets at the end. It runs as
 * the user that started the service. So the service itself can change its user and give up the
 * right to open and remove files. If the service is killed, the child truncates the files that it
 * created, and that the service had open, to whole packets.
 *
 * The child keeps CAP_CHOWN if there is an output directory, else no capability. Landlock confines
 * it to that directory and those of the sockets' files, and its system calls are filtered. There is
 * at most one child.
 */
#define FILE_HELPER_REMOVES 16

struct file_helper_options {
	const char *output_dir; /* absolute; NULL: output_path is off */
	struct {
		const char *path;
		struct output_file file; /* removed if the path still names it */
	} remove[FILE_HELPER_REMOVES]; /* files to remove at the end */
	size_t n_remove;
	bool no_sandbox;
};

/* Call before the first thread. o is borrowed during the call. Returns 0, or -errno and sets e, for
 * example if the directory does not exist or the child cannot create files in it. */
int file_helper_start(const struct file_helper_options *o, struct err_text *e);
/* Removes the files of the list and ends the child. No-op if none was started. */
void file_helper_end(void);

/* Creates the file of an output_path, an absolute path, for a user: see output_dir_create().
 * Returns -EPERM and names --output-dir in e if there is no output directory or the path is not
 * below it. */
int file_helper_create(const char *path, uid_t user, struct err_text *e, int *ret_fd);
/* Removes a file that file_helper_create() made: see output_dir_remove(). */
void file_helper_remove(const char *path, uid_t user, const struct output_file *file);
/* Call when the service has closed a file, including one that a client passed. Any thread may call
 * it; it may block. */
void file_helper_report_closed(const struct output_file *file);
