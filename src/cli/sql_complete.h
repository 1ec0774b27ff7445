/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

/* Completion of the word before the cursor of an SQL statement. */

/* A list of words, sorted, each once. Zero-initialise; sql_words_deinit frees. */
struct sql_words {
	char **words; /* owned, with the strings */
	size_t n, cap;
};

void sql_words_deinit(struct sql_words *w);

/* Lists the tables and views of a database, without those that start with two underscores. Returns
 * 0 or -ENOMEM. */
int sql_complete_tables(sqlite3 *db, struct sql_words *ret);

/* Lists the words that begin with the unfinished word at the end of text[0..len): columns of the
 * tables that the text names, or of all tables if it names none; tables, functions and keywords.
 * After "alias." it lists only columns of that table, after FROM and JOIN only tables. *ret_typed:
 * bytes of the unfinished word. Returns 0 or -ENOMEM. */
int sql_complete(sqlite3 *db, const char *text, size_t len, struct sql_words *ret,
		 size_t *ret_typed);

/* Returns how many bytes all words have in common at their start, ignoring case. */
size_t sql_words_common_prefix_len(const struct sql_words *w);
