/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/record/option_values.h"
#include "config/limits.h"
#include "config/trace_config.h"

/*
 * The message is built in place. Each part is allocated separately, as protobuf-c does when it
 * unpacks a message, and protobuf-c frees it. The message is valid at every step, so the error path
 * frees it like any other.
 *
 *	config -- buffers: [0] the ring of events <---+      [1] "names" <--+
 *	       +- data_sources: linux.ftrace ---------+                     |
 *	                        linux.process_stats   names of processes ---+
 *	                        linux.system_info -------------------------+
 *
 * Two buffers, so that events overwrite only events, not names. The ring of names also wraps on a
 * machine that starts many processes. Therefore process_stats writes the names of tasks again after
 * each ClearIncrementalState.
 */

/* ---- parts of a message ---- */

/* Appends an element to a repeated message field. Returns NULL if memory is out. */
static void *add_message(size_t *n, void *list, const ProtobufCMessageDescriptor *type)
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

static int set_string(char **field, const char *s)
{
	*field = strdup(s);
	return *field ? 0 : -ENOMEM;
}

static int add_string(size_t *n, char ***list, const char *s)
{
	char **longer = realloc(*list, (*n + 1) * sizeof(*longer));

	if (!longer)
		return -ENOMEM;
	*list = longer;
	if (set_string(&longer[*n], s))
		return -ENOMEM;
	++*n;
	return 0;
}

static int add_strings(size_t *n, char ***list, const struct arg_list *from)
{
	int r = 0;

	for (size_t i = 0; i < from->n && !r; i++)
		r = add_string(n, list, from->args[i]);
	return r;
}

/* ---- options of an event ---- */

static int add_filter(Pb__FtraceConfig *f, const char *event, const char *expr)
{
	Pb__FtraceConfig__EventFilter *m =
		add_message(&f->n_event_filters, &f->event_filters,
			    &pb__ftrace_config__event_filter__descriptor);

	return m && !set_string(&m->event, event) && !set_string(&m->filter, expr) ? 0 : -ENOMEM;
}

static int add_trigger(Pb__FtraceConfig *f, const char *event, const struct trigger *t)
{
	Pb__FtraceConfig__EventTrigger *m =
		add_message(&f->n_event_triggers, &f->event_triggers,
			    &pb__ftrace_config__event_trigger__descriptor);

	if (!m || set_string(&m->event, event) || (t->filter && set_string(&m->filter, t->filter)))
		return -ENOMEM;
	m->has_action = true;
	m->action = t->action;
	m->has_count = t->count != 0;
	m->count = t->count;
	return 0;
}

/* Adds the filters and triggers of one word to an event or pattern of that word. Several filters
 * are combined with AND. */
static int add_extras(const struct record_options *o, size_t word, const char *event,
		      Pb__FtraceConfig *f)
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
static bool is_requested(const Pb__FtraceConfig *f, const char *event)
{
	if (!strchr(event, '/') || strpbrk(event, "*?["))
		return true;
	for (size_t i = 0; i < f->n_ftrace_events; i++)
		if (str_glob(f->ftrace_events[i], event))
			return true;
	return false;
}

static int put_extras(const struct record_options *o, const struct tracefs_events *list,
		      Pb__FtraceConfig *f, struct err_text *e)
{
	int r = 0;

	for (size_t w = 0; w < o->words.n && !r && (o->n_filters || o->n_triggers); w++) {
		struct event_requests events = {0};

		r = event_pattern_read(o->words.args[w], list, &events, e);
		for (size_t i = 0; i < events.n && !r; i++)
			if (is_requested(f, events.names[i]))
				r = add_extras(o, w, events.names[i], f);
		event_requests_deinit(&events);
	}
	return r;
}

static int put_events(const struct record_options *o, const struct tracefs_events *events,
		      struct err_text *e, struct event_requests *ret_idle, Pb__FtraceConfig *f)
{
	struct event_requests requests = {0};
	int r = event_patterns_read(o->words.args, o->words.n, events, &requests, ret_idle, e);

