/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* State that rules keep from one event to the next: a number for each key. */
enum remembered_kind {
	REMEMBER_NET_BYTES, /* by track: sum of the network packets' lengths */
	REMEMBER_DROPPED_PACKETS, /* by track: number of network packets */
	REMEMBER_MM_THREAD, /* by mm_id: utid + 1 */
	REMEMBER_GPU, /* by number of a machine's GPU: number among all machines + 1 */
	REMEMBER_WAKE_LOCKS, /* by the lock's name: number of holders */
	REMEMBER_TCP_STREAM, /* by the socket's address in the kernel: number of the stream */
	REMEMBER_MARKER_BEGINS, /* by track: number of begins */
	REMEMBER_MARKER_LAST, /* by track: ns, time of the last begin */
	REMEMBER_DISK, /* by the disk's name and a field: the last value */
	REMEMBER_DISK_SEEN, /* by the disk's name: number of samples */
	REMEMBER_PERF_SESSION, /* by sequence: row of its session of PerfSamples + 1 */
	REMEMBER_STACK_SESSION, /* by sequence: row of its session of StackSamples + 1 */
	REMEMBER_CMA, /* by thread and enum cma_number: pages of the thread's current allocation */
	REMEMBER_METADATA, /* by name: row of a single value of metadata + 1 */
	REMEMBER_TID, /* by pid, and a tid as the process itself knows it: the tid */
	REMEMBER_CGROUP, /* by the id of a control group: its row of cgroup + 1 */
	REMEMBERED_KINDS
};

/* Returns where the number for a key is kept; it is 0 at first. Keys are those of one machine.
 * Returns NULL if out of memory. Valid until the import ends. */
int64_t *import_remembered(struct import *im, const struct machine *m, enum remembered_kind kind,
			   uint64_t key);
/* Returns how many keys of the kind there are on all machines. */
uint32_t import_remembered_count(const struct import *im, enum remembered_kind kind);
void remembered_deinit(struct import *im);

/*
 * Rows by their contents, or by what they were read from, for tables whose rows are all
 * different.
 */

enum row_kind {
	ROW_CALLSTACK, /* by state, process, iid: the innermost call site */
	ROW_INTERNED_FRAME, /* by state, process, iid */
	ROW_INTERNED_MAPPING, /* by state, process, iid */
	ROW_ASYNC_CONTEXT, /* by state, iid */
	ROW_MAPPING, /* by contents, as the next ones */
	ROW_CALLSITE,
	ROW_FRAME,
	ROW_FUNCTION, /* a frame without an address */
	ROW_TASK_CONTEXT,
	ROW_EXECUTION_CONTEXT,
};

struct row_key {
	uint64_t kind;
	uint64_t of[7]; /* the rest is 0 */
};

/* Returns NULL_U32 if there is none. */
uint32_t row_keys_find(const struct import *im, const struct row_key *key);
/* Stores the row of a key that has none. Returns the row; if out of memory, sets the budget's
 * error. */
uint32_t row_keys_add(struct import *im, const struct row_key *key, uint32_t row);
void row_keys_deinit(struct import *im);
