/* SPDX-License-Identifier: Apache-2.0 */
/* Events that the session requested stay unchanged, including their filters. */
#include "ftrace/session/metadata_publisher.h"

#include <errno.h>
#include <string.h>

#include <tracefs.h>

#include "base/core/mem.h"
#include "ftrace/options/event_triggers.h"
#include "ftrace/options/pid_filter.h"

static const struct metadata_event {
	const char *group;
	const char *name;
} events[] = {
	{"task", "task_newtask"},
	{"task", "task_rename"},
	{"sched", "sched_process_exec"},
	{"sched", "sched_process_exit"},
};

/* ---- registration ---- */

void metadata_publisher_register(struct metadata_publisher *t, struct metadata_bus *bus,
				 uint64_t session_id)
{
	*t = (struct metadata_publisher){.session_id = session_id};
	if (bus && !metadata_bus_register(bus, session_id, t))
		t->bus = bus;
}

void metadata_publisher_unregister(struct metadata_publisher *t, const struct clock_sync *sync)
{
	if (!t->bus)
		return;
	metadata_publisher_publish(t, sync, UINT64_MAX);
	metadata_bus_unregister(t->bus, t->session_id, t);
	metadata_deinit(&t->collected);
	*t = (struct metadata_publisher){0};
}

/* ---- events ---- */

void metadata_publisher_drop_events(struct event_selection *s)
{
	static const struct metadata_event more[] = {
		{"sched", "sched_process_fork"},
		{"sched", "sched_process_free"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(events) + ARRAY_SIZE(more); i++) {
		const struct metadata_event *m =
			i < ARRAY_SIZE(events) ? &events[i] : &more[i - ARRAY_SIZE(events)];
		struct event_name *e = event_selection_find(s, m->group, m->name);

		if (e)
			event_selection_remove(s, e);
	}
}

static bool event_is_compiled(const struct event_table *table, const struct metadata_event *e)
{
	for (size_t i = 0; i < table->n_events; i++) {
		const struct compiled_event *ev = table->events[i];

		if (!strcmp(ev->group, e->group) && !strcmp(ev->name, e->name))
			return event_table_get(table, ev->id) == ev;
	}
	return false;
}

static int enable_event(const struct metadata_event *e, const struct instance *i,
			struct event_table *table)
{
	static const struct event_table_options options = {.metadata_only = true};
	_cleanup_(freep) char *format =
		tracefs_event_file_read(i->tracefs, e->group, e->name, "format", NULL);
	uint16_t id;
	int r = -ENOENT;

	if (format)
		r = event_table_add(table, e->group, e->name, format, &options, &id);
	if (r)
		return r;
	r = instance_enable_event(i, e->group, e->name);
	if (r)
		event_table_remove(table, id);
	return r;
}

static const char *metadata_publisher_reason_of(int error)
{
	return error > 0 ? "unexpected format" : strerror(-error);
}

static void enable_events(const struct instance *i, struct event_table *table,
			  struct setup_errors *errors)
{
	for (size_t n = 0; n < ARRAY_SIZE(events); n++) {
		const struct metadata_event *e = &events[n];
		int r;

		if (event_is_compiled(table, e))
			continue;
		r = enable_event(e, i, table);
		if (r)
			setup_error_add(errors, "%s/%s (%s; process_stats records less without it)",
					e->group, e->name, metadata_publisher_reason_of(r));
	}
}

/* Returns true if only some threads, CPUs or times are recorded, or if the owner of an attached
 * instance may have restricted them. */
static bool tasks_are_filtered(const struct setup *s)
{
	const Pb__FtraceConfig *c = s->config;

	return pid_filter_is_requested(c) || (c->tracing_cpumask && *c->tracing_cpumask) ||
	       event_triggers_can_pause(c) || !instance_is_own(s->instance);
}

/* Returns true if every occurrence of this event is recorded. */
static bool records_every_occurrence(const struct setup *s, const struct event_table *table,
				     const struct metadata_event *e)
{
	const struct event_name *requested = event_selection_find(s->events, e->group, e->name);

	return event_is_compiled(table, e) && !(requested && requested->filter);
}

static void publish_completeness(struct metadata_publisher *t, const struct setup *s,
				 const struct event_table *table)
{
	if (tasks_are_filtered(s))
		return;
	for (size_t n = 0; n < ARRAY_SIZE(events); n++)
		if (!records_every_occurrence(s, table, &events[n]))
			return;
	metadata_bus_set_complete(t->bus, t->session_id, t, true);
}

void metadata_publisher_begin(struct metadata_publisher *t, const struct setup *s,
			      struct event_table *table)
{
	bool wanted = t->bus && metadata_bus_has_subscriber(t->bus, t->session_id);

	if (!wanted || t->wanted || !instance_is_made(s->instance))
		return;
	if (metadata_init(&t->collected)) {
		setup_error_add(s->errors, "option:process_stats (no memory for event metadata)");
		return;
	}
	if (instance_is_own(s->instance) && !s->config->without_task_events)
		enable_events(s->instance, table, s->errors);
	publish_completeness(t, s, table);
	metadata_bus_set_published_until(t->bus, t->session_id, t, 1);
	t->wanted = true;
}

/* ---- publishing ---- */

void metadata_publisher_prepare_encoder(struct metadata_publisher *t,
					struct page_encoder *page_encoder, uint64_t began)
{
	bool wanted = t->wanted && metadata_bus_has_subscriber(t->bus, t->session_id);

	page_encoder->ctx.tids = wanted ? &t->collected.tids : NULL;
	page_encoder->ctx.metadata = wanted ? &t->collected : NULL;
	if (wanted)
		metadata_set_complete_before(&t->collected, &page_encoder->sync, began);
}

void metadata_publisher_set_incomplete(struct metadata_publisher *t)
{
	if (t->wanted)
		metadata_bus_set_complete(t->bus, t->session_id, t, false);
}

void metadata_publisher_publish(struct metadata_publisher *t, const struct clock_sync *sync,
				uint64_t until)
{
	struct metadata_batch batch;

	if (!t->wanted)
		return;
	if (metadata_take_batch(&t->collected, sync,
				metadata_is_urgent(&t->collected) ? UINT64_MAX : until, &batch)) {
		metadata_bus_publish(t->bus, t->session_id, &batch);
		metadata_free_batch(&t->collected);
	}
	metadata_bus_set_published_until(t->bus, t->session_id, t, until);
}

void metadata_publisher_set_busy(struct metadata_publisher *t, bool is_busy)
{
	if (t->bus)
		metadata_bus_set_busy(t->bus, t->session_id, t, is_busy);
}
