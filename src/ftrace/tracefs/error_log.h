/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"

/*
 * Why the kernel refused a command, in its own words: error_log of tracefs, where it is told apart
 * from what others did by the command itself.
 *
 *	[  123.456789] trace_kprobe: error: Invalid fetch argument
 *	  Command: p:x vfs_read a=nope
 *	                          ^
 */
struct error_log_entry {
	char what[160]; /* "Invalid fetch argument" */
	size_t at; /* the byte of the command that the caret is under */
};

/* Finds the last error of a command. root: of tracefs, or an instance's folder. False: the kernel
 * keeps no such log, or said nothing. */
bool error_log_read(const char *root, const char *command, struct error_log_entry *ret);
/* The same in the text of a log. */
bool error_log_find(const char *log, const char *command, struct error_log_entry *ret);

/* "WHAT at character 24: p:x vfs_read a=^nope", with the text shortened around the place. Gives
 * code. */
int error_log_format(struct err_text *e, int code, const char *what, const char *text, size_t at);
