/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/tracefs_events.h"

/*
 * Words of a command line, and the requests of FtraceConfig.ftrace_events that they stand for:
 *
 *	sched                  the events that together tell who ran when, and who is who
 *	group/name group:name  that event
 *	name                   the event of that name in every group that has one
 *	pattern                with '*', '?', '[': of names in all groups, or of "group/name"
 *	word,word              several of these
 *	!word                  takes away what was selected before it
 */

#define EVENT_WORDS_MAX 16384 /* requests that a command line comes to */

/* Zero-initialise; event_requests_deinit frees. */
struct event_requests {
	char **names; /* owned, each owned */
	size_t n;
	size_t cap;
};
void event_requests_deinit(struct event_requests *r);

/* Does the word take away? */
bool event_word_is_negative(const char *word);

/*
 * One word by itself, with '/' for ':' and patterns as they are; a '!' in front does not count. 0,
 * -EINVAL (it cannot be an event) with the sentence in e, or -ENOMEM.
 */
int event_word_read(const char *word, struct event_requests *ret, struct err_text *e);

/*
 * All words, one after the other. Patterns and bare names become events of the kernel's list, and
 * a group that is wanted whole "group/ *". What the list does not have stays as it is, to be missed
 * at the end; without a list (events NULL) so do patterns.
 *
 * The words with '!' that take nothing away are added to ret_idle. 0, -EINVAL with the sentence in
 * e (also: nothing is left), or -ENOMEM.
 */
int event_words_read(const char *const *words, size_t n, const struct tracefs_events *events,
		     struct event_requests *ret, struct event_requests *ret_idle,
		     struct err_text *e);
