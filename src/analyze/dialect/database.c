/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A statement is cut out of its text, its macros are expanded, and then either SQLite prepares it
 * or it is one of trace_processor's dialect, which is translated into those of SQLite.
 *
 * A plain CREATE VIEW makes a temporary view: the views on the tables are temporary, and only
 * temporary views can read those.
 */
#include "analyze/dialect/database.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dialect/functions.h"
#include "analyze/dialect/macro.h"
#include "analyze/dialect/sql_modules.h"
#include "analyze/row_sets/row_sets.h"
#include "analyze/stacks/pprof.h"
#include "analyze/tables/table_module.h"
#include "base/core/mem.h"

#define INCLUDE_DEPTH_MAX 32u /* nesting of modules that include modules */
#define PRELUDE "prelude" /* the module that every script has */

struct database {
	sqlite3 *db; /* owned */
	struct macros macros;
	struct functions functions;
	struct module_names included;
	struct module_names numbered_from_1; /* PERFETTO tables; see renumber_rows_from_zero() */
	unsigned include_depth;
	char dir[PATH_MAX]; /* of modules; "": none */
	const char *module; /* borrowed: the file of that directory that runs now; NULL: none */
	struct strbuf left_out; /* functions of such files */
	unsigned n_left_out;
};

/* A statement, from its text to SQLite. */
struct statement {
	struct sql_reader original; /* in the text */
	struct macro_text expanded;
	bool is_expanded;
	const char *mistake; /* in the original text; NULL: elsewhere */
};

/* ---- mistakes ---- */

/* Compares n->word with the names of all tables, views and virtual tables. `best` is the buffer for
 * n's nearest name. */
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

/* Sets e to SQLite's message. Returns -EINTR if the statement was interrupted, else -EINVAL. */
static int database_explain_error(sqlite3 *db, struct err_text *e)
{
	static const char no_table[] = "no such table: ";
	int code = sqlite3_errcode(db) == SQLITE_INTERRUPT ? -EINTR : -EINVAL;
	char best[STR_NEAREST_SIZE], message[256];
	struct str_nearest n;

	snprintf(message, sizeof(message), "%s", sqlite3_errmsg(db));
	if (strncmp(message, no_table, sizeof(no_table) - 1) != 0)
		return err_set(e, code, "%s", message);
	str_nearest_init(&n, message + sizeof(no_table) - 1);
	find_nearest_table(db, &n, best);
	if (!str_nearest_get(&n))
		return err_set(e, code,
			       "%s; to list all tables, enter .tables at the sonda sql -i prompt",
			       message);
	return err_set(e, code, "%s; did you mean %s?", message, str_nearest_get(&n));
}

/* Appends the place of the mistake to the message. */
static void append_place_of_mistake(const char *text, const char *mistake, struct err_text *e)
{
	struct err_text message = *e;
	const char *line = text;
	unsigned lines = 1;

	for (const char *s = text; s < mistake; s++)
		if (*s == '\n') {
			lines++;
			line = s + 1;
		}
	err_set(e, 0, "%s (line %u, column %zu)", message.text, lines,
		(size_t)(mistake - line) + 1);
}

/* ---- prepare and run ---- */

/* Returns the text that SQLite or a translation gets: the statement with its macros expanded. */
static struct sql_reader get_statement_text(const struct statement *s)
{
	return s->is_expanded ? sql_reader_of(s->expanded.sql.s, s->expanded.sql.len) : s->original;
}

/* Returns the place in the original text of a place in get_statement_text(). */
static const char *find_original_place(const struct statement *s, const char *at)
{
	return s->is_expanded ? macro_text_origin(&s->expanded, (size_t)(at - s->expanded.sql.s))
			      : at;
}

/* Prepares `head` followed by the rest of the statement from r->s on. On failure, sets e, and
 * s->mistake if SQLite knows the place. */
static int prepare_rest_of_statement(struct database *d, struct statement *s, const char *head,
				     const struct sql_reader *r, sqlite3_stmt **ret,
				     struct err_text *e)
{
	struct strbuf sql = {0};
	int offset, result;

