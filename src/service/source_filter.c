/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions are compiled when they are needed: once for each producer that registers a data
 * source of the name, which is rare.
 *
 * Configs are written for ECMAScript's expressions. What POSIX knows by the same signs means the
 * same; what it does not know is refused. regcomp() would take an unknown escape for the bare
 * letter, so that is looked for here.
 */
#include "service/source_filter.h"

#include <errno.h>
#include <regex.h>
#include <string.h>

#define KNOWN_ESCAPES "wWsSbB"

static const char *unknown_escape(const char *pattern)
{
	for (const char *p = pattern; *p; p++) {
		if (*p != '\\')
			continue;
		p++;
		if (!*p)
			return NULL; /* regcomp says so itself */
		if (((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
		     (*p >= 'A' && *p <= 'Z')) &&
		    !strchr(KNOWN_ESCAPES, *p))
			return p - 1;
	}
	return NULL;
}

int source_filter_check(const Pb__TraceConfig__DataSource *source, struct err_text *e)
{
	for (size_t i = 0; i < source->n_producer_name_regex_filter; i++) {
		const char *pattern = source->producer_name_regex_filter[i];
		const char *bad = unknown_escape(pattern);
		char reason[128];
		regex_t re;
		int r;

		if (bad)
			return err_set(e, -EINVAL,
				       "producer_name_regex_filter \"%s\": the escape %.2s is not "
				       "supported",
				       pattern, bad);
		r = regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB);
		if (r) {
			regerror(r, &re, reason, sizeof(reason));
			return err_set(e, -EINVAL, "producer_name_regex_filter \"%s\": %s", pattern,
				       reason);
		}
		regfree(&re);
	}
	return 0;
}

static bool regex_matches(const char *pattern, const char *name)
{
	regmatch_t m;
	regex_t re;
	bool whole;

	if (regcomp(&re, pattern, REG_EXTENDED))
		return false;
	/* POSIX finds the longest match at the first place where there is one. */
	whole = regexec(&re, name, 1, &m, 0) == 0 && m.rm_so == 0 && name[m.rm_eo] == '\0';
	regfree(&re);
	return whole;
}

static bool producer_matches(const Pb__TraceConfig__DataSource *s, const char *name)
{
	if (s->n_producer_name_filter == 0 && s->n_producer_name_regex_filter == 0)
		return true;
	for (size_t i = 0; i < s->n_producer_name_filter; i++)
		if (!strcmp(s->producer_name_filter[i], name))
			return true;
	for (size_t i = 0; i < s->n_producer_name_regex_filter; i++)
		if (regex_matches(s->producer_name_regex_filter[i], name))
			return true;
	return false;
}

static bool machine_matches(const Pb__TraceConfig__DataSource *s, const char *name)
{
	if (s->n_machine_name_filter == 0)
		return true;
	for (size_t i = 0; i < s->n_machine_name_filter; i++)
		if (!strcmp(s->machine_name_filter[i], "host") ||
		    !strcmp(s->machine_name_filter[i], name))
			return true;
	return false;
}

bool source_filter_matches(const Pb__TraceConfig__DataSource *source, const char *producer_name,
			   const char *machine_name)
{
	return machine_matches(source, machine_name) && producer_matches(source, producer_name);
}
