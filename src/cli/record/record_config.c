/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/record/hist_option.h"
#include "cli/record/option_values.h"
#include "cli/record/record_ftrace.h"
#include "cli/record/waits_option.h"
#include "cli/report/config_sources.h"
#include "config/limits.h"
#include "config/source_merge.h"

static int record_presets_refuse(const char *name, size_t len, struct presets *presets,
				 struct err_text *e)
{
	char word[PRESET_MAX_NAME], nearest[STR_NEAREST_SIZE];

	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	if (presets_nearest(presets, word, nearest))
		return err_set(e, -EINVAL, "there is no preset '%s'; did you mean %s?", word,
			       nearest);
	return err_set(e, -EINVAL, "there is no preset '%s'; see sonda list presets", word);
}

int record_presets_check(const struct record_options *o, struct presets *presets,
			 struct err_text *e)
{
	const char *rest, *part;
	size_t len, n;
	int r = 0;

	for (size_t i = 0; i < o->presets.n && !r; i++) {
		rest = o->presets.args[i];
		for (n = 0; !r && (part = event_pattern_next(&rest, &len)); n++)
			r = presets_has(presets, part, len)
				    ? 0
				    : record_presets_refuse(part, len, presets, e);
		if (!r && !n)
			r = err_set(e, -EINVAL, "-P needs the name of a preset");
	}
	return r;
}

/* The presets that the words name, without those that a later word with '!' excludes. */
struct chosen {
	const struct preset **list; /* owned array; borrowed from presets */
	size_t n;
	size_t cap;
};

static bool remove_preset_choice(struct chosen *c, const struct preset *preset)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->list[i] != preset)
			continue;
		memmove(&c->list[i], &c->list[i + 1], (--c->n - i) * sizeof(*c->list));
		return true;
	}
	return false;
}

static int record_presets_choose(struct chosen *c, const struct preset *preset)
{
	remove_preset_choice(c, preset);
	if (array_reserve(&c->list, &c->cap, c->n + 1, sizeof(*c->list)))
		return -ENOMEM;
	c->list[c->n++] = preset;
	return 0;
}

/* Removes from idle a word that has excluded a preset, although it has excluded no event. */
static void remove_idle_word(struct event_requests *idle, const char *word)
{
	for (size_t i = 0; i < idle->n; i++)
		if (!strcmp(idle->names[i], word)) {
			free(idle->names[i]);
			idle->names[i] = idle->names[--idle->n];
			return;
		}
}

static int choose_presets_of_word(const char *word, struct presets *presets, struct chosen *c,
				  struct event_requests *idle, struct err_text *e)
{
	bool negative = event_pattern_is_negative(word);
	const char *rest = word + negative, *part;
	const struct preset *preset;
	size_t len;
	int r = 0;

	while (!r && (part = event_pattern_next(&rest, &len))) {
		r = presets_find(presets, part, len, &preset, e);
		if (r == -ENOENT)
			r = 0;
		else if (!r && !negative)
			r = record_presets_choose(c, preset);
		else if (!r && remove_preset_choice(c, preset))
			remove_idle_word(idle, word);
	}
	return r;
}

/* Adds the data sources of a preset. Its events were selected with the other words. */
static int record_presets_add_preset(Pb__TraceConfig *config, const struct preset *preset,
				     uint32_t buffer)
{
	int r = 0;

	for (size_t i = 0; i < preset->config->n_data_sources && !r; i++) {
		Pb__DataSourceConfig *c = preset->config->data_sources[i]->config;
		Pb__FtraceConfig *f = c->ftrace_config;
		size_t n = f ? f->n_ftrace_events : 0;

		if (f)
			f->n_ftrace_events = 0;
		if (!f || pb__ftrace_config__get_packed_size(f))
			r = config_add_source(config, c, buffer);
		if (f)
			f->n_ftrace_events = n;
	}
	return r;
}

/* Adds the data sources of the presets that the words name (presets may be NULL), without
 * ftrace_events, which are selected with the events of all words. buffer: for new data sources.
 * Words with '!' that exclude a preset are removed from idle. Returns 0, -EINVAL and sets e, or
 * -ENOMEM. */
static int record_presets_put(const struct record_options *o, struct presets *presets,
			      struct event_requests *idle, uint32_t buffer, Pb__TraceConfig *config,
			      struct err_text *e)
{
	struct chosen c = {0};
	int r = 0;

