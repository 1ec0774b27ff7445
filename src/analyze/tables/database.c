/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database, and the statements of trace_processor's dialect that SQLite lacks:
 *
 *	INCLUDE PERFETTO MODULE a.b		makes the module's views
 *	CREATE [OR REPLACE] PERFETTO TABLE t [(types)] AS SELECT ...
 *	CREATE [OR REPLACE] PERFETTO VIEW v [(types)] AS SELECT ...
 *
 * A plain CREATE VIEW makes a temporary view, as views that are not temporary cannot read the views
 * on the tables: those are temporary.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/tables/database.h"
#include "analyze/tables/table_module.h"
#include "base/core/mem.h"
#include "base/text/str.h"

/* Returns the next character that is neither white space nor a comment. */
static const char *database_skip_space(const char *s)
{
	for (;;) {
		const char *end;

		if (isspace((unsigned char)*s)) {
			s++;
		} else if (s[0] == '-' && s[1] == '-') {
			s += strcspn(s, "\n");
		} else if (s[0] == '/' && s[1] == '*') {
			end = strstr(s + 2, "*/");
			s = end ? end + 2 : s + strlen(s);
		} else {
			return s;
		}
	}
}

static size_t name_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.' || s[n] == '*')
		n++;
	return n;
}

/* Skips the words, in upper or lower case, if they come next. Returns true if they do. */
static bool database_skip_words(const char **s, const char *words)
{
	const char *p = *s;

	while (*words) {
		size_t n = strcspn(words, " ");

		p = database_skip_space(p);
		if (name_length(p) != n || strncasecmp(p, words, n) != 0)
			return false;
		p += n;
		words += n + (words[n] == ' ');
	}
	*s = p;
	return true;
}

/* Skips "(...)" if it is next. */
static void skip_brackets(const char **s)
{
	const char *p = database_skip_space(*s);
	int depth = 0;

	if (*p != '(')
		return;
	for (; *p; p++) {
		depth += (*p == '(') - (*p == ')');
		if (!depth) {
			*s = p + 1;
			return;
		}
	}
}

/* Tries the names of all tables, views and virtual tables. n gets the name that is nearest to
 * n->word; `best` has the copy. */
static void find_nearest_table(sqlite3 *db, struct str_nearest *n,
			       char best[static STR_NEAREST_SIZE])
{
	static const char sql[] = "SELECT name FROM temp.sqlite_schema UNION SELECT name FROM "
				  "main.sqlite_schema UNION SELECT name FROM pragma_module_list";
	sqlite3_stmt *st;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(st) == SQLITE_ROW)
		str_nearest_try_copy(n, (const char *)sqlite3_column_text(st, 0), best);
	sqlite3_finalize(st);
}

static int database_fail(sqlite3 *db, struct err_text *e)
{
	static const char no_table[] = "no such table: ";
	char best[STR_NEAREST_SIZE], message[256];
	struct str_nearest n;

	snprintf(message, sizeof(message), "%s", sqlite3_errmsg(db));
	if (strncmp(message, no_table, sizeof(no_table) - 1) != 0)
		return err_set(e, -EINVAL, "%s", message);
	str_nearest_init(&n, message + sizeof(no_table) - 1);
	find_nearest_table(db, &n, best);
	if (!str_nearest_get(&n))
		return err_set(e, -EINVAL, "%s; .tables at the prompt of sonda sql -i lists them",
			       message);
	return err_set(e, -EINVAL, "%s; did you mean %s?", message, str_nearest_get(&n));
}

/* ---- INCLUDE ---- */

/* The first text has the views that are always there. The others are the modules of
 * trace_processor's library, whose views are made when a script includes them. */
#define MODULES (&sql_texts[1])

/* "a.*" matches all modules of the package a. */
static bool module_matches(const struct sql_text *m, const char *name)
{
	size_t n = strlen(name);

	if (n >= 2 && !strcmp(name + n - 2, ".*"))
		return !strncmp(m->name, name, n - 1);
	return !strcmp(m->name, name);
}

static bool module_known(const char *name)
{
	for (const struct sql_text *m = MODULES; m->name; m++)
		if (module_matches(m, name))
			return true;
	return false;
}

static void module_list(struct strbuf *ret)
{
	for (const struct sql_text *m = MODULES; m->name; m++)
		strbuf_printf(ret, "%s%s", ret->len ? ", " : "", m->name);
}

static int module_include(sqlite3 *db, const char *name)
{
	int r = SQLITE_OK;

	for (const struct sql_text *m = MODULES; m->name && r == SQLITE_OK; m++)
		if (module_matches(m, name))
			r = sqlite3_exec(db, m->sql, NULL, NULL, NULL);
	return r;
}

static int run_include(sqlite3 *db, const char *s, const char **ret_tail, struct err_text *e)
{
	char name[80];
	size_t n;

	s = database_skip_space(s);
	n = name_length(s);
	if (!n || n >= sizeof(name))
		return err_set(e, -EINVAL, "INCLUDE PERFETTO MODULE needs the name of a module");
	memcpy(name, s, n);
	name[n] = '\0';
	s = database_skip_space(s + n);
	if (*s && *s != ';')
		return err_set(e, -EINVAL, "a ; is missing after INCLUDE PERFETTO MODULE %s", name);
	*ret_tail = *s ? s + 1 : s;
	if (!module_known(name)) {
		struct strbuf names = {0};

		module_list(&names);
		err_set(e, -EINVAL, "there is no module %s; there are %s", name,
			names.s ? names.s : "");
		strbuf_deinit(&names);
		return -EINVAL;
	}
	return module_include(db, name) == SQLITE_OK ? 0 : database_fail(db, e);
}

