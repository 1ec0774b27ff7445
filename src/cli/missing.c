// SPDX-License-Identifier: Apache-2.0
/*
 * Nobody else tells: a service starts a session whose data sources do not exist, and a producer
 * records the events that do exist and writes the others into a packet that no viewer shows.
 */

#include "cli/missing.h"

#include <string.h>

#include "cli/source_match.h"

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

/* "group/name (reason)"; sonda-probes says "option:name (reason)" of fields of FtraceConfig. */
static void tell_failed(const char *what, struct strbuf *lines)
{
	if (str_starts(what, "option:"))
		strbuf_printf(lines, "ftrace option %s\n", what + strlen("option:"));
	else
		strbuf_printf(lines, "event %s could not be switched on\n", what);
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
		tell_failed(ftrace->failed.names[i], lines);
	for (size_t i = 0; ftrace && i < ftrace->problems.n; i++, n++)
		strbuf_printf(lines, "ftrace: %s\n", ftrace->problems.names[i]);
	return n;
}

/* ---- data sources ---- */

static const Pb__TracingServiceState__Producer *producer_of(const Pb__TracingServiceState *state,
							    int32_t id)
{
	static const Pb__TracingServiceState__Producer unknown =
		PB__TRACING_SERVICE_STATE__PRODUCER__INIT;

	for (size_t i = 0; i < state->n_producers; i++)
		if (state->producers[i]->id == id)
			return state->producers[i];
	return &unknown;
}

/* What becomes of a source: the best that any who registered it makes of it. False: nobody has. */
static bool find_match(const Pb__TraceConfig *config, const Pb__TraceConfig__DataSource *source,
		       const Pb__TracingServiceState *state, enum source_match *ret)
{
	enum source_match m;
	bool found = false;

	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__TracingServiceState__DataSource *r = state->data_sources[i];
		const Pb__DataSourceDescriptor *d = r->ds_descriptor;

		if (!d || !d->name || strcmp(d->name, source->config->name))
			continue;
		m = source_match(config, source, producer_of(state, r->producer_id));
		*ret = found && *ret < m ? *ret : m;
		found = true;
	}
	return found;
}

static void put_filter(struct strbuf *s, const char *field, char *const *values, size_t n)
{
	if (n)
		strbuf_printf(s, " %s \"%s\"%s", field, values[0], n > 1 ? ", ..." : "");
}

static void tell_left_out(const Pb__TraceConfig__DataSource *d, enum source_match why,
			  struct name_list *ret)
{
	struct strbuf s = {0};

	strbuf_printf(&s, "data source '%s' is left out: ", d->config->name);
	if (why == SOURCE_OTHER_MACHINE && d->n_machine_name_filter == 0) {
		strbuf_puts(&s, "only other machines have it, and trace_all_machines is not set");
	} else {
		strbuf_puts(&s, "no producer of it passes");
		if (why == SOURCE_OTHER_MACHINE) {
			put_filter(&s, "machine_name_filter", d->machine_name_filter,
				   d->n_machine_name_filter);
		} else {
			put_filter(&s, "producer_name_filter", d->producer_name_filter,
				   d->n_producer_name_filter);
			put_filter(&s, "producer_name_regex_filter", d->producer_name_regex_filter,
				   d->n_producer_name_regex_filter);
		}
	}
	if (s.s)
		add_text(ret, s.s);
	strbuf_deinit(&s);
}

void missing_sources(const Pb__TraceConfig *config, const Pb__TracingServiceState *state,
		     struct name_list *ret_names, struct name_list *ret_left_out)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__TraceConfig__DataSource *d = config->data_sources[i];
		enum source_match match;

		if (!d->config || !d->config->name || !*d->config->name)
			continue;
		if (!find_match(config, d, state, &match))
			add_text(ret_names, d->config->name);
		else if (match != SOURCE_GIVEN)
			tell_left_out(d, match, ret_left_out);
	}
}
