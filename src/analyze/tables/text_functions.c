/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of SQL on texts. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/tables/table_module.h"
#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/text/base64.h"
#include "base/text/number_read.h"
#include "base/text/regex.h"
#include "base/text/str.h"

/* ---- regular expressions ---- */

#define MATCH_STEPS (UINT64_C(1) << 28)

static void free_regex(void *re)
{
	regex_free(re);
}

/* Compiles the pattern of an argument. SQLite keeps it for the next rows if the argument is
 * constant; if *ret_new, keep_compiled_regex() gives it to SQLite after its last use. Returns NULL
 * after an error. */
static struct regex *get_compiled_regex(sqlite3_context *ctx, sqlite3_value **argv, int i,
					bool *ret_new)
{
	struct regex *re = sqlite3_get_auxdata(ctx, i);
	struct err_text e;
	int r = 0;

	*ret_new = !re;
	if (*ret_new)
		r = regex_new((const char *)sqlite3_value_text(argv[i]), &e, &re);
	if (r == -EINVAL)
		sqlite3_result_error(ctx, e.text, -1);
	else if (r < 0)
		sqlite3_result_error_nomem(ctx);
	return r < 0 ? NULL : re;
}

static void keep_compiled_regex(sqlite3_context *ctx, int i, struct regex *re, bool is_new)
{
	if (is_new)
		sqlite3_set_auxdata(ctx, i, re, free_regex);
}

/* Like regex_match(); sets an error if it takes too long. */
static int regex_find(sqlite3_context *ctx, struct regex *re, sqlite3_value *text, size_t from,
		      struct regex_span *spans, uint64_t *steps)
{
	int r = regex_match(re, REGEX_SEARCH, sqlite3_value_text(text),
			    (size_t)sqlite3_value_bytes(text), from, spans, steps);

	if (r < 0)
		sqlite3_result_error(ctx, "this regular expression takes too long", -1);
	return r;
}

/* text REGEXP pattern: true if a part of the text matches. */
static void sql_regexp(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	uint64_t steps = MATCH_STEPS;
	struct regex *re;
	bool is_new;
	int r;

	if (!sqlite3_value_text(argv[0]) || !sqlite3_value_text(argv[1]))
		return;
	re = get_compiled_regex(ctx, argv, 0, &is_new);
	if (!re)
		return;
	r = regex_find(ctx, re, argv[1], 0, NULL, &steps);
	if (r >= 0)
		sqlite3_result_int(ctx, r);
	keep_compiled_regex(ctx, 0, re, is_new);
}

/* regexp_extract(text, pattern): the part that matches, or that matches the pattern's group. */
static void regexp_extract(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct regex_span spans[REGEX_MAX_GROUPS], *span = spans;
	uint64_t steps = MATCH_STEPS;
	struct regex *re;
	bool is_new;

	if (!sqlite3_value_text(argv[0]) || !sqlite3_value_text(argv[1]))
		return;
	re = get_compiled_regex(ctx, argv, 1, &is_new);
	if (!re)
		return;
	if (regex_groups(re) > 2) {
		sqlite3_result_error(ctx,
				     "regexp_extract: more than one capture group; make the others "
				     "non-capturing: (?:...)",
				     -1);
	} else if (regex_find(ctx, re, argv[0], 0, spans, &steps) > 0) {
		if (regex_groups(re) == 2 && spans[1].begin != REGEX_UNSET)
			span = &spans[1];
		sqlite3_result_text(ctx, (const char *)sqlite3_value_text(argv[0]) + span->begin,
				    (int)(span->end - span->begin), SQLITE_TRANSIENT);
	}
	keep_compiled_regex(ctx, 1, re, is_new);
}

/* Appends the text with each match replaced. Returns a negative number after an error. */
static int replace_matches(sqlite3_context *ctx, struct regex *re, sqlite3_value **argv,
			   struct strbuf *out)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	size_t len = (size_t)sqlite3_value_bytes(argv[0]), at = 0, last = SIZE_MAX;
	struct regex_span spans[REGEX_MAX_GROUPS];
	uint64_t steps = MATCH_STEPS;
	int r = 0;

	while (at <= len && (r = regex_find(ctx, re, argv[0], at, spans, &steps)) > 0) {
		bool is_empty = spans[0].end == spans[0].begin;

		strbuf_add(out, text + at, spans[0].begin - at);
		/* As in RE2, there is no empty match directly after another match. */
		if (!is_empty || spans[0].begin != last)
			strbuf_puts(out, (const char *)sqlite3_value_text(argv[2]));
		at = last = spans[0].end;
		if (!is_empty)
			continue;
		if (at < len) /* the search continues after the next byte */
			strbuf_putc(out, text[at]);
		at++;
	}
	if (at < len)
		strbuf_add(out, text + at, len - at);
	return r;
}

