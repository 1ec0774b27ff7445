/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stdint.h>

#include "base/core/sha256.h"
#include "base/text/str.h"
#include "cli/ship/spool_tables.h"

/* The list and the manifest of an entry that is being made. */

/* Zero-initialise; file_hash_deinit() frees. */
struct file_hash {
	uint64_t bytes;
	uint8_t whole[SHA256_SIZE];
	struct strbuf chunks; /* owned: lines of the list, for files of more than one chunk */
};
void file_hash_deinit(struct file_hash *h);

/* Reads a file from its beginning to its end; copies it to `copy` (-1: not). Returns 0, -EINTR if
 * *stop was set, or -errno. */
int file_hash_read(int fd, int copy, const volatile sig_atomic_t *stop, struct file_hash *ret);

/* Zero-initialise; entry_files_deinit() frees. */
struct entry_files {
	char uuid[SPOOL_UUID_SIZE], date[16], machine[64];
	struct strbuf list; /* owned */
	struct strbuf json; /* owned: the manifest's array of files */
};
void entry_files_deinit(struct entry_files *f);

/* Adds a file of the entry: a table ("sched.parquet") or the trace (table NULL). */
void entry_files_add(struct entry_files *f, const char *table, const struct file_hash *h);

struct manifest_facts {
	const struct spool_facts *trace; /* borrowed */
	const char *source; /* borrowed: name of the file */
	const char *snapshot; /* borrowed: JSON of the recorder about it; hostile; NULL: none */
	uint64_t start_realtime_ns;
	size_t dropped; /* entries that were dropped before this one */
};
/* Writes manifest.json and the list into the directory. Returns 0 or -errno. */
int entry_files_write(struct entry_files *f, const struct manifest_facts *facts, int dir);
