/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdio.h>

#include "cli/diff/diff_traces.h"

/* Print the comparison to stdout. Return 0 or -ENOMEM. */
int diff_print_text(const struct diff_traces *t, const struct diff_results *r);
int diff_print_json(const struct diff_traces *t, const struct diff_results *r);
/* The object of diff_print_json(), to another file. Returns 0 or -ENOMEM. */
int diff_put_json(const struct diff_traces *t, const struct diff_results *r, FILE *to);

/* Appends what a row is about: "cpu of redis-server, in dictFind (redis-server)". */
void diff_put_row_name(const struct diff_row *row, struct strbuf *b);