/* regexp_replace_simple(text, pattern, other): the text in which `other` replaces each match. */
static void regexp_replace(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct strbuf out = {0};
	struct regex *re;
	bool is_new;

	if (!sqlite3_value_text(argv[0]) || !sqlite3_value_text(argv[1]) ||
	    !sqlite3_value_text(argv[2]))
		return;
	re = get_compiled_regex(ctx, argv, 1, &is_new);
	if (!re)
		return;
	strbuf_puts(&out, "");
	if (replace_matches(ctx, re, argv, &out) >= 0) {
		if (out.failed || out.len > INT32_MAX)
			sqlite3_result_error_nomem(ctx);
		else
			sqlite3_result_text(ctx, out.s, (int)out.len, SQLITE_TRANSIENT);
	}
	strbuf_deinit(&out);
	keep_compiled_regex(ctx, 1, re, is_new);
}

/* ---- parts and forms ---- */

/* str_split(text, separator, n): the part with number n, from 0 on; NULL if there are fewer. */
static void str_split(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const char *separator = (const char *)sqlite3_value_text(argv[1]), *end;
	int64_t n = sqlite3_value_int64(argv[2]);

	if (!text || !separator || sqlite3_value_type(argv[2]) == SQLITE_NULL)
		return;
	if (!*separator || n < 0) {
		sqlite3_result_error(ctx,
				     *separator ? "str_split: the index must not be negative"
						: "str_split: the separator is empty",
				     -1);
		return;
	}
	for (; (end = strstr(text, separator)) && n; n--)
		text = end + strlen(separator);
	if (!n)
		sqlite3_result_text(ctx, text, end ? (int)(end - text) : -1, SQLITE_TRANSIENT);
}

/* reverse(text): the characters from the last to the first. */
static void sql_reverse(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *s = (const char *)sqlite3_value_text(argv[0]);
	size_t len = s ? (size_t)sqlite3_value_bytes(argv[0]) : 0;
	char *out = s ? sqlite3_malloc64(len + 1) : NULL;

	if (!s)
		return;
	if (!out) {
		sqlite3_result_error_nomem(ctx);
		return;
	}
	for (size_t at = 0, n; at < len; at += n) {
		n = str_utf8_len(s + at, len - at);
		n = n ? n : 1;
		memcpy(out + len - at - n, s + at, n);
	}
	sqlite3_result_text(ctx, out, (int)len, sqlite3_free);
}

/* unhex('1f'), unhex('0x1f'): the number that the text represents. */
static void sql_unhex(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *s = (const char *)sqlite3_value_text(argv[0]);
	size_t n;

	if (!s)
		return;
	s += strspn(s, " \t\n");
	s += s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 2 : 0;
	n = strspn(s, "0123456789abcdefABCDEF");
	if (!n || n > 16 || s[n + strspn(s + n, " \t\n")])
		sqlite3_result_error(ctx, "unhex: the text is not a 64-bit hexadecimal number", -1);
	else
		sqlite3_result_int64(ctx, (int64_t)str_leading_u64(s, 16));
}

static void base64_encode(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const void *data = sqlite3_value_blob(argv[0]);
	struct strbuf out = {0};

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	strbuf_puts(&out, "");
	strbuf_put_base64(&out, data ? data : "", (size_t)sqlite3_value_bytes(argv[0]));
	if (out.failed || out.len > INT32_MAX)
		sqlite3_result_error_nomem(ctx);
	else
		sqlite3_result_text(ctx, out.s, (int)out.len, SQLITE_TRANSIENT);
	strbuf_deinit(&out);
}

static void base64_decode(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	struct strbuf out = {0};

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	strbuf_puts(&out, "");
	if (sqlite3_value_type(argv[0]) != SQLITE_TEXT || !text ||
	    !strbuf_put_decoded_base64(&out, text, (size_t)sqlite3_value_bytes(argv[0])))
		sqlite3_result_error(ctx, "base64_decode: the argument is not valid base64", -1);
	else if (out.failed)
		sqlite3_result_error_nomem(ctx);
	else
		sqlite3_result_blob(ctx, out.s, (int)out.len, SQLITE_TRANSIENT);
	strbuf_deinit(&out);
}

/* hash(value, ...): the FNV-1a hash of the values and their types. */
static void sql_hash(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	uint64_t h = FNV1A_START;

	for (int i = 0; i < argc; i++) {
		uint8_t type = (uint8_t)sqlite3_value_type(argv[i]);
		const unsigned char *s = sqlite3_value_text(argv[i]);

		h = fnv1a(h, &type, sizeof(type));
		h = fnv1a(h, s, s ? (size_t)sqlite3_value_bytes(argv[i]) : 0);
	}
	sqlite3_result_int64(ctx, (int64_t)h);
}

int text_functions_register(sqlite3 *db)
{
	static const struct {
		const char *name;
		int n_args;
		void (*fn)(sqlite3_context *ctx, int argc, sqlite3_value **argv);
	} functions[] = {
		{"regexp", 2, sql_regexp},
		{"regexp_extract", 2, regexp_extract},
		{"regexp_replace_simple", 3, regexp_replace},
		{"str_split", 3, str_split},
		{"reverse", 1, sql_reverse},
		{"unhex", 1, sql_unhex},
		{"base64_encode", 1, base64_encode},
		{"base64_decode", 1, base64_decode},
		{"hash", -1, sql_hash},
	};
	int r = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_SIZE(functions) && r == SQLITE_OK; i++)
		r = sqlite3_create_function(db, functions[i].name, functions[i].n_args,
					    SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
					    functions[i].fn, NULL, NULL);
	return r;
}