	for (size_t i = 0; i < requests.n && !r; i++)
		r = add_string(&f->n_ftrace_events, &f->ftrace_events, requests.names[i]);
	event_requests_deinit(&requests);
	return r ? r : put_extras(o, events, f, e);
}

/* ---- options that create events ---- */

static bool begins(const char *name, size_t len, const char *with)
{
	return len >= strlen(with) && !memcmp(name, with, strlen(with));
}

/* Names of system calls in the config begin with "sys_", or with "compat_sys_" for 32-bit
 * programs. */
static int add_syscall(Pb__FtraceConfig *f, const char *name, size_t len, struct err_text *e)
{
	struct strbuf b = {0};
	int r;

	strbuf_puts(&b,
		    begins(name, len, "sys_") || begins(name, len, "compat_sys_") ? "" : "sys_");
	strbuf_add(&b, name, len);
	if (!len)
		r = err_set(e, -EINVAL, "--syscalls: a name is empty");
	else
		r = b.failed ? -ENOMEM : add_string(&f->n_syscall_events, &f->syscall_events, b.s);
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
			r = add_syscall(f, name, (size_t)(end - name), e);
			if (!*end)
				break;
		}
	return r;
}

/* Returns true for a line of kprobe_events ("p:name function ...", "r10:name function ..."), false
 * for a function. */
static bool is_probe_line(const char *probe)
{
	size_t digits;

	if (*probe != 'p' && *probe != 'r')
		return false;
	digits = strspn(probe + 1, "0123456789");
	return probe[1 + digits] == ':' || probe[1 + digits] == ' ';
}

static Pb__FtraceConfig__KprobeEvent *find_probe(const Pb__FtraceConfig *f, const char *function)
{
	for (size_t i = 0; i < f->n_kprobe_events; i++)
		if (f->kprobe_events[i]->probe && !strcmp(f->kprobe_events[i]->probe, function))
			return f->kprobe_events[i];
	return NULL;
}

#define PROBE_TYPE(name) PB__FTRACE_CONFIG__KPROBE_EVENT__KPROBE_TYPE__KPROBE_TYPE_##name

static int put_probe(const struct kprobe_option *k, Pb__FtraceConfig *f, struct err_text *e)
{
	Pb__FtraceConfig__KprobeEvent *m = find_probe(f, k->probe);

	if (k->on_return && is_probe_line(k->probe))
		return err_set(
			e, -EINVAL,
			"--kretprobe takes the name of a function; pass '%.80s' with --kprobe",
			k->probe);
	if (m) {
		/* A probe on the call and one on the return are merged into one of type BOTH. */
		if (k->on_return != (m->type == PROBE_TYPE(KRETPROBE)))
			m->type = PROBE_TYPE(BOTH);
		return 0;
	}
	m = add_message(&f->n_kprobe_events, &f->kprobe_events,
			&pb__ftrace_config__kprobe_event__descriptor);
	if (!m)
		return -ENOMEM;
	if (is_probe_line(k->probe))
		return set_string(&m->definition, k->probe);
	m->has_type = true;
	m->type = k->on_return ? PROBE_TYPE(KRETPROBE) : PROBE_TYPE(KPROBE);
	return set_string(&m->probe, k->probe);
}

static int put_probes(const struct record_options *o, Pb__FtraceConfig *f, struct err_text *e)
{
	int r = 0;

	for (size_t i = 0; i < o->n_kprobes && !r; i++)
		r = put_probe(&o->kprobes[i], f, e);
	return r ? r : add_strings(&f->n_uprobe_events, &f->uprobe_events, &o->uprobes);
}

