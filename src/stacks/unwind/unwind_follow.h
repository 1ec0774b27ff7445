/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/perf_event.h>

#include "stacks/frames/address_spaces.h"

/*
 * Keeps the unwind tables in step with the mappings of a data source, whose BPF program uses them.
 */
/*
 * Changed mappings are given to the tables at once, but those of a process that changes them all the
 * time at longer and longer intervals. Rows that have made room for others are added again after
 * UNWIND_FOLLOW_AGAIN_MS.
 */
#define UNWIND_FOLLOW_MIN_MS 2
#define UNWIND_FOLLOW_MAX_MS 1000
#define UNWIND_FOLLOW_AGAIN_MS 2000

/* Removes a process that ends or executes another program. To be called for each record of a
 * perf event. */
void unwind_follow_record(const struct perf_event_header *h);
/*
 * A stack of the process was taken, at `now` ns. Gives its mappings to the tables if these do not
 * have them as they are.
 */
void unwind_follow_process(struct address_space *a, const struct mapped_files *files, uint64_t now);
