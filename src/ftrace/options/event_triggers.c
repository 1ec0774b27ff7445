/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trigger is written as "ACTION[:COUNT] [if FILTER]". FILTER is:
 *
 *	stacktrace          (the event's filter) && (the trigger's filter). The kernel runs a
 *	                    trigger before it filters the record; without the event's filter, the
 *	                    stack of a record that is left out seems to belong to another event.
 *	                    For a marker, a condition on its thread replaces the event's filter.
 *	traceon, traceoff   the trigger's filter. If it has none and tids_to_trace or pids_to_trace
 *	                    is set, a condition that is always true: the kernel checks the thread
 *	                    only for triggers with a filter.
 */
#include "ftrace/options/event_triggers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "ftrace/options/pid_filter.h"
#include "ftrace/tracefs/filter_file.h"

typedef Pb__FtraceConfig__EventTrigger config_trigger;

#define ACTION(name) PB__FTRACE_CONFIG__EVENT_TRIGGER__ACTION__ACTION_##name
#define ALWAYS_TRUE "common_pid >= 0"

static const char *trigger_action_name(const config_trigger *c)
{
	switch (c->action) {
	case ACTION(STACKTRACE):
		return "stacktrace";
	case ACTION(TRACEON):
		return "traceon";
	case ACTION(TRACEOFF):
		return "traceoff";
	default:
		return NULL;
	}
}

static bool has_action(const Pb__FtraceConfig *config, int action)
{
	for (size_t i = 0; i < config->n_event_triggers; i++)
		if ((int)config->event_triggers[i]->action == action)
			return true;
	return false;
}

bool event_triggers_can_pause(const Pb__FtraceConfig *config)
{
	return has_action(config, ACTION(TRACEOFF)) || has_action(config, ACTION(TRACEON));
}

bool event_triggers_can_resume(const Pb__FtraceConfig *config)
{
	return has_action(config, ACTION(TRACEOFF)) && has_action(config, ACTION(TRACEON));
}

int event_triggers_add_implied_events(struct event_selection *events, const struct setup *s)
{
	return has_action(s->config, ACTION(STACKTRACE))
		       ? event_selection_add(events, "ftrace", "kernel_stack")
		       : 0;
}

/* ---- preparing ---- */

static void event_triggers_refuse(const struct setup *s, const struct event_name *e,
				  const char *why)
{
	setup_error_add(s->errors, "%s/%s (trigger refused: %s)", event_name_group(e),
			event_name_name(e), why);
}

/* Returns true for a filter that all records pass: none, or the kernel's "0". */
static bool passes_all_records(const char *filter)
{
	return !*filter || !strcmp(filter, "0");
}

/* Tries the filter on the event, then restores the event's own filter. Returns 0, or -errno after
 * reporting it. */
static int try_filter_on_event(const struct setup *s, const struct event_name *e,
			       const char *filter)
{
	struct err_text why, ignored;
	int r = filter_file_write(s->instance, e->group, e->name, filter, &why);

	if (e->filter)
		filter_file_write(s->instance, e->group, e->name, e->filter, &ignored);
	else
		filter_file_clear(s->instance, e->group, e->name);
	/* An event without a filter file may have triggers; writing the trigger will show. */
	if (r && r != -ENOENT)
		event_triggers_refuse(s, e, why.text);
	return r == -ENOENT ? 0 : r;
}

/* Sets *ret to a condition that holds for markers of tids_to_trace only, or to NULL: no condition.
 * Markers of other threads are dropped when they are read, so their stacks would belong to no
 * event. Returns 0 or -ENOMEM. */
static int make_writer_condition(const struct setup *s, const struct event_name *e, char **ret)
{
	const Pb__FtraceConfig *c = s->config;
	struct strbuf text = {0};

	*ret = NULL;
	if (!event_is_marker(e) || pid_filter_follows_children(c) || !c->n_tids_to_trace)
		return 0;
	for (size_t i = 0; i < c->n_tids_to_trace; i++)
		strbuf_printf(&text, "%scommon_pid == %" PRIu32, i ? " || " : "",
			      c->tids_to_trace[i]);
	*ret = strbuf_take(&text);
	return *ret ? 0 : -ENOMEM;
}

/* Sets *ret to the text after "if"; NULL: no condition. Returns 0, -ENOMEM, or the -errno of a
 * refused filter, which was reported. */
static int make_trigger_condition(const struct setup *s, const config_trigger *c,
				  const struct event_name *e, char **ret)
{
	_cleanup_(freep) char *own = filter_normalize(c->filter ? c->filter : "");
	_cleanup_(freep) char *writers = NULL;
	const char *events = NULL;
	int r;

	if (!own || make_writer_condition(s, e, &writers))
		return -ENOMEM;
	if (c->action == ACTION(STACKTRACE))
		events = e->filter ? e->filter : writers;
	*ret = NULL;
	if (!passes_all_records(own)) {
		r = try_filter_on_event(s, e, own);
		if (r)
			return r;
		*ret = filter_make_conjunction(events, own);
	} else if (events) {
		*ret = strdup(events);
	} else if (pid_filter_is_requested(s->config)) {
		*ret = strdup(ALWAYS_TRUE);
	} else {
		return 0;
	}
	return *ret ? 0 : -ENOMEM;
}

