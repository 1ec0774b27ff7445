/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sql_complete.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/mem.h"
#include "base/text/str.h"

static const char *const keywords[] = {"ALL",
				       "AND",
				       "AS",
				       "ASC",
				       "AVG(",
				       "BETWEEN",
				       "BY",
				       "CASE",
				       "CAST(",
				       "COUNT(",
				       "CREATE",
				       "CROSS",
				       "DESC",
				       "DISTINCT",
				       "ELSE",
				       "END",
				       "EXCEPT",
				       "EXISTS",
				       "EXPLAIN",
				       "EXTRACT_ARG(",
				       "EXTRACT_METADATA(",
				       "FROM",
				       "GLOB",
				       "GROUP",
				       "GROUP_CONCAT(",
				       "HAVING",
				       "IN",
				       "INCLUDE PERFETTO MODULE",
				       "IS",
				       "JOIN",
				       "LAG(",
				       "LEAD(",
				       "LEFT",
				       "LIKE",
				       "LIMIT",
				       "MAX(",
				       "MIN(",
				       "NOT",
				       "NULL",
				       "OFFSET",
				       "ON",
				       "OR",
				       "ORDER",
				       "OVER",
				       "PARTITION",
				       "PARTITIONED",
				       "ROW_NUMBER(",
				       "SELECT",
				       "SPAN_JOIN(",
				       "SPAN_LEFT_JOIN(",
				       "SPAN_OUTER_JOIN(",
				       "SUBSTR(",
				       "SUM(",
				       "TABLE",
				       "TEMP",
				       "THEN",
				       "TRACE_DUR()",
				       "TRACE_END()",
				       "TRACE_START()",
				       "UNION",
				       "USING",
				       "VIEW",
				       "VIRTUAL",
				       "WHEN",
				       "WHERE",
				       "WITH"};

void sql_words_deinit(struct sql_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->words[i]);
	free(w->words);
	*w = (struct sql_words){.n = 0};
}

static int sql_complete_add(struct sql_words *w, const char *s)
{
	char *copy = strdup(s);

	if (!copy || array_reserve(&w->words, &w->cap, w->n + 1, sizeof(*w->words))) {
		free(copy);
		return -ENOMEM;
	}
	w->words[w->n++] = copy;
	return 0;
}

static int sql_complete_compare(const void *a, const void *b)
{
	return strcasecmp(*(char *const *)a, *(char *const *)b);
}

static void sort_unique(struct sql_words *w)
{
	size_t n = 0;

	if (w->n)
		qsort(w->words, w->n, sizeof(*w->words), sql_complete_compare);
	for (size_t i = 0; i < w->n; i++) {
		if (n && !strcasecmp(w->words[n - 1], w->words[i]))
			free(w->words[i]);
		else
			w->words[n++] = w->words[i];
	}
	w->n = n;
}

int sql_complete_tables(sqlite3 *db, struct sql_words *ret)
{
	static const char sql[] =
		"SELECT name FROM sonda_tables UNION SELECT name FROM sqlite_temp_master "
		"UNION SELECT name FROM sqlite_master ORDER BY 1";
	sqlite3_stmt *st;
	int r = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return -ENOMEM;
	while (r == 0 && sqlite3_step(st) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 0);

		if (name && strncmp(name, "__", 2) != 0)
			r = sql_complete_add(ret, name);
	}
	sqlite3_finalize(st);
	return r;
}

/* ---- the statement so far ---- */

static bool sql_complete_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

/* Adds the columns of a table that start with the prefix. */
static int sql_complete_add_columns(sqlite3 *db, const char *table, const char *prefix, size_t len,
				    struct sql_words *ret)
{
	char *sql = sqlite3_mprintf("SELECT * FROM \"%w\" LIMIT 0", table);
	sqlite3_stmt *st;
	int r;

	if (!sql)
		return -ENOMEM;
	r = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	sqlite3_free(sql);
	if (r != SQLITE_OK)
		return 0; /* no such table */
	for (int i = 0; r == 0 && i < sqlite3_column_count(st); i++)
		if (!strncasecmp(sqlite3_column_name(st, i), prefix, len))
			r = sql_complete_add(ret, sqlite3_column_name(st, i));
	sqlite3_finalize(st);
	return r;
}

