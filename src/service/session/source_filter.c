/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/source_filter.h"

#include <errno.h>
#include <string.h>

#include "service/session/name_regex.h"

int source_filter_check(const Pb__TraceConfig__DataSource *source, struct err_text *e)
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

/* No other machine is "host", whatever it calls itself. */
static bool is_machine(const char *filter, const struct source_of *of)
{
	if (!strcmp(filter, "host"))
		return !of->is_remote;
	return of->machine && !strcmp(filter, of->machine);
}

static bool machine_matches(const Pb__TraceConfig *config, const Pb__TraceConfig__DataSource *s,
			    const struct source_of *of)
{
	if (s->n_machine_name_filter == 0)
		return !of->is_remote || config->trace_all_machines;
	for (size_t i = 0; i < s->n_machine_name_filter; i++)
		if (is_machine(s->machine_name_filter[i], of))
			return true;
	return false;
}

bool source_filter_matches(const Pb__TraceConfig *config, const Pb__TraceConfig__DataSource *source,
			   const struct source_of *of, uint64_t *budget)
{
	return machine_matches(config, source, of) &&
	       producer_matches(source, of->producer, budget);
}