	strbuf_puts(&sql, head);
	strbuf_add(&sql, r->s, (size_t)(r->end - r->s));
	result = sql.failed ? SQLITE_NOMEM : sqlite3_prepare_v2(d->db, sql.s, -1, ret, NULL);
	strbuf_deinit(&sql);
	if (result == SQLITE_OK)
		return 0;
	offset = sqlite3_error_offset(d->db);
	if (offset >= 0)
		s->mistake = find_original_place(s, r->s + MAX(offset - (int)strlen(head), 0));
	return database_explain_error(d->db, e);
}

static int step_to_end(sqlite3 *db, sqlite3_stmt *st, struct err_text *e)
{
	int r;

	while ((r = sqlite3_step(st)) == SQLITE_ROW)
		continue;
	return r == SQLITE_DONE ? 0 : database_explain_error(db, e);
}

static int run_sql(struct database *d, const char *sql, struct err_text *e)
{
	return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : database_explain_error(d->db, e);
}

/* ---- INCLUDE ---- */

static int run_text(struct database *d, const char *text, struct err_text *e)
{
	size_t at = 0;
	int r = 0;

	while (text[at] && r == 0) {
		sqlite3_stmt *st;

		r = database_prepare(d, text, &at, &st, e);
		if (r == 0 && st)
			r = step_to_end(d->db, st, e);
		sqlite3_finalize(st);
	}
	return r;
}

/* Runs the text of a module, unless it was included before. */
static int include_module(struct database *d, const char *name, struct err_text *e)
{
	const char *dir = *d->dir ? d->dir : NULL, *outer = d->module;
	struct strbuf text = {0};
	struct err_text why;
	int r;

	if (module_names_has(&d->included, name))
		return 0;
	if (d->include_depth == INCLUDE_DEPTH_MAX)
		return err_set(e, -EINVAL, "module includes are nested more than %u deep",
			       INCLUDE_DEPTH_MAX);
	r = module_names_add(&d->included, name, e);
	if (r < 0)
		return r;
	d->include_depth++;
	d->module = sql_modules_have_file(dir, name) ? name : NULL;
	r = sql_modules_read(dir, name, &text, &why);
	if (r == 0)
		r = run_text(d, text.s, &why);
	d->module = outer;
	d->include_depth--;
	strbuf_deinit(&text);
	return r == 0 ? 0 : err_set(e, r, "module %s: %s", name, why.text);
}

static int include_modules(struct database *d, struct statement *s, const char *name,
			   struct err_text *e)
{
	struct module_names names;
	int r = sql_modules_find(*d->dir ? d->dir : NULL, name, &names, e);

	if (r < 0)
		return r;
	s->mistake = NULL; /* from here on a mistake is in a module, whose message has the place */
	for (size_t i = 0; i < names.n && r == 0; i++)
		r = include_module(d, names.v[i], e);
	module_names_deinit(&names);
	return r;
}

static int run_include_statement(struct database *d, struct statement *s, struct sql_reader *r,
				 struct err_text *e)
{
	char name[SQL_NAME_SIZE];
	size_t n = 0;

	for (struct sql_token t; (t = sql_token_peek(r)).kind != SQL_TOKEN_END;) {
		sql_token_next_word(r);
		if (n + t.len >= sizeof(name))
			return err_set(e, -EINVAL, "%.60s...: the name is too long", name);
		if (n && name[n - 1] != '.' && !sql_token_is_char(t, '.'))
			return err_set(e, -EINVAL, "expected ';' after INCLUDE PERFETTO MODULE %s",
				       name);
		memcpy(name + n, t.s, t.len);
		n += t.len;
		name[n] = '\0';
	}
	if (!n)
		return err_set(e, -EINVAL, "INCLUDE PERFETTO MODULE needs a module name");
	return include_modules(d, s, name, e);
}

/* ---- TABLE, VIEW, INDEX ---- */

