/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procfs/machine/journald_library.h"

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
