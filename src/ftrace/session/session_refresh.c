/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	               in the kernel               in the session
 *
 *	 t0   probe g/a, id 2300                   entry 2300 -> g/a
 *	 t1   g/a removed, its records dropped
 *	 t2   g/b made, id 2300, off               (entry 2300 -> g/a; no record has the id)
 *	 t3                                        g/a's directory is gone: remove entry 2300
 *	                                           g/b is requested: entry 2300 -> g/b, enable it
 *
 * So ids are never confused: removing an event drops its unread records, and a new event is
 * disabled in our instance until it is compiled.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "ftrace/options/event_enable.h"
#include "ftrace/options/event_filters.h"
#include "ftrace/options/instance_options.h"
#include "ftrace/options/subject_filter.h"
#include "ftrace/options/synthetic_events.h"
#include "ftrace/ring/ring_stats.h"
#include "ftrace/session/session_refresh.h"

/* ---- removed events ---- */

static bool event_is_enabled(const struct ftrace_session *s, const struct event_name *e)
{
	_cleanup_(freep) char *text = NULL;
	char file[600];

	snprintf(file, sizeof(file), "events/%s/%s/enable", e->group, e->name);
	text = instance_read(&s->instance, file);
	return text && *text == '1';
}

static bool event_is_unchanged(const struct ftrace_session *s, const struct event_name *e,
			       uint64_t dir)
{
	_cleanup_(freep) char *format = NULL;
	char file[600];

	if (dir == e->dir)
		return true;
	if (!dir || e->id == EVENT_NO_ID)
		return false;
	snprintf(file, sizeof(file), "events/%s/%s/format", e->group, e->name);
	format = instance_read(&s->instance, file);
	return format && event_table_find(&s->table, e->group, e->name, e->repr, format) &&
	       event_is_enabled(s, e);
}

/* Moves the events that were removed or re-created to `gone`. */
static void drop_removed_events(struct ftrace_session *s, struct event_selection *gone)
{
	for (size_t i = s->events.n; i-- > 0;) {
		struct event_name *e = &s->events.events[i];
		uint64_t dir = event_dir_id(&s->instance, e->group, e->name);

		if (event_is_unchanged(s, e, dir)) {
			e->dir = dir;
			continue;
		}
		if (e->id != EVENT_NO_ID) {
			event_table_remove(&s->table, (uint16_t)e->id);
			event_selection_add_as(gone, e->group, e->name, e->repr);
		}
		event_selection_remove(&s->events, e);
	}
}

/* ---- new events ---- */

/* Returns true for an event that is selected or replaced, or that cannot appear while recording. */
static bool session_refresh_is_known(const struct ftrace_session *s, const struct setup *setup,
				     const struct event_name *e)
{
	return !strcmp(e->group, "ftrace") || synthetic_event_replaces(&s->made, setup, e) ||
	       event_selection_has(&s->events, e->group, e->name);
}

static int select_new_events(const struct ftrace_session *s, const struct setup *setup,
			     struct event_selection *new)
{
	int r = dynevents_select(&s->made, new);

	if (!r)
		r = event_enable_select(new, setup);
	if (!r)
		r = atrace_categories_apply(new, setup);
	/* Iterates backwards, because events may be dropped. */
	for (size_t n = r ? 0 : new->n; n > 0; n--)
		if (session_refresh_is_known(s, setup, &new->events[n - 1]))
			event_selection_remove(new, &new->events[n - 1]);
	return r;
}

/* Reads the table of strings again, because new modules have strings, too. Cuts them to the length
 * for which events were compiled. Keeps the old table if that fails. */
static void read_strings_of_modules(struct ftrace_session *s)
{
	struct printk_formats *old = &s->table.strings, map = {0};
	struct strbuf text = {0};
	char path[4096];

	if (fs_join(path, sizeof(path), s->setup.root, "printk_formats") ||
	    fs_read_file(path, 1 << 24, &text) || !text.s || printk_formats_parse(&map, text.s)) {
		strbuf_deinit(&text);
		return;
	}
	strbuf_deinit(&text);
	map.max_len = old->max_len;
	for (size_t i = 0; i < map.n; i++)
		map.entries[i].len = (uint32_t)MIN(map.entries[i].len, map.max_len);
	printk_formats_deinit(old);
	*old = map;
}

static int add_triggers(struct ftrace_session *s, const struct event_selection *new,
			const struct setup *setup)
{
	struct event_triggers more = {0};
	int r = event_triggers_prepare(new, setup, &more);

	if (!r)
		r = event_triggers_add(&s->triggers, &more, &s->instance, setup->errors);
	event_triggers_deinit(&more);
	return r;
}