/* Compares the columns that were declared with those of the new table or view. */
static int check_declared_columns(struct database *d, const struct sql_columns *columns,
				  const char *name, struct err_text *e)
{
	char *sql = sqlite3_mprintf("SELECT * FROM temp.\"%w\"", name);
	sqlite3_stmt *st = NULL;
	struct err_text why;
	int r;

	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	if (sqlite3_prepare_v2(d->db, sql, -1, &st, NULL) != SQLITE_OK)
		r = database_explain_error(d->db, e);
	else if ((r = sql_columns_check(columns, st, false, &why)) < 0)
		err_set(e, r, "%s: %s", name, why.text);
	sqlite3_finalize(st);
	sqlite3_free(sql);
	return r;
}

/* SQLite numbers the rows of a table from 1, but scripts expect 0. Renumbers the tables that a
 * statement with _auto_id names; few statements have it, so most tables stay as they are. */
static int renumber_rows_from_zero(struct database *d, struct sql_reader r, struct err_text *e)
{
	char name[SQL_NAME_SIZE], *sql;
	int result = 0;

	for (struct sql_token t; result == 0 && (t = sql_token_next(&r)).kind != SQL_TOKEN_END;) {
		if (!sql_token_name(t, name, sizeof(name)) ||
		    !module_names_remove(&d->numbered_from_1, name))
			continue;
		sql = sqlite3_mprintf("UPDATE temp.\"%w\" SET rowid = rowid - 1", name);
		result = sql ? run_sql(d, sql, e) : err_set(e, -ENOMEM, "out of memory");
		sqlite3_free(sql);
	}
	return result;
}

/* Runs drop, unless it is NULL, and then the statement made of head and the rest of r. */
static int run_statement_with_head(struct database *d, struct statement *s, const char *drop,
				   const char *head, const struct sql_reader *r, struct err_text *e)
{
	sqlite3_stmt *st = NULL;
	int result = drop ? run_sql(d, drop, e) : 0;

	if (result == 0)
		result = prepare_rest_of_statement(d, s, head, r, &st, e);
	if (result == 0)
		result = step_to_end(d->db, st, e);
	sqlite3_finalize(st);
	return result;
}

/* Ends the savepoint `relation`: keeps what was done since, or undoes it if result is an error. */
static void end_savepoint(struct database *d, int result)
{
	if (result < 0)
		sqlite3_exec(d->db, "ROLLBACK TO relation", NULL, NULL, NULL);
	sqlite3_exec(d->db, "RELEASE relation", NULL, NULL, NULL);
}

/* Creates the table or view `name`. An existing one is an error, unless `replace` is true. r: AS
 * SELECT ... */
static int make_relation(struct database *d, struct statement *s, const char *what,
			 const char *name, const struct sql_reader *r,
			 const struct sql_columns *columns, bool replace, struct err_text *e)
{
	char *head = sqlite3_mprintf("CREATE TEMP %s \"%w\" ", what, name);
	char *drop = sqlite3_mprintf("DROP %s IF EXISTS temp.\"%w\"", what, name);
	int result = head && drop ? run_sql(d, "SAVEPOINT relation", e)
				  : err_set(e, -ENOMEM, "out of memory");

	if (result == 0) {
		result = run_statement_with_head(d, s, replace ? drop : NULL, head, r, e);
		if (result == 0 && columns->n)
			result = check_declared_columns(d, columns, name, e);
		end_savepoint(d, result);
	}
	sqlite3_free(head);
	sqlite3_free(drop);
	return result;
}

