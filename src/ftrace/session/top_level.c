/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/session/top_level.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/err.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "ftrace/options/event_enable.h"
#include "ftrace/options/event_triggers.h"
#include "ftrace/options/pid_filter.h"
#include "ftrace/ring/ring_config.h"
#include "ftrace/tracefs/foreign_reader.h"
#include "ftrace/tracefs/override.h"
#include "ftrace/tracefs/setting_file.h"

/* Returns the first line of a file, which the caller frees, or "". Returns NULL if out of
 * memory. */
static char *read_first_line(const char *root, const char *file)
{
	_cleanup_(freep) char *text = NULL;
	char path[4096];

	if (!fs_join(path, sizeof(path), root, file))
		text = setting_read(path);
	return text ? strndup(text, strcspn(text, "\n")) : strdup("");
}

struct records {
	const char *root;
	uint64_t n;
};

static int add_cpu_records(void *ctx, const char *name, unsigned char d_type)
{
	struct records *r = ctx;
	char file[300];
	_cleanup_(freep) char *line = NULL;
	unsigned long long n;

	snprintf(file, sizeof(file), "per_cpu/%s/stats", name);
	line = read_first_line(r->root, file);
	if (line && sscanf(line, "entries: %llu", &n) == 1)
		r->n += n;
	return 0;
}

static uint64_t count_records(const char *root)
{
	struct records r = {.root = root};
	char path[4096];

	if (!fs_join(path, sizeof(path), root, "per_cpu"))
		fs_each(path, add_cpu_records, &r);
	return r.n;
}

/*
 * Checks that no other process uses the top-level ring buffer: no tracer set, no event enabled, no
 * reader, no stopped recording. Reading it would steal records from another tracer. (Markers in
 * rings that are on, without anything else, are not a recording.)
 *
 * Returns 0, or -EBUSY or -ENOMEM with e.
 */
static int top_level_check_free(const char *root, const char *proc_root, struct err_text *e)
{
	char count[STR_COUNT_SIZE];
	_cleanup_(freep) char *tracer = read_first_line(root, "current_tracer");
	_cleanup_(freep) char *event = read_first_line(root, "set_event");
	_cleanup_(freep) char *on = read_first_line(root, "tracing_on");
	struct foreign_reader reader;
	uint64_t n;

	if (!tracer || !event || !on)
		return err_set(e, -ENOMEM, "out of memory");
	if (*tracer && strcmp(tracer, "nop"))
		return err_set(e, -EBUSY, "tracefs' top level is in use: current_tracer is %s",
			       tracer);
	if (*event)
		return err_set(e, -EBUSY, "tracefs' top level is in use: the event %s is enabled",
			       event);
	if (foreign_reader_find(root, proc_root, &reader))
		return err_set(e, -EBUSY,
			       "tracefs' top level is in use: %s (pid %d) reads the rings",
			       reader.name, reader.pid);
	n = *on == '0' ? count_records(root) : 0;
	if (n)
		return err_set(e, -EBUSY,
			       "tracefs' top level is in use: the rings contain a stopped "
			       "recording with %s",
			       str_count(n, "record", count));
	return 0;
}

/*
 * The setup of the top level is that of a session in small: instance, clock and size, events,
 * tracer, rings. Only the first session sets clock and size.
 *
 * The kernel cannot reset a tracer while rings are open. So sessions with and without the tracer
 * do not share the top level: as long as one without it has the rings open, the tracer would stay.
 */

#define MARKERS_KB 1408u /* size of a ring for markers alone; the kernel's default */

/* ---- selecting events ---- */

int top_level_move_events(struct top_level *t, struct event_selection *events,
			  const struct setup *s)
{
	const struct instance *i = s->instance;
	bool graph = s->config->enable_function_graph && !instance_has_tracer(i, "function_graph");
	bool markers = !instance_can_copy_markers(i);
	bool printk = !instance_has_printk(i);
	int r = 0;

	if (!instance_is_own(i))
		return 0;
	for (size_t k = events->n; !r && k-- > 0;) {
		struct event_name *e = &events->events[k];

		if (!(graph && event_is_funcgraph(e)) && !(markers && event_is_marker(e)) &&
		    !(printk && event_is_printk(e)))
			continue;
		r = event_selection_add(&t->events, e->group, e->name);
		if (!r)
			event_selection_remove(events, e);
	}
	return r;
}

/* ---- the instance ---- */

static int report_events_failed(const struct event_selection *events, const struct setup *s,
				int error, const char *why)
{
	for (size_t i = 0; i < events->n; i++)
		setup_error_add(s->errors, "%s/%s (%s)", events->events[i].group,
				events->events[i].name, why);
	return error;
}

static bool has_graph_event(const struct event_selection *events)
{
	for (size_t i = 0; i < events->n; i++)
		if (event_is_funcgraph(&events->events[i]))
			return true;
	return false;
}

/* Checks that the session may use the top level. */
static int top_level_check(const struct instance *instance, const struct event_selection *events,
			   const struct setup *s)
{
	bool others_trace = instance_is_held_by_others(instance, "current_tracer");
	struct err_text e;

	if (!instance_has_other_sessions(instance))
		return top_level_check_free(s->root, s->proc_root, &e)
			       ? report_events_failed(events, s, -EBUSY, e.text)
			       : 0;
	if (others_trace == has_graph_event(events))
		return 0;
	return report_events_failed(
		events, s, -EBUSY,
		others_trace ? "another recording traces functions at tracefs' top level"
			     : "another recording reads the rings of tracefs' top level");
}

