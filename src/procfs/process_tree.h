/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procfs/proc_status.h"

struct pb_enc;
struct writer;

/*
 * Writes ProcessTree packets: what tasks are called and whose they are. A packet opens with the
 * first row after process_tree_next, and ends with process_tree_end or when it is large.
 *
 * Format: TracePacket.process_tree of protos/trace/ps/process_tree.proto. The packet's timestamp is
 * CLOCK_BOOTTIME before the first read of what it tells, collection_end_timestamp after the last.
 */
struct process_tree {
	struct writer *w; /* borrowed */
	struct pb_enc *e; /* the open packet, or NULL */
	uint64_t start_ns; /* of the packet that is open, or would open next */
	uint64_t start_pos;
	bool new_state; /* the next packet tells that nothing before it counts; at first set */
};

/* A packet that is this long takes no further task. */
#define PROCESS_TREE_PACKET_BYTES (16u << 10)

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

/* To be called before the files of each task are read. */
void process_tree_next(struct process_tree *t);
void process_tree_process(struct process_tree *t, const struct process_row *row);
void process_tree_thread(struct process_tree *t, const struct thread_row *row);
void process_tree_end(struct process_tree *t);