static int create_relation(struct database *d, struct statement *s, struct sql_reader *r,
			   const char *what, bool replace, struct err_text *e)
{
	struct sql_columns columns = {.n = 0};
	char name[SQL_NAME_SIZE];
	int result = 0;

	if (!sql_token_name(sql_token_next_word(r), name, sizeof(name)))
		return err_set(e, -EINVAL, "expected CREATE PERFETTO %s name AS SELECT ...", what);
	/* Accepts the kinds of tables that Perfetto's library requests; SQLite has only one
	 * kind. */
	if (sql_reader_accept_words(r, "USING"))
		sql_token_next_word(r);
	if (sql_token_is_char(sql_token_peek(r), '('))
		result = sql_columns_parse(r, false, &columns, e);
	if (result == 0 && !sql_token_is_word(sql_token_peek(r), "AS"))
		result =
			err_set(e, -EINVAL, "expected CREATE PERFETTO %s name AS SELECT ...", what);
	if (result == 0)
		result = make_relation(d, s, what, name, r, &columns, replace, e);
	if (result == 0 && !strcmp(what, "TABLE")) {
		module_names_remove(&d->numbered_from_1, name); /* of a table that was replaced */
		result = module_names_add(&d->numbered_from_1, name, e);
	}
	sql_columns_deinit(&columns);
	return result;
}

/* Runs CREATE PERFETTO INDEX. r is at "name ON table(column, ...)". */
static int create_index(struct database *d, struct statement *s, struct sql_reader *r, bool replace,
			struct err_text *e)
{
	char name[SQL_NAME_SIZE], *head, *drop;
	int result;

	if (!sql_token_name(sql_token_next_word(r), name, sizeof(name)) ||
	    !sql_token_is_word(sql_token_peek(r), "ON"))
		return err_set(e, -EINVAL, "expected CREATE PERFETTO INDEX name ON table(column)");
	head = sqlite3_mprintf("CREATE INDEX temp.\"%w\" ", name);
	drop = sqlite3_mprintf("DROP INDEX IF EXISTS temp.\"%w\"", name);
	result = head && drop ? run_sql(d, "SAVEPOINT relation", e)
			      : err_set(e, -ENOMEM, "out of memory");
	if (result == 0) {
		result = run_statement_with_head(d, s, replace ? drop : NULL, head, r, e);
		end_savepoint(d, result);
	}
	sqlite3_free(head);
	sqlite3_free(drop);
	return result;
}

/* Runs DROP PERFETTO INDEX. r is at "name ON table"; index names are unique in the whole database
 * here, so the table is not needed. */
static int drop_index(struct database *d, struct sql_reader *r, struct err_text *e)
{
	char name[SQL_NAME_SIZE], *sql;
	int result;

	if (!sql_token_name(sql_token_next_word(r), name, sizeof(name)) ||
	    !sql_reader_accept_words(r, "ON") || sql_token_next_word(r).kind != SQL_TOKEN_NAME)
		return err_set(e, -EINVAL, "expected DROP PERFETTO INDEX name ON table");
	sql = sqlite3_mprintf("DROP INDEX temp.\"%w\"", name);
	result = sql ? run_sql(d, sql, e) : err_set(e, -ENOMEM, "out of memory");
	sqlite3_free(sql);
	return result;
}

/* ---- FUNCTION ---- */

/* Reads "name(argument TYPE, ...)". */
static int parse_prototype(struct sql_reader *r, struct function_head *h, struct err_text *e)
{
	if (!sql_token_name(sql_token_next_word(r), h->name, sizeof(h->name)))
		return err_set(e, -EINVAL, "expected a function name");
	return sql_columns_parse(r, false, &h->args, e);
}

/* Defines a function whose statement is the rest of r. */
static int define_function(struct database *d, struct statement *s, struct function_head *h,
			   const struct sql_reader *r, bool replace, struct err_text *e)
{
	_cleanup_(freep) char *sql = strndup(r->s, (size_t)(r->end - r->s));
	int result;

	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	d->functions.mistake = -1;
	result = h->columns.n ? table_function_define(&d->functions, h, sql, replace, e)
			      : function_define(&d->functions, h, sql, replace, e);
	if (result < 0 && d->functions.mistake >= 0)
		s->mistake = find_original_place(s, r->s + d->functions.mistake);
	return result;
}

