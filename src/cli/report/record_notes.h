/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/text/str.h"
#include "cli/report/record_facts.h"

/* What a reader of the trace has to know, although nothing is lost or missing. */

/* Appends a line for each note. */
void record_notes(const struct record_facts *f, struct strbuf *lines);
