/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/recording_sources.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/name_list.h"
#include "base/core/err.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/report/config_sources.h"
#include "cli/report/missing_events.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"

static void source_producers_deinit(struct source_producers *p)
{
	free(p->ids);
	name_list_deinit(&p->names);
	*p = (struct source_producers){0};
}

static bool recording_sources_is_requested(const Pb__TraceConfig *config, const char *source)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (c && c->name && !strcmp(c->name, source))
			return true;
	}
	return false;
}

static const Pb__TracingServiceState__Producer *recording_sources_find_producer(
	const Pb__TracingServiceState *state, int32_t id)
{
	for (size_t i = 0; i < state->n_producers; i++)
		if (state->producers[i]->id == id)
			return state->producers[i];
	return NULL;
}

static bool has_producer_id(const struct source_producers *p, int32_t id)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->ids[i] == id)
			return true;
	return false;
}

static void recording_sources_add_producer(struct source_producers *p,
					   const Pb__TracingServiceState__Producer *producer)
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

/* Notes, at the start of a recording, the producers of the config's "linux." data sources. Skips a
 * producer if memory runs out. */
static void source_producers_add(struct source_producers *p, const Pb__TraceConfig *config,
				 const Pb__TracingServiceState *state)
{
	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__TracingServiceState__DataSource *s = state->data_sources[i];
		const Pb__TracingServiceState__Producer *producer =
			recording_sources_find_producer(state, s->producer_id);

		if (!producer || !s->ds_descriptor || !s->ds_descriptor->name ||
		    !str_starts(s->ds_descriptor->name, "linux.") ||
		    !recording_sources_is_requested(config, s->ds_descriptor->name) ||
		    has_producer_id(p, producer->id))
			continue;
		recording_sources_add_producer(p, producer);
	}
}

/* Adds to ret, at the end of a recording, the noted producers that are no longer connected. */
static void source_producers_list_disconnected(const struct source_producers *p,
					       const Pb__TracingServiceState *state,
					       struct name_list *ret)
{
	for (size_t i = 0; i < p->n; i++)
		if (!recording_sources_find_producer(state, p->ids[i]))
			name_list_add(ret, (const uint8_t *)p->names.names[i],
				      strlen(p->names.names[i]));
}

/* Returns true if the config has patterns that only sonda supports. All producers support "group/
 * *". */
static bool has_patterns(const Pb__FtraceConfig *f)
{
	for (size_t i = 0; i < f->n_ftrace_events; i++) {
		const char *name = f->ftrace_events[i];
		const char *wild = strpbrk(name, "*?[");

		if (wild && !(wild > name && wild[-1] == '/' && !strcmp(wild, "*")))
			return true;
	}
	return false;
}

static bool has_probe_definitions(const Pb__FtraceConfig *f)
{
	for (size_t i = 0; i < f->n_kprobe_events; i++)
		if (f->kprobe_events[i]->definition)
			return true;
	return false;
}

struct field {
	const char *name; /* name in a config */
	const char *option; /* name on the command line */
	bool is_used;
	bool essential; /* without it other events would be recorded, not only fewer */
};

#define FIELDS 9

static void list_sonda_fields(const Pb__DataSourceConfig *c, const Pb__FtraceConfig *f,
			      struct field ret[static FIELDS])
{
	const struct field fields[FIELDS] = {
		{"event_filters", "--filter", f->n_event_filters, true},
		{"event_triggers", "--trigger", f->n_event_triggers, false},
		{"pids_to_trace", "-p", f->n_pids_to_trace && !f->n_tids_to_trace, true},
		{"subject_config", "--unit, --container, --pod, --cgroup, --program",
		 c->subject_config, true},
		{"follow_children", "children of -p and COMMAND", f->follow_children, false},
		{"uprobe_events", "--uprobe", f->n_uprobe_events, false},
		{"kprobe_events.definition", "--kprobe with a line", has_probe_definitions(f),
		 false},
		{"subbuf_size_kb", "--subbuf", f->subbuf_size_kb, false},
		{"patterns in ftrace_events", "'*irq*'", has_patterns(f), false},
	};

