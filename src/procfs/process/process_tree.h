/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procfs/process/proc_status.h"
#include "procfs/process/process_packet.h"

/*
 * The rows of a ProcessTree: what tasks are called and whose they are.
 *
 * Format: protos/trace/ps/process_tree.proto.
 */

struct process_row {
	const struct proc_status *status;
	const char *cmdline; /* NUL-separated; empty: the name stands for it */
	size_t cmdline_len;
	bool has_start;
	uint64_t start_from_boot_ns;
};

struct thread_row {
	int32_t tid;
	int32_t tgid;
	const struct proc_name *name; /* NULL: not recorded */
	const int32_t *nstid;
	unsigned n_nstid;
};

void process_tree_process(struct process_packet *p, const struct process_row *row);
void process_tree_thread(struct process_packet *p, const struct thread_row *row);
