/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/contents.h"
#include "base/text/str.h"
#include "cli/report/record_facts.h"

/* What a trace consists of, for a person: machines, config, data sources, buffers, and a table of
 * what its bytes are spent on. Appends lines, each ended. */
void trace_contents_write(const struct contents *c, const struct record_facts *f,
			  struct strbuf *out);
