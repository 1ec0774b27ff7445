/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "stacks/files/file_reader.h"

/* Makes the rows of the files that processes map, before a data source takes its first stack. It
 * ends when the rows are there; after UNWIND_PRELOAD_MS; or when the tables are so full that
 * further files would push out others. The files that are left are read later, when a stack misses
 * them. */
#define UNWIND_PRELOAD_MS 2000

struct unwind_preload {
	/* Set by the caller. */
	const char *proc_root; /* borrowed */
	bool (*is_wanted)(void *ctx, int32_t pid); /* whether the process is selected */
	void (*done)(void *ctx); /* the source can begin; called once */
	void *ctx;

	/* Set by the functions below. */
	struct file_reader_user reader;
	struct event *timer; /* owned; NULL: it does not run */
	int32_t *pids; /* owned: whose mappings are still to be requested */
	size_t n, cap;
	size_t outstanding; /* answers */
	uint64_t ends_ns; /* CLOCK_MONOTONIC */
};

/* Requests the rows of files that wanted processes map. The caller has joined the unwind tables.
 * Returns 0: done() will be called, from the loop; or -errno: nothing is preloaded. loop is
 * borrowed until done() is called. */
int unwind_preload_begin(struct unwind_preload *p, struct event_base *loop);
/* Calls done() now, unless it was called before. */
void unwind_preload_end(struct unwind_preload *p);
/* Frees it without a call of done(). */
void unwind_preload_deinit(struct unwind_preload *p);