/* Repeats the steps of the setup, for new events only. */
static int session_refresh_set_up(struct ftrace_session *s, struct setup *setup,
				  struct event_selection *new)
{
	struct event_table_options options = s->settings.events;
	int r;

	setup->events = new;
	options.compact = COMPACT_NONE; /* was decided during setup; modules do not change it */
	r = event_filters_apply(new, setup);
	if (!r)
		r = subject_filter_programs(new, setup);
	if (!r)
		r = event_enable_compile(new, setup, &options, &s->table);
	if (!r)
		r = page_encoder_reserve(s->encoder);
	for (size_t i = 0; r && i < new->n; i++)
		if (new->events[i].id != EVENT_NO_ID)
			event_table_remove(&s->table, (uint16_t) new->events[i].id);
	if (r)
		return r;
	r = event_enable_all(new, setup, &s->table);
	return r ? r : add_triggers(s, new, setup);
}

/* ---- reports ---- */

/* Returns true if a ring was cleared since the last read: the kernel then restarts its count of
 * read records. */
static bool rings_were_emptied(const struct ftrace_session *s)
{
	bool emptied = false;

	for (unsigned i = 0; !emptied && i < s->ring.n_streams; i++) {
		const struct cpu_stream *cpu = &s->ring.streams[i];
		_cleanup_(freep) char *text = NULL;
		struct ring_stats now = {0};
		char file[64];

		snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", cpu->cpu);
		text = instance_read(&s->instance, file);
		emptied = text && !ring_stats_parse(text, &now) &&
			  now.read_events < cpu->events + cpu->left_out;
	}
	return emptied;
}

/* Returns true if the event exists again, with other fields. */
static bool is_recreated(const struct ftrace_session *s, const struct event_name *e)
{
	const struct event_name *now = event_selection_find(&s->events, e->group, e->name);

	return now && now->id != EVENT_NO_ID;
}

/* Returns how many of the next removed events belong to the same group and have the same fate, as
 * those of a module do. */
static size_t count_removed_together(const struct ftrace_session *s, const struct event_name *e,
				     size_t n)
{
	size_t i = 1;

	while (i < n && !strcmp(e[i].group, e->group) &&
	       is_recreated(s, &e[i]) == is_recreated(s, e))
		i++;
	return i;
}

static void report_removed_events(struct ftrace_session *s, const struct event_selection *gone)
{
	bool emptied = gone->n && rings_were_emptied(s);
	const char *lost = emptied ? "; unread records were lost" : "";
	size_t n;

	for (size_t i = 0; i < gone->n; i += n) {
		const struct event_name *e = &gone->events[i];
		const char *fate = is_recreated(s, e) ? "re-created" : "removed";

		n = count_removed_together(s, e, gone->n - i);
		if (n > 1)
			setup_error_add_once(&s->errors, "%s/* (%zu events %s while recording%s)",
					     event_name_group(e), n, fate, lost);
		else
			setup_error_add_once(&s->errors, "%s/%s (%s while recording%s)",
					     event_name_group(e), event_name_name(e), fate, lost);
	}
	for (unsigned i = 0; emptied && i < s->ring.n_streams; i++)
		s->ring.streams[i].gap = true;
}

void session_refresh(struct ftrace_session *s)
{
	struct event_selection gone = {0}, new = {0};
	struct setup_errors again = {0};
	struct setup setup = s->setup;
	int r;

	if (!s->encoder || s->encoder->bundle.enc || !event_watch_changed(&s->watch))
		return;
	setup.errors = &again;
	setup.later = true;
	drop_removed_events(s, &gone);
	r = select_new_events(s, &setup, &new);
	if (!r && new.n) {
		read_strings_of_modules(s);
		r = session_refresh_set_up(s, &setup, &new);
	}
	if (!r)
		r = event_selection_move_all(&s->events, &new);
	if (r) {
		setup_error_add_once(&again,
				     "events that appeared while recording (%s; sonda retries)",
				     strerror(-r));
		event_watch_force_change(&s->watch);
	}
	event_table_drop_removed(&s->table);
	report_removed_events(s, &gone);
	/* Options were reported during setup. */
	for (char **line = again.failed; line && *line; line++)
		if (!str_starts(*line, "option:"))
			setup_error_add_once(&s->errors, "%s", *line);
	setup_error_add_unlisted(&s->errors, again.failed_more);
	event_selection_deinit(&gone);
	event_selection_deinit(&new);
	setup_errors_deinit(&again);
}