/* Sets the size of the rings. Markers alone need less than a session's events, and keep a larger
 * size. */
static void set_top_level_size(const struct instance *instance, bool markers_alone,
			       const struct top_level_options *o)
{
	struct ftrace_settings settings = *o->settings;

	if (markers_alone && !o->setup->config->buffer_size_kb)
		settings.buffer_size_kb = MARKERS_KB;
	if (markers_alone && instance_ring_kb(instance) >= settings.buffer_size_kb)
		return;
	instance_save_sizes(instance);
	ring_size_set(instance, &settings, o->setup->errors);
}

/* Stops the recording, clears the rings, and sets a clock that trace readers know, and the size. */
static int top_level_prepare(const struct instance *instance, const struct event_selection *events,
			     const struct top_level_options *o)
{
	int r = instance_write(instance, "tracing_on", "0");

	if (!r)
		r = instance_clear(instance);
	if (r)
		return report_events_failed(events, o->setup, r,
					    "cannot write to tracefs' top level");
	instance_set_clock(instance, o->settings->mono_raw_clock);
	set_top_level_size(instance, !has_graph_event(events), o);
	return 0;
}

/* Applies the options that restrict the tracer and markers, not only events. s->instance is the
 * top level. */
static int restrict_records(const struct event_selection *events, const struct setup *s)
{
	const char *mask = s->config->tracing_cpumask;
	int r = mask && *mask ? instance_write(s->instance, "tracing_cpumask", mask) : 0;

	if (r)
		return report_events_failed(events, s, r,
					    "cannot set tracing_cpumask at tracefs' top level");
	r = has_graph_event(events) ? pid_filter_set_functions(s) : 0;
	return r ? report_events_failed(events, s, r,
					"cannot set tids_to_trace at tracefs' top level")
		 : 0;
}

static int attach_instance(struct instance *instance, const struct event_selection *events,
			   const struct top_level_options *o)
{
	const struct setup *s = o->setup;
	const struct override_target target = {
		.root = s->root, .subdir = "", .state = s->state_root};
	struct err_text e;
	int r = instance_attach(instance, &target, &e);

	if (r)
		return report_events_failed(events, s, r, e.text);
	r = top_level_check(instance, events, s);
	if (!r && !instance_has_other_sessions(instance))
		r = top_level_prepare(instance, events, o);
	else if (!r)
		r = instance_keep_ring(instance);
	return r;
}

/* ---- events and rings ---- */

static int top_level_compile(struct top_level *t, struct event_selection *events,
			     const struct setup *s, const struct ftrace_settings *settings)
{
	struct event_table_options options = settings->events;
	int r = printk_formats_read(&t->table.strings, s->root);

	if (!r)
		r = print_filter_new(s->config, pid_filter_follows_children(s->config),
				     &t->table.prints);
	return r ? r : event_enable_compile(events, s, &options, &t->table);
}

static int top_level_open_rings(struct top_level *t, struct event_selection *events,
				const struct top_level_options *o)
{
	struct err_text e;
	int r = ring_open(&t->ring, o->env->loop, o->env->sys_root, &t->instance, &e);

	if (r)
		return report_events_failed(events, o->setup, r, e.text);
	t->ring.period_ms = o->settings->drain_period_ms;
	r = page_encoder_new(&t->table, ring_layout(t->ring.ring), o->writer, &t->encoder);
	t->ring.encoder = t->encoder;
	return r;
}

static int top_level_set_up(struct top_level *t, struct event_selection *events,
			    const struct top_level_options *o)
{
	struct setup s = *o->setup;
	int r = attach_instance(&t->instance, events, o);

	s.instance = &t->instance;
	if (!r)
		r = restrict_records(events, &s);
	if (!r)
		r = top_level_compile(t, events, &s, o->settings);
	if (!r && has_graph_event(events) && function_graph_set(o->graph, &s))
		function_graph_deselect(events);
	if (r || !events->n)
		return r;
	if (event_triggers_can_pause(s.config))
		setup_error_add(s.errors,
				"option:event_triggers (%s/%s is recorded at tracefs' top level, "
				"where no trigger can pause it)",
				events->events[0].group, events->events[0].name);
	return top_level_open_rings(t, events, o);
}

int top_level_open(struct top_level *t, const struct top_level_options *options)
{
	int r = t->events.n ? top_level_set_up(t, &t->events, options) : 0;

	if (!top_level_is_open(t) || r)
		top_level_close(t);
	return r == -ENOMEM || r == -ECANCELED ? r : 0;
}

int top_level_close(struct top_level *t)
{
	int r;

	ring_close(&t->ring);
	t->encoder = page_encoder_free(t->encoder);
	ring_size_shrink(&t->instance);
	r = instance_remove(&t->instance);
	event_table_deinit(&t->table);
	event_selection_deinit(&t->events);
	return r;
}

void top_level_start(const struct top_level *t)
{
	if (instance_is_made(&t->instance))
		instance_write(&t->instance, "tracing_on", "1");
}

/* The last session sets tracing_on to 0 instead of releasing it: the release may restore a 1, while
 * the tracer is still set. top_level_close() restores both. */
void top_level_stop(const struct top_level *t)
{
	if (!instance_is_made(&t->instance))
		return;
	if (instance_has_other_sessions(&t->instance))
		instance_stop(&t->instance);
	else
		instance_write(&t->instance, "tracing_on", "0");
}
