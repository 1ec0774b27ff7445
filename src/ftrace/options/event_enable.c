/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/options/event_enable.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tracefs.h>

#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/fs.h"
#include "base/system/outside_reads.h"
#include "base/text/str.h"
#include "ftrace/options/event_triggers.h"
#include "ftrace/options/function_graph.h"
#include "ftrace/options/pid_filter.h"
#include "ftrace/options/synthetic_events.h"
#include "ftrace/tracefs/owner_tag.h"

/*
 * The state that a check of event_watch compares:
 *
 *	/sys/module         name and inode of each entry; a reloaded module has a new inode even if
 *	                    its name and address are the same
 *	dynamic_events      p:mine/read vfs_read a=%di          the text, and the inode of the
 *	                    s:synthetic/lat u64 lat             directory of each event
 *
 * The inodes are needed even for events that are not selected. An event that is removed between the
 * check and the selection is dropped; if it is made again as it was, the text is equal.
 */

#define MAX_DYNAMIC (16 << 20)

/* Returns a hash of the modules' names and inodes. It does not depend on their order, because
 * readdir() has none. */
static uint64_t hash_modules(const char *sys_root)
{
	uint64_t sum = 0;
	char path[4096];
	struct dirent *e;
	DIR *d;

	if (fs_join(path, sizeof(path), sys_root, "module") || !(d = opendir(path)))
		return 0;
	while ((e = readdir(d)))
		sum += fnv1a(e->d_ino * 0x9e3779b97f4a7c15, e->d_name, strlen(e->d_name));
	closedir(d);
	return sum;
}

/* Parses the group and name of a line. Returns false if it has none. */
static bool parse_names(char *line, char **ret_group, char **ret_name)
{
	char *colon;

	line[strcspn(line, " \t")] = '\0';
	colon = strchr(line, ':');
	if (!colon || !strchr(colon, '/'))
		return false;
	*ret_group = colon + 1;
	*ret_name = strchr(colon, '/');
	*(*ret_name)++ = '\0';
	return true;
}

/* Reads the file dynamic_events into text. Reading blocks while any tracer changes events, so a
 * child process reads the file while rings are read. begins: this is the first read of a session,
 * which needs the text and waits for it. Returns 0, -EAGAIN (not ready) or -errno. */
static int read_dynamic(const char *root, bool begins, struct strbuf *text)
{
	char path[4096], *to;
	ssize_t n = OUTSIDE_READ_MAX;
	int r = fs_join(path, sizeof(path), root, "dynamic_events");

	if (r)
		return r;
	to = !begins && outside_reads_are_timely() ? strbuf_reserve(text, OUTSIDE_READ_MAX) : NULL;
	if (to)
		n = outside_read(path, to, OUTSIDE_READ_MAX, OUTSIDE_READ_SHORT_MS);
	if (n < 0)
		return (int)n;
	if (n < (ssize_t)OUTSIDE_READ_MAX) {
		to[n] = '\0';
		text->len = (size_t)n;
		return 0;
	}
	strbuf_clear(text);
	return fs_read_file(path, MAX_DYNAMIC, text);
}

