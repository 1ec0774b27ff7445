/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

#include "analyze/stacks/code.h"
#include "analyze/stacks/stack_points.h"
#include "analyze/store/store.h"

/* Call stacks of a trace with their sums, and the names of the threads that have them. */

struct thread_names {
	char *process, *thread; /* owned */
};

struct export_stacks {
	struct code code;
	struct stack_points points; /* one for each thread (or process), stack and reason */
	struct thread_names *threads; /* owned; by utid */
	uint32_t n_threads;
};

/* Reads the stacks, and adds up those that are equal. Returns an SQLite result code. Call
 * export_stacks_deinit() in either case. */
int export_stacks_init(struct export_stacks *x, sqlite3 *db, const struct store *s,
		       enum stack_kind kind);
void export_stacks_deinit(struct export_stacks *x);
