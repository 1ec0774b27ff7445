/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/queue.h>

#include "stacks/frames/address_spaces.h"
#include "stacks/unwind/unwind_maps.h"
#include "wire/pb_enc.h"

struct event_base;

/*
 * Fills in the tables by which BPF programs unwind user stacks (bpf/unwind_tables.h). There is one
 * set of tables in the process; data sources join it. One thread uses it.
 *
 * A file gets an element of the map of files when its rows are there: the file reader
 * (file_reader.h) makes them, one file after the other, so that takes a while. Until then, and if
 * there is no room for its rows, programs miss the file and report that in each stack
 * (UNWIND_NO_FILE). The code of a file that has no rows is unwound by frame pointers.
 *
 * Before the place of rows is used again, the files that refer to them are removed from the map. A
 * program that has used them meanwhile notices that by unwind_state, and discards the stack.
 */
#define UNWIND_QUEUE_MAX 1024 /* files that are still to be read; no further ones */

struct unwind_tables_user {
	/* Set by the caller: rows are evicted even if stacks use them, and missing files are
	 * requested again at once. For tests. */
	bool hurries;
	bool is_joined; /* set by the tables */
};

struct unwind_tables_stats {
	uint32_t n_files; /* that were read, with or without rows */
	uint32_t n_ranges; /* different contents of them that are kept */
	uint32_t n_rows, n_rules;
	/* Since the first user joined. */
	uint64_t n_evicted; /* files whose rows made room for others */
	uint64_t n_refused; /* files without room for their rows */
	uint64_t n_unreadable; /* files that could not be read, or contain no unwind rows */
	uint64_t n_files_left_out; /* the queue was full, or memory ran out */
	uint64_t n_cut; /* files with code without rows, because a limit of eh_rows.h was reached */
};

/* Adds a user; the first one creates the maps. Returns 0; -ENOTSUP if the file reader does not run
 * or this build has no eBPF; or -errno. loop is borrowed while a user is joined. */
int unwind_tables_join(struct unwind_tables_user *u, struct event_base *loop);
/* Removes a user; the last one destroys the maps. No-op if u has not joined. */
void unwind_tables_leave(struct unwind_tables_user *u);
/* Returns the maps, for bpf_map__reuse_fd(); valid while a user is joined. */
const struct unwind_maps *unwind_tables_maps(void);

/* Reads the rows of a mapped file for the tables; path has m->path_len bytes. pid maps it there.
 * Copies what it needs. No-op if no user is joined, or the tables have the file. lacks: a program
 * has missed it: it is read again, because it may have changed; but not all the time. */
void unwind_tables_request_file(int32_t pid, const struct file_mapping *m, const char *path,
				bool lacks);
/* Returns whether a file is being read; then others may be in the queue. */
bool unwind_tables_is_busy(void);
/* Returns whether rows or rules take three quarters of their room. */
bool unwind_tables_are_almost_full(void);
/* Forgets the files in the queue: they are read once a program misses them. */
void unwind_tables_clear_queue(void);
void unwind_tables_get_stats(struct unwind_tables_stats *ret);
/* Appends the field unwind_stats to a packet. */
void unwind_tables_write_stats(const struct unwind_tables_stats *stats, struct pb_enc *e);
