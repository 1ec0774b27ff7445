/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "ftrace/tracefs/setting_file.h"

/*
 * What is changed in a place of tracefs, in a file that outlives us: whoever finds it when we have
 * been killed puts things back. A lock on the file says that we live; so a place is one process's
 * at a time. A change is noted before it is made, by write(2) alone: the note has to survive the
 * process, not the machine, which forgets all of tracefs with us.
 *
 *	STATE/top-level			in the folder of records: the top level,
 *	STATE/instances:NAME		an instance; hyp likewise
 *
 *	sonda-loan 1 BOOT-ID PID
 *	was 26 trace_clock		how the file read before, in so many bytes
 *	[local] global boot mono
 *
 *	is 26 trace_clock		how it reads since
 *	local global [boot] mono
 *
 */
struct undo_log;

#define UNDO_LOG_MAX (16 << 20) /* bytes of a record that is read */

/*
 * Begins the record of a place ("" is the top level). What a killed process has left in it is undone
 * first. root: of tracefs. 0, -EBUSY (another process has the place), or -errno; with a sentence.
 */
int undo_log_open(const char *state, const char *root, const char *place, struct undo_log **ret,
		  struct err_text *e);
/* The file goes, or is kept for the next process because something could not be undone. NULL is
 * fine. */
struct undo_log *undo_log_close(struct undo_log *r, bool keep);

/* The two halves of a change. r NULL: nothing is recorded. 0 or -errno. */
int undo_log_old_value(struct undo_log *r, const struct setting_change *c);
int undo_log_new_value(struct undo_log *r, const struct setting_change *c);
/* Only these are left. */
int undo_log_rewrite(struct undo_log *r, const struct setting_changes *changes);

/* Undoes all records of processes that are gone. Gives how many there were, or -errno. */
int undo_logs_roll_back(const char *state, const char *root);
