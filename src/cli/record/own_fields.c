// SPDX-License-Identifier: Apache-2.0
#include "cli/record/own_fields.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/report/source_match.h"

/* "group/ *" is everybody's. */
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

static bool has_definitions(const Pb__FtraceConfig *f)
{
	for (size_t i = 0; i < f->n_kprobe_events; i++)
		if (f->kprobe_events[i]->definition)
			return true;
	return false;
}

struct field {
	const char *name; /* as in a config */
	const char *option; /* as in words */
	bool is_used;
	bool essential; /* without it something else would be recorded, not just less */
};

#define FIELDS 8

static void list_fields(const Pb__FtraceConfig *f, struct field ret[static FIELDS])
{
	const struct field fields[FIELDS] = {
		{"event_filters", "--filter", f->n_event_filters, true},
		{"event_triggers", "--trigger", f->n_event_triggers, false},
		{"pids_to_trace", "-p", f->n_pids_to_trace && !f->n_tids_to_trace, true},
		{"follow_children", "children of -p and COMMAND", f->follow_children, false},
		{"uprobe_events", "--uprobe", f->n_uprobe_events, false},
		{"kprobe_events.definition", "--kprobe with a line", has_definitions(f), false},
		{"subbuf_size_kb", "--subbuf", f->subbuf_size_kb, false},
		{"patterns in ftrace_events", "'*irq*'", has_patterns(f), false},
	};

	memcpy(ret, fields, sizeof(fields));
}

/* "perfetto.traced_probes (pid 12, Perfetto v56.0)" */
static void put_producer(const Pb__TracingServiceState__Producer *p, struct strbuf *b)
{
	strbuf_printf(b, "%.200s (pid %d", p->name ? p->name : "a producer", p->pid);
	if (p->sdk_version && *p->sdk_version)
		strbuf_printf(b, ", %.80s", p->sdk_version);
	strbuf_putc(b, ')');
}

static int tell(const struct field *field, const Pb__TracingServiceState__Producer *p,
		struct name_list *ret_skipped, struct err_text *e)
{
	struct strbuf b = {0};
	int r = 0;

	if (field->essential) {
		put_producer(p, &b);
		r = err_set(e, -EOPNOTSUPP,
			    "%s (%s) needs sonda-probes; here linux.ftrace is offered by %s, which "
			    "would record more than was asked for",
			    field->name, field->option, b.s ? b.s : "a producer");
	} else {
		strbuf_printf(&b, "%s (%s) needs sonda-probes; it is skipped by ", field->name,
			      field->option);
		put_producer(p, &b);
		if (b.s)
			name_list_add_text(ret_skipped, (const uint8_t *)b.s, b.len);
	}
	strbuf_deinit(&b);
	return r;
}

static const Pb__TracingServiceState__Producer *producer_of(
	const Pb__TracingServiceState *state, const Pb__TracingServiceState__DataSource *s)
{
	for (size_t i = 0; i < state->n_producers; i++)
		if (state->producers[i]->id == s->producer_id)
			return state->producers[i];
	return NULL;
}

/* Who would get the source and not see its fields; NULL: this registration is not such a one. */
static const Pb__TracingServiceState__Producer *blind_producer(
	const Pb__TraceConfig *config, const Pb__TraceConfig__DataSource *source,
	const Pb__TracingServiceState *state, const Pb__TracingServiceState__DataSource *s)
{
	const Pb__TracingServiceState__Producer *p = producer_of(state, s);
	const Pb__DataSourceDescriptor *d = s->ds_descriptor;

	if (!p || s->left_out || !d || !d->name || strcmp(d->name, "linux.ftrace") ||
	    (d->ftrace_descriptor && d->ftrace_descriptor->knows_own_fields) ||
	    source_match(config, source, p) != SOURCE_GIVEN)
		return NULL;
	return p;
}

static int check_source(const Pb__TraceConfig *config, const Pb__TraceConfig__DataSource *source,
			const Pb__TracingServiceState *state, struct name_list *ret_skipped,
			struct err_text *e)
{
	const Pb__TracingServiceState__Producer *p;
	struct field fields[FIELDS];
	int r = 0;

	list_fields(source->config->ftrace_config, fields);
	for (size_t i = 0; i < state->n_data_sources; i++) {
		p = blind_producer(config, source, state, state->data_sources[i]);
		for (size_t k = 0; p && k < FIELDS && !r; k++)
			if (fields[k].is_used)
				r = tell(&fields[k], p, ret_skipped, e);
	}
	return r;
}

int own_fields_check(const Pb__TraceConfig *config, const Pb__TracingServiceState *state,
		     struct name_list *ret_skipped, struct err_text *e)
{
	int r = 0;

	for (size_t i = 0; i < config->n_data_sources && !r; i++) {
		const Pb__TraceConfig__DataSource *s = config->data_sources[i];

		if (s->config && s->config->name && !strcmp(s->config->name, "linux.ftrace") &&
		    s->config->ftrace_config)
			r = check_source(config, s, state, ret_skipped, e);
	}
	return r;
}
