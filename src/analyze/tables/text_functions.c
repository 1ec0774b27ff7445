/* SPDX-License-Identifier: Apache-2.0 */
/* Functions on texts that scripts for trace_processor use. */
#include <errno.h>
#include <string.h>

#include "analyze/tables/table_module.h"
#include "base/text/regex.h"

#define MATCH_STEPS (UINT64_C(1) << 28)

static void free_regex(void *re)
{
	regex_free(re);
}

/* text REGEXP pattern: true if a part of the text matches. */
static void regexp(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *pattern = (const char *)sqlite3_value_text(argv[0]);
	struct regex *re = sqlite3_get_auxdata(ctx, 0);
	const void *text = sqlite3_value_text(argv[1]);
	uint64_t steps = MATCH_STEPS;
	bool is_new = !re;
	struct err_text e;
	int r = 0;

	(void)argc;
	if (!pattern || !text)
		return;
	if (is_new)
		r = regex_new(pattern, &e, &re);
	if (r == -EINVAL)
		sqlite3_result_error(ctx, e.text, -1);
	else if (r < 0)
		sqlite3_result_error_nomem(ctx);
	if (r < 0)
		return;
	r = regex_match(re, REGEX_SEARCH, text, (size_t)sqlite3_value_bytes(argv[1]), 0, NULL,
			&steps);
	if (r < 0)
		sqlite3_result_error(ctx, "this regular expression takes too long", -1);
	else
		sqlite3_result_int(ctx, r);
	if (is_new)
		sqlite3_set_auxdata(ctx, 0, re, free_regex);
}

/* str_split(text, separator, n): the part with number n, from 0 on; NULL if there are fewer. */
static void str_split(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const char *separator = (const char *)sqlite3_value_text(argv[1]), *end;
	int64_t n = sqlite3_value_int64(argv[2]);

	(void)argc;
	if (!text || !separator || sqlite3_value_type(argv[2]) == SQLITE_NULL)
		return;
	if (!*separator || n < 0) {
		sqlite3_result_error(ctx,
				     *separator ? "str_split: the number is below 0"
						: "str_split: the separator is empty",
				     -1);
		return;
	}
	for (; (end = strstr(text, separator)) && n; n--)
		text = end + strlen(separator);
	if (!n)
		sqlite3_result_text(ctx, text, end ? (int)(end - text) : -1, SQLITE_TRANSIENT);
}

int text_functions_register(sqlite3 *db)
{
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
	int r = sqlite3_create_function(db, "regexp", 2, flags, NULL, regexp, NULL, NULL);

	if (r == SQLITE_OK)
		r = sqlite3_create_function(db, "str_split", 3, flags, NULL, str_split, NULL, NULL);
	return r;
}
