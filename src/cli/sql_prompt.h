/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/dialect/database.h"
#include "cli/sql_output.h"

/* Runs a prompt for SQL: statements end with ';', lines that start with '.' are commands. On a
 * terminal it completes words and has a history, which is kept in a file. Otherwise it reads and
 * executes lines. Ctrl-C ends a query that runs, or clears the typed text. Returns an exit code at
 * the end of the input or at .quit. Without a terminal, the code reports a failure if a statement
 * failed. */
int sql_prompt(struct database *d, enum sql_format format);
