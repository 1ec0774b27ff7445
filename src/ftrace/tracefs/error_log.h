/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"

/*
 * Reads the kernel's reason for refusing a command from error_log of tracefs. The log holds errors
 * of all tracers; an entry is found by its command.
 *
 *	[  123.456789] trace_kprobe: error: Invalid fetch argument
 *	  Command: p:x vfs_read a=nope
 *	                          ^
 */
struct error_log_entry {
	char what[160]; /* "Invalid fetch argument" */
	size_t at; /* index of the byte of the command that is above the caret */
};

/* Finds the last error of a command. root: of tracefs, or the directory of an instance. Returns
 * false if the kernel has no such log or no entry for the command. */
bool error_log_read(const char *root, const char *command, struct error_log_entry *ret);
/* Like error_log_read, but searches the text of a log. */
bool error_log_find(const char *log, const char *command, struct error_log_entry *ret);

/* Writes "WHAT at character 24: p:x vfs_read a=^nope" to e, shortened around the position. Returns
 * code. */
int error_log_format(struct err_text *e, int code, const char *what, const char *text, size_t at);
