/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expansion is recursive: a call of a macro, or an argument, is one level deeper. All intermediate
 * text counts towards MACRO_BYTES_MAX, so that a few macros that double their argument cannot take
 * all memory.
 */
#include "analyze/dialect/macro.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "analyze/dialect/sql_columns.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"

struct macro {
	UT_hash_handle hh;
	struct sql_columns args;
	char *body; /* owned */
	char name[SQL_NAME_SIZE];
};

/* The values of a macro's arguments. */
struct macro_scope {
	const struct sql_columns *args;
	const struct strbuf *values; /* as many as there are args */
};

struct macro_list {
	struct strbuf v[SQL_COLUMNS_MAX];
	size_t n;
};

struct expansion {
	const struct macros *macros;
	size_t bytes_left, calls_left;
	unsigned depth;
	const char *at; /* in the original text */
	bool has_row_number;
	struct err_text *e;
};

static int expand_statement(struct expansion *x, struct sql_reader r,
			    const struct macro_scope *scope, struct strbuf *out,
			    struct macro_text *text);

/* ---- definitions ---- */

static void macro_free(struct macro *m)
{
	sql_columns_deinit(&m->args);
	free(m->body);
	free(m);
}

void macros_deinit(struct macros *m)
{
	struct macro *macro, *next;

	HASH_ITER (hh, m->by_name, macro, next) {
		HASH_DEL(m->by_name, macro);
		macro_free(macro);
	}
}

static struct macro *macro_find(const struct macros *m, const char *name)
{
	struct macro *found;

	HASH_FIND_STR(m->by_name, name, found);
	return found;
}

