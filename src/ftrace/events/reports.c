// SPDX-License-Identifier: Apache-2.0
/* Lists of strings, each cut to a line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracefs.h>

#include "ftrace/events/reports.h"

#define LINE_MAX_BYTES 512

void reports_deinit(struct reports *r)
{
	tracefs_list_free(r->unknown);
	tracefs_list_free(r->failed);
	free(r->problem);
	free(r->notice);
	*r = (struct reports){0};
}

static void add(char ***list, uint64_t *more, const char *line)
{
	char **longer =
		tracefs_list_size(*list) < REPORTS_MAX ? tracefs_list_add(*list, line) : NULL;

	if (longer)
		*list = longer;
	else
		++*more;
}

void report_unknown(struct reports *r, const char *event)
{
	add(&r->unknown, &r->unknown_more, event);
}

void report_failed(struct reports *r, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	add(&r->failed, &r->failed_more, line);
}

void report_failed_once(struct reports *r, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	for (char **at = r->failed; at && *at; at++)
		if (!strcmp(*at, line))
			return;
	add(&r->failed, &r->failed_more, line);
}

void report_failed_more(struct reports *r, uint64_t n)
{
	r->failed_more += n;
}

void report_problem(struct reports *r, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;

	if (r->problem)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	r->problem = strdup(line);
}

void report_notice(struct reports *r, const char *text)
{
	if (!r->notice)
		r->notice = strdup(text);
}
