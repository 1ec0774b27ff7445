/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "service/output/output_folder.h"

/*
 * Files of output_path end with a whole packet even if the service is killed: SIGKILL ends a
 * write(2) in progress, at any byte. The process sonda-files survives, and truncates such a file to
 * where the write began.
 *
 *	writer thread of the service        shared memory               sonda-files
 *	open, begin, end, close  ---------> file, begin of a write ---> cut
 *	(creates the file, keeps its descriptor)
 *
 * Each writer thread has entries of its own, by its place. The child reads them after the service
 * has ended.
 */

/* Maps the shared memory. Call before the fork. Returns 0 or -errno. */
int file_ends_share(void);

/* ---- a writer thread ---- */

/* place: from write_thread_take_place(). part: index of an open file, below MAX_FILE_PARTS. */

void file_ends_open(unsigned place, unsigned part, int fd);
/* Call before a write. at: its offset in the file; -1: none (a pipe). */
void file_ends_begin(unsigned place, unsigned part, off_t at);
/* Call after the write: the file ends with a whole packet again. */
void file_ends_end(unsigned place, unsigned part);
/* Frees the entry. Returns the file, for file_helper_closed(). */
struct output_file file_ends_close(unsigned place, unsigned part);

/* Returns the number of bytes in whole records (Trace.packet) of the first len bytes. */
size_t file_ends_whole(const uint8_t *records, size_t len);

/* ---- the child ---- */

/* Keeps a duplicate of the descriptor of a new file. */
void file_ends_keep(int fd);
/* The service has closed the file, or removes it. */
void file_ends_forget(const struct output_file *file);
/* The service has ended: truncates the files in which a write was in progress. */
void file_ends_cut(void);
