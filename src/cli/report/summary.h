/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text/str.h"
#include "cli/report/record_facts.h"

/*
 * The summary of a recording or a snapshot: content, losses and their places, missing data, reason
 * of the end.
 */

struct record_verdict {
	bool lost; /* data was lost, or the losses are unknown (record_losses_are_unknown()) */
	bool missing; /* something that was requested is not recorded */
	bool refused; /* there are no events, since no requested one could be recorded */
};

/* Appends the summary: a few lines for a person, each ending in a newline. */
void record_summary_write(const struct record_facts *f, struct strbuf *out,
			  struct record_verdict *ret);
/* Appends the summary with the next step as its last line, if there is a file. */
void record_summary_with_next_step(const struct record_facts *f, struct strbuf *text,
				   struct record_verdict *ret);
/* Appends the summary as one line of JSON for a program. docs/reference/info.md lists its keys. */
void record_summary_write_json(const struct record_facts *f, struct strbuf *out,
			       struct record_verdict *ret);

/* ---- used by both forms ---- */

/* Appends a line for each requested item that is missing. A line that begins with a blank continues
 * the line before. Returns the number of items. */
size_t record_put_missing(const struct record_facts *f, struct strbuf *ret);
/* Returns true if the trace has no events because none of the requested ones could be recorded. */
bool record_is_refused(const struct record_facts *f);
