/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procfs/process_counters.h"

/*
 * The counters of all processes as they were in the last pass, to tell which have changed. One row
 * a process, so it holds as much as there are processes.
 *
 * A pass looks into the last one while it gathers the next: process_cache_changed and
 * process_cache_put for each process, process_cache_turn at the end.
 */

struct process_cache_row;

struct process_cache_rows {
	struct process_cache_row *rows; /* owned */
	size_t n;
	size_t cap;
};

/* Zero-initialise. */
struct process_cache {
	struct process_cache_rows last; /* sorted by pid */
	struct process_cache_rows next; /* in the order of the pass */
};

void process_cache_deinit(struct process_cache *c);
/* The counters (bits) that the last pass did not have, or not with this value. */
uint32_t process_cache_changed(const struct process_cache *c, int32_t pid,
			       const struct process_counters *now);
/* Without memory it is as if the process were new in the next pass. */
void process_cache_put(struct process_cache *c, int32_t pid, const struct process_counters *now);
/* What was put becomes the last pass. */
void process_cache_turn(struct process_cache *c);
/* Forgets the last pass, and what was put. */
void process_cache_forget(struct process_cache *c);
