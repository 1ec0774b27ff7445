/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "procfs/process/process_seen.h"

/*
 * A number for each task number, 0 at first: at most 16 MiB however many tasks there are; a machine
 * that has given out few numbers takes 4 KiB for each thousand.
 */
#define PROCESS_MAP_LEAF 1024 /* numbers in a leaf of 4 KiB */

/* Zero-initialise. */
struct process_map {
	int32_t *leaf[PROCESS_SEEN_MAX / PROCESS_MAP_LEAF]; /* owned; NULL: all of them are 0 */
};

/* Outside of 0 < tid < PROCESS_SEEN_MAX it is always 0. */
int32_t process_map_get(const struct process_map *m, int32_t tid);
/* 0, -ERANGE or -ENOMEM. */
int process_map_set(struct process_map *m, int32_t tid, int32_t v);
void process_map_clear(struct process_map *m);
