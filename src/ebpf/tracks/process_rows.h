/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "ebpf/engine/family.h"

/*
 * Rows of numbers by process, as packets of the run's writer: instead of tracks, if the config has
 * process_rows.
 *
 *	struct process_rows rows = {.run = r, .columns = 3};
 *	process_rows_add(&rows, pid, values);
 *	process_rows_end(&rows);
 *
 * Format: perfetto.protos.EbpfProcessRows (an extension of sonda).
 */
#define PROCESS_ROWS_EACH 512u /* in a packet */

struct process_rows {
	const struct ebpf_run *run; /* borrowed */
	uint64_t at; /* CLOCK_BOOTTIME, of the values */
	uint32_t columns; /* of a row, without its pid */
	uint32_t n; /* rows of the open packet */
	struct pb_enc *e; /* NULL: no packet is open */
};

/* Adds the row of a process; begins a packet if none is open or the open one is full. */
void process_rows_add(struct process_rows *p, uint32_t pid, const uint64_t *values);
struct process_rows_name {
	const char *name;
	uint32_t parent_pid; /* 0: none */
	uint32_t tgid; /* of a thread; 0: the row is that of a process */
	bool is_kthread;
};
/* Adds the name of a process or thread, after all rows of this object. */
void process_rows_add_name(struct process_rows *p, uint32_t pid, const struct process_rows_name *n);
/* Ends the open packet. No-op if none is open. */
void process_rows_end(struct process_rows *p);
