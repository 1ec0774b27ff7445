/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/events/ftrace_config.h"

/* Resolves a list of requests to events of the kernel. */
#define EVENT_SELECT_MAX_REQUESTS 8192u /* further requests are refused and reported */
#define EVENT_SELECT_MAX_SEARCHES 1024u /* requests that search all groups (1 ms each) */

#define EVENT_NO_ID (-1)

struct event_name {
	char *group; /* owned */
	char *name; /* owned */
	/* borrowed: set if the session has made the event; else NULL */
	const struct event_representation *repr;
	int id; /* the kernel's id once the event is compiled; else EVENT_NO_ID */
	uint64_t dir; /* event_dir_id() when its format was read (event_enable.h) */
	char *filter; /* owned: kernel filter; NULL: no filter */
};

struct event_selection {
	struct event_name *events; /* owned; sorted by group, then name; no duplicates */
	size_t n;
	size_t cap;
};

void event_selection_deinit(struct event_selection *s);
int event_selection_has(const struct event_selection *s, const char *group, const char *name);
/* Returns NULL if the event is not selected. Valid until an event is added or dropped. */
struct event_name *event_selection_find(const struct event_selection *s, const char *group,
					const char *name);
/* No-op if the event is selected already. Returns 0 or -ENOMEM. */
int event_selection_add(struct event_selection *s, const char *group, const char *name);
/* Adds an event that the session has made; requests match its name in the trace, not in tracefs.
 * repr is borrowed for the lifetime of the selection. Returns 0 or -ENOMEM. */
int event_selection_add_as(struct event_selection *s, const char *group, const char *name,
			   const struct event_representation *repr);
/* Moves all events of more to s. Events that s has already stay unchanged. Returns 0 or -ENOMEM. */
int event_selection_move_all(struct event_selection *s, struct event_selection *more);
/* Removes one of s->events; the following ones move up. */
void event_selection_remove(struct event_selection *s, struct event_name *e);

/* Return the names of the event in the trace, which differ from the kernel's if it has a repr. */
static inline const char *event_name_group(const struct event_name *e)
{
	return e->repr ? e->repr->group : e->group;
}

static inline const char *event_name_name(const struct event_name *e)
{
	return e->repr ? e->repr->name : e->name;
}

/*
 * Adds the events that match the requests, from root/events of tracefs:
 *
 *	group/name  group:name   that event
 *	group/pattern            every event of the group that matches by fnmatch(3)
 *	name  pattern            the event of that name in every group
 *
 * Requests that match nothing or are malformed are reported as unknown. No request matches the
 * dynamic events of other sessions; no pattern matches those of Perfetto. Returns 0, -ENOMEM, or
 * -ECANCELED (base/event_loop/coroutine.h).
 */
int event_select(const char *root, char *const *requests, size_t n, struct event_selection *s,
		 struct setup_errors *errors);
/* Returns true if the request matches the event. Reads no file. */
bool event_request_matches(const char *request, const char *group, const char *name);
/* Like event_request_matches(), with the names that the event has in the trace. */
static inline bool event_matches_request(const char *request, const struct event_name *e)
{
	return event_request_matches(request, event_name_group(e), event_name_name(e));
}

/* Returns true for the events ftrace/ONE and ftrace/OTHER. */
bool event_is_ftrace_named(const struct event_name *e, const char *one, const char *other);
/* Returns true for the events that writes to trace_marker and trace_marker_raw make. */
bool event_is_marker(const struct event_name *e);
/* Returns true for the events that trace_printk() makes. */
bool event_is_printk(const struct event_name *e);
