/* SPDX-License-Identifier: Apache-2.0 */
/* Groups and events are directories of tracefs. The selection is sorted at the end. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracefs.h>

#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "ftrace/events/event_select.h"
#include "ftrace/tracefs/owner_tag.h"

#define MANY_EVENTS 16384 /* more than a kernel has */

static void event_name_deinit(struct event_name *e)
{
	free(e->group);
	free(e->name);
	free(e->filter);
}

void event_selection_deinit(struct event_selection *s)
{
	for (size_t i = 0; i < s->n; i++)
		event_name_deinit(&s->events[i]);
	free(s->events);
	*s = (struct event_selection){0};
}

static int compare_event_names(const void *a, const void *b)
{
	const struct event_name *x = a, *y = b;
	int c = strcmp(x->group, y->group);

	return c ? c : strcmp(x->name, y->name);
}

struct event_name *event_selection_find(const struct event_selection *s, const char *group,
					const char *name)
{
	const struct event_name key = {.group = (char *)group, .name = (char *)name};

	return s->n ? bsearch(&key, s->events, s->n, sizeof(key), compare_event_names) : NULL;
}

int event_selection_has(const struct event_selection *s, const char *group, const char *name)
{
	return event_selection_find(s, group, name) != NULL;
}

static int event_select_add(struct event_selection *s, const char *group, const char *name)
{
	struct event_name e;

	if (array_reserve(&s->events, &s->cap, s->n + 1, sizeof(*s->events)))
		return -ENOMEM;
	e = (struct event_name){.group = strdup(group), .name = strdup(name), .id = EVENT_NO_ID};
	if (!e.group || !e.name) {
		event_name_deinit(&e);
		return -ENOMEM;
	}
	s->events[s->n++] = e;
	return 0;
}

static void sort_and_deduplicate(struct event_selection *s)
{
	size_t kept = 0;

	if (s->n)
		qsort(s->events, s->n, sizeof(*s->events), compare_event_names);
	for (size_t i = 0; i < s->n; i++) {
		if (kept && !compare_event_names(&s->events[kept - 1], &s->events[i])) {
			event_name_deinit(&s->events[i]);
			continue;
		}
		s->events[kept++] = s->events[i];
	}
	s->n = kept;
}

int event_selection_add(struct event_selection *s, const char *group, const char *name)
{
	int r = event_selection_has(s, group, name) ? 0 : event_select_add(s, group, name);

	sort_and_deduplicate(s);
	return r;
}

int event_selection_add_as(struct event_selection *s, const char *group, const char *name,
			   const struct event_representation *repr)
{
	int r = event_selection_add(s, group, name);

	if (!r)
		event_selection_find(s, group, name)->repr = repr;
	return r;
}

int event_selection_move_all(struct event_selection *s, struct event_selection *more)
{
	size_t before = s->n;

	if (array_reserve(&s->events, &s->cap, s->n + more->n, sizeof(*s->events)))
		return -ENOMEM;
	for (size_t i = 0; i < more->n; i++) {
		struct event_name *e = &more->events[i];

		const struct event_selection sorted = {.events = s->events, .n = before};

		if (event_selection_has(&sorted, e->group, e->name))
			event_name_deinit(e);
		else
			s->events[s->n++] = *e;
	}
	free(more->events);
	*more = (struct event_selection){0};
	sort_and_deduplicate(s);
	return 0;
}

void event_selection_remove(struct event_selection *s, struct event_name *e)
{
	size_t after = (size_t)(s->events + s->n - (e + 1));

	event_name_deinit(e);
	memmove(e, e + 1, after * sizeof(*e));
	s->n--;
}

static bool event_select_is_pattern(const char *s)
{
	return strpbrk(s, "*?[");
}

/* Returns true for a valid name: one path component, which cannot lead out of the directory. */
static bool event_select_is_name(const char *s)
{
	if (!*s || *s == '.' || strlen(s) > NAME_MAX)
		return false;
	for (; *s; s++)
		if (*s <= ' ' || *s > '~' || *s == '/')
			return false;
	return true;
}

/* Returns true for the dynamic event of another session. Enabling it would keep that session from
 * removing it. */
static bool is_event_of_other_session(const char *group, const char *name)
{
	return owner_tag_is_in_name(group) || owner_tag_is_in_name(name);
}

/* Returns true for the groups of the probes that Perfetto's traced_probes makes. */
static bool is_reserved_group(const char *group)
{
	return !strcmp(group, "perfetto_kprobes") || !strcmp(group, "perfetto_kretprobes");
}

static bool event_exists_in_tracefs(const char *root, const char *group, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/events/%s/%s/format", root, group, name);

	return n > 0 && (size_t)n < sizeof(path) && !is_event_of_other_session(group, name) &&
	       fs_exists(path);
}

