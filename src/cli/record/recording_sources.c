// SPDX-License-Identifier: Apache-2.0
#include "cli/record/recording_sources.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report/missing.h"
#include "cli/record/own_fields.h"

#define LINES_TOLD 20 /* of a warning; the summary counts the others */

void recording_sources_deinit(struct recording_sources *s)
{
	name_list_deinit(&s->missing);
	name_list_deinit(&s->left_out);
	name_list_deinit(&s->skipped);
	name_list_deinit(&s->offered);
	name_list_deinit(&s->gone);
	source_producers_deinit(&s->producers);
}

static void note_offered(struct recording_sources *s, const Pb__TracingServiceState *state)
{
	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__DataSourceDescriptor *d = state->data_sources[i]->ds_descriptor;

		if (d && d->name)
			name_list_add(&s->offered, (const uint8_t *)d->name, strlen(d->name));
	}
}

int recording_sources_begin(struct recording_sources *s, const Pb__TraceConfig *config,
			    const Pb__TracingServiceState *state, struct err_text *e)
{
	note_offered(s, state);
	source_producers_note(&s->producers, config, state);
	missing_sources(config, state, &s->missing, &s->left_out);
	return own_fields_check(config, state, &s->skipped, e);
}

static void keep_common(struct name_list *first, const struct name_list *second)
{
	size_t kept = 0;

	for (size_t i = 0; i < first->n; i++) {
		if (name_list_has(second, first->names[i]))
			first->names[kept++] = first->names[i];
		else
			free(first->names[i]);
	}
	first->n = kept;
}

void recording_sources_end(struct recording_sources *s, const Pb__TraceConfig *config,
			   const Pb__TracingServiceState *state)
{
	struct name_list missing = {0}, left_out = {0};

	missing_sources(config, state, &missing, &left_out);
	keep_common(&s->missing, &missing);
	keep_common(&s->left_out, &left_out);
	source_producers_gone(&s->producers, state, &s->gone);
	name_list_deinit(&missing);
	name_list_deinit(&left_out);
}

/* Behind the first lines. */
static void cut(struct strbuf *lines, size_t from)
{
	char *p = lines->s + from;

	for (int i = 0; i < LINES_TOLD && *p; i++)
		p = strchr(p, '\n') + 1;
	if (!*p)
		return;
	lines->len = (size_t)(p - lines->s);
	*p = '\0';
	strbuf_puts(lines, "and more of that kind\n");
}

void recording_sources_warn(const struct recording_sources *s, const Pb__TraceConfig *config,
			    const struct tracefs_events *events, struct strbuf *lines)
{
	size_t from = lines->len;

	for (size_t i = 0; i < s->missing.n; i++)
		strbuf_printf(lines, "nobody provides the data source '%s' yet\n",
			      s->missing.names[i]);
	for (size_t i = 0; i < s->left_out.n; i++)
		strbuf_printf(lines, "%s\n", s->left_out.names[i]);
	for (size_t i = 0; i < s->skipped.n; i++)
		strbuf_printf(lines, "%s\n", s->skipped.names[i]);
	missing_events(config, NULL, events, lines);
	if (lines->s && !lines->failed)
		cut(lines, from);
}
