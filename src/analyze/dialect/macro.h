/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "analyze/dialect/sql_token.h"
#include "base/core/err.h"
#include "base/text/str.h"

/*
 * Macros of SQL: name!(argument, ...) stands for the macro's body, in which $name stands for the
 * text of an argument. Arguments are expanded first. Macros that are built in:
 *
 *	__intrinsic_stringify!(text)		the text as a string of SQL
 *	__intrinsic_token_apply!(m, (a, b), (c, d))		m!(a, c), m!(b, d)
 *
 * The suffix _and joins by AND instead of a comma; the suffix _prefix also puts the comma or AND
 * before the first element. All lists end where the shortest one ends.
 *
 * Each table of CREATE PERFETTO TABLE has a hidden column _auto_id, the number of a row: SQLite's
 * rowid here.
 */

#define MACRO_ROW_NUMBER "_auto_id"

#define MACRO_DEPTH_MAX 64u /* nesting of macros, in bodies or arguments */
#define MACRO_CALLS_MAX 20000u /* in one statement */
#define MACRO_BYTES_MAX (4u << 20) /* of one statement, including intermediate expansions */

struct macros {
	struct macro *by_name; /* owned */
};

/* Frees all macros. */
void macros_deinit(struct macros *m);

/* Defines a macro from "name(argument Type, ...) RETURNS Type AS body". Returns 0; or -EINVAL or
 * -ENOMEM, and sets e. Unless `replace` is true, an existing macro of that name is an error. */
int macro_define(struct macros *m, struct sql_reader r, bool replace, struct err_text *e);

/* A statement after its macros were expanded, and where its parts come from. */
struct macro_text {
	struct strbuf sql;
	struct macro_origin {
		size_t at; /* in sql */
		const char *from;
		bool is_call; /* all of it comes from one call, at `from` */
	} * origins; /* owned; ascending */
	size_t n, cap;
	bool has_row_number; /* _auto_id was replaced */
};

/* True if a statement calls a macro, or contains _auto_id or a non-breaking space (U+00A0), which
 * SQLite does not treat as white space. */
bool macro_needs_expansion(struct sql_reader r);
/* Returns 0 with *ret, which the caller deinits; or -EINVAL or -ENOMEM, sets e, and *ret_at to the
 * place of the mistake in the text. The text must be valid as long as *ret. */
int macro_expand(const struct macros *m, struct sql_reader r, struct macro_text *ret,
		 const char **ret_at, struct err_text *e);
void macro_text_deinit(struct macro_text *t);
/* Returns the place in the original text of a byte of t->sql. */
const char *macro_text_origin(const struct macro_text *t, size_t at);