	memcpy(ret, fields, sizeof(fields));
}

/* Appends a producer: "perfetto.traced_probes (pid 12, Perfetto v56.0)". */
static void put_producer(const Pb__TracingServiceState__Producer *p, struct strbuf *b)
{
	strbuf_printf(b, "%.200s (pid %d", p->name ? p->name : "a producer", p->pid);
	if (p->sdk_version && *p->sdk_version)
		strbuf_printf(b, ", %.80s", p->sdk_version);
	strbuf_putc(b, ')');
}

static int add_ignored_field(const struct field *field, const Pb__TracingServiceState__Producer *p,
			     struct name_list *ret_skipped, struct err_text *e)
{
	struct strbuf b = {0};
	int r = 0;

	if (field->essential) {
		put_producer(p, &b);
		r = err_set(
			e, -EOPNOTSUPP,
			"%s (%s) needs sonda-probes; here linux.ftrace is provided by %s, which "
			"would record more than requested",
			field->name, field->option, b.s ? b.s : "a producer");
	} else {
		strbuf_printf(&b, "%s (%s) needs sonda-probes; it is ignored by ", field->name,
			      field->option);
		put_producer(p, &b);
		if (b.s)
			name_list_add_text(ret_skipped, (const uint8_t *)b.s, b.len);
	}
	strbuf_deinit(&b);
	return r;
}

static const Pb__TracingServiceState__Producer *recording_sources_producer_of(
	const Pb__TracingServiceState *state, const Pb__TracingServiceState__DataSource *s)
{
	for (size_t i = 0; i < state->n_producers; i++)
		if (state->producers[i]->id == s->producer_id)
			return state->producers[i];
	return NULL;
}

/* Returns the producer of this registration if it would get the source but ignore its fields; else
 * NULL. */
static const Pb__TracingServiceState__Producer *find_producer_without_field(
	const Pb__TraceConfig *config, const Pb__TraceConfig__DataSource *source,
	const Pb__TracingServiceState *state, const Pb__TracingServiceState__DataSource *s)
{
	const Pb__TracingServiceState__Producer *p = recording_sources_producer_of(state, s);
	const Pb__DataSourceDescriptor *d = s->ds_descriptor;

	if (!p || s->left_out || !d || !d->name || strcmp(d->name, "linux.ftrace") ||
	    (d->ftrace_descriptor && d->ftrace_descriptor->knows_own_fields) ||
	    config_sources_match(config, source, p) != SOURCE_GIVEN)
		return NULL;
	return p;
}

static int check_source_fields(const Pb__TraceConfig *config,
			       const Pb__TraceConfig__DataSource *source,
			       const Pb__TracingServiceState *state, struct name_list *ret_skipped,
			       struct err_text *e)
{
	const Pb__TracingServiceState__Producer *p;
	struct field fields[FIELDS];
	int r = 0;

	list_sonda_fields(source->config, source->config->ftrace_config, fields);
	for (size_t i = 0; i < state->n_data_sources; i++) {
		p = find_producer_without_field(config, source, state, state->data_sources[i]);
		for (size_t k = 0; p && k < FIELDS && !r; k++)
			if (fields[k].is_used)
				r = add_ignored_field(&fields[k], p, ret_skipped, e);
	}
	return r;
}

/*
 * FtraceConfig fields 20000 and up, and event patterns, are extensions of sonda. Other producers
 * ignore them silently. Producers that support them declare it in their FtraceDescriptor.
 *
 * Checks the producers that would get the config's linux.ftrace. Returns 0, and adds a sentence to
 * ret_skipped for each field that a producer ignores. Returns -EOPNOTSUPP and sets e if, without a
 * field, other events than those requested would be recorded.
 */
static int check_own_fields(const Pb__TraceConfig *config, const Pb__TracingServiceState *state,
			    struct name_list *ret_skipped, struct err_text *e)
{
	int r = 0;

