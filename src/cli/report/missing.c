// SPDX-License-Identifier: Apache-2.0
/*
 * Nobody else tells: a service starts a session whose data sources do not exist, and a producer
 * records the events that do exist and writes the others into a packet that no viewer shows.
 */

#include "cli/report/missing.h"

#include <string.h>

#include "cli/report/failed_events.h"
#include "cli/report/source_match.h"

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

bool asks_for_source(const Pb__TraceConfig *config, const char *name)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (c && c->name && !strcmp(c->name, name))
			return true;
	}
	return false;
}

/* ---- events ---- */

/* The name that was probably meant, where there is one. */
static void end_with_nearest(const char *word, const struct tracefs_events *events,
			     struct strbuf *lines)
{
	char buf[TRACEFS_EVENTS_MAX_NAME];
	const char *nearest = tracefs_events_nearest(events, word, buf);

	if (nearest && strcmp(nearest, word))
		strbuf_printf(lines, "; did you mean %s?", nearest);
	else if (!strcmp(word, "help"))
		strbuf_puts(lines, "; 'sonda help record' lists what can be said");
	strbuf_putc(lines, '\n');
}

static bool is_pattern(const char *word)
{
	return strpbrk(word, "*?[");
}

static void tell_missing(const char *word, const struct tracefs_events *events, bool with_nearest,
			 struct strbuf *lines)
{
	strbuf_printf(lines,
		      is_pattern(word) ? "no event matches '%s'" : "event '%s' does not exist",
		      word);
	if (is_pattern(word) || !with_nearest)
		strbuf_putc(lines, '\n');
	else
		end_with_nearest(word, events, lines);
}

size_t missing_idle(const struct event_requests *idle, const struct tracefs_events *events,
		    struct strbuf *lines)
{
	for (size_t i = 0; i < idle->n; i++) {
		strbuf_printf(lines, "'%s' takes nothing away", idle->names[i]);
		if (is_pattern(idle->names[i]) || i >= MISSING_NEAREST)
			strbuf_putc(lines, '\n');
		else
			end_with_nearest(idle->names[i] + 1, events, lines);
	}
	return idle->n;
}

static void add_text(struct name_list *l, const char *s)
{
	name_list_add(l, (const uint8_t *)s, strlen(s));
}

static bool is_deaf(const Pb__ProcessStatsConfig *c)
{
	for (size_t i = 0; i < c->n_quirks; i++)
		if (c->quirks[i] == PB__PROCESS_STATS_CONFIG__QUIRKS__DISABLE_ON_DEMAND)
			return true;
	return false;
}

/* Files are opened in the kernel's events; the source that is to name them sees none by itself. */
static size_t tell_files_missing(const Pb__TraceConfig *config, struct strbuf *lines)
{
	const char *why;
	size_t n = 0;

	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (!c || !c->name || strcmp(c->name, "linux.process_stats") ||
		    !c->process_stats_config || !c->process_stats_config->resolve_process_fds)
			continue;
		if (!asks_for_source(config, "linux.ftrace"))
			why = "it takes a data source linux.ftrace";
		else if (is_deaf(c->process_stats_config))
			why = "quirks DISABLE_ON_DEMAND has it hear of none";
		else
			continue;
		strbuf_printf(lines,
			      "resolve_process_fds of linux.process_stats names no files: %s\n",
			      why);
		n++;
	}
	return n;
}

/* Each flush tells again what is past a list's own limit, so that has no number. */
static size_t tell_more(const char *what, uint64_t more, const struct name_list *l,
			struct strbuf *lines)
{
	if (more)
		strbuf_printf(lines, "and %llu more %s\n", (unsigned long long)more, what);
	else if (l->left_out)
		strbuf_printf(lines, "and more %s\n", what);
	return more || l->left_out;
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
		tell_missing(missing.names[i], events, i < MISSING_NEAREST, lines);
	n = missing.n;
	if (ftrace)
		n += tell_more("events that do not exist", ftrace->unknown_more, &ftrace->unknown,
			       lines);
	n += tell_files_missing(config, lines);
	name_list_deinit(&missing);

	if (ftrace) {
		failed_events_tell(&ftrace->failed, lines);
		n += ftrace->failed.n;
		n += tell_more("that could not be recorded", ftrace->failed_more, &ftrace->failed,
			       lines);
	}
	for (size_t i = 0; ftrace && i < ftrace->problems.n; i++, n++)
		strbuf_printf(lines, "ftrace: %s\n", ftrace->problems.names[i]);
	return n;
}

/* May it record something that is not in a list of events? */
static bool makes_events(const Pb__FtraceConfig *f)
{
	return f->n_ftrace_events == 0 || f->n_syscall_events || f->n_kprobe_events ||
	       f->n_uprobe_events || f->enable_function_graph || f->n_atrace_categories ||
	       f->n_atrace_apps;
}

/* What names processes beside the events, and records nothing by itself. */
static bool only_names(const Pb__DataSourceConfig *c)
{
	const Pb__ProcessStatsConfig *p = c ? c->process_stats_config : NULL;

	return c && c->name &&
	       (!strcmp(c->name, "linux.system_info") ||
		(!strcmp(c->name, "linux.process_stats") && (!p || !p->proc_stats_poll_ms)));
}

bool missing_all_events(const Pb__TraceConfig *config, const struct tracefs_events *events,
			struct strbuf *lines)
{
	bool any = false;

	if (config->trace_all_machines)
		return false;
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__TraceConfig__DataSource *d = config->data_sources[i];
		const Pb__FtraceConfig *f = ftrace_of(d);

		if (!f && only_names(d->config))
			continue;
		if (!f || makes_events(f) || d->n_machine_name_filter)
			return false;
		for (size_t k = 0; k < f->n_ftrace_events; k++)
			if (tracefs_events_has(events, f->ftrace_events[k]))
				return false;
		any = true;
	}
	if (any)
		missing_events(config, NULL, events, lines);
	return any;
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

		if (r->left_out || !d || !d->name || strcmp(d->name, source->config->name))
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
