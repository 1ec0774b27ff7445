/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/perf_event.h>

#include "stacks/frames/address_spaces.h"

/* The records of a perf event that report how the mappings of processes change
 * (perf_event_open(2)): MMAP2, COMM of an exec, FORK and EXIT; and LOST, after which all processes
 * are unknown. 24 bytes of sample_id_all follow the fields of each record (cpu_ring.h). */
#define MAPPING_RECORD_END 24u

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

struct task_record { /* FORK and EXIT */
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

/* Returns the path of what a record of MMAP2 maps, which may have no NUL; NULL: it is another
 * record, or too short. */
const char *mapping_records_mmap_path(const struct perf_event_header *h, int32_t *ret_pid,
				      struct file_mapping *ret);
/* Returns the process that begins or executes another program with this record; 0: none does. */
int32_t mapping_records_started_process(const struct perf_event_header *h);
/* Returns the process whose program ends with this record; 0: none does. */
int32_t mapping_records_ended_process(const struct perf_event_header *h);
/* Applies the record. Other records are ignored, as are those that are too short. */
void mapping_records_apply(struct address_spaces *s, const struct perf_event_header *h);
