// SPDX-License-Identifier: Apache-2.0
/*
 * Words become ftrace_events, in the order given, each once:
 *
 *	sched              the events that together tell who ran when, and who is who
 *	group:name         group/name
 *	group/ *           as it is: the producer expands it, also for events that come later
 *	other patterns     what matches in available_events, since producers do not expand them
 *	anything else      as it is
 *
 * The message is built on the stack out of borrowed pieces, and then copied by packing and
 * unpacking it, which gives the caller one that protobuf-c can free.
 */

#include "cli/record_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "config/limits.h"
#include "config/trace_config.h"

/* ---- words ---- */

static const char *const sched_events[] = {
	"sched/sched_switch",	    "sched/sched_waking",	"sched/sched_wakeup_new",
	"sched/sched_process_exec", "sched/sched_process_exit", "sched/sched_process_fork",
	"sched/sched_process_free", /* the end of a process, to readers of traces */
	"task/task_newtask",	    "task/task_rename",
};

struct word_list {
	char **words; /* owned, each owned */
	size_t n;
	size_t cap;
};

static void word_list_deinit(struct word_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->words[i]);
	free(l->words);
}

static int word_list_add(struct word_list *l, const char *word, struct err_text *e)
{
	char *copy;

	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->words[i], word))
			return 0;
	if (l->n >= RECORD_CONFIG_MAX_EVENTS)
		return err_set(e, -EINVAL, "more than %d events", RECORD_CONFIG_MAX_EVENTS);
	if (array_reserve(&l->words, &l->cap, l->n + 1, sizeof(*l->words)))
		return -ENOMEM;
	copy = strdup(word);
	if (!copy)
		return -ENOMEM;
	l->words[l->n++] = copy;
	return 0;
}

static int expand(struct word_list *l, const char *pattern, const struct tracefs_events *events,
		  struct err_text *e)
{
	size_t before = l->n;
	int r = 0;

	if (!events)
		return err_set(e, -EINVAL,
			       "'%s': this pattern takes a look at the kernel's events, and "
			       "available_events of tracefs cannot be read",
			       pattern);
	for (size_t i = 0; i < events->n && !r; i++) {
		const char *event = events->names[i];
		const char *subject = strchr(pattern, '/') ? event : strchr(event, '/') + 1;

		if (str_glob(pattern, subject))
			r = word_list_add(l, event, e);
	}
	return r || l->n > before ? r : word_list_add(l, pattern, e);
}

/* What the producer's rules allow, too: printable, at most one '/', and that not at an end. */
static bool can_be_event(const char *word)
{
	const char *slash = strchr(word, '/');

	for (const char *p = word; *p; p++)
		if (*p <= ' ' || *p > '~')
			return false;
	return *word && slash != word && (!slash || (slash[1] && !strchr(slash + 1, '/')));
}

static int add_word(struct word_list *l, const char *typed, const struct tracefs_events *events,
		    struct err_text *e)
{
	char word[TRACEFS_EVENTS_MAX_NAME];
	size_t len = strlen(typed), wild;
	char *colon;
	int r = 0;

	if (!strcmp(typed, "sched")) {
		for (size_t i = 0; i < ARRAY_SIZE(sched_events) && !r; i++)
			r = word_list_add(l, sched_events[i], e);
		return r;
	}
	if (len >= sizeof(word) || !can_be_event(typed))
		return err_set(e, -EINVAL, "'%.80s' cannot be the name of an event", typed);
	memcpy(word, typed, len + 1);
	colon = strchr(word, ':');
	if (colon && !strchr(word, '/'))
		*colon = '/';
	if (!can_be_event(word))
		return err_set(e, -EINVAL, "'%s' cannot be the name of an event", typed);
	wild = strcspn(word, "*?[");
	if (!word[wild] || (wild == len - 1 && wild && word[wild] == '*' && word[wild - 1] == '/'))
		return word_list_add(l, word, e);
	return expand(l, word, events, e);
}

/* ---- the message ---- */

static int copy_of(const Pb__TraceConfig *config, Pb__TraceConfig **ret)
{
	_cleanup_(freep) uint8_t *bytes = NULL;
	size_t len;

	if (record_config_pack(config, &bytes, &len))
		return -ENOMEM;
	*ret = pb__trace_config__unpack(NULL, len, bytes);
	return *ret ? 0 : -ENOMEM;
}

