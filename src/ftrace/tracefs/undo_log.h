/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/core/err.h"

/*
 * Undo log of one tracefs directory: the settings that this process changed there, in memory and
 * on disk. If this process is killed, a later one rolls its changes back. A file lock shows that
 * the owner is alive; so one process at a time uses a tracefs directory. An old value is logged
 * before the change is made. Each entry is a single write(2) without fsync: the log has to survive
 * the process, not the machine, because a reboot resets tracefs.
 *
 *	STATE/top-level			log of the top level
 *	STATE/instances:NAME		log of an instance
 *	STATE/hyp			log of the directory hyp (the hypervisor's events)
 *
 *	sonda-undo 1 BOOT-ID PID
 *	was 25 trace_clock		old value of the file: 25 bytes, with the newline
 *	[local] global boot mono
 *
 *	is 25 trace_clock		new value
 *	local global [boot] mono
 */
struct setting_change {
	TAILQ_ENTRY(setting_change) link;
	char *file; /* owned: relative to the directory */
	char *old_value; /* owned: as read; empty for a command */
	/* owned: as read after the write; for a command, the text written; NULL: unknown */
	char *new_value;
	bool logged; /* the old value is on disk, so the setting may be changed */
	/* For override.c, which shares a log between sessions: */
	char *text; /* owned: the text written; NULL: the session writes the file itself */
	uint64_t holders; /* the sessions that need it, a bit each */
};

struct undo_log {
	TAILQ_HEAD(setting_changes, setting_change) changes; /* oldest first */
	char *dir; /* owned: the tracefs directory */
	char *path; /* owned: of the log on disk; NULL: nothing is logged on disk */
	int fd; /* owned: the log on disk, locked; -1: none */
};

#define UNDO_LOG_MAX (16 << 20) /* bytes of a log that are read */

/* Opens the log of a tracefs directory ("" is the top level). First rolls back the changes of a
 * killed process. root: of tracefs. state: directory of the logs; NULL: nothing is logged on disk.
 * Returns 0, -EBUSY if another process uses the directory, or -errno; sets e on failure. */
int undo_log_open(struct undo_log *l, const char *state, const char *root, const char *subdir,
		  struct err_text *e);
/* Undoes all changes and frees the log. Deletes the file, or keeps it with the changes whose undo
 * failed with -EBUSY or -ENOMEM, for the next process. */
void undo_log_close(struct undo_log *l);

/* Adds a change in memory. The caller may set its text and holders. Returns 0 or -ENOMEM. */
int undo_log_add(struct undo_log *l, const char *file, const char *old_value,
		 struct setting_change **ret);
/* Logs the old value. Call it before the setting is changed. Returns 0 or -errno. */
int undo_log_write_old_value(struct undo_log *l, struct setting_change *c);
/* Logs c->new_value; does nothing if it is NULL. Returns 0 or -errno. */
int undo_log_write_new_value(struct undo_log *l, const struct setting_change *c);
/* Restores the old value of a logged change, unless another process has changed the setting since.
 * Removes and frees c; it stays on disk until undo_log_rewrite or undo_log_close. Returns 0, also
 * if the file no longer exists or the kernel refuses the old value, which is logged then. -EBUSY
 * and -ENOMEM: c stays in the log, so that it can be undone later. */
int undo_log_undo(struct undo_log *l, struct setting_change *c);
/* Replaces the content of the file by the logged changes. Returns 0 or -errno. */
int undo_log_rewrite(struct undo_log *l);

/* Rolls back the logs of all processes that have ended. Returns the number of logs, or -errno. */
int undo_logs_roll_back(const char *state, const char *root);
