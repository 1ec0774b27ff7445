/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "ftrace/reports.h"

/* Which of the kernel's events a list of requests means. */
#define EVENT_SELECT_MAX_REQUESTS 1024u /* further ones are refused, and reported */

struct event_name {
	char *group; /* owned */
	char *name; /* owned */
};

struct event_selection {
	struct event_name *events; /* owned; sorted by group, then name; each once */
	size_t n;
	size_t cap;
};

void event_selection_deinit(struct event_selection *s);
int event_selection_has(const struct event_selection *s, const char *group, const char *name);

/*
 * Looks the requests up in root/events (tracefs):
 *
 *	group/name  group:name   that event
 *	group/pattern            every event of the group that fnmatch(3) finds, as irq_* or * alone
 *	name  pattern            the event of that name in every group that has one
 *
 * A request that no event matches, or that is not a name at all, is reported as unknown. 0 with
 * *ret, or -ENOMEM.
 */
int event_select(const char *root, char *const *requests, size_t n, struct event_selection *ret,
		 struct reports *reports);
