/* SPDX-License-Identifier: Apache-2.0 */
#include "service/ipc/config_limits.h"

#include <errno.h>

#include "base/core/mem.h"
#include "config/limits.h"
#include "service/ipc/limits.h"

static size_t count_buffers(const Pb__TraceConfig *c)
{
	return c->n_buffers;
}

static size_t count_sources(const Pb__TraceConfig *c)
{
	return c->n_data_sources;
}

static size_t find_largest_source_bytes(const Pb__TraceConfig *c)
{
	size_t most = 0;

	for (size_t i = 0; i < c->n_data_sources; i++)
		if (c->data_sources[i]->config)
			most = MAX(most, pb__data_source_config__get_packed_size(
						 c->data_sources[i]->config));
	return most;
}

static size_t count_regexes(const Pb__TraceConfig *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_data_sources; i++)
		n += c->data_sources[i]->n_producer_name_regex_filter;
	return n;
}

static size_t count_triggers(const Pb__TraceConfig *c)
{
	return c->trigger_config ? c->trigger_config->n_triggers : 0;
}

static size_t count_semaphores(const Pb__TraceConfig *c)
{
	return c->n_session_semaphores;
}

static size_t count_rules(const Pb__TraceConfig__TraceFilter__StringFilterChain *chain)
{
	return chain ? chain->n_rules : 0;
}

static size_t count_filter_rules(const Pb__TraceConfig *c)
{
	const Pb__TraceConfig__TraceFilter *f = c->trace_filter;

	return f ? count_rules(f->string_filter_chain) + count_rules(f->string_filter_chain_v54)
		 : 0;
}

static const struct {
	size_t (*count)(const Pb__TraceConfig *c);
	size_t max;
	enum quota_kind counter;
	const char *what;
} limits[N_CONFIG_LIMITS] = {
	[CONFIG_BUFFERS] = {count_buffers, LIMIT_BUFFERS, REFUSED_CONFIG_BUFFERS, "buffers"},
	[CONFIG_SOURCES] = {count_sources, MAX_CONFIG_SOURCES, REFUSED_CONFIG_SOURCES,
			    "data_sources"},
	[CONFIG_SOURCE_BYTES] = {find_largest_source_bytes, MAX_SOURCE_CONFIG_BYTES,
				 REFUSED_SOURCE_BYTES, "bytes in a data source's config"},
	[CONFIG_REGEXES] = {count_regexes, MAX_REGEX_FILTERS, REFUSED_CONFIG_REGEXES,
			    "entries in producer_name_regex_filter"},
	[CONFIG_TRIGGERS] = {count_triggers, MAX_TRIGGERS, REFUSED_CONFIG_TRIGGERS, "triggers"},
	[CONFIG_SEMAPHORES] = {count_semaphores, MAX_SEMAPHORES, REFUSED_CONFIG_SEMAPHORES,
			       "session_semaphores"},
	[CONFIG_FILTER_RULES] = {count_filter_rules, MAX_FILTER_RULES, REFUSED_FILTER_RULES,
				 "string rules in trace_filter"},
};

int config_limit_check(const Pb__TraceConfig *c, enum config_limit which, struct err_text *e)
{
	size_t n = limits[which].count(c);

	if (n > limits[which].max)
		return err_set(e, -EINVAL, "%zu %s; the limit is %zu", n, limits[which].what,
			       limits[which].max);
	return 0;
}

enum quota_kind config_limit_counter(const Pb__TraceConfig *c)
{
	for (size_t i = 0; i < N_CONFIG_LIMITS; i++)
		if (limits[i].count(c) > limits[i].max)
			return limits[i].counter;
	return REFUSED_CONFIGS;
}
