/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/recorder_triggers.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "config/limits.h"

#define STOP_DELAY_MS 300 /* a snapshot also covers this time after its trigger */
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."

static const char *const kinds[] = {
	[RECORDER_ON_TRIGGER] = "trigger",
	[RECORDER_ON_COUNTER] = "counter",
	[RECORDER_ON_UNIT_FAILED] = "unit-failed",
	[RECORDER_ON_JOURNAL] = "journal",
};

/* ---- a value of --on ---- */

static bool has_name(const struct recorder_triggers *t, const char *name)
{
	return !strcmp(name, RECORDER_DEFAULT_TRIGGER) || recorder_triggers_spec(t, name);
}

static int set_name(const struct recorder_triggers *t, struct recorder_trigger *c, const char *name,
		    size_t len, struct err_text *e)
{
	if (!len || len >= sizeof(c->name) || strspn(name, NAME_CHARACTERS) < len || *name == '.')
		return err_set(e, -EINVAL,
			       "--on %.80s: a name may contain letters, digits, '_', '-' and '.', "
			       "at most %zu characters",
			       c->spec, sizeof(c->name) - 1);
	snprintf(c->name, sizeof(c->name), "%.*s", (int)len, name);
	return has_name(t, c->name)
		       ? err_set(e, -EINVAL, "--on %.80s: another trigger has this name", c->spec)
		       : 0;
}

/* Names the trigger after its kind; the second of a kind is "KIND-2". */
static void set_default_name(const struct recorder_triggers *t, struct recorder_trigger *c)
{
	snprintf(c->name, sizeof(c->name), "%s", kinds[c->kind]);
	for (unsigned i = 2; has_name(t, c->name); i++)
		snprintf(c->name, sizeof(c->name), "%s-%u", kinds[c->kind], i);
}

/* Reads "NAME>VALUE". */
static int parse_counter(struct recorder_trigger *c, struct err_text *e)
{
	const char *above = strrchr(c->argument, '>'), *value = above ? above + 1 : "", *end;
	int64_t ns;

	value += strspn(value, " ");
	end = value;
	(void)str_read_double(&end, &c->above);
	if (above && end > value && *end && str_to_time_ns(value, &ns) == 0)
		c->above = (double)ns;
	else if (!above || end == value || *end || !isfinite(c->above) || c->above < 0)
		return err_set(e, -EINVAL,
			       "--on %.80s: expected a counter and a value, for example "
			       "'counter:runq latency p99>20ms'",
			       c->spec);
	while (above > c->argument && above[-1] == ' ')
		above--;
	c->argument_len = (size_t)(above - c->argument);
	return c->argument_len ? 0
			       : err_set(e, -EINVAL, "--on %.80s: the counter is missing", c->spec);
}

static int parse_kind(struct recorder_trigger *c, const char *text, struct err_text *e)
{
	size_t len = strcspn(text, ":");

	c->argument = text[len] && text[len + 1] ? text + len + 1 : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strlen(kinds[i]) != len || strncmp(kinds[i], text, len) != 0)
			continue;
		c->kind = (enum recorder_trigger_kind)i;
		if (!c->argument && c->kind != RECORDER_ON_UNIT_FAILED)
			return err_set(e, -EINVAL, "--on %.80s: no value after '%s:'", c->spec,
				       kinds[i]);
		return c->kind == RECORDER_ON_COUNTER ? parse_counter(c, e) : 0;
	}
	return err_set(e, -EINVAL,
		       "--on %.80s: expected trigger:NAME, counter:NAME>VALUE, unit-failed, "
		       "unit-failed:UNIT or journal:EXPRESSION",
		       c->spec);
}

int recorder_triggers_add(struct recorder_triggers *t, const char *spec, struct err_text *e)
{
	struct recorder_trigger c = {.spec = spec};
	size_t named = strspn(spec, NAME_CHARACTERS);
	int r;

	if (t->n == RECORDER_TRIGGERS_MAX)
		return err_set(e, -EINVAL, "--on: too many triggers; the limit is %d",
			       RECORDER_TRIGGERS_MAX);
	named = spec[named] == '=' ? named : 0;
	r = parse_kind(&c, named ? spec + named + 1 : spec, e);
	if (r == 0 && c.kind == RECORDER_ON_TRIGGER && named)
		r = err_set(e, -EINVAL,
			    "--on %.80s: snapshots are named after the trigger; leave out the name "
			    "before '='",
			    spec);
	if (r == 0 && c.kind == RECORDER_ON_TRIGGER)
		r = set_name(t, &c, c.argument, strlen(c.argument), e);
	else if (r == 0 && named)
		r = set_name(t, &c, spec, named, e);
	else if (r == 0)
		set_default_name(t, &c);
	if (r == 0)
		t->of[t->n++] = c;
	return r;
}

const char *recorder_triggers_spec(const struct recorder_triggers *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->of[i].name, name))
			return t->of[i].spec;
	return NULL;
}

/* ---- configs ---- */

/* Appends an initialised message to a repeated field. Returns it, or NULL. */
static void *append_message(void *array, size_t *n, size_t size,
			    const ProtobufCMessageDescriptor *descriptor)
{
	void ***list = array, **longer = realloc(*list, (*n + 1) * sizeof(**list));
	void *m = longer ? malloc(size) : NULL;

	if (longer)
		*list = longer;
	if (!m)
		return NULL;
	descriptor->message_init(m);
	longer[(*n)++] = m;
	return m;
}