	for (size_t i = 0; i < config->n_data_sources && !r; i++) {
		const Pb__TraceConfig__DataSource *s = config->data_sources[i];

		if (s->config && s->config->name && !strcmp(s->config->name, "linux.ftrace") &&
		    s->config->ftrace_config)
			r = check_source_fields(config, s, state, ret_skipped, e);
	}
	return r;
}

#define LINES_LISTED 20 /* lines of a warning; the summary counts the others */

void recording_sources_deinit(struct recording_sources *s)
{
	name_list_deinit(&s->missing);
	name_list_deinit(&s->left_out);
	name_list_deinit(&s->skipped);
	name_list_deinit(&s->offered);
	name_list_deinit(&s->gone);
	source_producers_deinit(&s->producers);
}

static void count_offered_sources(struct recording_sources *s, const Pb__TracingServiceState *state)
{
	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__DataSourceDescriptor *d = state->data_sources[i]->ds_descriptor;

		if (d && d->name)
			name_list_add(&s->offered, (const uint8_t *)d->name, strlen(d->name));
	}
}

/* Sets e: none of the recording's data sources exists. Returns -ENODEV. */
static int refuse_missing_sources(const struct recording_sources *s, struct err_text *e)
{
	const char *name = s->missing.names[0],
		   *nearest = config_sources_nearest(&s->offered, name);

	return err_set(
		e, -ENODEV, "nothing to record: no producer provides the data source '%.80s'%s%s%s",
		name, nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

int recording_sources_begin(struct recording_sources *s, const Pb__TraceConfig *config,
			    const Pb__TracingServiceState *state, struct err_text *e)
{
	count_offered_sources(s, state);
	source_producers_add(&s->producers, config, state);
	config_sources_list_missing(config, state, &s->missing, &s->left_out);
	if (config_sources_are_all_missing(config, &s->missing, &s->offered))
		return refuse_missing_sources(s, e);
	return check_own_fields(config, state, &s->skipped, e);
}

static void keep_common_names(struct name_list *first, const struct name_list *second)
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

	config_sources_list_missing(config, state, &missing, &left_out);
	keep_common_names(&s->missing, &missing);
	keep_common_names(&s->left_out, &left_out);
	source_producers_list_disconnected(&s->producers, state, &s->gone);
	name_list_deinit(&missing);
	name_list_deinit(&left_out);
}

/* Returns true for the data source of programs. They start and end at any time, so it may be
 * missing at the start. */
static bool is_program_source(const char *source)
{
	return strcmp(source, "track_event") == 0;
}

/* Cuts the text after the first LINES_LISTED lines. */
static void truncate_lines(struct strbuf *lines, size_t from)
{
	char *p = lines->s + from;

	for (int i = 0; i < LINES_LISTED && *p; i++)
		p = strchr(p, '\n') + 1;
	if (!*p)
		return;
	lines->len = (size_t)(p - lines->s);
	*p = '\0';
	strbuf_puts(lines, "and others like these\n");
}

void recording_sources_warn(const struct recording_sources *s, const Pb__TraceConfig *config,
			    const struct tracefs_events *events, bool runs_command,
			    struct strbuf *lines)
{
	size_t from = lines->len;

	for (size_t i = 0; i < s->missing.n; i++) {
		const char *nearest = config_sources_nearest(&s->offered, s->missing.names[i]);

		if (is_program_source(s->missing.names[i])) {
			if (!runs_command)
				strbuf_puts(lines, "no running program provides track events; "
						   "programs that start later are recorded\n");
			continue;
		}
		strbuf_printf(lines, "no producer provides the data source '%s' yet%s%s%s\n",
			      s->missing.names[i], nearest ? "; did you mean " : "",
			      nearest ? nearest : "", nearest ? "?" : "");
	}
	for (size_t i = 0; i < s->left_out.n; i++)
		strbuf_printf(lines, "%s\n", s->left_out.names[i]);
	for (size_t i = 0; i < s->skipped.n; i++)
		strbuf_printf(lines, "%s\n", s->skipped.names[i]);
	missing_events_write(config, NULL, events, lines);
	if (lines->s && !lines->failed)
		truncate_lines(lines, from);
}