static int put_graph(const struct record_options *o, Pb__FtraceConfig *f)
{
	int r;

	f->has_enable_function_graph = f->enable_function_graph = o->function_graph;
	f->has_function_graph_max_depth = o->graph_depth != 0;
	f->function_graph_max_depth = o->graph_depth;
	r = add_strings(&f->n_function_graph_roots, &f->function_graph_roots, &o->graph_roots);
	return r ? r : add_strings(&f->n_function_filters, &f->function_filters, &o->graph_filters);
}

/* Returns true if the recording needs kernel symbols: stacks and graphs contain kernel
 * addresses. */
static bool wants_symbols(const struct record_options *o)
{
	for (size_t i = 0; i < o->n_triggers; i++)
		if (o->triggers[i].trigger.action ==
		    PB__FTRACE_CONFIG__EVENT_TRIGGER__ACTION__ACTION_STACKTRACE)
			return true;
	return o->ksyms || o->function_graph;
}

/* ---- ring buffers ---- */

static int put_ring(const struct record_options *o, Pb__FtraceConfig *f)
{
	struct strbuf mask = {0};
	int r = 0;

	f->has_buffer_size_kb = o->ring_kb != 0;
	f->buffer_size_kb = o->ring_kb;
	f->has_subbuf_size_kb = o->subbuf_kb != 0;
	f->subbuf_size_kb = o->subbuf_kb;
	f->has_use_monotonic_raw_clock = f->use_monotonic_raw_clock = o->mono_raw_clock;
	if (o->has_cpus) {
		cpu_list_mask(&o->cpus, &mask);
		r = mask.failed ? -ENOMEM : set_string(&f->tracing_cpumask, mask.s);
	}
	strbuf_deinit(&mask);
	return r;
}

static int put_ftrace(const struct record_options *o, const struct tracefs_events *events,
		      struct err_text *e, struct event_requests *ret_idle, Pb__FtraceConfig *f)
{
	int r = put_events(o, events, e, ret_idle, f);

	if (!r)
		r = put_syscalls(o, f, e);
	if (!r)
		r = put_probes(o, f, e);
	if (!r)
		r = put_graph(o, f);
	f->has_symbolize_ksyms = f->symbolize_ksyms = wants_symbols(o);
	return r ? r : put_ring(o, f);
}

/* ---- the whole config ---- */

enum { EVENTS_BUFFER, NAMES_BUFFER };

static Pb__DataSourceConfig *add_source(Pb__TraceConfig *config, const char *name, uint32_t buffer)
{
	Pb__TraceConfig__DataSource *s = add_message(&config->n_data_sources, &config->data_sources,
						     &pb__trace_config__data_source__descriptor);

	if (!s)
		return NULL;
	s->config = malloc(sizeof(*s->config));
	if (!s->config)
		return NULL;
	pb__data_source_config__init(s->config);
	s->config->has_target_buffer = buffer != 0;
	s->config->target_buffer = buffer;
	return set_string(&s->config->name, name) ? NULL : s->config;
}

/* Adds a ring buffer. name NULL: none. */
static int add_ring(Pb__TraceConfig *config, const char *name, uint32_t size_kb)
{
	Pb__TraceConfig__BufferConfig *buffer = add_message(
		&config->n_buffers, &config->buffers, &pb__trace_config__buffer_config__descriptor);

	if (!buffer || (name && set_string(&buffer->name, name)))
		return -ENOMEM;
	buffer->has_size_kb = true;
	buffer->size_kb = size_kb;
	buffer->has_fill_policy = true;
	buffer->fill_policy = PB__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__RING_BUFFER;
	return 0;
}

static uint32_t events_kb(const struct record_options *o)
{
	return o->buffer_kb ? o->buffer_kb : DEFAULT_RECORD_BUFFER_KB;
}

/* Returns the size of the ring of names. A machine that starts processes all the time fills the
 * ring of events about 8 times as fast (150 bytes a process). The kernel allocates memory only when
 * it is written. */
static uint32_t names_kb(const struct record_options *o)
{
	return MAX(NAMES_BUFFER_MIN_KB, events_kb(o) / 8);
}

