/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_ftrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/system/syscall_names.h"
#include "base/text/str.h"
#include "cli/probes/user_probes.h"
#include "cli/record/option_values.h"

void *message_add_submessage(size_t *n, void *list, const ProtobufCMessageDescriptor *type)
{
	ProtobufCMessage ***messages = list, **longer;
	ProtobufCMessage *m = malloc(type->sizeof_message);

	longer = m ? realloc(*messages, (*n + 1) * sizeof(*longer)) : NULL;
	if (!longer) {
		free(m);
		return NULL;
	}
	type->message_init(m);
	*messages = longer;
	longer[(*n)++] = m;
	return m;
}

int message_set_string(char **field, const char *s)
{
	*field = strdup(s);
	return *field ? 0 : -ENOMEM;
}

int message_add_string(size_t *n, char ***list, const char *s)
{
	char **longer = realloc(*list, (*n + 1) * sizeof(*longer));

	if (!longer)
		return -ENOMEM;
	*list = longer;
	if (message_set_string(&longer[*n], s))
		return -ENOMEM;
	++*n;
	return 0;
}

static int add_strings(size_t *n, char ***list, const struct arg_list *from)
{
	int r = 0;

	for (size_t i = 0; i < from->n && !r; i++)
		r = message_add_string(n, list, from->args[i]);
	return r;
}

/* ---- options of an event ---- */

static int add_filter(Pb__FtraceConfig *f, const char *event, const char *expr)
{
	Pb__FtraceConfig__EventFilter *m =
		message_add_submessage(&f->n_event_filters, &f->event_filters,
				       &pb__ftrace_config__event_filter__descriptor);

	return m && !message_set_string(&m->event, event) && !message_set_string(&m->filter, expr)
		       ? 0
		       : -ENOMEM;
}

static int add_trigger(Pb__FtraceConfig *f, const char *event, const struct trigger *t)
{
	Pb__FtraceConfig__EventTrigger *m =
		message_add_submessage(&f->n_event_triggers, &f->event_triggers,
				       &pb__ftrace_config__event_trigger__descriptor);

	if (!m || message_set_string(&m->event, event) ||
	    (t->filter && message_set_string(&m->filter, t->filter)))
		return -ENOMEM;
	m->has_action = true;
	m->action = t->action;
	m->has_count = t->count != 0;
	m->count = t->count;
	return 0;
}

/* Adds the filters and triggers of one word to an event or pattern of that word. Several filters
 * are combined with AND. */
static int add_word_filters_and_triggers(const struct record_options *o, size_t word,
					 const char *event, Pb__FtraceConfig *f)
{
	int r = 0;

	for (size_t i = 0; i < o->n_filters && !r; i++)
		if (o->filters[i].word == word)
			r = add_filter(f, event, o->filters[i].expr);
	for (size_t i = 0; i < o->n_triggers && !r; i++)
		if (o->triggers[i].word == word)
			r = add_trigger(f, event, &o->triggers[i].trigger);
	return r;
}

/* Returns true if the event is still requested. Bare names and patterns are resolved by the
 * producer only. */
static bool record_ftrace_is_requested(const Pb__FtraceConfig *f, const char *event)
{
	if (!strchr(event, '/') || strpbrk(event, "*?["))
		return true;
	for (size_t i = 0; i < f->n_ftrace_events; i++)
		if (str_glob(f->ftrace_events[i], event))
			return true;
	return false;
}

static int put_filters_and_triggers(const struct record_options *o,
				    const struct tracefs_events *list, struct presets *presets,
				    Pb__FtraceConfig *f, struct err_text *e)
{
	int r = 0;

	for (size_t w = 0; w < o->words.n && !r && (o->n_filters || o->n_triggers); w++) {
		struct event_requests events = {0};

		r = event_pattern_parse(o->words.args[w], list, presets, &events, e);
		for (size_t i = 0; i < events.n && !r; i++)
			if (record_ftrace_is_requested(f, events.names[i]))
				r = add_word_filters_and_triggers(o, w, events.names[i], f);
		event_requests_deinit(&events);
	}
	return r;
}

int record_ftrace_put_events(const struct record_options *o, const struct tracefs_events *events,
			     struct presets *presets, struct event_requests *ret_idle,
			     Pb__FtraceConfig *f, struct err_text *e)
{
	struct event_requests requests = {0};
	struct arg_list words = {0};
	int r = 0;

	/* Events of the config come first, so that patterns with '!' exclude them, too. */
	for (size_t i = 0; i < f->n_ftrace_events && !r; i++)
		r = arg_list_add(&words, f->ftrace_events[i]);
	for (size_t i = 0; i < o->words.n && !r; i++)
		r = arg_list_add(&words, o->words.args[i]);
	if (!r)
		r = event_patterns_resolve(words.args, words.n, events, presets, &requests,
					   ret_idle, e);
	free(words.args);
	for (size_t i = 0; i < f->n_ftrace_events && !r; i++)
		free(f->ftrace_events[i]);
	if (!r)
		f->n_ftrace_events = 0;
	for (size_t i = 0; i < requests.n && !r; i++)
		r = message_add_string(&f->n_ftrace_events, &f->ftrace_events, requests.names[i]);
	event_requests_deinit(&requests);
	return r;
}