static int add_name_to_list(void *ctx, const char *name, unsigned char d_type)
{
	char ***list = ctx, **longer;

	longer = tracefs_list_add(*list, name);
	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

/* Returns all names in a directory, which the caller frees with tracefs_list_free(), or NULL if
 * there are none. (tracefs_event_systems() omits groups without an enable file, such as
 * "ftrace".) */
static char **list_dir(const char *path)
{
	char **list = NULL;

	fs_each(path, add_name_to_list, &list);
	return list;
}

/* Adds the matching events of one group. */
static int select_in_group(const char *root, const char *group, const char *name,
			   struct event_selection *s)
{
	char path[PATH_MAX], **events;
	int r = 0;

	if (!event_select_is_pattern(name))
		return event_exists_in_tracefs(root, group, name) ? event_select_add(s, group, name)
								  : 0;
	snprintf(path, sizeof(path), "%s/events/%s", root, group);
	events = list_dir(path);
	for (int i = 0; !r && events && events[i]; i++)
		if (str_glob(name, events[i]) && event_exists_in_tracefs(root, group, events[i]))
			r = event_select_add(s, group, events[i]);
	tracefs_list_free(events);
	return r;
}

/* Adds the matching events of one group, or of all groups if group is NULL. */
static int select_in_groups(const char *root, const char *group, const char *name,
			    struct event_selection *s)
{
	char path[PATH_MAX], **groups;
	int r = 0;

	if (group && !event_select_is_pattern(group))
		return select_in_group(root, group, name, s);
	snprintf(path, sizeof(path), "%s/events", root);
	groups = list_dir(path);
	for (int i = 0; !r && groups && groups[i]; i++) {
		if (!is_reserved_group(groups[i]) && (!group || str_glob(group, groups[i])))
			r = select_in_group(root, groups[i], name, s);
		r = r ? r : coroutine_yield();
	}
	tracefs_list_free(groups);
	return r;
}

/* Splits a request in place. Returns the name, or NULL if the request is malformed. *ret_group
 * NULL: any group. */
static char *event_select_split(char *request, char **ret_group)
{
	char *separator = strchr(request, '/'), *name = request;

	if (!separator)
		separator = strchr(request, ':');
	*ret_group = NULL;
	if (separator) {
		*separator = '\0';
		*ret_group = request;
		name = separator + 1;
	}
	return event_select_is_name(name) && (!*ret_group || event_select_is_name(*ret_group))
		       ? name
		       : NULL;
}

bool event_request_matches(const char *request, const char *group, const char *name)
{
	_cleanup_(freep) char *copy = strdup(request);
	char *want_group, *want_name = copy ? event_select_split(copy, &want_group) : NULL;

	return want_name && (!want_group || str_glob(want_group, group)) &&
	       str_glob(want_name, name);
}

/* Returns true if the request matches an event that the session has made and selected already. */
static bool matches_made_event(const struct event_selection *s, const char *request)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->events[i].repr && event_matches_request(request, &s->events[i]))
			return true;
	return false;
}

static int select_events_of_request(const char *root, const char *request,
				    struct event_selection *s, struct setup_errors *errors)
{
	_cleanup_(freep) char *copy = strdup(request);
	size_t before = s->n;
	char *group, *name;
	int r = 0;

	if (!copy)
		return -ENOMEM;
	name = event_select_split(copy, &group);
	if (name)
		r = select_in_groups(root, group, name, s);
	if (!r && s->n == before && !matches_made_event(s, request))
		setup_error_add_unknown_event(errors, request);
	return r;
}

/* Returns true if all groups must be searched. */
static bool searches_all_groups(const char *request)
{
	size_t group = strcspn(request, "/:");

	return !request[group] || strcspn(request, "*?[") < group;
}

int event_select(const char *root, char *const *requests, size_t n, struct event_selection *s,
		 struct setup_errors *errors)
{
	size_t searches = 0;
	int r = 0;

	if (n > EVENT_SELECT_MAX_REQUESTS) {
		setup_error_add(errors,
				"option:ftrace_events (only the first %u of %zu entries are used)",
				EVENT_SELECT_MAX_REQUESTS, n);
		n = EVENT_SELECT_MAX_REQUESTS;
	}
	for (size_t i = 0; !r && i < n; i++) {
		if (searches_all_groups(requests[i]) && ++searches > EVENT_SELECT_MAX_SEARCHES)
			continue;
		r = select_events_of_request(root, requests[i], s, errors);
		r = r ? r : coroutine_yield();
		/* Many patterns may match the same events. */
		if (s->n > MANY_EVENTS)
			sort_and_deduplicate(s);
	}
	if (searches > EVENT_SELECT_MAX_SEARCHES)
		setup_error_add(errors,
				"option:ftrace_events (only the first %u of %zu entries without a "
				"group are used)",
				EVENT_SELECT_MAX_SEARCHES, searches);
	sort_and_deduplicate(s);
	return r;
}

bool event_is_ftrace_named(const struct event_name *e, const char *one, const char *other)
{
	return !strcmp(e->group, "ftrace") && (!strcmp(e->name, one) || !strcmp(e->name, other));
}

bool event_is_marker(const struct event_name *e)
{
	return event_is_ftrace_named(e, "print", "raw_data");
}

bool event_is_printk(const struct event_name *e)
{
	return event_is_ftrace_named(e, "bprint", "bputs");
}
