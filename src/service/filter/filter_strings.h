/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

/*
 * The rules for the strings that the bytecode of a trace filter marks: string_filter_chain,
 * followed by string_filter_chain_v54. A later rule replaces an earlier one of the same name.
 *
 * A rule applies to strings of its semantic types. The first rule that matches a string decides:
 * BREAK keeps the string, REDACT overwrites the matches of the expression's groups with
 * "P60REDACTED", cut or padded with "-" to the same length.
 *
 *	MATCH_*, ATRACE_MATCH_*		matches the whole string
 *	ATRACE_REPEATED_SEARCH_*	matches each occurrence of the expression
 *	ATRACE_*			only matches a marker of atrace, "B|123|text" (three
 *					characters or more, the first not E), whose text after
 *					the second bar starts with atrace_payload_starts_with
 */
struct filter_strings;

/* Either chain may be NULL. Returns 0, -ENOMEM, or -EINVAL and sets e: an unknown policy, an
 * invalid expression, or too many rules. */
int filter_strings_new(const Pb__TraceConfig__TraceFilter__StringFilterChain *chain,
		       const Pb__TraceConfig__TraceFilter__StringFilterChain *chain_v54,
		       struct err_text *e, struct filter_strings **ret);
/* No-op for NULL. */
void filter_strings_free(struct filter_strings *s);

/* Changes the text in place and reduces *budget by the steps taken. Returns 0, or -E2BIG if the
 * budget is used up; the text must not leave the service then. */
int filter_strings_apply(struct filter_strings *s, uint32_t semantic_type, uint8_t *text,
			 size_t len, uint64_t *budget);