static int macro_parse(struct sql_reader *r, struct macro *macro, struct err_text *e)
{
	static const char form[] =
		"CREATE PERFETTO MACRO name(argument Type, ...) RETURNS Type AS ...";
	int result;

	if (!sql_token_name(sql_token_next_word(r), macro->name, sizeof(macro->name)))
		return err_set(e, -EINVAL, "expected %s", form);
	for (char *c = macro->name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	result = sql_columns_parse(r, true, &macro->args, e);
	if (result < 0)
		return result;
	if (!sql_reader_accept_words(r, "RETURNS") ||
	    sql_token_next_word(r).kind != SQL_TOKEN_NAME || !sql_reader_accept_words(r, "AS"))
		return err_set(e, -EINVAL, "expected %s", form);
	macro->body = strndup(r->s, (size_t)(r->end - r->s));
	return macro->body ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int macro_define(struct macros *m, struct sql_reader r, bool replace, struct err_text *e)
{
	struct macro *macro = calloc(1, sizeof(*macro)), *old;
	int result = macro ? macro_parse(&r, macro, e) : err_set(e, -ENOMEM, "out of memory");

	if (result == 0) {
		old = macro_find(m, macro->name);
		if (old && !replace) {
			result = err_set(
				e, -EINVAL,
				"the macro %s already exists; use CREATE OR REPLACE to replace it",
				macro->name);
		} else {
			if (old) {
				HASH_DEL(m->by_name, old);
				macro_free(old);
			}
			HASH_ADD_STR(m->by_name, name, macro);
			if (macro->hh.tbl)
				return 0;
			result = err_set(e, -ENOMEM, "out of memory");
		}
	}
	if (macro)
		macro_free(macro);
	return result;
}

/* ---- output ---- */

static int macro_append_text(struct expansion *x, struct strbuf *out, const char *s, size_t n)
{
	if (n > x->bytes_left)
		return err_set(x->e, -EINVAL,
			       "the macros in this statement expand to more than %u MiB",
			       MACRO_BYTES_MAX >> 20);
	x->bytes_left -= n;
	strbuf_add(out, s, n);
	return out->failed ? err_set(x->e, -ENOMEM, "out of memory") : 0;
}

/* Notes where the next byte of the text comes from. */
static int macro_text_add_origin(struct expansion *x, struct macro_text *t, const char *from,
				 bool is_call)
{
	const struct macro_origin *last = t->n ? &t->origins[t->n - 1] : NULL;

	if (last && !last->is_call && !is_call && last->from + (t->sql.len - last->at) == from)
		return 0;
	if (array_reserve(&t->origins, &t->cap, t->n + 1, sizeof(*t->origins)))
		return err_set(x->e, -ENOMEM, "out of memory");
	t->origins[t->n++] = (struct macro_origin){t->sql.len, from, is_call};
	return 0;
}

const char *macro_text_origin(const struct macro_text *t, size_t at)
{
	const struct macro_origin *o = t->origins;

	for (size_t i = 1; i < t->n && t->origins[i].at <= at; i++)
		o = &t->origins[i];
	return !o || o->is_call ? o ? o->from : NULL : o->from + (at - o->at);
}

void macro_text_deinit(struct macro_text *t)
{
	strbuf_deinit(&t->sql);
	free(t->origins);
	*t = (struct macro_text){.n = 0};
}

/* ---- calls ---- */

static void macro_list_deinit(struct macro_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		strbuf_deinit(&l->v[i]);
	l->n = 0;
}

/* Reads the arguments up to the closing bracket, and expands each. */
static int read_arguments(struct expansion *x, struct sql_reader *r,
			  const struct macro_scope *scope, struct macro_list *ret)
{
	int result = 0;

	ret->n = 0;
	if (sql_reader_accept_char(r, ')'))
		return 0;
	do {
		if (ret->n == ARRAY_SIZE(ret->v))
			return err_set(x->e, -EINVAL, "a macro has at most %u arguments",
				       SQL_COLUMNS_MAX);
		ret->v[ret->n] = (struct strbuf){0};
		strbuf_puts(&ret->v[ret->n++], "");
		result = expand_statement(x, sql_reader_read_until(r, ',', ','), scope,
					  &ret->v[ret->n - 1], NULL);
	} while (result == 0 && sql_reader_accept_char(r, ','));
	if (result == 0 && !sql_reader_accept_char(r, ')'))
		return err_set(x->e, -EINVAL, "expected ')' after the arguments of a macro");
	return result;
}

static int call_macro(struct expansion *x, const char *name, const struct strbuf *values, size_t n,
		      struct strbuf *out)
{
	const struct macro *m = macro_find(x->macros, name);
	const struct macro_scope scope = {.args = m ? &m->args : NULL, .values = values};

	if (!m)
		return err_set(x->e, -EINVAL, "no macro is named %s!", name);
	if (n != m->args.n)
		return err_set(x->e, -EINVAL, "the macro %s! takes %zu arguments, not %zu", name,
			       m->args.n, n);
	if (!x->calls_left)
		return err_set(x->e, -EINVAL, "this statement has more than %u macro calls",
			       MACRO_CALLS_MAX);
	x->calls_left--;
	return expand_statement(x, sql_reader_of(m->body, strlen(m->body)), &scope, out, NULL);
}

/* Writes the text as a string of SQL, without white space around it. */
static int put_string(struct expansion *x, const struct strbuf *value, struct strbuf *out)
{
	const char *s = value->s, *end = value->s + value->len;
	int r = macro_append_text(x, out, "'", 1);

	while (s < end && isspace((unsigned char)*s))
		s++;
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	for (; s < end && r == 0; s++)
		r = *s == '\'' ? macro_append_text(x, out, "''", 2)
			       : macro_append_text(x, out, s, 1);
	return r < 0 ? r : macro_append_text(x, out, "'", 1);
}

/* Opens the list "(a, b)" of an argument. */
static int open_list_argument(struct expansion *x, const struct strbuf *value,
			      struct sql_reader *ret)
{
	*ret = sql_reader_of(value->s, value->len);
	if (!sql_reader_accept_char(ret, '('))
		return err_set(x->e, -EINVAL, "%.60s is not a list in brackets", value->s);
	return 0;
}

/* Sets *ret to the next element. Returns false at the end of the list. */
static bool read_list_element(struct sql_reader *list, struct strbuf *ret)
{
	struct sql_reader part;

	if (sql_token_is_char(sql_token_peek(list), ')') ||
	    sql_token_peek(list).kind == SQL_TOKEN_END)
		return false;
	part = sql_reader_read_until(list, ',', ',');
	sql_reader_accept_char(list, ',');
	strbuf_clear(ret);
	strbuf_add(ret, part.s, (size_t)(part.end - part.s));
	return true;
}

#define LISTS_MAX 8u

/* Expands __intrinsic_token_apply!, which calls a macro for each element of lists. The first of
 * args is the name of the macro, the others are lists of its arguments. */
static int apply_macro_to_lists(struct expansion *x, const struct macro_list *args,
				const char *separator, bool is_prefix, struct strbuf *out)
{
	struct strbuf values[LISTS_MAX] = {{0}};
	struct sql_reader lists[LISTS_MAX], first;
	char name[SQL_NAME_SIZE];
	size_t n = args->n - 1;
	int r = 0;

	if (args->n < 2 || n > LISTS_MAX)
		return err_set(x->e, -EINVAL,
			       "__intrinsic_token_apply! takes a macro and 1 to %u lists",
			       LISTS_MAX);
	first = sql_reader_of(args->v[0].s, args->v[0].len);
	if (!sql_token_name(sql_token_next_word(&first), name, sizeof(name)))
		return err_set(x->e, -EINVAL, "__intrinsic_token_apply! needs a macro name");
	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	for (size_t i = 0; i < n && r == 0; i++)
		r = open_list_argument(x, &args->v[i + 1], &lists[i]);
	for (bool is_first = true; r == 0; is_first = false) {
		bool more = true;

		for (size_t i = 0; i < n && more; i++)
			more = read_list_element(&lists[i], &values[i]);
		if (!more)
			break;
		if (!is_first || is_prefix)
			r = macro_append_text(x, out, separator, strlen(separator));
		if (r == 0)
			r = call_macro(x, name, values, n, out);
	}
	for (size_t i = 0; i < n; i++)
		strbuf_deinit(&values[i]);
	return r;
}

static int call_macro_or_intrinsic(struct expansion *x, const char *name,
				   const struct macro_list *args, struct strbuf *out)
{
	static const char prefix[] = "__intrinsic_token_apply";
	const char *suffix = name + sizeof(prefix) - 1;
	bool is_and;

	if (!strcmp(name, "__intrinsic_stringify") ||
	    !strcmp(name, "__intrinsic_stringify_ignore_table")) {
		if (args->n != 1)
			return err_set(x->e, -EINVAL, "%s! takes one argument", name);
		return put_string(x, &args->v[0], out);
	}
	if (!str_starts(name, prefix))
		return call_macro(x, name, args->v, args->n, out);
	is_and = str_starts(suffix, "_and");
	return apply_macro_to_lists(x, args, is_and ? " AND " : ", ", str_ends(suffix, "_prefix"),
				    out);
}

/* Expands the call of the macro that `token` names; r begins with its arguments. */
static int expand_call(struct expansion *x, struct sql_token token, struct sql_reader *r,
		       const struct macro_scope *scope, struct strbuf *out)
{
	struct macro_list *args;
	char name[SQL_NAME_SIZE];
	int result;

	if (!sql_token_name(token, name, sizeof(name)))
		return err_set(x->e, -EINVAL, "a macro needs a name of at most %u characters",
			       SQL_NAME_SIZE - 1);
	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	args = malloc(sizeof(*args));
	if (!args)
		return err_set(x->e, -ENOMEM, "out of memory");
	result = read_arguments(x, r, scope, args);
	if (result == 0)
		result = call_macro_or_intrinsic(x, name, args, out);
	macro_list_deinit(args);
	free(args);
	return result;
}

/* Reads "!(" after a name. */
static bool read_call_opening(struct sql_reader *r)
{
	struct sql_reader at = *r;

	if (!sql_reader_accept_char(&at, '!') || !sql_reader_accept_char(&at, '('))
		return false;
	*r = at;
	return true;
}

static const struct strbuf *scope_find_argument(const struct macro_scope *scope, struct sql_token t)
{
	for (size_t i = 0; scope && i < scope->args->n; i++)
		if (strlen(scope->args->v[i].name) == t.len - 1 &&
		    !memcmp(scope->args->v[i].name, t.s + 1, t.len - 1))
			return &scope->values[i];
	return NULL;
}

/* Appends the statement to out with its macros expanded. text: the result to which out belongs, if
 * r is in the original text; else NULL. */
static int expand_statement(struct expansion *x, struct sql_reader r,
			    const struct macro_scope *scope, struct strbuf *out,
			    struct macro_text *text)
{
	int result = 0;

	if (x->depth == MACRO_DEPTH_MAX)
		return err_set(x->e, -EINVAL, "macros are nested more than %u deep",
			       MACRO_DEPTH_MAX);
	x->depth++;
	for (struct sql_token t; result == 0 && (t = sql_token_next(&r)).kind != SQL_TOKEN_END;) {
		bool is_call = t.kind == SQL_TOKEN_NAME && read_call_opening(&r);
		const struct strbuf *value =
			t.kind == SQL_TOKEN_VARIABLE ? scope_find_argument(scope, t) : NULL;

		if (text) {
			x->at = t.s;
			result = macro_text_add_origin(x, text, t.s, is_call);
			if (result < 0)
				break;
		}
		if (is_call) {
			result = expand_call(x, t, &r, scope, out);
		} else if (value) {
			result = macro_append_text(x, out, value->s, value->len);
		} else if (sql_token_is_word(t, MACRO_ROW_NUMBER)) {
			x->has_row_number = true;
			result = macro_append_text(x, out, "rowid", 5);
		} else if (t.kind == SQL_TOKEN_SPACE) {
			result =
				macro_append_text(x, out, memchr(t.s, '\n', t.len) ? "\n" : " ", 1);
		} else {
			result = macro_append_text(x, out, t.s, t.len);
		}
	}
	x->depth--;
	return result;
}

bool macro_needs_expansion(struct sql_reader r)
{
	for (struct sql_token t; (t = sql_token_next(&r)).kind != SQL_TOKEN_END;)
		if ((t.kind == SQL_TOKEN_NAME && read_call_opening(&r)) ||
		    sql_token_is_word(t, MACRO_ROW_NUMBER) ||
		    (t.kind == SQL_TOKEN_SPACE && memchr(t.s, '\xc2', t.len)))
			return true;
	return false;
}

int macro_expand(const struct macros *m, struct sql_reader r, struct macro_text *ret,
		 const char **ret_at, struct err_text *e)
{
	struct expansion x = {.macros = m,
			      .bytes_left = MACRO_BYTES_MAX,
			      .calls_left = MACRO_CALLS_MAX,
			      .at = r.s,
			      .e = e};
	struct macro_text text = {.n = 0};
	int result;

	strbuf_puts(&text.sql, "");
	result = expand_statement(&x, r, NULL, &text.sql, &text);
	if (result < 0) {
		*ret_at = x.at;
		macro_text_deinit(&text);
	} else {
		text.has_row_number = x.has_row_number;
		*ret = text;
	}
	return result;
}