static bool sql_complete_has_name(const struct sql_words *w, const char *name)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcasecmp(w->words[i], name))
			return true;
	return false;
}

/* Appends the words of a text, in its order. */
static int sql_complete_split_text(const char *text, size_t len, struct sql_words *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < len;) {
		_cleanup_(freep) char *word = NULL;
		size_t n = 0;

		while (i + n < len && sql_complete_is_word(text[i + n]))
			n++;
		if (n) {
			word = strndup(text + i, n);
			r = word ? sql_complete_add(ret, word) : -ENOMEM;
		}
		i += n + 1;
	}
	return r;
}

/* Returns the table that "alias." means: the table of this name, or the one that precedes the alias
 * in the text; NULL if there is none. */
static const char *sql_complete_find_table(const struct sql_words *words,
					   const struct sql_words *tables, const char *alias)
{
	if (sql_complete_has_name(tables, alias))
		return alias;
	for (size_t i = 1; i < words->n; i++) {
		const char *before = words->words[i - 1];

		if (strcasecmp(words->words[i], alias) != 0)
			continue;
		if (!strcasecmp(before, "as") && i >= 2)
			before = words->words[i - 2];
		if (sql_complete_has_name(tables, before))
			return before;
	}
	return NULL;
}

static int add_columns_of_named(sqlite3 *db, const struct sql_words *words,
				const struct sql_words *tables, const char *prefix, size_t len,
				struct sql_words *ret)
{
	bool found = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < words->n; i++)
		if (sql_complete_has_name(tables, words->words[i])) {
			found = true;
			r = sql_complete_add_columns(db, words->words[i], prefix, len, ret);
		}
	for (size_t i = 0; r == 0 && !found && i < tables->n; i++)
		r = sql_complete_add_columns(db, tables->words[i], prefix, len, ret);
	return r;
}

static int add_word_with_prefix(struct sql_words *ret, const char *word, const char *prefix,
				size_t len)
{
	return strncasecmp(word, prefix, len) ? 0 : sql_complete_add(ret, word);
}

static int list_completions(sqlite3 *db, const struct sql_words *words,
			    const struct sql_words *tables, char *word, struct sql_words *ret,
			    size_t *ret_typed)
{
	const char *last = words->n ? words->words[words->n - 1] : "", *table;
	char *dot = strrchr(word, '.');
	size_t len = strlen(word);
	bool after_from = !strcasecmp(last, "from") || !strcasecmp(last, "join") ||
			  !strcasecmp(last, ".schema");
	int r = 0;

	if (dot && dot != word) {
		*dot = '\0';
		*ret_typed = strlen(dot + 1);
		table = sql_complete_find_table(words, tables, word);
		return table ? sql_complete_add_columns(db, table, dot + 1, strlen(dot + 1), ret)
			     : 0;
	}
	*ret_typed = len;
	if (!after_from)
		r = add_columns_of_named(db, words, tables, word, len, ret);
	for (size_t i = 0; r == 0 && i < tables->n; i++)
		r = add_word_with_prefix(ret, tables->words[i], word, len);
	for (size_t i = 0; r == 0 && !after_from && i < ARRAY_SIZE(keywords); i++)
		r = add_word_with_prefix(ret, keywords[i], word, len);
	return r;
}

int sql_complete(sqlite3 *db, const char *text, size_t len, struct sql_words *ret,
		 size_t *ret_typed)
{
	struct sql_words words = {.n = 0}, tables = {.n = 0};
	_cleanup_(freep) char *word = NULL;
	size_t typed = 0;
	int r;

	while (typed < len && sql_complete_is_word(text[len - typed - 1]))
		typed++;
	word = strndup(text + len - typed, typed);
	r = word ? sql_complete_split_text(text, len - typed, &words) : -ENOMEM;
	if (r == 0)
		r = sql_complete_tables(db, &tables);
	if (r == 0)
		r = list_completions(db, &words, &tables, word, ret, ret_typed);
	sort_unique(ret);
	sql_words_deinit(&words);
	sql_words_deinit(&tables);
	return r;
}

size_t sql_words_common_prefix_len(const struct sql_words *w)
{
	size_t n = w->n ? strlen(w->words[0]) : 0;

	for (size_t i = 1; i < w->n; i++)
		while (n && strncasecmp(w->words[0], w->words[i], n) != 0)
			n--;
	return n;
}
