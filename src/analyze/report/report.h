/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * A report answers questions about a trace: each of its sections has an SQL statement, which makes
 * one table. The statements refer to
 *
 *	:from, :to	the window, in the trace's clock
 *	:top		at most this many rows of a list
 *	:more		1: one extra row, which shows the caller that rows are left out; else 0
 *	:text		1: the rows are for people, 0: for programs
 *	:function	a pattern of names of functions: --callers, --callees
 *	:width		characters of a line of blocks
 *	:blocks		eight characters, from the lowest to the full block
 *	chosen(utid)	the threads that were asked for
 *	asked(some, limited)	see chosen.h
 *	:asked		ns that the config asks to record; NULL: it does not say
 *	:lost		events that the rings of the kernel lost; NULL: none, or not known
 *	used, waits_by('thread') and others: see passes.h
 *
 * A column's name says how its values are shown to people: _ns is a duration, _ts a time since the
 * trace's start, _pct a share, _bytes a size, _bar a line of blocks, _value a number in the unit
 * that the row's column unit names.
 */

struct store;

struct report_section {
	const char *title; /* never changes: programs that use the older form of JSON know the table
			   by it */
	const char *heading; /* what people read; usually the title */
	const char *
		key; /* in snake_case: other programs know the table by it; "": none (sonda diff) */
	const char *note; /* an explanation of the rows; NULL: none */
	const char *more; /* the report with more detail; NULL: none */
	const char *sql;
	const char *by; /* what a row is: the word of --by that shows the section; NULL: none */
	const char *records; /* words of sonda record for what it needs; NULL: any trace has it */
	/* Returns why the trace cannot have the section, or NULL if it can. NULL: any trace can. */
	const char *(*lacks)(const struct store *s);
	int top; /* at most this many rows if the user names no number; 0: the default */
	bool on_request; /* only with --by */
	bool of_machine; /* its rows are of the whole machine, whatever threads are chosen */
	bool of_trace; /* its rows are not of one machine */
};

struct report {
	const char *name;
	const char *help;
	const char *records; /* words of sonda record for what it needs; NULL: any trace has it */
	const struct report_section *sections;
	size_t n_sections;
	bool of_thread; /* is about a thread or process, which must be named */
	bool of_findings; /* has no sections: analyze/findings has its statements */
	bool of_subject; /* is about a container, unit, pod or control group, which must be named */
};

/* In the order of the help, and their number; made from the files *.sql beside this one. The first
 * one is shown if none is named. */
extern const struct report reports[];
extern const size_t n_reports;

/* lacks() of sections about late timers (pass_late_timers.c), and of those by container, unit, pod
 * or control group (pass_who.c). */
const char *report_lacks_timers(const struct store *s);
const char *report_lacks_groups(const struct store *s);

/* Returns a report, or NULL after the last one. */
const struct report *report_at(size_t i);

/* Returns the report of a name, or NULL. */
const struct report *report_find(const char *name);
