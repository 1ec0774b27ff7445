/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/dialect/sql_columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/mem.h"

int sql_type_parse(struct sql_reader *r, enum sql_type *ret, struct err_text *e)
{
	static const struct {
		const char *name;
		enum sql_type type;
	} types[] = {
		{"LONG", SQL_TYPE_LONG},      {"INT", SQL_TYPE_LONG},
		{"BOOL", SQL_TYPE_LONG},      {"UINT", SQL_TYPE_LONG},
		{"TIMESTAMP", SQL_TYPE_LONG}, {"DURATION", SQL_TYPE_LONG},
		{"ID", SQL_TYPE_LONG},	      {"JOINID", SQL_TYPE_LONG},
		{"ARGSETID", SQL_TYPE_LONG},  {"DOUBLE", SQL_TYPE_DOUBLE},
		{"FLOAT", SQL_TYPE_DOUBLE},   {"STRING", SQL_TYPE_STRING},
		{"BYTES", SQL_TYPE_BYTES},    {"PROTO", SQL_TYPE_BYTES},
		{"ANY", SQL_TYPE_ANY},
	};
	struct sql_token t = sql_token_next_word(r);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (!sql_token_is_word(t, types[i].name))
			continue;
		if (sql_reader_accept_char(r, '(')) {
			sql_reader_read_until(r, ')', ')');
			if (!sql_reader_accept_char(r, ')'))
				return err_set(e, -EINVAL, "expected ')' after '%s('",
					       types[i].name);
		}
		*ret = types[i].type;
		return 0;
	}
	return err_set(e, -EINVAL,
		       "%.*s is not a type; types are LONG, DOUBLE, STRING, BYTES, BOOL, "
		       "TIMESTAMP, DURATION, ID, JOINID(...), ARGSETID",
		       (int)MIN(t.len, 60), t.s);
}

const char *sql_type_name(enum sql_type type)
{
	static const char *const names[] = {[SQL_TYPE_LONG] = "INTEGER",
					    [SQL_TYPE_DOUBLE] = "REAL",
					    [SQL_TYPE_STRING] = "TEXT",
					    [SQL_TYPE_BYTES] = "BLOB",
					    [SQL_TYPE_ANY] = ""};

	return names[type];
}

bool sql_type_has(enum sql_type type, sqlite3_value *v)
{
	if (type == SQL_TYPE_ANY)
		return true;
	switch (sqlite3_value_type(v)) {
	case SQLITE_INTEGER:
		return type == SQL_TYPE_LONG || type == SQL_TYPE_DOUBLE;
	case SQLITE_FLOAT:
		return type == SQL_TYPE_DOUBLE;
	case SQLITE_TEXT:
		return type == SQL_TYPE_STRING;
	case SQLITE_BLOB:
		return type == SQL_TYPE_BYTES;
	default:
		return true;
	}
}

void sql_columns_deinit(struct sql_columns *c)
{
	free(c->v);
	*c = (struct sql_columns){0};
}

static int sql_column_parse(struct sql_reader *r, bool any_type, struct sql_column *c,
			    struct err_text *e)
{
	struct sql_token name = sql_token_next_word(r);

	/* An argument may have the $ with which the statement uses it. */
	if (name.kind == SQL_TOKEN_VARIABLE) {
		name.kind = SQL_TOKEN_NAME;
		name.s++;
		name.len--;
	}
	if (!sql_token_name(name, c->name, sizeof(c->name)))
		return err_set(e, -EINVAL, "expected a name before '%.*s'", (int)MIN(name.len, 60),
			       name.s);
	if (!any_type)
		return sql_type_parse(r, &c->type, e);
	if (sql_token_next_word(r).kind != SQL_TOKEN_NAME)
		return err_set(e, -EINVAL, "expected a type after '%s'", c->name);
	return 0;
}

int sql_columns_parse(struct sql_reader *r, bool any_type, struct sql_columns *ret,
		      struct err_text *e)
{
	struct sql_columns c = {0};
	int result = 0;

	if (!sql_reader_accept_char(r, '('))
		return err_set(e, -EINVAL, "expected '('");
	if (!sql_reader_accept_char(r, ')')) {
		do {
			if (c.n == SQL_COLUMNS_MAX)
				result = err_set(e, -EINVAL, "too many columns (limit %u)",
						 SQL_COLUMNS_MAX);
			else if (array_reserve(&c.v, &c.cap, c.n + 1, sizeof(*c.v)))
				result = err_set(e, -ENOMEM, "out of memory");
			else
				result = sql_column_parse(r, any_type, &c.v[c.n++], e);
		} while (result == 0 && sql_reader_accept_char(r, ','));
		if (result == 0 && !sql_reader_accept_char(r, ')'))
			result = err_set(e, -EINVAL, "expected ')' after '%s'", c.v[c.n - 1].name);
	}
	if (result < 0)
		sql_columns_deinit(&c);
	else
		*ret = c;
	return result;
}

static bool has_column(sqlite3_stmt *st, const char *name)
{
	for (int i = 0; i < sqlite3_column_count(st); i++)
		if (!strcasecmp(sqlite3_column_name(st, i), name))
			return true;
	return false;
}

int sql_columns_check(const struct sql_columns *c, sqlite3_stmt *st, bool in_order,
		      struct err_text *e)
{
	int n = sqlite3_column_count(st);

	for (size_t i = 0; i < c->n; i++)
		if (!has_column(st, c->v[i].name))
			return err_set(e, -EINVAL, "the column '%s' is declared, but not selected",
				       c->v[i].name);
	if ((size_t)n != c->n)
		return err_set(e, -EINVAL, "%zu columns are declared, but %d are selected", c->n,
			       n);
	for (int i = 0; in_order && i < n; i++)
		if (strcasecmp(sqlite3_column_name(st, i), c->v[i].name) != 0)
			return err_set(e, -EINVAL,
				       "column %d is declared as %s, but selected as %s", i + 1,
				       c->v[i].name, sqlite3_column_name(st, i));
	return 0;
}