/* ---- options that create events ---- */

static bool name_begins_with(const char *name, size_t len, const char *with)
{
	return len >= strlen(with) && !memcmp(name, with, strlen(with));
}

/* Checks that a system call exists, unless the service runs on another machine, which may have
 * other calls. typed: the length of the part that the user typed, at the end of name. */
static int check_syscall(const struct record_options *o, const char *name, size_t typed,
			 struct err_text *e)
{
	const char *address = o->socket ? o->socket : sock_default_consumer();
	char nearest[SYSCALL_NAME_MAX];
	size_t added = strlen(name) - typed;
	uint32_t number;

	if (sock_is_remote(address) || syscall_name_resolve(name, &number, nearest) == 0)
		return 0;
	if (strlen(nearest) <= added)
		return err_set(e, -EINVAL, "--syscalls: there is no system call '%.80s'",
			       name + added);
	return err_set(e, -EINVAL, "--syscalls: there is no system call '%.80s'; did you mean %s?",
		       name + added, nearest + added);
}

/* Adds a system call. Names of system calls in the config begin with "sys_", or with "compat_sys_"
 * for 32-bit programs. */
static int add_syscall(const struct record_options *o, Pb__FtraceConfig *f, const char *name,
		       size_t len, struct err_text *e)
{
	struct strbuf b = {0};
	int r;

	strbuf_puts(&b, name_begins_with(name, len, "sys_") ||
					name_begins_with(name, len, "compat_sys_")
				? ""
				: "sys_");
	strbuf_add(&b, name, len);
	if (!len)
		r = err_set(e, -EINVAL, "--syscalls: empty name");
	else
		r = b.failed ? -ENOMEM : check_syscall(o, b.s, len, e);
	if (!r)
		r = message_add_string(&f->n_syscall_events, &f->syscall_events, b.s);
	strbuf_deinit(&b);
	return r;
}

static int put_syscalls(const struct record_options *o, Pb__FtraceConfig *f, struct err_text *e)
{
	const char *name, *end;
	int r = 0;

	for (size_t i = 0; i < o->syscalls.n; i++)
		for (name = o->syscalls.args[i]; !r; name = end + 1) {
			end = strchrnul(name, ',');
			r = add_syscall(o, f, name, (size_t)(end - name), e);
			if (!*end)
				break;
		}
	return r;
}

static Pb__FtraceConfig__KprobeEvent *find_kprobe_event(const Pb__FtraceConfig *f,
							const char *function)
{
	for (size_t i = 0; i < f->n_kprobe_events; i++)
		if (f->kprobe_events[i]->probe && !strcmp(f->kprobe_events[i]->probe, function))
			return f->kprobe_events[i];
	return NULL;
}

#define PROBE_TYPE(name) PB__FTRACE_CONFIG__KPROBE_EVENT__KPROBE_TYPE__KPROBE_TYPE_##name

/* Adds a probe of a bare function in the form that Perfetto's producers support, too. */
static int put_plain_kprobe(const struct kprobe_option *k, Pb__FtraceConfig *f)
{
	Pb__FtraceConfig__KprobeEvent *m = find_kprobe_event(f, k->probe);
	bool on_return = k->kind == USER_PROBE_RETURN;

	if (m) {
		/* A probe on the call and one on the return are merged into one of type BOTH. */
		if (k->kind == USER_PROBE_SPAN || on_return != (m->type == PROBE_TYPE(KRETPROBE)))
			m->type = PROBE_TYPE(BOTH);
		return 0;
	}
	m = message_add_submessage(&f->n_kprobe_events, &f->kprobe_events,
				   &pb__ftrace_config__kprobe_event__descriptor);
	if (!m)
		return -ENOMEM;
	m->has_type = true;
	m->type = on_return ? PROBE_TYPE(KRETPROBE) : PROBE_TYPE(KPROBE);
	if (k->kind == USER_PROBE_SPAN)
		m->type = PROBE_TYPE(BOTH);
	return message_set_string(&m->probe, k->probe);
}

static int put_kprobes(const struct record_options *o, Pb__FtraceConfig *f, struct err_text *e)
{
	struct user_probes lines = {0};
	struct strbuf line = {0};
	int r = 0;

	for (size_t i = 0; i < o->n_kprobes && !r; i++) {
		const struct kprobe_option *k = &o->kprobes[i];

		if (probe_lines_is_line(k->probe) && k->kind != USER_PROBE_CALL) {
			r = err_set(e, -EINVAL,
				    "--kretprobe expects the name of a function; pass '%.80s' with "
				    "--kprobe",
				    k->probe);
		} else if (probe_lines_is_line(k->probe)) {
			strbuf_puts(&line, k->probe);
			r = probe_lines_add(&lines, &line);
		} else if (strpbrk(k->probe, "(=+%:")) {
			r = user_probes_add_kernel(&lines, k->kind, k->probe, e);
		} else {
			r = put_plain_kprobe(k, f);
		}
	}
	for (size_t i = 0; i < lines.n && !r; i++) {
		Pb__FtraceConfig__KprobeEvent *m =
			message_add_submessage(&f->n_kprobe_events, &f->kprobe_events,
					       &pb__ftrace_config__kprobe_event__descriptor);

		r = m ? message_set_string(&m->definition, lines.lines[i]) : -ENOMEM;
	}
	strbuf_deinit(&line);
	user_probes_deinit(&lines);
	return r;
}

