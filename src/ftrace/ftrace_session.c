// SPDX-License-Identifier: Apache-2.0
/*
 * In this order, because each step needs the one before, and a session that stops half-way must not
 * have begun to record:
 *
 *	instance, off  ->  clock, ring size  ->  which events  ->  for each: format, row, enable
 *	               ->  rings opened      ->  translator
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracefs.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "ftrace/drain.h"
#include "ftrace/event_select.h"
#include "ftrace/ftrace_session.h"

/* A turn cannot see more threads: no two of their ids share four bytes of a page. Address space,
 * most of which is never touched. */
static size_t max_tids(uint32_t page_size)
{
	size_t n = (size_t)DRAIN_TURN_PAGES * page_size / sizeof(int32_t);

	return MIN(n, TID_LIMIT);
}

/* ---- the ring ---- */

static int read_layout(struct ftrace_session *s)
{
	_cleanup_(freep) char *text = instance_read(&s->instance, "events/header_page");

	if (!text || page_layout_parse(text, &s->layout)) {
		report_problem(&s->reports, "cannot read events/header_page of tracefs");
		return -EPROTO;
	}
	return 0;
}

static void set_up_ring(struct ftrace_session *s)
{
	const struct ftrace_settings *settings = &s->settings;
	uint32_t kb = 0;
	int r;

	s->clock = instance_set_clock(&s->instance, settings->mono_raw_clock);
	if (settings->mono_raw_clock && s->clock != FTRACE_CLOCK_MONO_RAW)
		report_failed(&s->reports,
			      "option:use_monotonic_raw_clock (the kernel does not have it)");
	if (s->clock != FTRACE_CLOCK_BOOT) {
		int fd = instance_open(&s->instance, "per_cpu/cpu0/stats", O_RDONLY);

		s->clock_fd = fd < 0 ? -1 : fd;
	}

	r = instance_set_buffer_kb(&s->instance, settings->buffer_size_kb, &kb);
	if (r)
		report_failed(&s->reports, "option:buffer_size_kb (%u: %s)",
			      settings->buffer_size_kb, strerror(-r));
	else if (kb < settings->buffer_size_kb)
		report_failed(&s->reports, "option:buffer_size_kb (%u: no memory; %u it is)",
			      settings->buffer_size_kb, kb);
	s->buffer_kb = kb ? kb : instance_buffer_kb(&s->instance);
}

/* ---- the events ---- */

static char *read_format(const struct ftrace_session *s, const struct event_name *e)
{
	return tracefs_event_file_read(s->instance.tracefs, e->group, e->name, "format", NULL);
}

/* Columns take the place of both events or of none. */
static void check_compact(struct ftrace_session *s, const struct event_selection *selection)
{
	static const char *const names[] = {"sched_switch", "sched_waking"};

	if (!s->settings.events.compact)
		return;
	if (!event_selection_has(selection, "sched", "sched_switch")) {
		s->settings.events.compact = false;
		return;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		const struct event_name e = {"sched", (char *)names[i]};
		_cleanup_(freep) char *format = read_format(s, &e);

		if (!event_selection_has(selection, e.group, e.name) ||
		    (format && event_table_can_compact(e.group, e.name, format)))
			continue;
		s->settings.events.compact = false;
		report_failed(&s->reports, "perfetto/compact_sched (unexpected format of %s)",
			      e.name);
		return;
	}
}

static int enable(struct ftrace_session *s, const struct event_name *e)
{
	if (strcmp(e->group, "ftrace"))
		return instance_enable_event(&s->instance, e->group, e->name);
	if (!strcmp(e->name, "print"))
		return instance_copy_markers(&s->instance);
	return -ENOSYS; /* records of tracers, which have no switch of their own */
}

static const char *reason_of(int error)
{
	switch (error) {
	case EVENT_TABLE_GENERIC_REFUSED:
		return "the config disables generic events";
	case EVENT_TABLE_BAD_FORMAT:
		return "unexpected format";
	case -EOPNOTSUPP:
		return "the kernel has no options/copy_trace_marker";
	case -ENOSYS:
		return "a tracer's records, not supported by this version";
	}
	return strerror(-error);
}

static int add_event(struct ftrace_session *s, const struct event_name *e)
{
	_cleanup_(freep) char *format = read_format(s, e);
	uint16_t id = 0;
	int r = format ? event_table_add(&s->table, e->group, e->name, format, &s->settings.events,
					 &id)
		       : -ENOENT;

	if (!r) {
		r = enable(s, e);
		if (r)
			event_table_remove(&s->table, id);
	}
	if (r)
		report_failed(&s->reports, "%s/%s (%s)", e->group, e->name, reason_of(r));
	return r == -ENOMEM ? r : 0;
}