static int put_names_again(Pb__TraceConfig *config)
{
	Pb__TraceConfig__IncrementalStateConfig *c = malloc(sizeof(*c));

	if (!c)
		return -ENOMEM;
	pb__trace_config__incremental_state_config__init(c);
	c->has_clear_period_ms = true;
	c->clear_period_ms = NAMES_AGAIN_PERIOD_MS;
	config->incremental_state_config = c;
	return 0;
}

/* Requests that the daemons keep their priority while they record. */
static Pb__PriorityBoostConfig *no_boost(void)
{
	Pb__PriorityBoostConfig *b = malloc(sizeof(*b));

	if (!b)
		return NULL;
	pb__priority_boost_config__init(b);
	b->has_policy = b->has_priority = true;
	b->policy = PB__PRIORITY_BOOST_CONFIG__BOOST_POLICY__POLICY_SCHED_OTHER;
	return b;
}

static int put_frame(const struct record_options *o, Pb__TraceConfig *config)
{
	int r = add_ring(config, NULL, events_kb(o));

	/* A streamed trace has no ring buffer to overwrite. */
	if (!r && !record_options_stream(o))
		r = add_ring(config, NAMES_BUFFER_NAME, names_kb(o));
	if (!r && !record_options_stream(o))
		r = put_names_again(config);
	if (r)
		return r;
	config->has_duration_ms = o->duration_ms != 0;
	config->duration_ms = o->duration_ms;
	config->has_flush_period_ms = true;
	config->flush_period_ms = DEFAULT_FLUSH_PERIOD_MS;
	return 0;
}

static int put_processes(Pb__DataSourceConfig *source)
{
	Pb__ProcessStatsConfig *p = malloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	pb__process_stats_config__init(p);
	p->has_scan_all_processes_on_start = p->scan_all_processes_on_start = true;
	p->has_record_thread_names = p->record_thread_names = true;
	source->process_stats_config = p;
	return 0;
}

/* ---- events of programs ---- */

/* Adds each name of a list with commas. */
static int add_names(size_t *n, char ***list, const char *names)
{
	_cleanup_(freep) char *copy = strdup(names);
	char *rest = copy, *name;
	int r = copy ? 0 : -ENOMEM;

	while (!r && (name = strsep(&rest, ",")))
		if (*name)
			r = add_string(n, list, name);
	return r;
}

/* Without the disabled "*", programs record what no name matches. */
static int put_apps(const struct record_options *o, Pb__TraceConfig *config)
{
	Pb__DataSourceConfig *source = add_source(config, "track_event", EVENTS_BUFFER);
	Pb__TrackEventConfig *t = source ? malloc(sizeof(*t)) : NULL;
	int r;

	if (!t)
		return -ENOMEM;
	pb__track_event_config__init(t);
	source->track_event_config = t;
	r = add_string(&t->n_disabled_categories, &t->disabled_categories, "*");
	for (size_t i = 0; i < o->apps.n && !r; i++)
		r = add_names(&t->n_enabled_categories, &t->enabled_categories, o->apps.args[i]);
	return r;
}

static int put_kernel(const struct record_options *o, const struct tracefs_events *events,
		      struct err_text *e, struct event_requests *ret_idle, Pb__TraceConfig *config)
{
	Pb__DataSourceConfig *source = add_source(config, "linux.ftrace", EVENTS_BUFFER);

	if (!source)
		return -ENOMEM;
	source->ftrace_config = malloc(sizeof(*source->ftrace_config));
	if (!source->ftrace_config)
		return -ENOMEM;
	pb__ftrace_config__init(source->ftrace_config);
	if (o->no_priority && !(source->priority_boost = no_boost()))
		return -ENOMEM;
	return put_ftrace(o, events, e, ret_idle, source->ftrace_config);
}