static int make_command(const config_trigger *c, const char *condition, char **ret)
{
	char count[16] = "";

	if (c->count)
		snprintf(count, sizeof(count), ":%u", c->count);
	if (asprintf(ret, "%s%s%s%s", trigger_action_name(c), count, condition ? " if " : "",
		     condition ? condition : "") < 0)
		return -ENOMEM;
	return 0;
}

/* Returns false, after reporting it, for a trigger of a marker if this kernel cannot copy markers.
 * The trigger would run only at the top level, where the marker is written. */
static bool check_marker_trigger(const struct setup *s, const struct event_name *e)
{
	if (strcmp(e->group, "ftrace") || strcmp(e->name, "print") ||
	    instance_can_copy_markers(s->instance))
		return true;
	event_triggers_refuse(s, e, "requires options/copy_trace_marker, which this kernel lacks");
	return false;
}

/* Adds the trigger for one event. Returns 0, also if it was refused and reported, or -ENOMEM. */
static int prepare_for_event(const struct setup *s, const config_trigger *c,
			     const struct event_name *e, struct event_triggers *t)
{
	_cleanup_(freep) char *condition = NULL;
	struct event_trigger trigger = {0};
	int r;

	if (!check_marker_trigger(s, e))
		return 0;
	r = make_trigger_condition(s, c, e, &condition);
	if (r)
		return r == -ENOMEM ? r : 0; /* otherwise it was reported */
	t->on_markers = t->on_markers || event_is_marker(e);
	if (t->n == EVENT_TRIGGERS_MAX) {
		event_triggers_refuse(s, e, "too many triggers");
		return 0;
	}
	if (array_reserve(&t->list, &t->cap, t->n + 1, sizeof(*t->list)))
		return -ENOMEM;
	if (asprintf(&trigger.file, "events/%s/%s/trigger", e->group, e->name) < 0)
		return -ENOMEM;
	if (make_command(c, condition, &trigger.command)) {
		free(trigger.file);
		return -ENOMEM;
	}
	t->list[t->n++] = trigger;
	return 0;
}

/* Returns true if the event can have a stack. In group ftrace, only ftrace/print can. */
static bool may_have_stack(const struct event_name *e)
{
	return e->id != EVENT_NO_ID && (strcmp(e->group, "ftrace") || !strcmp(e->name, "print"));
}

/* Prepares the trigger for the selected events that match. Returns their number, or -ENOMEM. */
static int prepare_for_selected(const struct event_selection *events, const struct setup *s,
				const config_trigger *c, struct event_triggers *t)
{
	bool stack = c->action == ACTION(STACKTRACE);
	int n = 0;

	for (size_t i = 0; i < events->n; i++) {
		const struct event_name *e = &events->events[i];

		if (!event_matches_request(c->event, e))
			continue;
		if (stack && !may_have_stack(e))
			continue;
		n++;
		if (prepare_for_event(s, c, e, t))
			return -ENOMEM;
	}
	return n;
}

/* Prepares the trigger for all matching events of the kernel and dynamic events of the session,
 * selected or not. Selected events keep their filters, which try_filter_on_event() has to
 * restore. */
static int prepare_for_any_event(const struct event_selection *events, const struct setup *s,
				 const config_trigger *c, struct event_triggers *t)
{
	struct event_selection there = {0};
	int r = 0;

	for (size_t i = 0; !r && i < events->n; i++)
		if (events->events[i].repr)
			r = event_selection_add_as(&there, events->events[i].group,
						   events->events[i].name, events->events[i].repr);
	if (!r)
		r = event_select(s->root, &c->event, 1, &there, s->errors);
	for (size_t i = 0; !r && i < there.n; i++) {
		struct event_name *e = &there.events[i];
		const struct event_name *own = event_selection_find(events, e->group, e->name);

		if (own && own->filter && !(e->filter = strdup(own->filter)))
			r = -ENOMEM;
	}
	if (!r)
		r = prepare_for_selected(&there, s, c, t);
	event_selection_deinit(&there);
	return r < 0 ? r : 0;
}

static int prepare_stacks(const struct event_selection *events, const struct setup *s,
			  const config_trigger *c, struct event_triggers *t)
{
	struct event_selection there = {0};
	int r = prepare_for_selected(events, s, c, t);

	if (r)
		return r < 0 ? r : 0;
	r = event_select(s->root, &c->event, 1, &there, s->errors);
	if (!r && there.n)
		setup_error_add(
			s->errors,
			"option:event_triggers (stacktrace at %s: the event is not recorded)",
			c->event);
	event_selection_deinit(&there);
	return r;
}

