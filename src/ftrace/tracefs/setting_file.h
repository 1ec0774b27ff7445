/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

/*
 * A knob of tracefs: a file that reads one way and is written another. These functions know both
 * by the file's name; nothing here remembers anything.
 *
 *	trace_clock       reads "local [boot] mono"          written "boot"
 *	buffer_size_kb    reads "7 (expanded: 1408)"         written "1408"
 *	.../filter        reads "none"                       written "0"
 *	set_ftrace_filter reads "#### all functions ..."     written "", which empties it
 */
enum knob_kind {
	KNOB_VALUE, /* what is written takes the place of what was there */
	KNOB_LIST, /* lines or words; opening it for truncation empties it */
	KNOB_COMMAND, /* a trigger: each write adds one, or with a '!' before it takes it away */
};

enum knob_kind knob_kind_of(const char *file);

/* What has to be written for the file to read so again, for the caller to free. NULL: it cannot be
 * written that way (sizes that differ from CPU to CPU read "X"), or memory is out. */
char *knob_text(const char *file, const char *read);

/* Does the file read as if the text was written last? */
bool knob_reads(const char *file, const char *read, const char *text);
/* Do both readings of the file mean the same? */
bool knob_equal(const char *file, const char *a, const char *b);

/* Restricts what an instance records, for everybody who reads it. */
bool knob_narrows(const char *file);

/* How the file reads, for the caller to free; NULL: it cannot be read. path: of the file. */
char *knob_read(const char *path);
/* Puts the text into the file in place of what it holds; of a command, adds it. 0 or -errno. */
int knob_write(const char *path, const char *text);
/* Adds to a list. */
int knob_append(const char *path, const char *text);

/*
 * One knob of a place of tracefs that is not ours, changed for a time: how it read before, and
 * how since. With that it can be put back, by us or by whoever comes after us.
 */
struct change {
	TAILQ_ENTRY(change) link;
	char *file; /* owned: below the place's folder */
	char *was; /* owned: as the file read; of a command empty */
	char *is; /* owned: how it reads since; of a command, what was written; NULL: not known */
};

TAILQ_HEAD(changes, change);

/* 0, or -ENOMEM with nothing to deinit. */
int change_init(struct change *c, const char *file, const char *was);
/* Zeroed is fine. */
void change_deinit(struct change *c);

/*
 * Puts the knob back as it was. What somebody else has made of it since is not ours to undo, and
 * stays. folder: of the place. 0 or -errno; a file that is gone is fine.
 */
int change_undo(const struct change *c, const char *folder);
/* An error of it that may be none another time. */
bool change_later(int error);
