/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/config_sources.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/text/regex.h"
#include "base/text/str.h"

/* ---- requests ---- */

const Pb__FtraceConfig *config_source_ftrace(const Pb__TraceConfig__DataSource *source)
{
	const Pb__DataSourceConfig *c = source->config;

	return c && c->name && !strcmp(c->name, "linux.ftrace") ? c->ftrace_config : NULL;
}

const Pb__PerfEventConfig *config_source_perf(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (c && c->name && !strcmp(c->name, "linux.perf") && c->perf_event_config)
			return c->perf_event_config;
	}
	return NULL;
}

bool config_requests_ftrace(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++)
		if (config_source_ftrace(config->data_sources[i]))
			return true;
	return false;
}

bool config_requests_only_ftrace(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++)
		if (!config_source_ftrace(config->data_sources[i]))
			return false;
	return config->n_data_sources != 0;
}

bool config_source_only_names_processes(const Pb__DataSourceConfig *c)
{
	const Pb__ProcessStatsConfig *p = c ? c->process_stats_config : NULL;

	return c && c->name &&
	       (!strcmp(c->name, "linux.system_info") ||
		(!strcmp(c->name, "linux.process_stats") && (!p || !p->proc_stats_poll_ms)));
}

bool config_requests_source(const Pb__TraceConfig *config, const char *name)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (c && c->name && !strcmp(c->name, name))
			return true;
	}
	return false;
}

/*
 * A producer must match the machine filter first, then one of the name filters, if there are any.
 *
 * A service reports the machine of a remote producer, but not its own machine name. That name comes
 * from PERFETTO_MACHINE_NAME in the service's environment, for which we take ours, or else from
 * uname(2).
 *
 * An expression that base/text/regex.h does not support may be valid for another service: it is not
 * evaluated.
 */

#define REGEX_STEPS (1u << 24)

static bool list_has_text(char *const *list, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], text))
			return true;
	return false;
}

/* ---- machines ---- */

static bool names_this_host(const Pb__TraceConfig__DataSource *s)
{
	const char *name = getenv("PERFETTO_MACHINE_NAME");
	char *const *list = s->machine_name_filter;
	size_t n = s->n_machine_name_filter;
	struct utsname u;

	if (list_has_text(list, n, "host"))
		return true;
	if (name && *name)
		return list_has_text(list, n, name);
	return uname(&u) < 0 || list_has_text(list, n, u.sysname);
}

static bool machine_filter_passes(const Pb__TraceConfig *config,
				  const Pb__TraceConfig__DataSource *s,
				  const Pb__TracingServiceState__Producer *p)
{
	bool remote = p->has_machine_id && p->machine_id;

	if (s->n_machine_name_filter == 0)
		return !remote || config->trace_all_machines;
	if (!remote)
		return names_this_host(s);
	return !p->machine_name ||
	       list_has_text(s->machine_name_filter, s->n_machine_name_filter, p->machine_name);
}

/* ---- names ---- */

static bool does_regex_match(const char *pattern, const char *name)
{
	uint64_t steps = REGEX_STEPS;
	struct regex *re;
	int r;

	if (regex_new(pattern, NULL, &re) < 0)
		return true;
	r = regex_match(re, REGEX_WHOLE, name, strlen(name), 0, NULL, &steps);
	regex_free(re);
	return r != 0;
}

static bool producer_name_passes(const Pb__TraceConfig__DataSource *s, const char *name)
{
	if (!name || (s->n_producer_name_filter == 0 && s->n_producer_name_regex_filter == 0))
		return true;
	if (list_has_text(s->producer_name_filter, s->n_producer_name_filter, name))
		return true;
	for (size_t i = 0; i < s->n_producer_name_regex_filter; i++)
		if (does_regex_match(s->producer_name_regex_filter[i], name))
			return true;
	return false;
}

enum config_source_match config_sources_match(const Pb__TraceConfig *config,
					      const Pb__TraceConfig__DataSource *source,
					      const Pb__TracingServiceState__Producer *producer)
{
	if (!machine_filter_passes(config, source, producer))
		return SOURCE_OTHER_MACHINE;
	return producer_name_passes(source, producer->name) ? SOURCE_GIVEN : SOURCE_OTHER_PRODUCER;
}

/* ---- data sources ---- */

