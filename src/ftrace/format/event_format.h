/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

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
 * libtraceevent knows what a declaration means, but on texts of other shapes it leaks, and worse;
 * so only plain ones come there.
 */

/* True: the text is plain, how it is printed has been cut out of it, and so has how many strings an
 * array of them has ("__data_loc char[][3] names"), which only its size tells then; bounds are
 * where libtraceevent looks for them ("__rel_loc char name[]" is "__rel_loc char[] name"); and dots
 * in the event's name are underscores. */
bool event_format_prepare(char *text);

/*
 * Which fields of an event the kernel itself prints as the name of a function: those that its
 * "print fmt:" gives to %ps, %pS and their like.
 *
 *	print fmt: "work=%p function=%ps", REC->work, REC->function
 *
 * Format: print fmt of tracefs' event formats, a C string and C expressions of which most are left
 * alone.
 */

/* print_fmt is what stands behind "print fmt:". */
bool event_format_prints_symbols(const char *print_fmt, const char *field);
