/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "cli/terminal/kernel_events.h"

/*
 * Words of a command line, and the requests of FtraceConfig.ftrace_events that they stand for:
 *
 *	sched irq freq ...     several that belong together (event_sets.h)
 *	group/name group:name  that event
 *	name                   the event of that name in every group that has one
 *	group                  where no event is called so: all of its events
 *	pattern                with '*', '?', '[': of names in all groups, or of "group/name"
 *	word,word              several of these
 *	!word                  excludes what was selected before it
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

/* Is it the name of an event, of a group, or of several events? Patterns and lists are not. */
bool event_word_is_known(const char *word, const struct tracefs_events *events);

/*
 * One word by itself, with '/' for ':' and patterns as they are; a '!' in front does not count.
 * events: the kernel's list; without it (NULL) groups are not known. 0, -EINVAL (it cannot be an
 * event) and sets e, or -ENOMEM.
 */
int event_word_read(const char *word, const struct tracefs_events *events,
		    struct event_requests *ret, struct err_text *e);

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
