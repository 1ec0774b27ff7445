/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

/*
 * The rules for the strings that the bytecode of a trace filter marks: string_filter_chain, and
 * string_filter_chain_v54 behind it, of which a rule with the name of one before replaces that.
 *
 * A rule is for strings of its semantic types. The first that applies to a string is the last that
 * is asked: those with BREAK leave the string as it is, those with REDACT overwrite what the groups
 * of the expression matched with "P60REDACTED", cut or filled up with "-" to the same length.
 *
 *	MATCH_*, ATRACE_MATCH_*		applies if the whole string matches
 *	ATRACE_REPEATED_SEARCH_*	if the expression is found in it, each time that it is
 *	ATRACE_*			only for a marker of atrace, "B|123|text" (at least three
 *					characters, the first not E), whose text behind the second
 *					bar starts with atrace_payload_starts_with
 */
struct filter_strings;

/* 0; -ENOMEM; -EINVAL with the reason in e: an unknown policy, an expression that cannot be used, too
 * many rules. Either chain may be NULL. */
int filter_strings_new(const Pb__TraceConfig__TraceFilter__StringFilterChain *chain,
		       const Pb__TraceConfig__TraceFilter__StringFilterChain *chain_v54,
		       struct err_text *e, struct filter_strings **ret);
/* NULL is fine. */
void filter_strings_free(struct filter_strings *s);

/* Changes the text in place. 0, or -E2BIG when *budget, which is counted down by the steps that it
 * takes, is used up: the text must not be given out then. */
int filter_strings_apply(struct filter_strings *s, uint32_t semantic_type, uint8_t *text,
			 size_t len, uint64_t *budget);
