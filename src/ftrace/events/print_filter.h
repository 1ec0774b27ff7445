/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/ftrace/ftrace_config.pb-c.h"

/*
 * Which markers are written, and which of the kernel's own prints. FtraceConfig.print_filter is for
 * the texts of ftrace/print: the rules are asked in order, the first that matches decides, and what
 * none matches is written:
 *
 *	prefix      the text begins so
 *	atrace_msg  the text is TYPE|DIGITS|PREFIX...
 *
 * tids_to_trace is for who wrote them, ftrace/print or another, which the kernel does not look at: a
 * marker comes from top level, to every instance. With children to follow it is not known whose they
 * may be, and all are written.
 */
#define PRINT_FILTER_MAX_RULES 1024u

struct print_filter;

/*
 * follow: the children of tids_to_trace are traced as well, so these do not restrict the prints.
 * Copies what it needs of config. Returns 0 with *ret (NULL: every print is written), -E2BIG or
 * -ENOMEM.
 */
int print_filter_new(const Pb__FtraceConfig *config, bool follow, struct print_filter **ret);
/* NULL is fine. */
struct print_filter *print_filter_free(struct print_filter *f);

/* Is there anybody whose are not written? */
bool print_filter_has_tids(const struct print_filter *f);
bool print_filter_allows_tid(const struct print_filter *f, uint32_t tid);
/* A text of foreign bytes, which ends at its first NUL or after len, and who wrote it. */
bool print_filter_allows(const struct print_filter *f, uint32_t tid, const uint8_t *text,
			 size_t len);