static void read_strings(struct ftrace_session *s, const char *root)
{
	char path[4096];
	struct strbuf b = {0};

	snprintf(path, sizeof(path), "%s/printk_formats", root);
	if (!fs_read_file(path, 1 << 24, &b) && b.s)
		string_map_parse(&s->table.strings, b.s);
	strbuf_deinit(&b);
}

static int add_events(struct ftrace_session *s, const char *root, const Pb__FtraceConfig *config)
{
	struct event_selection selection = {0};
	int r;

	if (!config || !config->n_ftrace_events)
		return 0;
	read_strings(s, root);
	r = event_select(root, config->ftrace_events, config->n_ftrace_events, &selection,
			 &s->reports);
	if (r)
		return r;
	check_compact(s, &selection);
	for (size_t i = 0; !r && i < selection.n; i++)
		r = add_event(s, &selection.events[i]);
	event_selection_deinit(&selection);
	return r;
}

/* ---- all of it ---- */

static int set_up(struct ftrace_session *s, const struct ds_env *env, uint64_t session_id,
		  const Pb__FtraceConfig *config, struct writer *writer)
{
	struct err_text e;
	int r;

	if (!env->tracefs_root) {
		report_problem(&s->reports,
			       "there is no tracefs that this process may use: mount it at "
			       "/sys/kernel/tracing, and run as root");
		return -ENOENT;
	}
	r = instance_make(&s->instance, env->tracefs_root, session_id, &e);
	if (r) {
		report_problem(&s->reports, "%s", e.text);
		return r;
	}
	r = read_layout(s);
	if (r)
		return r;
	set_up_ring(s);
	r = add_events(s, env->tracefs_root, config);
	if (r)
		return r;
	r = cpu_readers_open(&s->readers, &s->instance, env->sys_root, &s->layout, s->buffer_kb,
			     &e);
	if (r) {
		report_problem(&s->reports, "%s", e.text);
		return r;
	}
	return translator_new(&s->table, &s->layout, writer, &s->translator);
}

/* What is open keeps the kernel from removing the instance, so it goes first. */
static void leave_tracefs(struct ftrace_session *s)
{
	cpu_readers_close(&s->readers);
	if (s->clock_fd >= 0)
		close(s->clock_fd);
	s->clock_fd = -1;
	instance_remove(&s->instance);
}

int ftrace_session_open(struct ftrace_session *s, const struct ds_env *env, uint64_t session_id,
			const Pb__FtraceConfig *config, struct writer *writer)
{
	uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	int r;

	*s = (struct ftrace_session){.clock_fd = -1};
	r = ftrace_settings_read(config, ram, &s->settings, &s->reports);
	if (!r)
		r = set_up(s, env, session_id, config, writer);
	if (!r)
		r = tid_set_init(&s->tids, max_tids(s->layout.size));
	if (!r)
		r = tid_set_init(&s->renamed, max_tids(s->layout.size));
	if (r == -ENOMEM && !s->reports.problem)
		return r;
	if (r) {
		/* It says why, and records nothing. */
		report_problem(&s->reports, "cannot set up tracing: %s", strerror(-r));
		leave_tracefs(s);
	}
	return 0;
}

void ftrace_session_close(struct ftrace_session *s)
{
	s->translator = translator_free(s->translator);
	leave_tracefs(s);
	event_table_deinit(&s->table);
	tid_set_deinit(&s->tids);
	tid_set_deinit(&s->renamed);
	reports_deinit(&s->reports);
}

/* "now ts:  1424.957748" in ns; 0 where the clock counts something else. */
static uint64_t parse_now(const char *stats)
{
	const char *at = strstr(stats, "now ts:");
	unsigned long long s, us;

	if (!at || sscanf(at, "now ts: %llu.%llu", &s, &us) != 2)
		return 0;
	return s * NS_PER_S + us * 1000;
}

void ftrace_session_sync_clock(struct ftrace_session *s)
{
	char text[512];
	ssize_t n;

	if (s->clock == FTRACE_CLOCK_BOOT)
		return;
	s->translator->sync = (struct clock_sync){.clock = s->clock, .boot_ns = clock_boot_ns()};
	n = s->clock_fd < 0 ? -1 : pread(s->clock_fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return;
	text[n] = '\0';
	s->translator->sync.ftrace_ns = parse_now(text);
}
