/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/core/err.h"
#include "base/core/sha256.h"

/*
 * The spool: traces on their way into the bucket. Two processes share it, possibly of two users.
 * Each writes only into directories of its own:
 *
 *	SPOOL/lock			held (flock) by the collector
 *	SPOOL/in/			the collector's: entries that are being made, or removed
 *	SPOOL/ready/UUID/		complete entries: trace, TABLE.parquet, manifest.json, list
 *	SPOOL/dropped/UUID		marks: entries that were dropped because the spool was full
 *	SPOOL/bad/UUID/			entries whose files do not match their hashes
 *	SPOOL/upload/lock		held (flock) by the uploader
 *	SPOOL/upload/journal/UUID	what the bucket has of an entry (upload_journal.h)
 *	SPOOL/upload/done/UUID		marks: the bucket has the whole entry
 *	SPOOL/upload/bad/UUID		marks: the uploader has found the entry to be bad
 *
 * The UUID of an entry is made of the SHA-256 of the trace. So two files with the same bytes are
 * one entry, whatever their names, and two snapshots of one recorder, which have the same uuid
 * inside, are two entries.
 *
 * The order of the steps, and what a crash after each leaves. Steps 1 to 5 and 11 are the
 * collector's, steps 6 to 10 the uploader's.
 *
 *	1  the trace is copied into in/UUID		1 to 4: in/ is emptied at the next start;
 *	2  the tables are made of the copy		the source is still there, and is copied
 *	3  hashes, manifest.json, list			again
 *	4  fsync of the files and the directory
 *	5  rename to ready/UUID, fsync of ready/	the entry is in the spool
 *	6  journal/UUID is made				the entry is begun: it is not dropped
 *	7  tables, then the trace: each is stored	it is stored again, if the key does not
 *	   under its key, then a line in the journal	exist yet: its bytes are the same
 *	8  manifest.json is stored			the entry is whole for readers; a second
 *							attempt finds the manifest
 *	9  done/UUID, fsync of done/			the journal stays, and has no effect
 *	10 journal/UUID is removed
 *	11 ready/UUID is renamed to in/, removed	in/ is emptied at the next start
 *
 * Marks are removed after 90 days. If the source is then still there, it becomes an entry again,
 * and step 8 finds its manifest in the bucket.
 */

#define SPOOL_UUID_SIZE 37
#define SPOOL_NAME_MAX 128
#define SPOOL_KEY_MAX 512
#define SPOOL_CHUNK (16u << 20) /* bytes of a file that have a hash, and are sent in one request */

/* Writes the UUID of a trace: the beginning of its hash as a UUID of version 8 (RFC 9562). */
void spool_make_uuid(const uint8_t hash[static SHA256_SIZE], char ret[static SPOOL_UUID_SIZE]);
bool spool_is_uuid(const char *name);

enum spool_role {
	SPOOL_COLLECTOR,
	SPOOL_UPLOADER,
};

/* The directories. Zero-initialise with SPOOL_CLOSED; all descriptors are owned. */
struct spool {
	int root, in, ready, dropped, bad; /* of the collector */
	int upload, journal, done, upload_bad; /* of the uploader */
	int lock;
};
#define SPOOL_CLOSED ((struct spool){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1})

/* Opens the spool, makes the missing directories, and takes the lock of the role. Returns 0, or
 * -errno and sets e: -EBUSY if another process has the lock. */
int spool_open(const char *path, enum spool_role role, struct spool *ret, struct err_text *e);
void spool_close(struct spool *s);

/* ---- entries ---- */

struct spool_entry {
	char uuid[SPOOL_UUID_SIZE];
	struct timespec made;
};
/* Zero-initialise; free(of). */
struct spool_entries {
	struct spool_entry *of; /* owned */
	size_t n, cap;
};
/* Lists the entries in ready/, oldest first. Returns 0 or -errno. */
int spool_entries_read(const struct spool *s, struct spool_entries *ret);
/* Returns the bytes of an entry's files on disk. */
uint64_t spool_entry_bytes(const struct spool *s, const char *uuid);
/* Removes an entry of ready/. Returns 0 or -errno. */
int spool_entry_remove(const struct spool *s, const char *uuid);
/* Removes everything in in/. */
void spool_remove_unfinished(const struct spool *s);

/* Makes a mark, durably. Returns 0 (also if it exists) or -errno. */
int spool_mark(int dir, const char *uuid);
bool spool_has_name(int dir, const char *name);
/* Removes the marks that are older than 90 days. */
void spool_marks_prune(int dir);
/* Returns the number of marks. */
size_t spool_marks_count(int dir);

/* Removes a directory of `parent` with the files in it. Directories inside are not followed.
 * Returns 0 or -errno. */
int spool_remove_dir(int parent, const char *name);

/*
 * ---- the list of an entry ----
 *
 * Text, one line a file, in the order of the upload; the manifest is the last one. Files of more
 * than SPOOL_CHUNK bytes have a line for each chunk after theirs:
 *
 *	file BYTES SHA256 NAME KEY
 *	chunk SHA256
 */

#define SPOOL_LIST "list"
#define SPOOL_LIST_MAX (8u << 20) /* bytes */

struct spool_file {
	uint64_t bytes;
	char sha256[SHA256_HEX_SIZE];
	char name[SPOOL_NAME_MAX], key[SPOOL_KEY_MAX];
	const char *chunks; /* borrowed from the list: its lines of chunks; NULL: none */
};

/* Reads the next file of a list, and moves *at behind it. Returns 1, 0 at the end, or -EBADMSG. */
int spool_list_next(const char **at, struct spool_file *ret);
/* Copies the hash of chunk i of the file. Returns false if the list has none. */
bool spool_list_chunk(const struct spool_file *f, uint64_t i, char ret[static SHA256_HEX_SIZE]);
