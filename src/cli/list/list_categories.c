/* SPDX-License-Identifier: Apache-2.0 */
/* Categories of track events, as the programs that run describe them to the service. */
#include <stdio.h>
#include <string.h>

#include "analyze/name_list.h"
#include "cli/list/list.h"

typedef Pb__TracingServiceState__DataSource data_source;

static const Pb__TrackEventDescriptor *events_of(const data_source *d)
{
	return d->ds_descriptor ? d->ds_descriptor->track_event_descriptor : NULL;
}

static const Pb__TrackEventCategory *find(const data_source *d, const char *name)
{
	const Pb__TrackEventDescriptor *t = events_of(d);

	for (size_t i = 0; t && i < t->n_available_categories; i++)
		if (t->available_categories[i]->name &&
		    !strcmp(t->available_categories[i]->name, name))
			return t->available_categories[i];
	return NULL;
}

static void put_programs(struct list *l, const char *category)
{
	const Pb__TracingServiceState *state = l->state;
	struct name_list names = {0};
	char text[300];

	for (size_t i = 0; i < state->n_data_sources; i++) {
		if (!find(state->data_sources[i], category))
			continue;
		for (size_t k = 0; k < state->n_producers; k++) {
			const Pb__TracingServiceState__Producer *p = state->producers[k];

			if (p->id != state->data_sources[i]->producer_id)
				continue;
			snprintf(text, sizeof(text), "%s (pid %d)", p->name ? p->name : "?",
				 p->pid);
			name_list_add(&names, (const uint8_t *)text, strlen(text));
		}
	}
	list_out_values(&l->out, "programs", (const char *const *)names.names, names.n);
	name_list_deinit(&names);
}

static void put_category(struct list *l, const Pb__TrackEventCategory *c)
{
	struct strbuf example = {0};

	list_out_item(&l->out, "category", c->name, c->description);
	if (l->detail == LIST_NAMES)
		return;
	list_out_values(&l->out, "tags", (const char *const *)c->tags, c->n_tags);
	put_programs(l, c->name);
	strbuf_printf(&example, "sonda record -t 10s --app '%s'", c->name);
	if (l->exact)
		list_out_value(&l->out, "example", example.s);
	strbuf_deinit(&example);
}

int list_categories(struct list *l, const char *pattern, struct err_text *e)
{
	const Pb__TracingServiceState *state = list_service(l);
	struct name_list seen = {0};

	(void)e;
	for (size_t i = 0; state && i < state->n_data_sources; i++) {
		const Pb__TrackEventDescriptor *t = events_of(state->data_sources[i]);

		for (size_t k = 0; t && k < t->n_available_categories; k++) {
			const Pb__TrackEventCategory *c = t->available_categories[k];

			if (!c->name || name_list_has(&seen, c->name) ||
			    !list_matches(l, pattern, c->name))
				continue;
			name_list_add(&seen, (const uint8_t *)c->name, strlen(c->name));
			put_category(l, c);
		}
	}
	name_list_deinit(&seen);
	return 0;
}
