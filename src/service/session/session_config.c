/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/session_config.h"

#include <errno.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/priority_boost.h"
#include "config/limits.h"
#include "config/trace_config.h"
#include "service/ipc/config_limits.h"
#include "service/ipc/limits.h"
#include "service/output/file_writer.h"
#include "service/session/name_regex.h"

int session_config_check_filter(const Pb__TraceConfig__DataSource *source, struct err_text *e)
{
	struct err_text why;

	for (size_t i = 0; i < source->n_producer_name_regex_filter; i++)
		if (name_regex_check(source->producer_name_regex_filter[i], &why) < 0)
			return err_set(e, -EINVAL, "producer_name_regex_filter %s", why.text);
	return 0;
}

static bool producer_matches(const Pb__TraceConfig__DataSource *s, const char *name,
			     uint64_t *budget)
{
	if (s->n_producer_name_filter == 0 && s->n_producer_name_regex_filter == 0)
		return true;
	for (size_t i = 0; i < s->n_producer_name_filter; i++)
		if (!strcmp(s->producer_name_filter[i], name))
			return true;
	for (size_t i = 0; i < s->n_producer_name_regex_filter; i++)
		if (name_regex_matches(s->producer_name_regex_filter[i], name, budget))
			return true;
	return false;
}

/* "host" is this machine, even if a remote machine has that name. */
static bool is_machine_named(const char *filter, const struct source_of *of)
{
	if (!strcmp(filter, "host"))
		return !of->is_remote;
	return of->machine && !strcmp(filter, of->machine);
}

static bool machine_filter_matches(const Pb__TraceConfig *config,
				   const Pb__TraceConfig__DataSource *s, const struct source_of *of)
{
	if (s->n_machine_name_filter == 0)
		return !of->is_remote || config->trace_all_machines;
	for (size_t i = 0; i < s->n_machine_name_filter; i++)
		if (is_machine_named(s->machine_name_filter[i], of))
			return true;
	return false;
}

bool session_config_filter_matches(const Pb__TraceConfig *config,
				   const Pb__TraceConfig__DataSource *source,
				   const struct source_of *of, uint64_t *budget)
{
	return machine_filter_matches(config, source, of) &&
	       producer_matches(source, of->producer, budget);
}

/* ---- triggers ---- */

#define MODE(name) PB__TRACE_CONFIG__TRIGGER_CONFIG__TRIGGER_MODE__##name

enum trigger_mode session_config_trigger_mode(const Pb__TraceConfig *config)
{
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;

	if (!t)
		return TRIGGER_NONE;
	switch ((int)t->trigger_mode) {
	case MODE(START_TRACING):
		return TRIGGER_START;
	case MODE(STOP_TRACING):
		return t->use_clone_snapshot_if_available ? TRIGGER_CLONE : TRIGGER_STOP;
	case MODE(CLONE_SNAPSHOT):
		return TRIGGER_CLONE;
	default:
		return TRIGGER_NONE;
	}
}

static const char *name_of_trigger(const Pb__TraceConfig__TriggerConfig__Trigger *t)
{
	return t->name ? t->name : "";
}

const Pb__TraceConfig__TriggerConfig__Trigger *session_config_find_trigger(
	const Pb__TraceConfig *config, const char *name)
{
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;

	for (size_t i = 0; t && i < t->n_triggers; i++)
		if (!strcmp(name_of_trigger(t->triggers[i]), name))
			return t->triggers[i];
	return NULL;
}

static int check_trigger_mode(const Pb__TraceConfig__TriggerConfig *t, struct err_text *e)
{
	int mode = (int)t->trigger_mode;

	if (mode < MODE(UNSPECIFIED) || mode > MODE(CLONE_SNAPSHOT) || mode == 3)
		return err_set(e, -EINVAL, "trigger_mode %d is unknown", mode);
	if (t->use_clone_snapshot_if_available && mode != MODE(STOP_TRACING))
		return err_set(e, -EINVAL,
			       "use_clone_snapshot_if_available needs trigger_mode STOP_TRACING");
	return 0;
}

static int check_trigger_times(const Pb__TraceConfig *config, struct err_text *e)
{
	uint32_t max = config->enable_extra_guardrails ? GUARDRAIL_DURATION_MS : LIMIT_DURATION_MS;
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;
	int r;

	if (!t)
		return 0;
	if (t->trigger_mode != MODE(UNSPECIFIED) &&
	    (t->trigger_timeout_ms == 0 || t->trigger_timeout_ms > max))
		return err_set(e, -EINVAL, "trigger_timeout_ms is %u; it must be 1 to %u",
			       t->trigger_timeout_ms, max);
	r = check_trigger_mode(t, e);
	if (r == 0 && t->trigger_mode != MODE(UNSPECIFIED) && config->duration_ms)
		r = err_set(e, -EINVAL,
			    "duration_ms must be 0 with triggers; stop_delay_ms sets how long to "
			    "record");
	return r;
}

