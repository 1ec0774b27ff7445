/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/core/err.h"
#include "cli/mcp/answer_pages.h"

/*
 * The directories whose traces may be read. They are opened once, and a trace is opened below one
 * of them: the kernel refuses "..", and symbolic links in every part of a name (openat2(2)).
 */

#define TRACE_DIRS_MAX 16

struct trace_dirs {
	struct {
		char *path; /* owned: absolute, without links */
		int fd; /* owned */
	} of[TRACE_DIRS_MAX];
	size_t n;
};

/* Opens a directory. Returns 0, or -errno and sets e. */
int trace_dirs_add(struct trace_dirs *f, const char *path, struct err_text *e);
void trace_dirs_deinit(struct trace_dirs *f);

/* Opens a trace for reading: a name below one of the directories, or an absolute path that begins
 * with the path of one. Returns a descriptor, which the caller closes, or -errno and sets e. */
int trace_dirs_open(const struct trace_dirs *f, const char *name, struct err_text *e);

/* Adds a line for each trace in the directories and their sub-directories, up to a limit, and the
 * number of traces. */
void trace_dirs_list(const struct trace_dirs *f, struct answer *ret);
