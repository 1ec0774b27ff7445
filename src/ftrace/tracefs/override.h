/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"

/*
 * A place of tracefs that is not ours, used for a time: the top level, an instance that somebody
 * else has made. What is changed there is noted with how it was (undo_log.h), and put back when
 * nobody of us needs it any more. What was as we want it is not touched, and what somebody else
 * changes meanwhile stays as he made it.
 *
 * Within this process a place is one, and sessions share it. What only adds to the records (events,
 * tracing_on) each of them may switch on. A knob that has one value for all keeps the first one's;
 * and what leaves records out is only for a session that is alone, because the others did not ask
 * for it. Who cannot get his way gets -EBUSY.
 *
 * File names are relative to the place. Functions give 0 or -errno unless they say else.
 */
struct override;

struct override_target {
	const char *root; /* of tracefs */
	const char
		*place; /* "" is the top level, "instances/foo" one of its instances; it exists */
	const char *state; /* the folder for records; NULL: none is kept */
	bool reads_nothing; /* no records there, so others may leave some out */
};

/* With a sentence in e on failure. */
int override_new(const struct override_target *terms, struct override **ret, struct err_text *e);
/* Puts back what nobody else of us holds. 0, or the first -errno: the rest of the record stays, for
 * the next process to try. */
int override_restore(struct override *l);
/* The same, without a word. NULL is fine. */
struct override *override_free(struct override *l);

/* Has another session that file of the place? */
bool override_others_hold(const struct override *l, const char *file);
/* Has this session changed it, and nobody else of us needs it so? */
bool override_has_changed(const struct override *l, const char *file);
/* A file of it that another session holds, and that this one wanted otherwise; NULL: none. */
const char *override_refused(const struct override *l);

/* Sets a value; of a list, all of it; of a trigger, adds one, or takes all of a kind away
 * ("!traceon"). */
int override_write(struct override *l, const char *file, const char *text);
/* Adds to a list that this session has begun by override_write. */
int override_append(struct override *l, const char *file, const char *text);
/* Before it writes to the file by itself: what was there is put back, whatever becomes of it. was:
 * how it will have to read; NULL: as it reads now. */
int override_save(struct override *l, const char *file, const char *was);
/* Needs all that others of us have set as it is, but for their events. 0 or -ENOMEM. */
int override_join(struct override *l);
/* This session needs that file no longer. */
void override_release(struct override *l, const char *file);