/* Defines a function that passes its arguments to another one, whose name comes next in r. */
static int define_delegate(struct database *d, struct function_head *h, struct sql_reader *r,
			   bool replace, struct err_text *e)
{
	char other[SQL_NAME_SIZE];
	struct strbuf sql = {0};
	int result;

	if (!sql_token_name(sql_token_next_word(r), other, sizeof(other)))
		return err_set(e, -EINVAL, "DELEGATES TO needs a function name");
	strbuf_printf(&sql, "SELECT %s(", other);
	for (size_t i = 0; i < h->args.n; i++)
		strbuf_printf(&sql, "%s$%s", i ? ", " : "", h->args.v[i].name);
	strbuf_puts(&sql, ")");
	result = sql.failed ? err_set(e, -ENOMEM, "out of memory")
			    : function_define(&d->functions, h, sql.s, replace, e);
	strbuf_deinit(&sql);
	return result;
}

#define LEFT_OUT_MAX 3u /* functions that a message names */

/* Records that a function of an included module is left out because its statement uses something
 * that sonda lacks. The rest of the module works without the function. */
static void record_left_out_function(struct database *d, const char *function,
				     const struct err_text *why)
{
	if (d->n_left_out++ < LEFT_OUT_MAX)
		strbuf_printf(&d->left_out, "%s%s of %s (%s)", d->left_out.len ? ", " : "",
			      function, d->module, why->text);
}

static int create_function(struct database *d, struct statement *s, struct sql_reader *r,
			   bool replace, struct err_text *e)
{
	struct function_head h = {.args = {0}};
	char name[SQL_NAME_SIZE];
	enum sql_type type;
	int result = parse_prototype(r, &h, e);

	memcpy(name, h.name, sizeof(name));
	d->functions.is_wrong = false;
	if (result == 0 && !sql_reader_accept_words(r, "RETURNS"))
		result = err_set(e, -EINVAL, "expected RETURNS after the arguments of %s", h.name);
	if (result == 0)
		result = sql_reader_accept_words(r, "TABLE")
				 ? sql_columns_parse(r, false, &h.columns, e)
				 : sql_type_parse(r, &type, e);
	if (result == 0 && sql_reader_accept_words(r, "DELEGATES TO") && !h.columns.n)
		result = define_delegate(d, &h, r, replace, e);
	else if (result == 0 && !sql_reader_accept_words(r, "AS"))
		result = err_set(e, -EINVAL, "expected AS and a statement after the type of %s",
				 h.name);
	else if (result == 0)
		result = define_function(d, s, &h, r, replace, e);
	function_head_deinit(&h);
	if (result == -EINVAL && d->module && d->functions.is_wrong) {
		record_left_out_function(d, name, e);
		result = 0;
	}
	return result;
}

/* create_function('f(a INT)', 'INT', 'SELECT ...') and create_view_function('f(a INT)', 'b INT',
 * 'SELECT ...'): the syntax of older scripts, which may define the same function twice. */
static void create_function_call(sqlite3_context *ctx, bool returns_table, sqlite3_value **argv)
{
	struct database *d = sqlite3_user_data(ctx);
	struct function_head h = {.args = {0}};
	struct strbuf columns = {0};
	const char *texts[3];
	struct sql_reader r;
	enum sql_type type;
	struct err_text e;
	int result;

	for (int i = 0; i < 3; i++) {
		texts[i] = (const char *)sqlite3_value_text(argv[i]);
		if (!texts[i]) {
			sqlite3_result_error(ctx, "create_function: an argument is NULL", -1);
			return;
		}
	}
	r = sql_reader_of(texts[0], strlen(texts[0]));
	result = parse_prototype(&r, &h, &e);
	strbuf_printf(&columns, returns_table ? "(%s)" : "%s", texts[1]);
	r = sql_reader_of(columns.s, columns.len);
	if (result == 0)
		result = returns_table ? sql_columns_parse(&r, false, &h.columns, &e)
				       : sql_type_parse(&r, &type, &e);
	if (result == 0)
		result = h.columns.n ? table_function_define(&d->functions, &h, texts[2], true, &e)
				     : function_define(&d->functions, &h, texts[2], true, &e);
	if (result < 0)
		sqlite3_result_error(ctx, e.text, -1);
	strbuf_deinit(&columns);
	function_head_deinit(&h);
}

