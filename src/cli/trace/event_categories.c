/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/event_categories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef Pb__TracingServiceState__DataSource data_source;

const char *event_category_program(const struct event_category *c)
{
	return c->producer && c->producer->name ? c->producer->name : "?";
}

static int by_name_and_program(const void *a, const void *b)
{
	const struct event_category *x = a, *y = b;
	int order = strcmp(x->category->name, y->category->name);

	return order ? order : strcmp(event_category_program(x), event_category_program(y));
}

static const Pb__TrackEventDescriptor *get_track_events(const data_source *d)
{
	return d->ds_descriptor ? d->ds_descriptor->track_event_descriptor : NULL;
}

static const Pb__TracingServiceState__Producer *find_producer(const Pb__TracingServiceState *state,
							      int32_t id)
{
	for (size_t i = 0; i < state->n_producers; i++)
		if (state->producers[i]->id == id)
			return state->producers[i];
	return NULL;
}

int event_categories_list(const Pb__TracingServiceState *state, struct event_category **ret,
			  size_t *ret_n)
{
	struct event_category *all;
	size_t max = 0, n = 0;

	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__TrackEventDescriptor *d = get_track_events(state->data_sources[i]);

		max += d ? d->n_available_categories : 0;
	}
	all = calloc(max + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < state->n_data_sources; i++) {
		const data_source *s = state->data_sources[i];
		const Pb__TrackEventDescriptor *d = get_track_events(s);

		for (size_t k = 0; d && k < d->n_available_categories; k++)
			if (d->available_categories[k]->name)
				all[n++] = (struct event_category){
					d->available_categories[k],
					find_producer(state, s->producer_id)};
	}
	qsort(all, n, sizeof(*all), by_name_and_program);
	*ret = all;
	*ret_n = n;
	return 0;
}
