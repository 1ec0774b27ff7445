/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"

/*
 * The functions of libsystemd, loaded at run time, so that a machine without a journal does not
 * need the library.
 *
 * The functions are those of sd-journal(3) without the prefix "sd_journal_". They return 0 or more,
 * or a negative errno. All of them exist in systemd 229.
 */
struct sd_journal;

#define JOURNALD_LIBRARY "libsystemd.so.0"
/* SD_JOURNAL_LOCAL_ONLY: the files of this machine, not those received from others. */
#define JOURNALD_LOCAL_ONLY 1
#define JOURNALD_DIRS 2

struct journald_library {
	void *handle; /* owned */
	const char *dirs[JOURNALD_DIRS]; /* where it looks for the journal; borrowed */
	int (*open)(struct sd_journal **ret, int flags);
	void (*close)(struct sd_journal *j);
	int (*add_match)(struct sd_journal *j, const void *data, size_t size);
	int (*get_fd)(struct sd_journal *j);
	int (*process)(struct sd_journal *j);
	int (*has_runtime_files)(struct sd_journal *j);
	int (*has_persistent_files)(struct sd_journal *j);
	int (*seek_head)(struct sd_journal *j);
	int (*seek_tail)(struct sd_journal *j);
	int (*previous)(struct sd_journal *j);
	int (*next)(struct sd_journal *j);
	int (*get_monotonic_usec)(struct sd_journal *j, uint64_t *ret_usec, void *boot_id);
	void (*restart_data)(struct sd_journal *j);
	int (*enumerate_data)(struct sd_journal *j, const void **data, size_t *len);
};

/* Loads the library: file is JOURNALD_LIBRARY, another one in tests. Returns 0; -ENOENT if it
 * cannot be opened, -ENOSYS if a function is missing. why: the message of the loader, or the name
 * of the function. */
int journald_library_open(struct journald_library *l, const char *file, struct strbuf *why);
void journald_library_close(struct journald_library *l);

struct pb_enc;

/*
 * Writes one journal entry as a SystemdJournaldEvent, field by field as libsystemd returns them:
 * "NAME=any bytes". Names: systemd.journal-fields(7).
 *
 * Format: protos/trace/linux/journald_event.proto.
 */

/* Longer values are truncated. */
#define JOURNALD_VALUE_MAX (64u << 10)

/* The fields written so far; zero-initialise it for each entry. If a field of the message gets
 * several values, the first counts. */
struct journald_entry {
	uint32_t has; /* bits by field number of SystemdJournaldEvent */
};

struct pb_enc;

/*
 * Reads the entries added to the journal from now on. It follows rotated files and a journal that
 * is created later: call journald_reader_refresh() when the descriptor is readable, and
 * periodically.
 */

/* Selects entries: only those that match all members are read. */
struct journald_filter {
	/* level of syslog(3); 7 or more, or below 0: all, also entries without a level */
	int max_priority;
	/* borrowed; the entry must have one of the identifiers, unless the list is empty */
	char **identifiers;
	size_t n_identifiers;
	char **units; /* likewise */
	size_t n_units;
};

/* What changes in a directory when a sub-directory appears in it. */
struct journald_dir {
	uint64_t inode, changed_ns; /* 0: the directory does not exist */
};

struct journald_reader {
	struct journald_library *lib; /* borrowed */
	struct journald_filter filter;
	struct sd_journal *journal; /* owned */
	uint64_t begin_us; /* CLOCK_MONOTONIC of the start; older entries are skipped */
	bool has_files;
	/* At the last open, for a reader without files: */
	struct journald_dir dirs[JOURNALD_DIRS];
	uint64_t opened_ns; /* CLOCK_MONOTONIC */
};

/* Returns 0 or -errno. After an error there is nothing to close. */
int journald_reader_open(struct journald_reader *r, struct journald_library *lib,
			 const struct journald_filter *filter, uint64_t begin_us);
void journald_reader_close(struct journald_reader *r);

/* Returns the descriptor that is readable after a change, or -EBADF if no journal is open. It is
 * another one after each refresh that returns 1. */
int journald_reader_fd(const struct journald_reader *r);
/* Checks the files of the journal. Returns 1 if the journal was opened again, 0, or -errno. A
 * journal without files is opened again when one of its directories has changed, and once a
 * minute. */
int journald_reader_refresh(struct journald_reader *r);

enum journald_read {
	JOURNALD_END, /* no more entries for now */
	JOURNALD_LINE, /* the next entry; *ret_time_us is its CLOCK_MONOTONIC */
	JOURNALD_OLD, /* an entry from before the start */
	JOURNALD_BAD, /* an entry without a valid time */
};

/* Advances to the next entry. Returns enum journald_read, or -errno if the journal cannot be read
 * now. */
int journald_reader_next(struct journald_reader *r, uint64_t *ret_time_us);
/* Writes the fields of the current entry into a SystemdJournaldEvent, and passes each to on_field
 * (may be NULL), with its untrusted bytes "NAME=value" borrowed during the call. Returns 0, or
 * -errno if some are missing. */
int journald_reader_encode(struct journald_reader *r, struct pb_enc *e,
			   void (*on_field)(void *ctx, const void *data, size_t len), void *ctx);
