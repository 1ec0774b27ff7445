/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text/str.h"
#include "cli/report_table.h"
#include "cli/trace_tables.h"

/* What the trace of a report lost, by the table stats. sonda info says where, and what would
 * help. */
struct report_losses {
	uint64_t events; /* that rings of the kernel lost; 0: none, or their number is unknown */
	bool more; /* also an unknown number of events, or data of other sources */
	struct strbuf see; /* the command that says more; owned */
};

/* Finds what the trace lost. file: the trace as the user named it; NULL: the user named none.
 * report_losses_deinit frees. */
void report_losses_find(const struct trace_tables *tables, const char *file,
			struct report_losses *ret);
void report_losses_deinit(struct report_losses *l);

/* Returns true if something was lost. If not, the next two functions print nothing. */
bool report_losses_any(const struct report_losses *l);
/* Prints the loss in a line, to stand before the tables, and an empty line. */
void report_losses_print(const struct report_losses *l, const struct report_style *style, FILE *to);
/* Logs the loss on stderr. */
void report_losses_warn(const struct report_losses *l);
/* Writes the loss as a JSON value: a list with one row. Returns an SQLite result code. */
int report_losses_json(const struct report_losses *l, sqlite3 *db, FILE *to);