static void create_scalar_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	create_function_call(ctx, false, argv);
}

static void create_view_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	create_function_call(ctx, true, argv);
}

/* ---- statements ---- */

/* True if the view's name is not quoted and has no name of a schema before it. r: the text after
 * CREATE VIEW. */
static bool is_plain_view(struct sql_reader r)
{
	struct sql_token name;

	sql_reader_accept_words(&r, "IF NOT EXISTS");
	name = sql_token_next_word(&r);
	return name.kind == SQL_TOKEN_NAME && !strchr("\"`[", *name.s) &&
	       !sql_token_is_char(sql_token_peek(&r), '.');
}

/* Runs a CREATE statement of the dialect. r is behind CREATE [OR REPLACE] PERFETTO. */
static int create_perfetto(struct database *d, struct statement *s, struct sql_reader *r,
			   bool replace, struct err_text *e)
{
	if (sql_reader_accept_words(r, "TABLE"))
		return create_relation(d, s, r, "TABLE", replace, e);
	if (sql_reader_accept_words(r, "VIEW"))
		return create_relation(d, s, r, "VIEW", replace, e);
	if (sql_reader_accept_words(r, "FUNCTION"))
		return create_function(d, s, r, replace, e);
	if (sql_reader_accept_words(r, "INDEX"))
		return create_index(d, s, r, replace, e);
	return err_set(e, -EINVAL,
		       "CREATE PERFETTO must be followed by TABLE, VIEW, FUNCTION, MACRO or INDEX");
}

static bool read_create_perfetto(struct sql_reader *r, bool *ret_replace)
{
	*ret_replace = sql_reader_accept_words(r, "CREATE OR REPLACE PERFETTO");
	return *ret_replace || sql_reader_accept_words(r, "CREATE PERFETTO");
}

/* Runs a statement of the dialect, or prepares one of SQLite. */
static int prepare_statement(struct database *d, struct statement *s, sqlite3_stmt **ret,
			     struct err_text *e)
{
	struct sql_reader r = s->original, macro = r;
	bool replace;
	int result;

	if (read_create_perfetto(&macro, &replace) && sql_reader_accept_words(&macro, "MACRO"))
		return macro_define(&d->macros, macro, replace, e);
	s->is_expanded = macro_needs_expansion(r);
	if (s->is_expanded) {
		result = macro_expand(&d->macros, r, &s->expanded, &s->mistake, e);
		if (result < 0) {
			s->is_expanded = false;
			return result;
		}
		r = get_statement_text(s);
	}
	if (s->expanded.has_row_number) {
		result = renumber_rows_from_zero(d, r, e);
		if (result < 0)
			return result;
	}
	if (sql_reader_accept_words(&r, "INCLUDE PERFETTO MODULE"))
		return run_include_statement(d, s, &r, e);
	if (read_create_perfetto(&r, &replace))
		return create_perfetto(d, s, &r, replace, e);
	if (sql_reader_accept_words(&r, "DROP PERFETTO INDEX"))
		return drop_index(d, &r, e);
	if (sql_reader_accept_words(&r, "CREATE VIEW") && is_plain_view(r))
		return prepare_rest_of_statement(d, s, "CREATE TEMP VIEW", &r, ret, e);
	r = get_statement_text(s);
	return prepare_rest_of_statement(d, s, "", &r, ret, e);
}

/* Prepares CREATE TRIGGER. It contains several ';', so SQLite finds its end. Sets *at to that end,
 * or on failure to the end of the text. */
static int prepare_trigger(struct database *d, const char *text, size_t *at, sqlite3_stmt **ret,
			   struct err_text *e)
{
	const char *tail = text + *at;
	int r = sqlite3_prepare_v2(d->db, tail, -1, ret, &tail);

	*at = r == SQLITE_OK ? (size_t)(tail - text) : strlen(text);
	return r == SQLITE_OK ? 0 : database_explain_error(d->db, e);
}

