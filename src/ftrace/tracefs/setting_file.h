/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * A setting file of tracefs. The text that a read returns is often not the text to write.
 * These functions know both forms by the file's name; they keep no state.
 *
 *	trace_clock       reads "local [boot] mono"          written "boot"
 *	buffer_size_kb    reads "7 (expanded: 1408)"         written "1408"
 *	.../filter        reads "none"                       written "0"
 *	set_ftrace_filter reads "#### all functions ..."     written "", which empties it
 */
enum setting_kind {
	SETTING_VALUE, /* a write replaces the value */
	SETTING_LIST, /* the items are lines or words; opening with O_TRUNC removes all */
	SETTING_COMMAND, /* a trigger file: a write adds a command; with '!' in front, removes it */
};

enum setting_kind setting_find_kind(const char *file);

/* Returns the text whose write restores a value; read is what a read of the file returned for it.
 * The caller frees the text. Returns NULL if no text restores it (sizes that differ between CPUs
 * read "X") or out of memory. */
char *setting_text_to_write(const char *file, const char *read);

/* Returns true if read is what the file returns after a write of text. */
bool setting_matches_write(const char *file, const char *read, const char *text);
/* Returns true if both texts read from the file mean the same. */
bool setting_equal(const char *file, const char *a, const char *b);

/* Returns true if the setting may remove records for every reader of the instance. */
bool setting_is_restricting(const char *file);

/* Returns the content, which the caller frees, or NULL if it cannot be read. */
char *setting_read(const char *path);
/* Replaces the content; in a trigger file, adds a command. Returns 0 or -errno. */
int setting_write(const char *path, const char *text);
/* Adds to a list. Returns 0 or -errno. */
int setting_append(const char *path, const char *text);
/* Removes a command from a trigger file. Returns 0, also if it is not there, or -errno. */
int setting_remove_command(const char *path, const char *text);
