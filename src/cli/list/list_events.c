/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events and groups of tracefs. The format file of an event has its fields and how the kernel
 * prints it:
 *
 *	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
 *	print fmt: "prev_pid=%d", REC->prev_pid
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "cli/list/list.h"

#define FORMAT_MAX_BYTES (1u << 20)

/* Returns true if the event matches. A pattern with a group has the form "group:name" or
 * "group/name". A pattern without a group matches names of events; in sonda list the name of a
 * group stands for all its events. */
static bool list_events_matches(const struct list *l, const char *pattern, const char *event)
{
	char copy[TRACEFS_EVENTS_MAX_NAME], group[TRACEFS_EVENTS_MAX_NAME];
	const char *slash = strchr(event, '/');

	if (!pattern)
		return true;
	snprintf(copy, sizeof(copy), "%s", pattern);
	if (strchr(copy, ':') && !strchr(copy, '/'))
		*strchr(copy, ':') = '/';
	if (strchr(copy, '/'))
		return list_matches(l, copy, event);
	snprintf(group, sizeof(group), "%.*s", (int)(slash - event), event);
	return list_matches(l, copy, slash + 1) || (!l->exact && !strcmp(copy, group));
}

/* ---- the format of an event ---- */

/* Puts one field: "char prev_comm[16];..." is prev_comm[16] of type char. */
static void list_events_put_field(struct list_out *out, char *declaration)
{
	char *end = strchr(declaration, ';'), *name;

	if (!end)
		return;
	*end = '\0';
	name = strrchr(declaration, ' ');
	if (!name || str_starts(name + 1, "common_"))
		return;
	*name = '\0';
	list_out_field(out, name + 1, declaration, NULL);
}

static void put_format(struct list_out *out, char *text)
{
	char *line, *next, *print = NULL;

	list_out_fields(out, "fields");
	for (line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (str_starts(line, "\tfield:"))
			list_events_put_field(out, line + strlen("\tfield:"));
		else if (str_starts(line, "print fmt: "))
			print = line + strlen("print fmt: ");
	}
	list_out_fields_end(out);
	list_out_value(out, "print", print);
}

static void put_details(struct list *l, const char *event)
{
	struct strbuf text = {0};
	char path[512];
	int n = snprintf(path, sizeof(path), "%s/events/%s/format", l->events.root, event);

	if (n > 0 && (size_t)n < sizeof(path) && !fs_read_file(path, FORMAT_MAX_BYTES, &text) &&
	    text.s)
		put_format(&l->out, text.s);
	strbuf_deinit(&text);
}

/* ---- lists ---- */

static void put_event(struct list *l, const char *event)
{
	char name[TRACEFS_EVENTS_MAX_NAME], example[TRACEFS_EVENTS_MAX_NAME + 32];
	char *slash;

	snprintf(name, sizeof(name), "%s", event);
	slash = strchr(name, '/');
	if (slash)
		*slash = ':';
	list_out_item(&l->out, "event", name, NULL);
	if (l->detail == LIST_ALL)
		put_details(l, event);
	snprintf(example, sizeof(example), "sonda record %s", name);
	if (l->exact)
		list_out_value(&l->out, "example", example);
}

int list_events(struct list *l, const char *pattern, struct err_text *e)
{
	int r = list_need_events(l, e);

	for (size_t i = 0; i < l->events.n && !r; i++)
		if (list_events_matches(l, pattern, l->events.names[i]))
			put_event(l, l->events.names[i]);
	return r;
}

static size_t list_events_group_len(const char *event)
{
	return (size_t)(strchr(event, '/') - event);
}

static void put_group(struct list *l, const char *name, size_t first, size_t n)
{
	_cleanup_(freep) const char **names = calloc(n, sizeof(*names));
	char title[64], example[TRACEFS_EVENTS_MAX_NAME + 32];

	snprintf(title, sizeof(title), "%zu event%s", n, n == 1 ? "" : "s");
	list_out_item(&l->out, "group", name, title);
	if (!names || l->detail != LIST_ALL)
		return;
	for (size_t i = 0; i < n; i++)
		names[i] = strchr(l->events.names[first + i], '/') + 1;
	list_out_values(&l->out, "events", names, n);
	snprintf(example, sizeof(example), "sonda record '%s:*'", name);
	list_out_value(&l->out, "example", example);
}

/* The events of a group stand together. */
int list_groups(struct list *l, const char *pattern, struct err_text *e)
{
	char group[TRACEFS_EVENTS_MAX_NAME];
	int r = list_need_events(l, e);
	size_t n;

	for (size_t i = 0; i < l->events.n && !r; i += n) {
		const char *first = l->events.names[i];
		size_t len = list_events_group_len(first);

		for (n = 1; i + n < l->events.n; n++)
			if (strncmp(l->events.names[i + n], first, len + 1) != 0)
				break;
		snprintf(group, sizeof(group), "%.*s", (int)len, first);
		if (list_matches(l, pattern, group))
			put_group(l, group, i, n);
	}
	return r;
}