static int check_trigger(const Pb__TraceConfig__TriggerConfig *t, size_t i, struct err_text *e)
{
	const char *name = name_of_trigger(t->triggers[i]),
		   *regex = t->triggers[i]->producer_name_regex;
	struct err_text why;

	if (strlen(name) > MAX_NAME_BYTES)
		return err_set(e, -EINVAL, "a trigger's name is longer than %d bytes",
			       MAX_NAME_BYTES);
	for (size_t j = 0; j < i; j++)
		if (!strcmp(name_of_trigger(t->triggers[j]), name))
			return err_set(e, -EINVAL, "two triggers are named \"%s\"", name);
	if (regex && regex[0] && name_regex_check(regex, &why) < 0)
		return err_set(e, -EINVAL, "trigger \"%s\": producer_name_regex %s", name,
			       why.text);
	return 0;
}

static int check_triggers(const Pb__TraceConfig *config, struct err_text *e)
{
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;
	enum trigger_mode mode = session_config_trigger_mode(config);
	int r;

	if (config->write_into_file && (mode == TRIGGER_STOP || mode == TRIGGER_CLONE))
		return err_set(e, -EINVAL,
			       "write_into_file cannot be combined with trigger_mode %s: data in a "
			       "file cannot be discarded",
			       mode == TRIGGER_STOP ? "STOP_TRACING" : "CLONE_SNAPSHOT");
	r = config_limit_check(config, CONFIG_TRIGGERS, e);
	for (size_t i = 0; t && i < t->n_triggers && r == 0; i++)
		r = check_trigger(t, i, e);
	return r;
}

/* ---- unsupported fields ---- */

static int check_supported(const Pb__TraceConfig *c, struct err_text *e)
{
	for (size_t i = 0; i < c->n_data_sources; i++)
		if (c->data_sources[i]->config && c->data_sources[i]->config->protovm_config)
			return err_set(e, -ENOTSUP,
				       "the config field protovm_config is not supported by this "
				       "service");
	return 0;
}

/* ---- single fields ---- */

static int check_duration(const Pb__TraceConfig *c, struct err_text *e)
{
	uint32_t max = c->enable_extra_guardrails ? GUARDRAIL_DURATION_MS : LIMIT_DURATION_MS;

	if (c->duration_ms > max)
		return err_set(e, -EINVAL, "duration_ms %u exceeds the limit of %u ms%s",
			       c->duration_ms, max,
			       c->enable_extra_guardrails ? " with enable_extra_guardrails" : "");
	return 0;
}

/* The name is sent to other consumers: QueryServiceState, ConcurrentSessionEvent. */
static int check_unique_name(const Pb__TraceConfig *c, struct err_text *e)
{
	if (c->unique_session_name && strlen(c->unique_session_name) > MAX_NAME_BYTES)
		return err_set(e, -EINVAL, "unique_session_name is longer than %d bytes",
			       MAX_NAME_BYTES);
	return 0;
}

static int check_bugreport_filename(const Pb__TraceConfig *c, struct err_text *e)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";
	const char *name = c->bugreport_filename;

	if (name && strlen(name) > MAX_NAME_BYTES)
		return err_set(e, -EINVAL, "bugreport_filename is longer than %d bytes",
			       MAX_NAME_BYTES);
	if (name && name[strspn(name, allowed)] != '\0')
		return err_set(
			e, -EINVAL,
			"bugreport_filename may contain only letters, digits, '-', '_' and '.'");
	return 0;
}

static int check_semaphore_count(const Pb__TraceConfig *c, struct err_text *e)
{
	return config_limit_check(c, CONFIG_SEMAPHORES, e);
}

/* ---- buffers ---- */

static int check_guardrails(const Pb__TraceConfig *c, struct err_text *e)
{
	uint64_t sum = 0, max = GUARDRAIL_BUFFERS_KB;

	if (!c->enable_extra_guardrails)
		return 0;
	if (c->deferred_start)
		return err_set(e, -EINVAL, "guardrail: deferred_start is not allowed");
	if (c->guardrail_overrides)
		max = MAX(max, c->guardrail_overrides->max_tracing_buffer_size_kb);
	for (size_t i = 0; i < c->n_buffers; i++) {
		if (c->buffers[i]->size_kb % GUARDRAIL_BUFFER_STEP_KB)
			return err_set(e, -EINVAL, "guardrail: size_kb %u is not a multiple of %u",
				       c->buffers[i]->size_kb, GUARDRAIL_BUFFER_STEP_KB);
		sum += c->buffers[i]->size_kb;
	}
	if (sum > max)
		return err_set(e, -EINVAL,
			       "guardrail: the buffers total %llu KiB; the limit is %llu KiB",
			       (unsigned long long)sum, (unsigned long long)max);
	return 0;
}