/* Returns true if triggers of an instance act on that instance. Before Linux 5.17 they act on the
 * top level. */
static bool instances_have_own_triggers(void)
{
	struct utsname u;

	return !uname(&u) && str_is_release_from(u.release, 5, 17);
}

static int prepare_trigger(const struct event_selection *events, const struct setup *s,
			   const config_trigger *c, struct event_triggers *t)
{
	const char *why = !c->event || !*c->event   ? "no event is named"
			  : !trigger_action_name(c) ? "no action is set"
			  : !instances_have_own_triggers()
				  ? "this kernel's triggers act on all tracers"
				  : NULL;

	if (why) {
		setup_error_add(s->errors, "option:event_triggers (%s%s%s)",
				c->event && *c->event ? c->event : "",
				c->event && *c->event ? ": " : "", why);
		return 0;
	}
	if (s->later)
		return MIN(prepare_for_selected(events, s, c, t), 0);
	return c->action == ACTION(STACKTRACE) ? prepare_stacks(events, s, c, t)
					       : prepare_for_any_event(events, s, c, t);
}

int event_triggers_prepare(const struct event_selection *events, const struct setup *s,
			   struct event_triggers *ret)
{
	bool on = false, off = false;

	for (size_t i = 0; i < s->config->n_event_triggers; i++) {
		const config_trigger *c = s->config->event_triggers[i];
		size_t before = ret->n;
		int r = prepare_trigger(events, s, c, ret);

		if (r)
			return r;
		on = on || (ret->n > before && c->action == ACTION(TRACEON));
		off = off || (ret->n > before && c->action == ACTION(TRACEOFF));
	}
	ret->begin_paused = on && !off;
	return 0;
}

/* ---- starting and stopping ---- */

static bool is_traceon(const struct event_trigger *t)
{
	return str_starts(t->command, "traceon");
}

static void write_trigger(struct event_trigger *t, const struct instance *i,
			  struct setup_errors *errors)
{
	int r = instance_write(i, t->file, t->command);
	int name = (int)(strlen(t->file) - strlen("events//trigger"));

	t->written = !r;
	if (r)
		setup_error_add(errors, "%.*s (trigger refused: %s: %s)", name,
				t->file + strlen("events/"),
				r == -EEXIST   ? "the event already has such a trigger, or the "
						 "opposite one (traceon, traceoff)"
				: r == -ENOENT ? "the kernel has no triggers for this event"
					       : strerror(-r),
				t->command);
}

int event_triggers_start(struct event_triggers *t, const struct instance *i, struct setup_errors *r)
{
	bool begins = !t->begin_paused;
	int error = begins ? instance_write(i, "tracing_on", "1") : 0;

	for (size_t k = 0; !error && k < t->n; k++) {
		write_trigger(&t->list[k], i, r);
		begins = begins || (t->list[k].written && is_traceon(&t->list[k]));
	}
	if (!begins)
		error = instance_write(i, "tracing_on", "1");
	return error;
}

/* Returns the trigger of t that is equal to e, or NULL. There is one if the event was removed and
 * created again. */
static struct event_trigger *event_triggers_find(const struct event_triggers *t,
						 const struct event_trigger *e)
{
	for (size_t k = 0; k < t->n; k++)
		if (!strcmp(t->list[k].file, e->file) && !strcmp(t->list[k].command, e->command))
			return &t->list[k];
	return NULL;
}

int event_triggers_add(struct event_triggers *t, struct event_triggers *more,
		       const struct instance *i, struct setup_errors *r)
{
	for (; more->n; more->n--) {
		struct event_trigger *e = &more->list[more->n - 1],
				     *old = event_triggers_find(t, e);

		if (old) {
			free(e->file);
			free(e->command);
			write_trigger(old, i, r);
			continue;
		}
		if (array_reserve(&t->list, &t->cap, t->n + 1, sizeof(*t->list)))
			return -ENOMEM;
		t->list[t->n] = *e;
		write_trigger(&t->list[t->n++], i, r);
	}
	return 0;
}

void event_triggers_stop_recording(struct event_triggers *t, const struct instance *i)
{
	for (size_t k = 0; k < t->n; k++) {
		if (!t->list[k].written || !is_traceon(&t->list[k]))
			continue;
		instance_write(i, t->list[k].file, "!traceon");
		t->list[k].written = false;
	}
	instance_stop(i);
}

void event_triggers_deinit(struct event_triggers *t)
{
	for (size_t k = 0; k < t->n; k++) {
		free(t->list[k].file);
		free(t->list[k].command);
	}
	free(t->list);
	*t = (struct event_triggers){0};
}
