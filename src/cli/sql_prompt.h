/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

#include "cli/sql_output.h"

/*
 * A prompt for SQL: statements end with ';', lines that start with '.' are commands. On a terminal
 * it has a history, which is kept in a file, and completes words; otherwise it reads lines and
 * writes what they ask for. Ctrl-C ends a query that runs, or clears what is typed. Returns at the
 * end of the input or at .quit: an exit code. Without a terminal it is that of a failure if a
 * statement failed.
 */
int sql_prompt(sqlite3 *db, enum sql_format format);