static uint64_t read_inode(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

/* Hashes a line of dynamic_events. Returns h for the event of a session. */
static uint64_t hash_dynamic_event(uint64_t h, char *line, const char *root)
{
	uint64_t whole = fnv1a(h, line, strlen(line)), dir = 0;
	char *group, *name, path[4096];
	int n;

	if (!parse_names(line, &group, &name))
		return whole;
	if (owner_tag_is_in_name(group) || owner_tag_is_in_name(name))
		return h;
	n = snprintf(path, sizeof(path), "%s/events/%s/%s", root, group, name);
	if (n > 0 && (size_t)n < sizeof(path))
		dir = read_inode(path);
	return fnv1a(whole, &dir, sizeof(dir));
}

/* Hashes dynamic_events. Returns 0, also if the file cannot be read, or -EAGAIN. */
static int hash_dynamic_events(const char *root, bool begins, uint64_t *ret)
{
	struct strbuf text = {0};
	char *line, *next;
	uint64_t h = 0;
	int r = read_dynamic(root, begins, &text);

	if (!r && text.s)
		for (line = text.s; *line; line = next) {
			next = strchrnul(line, '\n');
			if (*next)
				*next++ = '\0';
			h = hash_dynamic_event(h, line, root);
		}
	strbuf_deinit(&text);
	if (r != -EAGAIN)
		*ret = h;
	return r == -EAGAIN ? r : 0;
}

void event_watch_begin(struct event_watch *w, const char *root, const char *sys_root)
{
	*w = (struct event_watch){.root = root, .sys_root = sys_root};
	if (!hash_dynamic_events(root, true, &w->seen))
		w->seen ^= hash_modules(sys_root);
}

bool event_watch_changed(struct event_watch *w)
{
	bool changed;
	uint64_t now;

	if (hash_dynamic_events(w->root, false, &now))
		return false;
	now ^= hash_modules(w->sys_root);
	changed = now != w->seen || w->again;
	w->seen = now;
	w->again = false;
	return changed;
}

void event_watch_force_change(struct event_watch *w)
{
	w->again = true;
}

uint64_t event_dir_id(const struct instance *instance, const char *group, const char *name)
{
	_cleanup_(freep) char *path = NULL;
	char file[600];
	int n = snprintf(file, sizeof(file), "events/%s/%s", group, name);

	if (n > 0 && (size_t)n < sizeof(file))
		path = instance_make_path(instance, file);
	return path ? read_inode(path) : 0;
}

/* Events of group ftrace are records of tracers and markers. They have no `enable` file. */

int event_enable_select(struct event_selection *events, const struct setup *s)
{
	const Pb__FtraceConfig *c = s->config;
	_cleanup_(freep) char **requests = calloc(c->n_ftrace_events + 1, sizeof(*requests));
	size_t n = 0;

	if (!requests)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_ftrace_events; i++)
		if (!synthetic_event_can_make(c->ftrace_events[i]))
			requests[n++] = c->ftrace_events[i];
	return event_select(s->root, requests, n, events, s->errors);
}

static char *read_format(const struct setup *s, const char *group, const char *name)
{
	return tracefs_event_file_read(s->instance->tracefs, group, name, "format", NULL);
}

/* Returns true if the owner of an attached instance filters sched_switch or the threads. */
static bool owner_filters_switches(const struct instance *i)
{
	static const char *const lists[] = {"set_event_pid", "set_event_notrace_pid"};
	_cleanup_(freep) char *filter = instance_read(i, "events/sched/sched_switch/filter");

	for (unsigned k = 0; k < ARRAY_SIZE(lists); k++) {
		_cleanup_(freep) char *pids = instance_read(i, lists[k]);

		if (pids && *pids)
			return true;
	}
	return filter && !str_starts(filter, "none");
}

/* Returns true if some switches are not recorded, other than those between two threads that do not
 * belong to the subject. CompactSched contains only the next task of a switch; readers take the
 * previous task from the switch before. If that is missing, a thread seems to run until the next
 * recorded switch, for example through a pause of the recording, or after it has executed a program
 * that does not belong to the subject. */
static bool switches_are_filtered(const struct event_selection *events, const struct setup *s)
{
	return event_triggers_can_resume(s->config) ||
	       event_selection_find(events, "sched", "sched_switch")->filter ||
	       (!instance_is_own(s->instance) && owner_filters_switches(s->instance));
}

/* Turns CompactSched off if switches are not recorded or are filtered, or if a format is
 * unexpected, which it reports. Otherwise chooses COMPACT_OF_SUBJECT if the config restricts the
 * threads. */
static void choose_compact(const struct event_selection *events, const struct setup *s,
			   struct event_table_options *options)
{
	static const char *const names[] = {"sched_switch", "sched_waking"};

	if (!options->compact)
		return;
	if (!event_selection_has(events, "sched", "sched_switch") ||
	    switches_are_filtered(events, s)) {
		options->compact = COMPACT_NONE;
		return;
	}
	if (pid_filter_is_requested(s->config))
		options->compact = COMPACT_OF_SUBJECT;
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(freep) char *format = read_format(s, "sched", names[i]);

