/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

/* What the word before the cursor of an SQL statement may become. */

/* A list of words, sorted, each once. Zero-initialise. */
struct sql_words {
	char **words; /* owned, with the strings */
	size_t n, cap;
};

void sql_words_deinit(struct sql_words *w);

/* The tables and views of a database, without those that start with two underscores. Returns 0 or
 * -ENOMEM. */
int sql_complete_tables(sqlite3 *db, struct sql_words *ret);

/* Lists the words that start as text[0..len) ends: columns of the tables that the text names, or of
 * all if it names none, tables, functions and keywords; after "alias." columns of that table.
 * *ret_typed: bytes of the word that are typed. Returns 0 or -ENOMEM. */
int sql_complete(sqlite3 *db, const char *text, size_t len, struct sql_words *ret,
		 size_t *ret_typed);

/* Returns how many bytes all words have in common at their start, upper and lower case being
 * equal. */
size_t sql_words_common(const struct sql_words *w);