static int build(const struct record_options *o, const struct word_list *l, Pb__TraceConfig **ret)
{
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;
	Pb__TraceConfig__BufferConfig buffer = PB__TRACE_CONFIG__BUFFER_CONFIG__INIT;
	Pb__TraceConfig__DataSource sources[3];
	Pb__DataSourceConfig configs[3];
	Pb__FtraceConfig ftrace = PB__FTRACE_CONFIG__INIT;
	Pb__ProcessStatsConfig processes = PB__PROCESS_STATS_CONFIG__INIT;
	Pb__TraceConfig__BufferConfig *buffer_list[] = {&buffer};
	Pb__TraceConfig__DataSource *source_list[3];
	static const char *const names[3] = {"linux.ftrace", "linux.process_stats",
					     "linux.system_info"};

	buffer.has_size_kb = true;
	buffer.size_kb = o->buffer_kb;
	buffer.has_fill_policy = true;
	buffer.fill_policy = PB__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__RING_BUFFER;
	config.n_buffers = 1;
	config.buffers = buffer_list;
	config.has_duration_ms = o->duration_ms != 0;
	config.duration_ms = o->duration_ms;
	config.has_flush_period_ms = true;
	config.flush_period_ms = DEFAULT_FLUSH_PERIOD_MS;

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		pb__data_source_config__init(&configs[i]);
		pb__trace_config__data_source__init(&sources[i]);
		configs[i].name = (char *)names[i];
		sources[i].config = &configs[i];
		source_list[i] = &sources[i];
	}
	config.n_data_sources = ARRAY_SIZE(sources);
	config.data_sources = source_list;

	ftrace.n_ftrace_events = l->n;
	ftrace.ftrace_events = l->words;
	ftrace.has_buffer_size_kb = o->ring_kb != 0;
	ftrace.buffer_size_kb = o->ring_kb;
	configs[0].ftrace_config = &ftrace;
	processes.has_scan_all_processes_on_start = processes.scan_all_processes_on_start = true;
	processes.has_record_thread_names = processes.record_thread_names = true;
	configs[1].process_stats_config = &processes;
	return copy_of(&config, ret);
}

int record_config_from_words(const struct record_options *o, const struct tracefs_events *events,
			     struct err_text *e, Pb__TraceConfig **ret)
{
	struct word_list l = {0};
	int r = 0;

	for (size_t i = 0; i < o->n_events && !r; i++)
		r = add_word(&l, o->events[i], events, e);
	if (!r)
		r = build(o, &l, ret);
	word_list_deinit(&l);
	return r;
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

/* ---- files ---- */

/* The field that asks this program, not the service, for something that it does not do. */
static const char *refused_field(const Pb__TraceConfig *c)
{
	const Pb__TraceConfig__TriggerConfig *t = c->trigger_config;

	if (c->n_activate_triggers)
		return "activate_triggers";
	if (c->cmd_trace_start_delay)
		return "cmd_trace_start_delay";
	if (c->incident_report_config)
		return "incident_report_config";
	if (c->android_report_config)
		return "android_report_config";
	if (t && t->trigger_mode == PB__TRACE_CONFIG__TRIGGER_CONFIG__TRIGGER_MODE__CLONE_SNAPSHOT)
		return "trigger_config with CLONE_SNAPSHOT";
	if (t && t->use_clone_snapshot_if_available)
		return "trigger_config.use_clone_snapshot_if_available";
	return NULL;
}

static int read_config(const char *path, struct strbuf *text)
{
	if (!strcmp(path, "-"))
		return fs_read_fd(STDIN_FILENO, RECORD_CONFIG_MAX_BYTES, text);
	return fs_read_file(path, RECORD_CONFIG_MAX_BYTES, text);
}

int record_config_from_file(const char *path, bool is_text, struct strbuf *errors,
			    Pb__TraceConfig **ret)
{
	struct strbuf text = {0};
	Pb__TraceConfig *config;
	const char *field;
	int r;

	r = read_config(path, &text);
	if (r) {
		strbuf_printf(errors, "%s: %s\n", path,
			      r == -EFBIG ? "too large for a trace config" : strerror(-r));
		strbuf_deinit(&text);
		return r;
	}
	r = trace_config_load(path, text.s ? text.s : "", text.len, is_text, errors, &config);
	strbuf_deinit(&text);
	if (r)
		return r;
	field = refused_field(config);
	if (field) {
		strbuf_printf(errors, "%s: %s is not supported by sonda record\n", path, field);
		pb__trace_config__free_unpacked(config, NULL);
		return -EINVAL;
	}
	*ret = config;
	return 0;
}
