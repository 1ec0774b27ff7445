/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/ftrace/ftrace_config.pb-c.h"

/*
 * Filters markers and trace_printk output. FtraceConfig.print_filter applies to the text of
 * ftrace/print. Its rules are checked in order; the first match decides; text without a match is
 * written:
 *
 *	prefix      the text starts with it
 *	atrace_msg  the text is TYPE|DIGITS|PREFIX...
 *
 * tids_to_trace applies to the thread that wrote the marker. The kernel does not check the thread:
 * a marker is written at the top level and copied to every instance. If children are traced as
 * well, the threads are not known, and markers of all threads are written.
 */
#define PRINT_FILTER_MAX_RULES 1024u

struct print_filter;

/* Makes the filter of a config, and copies what it needs of it. follow: the children of the threads
 * are traced as well, so tids_to_trace does not restrict the markers. Returns 0 with *ret (NULL:
 * every marker is written), -E2BIG (more than PRINT_FILTER_MAX_RULES rules) or -ENOMEM. */
int print_filter_new(const Pb__FtraceConfig *config, bool follow, struct print_filter **ret);
/* NULL is allowed. */
struct print_filter *print_filter_free(struct print_filter *f);

/* Returns true if the filter restricts the threads. */
bool print_filter_has_tids(const struct print_filter *f);
/* Returns true if markers of the thread are written. */
bool print_filter_allows_tid(const struct print_filter *f, uint32_t tid);
/* Returns true if a text is to be recorded. text: untrusted bytes; it ends at its first NUL or
 * after len bytes. tid: the thread that wrote it. */
bool print_filter_allows(const struct print_filter *f, uint32_t tid, const uint8_t *text,
			 size_t len);
