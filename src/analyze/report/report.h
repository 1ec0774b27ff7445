/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Reports: questions about a trace that have an SQL statement each. The statements refer to
 *
 *	:from, :to	the window, in the trace's clock	:top	at most this many rows of a list
 *	:pid		a process or thread, NULL: all
 *
 * A column's name says how people read it: _ns is a duration, _ts a time since the trace's start, _pct a share.
 */

struct report_section {
	const char *title;
	const char *more; /* the report that says more; NULL: none */
	const char *sql;
};

struct report {
	const char *name;
	const char *help;
	const struct report_section *sections;
	size_t n_sections;
};

/* The overview, which is shown if no report is named. */
extern const struct report report_overview;

extern const struct report report_cpu, report_sched, report_latency, report_syscalls, report_irq,
	report_loss;

#define REPORT(identifier, name, help, sections)                                                   \
	const struct report identifier = {name, help, sections,                                    \
					  sizeof(sections) / sizeof((sections)[0])}