static const Pb__TracingServiceState__Producer *config_sources_producer_of(
	const Pb__TracingServiceState *state, int32_t id)
{
	static const Pb__TracingServiceState__Producer unknown =
		PB__TRACING_SERVICE_STATE__PRODUCER__INIT;

	for (size_t i = 0; i < state->n_producers; i++)
		if (state->producers[i]->id == id)
			return state->producers[i];
	return &unknown;
}

/* Finds the best match of a source among all producers that have registered it. Returns false if
 * none has. */
static bool find_best_match(const Pb__TraceConfig *config,
			    const Pb__TraceConfig__DataSource *source,
			    const Pb__TracingServiceState *state, enum config_source_match *ret)
{
	enum config_source_match m;
	bool found = false;

	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__TracingServiceState__DataSource *r = state->data_sources[i];
		const Pb__DataSourceDescriptor *d = r->ds_descriptor;

		if (r->left_out || !d || !d->name || strcmp(d->name, source->config->name))
			continue;
		m = config_sources_match(config, source,
					 config_sources_producer_of(state, r->producer_id));
		*ret = found && *ret < m ? *ret : m;
		found = true;
	}
	return found;
}

static void config_sources_add_text(struct name_list *l, const char *s)
{
	name_list_add(l, (const uint8_t *)s, strlen(s));
}

static void put_filter(struct strbuf *s, const char *field, char *const *values, size_t n)
{
	if (n)
		strbuf_printf(s, " %s \"%s\"%s", field, values[0], n > 1 ? ", ..." : "");
}

static void add_left_out_source(const Pb__TraceConfig__DataSource *d, enum config_source_match why,
				struct name_list *ret)
{
	struct strbuf s = {0};

	strbuf_printf(&s, "data source '%s' is not recorded: ", d->config->name);
	if (why == SOURCE_OTHER_MACHINE && d->n_machine_name_filter == 0) {
		strbuf_puts(&s,
			    "only other machines provide it, and trace_all_machines is not set");
	} else {
		strbuf_puts(&s, "none of its producers match");
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
		config_sources_add_text(ret, s.s);
	strbuf_deinit(&s);
}

void config_sources_list_missing(const Pb__TraceConfig *config,
				 const Pb__TracingServiceState *state, struct name_list *ret_names,
				 struct name_list *ret_left_out)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__TraceConfig__DataSource *d = config->data_sources[i];
		enum config_source_match match;

		if (!d->config || !d->config->name || !*d->config->name)
			continue;
		if (!find_best_match(config, d, state, &match))
			config_sources_add_text(ret_names, d->config->name);
		else if (match != SOURCE_GIVEN)
			add_left_out_source(d, match, ret_left_out);
	}
}

/* ---- names that no producer offers ---- */

const char *config_sources_nearest(const struct name_list *offered, const char *name)
{
	struct str_nearest nearest;

	str_nearest_init(&nearest, name);
	for (size_t i = 0; i < offered->n; i++)
		str_nearest_try(&nearest, offered->names[i]);
	return str_nearest_get(&nearest);
}

static bool is_kernel_source(const char *name)
{
	return str_starts(name, "linux.");
}

/* Returns true if no producer is going to register the name: it begins with "linux.", or the
 * nearest name that is offered does. Only the daemons of the kernel's data sources register such
 * names, and they have done so. */
static bool source_is_out_of_reach(const struct name_list *offered, const char *name)
{
	const char *meant;

	if (is_kernel_source(name))
		return strcmp(name, "linux.perf") != 0; /* a daemon of its own registers it */
	meant = config_sources_nearest(offered, name);
	return meant && is_kernel_source(meant);
}

bool config_sources_are_all_missing(const Pb__TraceConfig *config, const struct name_list *missing,
				    const struct name_list *offered)
{
	bool any = false, kernel = false;

	for (size_t i = 0; i < offered->n; i++)
		kernel = kernel || is_kernel_source(offered->names[i]);
	if (!kernel || config->trace_all_machines)
		return false;
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__TraceConfig__DataSource *d = config->data_sources[i];

		if (config_source_only_names_processes(d->config))
			continue;
		if (!d->config || !d->config->name || d->n_machine_name_filter ||
		    !name_list_has(missing, d->config->name) ||
		    !source_is_out_of_reach(offered, d->config->name))
			return false;
		any = true;
	}
	return any;
}
