/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "cli/terminal/kernel_events.h"
#include "cli/terminal/presets.h"

/*
 * Words of a command line, and the requests in FtraceConfig.ftrace_events that they expand to:
 *
 *	sched irq mem ...      the events of a preset (cli/terminal/presets.h), which may have none
 *	group/name group:name  that event
 *	name                   the event of that name in every group that has one
 *	group                  all events of the group, if no event has this name
 *	pattern                with '*', '?', '[': of names in all groups, or of "group/name"
 *	word,word              several of these; empty ones are skipped
 *	!word                  excludes what was selected before it
 */

#define EVENT_WORDS_MAX 16384 /* maximum number of requests for one command line */

/* Zero-initialise; event_requests_deinit frees. */
struct event_requests {
	char **names; /* owned, and so is each of them */
	size_t n;
	size_t cap;
};
void event_requests_deinit(struct event_requests *r);

/* Returns true if the word excludes events. */
bool event_pattern_is_negative(const char *word);

/* Returns true if the word names a preset (presets may be NULL), an event or a group, or is a
 * pattern that matches an event. Returns false for lists. events must not be NULL. */
bool event_pattern_is_known(const char *word, const struct tracefs_events *events,
			    struct presets *presets);

/* Returns the next comma-separated name, which is not NUL-terminated, and its length; NULL after
 * the last one. At the first call *rest is the word without its '!'. */
const char *event_pattern_next(const char **rest, size_t *ret_len);

/* Adds the requests of one word to ret, with '/' for ':'; does not expand patterns, and ignores a
 * leading '!'. events: the kernel's list; without it (NULL) groups are unknown. presets may be
 * NULL. Returns 0, -EINVAL and sets e if the word cannot be an event or its preset is bad, or
 * -ENOMEM. */
int event_pattern_parse(const char *word, const struct tracefs_events *events,
			struct presets *presets, struct event_requests *ret, struct err_text *e);

/*
 * Reads all words in order and adds their requests to ret. Patterns and bare names become events of
 * the kernel's list. A group whose events are all selected by patterns becomes "group/ *". Names
 * that the list does not have stay unchanged; sonda record reports them as missing at its end.
 * Without a list (events NULL) patterns stay unchanged, too.
 *
 * Words with '!' that exclude nothing are added to ret_idle. Returns 0, -EINVAL and sets e (also if
 * exclusions leave no event), or -ENOMEM.
 */
int event_patterns_resolve(const char *const *words, size_t n, const struct tracefs_events *events,
			   struct presets *presets, struct event_requests *ret,
			   struct event_requests *ret_idle, struct err_text *e);
