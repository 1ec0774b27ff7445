// SPDX-License-Identifier: Apache-2.0
/* Groups and events are folders of tracefs; the answer is sorted at the end. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracefs.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "ftrace/event_select.h"

#define MANY_EVENTS 16384 /* more than a kernel has */

void event_selection_deinit(struct event_selection *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->events[i].group);
		free(s->events[i].name);
	}
	free(s->events);
	*s = (struct event_selection){0};
}

static int by_name(const void *a, const void *b)
{
	const struct event_name *x = a, *y = b;
	int c = strcmp(x->group, y->group);

	return c ? c : strcmp(x->name, y->name);
}

int event_selection_has(const struct event_selection *s, const char *group, const char *name)
{
	const struct event_name key = {(char *)group, (char *)name};

	return s->n && bsearch(&key, s->events, s->n, sizeof(key), by_name);
}

static int add(struct event_selection *s, const char *group, const char *name)
{
	struct event_name e;

	if (array_reserve(&s->events, &s->cap, s->n + 1, sizeof(*s->events)))
		return -ENOMEM;
	e = (struct event_name){strdup(group), strdup(name)};
	if (!e.group || !e.name) {
		free(e.group);
		free(e.name);
		return -ENOMEM;
	}
	s->events[s->n++] = e;
	return 0;
}

static void sort_and_deduplicate(struct event_selection *s)
{
	size_t kept = 0;

	if (s->n)
		qsort(s->events, s->n, sizeof(*s->events), by_name);
	for (size_t i = 0; i < s->n; i++) {
		if (kept && !by_name(&s->events[kept - 1], &s->events[i])) {
			free(s->events[i].group);
			free(s->events[i].name);
			continue;
		}
		s->events[kept++] = s->events[i];
	}
	s->n = kept;
}

static bool is_pattern(const char *s)
{
	return strpbrk(s, "*?[");
}

/* A name is one folder's, and cannot lead out of it. */
static bool is_name(const char *s)
{
	if (!*s || *s == '.' || strlen(s) > NAME_MAX)
		return false;
	for (; *s; s++)
		if (*s <= ' ' || *s > '~' || *s == '/')
			return false;
	return true;
}

static bool event_exists(const char *root, const char *group, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/events/%s/%s/format", root, group, name);

	return n > 0 && (size_t)n < sizeof(path) && fs_exists(path);
}

static int add_to_list(void *ctx, const char *name, unsigned char d_type)
{
	char ***list = ctx, **longer;

	(void)d_type;
	longer = tracefs_list_add(*list, name);
	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

/* All names in a folder. (libtracefs lists only groups that can be switched as a whole, which
 * leaves out "ftrace".) */
static char **list_folder(const char *path)
{
	char **list = NULL;

	fs_each(path, add_to_list, &list);
	return list;
}

/* Adds what matches in one group. */
static int select_in_group(const char *root, const char *group, const char *name,
			   struct event_selection *s)
{
	char path[PATH_MAX], **events;
	int r = 0;

	if (!is_pattern(name))
		return event_exists(root, group, name) ? add(s, group, name) : 0;
	snprintf(path, sizeof(path), "%s/events/%s", root, group);
	events = list_folder(path);
	for (int i = 0; !r && events && events[i]; i++)
		if (str_glob(name, events[i]) && event_exists(root, group, events[i]))
			r = add(s, group, events[i]);
	tracefs_list_free(events);
	return r;
}

/* group NULL: any. */
static int select_in_groups(const char *root, const char *group, const char *name,
			    struct event_selection *s)
{
	char path[PATH_MAX], **groups;
	int r = 0;

	if (group && !is_pattern(group))
		return select_in_group(root, group, name, s);
	snprintf(path, sizeof(path), "%s/events", root);
	groups = list_folder(path);
	for (int i = 0; !r && groups && groups[i]; i++)
		if (!group || str_glob(group, groups[i]))
			r = select_in_group(root, groups[i], name, s);
	tracefs_list_free(groups);
	return r;
}

static int select_one(const char *root, const char *request, struct event_selection *s,
		      struct reports *reports)
{
	_cleanup_(freep) char *copy = strdup(request);
	char *separator, *group = NULL, *name = copy;
	size_t before = s->n;
	int r = 0;

	if (!copy)
		return -ENOMEM;
	separator = strchr(copy, '/');
	if (!separator)
		separator = strchr(copy, ':');
	if (separator) {
		*separator = '\0';
		group = copy;
		name = separator + 1;
	}
	if (is_name(name) && (!group || is_name(group)))
		r = select_in_groups(root, group, name, s);
	if (!r && s->n == before)
		report_unknown(reports, request);
	return r;
}

int event_select(const char *root, char *const *requests, size_t n, struct event_selection *ret,
		 struct reports *reports)
{
	struct event_selection s = {0};
	int r = 0;

	if (n > EVENT_SELECT_MAX_REQUESTS) {
		report_failed(reports, "option:ftrace_events (of %zu entries the first %u count)",
			      n, EVENT_SELECT_MAX_REQUESTS);
		n = EVENT_SELECT_MAX_REQUESTS;
	}
	for (size_t i = 0; !r && i < n; i++) {
		r = select_one(root, requests[i], &s, reports);
		/* Many patterns may match the same events. */
		if (s.n > MANY_EVENTS)
			sort_and_deduplicate(&s);
	}
	if (r) {
		event_selection_deinit(&s);
		return r;
	}
	sort_and_deduplicate(&s);
	*ret = s;
	return 0;
}