/* Converts the --uprobe options to lines of uprobe_events, and appends them to f. Returns 0,
 * -ENOMEM, or -EINVAL and sets e. */
static int put_uprobes(const struct record_options *o, Pb__FtraceConfig *f, struct err_text *e)
{
	const char *address = o->socket ? o->socket : sock_default_consumer();
	struct user_probes found = {0};
	int r = 0;

	for (size_t i = 0; i < o->n_uprobes && !r; i++)
		r = sock_is_remote(address) && !probe_lines_is_line(o->uprobes[i].probe)
			    ? err_set(e, -EINVAL,
				      "%.200s: functions cannot be looked up on another machine; "
				      "pass 'p:NAME FILE:OFFSET'",
				      o->uprobes[i].probe)
			    : user_probes_add(&found, o->uprobes[i].kind, o->uprobes[i].probe, e);
	for (size_t i = 0; i < found.n && !r; i++)
		r = message_add_string(&f->n_uprobe_events, &f->uprobe_events, found.lines[i]);
	user_probes_deinit(&found);
	return r;
}

static int put_probes(const struct record_options *o, Pb__FtraceConfig *f, struct err_text *e)
{
	int r = put_kprobes(o, f, e);

	return r ? r : put_uprobes(o, f, e);
}

int record_ftrace_find_probes(const struct record_options *o, Pb__FtraceConfig *f,
			      struct err_text *e)
{
	const char *address = o->socket ? o->socket : sock_default_consumer();
	struct user_probes found = {0};
	int r = 0;

	if (sock_is_remote(address))
		return 0;
	for (size_t i = 0; i < f->n_uprobe_events && !r; i++) {
		if (!probe_lines_names_function(f->uprobe_events[i]))
			continue;
		r = user_probes_add(&found, USER_PROBE_CALL, f->uprobe_events[i], e);
		if (!r) {
			free(f->uprobe_events[i]);
			f->uprobe_events[i] = TAKE_PTR(found.lines[found.n - 1]);
			found.n--;
		}
	}
	user_probes_deinit(&found);
	return r;
}

static int put_function_graph(const struct record_options *o, Pb__FtraceConfig *f)
{
	int r;

	if (!o->function_graph)
		return 0;
	f->has_enable_function_graph = f->enable_function_graph = true;
	if (o->graph_depth) {
		f->has_function_graph_max_depth = true;
		f->function_graph_max_depth = o->graph_depth;
	}
	r = add_strings(&f->n_function_graph_roots, &f->function_graph_roots, &o->graph_roots);
	return r ? r : add_strings(&f->n_function_filters, &f->function_filters, &o->graph_filters);
}

/* Returns true if the recording needs kernel symbols: stacks and graphs contain kernel
 * addresses. */
static bool needs_symbols(const struct record_options *o)
{
	for (size_t i = 0; i < o->n_triggers; i++)
		if (o->triggers[i].trigger.action ==
		    PB__FTRACE_CONFIG__EVENT_TRIGGER__ACTION__ACTION_STACKTRACE)
			return true;
	return o->ksyms || o->function_graph;
}

/* ---- ring buffers ---- */

static void set_number_if_given(protobuf_c_boolean *has, uint32_t *field, uint32_t number)
{
	if (!number)
		return;
	*has = true;
	*field = number;
}

int record_ftrace_put_rings(const struct record_options *o, Pb__FtraceConfig *f)
{
	struct strbuf mask = {0};
	int r = 0;

	set_number_if_given(&f->has_buffer_size_kb, &f->buffer_size_kb, o->ring_kb);
	set_number_if_given(&f->has_subbuf_size_kb, &f->subbuf_size_kb, o->subbuf_kb);
	if (o->has_clock) {
		f->has_use_monotonic_raw_clock = o->mono_raw_clock;
		f->use_monotonic_raw_clock = o->mono_raw_clock;
	}
	if (o->has_cpus) {
		cpu_list_put_mask(&o->cpus, &mask);
		free(TAKE_PTR(f->tracing_cpumask));
		r = mask.failed ? -ENOMEM : message_set_string(&f->tracing_cpumask, mask.s);
	}
	strbuf_deinit(&mask);
	return r;
}

int record_ftrace_put_options(const struct record_options *o, const struct tracefs_events *events,
			      struct presets *presets, Pb__FtraceConfig *f, struct err_text *e)
{
	int r = put_filters_and_triggers(o, events, presets, f, e);

	if (!r)
		r = put_syscalls(o, f, e);
	if (!r)
		r = put_probes(o, f, e);
	if (!r)
		r = put_function_graph(o, f);
	if (needs_symbols(o))
		f->has_symbolize_ksyms = f->symbolize_ksyms = true;
	return r;
}
