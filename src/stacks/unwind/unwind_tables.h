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
 * A process gets an element of the map of processes once the rows of all its files are there: the
 * file reader (file_reader.h) makes them, one file after the other, so that takes a while. Rows of
 * a file that does not fit, or that cannot be read, are missing; its code is unwound by frame
 * pointers.
 *
 * An element is always replaced as a whole, and each has another generation. Rows are written
 * before an element that refers to them. Before their place is used again, all elements that refer
 * to them are replaced or removed. A program that has used an old element meanwhile notices that by
 * the generation, and discards the stack.
 */
#define UNWIND_WANTED_MAX 1024 /* processes whose files are still to be read; no further ones */
#define UNWIND_WANTED_BYTES_MAX (4u << 20) /* of their mappings and paths */

struct unwind_tables_user {
	bool is_joined; /* set by the tables */
};

struct unwind_tables_stats {
	uint32_t n_processes;
	uint32_t n_files; /* that were read, with or without rows */
	uint32_t n_ranges; /* different contents of them that are kept */
	uint32_t n_rows, n_rules;
	/* Since the first user joined. */
	uint64_t n_evicted; /* files whose rows made room for others */
	uint64_t n_refused; /* files without room for their rows */
	uint64_t n_unreadable; /* files that could not be read, or have no rows */
	uint64_t n_processes_refused; /* too many are wanted at once, or no memory */
	uint64_t n_mappings_left_out; /* beyond UNWIND_MAPPINGS_MAX */
};

/*
 * The first user creates the maps. Returns 0; -ENOTSUP if the file reader does not run or this
 * build has no eBPF; or -errno. loop is borrowed while a user is joined.
 */
int unwind_tables_join(struct unwind_tables_user *u, struct event_base *loop);
/* The last user destroys the maps. No-op if u has not joined. */
void unwind_tables_leave(struct unwind_tables_user *u);
/* Returns the maps, for bpf_map__reuse_fd(); valid while a user is joined. */
const struct unwind_maps *unwind_tables_maps(void);

/*
 * Reads the files of the process, and then replaces its mappings in the tables. To be called when
 * its stacks are wanted, and again when its mappings have changed; copies what it needs. No-op if
 * no user is joined.
 */
void unwind_tables_set_process(const struct address_space *a, const struct mapped_files *files);
/* The process has ended, or executes another program. */
void unwind_tables_remove_process(int32_t pid);
/* Returns whether the process is in the tables, or will be when its files are read. */
bool unwind_tables_have_process(int32_t pid);
/*
 * A stack of the process was taken: its rows have been used. Returns false if the tables lack it, or
 * rows of it that have made room for others; then unwind_tables_set_process() would add them.
 */
bool unwind_tables_use_process(int32_t pid);
void unwind_tables_get_stats(struct unwind_tables_stats *ret);
/* Appends the field unwind_stats to a packet. */
void unwind_tables_write_stats(const struct unwind_tables_stats *stats, struct pb_enc *e);
