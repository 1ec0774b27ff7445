// SPDX-License-Identifier: Apache-2.0
#include "cli/record/source_producers.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

void source_producers_deinit(struct source_producers *p)
{
	free(p->ids);
	name_list_deinit(&p->names);
	*p = (struct source_producers){0};
}

static bool is_asked_for(const Pb__TraceConfig *config, const char *source)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (c && c->name && !strcmp(c->name, source))
			return true;
	}
	return false;
}

static const Pb__TracingServiceState__Producer *find(const Pb__TracingServiceState *state,
						     int32_t id)
{
	for (size_t i = 0; i < state->n_producers; i++)
		if (state->producers[i]->id == id)
			return state->producers[i];
	return NULL;
}

static bool is_noted(const struct source_producers *p, int32_t id)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->ids[i] == id)
			return true;
	return false;
}

static void note(struct source_producers *p, const Pb__TracingServiceState__Producer *producer)
{
	char name[NAME_LIST_MAX_LEN + 1];
	size_t before = p->names.n;

	snprintf(name, sizeof(name), "%.200s (pid %d)", producer->name ? producer->name : "",
		 producer->pid);
	if (array_reserve(&p->ids, &p->cap, p->n + 1, sizeof(*p->ids)))
		return;
	name_list_add(&p->names, (const uint8_t *)name, strlen(name));
	if (p->names.n > before)
		p->ids[p->n++] = producer->id;
}

void source_producers_note(struct source_producers *p, const Pb__TraceConfig *config,
			   const Pb__TracingServiceState *state)
{
	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__TracingServiceState__DataSource *s = state->data_sources[i];
		const Pb__TracingServiceState__Producer *producer = find(state, s->producer_id);

		if (!producer || !s->ds_descriptor || !s->ds_descriptor->name ||
		    !str_starts(s->ds_descriptor->name, "linux.") ||
		    !is_asked_for(config, s->ds_descriptor->name) || is_noted(p, producer->id))
			continue;
		note(p, producer);
	}
}

void source_producers_gone(const struct source_producers *p, const Pb__TracingServiceState *state,
			   struct name_list *ret)
{
	for (size_t i = 0; i < p->n; i++)
		if (!find(state, p->ids[i]))
			name_list_add(ret, (const uint8_t *)p->names.names[i],
				      strlen(p->names.names[i]));
}