	for (size_t i = 0; i < o->words.n && presets && !r; i++)
		r = choose_presets_of_word(o->words.args[i], presets, &c, idle, e);
	for (size_t i = 0; i < c.n && !r; i++)
		r = record_presets_add_preset(config, c.list[i], buffer);
	free(c.list);
	return r;
}

/*
 *	config -- buffers: [0] the ring of events <---+      [1] "names" <--+
 *	       +- data_sources: linux.ftrace ---------+                     |
 *	                        those of presets ------+                     |
 *	                        linux.process_stats   names of processes ---+
 *	                        linux.system_info -------------------------+
 *
 * Two buffers, so that events overwrite only events, not names. The ring of names also wraps on a
 * machine that starts many processes. Therefore process_stats writes the names of tasks again after
 * each ClearIncrementalState.
 */

/* ---- buffers, and settings of the session ---- */

enum { EVENTS_BUFFER, NAMES_BUFFER };

static Pb__DataSourceConfig *record_config_add_source(Pb__TraceConfig *config, const char *name,
						      uint32_t buffer)
{
	Pb__TraceConfig__DataSource *s =
		message_add_submessage(&config->n_data_sources, &config->data_sources,
				       &pb__trace_config__data_source__descriptor);

	if (!s)
		return NULL;
	s->config = malloc(sizeof(*s->config));
	if (!s->config)
		return NULL;
	pb__data_source_config__init(s->config);
	s->config->has_target_buffer = buffer != 0;
	s->config->target_buffer = buffer;
	return message_set_string(&s->config->name, name) ? NULL : s->config;
}

/* Adds a ring buffer. name NULL: none. */
static int add_ring(Pb__TraceConfig *config, const char *name, uint32_t size_kb)
{
	Pb__TraceConfig__BufferConfig *buffer = message_add_submessage(
		&config->n_buffers, &config->buffers, &pb__trace_config__buffer_config__descriptor);

	if (!buffer || (name && message_set_string(&buffer->name, name)))
		return -ENOMEM;
	buffer->has_size_kb = true;
	buffer->size_kb = size_kb;
	buffer->has_fill_policy = true;
	buffer->fill_policy = PB__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__RING_BUFFER;
	return 0;
}

static uint32_t events_buffer_kb(const struct record_options *o)
{
	return o->buffer_kb ? o->buffer_kb : DEFAULT_RECORD_BUFFER_KB;
}

/* Returns the size of the ring of names, an eighth of that of events: even if processes start all
 * the time (150 bytes each), the events arrive about 8 times as fast. The kernel allocates a page
 * only when it is first written. */
