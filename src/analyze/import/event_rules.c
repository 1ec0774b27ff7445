/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a row of ftrace_event from each kernel event, and the further rows that the event's rule
 * makes. The tables of rules (event_rules.h) have one row for each kind of event.
 */
#include "analyze/import/event_rules.h"

#include "analyze/import/ftrace_rows.h"
#include "analyze/import/import_steps.h"
#include "analyze/store/event_args.h"
#include "base/core/mem.h"
#include "gen/fields.h"

/* Sets e->generic. Returns false for an event that neither this version nor the trace describes.
 * Counts such an event if its number is one that only a descriptor explains. */
static bool find_description(struct import *im, struct machine *m, struct ftrace_event *e,
			     const struct pb_field *f)
{
	e->generic = NULL_U32;
	if (e->number == PB_FTRACE_EVENT_GENERIC) {
		e->generic = generic_get_by_own_name(im, m, f);
		return e->generic != NULL_U32;
	}
	if (event_args_known_name(e->number))
		return true;
	e->generic = generic_find(im, m, e->number);
	if (e->generic == NULL_U32 && e->number >= 65536)
		stats_add(im->store, STAT_FTRACE_GENERIC_DESCRIPTOR_ERRORS, STAT_NO_INDEX, 1);
	return e->generic != NULL_U32;
}

static const struct event_rule *find_rule(uint32_t number)
{
	static const struct event_rule *const tables[] = {
		task_rules,   slice_rules,	  print_rules,	 counter_rules, thread_slice_rules,
		memory_rules, device_slice_rules, storage_rules, gpu_rules};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct event_rule *r = tables[i]; r->number; r++)
			if (r->number == number)
				return r;
	return NULL;
}

/* Looks the rule up once for each number, as most events have the same few numbers. */
static const struct event_rule *find_rule_cached(struct import *im, uint32_t number)
{
	if (number >= RULES_MAX)
		return NULL;
	if (!im->rules_known[number]) {
		im->rules_known[number] = true;
		im->rules[number] = find_rule(number);
	}
	return im->rules[number];
}

static void make_event_rows(struct import *im, struct machine *m, struct ftrace_event *e,
			    const struct pb_field *f)
{
	const struct event_rule *rule;

	e->number = f->id;
	e->message = *f;
	if (e->number == PB_FTRACE_EVENT_SCHED_SWITCH) {
		import_full_switch(im, m, e->cpu, e->ts, f->data, f->len);
		return;
	}
	if (!find_description(im, m, e, f))
		return;
	rule = find_rule_cached(im, e->number);
	e->utid = tasks_get_thread(&m->tasks, e->tid);
	rows_add_event(im, m, e, rule ? rule->symbol : NULL);
	if (rule && rule->fn && !rows_is_early(m, e->ts))
		rule->fn(im, m, e);
}

void import_ftrace_event(struct import *im, struct machine *m, uint32_t cpu,
			 const struct queued_event *q)
{
	struct ftrace_event e = {.cpu = cpu, .ts = q->ts, .sequence_state = q->b};
	const struct pb_field message = {.data = q->data, .len = q->a};
	struct pb_field event = {.id = 0};

	pb_for_each (f, &message) {
		if (f.id == PB_FTRACE_EVENT_PID)
			e.tid = (int32_t)f.u64;
		else if (f.data)
			event = f;
	}
	if (event.id)
		make_event_rows(im, m, &e, &event);
	else
		stats_add(im->store, STAT_FTRACE_MISSING_EVENT_ID, STAT_NO_INDEX, 1);
}
