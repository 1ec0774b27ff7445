/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * What a session was asked for and does not get; told to the user in FtraceStats. Zero-initialise.
 * Those past the limit, and those that memory is missing for, are counted.
 */
#define REPORTS_MAX 1000 /* in each list; the config is somebody else's */

struct reports {
	char **unknown; /* owned, a list of libtracefs: events that the kernel does not have */
	char **failed; /* owned: "group/name (reason)", "option:name (reason)" */
	uint64_t unknown_more; /* that are not in the list */
	uint64_t failed_more;
	char *problem; /* owned: why nothing at all is recorded, or NULL */
	char *notice; /* owned: what no kernel could give, though the rest is recorded; or NULL */
};

void reports_deinit(struct reports *r);
void report_unknown(struct reports *r, const char *event);
void report_failed(struct reports *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Not where the same is in the list. */
void report_failed_once(struct reports *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* So many others, which were not put in the other reports' list. */
void report_failed_more(struct reports *r, uint64_t n);
/* The first one stays. */
void report_problem(struct reports *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_notice(struct reports *r, const char *text);