static int check_buffer_names(const Pb__TraceConfig *c, struct err_text *e)
{
	for (size_t i = 0; i < c->n_buffers; i++)
		for (size_t j = 0; j < i; j++) {
			const char *a = c->buffers[i]->name, *b = c->buffers[j]->name;

			if (a && b && a[0] && !strcmp(a, b))
				return err_set(e, -EINVAL, "two buffers are named \"%s\"", a);
		}
	return 0;
}

static int check_buffer_sizes(const Pb__TraceConfig *c, struct err_text *e)
{
	for (size_t i = 0; i < c->n_buffers; i++)
		if (c->buffers[i]->size_kb == 0 || c->buffers[i]->size_kb > LIMIT_BUFFER_SIZE_KB)
			return err_set(e, -EINVAL, "buffer %zu: size_kb is %u; it must be 1 to %u",
				       i, c->buffers[i]->size_kb, LIMIT_BUFFER_SIZE_KB);
	return 0;
}

/* ---- data sources ---- */

static int find_buffer_by_name(const Pb__TraceConfig *c, const char *name, uint32_t *ret)
{
	for (size_t i = 0; i < c->n_buffers; i++)
		if (c->buffers[i]->name && !strcmp(c->buffers[i]->name, name)) {
			*ret = (uint32_t)i;
			return 0;
		}
	return -ENOENT;
}

int session_config_target_buffer(const Pb__TraceConfig *config, const Pb__DataSourceConfig *source,
				 uint32_t *ret_index, struct err_text *e)
{
	const char *buffer = source->target_buffer_name, *name = source->name ? source->name : "";
	uint32_t index = source->target_buffer;

	if (buffer && buffer[0]) {
		if (find_buffer_by_name(config, buffer, &index) < 0)
			return err_set(e, -EINVAL, "data source \"%s\": no buffer is named \"%s\"",
				       name, buffer);
		if (source->target_buffer > 0 && source->target_buffer != index)
			return err_set(e, -EINVAL,
				       "data source \"%s\": target_buffer %u is not the buffer "
				       "named \"%s\"",
				       name, source->target_buffer, buffer);
	}
	if (index >= config->n_buffers)
		return err_set(e, -EINVAL,
			       "data source \"%s\": there is no buffer %u; the config has %zu",
			       name, index, config->n_buffers);
	*ret_index = index;
	return 0;
}

static int check_source(const Pb__TraceConfig *c, const Pb__TraceConfig__DataSource *source,
			struct err_text *e)
{
	uint32_t index;
	size_t size;
	int r;

	if (!source->config)
		return 0;
	r = session_config_target_buffer(c, source->config, &index, e);
	if (r < 0)
		return r;
	size = pb__data_source_config__get_packed_size(source->config);
	if (size > MAX_SOURCE_CONFIG_BYTES)
		return err_set(e, -EINVAL,
			       "data source \"%s\": its config has %zu bytes; the limit is %u",
			       source->config->name ? source->config->name : "", size,
			       MAX_SOURCE_CONFIG_BYTES);
	return session_config_check_filter(source, e);
}

static int check_sources(const Pb__TraceConfig *c, struct err_text *e)
{
	int r = config_limit_check(c, CONFIG_SOURCES, e);

	if (r == 0)
		r = config_limit_check(c, CONFIG_REGEXES, e);
	for (size_t i = 0; i < c->n_data_sources && r == 0; i++)
		r = check_source(c, c->data_sources[i], e);
	return r;
}

static int check_buffer_count(const Pb__TraceConfig *c, struct err_text *e)
{
	return config_limit_check(c, CONFIG_BUFFERS, e);
}

/* ---- all checks ---- */

static int check_priority(const Pb__TraceConfig *config, struct err_text *e)
{
	const Pb__PriorityBoostConfig *b = config->priority_boost;
	struct priority_boost boost;

	if (priority_boost_read(b, &boost) == 0)
		return 0;
	return err_set(e, -EINVAL,
		       "priority_boost: policy %d with priority %u; it must be POLICY_SCHED_OTHER "
		       "with 0 to %u or POLICY_SCHED_FIFO with %u to %u",
		       (int)b->policy, b->priority, PRIORITY_BOOST_OTHER_MAX,
		       PRIORITY_BOOST_FIFO_MIN, PRIORITY_BOOST_FIFO_MAX);
}

/* The checks have the order of Perfetto's service, so that a config with several errors is refused
 * for the same reason. */
static int (*const checks[])(const Pb__TraceConfig *c, struct err_text *e) = {
	check_supported,     check_duration,
	check_trigger_times, check_bugreport_filename,
	check_triggers,	     file_writer_check_config,
	check_guardrails,    check_buffer_count,
	check_buffer_names,  check_sources,
	check_unique_name,   check_semaphore_count,
	check_priority,	     check_buffer_sizes,
};

int session_config_check(const Pb__TraceConfig *config, struct err_text *e)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(checks) && r == 0; i++)
		r = checks[i](config, e);
	return r;
}
