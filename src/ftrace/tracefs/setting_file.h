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
enum setting_kind {
	SETTING_VALUE, /* what is written takes the place of what was there */
	SETTING_LIST, /* lines or words; opening it for truncation empties it */
	SETTING_COMMAND, /* a trigger: each write adds one, or with a '!' before it takes it away */
};

enum setting_kind setting_kind_of(const char *file);

/* What has to be written for the file to read so again, for the caller to free. NULL: it cannot be
 * written that way (sizes that differ from CPU to CPU read "X"), or memory is out. */
char *setting_text(const char *file, const char *read);

/* Does the file read as if the text was written last? */
bool setting_reads(const char *file, const char *read, const char *text);
/* Do both readings of the file mean the same? */
bool setting_equal(const char *file, const char *a, const char *b);

/* Restricts what an instance records, for everybody who reads it. */
bool setting_restricts(const char *file);

/* How the file reads, for the caller to free; NULL: it cannot be read. path: of the file. */
char *setting_read(const char *path);
/* Puts the text into the file in place of what it holds; of a command, adds it. 0 or -errno. */
int setting_write(const char *path, const char *text);
/* Adds to a list. */
int setting_append(const char *path, const char *text);

/*
 * One knob of a place of tracefs that is not ours, changed for a time: how it read before, and
 * how since. With that it can be put back, by us or by whoever comes after us.
 */
struct setting_change {
	TAILQ_ENTRY(setting_change) link;
	char *file; /* owned: below the place's folder */
	char *old_value; /* owned: as the file read; of a command empty */
	char *new_value; /* owned: how it reads since; of a command, what was written; NULL: not known */
};

TAILQ_HEAD(setting_changes, setting_change);

/* 0, or -ENOMEM with nothing to deinit. */
int setting_change_init(struct setting_change *c, const char *file, const char *was);
/* Zeroed is fine. */
void setting_change_deinit(struct setting_change *c);

/*
 * Puts the knob back as it was. What somebody else has made of it since is not ours to undo, and
 * stays. folder: of the place. 0 or -errno; a file that is gone is fine.
 */
int setting_change_undo(const struct setting_change *c, const char *folder);
/* An error of it that may be none another time. */
bool setting_change_may_retry(int error);
