/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"

/*
 * A place of tracefs that is not ours, used for a time: the top level, an instance that somebody
 * else has made. What is changed there is noted with how it was (loan_record.h), and put back when
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
struct loan;

struct loan_terms {
	const char *root; /* of tracefs */
	const char
		*place; /* "" is the top level, "instances/foo" one of its instances; it exists */
	const char *state; /* the folder for records; NULL: none is kept */
	bool reads_nothing; /* no records there, so others may leave some out */
};

/* With a sentence in e on failure. */
int loan_new(const struct loan_terms *terms, struct loan **ret, struct err_text *e);
/* Puts back what nobody else of us holds. 0, or the first -errno: the rest of the record stays, for
 * the next process to try. */
int loan_give_back(struct loan *l);
/* The same, without a word. NULL is fine. */
struct loan *loan_free(struct loan *l);

/* Has another session that file of the place? */
bool loan_others_hold(const struct loan *l, const char *file);
/* Has this session changed it, and nobody else of us needs it so? */
bool loan_has_changed(const struct loan *l, const char *file);
/* A file of it that another session holds, and that this one wanted otherwise; NULL: none. */
const char *loan_refused(const struct loan *l);

/* Sets a value; of a list, all of it; of a trigger, adds one, or takes all of a kind away
 * ("!traceon"). */
int loan_write(struct loan *l, const char *file, const char *text);
/* Adds to a list that this session has begun by loan_write. */
int loan_append(struct loan *l, const char *file, const char *text);
/* Before it writes to the file by itself: what was there is put back, whatever becomes of it. was:
 * how it will have to read; NULL: as it reads now. */
int loan_claim(struct loan *l, const char *file, const char *was);
/* Needs all that others of us have set as it is, but for their events. 0 or -ENOMEM. */
int loan_join(struct loan *l);
/* This session needs that file no longer. */
void loan_release(struct loan *l, const char *file);
