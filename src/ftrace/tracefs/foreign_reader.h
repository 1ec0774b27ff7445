/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * Who reads the rings of an instance, other than we: records go to the first who reads, so two of
 * them get a part each.
 */
struct foreign_reader {
	int pid;
	char name[64]; /* of the process, as it says */
};

/* Looks for a process that has trace_pipe or a trace_pipe_raw of that folder of tracefs open.
 * False: there is none that we may see. */
bool foreign_reader_find(const char *folder, const char *proc_root, struct foreign_reader *ret);