#define APPEND(list, n, type, descriptor)                                                          \
	((type *)append_message(&(list), &(n), sizeof(type), &(descriptor)))

static int put_counter(const struct recorder_trigger *t, Pb__EbpfCountersConfig *c)
{
	Pb__EbpfCountersConfig__Trigger *p =
		APPEND(c->triggers, c->n_triggers, Pb__EbpfCountersConfig__Trigger,
		       pb__ebpf_counters_config__trigger__descriptor);

	if (!p)
		return -ENOMEM;
	p->name = strdup(t->name);
	p->counter = strndup(t->argument, t->argument_len);
	p->has_above = true;
	p->above = (__typeof__(p->above))t->above;
	return p->name && p->counter ? 0 : -ENOMEM;
}

static int put_journal(const struct recorder_trigger *t, Pb__SystemdJournaldConfig *c)
{
	Pb__SystemdJournaldConfig__Trigger *p =
		APPEND(c->triggers, c->n_triggers, Pb__SystemdJournaldConfig__Trigger,
		       pb__systemd_journald_config__trigger__descriptor);
	char **to = p ? (t->kind == RECORDER_ON_JOURNAL ? &p->message : &p->unit) : NULL;

	if (!p)
		return -ENOMEM;
	p->name = strdup(t->name);
	*to = t->argument ? strdup(t->argument) : NULL;
	p->has_unit_failed = p->unit_failed = t->kind == RECORDER_ON_UNIT_FAILED;
	return p->name && (*to || !t->argument) ? 0 : -ENOMEM;
}

static Pb__DataSourceConfig *find_source(const Pb__TraceConfig *config, const char *name)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (c && c->name && !strcmp(c->name, name))
			return c;
	}
	return NULL;
}

static int put_trigger(const struct recorder_trigger *t, Pb__TraceConfig *config,
		       struct err_text *e)
{
	Pb__DataSourceConfig *source;

	if (t->kind == RECORDER_ON_TRIGGER)
		return 0;
	if (t->kind == RECORDER_ON_COUNTER) {
		source = find_source(config, "linux.ebpf_counters");
		if (!source || !source->ebpf_counters_config)
			return err_set(e, -EINVAL,
				       "--on %.80s: no eBPF counters are recorded; add a word, for "
				       "example runq",
				       t->spec);
		return put_counter(t, source->ebpf_counters_config);
	}
	source = find_source(config, "linux.systemd_journald");
	if (!source)
		return err_set(e, -EINVAL,
			       "--on %.80s: the journal is not recorded; add the word journal",
			       t->spec);
	if (!source->journald_config) {
		source->journald_config = malloc(sizeof(*source->journald_config));
		if (!source->journald_config)
			return -ENOMEM;
		pb__systemd_journald_config__init(source->journald_config);
	}
	return put_journal(t, source->journald_config);
}

int recorder_triggers_put(const struct recorder_triggers *t, Pb__TraceConfig *config,
			  struct err_text *e)
{
	int r = 0;

	for (size_t i = 0; i < t->n && r == 0; i++)
		r = put_trigger(&t->of[i], config, e);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

static int await_trigger(Pb__TraceConfig__TriggerConfig *c, const char *name)
{
	Pb__TraceConfig__TriggerConfig__Trigger *p =
		APPEND(c->triggers, c->n_triggers, Pb__TraceConfig__TriggerConfig__Trigger,
		       pb__trace_config__trigger_config__trigger__descriptor);

	if (!p)
		return -ENOMEM;
	p->name = strdup(name);
	p->has_stop_delay_ms = true;
	p->stop_delay_ms = STOP_DELAY_MS;
	return p->name ? 0 : -ENOMEM;
}

Pb__TraceConfig *recorder_triggers_config(const struct recorder_triggers *t)
{
	Pb__TraceConfig *config = malloc(sizeof(*config));
	Pb__TraceConfig__TriggerConfig *c;
	Pb__TraceConfig__BufferConfig *buffer;
	Pb__TraceConfig__BuiltinDataSource *builtin;
	int r;

	if (!config)
		return NULL;
	pb__trace_config__init(config);
	buffer = APPEND(config->buffers, config->n_buffers, Pb__TraceConfig__BufferConfig,
			pb__trace_config__buffer_config__descriptor);
	c = config->trigger_config = malloc(sizeof(*c));
	builtin = config->builtin_data_sources = malloc(sizeof(*builtin));
	if (builtin)
		pb__trace_config__builtin_data_source__init(builtin);
	r = buffer && c && builtin ? 0 : -ENOMEM;
	if (r == 0) {
		/* It records nothing, not even clocks. */
		builtin->has_snapshot_interval_ms = true;
		builtin->snapshot_interval_ms = LIMIT_DURATION_MS;
		buffer->has_size_kb = true;
		buffer->size_kb = 64;
		pb__trace_config__trigger_config__init(c);
		c->has_trigger_mode = c->has_trigger_timeout_ms = true;
		c->trigger_mode = PB__TRACE_CONFIG__TRIGGER_CONFIG__TRIGGER_MODE__CLONE_SNAPSHOT;
		c->trigger_timeout_ms = LIMIT_DURATION_MS;
		r = await_trigger(c, RECORDER_DEFAULT_TRIGGER);
	}
	for (size_t i = 0; i < t->n && r == 0; i++)
		r = await_trigger(c, t->of[i].name);
	if (r == 0)
		return config;
	pb__trace_config__free_unpacked(config, NULL);
	return NULL;
}