static uint32_t names_buffer_kb(const struct record_options *o)
{
	return MAX(NAMES_BUFFER_MIN_KB, events_buffer_kb(o) / 8);
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

/* Returns the config by which the daemons keep their priority while they record; NULL: no memory.
 * The caller owns it. */
static Pb__PriorityBoostConfig *make_no_boost_config(void)
{
	Pb__PriorityBoostConfig *b = malloc(sizeof(*b));

	if (!b)
		return NULL;
	pb__priority_boost_config__init(b);
	b->has_policy = b->has_priority = true;
	b->policy = PB__PRIORITY_BOOST_CONFIG__BOOST_POLICY__POLICY_SCHED_OTHER;
	return b;
}

static int put_buffers_and_limits(const struct record_options *o, Pb__TraceConfig *config)
{
	int r = add_ring(config, NULL, events_buffer_kb(o));

	/* A streamed trace does not overwrite names, so it needs no ring for them. */
	if (!r && !record_options_want_streaming(o))
		r = add_ring(config, NAMES_BUFFER_NAME, names_buffer_kb(o));
	if (!r && !record_options_want_streaming(o))
		r = put_names_again(config);
	if (r)
		return r;
	config->has_duration_ms = o->duration_ms != 0;
	config->duration_ms = o->duration_ms;
	config->has_flush_period_ms = true;
	config->flush_period_ms = DEFAULT_FLUSH_PERIOD_MS;
	return 0;
}

/* ---- -c with words and options ---- */

/* Returns the index of the buffer of the kernel's events. Data sources that words and options add
 * use it, too. */
static uint32_t events_buffer(const Pb__TraceConfig *config)
{
	const Pb__DataSourceConfig *ftrace = config_find_ftrace(config);
	const char *name = ftrace ? ftrace->target_buffer_name : NULL;

	for (uint32_t i = 0; name && i < config->n_buffers; i++)
		if (config->buffers[i]->name && !strcmp(config->buffers[i]->name, name))
			return i;
	return ftrace && ftrace->target_buffer < config->n_buffers ? ftrace->target_buffer : 0;
}

static int override_limits(const struct record_options *o, Pb__TraceConfig *config,
			   struct err_text *e)
{
	Pb__TraceConfig__BufferConfig *buffer;

	if (o->max_bytes && !config->write_into_file)
		return err_set(e, -EINVAL,
			       "--max-size needs write_into_file in the config: without it the "
			       "buffers limit the trace");
	if (o->max_bytes) {
		config->has_max_file_size_bytes = true;
		config->max_file_size_bytes = o->max_bytes;
	}
	if (o->duration_ms) {
		config->has_duration_ms = true;
		config->duration_ms = o->duration_ms;
	}
	if (!config->n_buffers)
		return add_ring(config, NULL, events_buffer_kb(o));
	buffer = config->buffers[events_buffer(config)];
	if (o->buffer_kb) {
		buffer->has_size_kb = true;
		buffer->size_kb = o->buffer_kb;
	}
	return 0;
}

/* ---- names of processes ---- */

/* Adds the data sources that name processes and describe the machine, unless the user's config has
 * them. */
static int put_names(const struct record_options *o, Pb__TraceConfig *config)
{
	Pb__ProcessStatsConfig names = PB__PROCESS_STATS_CONFIG__INIT;
	Pb__DataSourceConfig processes = PB__DATA_SOURCE_CONFIG__INIT;
	Pb__DataSourceConfig machine = PB__DATA_SOURCE_CONFIG__INIT;
	uint32_t buffer = EVENTS_BUFFER;
	int r = 0;

	if (o->config)
		buffer = events_buffer(config);
	else if (!record_options_want_streaming(o))
		buffer = NAMES_BUFFER;
	names.has_scan_all_processes_on_start = names.scan_all_processes_on_start = true;
	names.has_record_thread_names = names.record_thread_names = true;
	processes.name = (char *)"linux.process_stats";
	processes.process_stats_config = &names;
	machine.name = (char *)"linux.system_info";
	if (!o->config || !config_requests_source(config, processes.name))
		r = config_add_source(config, &processes, buffer);
	if (!r && !config_requests_source(config, machine.name))
		r = config_add_source(config, &machine, buffer);
	return r;
}

/* ---- events of programs ---- */

static void string_list_free(size_t n, char **list)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

/* Adds each name of a list with commas. */
static int add_names(size_t *n, char ***list, const char *names)
{
	_cleanup_(freep) char *copy = strdup(names);
	char *rest = copy, *name;
	int r = copy ? 0 : -ENOMEM;

	while (!r && (name = strsep(&rest, ",")))
		if (*name)
			r = message_add_string(n, list, name);
	return r;
}

/* Adds the data source of track events. Disables "*", because otherwise programs would also record
 * categories that match none of the names. */
static int put_apps(const struct record_options *o, Pb__TraceConfig *config)
{
	Pb__DataSourceConfig source = PB__DATA_SOURCE_CONFIG__INIT;
	Pb__TrackEventConfig t = PB__TRACK_EVENT_CONFIG__INIT;
	int r = message_add_string(&t.n_disabled_categories, &t.disabled_categories, "*");

	for (size_t i = 0; i < o->apps.n && !r; i++)
		r = add_names(&t.n_enabled_categories, &t.enabled_categories, o->apps.args[i]);
	source.name = (char *)"track_event";
	source.track_event_config = &t;
	if (!r)
		r = config_add_source(config, &source, events_buffer(config));
	string_list_free(t.n_disabled_categories, t.disabled_categories);
	string_list_free(t.n_enabled_categories, t.enabled_categories);
	return r;
}

/* ---- call stacks ---- */

static int put_stacks(const struct record_options *o, Pb__TraceConfig *config)
{
	Pb__DataSourceConfig source = PB__DATA_SOURCE_CONFIG__INIT;
	Pb__PerfEventConfig perf = PB__PERF_EVENT_CONFIG__INIT;
	Pb__PerfEvents__Timebase timebase = PB__PERF_EVENTS__TIMEBASE__INIT;
	Pb__PerfEventConfig__CallstackSampling stacks =
		PB__PERF_EVENT_CONFIG__CALLSTACK_SAMPLING__INIT;

	timebase.interval_case = PB__PERF_EVENTS__TIMEBASE__INTERVAL_FREQUENCY;
	timebase.frequency = o->stack_hz;
	timebase.event_case = PB__PERF_EVENTS__TIMEBASE__EVENT_COUNTER;
	timebase.counter = PB__PERF_EVENTS__COUNTER__SW_CPU_CLOCK;
	stacks.has_kernel_frames = stacks.kernel_frames = true;
	stacks.has_user_frames = true;
	stacks.user_frames = PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_DWARF;
	perf.timebase = &timebase;
	perf.callstack_sampling = &stacks;
	source.name = (char *)"linux.perf";
	source.perf_event_config = &perf;
	return config_add_source(config, &source, events_buffer(config));
}

/* ---- system calls with their strings ---- */

static int put_strace(const struct record_options *o, Pb__TraceConfig *config)
{
	Pb__DataSourceConfig source = PB__DATA_SOURCE_CONFIG__INIT;
	Pb__SyscallsConfig calls = PB__SYSCALLS_CONFIG__INIT;
	int r = 0;

	for (size_t i = 0; i < o->straced.n && !r; i++)
		r = add_names(&calls.n_calls, &calls.calls, o->straced.args[i]);
	source.name = (char *)"linux.syscalls";
	source.syscalls_config = &calls;
	if (!r)
		r = config_add_source(config, &source, events_buffer(config));
	string_list_free(calls.n_calls, calls.calls);
	return r;
}

/* ---- events of the kernel ---- */

static int ensure_ftrace(Pb__TraceConfig *config, Pb__FtraceConfig **ret)
{
	Pb__DataSourceConfig *source = config_find_ftrace(config);

	if (!source)
		source = record_config_add_source(config, "linux.ftrace", events_buffer(config));
	if (!source)
		return -ENOMEM;
	if (!source->ftrace_config) {
		source->ftrace_config = malloc(sizeof(*source->ftrace_config));
		if (!source->ftrace_config)
			return -ENOMEM;
		pb__ftrace_config__init(source->ftrace_config);
	}
	*ret = source->ftrace_config;
	return 0;
}

/* Selects the events of the words; adds linux.ftrace if there are any, or options create some. */
static int record_config_put_events(const struct record_options *o,
				    const struct tracefs_events *events, struct presets *presets,
				    struct event_requests *ret_idle, Pb__TraceConfig *config,
				    struct err_text *e)
{
	Pb__FtraceConfig chosen = PB__FTRACE_CONFIG__INIT, *f = &chosen;
	const Pb__DataSourceConfig *old = config_find_ftrace(config);
	bool creates = o->syscalls.n || o->n_kprobes || o->n_uprobes || o->function_graph;
	int r = 0;

	if (!o->words.n && !creates)
		return 0;
	if (old && old->ftrace_config)
		f = old->ftrace_config;
	if (o->words.n)
		r = record_ftrace_put_events(o, events, presets, ret_idle, f, e);
	if (!r && f == &chosen && (chosen.n_ftrace_events || creates))
		r = ensure_ftrace(config, &f);
	if (!r && f != &chosen && chosen.n_ftrace_events) {
		f->n_ftrace_events = chosen.n_ftrace_events;
		f->ftrace_events = chosen.ftrace_events;
		return 0;
	}
	string_list_free(chosen.n_ftrace_events, chosen.ftrace_events);
	return r;
}

/* Restricts the samples of call stacks to the CPUs of -C. */
static int put_sampled_cpus(const struct record_options *o, Pb__DataSourceConfig *source)
{
	Pb__PerfEventConfig *perf = source->perf_event_config;

	if (!o->has_cpus)
		return 0;
	if (!perf) {
		perf = source->perf_event_config = malloc(sizeof(*perf));
		if (!perf)
			return -ENOMEM;
		pb__perf_event_config__init(perf);
	}
	free(TAKE_PTR(perf->target_cpu));
	perf->n_target_cpu = 0;
	return cpu_list_get_numbers(&o->cpus, &perf->target_cpu, &perf->n_target_cpu);
}

/* Returns true if sonda-probes raises its priority for the data source by default. */
static bool is_read_in_time(const Pb__DataSourceConfig *source)
{
	static const char *const names[] = {"linux.ftrace", "linux.perf", "linux.waits",
					    "linux.syscalls"};

	for (size_t i = 0; source->name && i < ARRAY_SIZE(names); i++)
		if (!strcmp(source->name, names[i]))
			return true;
	return false;
}

/* Adds the options of all linux.ftrace and linux.perf: of their rings and CPUs. Adds the daemon's
 * priority to all data sources that change it. */
static int put_kernel_source_options(const struct record_options *o, Pb__TraceConfig *config,
				     struct err_text *e)
{
	int r = 0;

	for (size_t i = 0; i < config->n_data_sources && !r; i++) {
		Pb__DataSourceConfig *source = config->data_sources[i]->config;

		if (source && source->name && !strcmp(source->name, "linux.perf"))
			r = put_sampled_cpus(o, source);
		if (!r && o->no_priority && source && is_read_in_time(source) &&
		    !source->priority_boost && !(source->priority_boost = make_no_boost_config()))
			r = -ENOMEM;
		if (!config_source_ftrace(config->data_sources[i]))
			continue;
		if (!r)
			r = record_ftrace_put_rings(o, source->ftrace_config);
		if (!r)
			r = record_ftrace_find_probes(o, source->ftrace_config, e);
	}
	return r;
}

/* Adds the options of kernel events to the data sources that the other functions have added; call
 * it after them. Returns 0, -EINVAL and sets e, or -ENOMEM. */
static int put_event_options(const struct record_options *o, const struct tracefs_events *events,
			     struct presets *presets, Pb__TraceConfig *config, struct err_text *e)
{
	bool has_events = config_requests_source(config, "linux.ftrace");
	const char *unused = record_options_first_ring_option(o);
	Pb__FtraceConfig *f;
	int r = 0;

	if (unused && !has_events &&
	    !(!strcmp(unused, "-C") && config_requests_source(config, "linux.perf")))
		return err_set(e, -EINVAL,
			       "%s applies only to kernel events, and none are recorded", unused);
	if (config_find_ftrace(config)) {
		r = ensure_ftrace(config, &f);
		if (!r)
			r = record_ftrace_put_options(o, events, presets, f, e);
	}
	return r ? r : put_kernel_source_options(o, config, e);
}

static int build_config(const struct record_options *o, const struct tracefs_events *events,
			struct presets *presets, struct err_text *e,
			struct event_requests *ret_idle, Pb__TraceConfig *config)
{
	int r = o->config ? override_limits(o, config, e) : put_buffers_and_limits(o, config);

	if (!r)
		r = record_config_put_events(o, events, presets, ret_idle, config, e);
	if (!r)
		r = record_presets_put(o, presets, ret_idle, events_buffer(config), config, e);
	if (!r && record_options_name_something(o))
		r = put_names(o, config);
	if (!r && o->stack_hz)
		r = put_stacks(o, config);
	for (size_t i = 0; i < o->waits.n && !r; i++)
		r = waits_option_put(o->waits.args[i], config, e);
	if (!r && o->strace)
		r = put_strace(o, config);
	if (!r && o->histograms.n)
		r = hist_option_put(o->histograms.args, o->histograms.n, events,
				    events_buffer(config), config, e);
	if (!r)
		r = put_event_options(o, events, presets, config, e);
	if (!r && o->no_priority && !config->priority_boost &&
	    !(config->priority_boost = make_no_boost_config()))
		r = -ENOMEM;
	if (o->all_machines)
		config->has_trace_all_machines = config->trace_all_machines = true;
	return r || !o->apps.n ? r : put_apps(o, config);
}

int record_config_build(const struct record_options *o, const struct tracefs_events *events,
			struct presets *presets, struct err_text *e,
			struct event_requests *ret_idle, Pb__TraceConfig **config)
{
	if (!*config) {
		*config = malloc(sizeof(**config));
		if (!*config)
			return -ENOMEM;
		pb__trace_config__init(*config);
	}
	return build_config(o, events, presets, e, ret_idle, *config);
}

void record_config_enable_streaming(Pb__TraceConfig *config, uint64_t max_bytes)
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
