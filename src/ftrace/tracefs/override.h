/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"

/*
 * A tracefs directory that belongs to others: the top level or a foreign instance. Every setting
 * that we change is logged with its old value (undo_log.h) and restored when our last session
 * releases it. A setting that already has the wanted value is not written. A setting that another
 * process changes meanwhile keeps that value.
 *
 * All sessions of this process share one override per directory. Settings that only add records
 * (events, tracing_on) may be set by any of them. These conflicts return -EBUSY:
 *
 *	another session holds a different value of the setting
 *	the setting takes records away from other sessions (setting_is_restricting())
 *	another session has made such a setting, and this one wants to read (override_new())
 *	64 sessions use the directory (override_new())
 *	another process overrides settings of the directory (override_new())
 *
 * File names are relative to the directory. Functions return 0 or -errno unless stated otherwise.
 */
struct override;

struct override_target {
	const char *root; /* of tracefs */
	const char *subdir; /* "" is the top level, "instances/foo" an instance; it exists */
	const char *state; /* directory of the undo logs; NULL: none is kept */
	/* This session does not read the directory's records. So it does not conflict with settings
	 * of other sessions that drop some of them (setting_is_restricting()). */
	bool reads_nothing;
};

/* Sets e on failure. */
int override_new(const struct override_target *target, struct override **ret, struct err_text *e);
/* Releases all settings of this session and restores those that no other session holds. Returns 0
 * or the first -errno. After -EBUSY or -ENOMEM the undo log stays for the next process. */
int override_restore(struct override *l);
/* Restores the settings and frees l. NULL is allowed. Returns NULL. */
struct override *override_free(struct override *l);

/* Returns true if another session holds the setting. */
bool override_is_held_by_others(const struct override *l, const char *file);
/* Returns true if this session changed the setting and no other session holds it. */
bool override_has_changed(const struct override *l, const char *file);
/* Returns the file of the first conflict of this session; NULL if there was none. */
const char *override_refused_file(const struct override *l);

/* Sets a value. Replaces a whole list. In a trigger file, adds a command; "!traceon" removes the
 * commands of this session that begin with "traceon". */
int override_write(struct override *l, const char *file, const char *text);
/* Adds to a list that this session has started with override_write. */
int override_append(struct override *l, const char *file, const char *text);
/* Saves the value before the caller writes the file itself. was: the value to restore; NULL: the
 * current one. */
int override_save(struct override *l, const char *file, const char *was);
/* Makes this session a holder of all settings that other sessions hold, except events. */
void override_join(struct override *l);
/* Releases the setting for this session. */
void override_release(struct override *l, const char *file);
