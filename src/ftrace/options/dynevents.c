/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	kprobe_events       p:sonda_812_51423_0/my_read vfs_read count=%dx
 *	                      |                 |
 *	                      ours              the user's
 *
 * Lines are appended: opening such a file with O_TRUNC removes the events of all tracers. The line
 * "-:GROUP/NAME" removes an event. Every kernel accepts it in kprobe_events and uprobe_events; for
 * synthetic events it is written to dynamic_events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/fs.h"
#include "ftrace/options/dynevents.h"
#include "ftrace/tracefs/owner_tag.h"

#define MAX_FILE (16 << 20)

static const struct {
	const char *makes;
	const char *removes;
} files[] = {
	[DYNEVENT_KPROBE] = {"kprobe_events", "kprobe_events"},
	[DYNEVENT_UPROBE] = {"uprobe_events", "uprobe_events"},
	[DYNEVENT_SYNTHETIC] = {"synthetic_events", "dynamic_events"},
};

const char *dynevent_file_name(enum dynevent_type type)
{
	return files[type].makes;
}

bool dynevent_supported(const char *root, enum dynevent_type type)
{
	char path[4096];

	return !fs_join(path, sizeof(path), root, files[type].makes) && fs_exists(path);
}

static int dynevents_append(const char *root, const char *file, const char *line)
{
	char path[4096];
	int r = fs_join(path, sizeof(path), root, file);

	if (r)
		return r;
	coroutine_block_begin();
	r = fs_append_file(path, line);
	coroutine_block_end();
	return r;
}

static int remove_event(const char *root, enum dynevent_type type, const char *group,
			const char *name)
{
	char line[256];

	snprintf(line, sizeof(line), "-:%s/%s", group, name);
	return dynevents_append(root, files[type].removes, line);
}

/* ---- events of one session ---- */

static void free_event(struct dynevent *e)
{
	free(e->group);
	free(e->name);
	free((char *)e->repr.group);
	free((char *)e->repr.name);
	free(e);
}

static bool dynevents_has(const struct dynevents *m, const struct dynevent *event)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->events[i]->group, event->group) &&
		    !strcmp(m->events[i]->name, event->name))
			return true;
	return false;
}

static int dynevents_add(struct dynevents *m, const char *root, const struct dynevent *event)
{
	struct dynevent *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = (struct dynevent){
		.type = event->type,
		.group = strdup(event->group),
		.name = strdup(event->name),
		.repr = {strdup(event->repr.group), strdup(event->repr.name), event->repr.as},
	};
	if (!m->root)
		m->root = strdup(root);
	if (!m->root || !copy->group || !copy->name || !copy->repr.group || !copy->repr.name ||
	    array_reserve(&m->events, &m->cap, m->n + 1, sizeof(*m->events))) {
		free_event(copy);
		return -ENOMEM;
	}
	m->events[m->n++] = copy;
	return 0;
}

int dynevents_create(struct dynevents *m, const char *root, const struct dynevent *event,
		     const char *command)
{
	bool is_new = !dynevents_has(m, event);
	int r = is_new ? dynevents_add(m, root, event) : 0;

	if (r)
		return r;
	r = dynevents_append(root, files[event->type].makes, command);
	if (r && is_new)
		free_event(m->events[--m->n]);
	return r;
}

void dynevents_destroy_last(struct dynevents *m)
{
	struct dynevent *e = m->events[--m->n];

	remove_event(m->root, e->type, e->group, e->name);
	free_event(e);
}

int dynevents_select(const struct dynevents *m, struct event_selection *events)
{
	int r = 0;

	for (size_t i = 0; !r && i < m->n; i++)
		r = event_selection_add_as(events, m->events[i]->group, m->events[i]->name,
					   &m->events[i]->repr);
	return r;
}

size_t dynevents_destroy(struct dynevents *m)
{
	size_t stay = 0;

	/* In reverse order: a synthetic event may depend on an earlier one. */
	while (m->n) {
		struct dynevent *e = m->events[--m->n];

		stay += remove_event(m->root, e->type, e->group, e->name) != 0;
		free_event(e);
	}
	free(m->events);
	free(m->root);
	*m = (struct dynevents){0};
	return stay;
}

/* ---- events of ended processes ---- */

/* Removes the probe of a line "p:GROUP/NAME ..." or "r8:GROUP/NAME ..." if its process has ended.
 * Returns true if it was removed. */
static bool remove_stale_probe(const char *root, enum dynevent_type type, char *line)
{
	char *group, *name;

	line[strcspn(line, " ")] = '\0';
	group = strchr(line, ':');
	name = group ? strchr(group, '/') : NULL;
	if (!name)
		return false;
	*name = '\0';
	return owner_tag_is_stale(group + 1) && !remove_event(root, type, group + 1, name + 1);
}

/* Removes a synthetic event if its process has ended. Its line is "NAME\tFIELD; FIELD". Returns
 * true if it was removed. */
static bool remove_stale_synthetic(const char *root, enum dynevent_type type, char *line)
{
	line[strcspn(line, " \t;")] = '\0';
	return owner_tag_is_stale(line) && !remove_event(root, type, "synthetic", line);
}

static size_t remove_stale_events(const char *root, enum dynevent_type type)
{
	struct strbuf text = {0};
	char path[4096], *line, *next;
	size_t n = 0;

	if (!fs_join(path, sizeof(path), root, files[type].makes) &&
	    !fs_read_file(path, MAX_FILE, &text) && text.s)
		for (line = text.s; *line; line = next) {
			next = strchrnul(line, '\n');
			if (*next)
				*next++ = '\0';
			n += type == DYNEVENT_SYNTHETIC ? remove_stale_synthetic(root, type, line)
							: remove_stale_probe(root, type, line);
		}
	strbuf_deinit(&text);
	return n;
}

size_t dynevents_destroy_stale(const char *root)
{
	return remove_stale_events(root, DYNEVENT_SYNTHETIC) +
	       remove_stale_events(root, DYNEVENT_KPROBE) +
	       remove_stale_events(root, DYNEVENT_UPROBE);
}
