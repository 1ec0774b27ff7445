// SPDX-License-Identifier: Apache-2.0
/*
 * A producer has to pass the filter of machines first, then one of the filters of names, if there
 * are any.
 *
 * A service tells the machine of a remote producer, but not its own name: that is what it inherited
 * in PERFETTO_MACHINE_NAME, which we take ours for, or else the name of the kernel.
 *
 * An expression that we do not know (base/text/regex.h) may be one for another service: it is not
 * tried.
 */

#include "cli/report/source_match.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/text/regex.h"

#define REGEX_STEPS (1u << 24)

static bool has(char *const *list, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], text))
			return true;
	return false;
}

/* ---- machines ---- */

static bool names_host(const Pb__TraceConfig__DataSource *s)
{
	const char *name = getenv("PERFETTO_MACHINE_NAME");
	char *const *list = s->machine_name_filter;
	size_t n = s->n_machine_name_filter;
	struct utsname u;

	if (has(list, n, "host"))
		return true;
	if (name && *name)
		return has(list, n, name);
	return uname(&u) < 0 || has(list, n, u.sysname);
}

static bool machine_passes(const Pb__TraceConfig *config, const Pb__TraceConfig__DataSource *s,
			   const Pb__TracingServiceState__Producer *p)
{
	bool remote = p->has_machine_id && p->machine_id;

	if (s->n_machine_name_filter == 0)
		return !remote || config->trace_all_machines;
	if (!remote)
		return names_host(s);
	return !p->machine_name ||
	       has(s->machine_name_filter, s->n_machine_name_filter, p->machine_name);
}

/* ---- names ---- */

static bool regex_passes(const char *pattern, const char *name)
{
	uint64_t steps = REGEX_STEPS;
	struct regex *re;
	int r;

	if (regex_new(pattern, NULL, &re) < 0)
		return true;
	r = regex_match(re, REGEX_WHOLE, name, strlen(name), 0, NULL, &steps);
	regex_free(re);
	return r != 0;
}

static bool name_passes(const Pb__TraceConfig__DataSource *s, const char *name)
{
	if (!name || (s->n_producer_name_filter == 0 && s->n_producer_name_regex_filter == 0))
		return true;
	if (has(s->producer_name_filter, s->n_producer_name_filter, name))
		return true;
	for (size_t i = 0; i < s->n_producer_name_regex_filter; i++)
		if (regex_passes(s->producer_name_regex_filter[i], name))
			return true;
	return false;
}

enum source_match source_match(const Pb__TraceConfig *config,
			       const Pb__TraceConfig__DataSource *source,
			       const Pb__TracingServiceState__Producer *producer)
{
	if (!machine_passes(config, source, producer))
		return SOURCE_OTHER_MACHINE;
	return name_passes(source, producer->name) ? SOURCE_GIVEN : SOURCE_OTHER_PRODUCER;
}