static bool is_trigger(struct sql_reader r)
{
	return sql_reader_accept_words(&r, "CREATE TRIGGER") ||
	       sql_reader_accept_words(&r, "CREATE TEMP TRIGGER") ||
	       sql_reader_accept_words(&r, "CREATE TEMPORARY TRIGGER");
}

int database_prepare(struct database *d, const char *text, size_t *at, sqlite3_stmt **ret,
		     struct err_text *e)
{
	struct sql_reader rest = sql_reader_of(text + *at, strlen(text + *at));
	struct statement s = {.is_expanded = false};
	int r;

	*ret = NULL;
	/* Every script has the prelude. database_open() does not include it, because programs that
	 * only use SQLite's statements do not need it. */
	r = module_names_has(&d->included, PRELUDE) ? 0 : include_module(d, PRELUDE, e);
	if (r < 0)
		return r;
	if (is_trigger(rest))
		return prepare_trigger(d, text, at, ret, e);
	s.original = sql_reader_read_statement(&rest);
	*at = (size_t)(rest.s - text);
	s.mistake = s.original.s;
	if (sql_token_peek(&s.original).kind == SQL_TOKEN_END)
		return 0;
	s.mistake = sql_token_peek(&s.original).s;
	r = prepare_statement(d, &s, ret, e);
	if (r < 0 && s.mistake)
		append_place_of_mistake(text, s.mistake, e);
	macro_text_deinit(&s.expanded);
	return r;
}

/* ---- the database ---- */

int database_open(struct store *s, struct database **ret)
{
	static const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
	struct database *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	if (sqlite3_open_v2(":memory:", &d->db, flags, NULL) != SQLITE_OK ||
	    table_module_register(d->db, s) != SQLITE_OK ||
	    args_module_register(d->db, s) != SQLITE_OK ||
	    slice_walk_register(d->db, s) != SQLITE_OK ||
	    flow_walk_register(d->db, s) != SQLITE_OK ||
	    sql_functions_register(d->db, s) != SQLITE_OK ||
	    text_functions_register(d->db) != SQLITE_OK ||
	    aggregates_register(d->db) != SQLITE_OK ||
	    stack_functions_register(d->db) != SQLITE_OK ||
	    pprof_function_register(d->db, s) != SQLITE_OK ||
	    sqlite3_exec(d->db, sql_texts[0].sql, NULL, NULL, NULL) != SQLITE_OK ||
	    span_join_register(d->db) != SQLITE_OK || row_sets_register(d->db) != SQLITE_OK ||
	    sqlite3_create_function(d->db, "create_function", 3, SQLITE_UTF8, d,
				    create_scalar_function, NULL, NULL) != SQLITE_OK ||
	    sqlite3_create_function(d->db, "create_view_function", 3, SQLITE_UTF8, d,
				    create_view_function, NULL, NULL) != SQLITE_OK) {
		database_close(d);
		return -ENOMEM;
	}
	d->functions.db = d->db;
	*ret = d;
	return 0;
}

void database_close(struct database *d)
{
	if (!d)
		return;
	functions_deinit(&d->functions);
	macros_deinit(&d->macros);
	strbuf_deinit(&d->left_out);
	module_names_deinit(&d->included);
	module_names_deinit(&d->numbered_from_1);
	sqlite3_close(d->db);
	free(d);
}

bool database_pop_left_out(struct database *d, struct err_text *ret)
{
	if (!d->n_left_out || !d->left_out.s)
		return false;
	err_set(ret, 0, "module functions are omitted: %s%s", d->left_out.s,
		d->n_left_out > LEFT_OUT_MAX ? ", and others" : "");
	strbuf_clear(&d->left_out);
	d->n_left_out = 0;
	return true;
}

sqlite3 *database_sqlite(struct database *d)
{
	return d->db;
}

int database_use_modules(struct database *d, const char *dir, struct err_text *e)
{
	return sql_modules_open_dir(dir, d->dir, sizeof(d->dir), e);
}
