/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "ftrace/tracefs/setting_file.h"

/*
 * Undo log on disk. If this process is killed, a later one rolls its changes back. A file lock
 * shows that the owner is alive; so one process at a time uses a tracefs directory. Each entry is
 * written before the change is made, with a single write(2) and no fsync: the log has to survive
 * the process, not the machine, because a reboot resets tracefs.
 *
 *	STATE/top-level			log of the top level
 *	STATE/instances:NAME		log of an instance; hyp likewise
 *
 *	sonda-loan 1 BOOT-ID PID
 *	was 26 trace_clock		old value of the file: 26 bytes
 *	[local] global boot mono
 *
 *	is 26 trace_clock		new value
 *	local global [boot] mono
 */
struct undo_log;

#define UNDO_LOG_MAX (16 << 20) /* bytes of a log that are read */

/*
 * Starts the log of a tracefs directory ("" is the top level). First rolls back the changes of a
 * killed process. root: of tracefs. Returns 0, -EBUSY if another process uses the directory, or
 * -errno; sets e on failure.
 */
int undo_log_open(const char *state, const char *root, const char *place, struct undo_log **ret,
		  struct err_text *e);
/*
 * Deletes the file, or keeps it for the next process if a change could not be undone. NULL is
 * allowed.
 */
struct undo_log *undo_log_close(struct undo_log *r, bool keep);

/*
 * Append the old and the new value of a change. r may be NULL: no log is kept. Return 0 or -errno.
 */
int undo_log_old_value(struct undo_log *r, const struct setting_change *c);
int undo_log_new_value(struct undo_log *r, const struct setting_change *c);
/* Replaces the content by these changes. */
int undo_log_rewrite(struct undo_log *r, const struct setting_changes *changes);

/* Rolls back the logs of all processes that have ended. Returns the number of logs, or -errno. */
int undo_logs_roll_back(const char *state, const char *root);
