/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"

/*
 * What is taken of libsystemd, opened at run time: who has no journal needs no library.
 *
 * The functions are those of sd-journal(3) by the same names, without "sd_journal_"; 0 or more is
 * good, below 0 a negative errno. They were all there in systemd 229.
 */
struct sd_journal;

#define JOURNALD_LIBRARY "libsystemd.so.0"
/* SD_JOURNAL_LOCAL_ONLY: the files of this machine, not those that others sent here. */
#define JOURNALD_LOCAL_ONLY 1

struct journald_library {
	void *handle; /* owned */
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

/* file: JOURNALD_LIBRARY but in tests. 0; -ENOENT where it cannot be opened, -ENOSYS where a
 * function is missing. why: what the loader says, or the function's name. */
int journald_library_open(struct journald_library *l, const char *file, struct strbuf *why);
void journald_library_close(struct journald_library *l);

struct pb_enc;

/*
 * One line of the journal as a SystemdJournaldEvent, field by field as the journal gives them:
 * "NAME=bytes of any kind". Names: systemd.journal-fields(7).
 *
 * Format: protos/trace/linux/journald_event.proto.
 */

/* Of a longer value the rest is left out. */
#define JOURNALD_VALUE_MAX (64u << 10)

/* Those written so far; zero-initialise for each line. A name may come again: the first counts. */
struct journald_entry {
	uint32_t has; /* bits by field number */
};

/* Adds the field, where it is one of the message. data is foreign: it may have any shape. */
void journald_entry_add(struct journald_entry *entry, struct pb_enc *e, const void *data,
			size_t len);

struct pb_enc;

/*
 * The lines that come to the journal from now on. Rotated files, and a journal that begins to exist
 * later, are followed: call journald_reader_refresh() when the descriptor can be read, and every
 * now and then.
 */

/* Only lines that agree with all of it are read. */
struct journald_filter {
	int max_priority; /* of syslog(3); 7 or more, or below 0: all, those without one too */
	char **identifiers; /* borrowed; of one of these, unless there are none */
	size_t n_identifiers;
	char **units; /* likewise */
	size_t n_units;
};

struct journald_reader {
	struct journald_library *lib; /* borrowed */
	struct journald_filter filter;
	struct sd_journal *journal; /* owned */
	uint64_t begin_us; /* CLOCK_MONOTONIC: lines before it are older than we are */
	bool has_files;
};

/* 0 or -errno (nothing to close then). */
int journald_reader_open(struct journald_reader *r, struct journald_library *lib,
			 const struct journald_filter *filter, uint64_t begin_us);
void journald_reader_close(struct journald_reader *r);

/* Readable when something has changed; another one after each call of refresh that returns 1. */
int journald_reader_fd(const struct journald_reader *r);
/* Looks at the files that there are now. 1: the journal was opened anew; 0, or -errno. */
int journald_reader_refresh(struct journald_reader *r);

enum journald_read {
	JOURNALD_END, /* nothing more for now */
	JOURNALD_LINE, /* the next line: *ret_time_us */
	JOURNALD_OLD, /* one from before we began */
	JOURNALD_BAD, /* one that has no time here */
};

/* Goes to the next line. One of the above, or -errno: nothing can be read for now. */
int journald_reader_next(struct journald_reader *r, uint64_t *ret_time_us);
/* The fields of the line that is there, into a SystemdJournaldEvent. 0, or -errno: some of them. */
int journald_reader_encode(struct journald_reader *r, struct pb_enc *e);
