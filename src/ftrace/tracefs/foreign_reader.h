/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Another process that reads the rings of an instance. Each record goes to only one reader, so two
 * readers get a part each. */
struct foreign_reader {
	int pid;
	char name[64]; /* the process's comm */
};

/* Finds another process that has trace_pipe or a trace_pipe_raw of the tracefs directory `dir`
 * open. proc_root: "/proc". Returns false if there is none that we are permitted to see. */
bool foreign_reader_find(const char *dir, const char *proc_root, struct foreign_reader *ret);
