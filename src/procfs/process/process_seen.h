/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A set of task numbers: those that the trace has described already. At most 512 KiB however many
 * tasks there are; a machine that has given out few numbers takes 4 KiB.
 */

/* The kernel gives out no number from here on (PID_MAX_LIMIT). */
#define PROCESS_SEEN_MAX (1 << 22)
#define PROCESS_SEEN_LEAF (1 << 15) /* numbers in a leaf of 4 KiB */

/* Zero-initialise. */
struct process_seen {
	uint64_t *leaf[PROCESS_SEEN_MAX / PROCESS_SEEN_LEAF]; /* owned; NULL: none of its range */
};

/* Outside of 0 < tid < PROCESS_SEEN_MAX nothing is ever in the set. */
bool process_seen_has(const struct process_seen *s, int32_t tid);
/* 0, -ERANGE or -ENOMEM. */
int process_seen_add(struct process_seen *s, int32_t tid);
void process_seen_remove(struct process_seen *s, int32_t tid);
void process_seen_clear(struct process_seen *s);
