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
 *	the setting takes records away from other sessions (setting_restricts())
 *	another session has made such a setting, and this one wants to read (override_new())
 *	64 sessions use the directory (override_new())
 *
 * File names are relative to the directory. Functions return 0 or -errno unless stated otherwise.
 */
struct override;

struct override_target {
	const char *root; /* of tracefs */
	const char *place; /* "" is the top level, "instances/foo" an instance; it exists */
	const char *state; /* directory of the undo logs; NULL: none is kept */
	bool reads_nothing; /* reads no records, so other sessions may restrict them */
};

/* Sets e on failure. */
int override_new(const struct override_target *target, struct override **ret, struct err_text *e);
/*
 * Restores the settings that no other session holds. Returns 0 or the first -errno; a setting that
 * could not be restored stays in the undo log for the next process.
 */
int override_restore(struct override *l);
/* Restores the settings and frees l. NULL is allowed. */
struct override *override_free(struct override *l);

/* Returns true if another session holds the setting. */
bool override_others_hold(const struct override *l, const char *file);
/* Returns true if this session changed the setting and no other session holds it. */
bool override_has_changed(const struct override *l, const char *file);
/*
 * Returns the file of the first conflict of this session; NULL if there was none.
 */
const char *override_refused(const struct override *l);

/*
 * Sets a value. For a list, replaces all of it. For a trigger, adds one; "!traceon" removes those
 * of that kind which this session added.
 */
int override_write(struct override *l, const char *file, const char *text);
/* Adds to a list that this session has started with override_write. */
int override_append(struct override *l, const char *file, const char *text);
/*
 * Saves the value before the caller writes the file itself. was: the value to restore; NULL: the
 * current one.
 */
int override_save(struct override *l, const char *file, const char *was);
/* Holds all settings of the other sessions except events. */
void override_join(struct override *l);
/* Releases the setting for this session. */
void override_release(struct override *l, const char *file);
