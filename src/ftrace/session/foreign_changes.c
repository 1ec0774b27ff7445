/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/session/foreign_changes.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracefs.h>

#include "base/core/mem.h"
#include "base/system/fs.h"

#define FOUND_MAX 20 /* further changes are not listed */
#define SENTENCE_MAX 300

/* ---- changes that were found ---- */

static void add_finding(struct foreign_changes *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void add_finding(struct foreign_changes *f, const char *fmt, ...)
{
	char sentence[SENTENCE_MAX];
	char **longer;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	if (tracefs_list_size(f->found) >= FOUND_MAX)
		return;
	for (char **at = f->found; at && *at; at++)
		if (!strcmp(*at, sentence))
			return;
	longer = tracefs_list_add(f->found, sentence);
	if (longer)
		f->found = longer;
}

/* ---- at the start ---- */

static void store_setting(struct foreign_changes *f, const struct instance *i, const char *file)
{
	_cleanup_(freep) char *value = instance_read(i, file);
	char **longer = value ? tracefs_list_add(f->settings, file) : NULL;

	if (!longer)
		return;
	f->settings = longer;
	longer = tracefs_list_add(f->settings, value);
	if (longer)
		f->settings = longer;
}

void foreign_changes_begin(struct foreign_changes *f, const struct instance *i,
			   const struct event_selection *events, bool pauses)
{
	static const char *const files[] = {"trace_clock", "tracing_cpumask", "current_tracer"};
	int fd = -1;

	if (!instance_is_own(i))
		return;
	if (!pauses)
		fd = instance_open(i, "tracing_on", O_RDONLY);
	f->tracing_on = fd >= 0 ? fd + 1 : 0;
	for (size_t n = 0; n < ARRAY_SIZE(files); n++)
		store_setting(f, i, files[n]);
	for (size_t n = 0; n < events->n; n++) {
		const struct event_name *e = &events->events[n];
		char file[600];

		snprintf(file, sizeof(file), "events/%s/%s/filter", e->group, e->name);
		if (e->filter)
			store_setting(f, i, file);
	}
	f->events = instance_read(i, "set_event");
}

/* ---- while it records, and at the end ---- */

static bool is_off(const struct foreign_changes *f)
{
	char value;

	return f->tracing_on && pread(f->tracing_on - 1, &value, 1, 0) == 1 && value == '0';
}

/* The kernel restarts its count of read records when it clears a ring. */
static bool is_cleared(const struct ring_listener *l, const struct ring_stats *now)
{
	for (unsigned i = 0; i < l->n_streams; i++)
		if (l->streams[i].cpu == now->cpu)
			return now->read_events < l->streams[i].events + l->streams[i].left_out;
	return false;
}

void foreign_changes_check_recording(struct foreign_changes *f)
{
	if (f->events && is_off(f))
		add_finding(f, "tracing_on was set to 0");
}

void foreign_changes_check(struct foreign_changes *f, const struct ring_listener *l,
			   const struct ring_stats_all *now)
{
	/* A session that did not begin, or that uses the instance of another tracer. */
	if (!f->events)
		return;
	foreign_changes_check_recording(f);
	for (size_t i = 0; i < now->n; i++)
		if (is_cleared(l, &now->rings[i]))
			add_finding(f, "the rings were cleared");
}

/* Events that were removed from the kernel are reported elsewhere. */
static void check_event(struct foreign_changes *f, const struct instance *i, const char *name,
			size_t len, const char *now)
{
	char line[300], file[320];
	_cleanup_(freep) char *path = NULL;
	char *colon;

	snprintf(line, sizeof(line), "%.*s\n", (int)len, name);
	if (strstr(now, line))
		return;
	line[len < sizeof(line) ? len : sizeof(line) - 1] = '\0';
	colon = strchr(line, ':');
	if (!colon)
		return;
	*colon = '/';
	snprintf(file, sizeof(file), "events/%s", line);
	path = instance_path_of(i, file);
	if (path && fs_exists(path))
		add_finding(f, "%s was disabled", line);
}

static void check_events(struct foreign_changes *f, const struct instance *i)
{
	_cleanup_(freep) char *now = instance_read(i, "set_event");

	for (const char *at = f->events; now && *at;) {
		size_t len = strcspn(at, "\n");

		check_event(f, i, at, len, now);
		at += len + (at[len] == '\n');
	}
}

void foreign_changes_check_settings(struct foreign_changes *f, const struct instance *i)
{
	if (!f->events)
		return;
	for (char **at = f->settings; at && at[0] && at[1]; at += 2) {
		_cleanup_(freep) char *now = instance_read(i, at[0]);

		if (now && strcmp(now, at[1]) != 0)
			add_finding(f, "%s was changed", at[0]);
	}
	check_events(f, i);
}

void foreign_changes_end(struct foreign_changes *f)
{
	if (f->tracing_on)
		close(f->tracing_on - 1);
	f->tracing_on = 0;
}

void foreign_changes_deinit(struct foreign_changes *f)
{
	foreign_changes_end(f);
	tracefs_list_free(f->settings);
	tracefs_list_free(f->found);
	free(f->events);
	*f = (struct foreign_changes){0};
}
