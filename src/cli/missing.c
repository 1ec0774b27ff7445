// SPDX-License-Identifier: Apache-2.0
/*
 * Nobody else tells: a service starts a session whose data sources do not exist, and a producer
 * records the events that do exist and writes the others into a packet that no viewer shows.
 */

#include "cli/missing.h"

#include <string.h>

static const Pb__FtraceConfig *ftrace_of(const Pb__TraceConfig__DataSource *source)
{
	const Pb__DataSourceConfig *c = source->config;

	return c && c->name && !strcmp(c->name, "linux.ftrace") ? c->ftrace_config : NULL;
}

bool asks_for_ftrace(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++)
		if (ftrace_of(config->data_sources[i]))
			return true;
	return false;
}

bool asks_for_ftrace_only(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++)
		if (!ftrace_of(config->data_sources[i]))
			return false;
	return config->n_data_sources != 0;
}

/* ---- events ---- */

static void tell_missing(const char *word, const struct tracefs_events *events,
			 struct strbuf *lines)
{
	char buf[TRACEFS_EVENTS_MAX_NAME];
	const char *nearest;

	if (strpbrk(word, "*?[")) {
		strbuf_printf(lines, "no event matches '%s'\n", word);
		return;
	}
	nearest = tracefs_events_nearest(events, word, buf);
	strbuf_printf(lines, "event '%s' does not exist", word);
	if (nearest && strcmp(nearest, word))
		strbuf_printf(lines, "; did you mean %s?", nearest);
	strbuf_putc(lines, '\n');
}

static void add_text(struct name_list *l, const char *s)
{
	name_list_add(l, (const uint8_t *)s, strlen(s));
}

size_t missing_events(const Pb__TraceConfig *config, const struct ftrace_scan *ftrace,
		      const struct tracefs_events *events, struct strbuf *lines)
{
	struct name_list missing = {0};
	const Pb__FtraceConfig *f;
	size_t n;

	for (size_t i = 0; i < config->n_data_sources; i++) {
		f = ftrace_of(config->data_sources[i]);
		for (size_t k = 0; f && events && k < f->n_ftrace_events; k++)
			if (!tracefs_events_has(events, f->ftrace_events[k]))
				add_text(&missing, f->ftrace_events[k]);
	}
	for (size_t i = 0; ftrace && i < ftrace->unknown.n; i++)
		add_text(&missing, ftrace->unknown.names[i]);
	for (size_t i = 0; i < missing.n; i++)
		tell_missing(missing.names[i], events, lines);
	n = missing.n;
	name_list_deinit(&missing);

	for (size_t i = 0; ftrace && i < ftrace->failed.n; i++, n++)
		strbuf_printf(lines, "event %s could not be switched on\n",
			      ftrace->failed.names[i]);
	for (size_t i = 0; ftrace && i < ftrace->problems.n; i++, n++)
		strbuf_printf(lines, "ftrace: %s\n", ftrace->problems.names[i]);
	return n;
}

/* ---- data sources ---- */

static bool is_registered(const Pb__TracingServiceState *state, const char *name)
{
	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__DataSourceDescriptor *d = state->data_sources[i]->ds_descriptor;

		if (d && d->name && !strcmp(d->name, name))
			return true;
	}
	return false;
}

void missing_sources(const Pb__TraceConfig *config, const Pb__TracingServiceState *state,
		     struct name_list *ret)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (c && c->name && *c->name && !is_registered(state, c->name))
			add_text(ret, c->name);
	}
}
