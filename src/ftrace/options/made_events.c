// SPDX-License-Identifier: Apache-2.0
/*
 *	kprobe_events       p:sonda_812_51423_0/my_read vfs_read count=%dx
 *	                      |                 |
 *	                      ours              the user's
 *
 * A line is appended (opening such a file to write it anew removes everybody's). Every kernel takes
 * "-:GROUP/NAME" in the first two files; synthetic events go the same way through dynamic_events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/fs.h"
#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "ftrace/options/made_events.h"
#include "ftrace/tracefs/owner_tag.h"

#define MAX_FILE (16 << 20)

static const struct {
	const char *makes;
	const char *removes;
} files[] = {
	[MADE_KPROBE] = {"kprobe_events", "kprobe_events"},
	[MADE_UPROBE] = {"uprobe_events", "uprobe_events"},
	[MADE_SYNTHETIC] = {"synthetic_events", "dynamic_events"},
};

const char *made_in_file(enum made_in in)
{
	return files[in].makes;
}

bool made_in_is_there(const char *root, enum made_in in)
{
	char path[4096];

	return !fs_join(path, sizeof(path), root, files[in].makes) && fs_exists(path);
}

static int append(const char *root, const char *file, const char *line)
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

static int remove_event(const char *root, enum made_in in, const char *group, const char *name)
{
	char line[256];

	snprintf(line, sizeof(line), "-:%s/%s", group, name);
	return append(root, files[in].removes, line);
}

/* ---- one session's ---- */

static void free_event(struct made_event *e)
{
	free(e->group);
	free(e->name);
	free((char *)e->repr.group);
	free((char *)e->repr.name);
	free(e);
}

static bool is_there(const struct made_events *m, const struct made_event *event)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->events[i]->group, event->group) &&
		    !strcmp(m->events[i]->name, event->name))
			return true;
	return false;
}

static int remember(struct made_events *m, const char *root, const struct made_event *event)
{
	struct made_event *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = (struct made_event){
		.in = event->in,
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

int made_events_make(struct made_events *m, const char *root, const struct made_event *event,
		     const char *command)
{
	bool is_new = !is_there(m, event);
	int r = is_new ? remember(m, root, event) : 0;

	if (r)
		return r;
	r = append(root, files[event->in].makes, command);
	if (r && is_new)
		free_event(m->events[--m->n]);
	return r;
}

void made_events_undo(struct made_events *m)
{
	struct made_event *e = m->events[--m->n];

	remove_event(m->root, e->in, e->group, e->name);
	free_event(e);
}

int made_events_select(const struct made_events *m, struct event_selection *events)
{
	int r = 0;

	for (size_t i = 0; !r && i < m->n; i++)
		r = event_selection_add_as(events, m->events[i]->group, m->events[i]->name,
					   &m->events[i]->repr);
	return r;
}

size_t made_events_remove(struct made_events *m)
{
	size_t stay = 0;

	/* The last first: the fields of a synthetic event may need another one. */
	while (m->n) {
		struct made_event *e = m->events[--m->n];

		stay += remove_event(m->root, e->in, e->group, e->name) != 0;
		free_event(e);
	}
	free(m->events);
	free(m->root);
	*m = (struct made_events){0};
	return stay;
}

/* ---- those of the dead ---- */

/* "p:GROUP/NAME ...", "r8:GROUP/NAME ..."; true when one was removed. */
static bool sweep_probe(const char *root, enum made_in in, char *line)
{
	char *group, *name;

	line[strcspn(line, " ")] = '\0';
	group = strchr(line, ':');
	name = group ? strchr(group, '/') : NULL;
	if (!name)
		return false;
	*name = '\0';
	return owner_tag_is_stale(group + 1) && !remove_event(root, in, group + 1, name + 1);
}

/* "NAME\tFIELD; FIELD". */
static bool sweep_synthetic(const char *root, enum made_in in, char *line)
{
	line[strcspn(line, " \t;")] = '\0';
	return owner_tag_is_stale(line) && !remove_event(root, in, "synthetic", line);
}

static size_t sweep(const char *root, enum made_in in)
{
	struct strbuf text = {0};
	char path[4096], *line, *next;
	size_t n = 0;

	if (!fs_join(path, sizeof(path), root, files[in].makes) &&
	    !fs_read_file(path, MAX_FILE, &text) && text.s)
		for (line = text.s; *line; line = next) {
			next = strchrnul(line, '\n');
			if (*next)
				*next++ = '\0';
			n += in == MADE_SYNTHETIC ? sweep_synthetic(root, in, line)
						  : sweep_probe(root, in, line);
		}
	strbuf_deinit(&text);
	return n;
}

size_t made_events_remove_stale(const char *root)
{
	return sweep(root, MADE_SYNTHETIC) + sweep(root, MADE_KPROBE) + sweep(root, MADE_UPROBE);
}