		if (!event_selection_has(events, "sched", names[i]) ||
		    (format && event_table_can_compact("sched", names[i], format, options)))
			continue;
		options->compact = COMPACT_NONE;
		setup_error_add(s->errors, "perfetto/compact_sched (unexpected format of %s)",
				names[i]);
		return;
	}
}

static const char *event_enable_reason_of(int error)
{
	switch (error) {
	case EVENT_TABLE_GENERIC_REFUSED:
		return "the config disables generic events";
	case EVENT_TABLE_BAD_FORMAT:
		return "unexpected format";
	case EVENT_TABLE_FULL:
		return "no event number is left for events without a message";
	case -EOPNOTSUPP:
		return "the kernel has no options/copy_trace_marker";
	case -ENOSYS:
		return "written only by a tracer that is not active";
	}
	return strerror(-error);
}

static void event_enable_report(const struct setup *s, const struct event_name *e, int error)
{
	/* The kernel checks the program when its probe is enabled. */
	bool bad_offset = error == -EINVAL && e->repr;

	setup_error_add(s->errors, "%s/%s (%s)", event_name_group(e), event_name_name(e),
			bad_offset ? "no instruction begins at this offset"
				   : event_enable_reason_of(error));
}

int event_enable_compile(struct event_selection *events, const struct setup *s,
			 struct event_table_options *options, struct event_table *table)
{
	choose_compact(events, s, options);
	for (size_t i = 0; i < events->n; i++) {
		struct event_name *e = &events->events[i];
		_cleanup_(freep) char *format = NULL;
		uint16_t id = 0;
		int r = -ENOENT;

		/* Read before the format: if the event is re-created in between, the next check of
		 * event_watch finds another directory, and the format is read again. */
		e->dir = event_dir_id(s->instance, e->group, e->name);
		format = read_format(s, e->group, e->name);
		if (format)
			r = event_table_add_as(table, e->group, e->name, e->repr, format, options,
					       &id);
		if (r == -ENOMEM)
			return r;
		e->id = r ? EVENT_NO_ID : id;
		if (r)
			event_enable_report(s, e, r);
		else if (event_table_get(table, id)->n_left_out)
			setup_error_add(s->errors, "%s/%s (%u of its fields are not recorded)",
					event_name_group(e), event_name_name(e),
					event_table_get(table, id)->n_left_out);
		r = coroutine_yield();
		if (r)
			return r;
	}
	return 0;
}

static int enable_compiled(const struct setup *s, const struct event_name *e)
{
	if (strcmp(e->group, "ftrace"))
		return instance_enable_event(s->instance, e->group, e->name);
	if (event_is_marker(e))
		return instance_can_copy_markers(s->instance) ? 0 : -EOPNOTSUPP;
	if (event_is_printk(e))
		return instance_has_printk(s->instance) ? 0 : -ENOSYS;
	/* The kernel writes these after other events, by a trigger or an option of the instance. */
	if (event_is_ftrace_named(e, "kernel_stack", "user_stack"))
		return 0;
	/* The owner of an attached instance may have set a tracer. */
	if (!instance_is_own(s->instance))
		return 0;
	return s->functions && event_is_funcgraph(e) ? 0 : -ENOSYS;
}

int event_enable_all(struct event_selection *events, const struct setup *s,
		     struct event_table *table)
{
	int r = 0;

	for (size_t i = 0; !r && i < events->n; i++) {
		struct event_name *e = &events->events[i];
		int refused = e->id == EVENT_NO_ID ? 0 : enable_compiled(s, e);

		if (refused) {
			event_table_remove(table, (uint16_t)e->id);
			e->id = EVENT_NO_ID;
			event_enable_report(s, e, refused);
		}
		r = coroutine_yield();
	}
	return r;
}

void event_disable_all(const struct event_selection *events, const struct instance *i)
{
	char file[600];

	for (size_t n = 0; n < events->n; n++) {
		const struct event_name *e = &events->events[n];

		if (e->id == EVENT_NO_ID || !strcmp(e->group, "ftrace"))
			continue;
		snprintf(file, sizeof(file), "events/%s/%s/enable", e->group, e->name);
		instance_write(i, file, "0");
		coroutine_yield();
	}
}
