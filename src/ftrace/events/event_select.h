/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/events/event_representation.h"
#include "ftrace/events/ftrace_config.h"

/* Which of the kernel's events a list of requests means. */
#define EVENT_SELECT_MAX_REQUESTS 8192u /* further ones are refused, and reported; and of those */
#define EVENT_SELECT_MAX_SEARCHES 1024u /* that go through all groups, 1 ms each, so many count */

#define EVENT_NO_ID (-1)

struct event_name {
	char *group; /* owned */
	char *name; /* owned */
	const struct event_representation
		*repr; /* borrowed: of one that the session has made; else NULL */
	int id; /* the kernel's, once it has a row; else EVENT_NO_ID */
	uint64_t folder; /* what it had when its format was read (event_enable.h) */
	char *filter; /* owned: what the kernel lets through; NULL: everything */
};

struct event_selection {
	struct event_name *events; /* owned; sorted by group, then name; each once */
	size_t n;
	size_t cap;
};

void event_selection_deinit(struct event_selection *s);
int event_selection_has(const struct event_selection *s, const char *group, const char *name);
/* NULL: it is not there. Valid until an event is added or dropped. */
struct event_name *event_selection_find(const struct event_selection *s, const char *group,
					const char *name);
/* Nothing where it is there already. 0 or -ENOMEM. */
int event_selection_add(struct event_selection *s, const char *group, const char *name);
/* The same for one that the session has made, which no request finds by its name in tracefs. told
 * is borrowed for the selection's life. */
int event_selection_add_as(struct event_selection *s, const char *group, const char *name,
			   const struct event_representation *repr);
/* Takes over all of more, which is empty then. What is in s already stays as it is. 0 or -ENOMEM. */
int event_selection_take(struct event_selection *s, struct event_selection *more);
/* Forgets one of s->events; those behind it move up. */
void event_selection_drop(struct event_selection *s, struct event_name *e);

/* The names that people know an event by: the trace's. */
static inline const char *event_name_group(const struct event_name *e)
{
	return e->repr ? e->repr->group : e->group;
}

static inline const char *event_name_name(const struct event_name *e)
{
	return e->repr ? e->repr->name : e->name;
}

/*
 * Looks the requests up in root/events (tracefs), and adds what they mean to the selection:
 *
 *	group/name  group:name   that event
 *	group/pattern            every event of the group that fnmatch(3) finds, as irq_* or * alone
 *	name  pattern            the event of that name in every group that has one
 *
 * A request that no event matches, or that is not a name at all, is reported as unknown. What
 * sessions have made for themselves is nobody else's, and found by no request; that of Perfetto's,
 * by no pattern. 0, -ENOMEM, or -ECANCELED (base/event_loop/coroutine.h).
 */
int event_select(const char *root, char *const *requests, size_t n, struct event_selection *s,
		 struct setup_errors *errors);
/* Is that event among those that the request means? No file is looked at. */
bool event_request_means(const char *request, const char *group, const char *name);
/* Likewise, by the names that people know. */
static inline bool event_is_meant(const char *request, const struct event_name *e)
{
	return event_request_means(request, event_name_group(e), event_name_name(e));
}
