/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The text of an event's format file, as every kernel since 2.6.36 writes it:
 *
 *	name: sched_switch
 *	ID: 315
 *	format:
 *		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *		...
 *
 *		field:char prev_comm[16];	offset:8;	size:16;	signed:0;
 *		...
 *
 *	print fmt: "prev_comm=%s ...", REC->prev_comm, ...
 *
 * libtraceevent interprets the declarations. It leaks memory or misbehaves on malformed text, so
 * only text that passes event_format_prepare() is given to it.
 */

/*
 * Checks and normalizes the text in place. Returns false if the text is malformed.
 *
 *	print fmt                    cut out
 *	__data_loc char[][3] names   the count of an array is cut out; the size implies it
 *	__rel_loc char name[]        becomes "__rel_loc char[] name", as libtraceevent expects
 *	name: a.b                    dots of the event's name become underscores
 */
bool event_format_prepare(char *text);

/*
 * Returns true if the kernel prints the field as the name of a function, with %ps, %pS or a
 * similar conversion.
 *
 *	print fmt: "work=%p function=%ps", REC->work, REC->function
 *
 * print_fmt is the text after "print fmt:": a C string, then C expressions. Most of their syntax
 * is ignored.
 */
bool event_format_prints_symbols(const char *print_fmt, const char *field);

/*
 * Walks the names that the kernel prints for the values of a field:
 *
 *	print fmt: "reason: %s", __print_symbolic(REC->reason, { 2, "NOT_SPECIFIED" }, ...)
 *
 * Set at to NULL before the first call. Values that are not plain numbers are skipped.
 */
struct event_format_names {
	const char *at;
	int64_t value;
	const char *name; /* part of print_fmt; may have escape sequences of C */
	size_t len;
};

/* Advances to the next name. Returns false at the end. */
bool event_format_next_name(const char *print_fmt, const char *field, struct event_format_names *n);