static int build(const struct record_options *o, const struct tracefs_events *events,
		 struct err_text *e, struct event_requests *ret_idle, Pb__TraceConfig *config)
{
	Pb__DataSourceConfig *processes;
	unsigned names = record_options_stream(o) ? EVENTS_BUFFER : NAMES_BUFFER;
	int r = put_frame(o, config);

	if (!r && record_options_kernel(o))
		r = put_kernel(o, events, e, ret_idle, config);
	if (r)
		return r;
	processes = add_source(config, "linux.process_stats", names);
	if (!processes || !add_source(config, "linux.system_info", names))
		return -ENOMEM;
	r = put_processes(processes);
	if (!r && o->no_priority && !(config->priority_boost = no_boost()))
		r = -ENOMEM;
	return r || !o->apps.n ? r : put_apps(o, config);
}

int record_config_from_words(const struct record_options *o, const struct tracefs_events *events,
			     struct err_text *e, struct event_requests *ret_idle,
			     Pb__TraceConfig **ret)
{
	Pb__TraceConfig *config = malloc(sizeof(*config));
	int r;

	if (!config)
		return -ENOMEM;
	pb__trace_config__init(config);
	r = build(o, events, e, ret_idle, config);
	if (r)
		pb__trace_config__free_unpacked(config, NULL);
	else
		*ret = config;
	return r;
}

static int set_numbers(size_t *n, uint32_t **list, const uint32_t *numbers, size_t count)
{
	uint32_t *copy = malloc(count * sizeof(*copy) + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, numbers, count * sizeof(*copy));
	free(*list);
	*list = copy;
	*n = count;
	return 0;
}

/* Returns NULL if no event of the kernel is named. */
static Pb__FtraceConfig *ftrace_of(const Pb__TraceConfig *config)
{
	return config->data_sources[0]->config->ftrace_config;
}

int record_config_set_tids(Pb__TraceConfig *config, const uint32_t *tids, size_t n)
{
	Pb__FtraceConfig *f = ftrace_of(config);

	if (!f)
		return 0;
	f->has_follow_children = f->follow_children = true;
	return set_numbers(&f->n_tids_to_trace, &f->tids_to_trace, tids, n);
}

/* sonda-probes follows threads that are created from here on. A producer that does not support
 * pids_to_trace records only the threads that exist now. */
int record_config_set_pids(Pb__TraceConfig *config, const struct pid_list *pids, struct err_text *e)
{
	_cleanup_(freep) uint32_t *tids = NULL;
	Pb__FtraceConfig *f;
	size_t n;
	int r = pid_tasks_list("/proc", pids, &tids, &n, e);

	if (!r)
		r = record_config_set_tids(config, tids, n);
	if (!r) {
		f = ftrace_of(config);
		r = !f ? 0
		       : set_numbers(&f->n_pids_to_trace, &f->pids_to_trace, pids->pids, pids->n);
	}
	return r == -ENOMEM ? err_set(e, r, "no memory") : r;
}

void record_config_stream(Pb__TraceConfig *config, uint64_t max_bytes)
{
	config->has_write_into_file = config->write_into_file = true;
	config->has_file_write_period_ms = true;
	config->file_write_period_ms = STREAM_WRITE_PERIOD_MS;
	/* Let the kernel write the file back as usual, without fsync. */
	config->has_fflush_post_write = true;
	config->fflush_post_write = PB__TRACE_CONFIG__FFLUSH_MODE__FFLUSH_DISABLED;
	config->has_max_file_size_bytes = max_bytes != 0;
	config->max_file_size_bytes = max_bytes;
}

int record_config_pack(const Pb__TraceConfig *config, uint8_t **ret_bytes, size_t *ret_len)
{
	size_t len = pb__trace_config__get_packed_size(config);
	uint8_t *bytes = malloc(len + 1);

	if (!bytes)
		return -ENOMEM;
	*ret_len = pb__trace_config__pack(config, bytes);
	*ret_bytes = bytes;
	return 0;
}