/* ---- CREATE ---- */

/* Prepares `head` and the first statement of s as one statement. */
static int prepare_with_head(sqlite3 *db, const char *head, const char *s, sqlite3_stmt **ret,
			     const char **ret_tail, struct err_text *e)
{
	struct strbuf sql = {0};
	const char *rest;
	int r;

	strbuf_printf(&sql, "%s%s", head, s);
	r = sql.failed ? SQLITE_NOMEM : sqlite3_prepare_v2(db, sql.s, -1, ret, &rest);
	if (r == SQLITE_OK)
		*ret_tail = s + ((size_t)(rest - sql.s) - strlen(head));
	strbuf_deinit(&sql);
	return r == SQLITE_OK ? 0 : database_fail(db, e);
}

/* Returns true if the view's name is not quoted and has no name of a schema before it. s: the text
 * after CREATE VIEW. */
static bool is_plain_name(const char *s)
{
	database_skip_words(&s, "IF NOT EXISTS");
	s = database_skip_space(s);
	return *s != '"' && *s != '`' && *s != '[' && !memchr(s, '.', name_length(s));
}

/* Drops the table or view, and runs `head` and the first statement of s as one statement. If that
 * fails, the old table or view stays. */
static int replace_with(sqlite3 *db, const char *drop, const char *head, const char *s,
			const char **ret_tail, struct err_text *e)
{
	sqlite3_stmt *st = NULL;
	int r;

	if (sqlite3_exec(db, "SAVEPOINT replacement", NULL, NULL, NULL) != SQLITE_OK)
		return database_fail(db, e);
	if (sqlite3_exec(db, drop, NULL, NULL, NULL) != SQLITE_OK)
		r = database_fail(db, e);
	else
		r = prepare_with_head(db, head, s, &st, ret_tail, e);
	if (r == 0 && sqlite3_step(st) != SQLITE_DONE)
		r = database_fail(db, e);
	sqlite3_finalize(st);
	if (r < 0)
		sqlite3_exec(db, "ROLLBACK TO replacement", NULL, NULL, NULL);
	sqlite3_exec(db, "RELEASE replacement", NULL, NULL, NULL);
	return r;
}

/* Prepares the statement that creates a table or view of Perfetto. s: the text after PERFETTO TABLE
 * or VIEW. what: "TABLE" or "VIEW". */
static int database_create(sqlite3 *db, const char *s, const char *what, bool replace,
			   sqlite3_stmt **ret, const char **ret_tail, struct err_text *e)
{
	_cleanup_(freep) char *head = NULL;
	_cleanup_(freep) char *drop = NULL;
	const char *name;
	int n;

	name = database_skip_space(s);
	n = (int)name_length(name);
	s = name + n;
	skip_brackets(&s);
	if (!n || !database_skip_words(&s, "AS"))
		return err_set(e, -EINVAL, "write it as CREATE PERFETTO %s name AS SELECT ...",
			       what);
	if (asprintf(&head, "CREATE TEMP %s \"%.*s\" AS ", what, n, name) < 0 ||
	    asprintf(&drop, "DROP %s IF EXISTS temp.\"%.*s\"", what, n, name) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	return replace ? replace_with(db, drop, head, s, ret_tail, e)
		       : prepare_with_head(db, head, s, ret, ret_tail, e);
}

/* ---- the database ---- */

int database_open(struct store *s, sqlite3 **ret_db)
{
	sqlite3 *db;

	if (sqlite3_open_v2(":memory:", &db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI,
			    NULL) != SQLITE_OK ||
	    table_module_register(db, s) != SQLITE_OK || args_module_register(db, s) != SQLITE_OK ||
	    slice_walk_register(db, s) != SQLITE_OK || sql_functions_register(db, s) != SQLITE_OK ||
	    sqlite3_exec(db, sql_texts[0].sql, NULL, NULL, NULL) != SQLITE_OK ||
	    span_join_register(db) != SQLITE_OK) {
		sqlite3_close(db);
		return -ENOMEM;
	}
	*ret_db = db;
	return 0;
}

int database_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, const char **ret_tail,
		     struct err_text *e)
{
	const char *s = sql;
	bool replace;

	*ret = NULL;
	if (database_skip_words(&s, "INCLUDE PERFETTO MODULE"))
		return run_include(db, s, ret_tail, e);
	replace = database_skip_words(&s, "CREATE OR REPLACE PERFETTO");
	if (replace || database_skip_words(&s, "CREATE PERFETTO")) {
		if (database_skip_words(&s, "TABLE"))
			return database_create(db, s, "TABLE", replace, ret, ret_tail, e);
		if (database_skip_words(&s, "VIEW"))
			return database_create(db, s, "VIEW", replace, ret, ret_tail, e);
		return err_set(
			e, -EINVAL,
			"of CREATE PERFETTO, sonda has TABLE and VIEW; write a function or a "
			"macro as a view, and leave out an index");
	}
	if (database_skip_words(&s, "CREATE VIEW") && is_plain_name(s))
		return prepare_with_head(db, "CREATE TEMP VIEW", s, ret, ret_tail, e);
	return sqlite3_prepare_v2(db, sql, -1, ret, ret_tail) == SQLITE_OK ? 0
									   : database_fail(db, e);
}
