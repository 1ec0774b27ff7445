/* SPDX-License-Identifier: Apache-2.0 */
/* percentile(x, p) and the window function last_non_null(x). */
#include <stdlib.h>

#include "analyze/tables/table_module.h"
#include "base/core/mem.h"

/* ---- percentile ---- */

struct percentile {
	double *v; /* owned */
	size_t n, cap;
	double p; /* 0 to 100 */
};

static void percentile_fail(sqlite3_context *ctx, const char *message)
{
	struct percentile *of = sqlite3_aggregate_context(ctx, 0);

	if (of) {
		freep(&of->v);
		of->n = of->cap = 0;
	}
	sqlite3_result_error(ctx, message, -1);
}

static void percentile_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct percentile *of = sqlite3_aggregate_context(ctx, sizeof(*of));
	int type = sqlite3_value_type(argv[0]);

	if (!of) {
		sqlite3_result_error_nomem(ctx);
		return;
	}
	of->p = sqlite3_value_double(argv[1]);
	if (sqlite3_value_numeric_type(argv[1]) == SQLITE_TEXT || !(of->p >= 0 && of->p <= 100)) {
		percentile_fail(ctx, "percentile: the percentage is not between 0 and 100");
	} else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
		if (array_reserve(&of->v, &of->cap, of->n + 1, sizeof(*of->v)))
			sqlite3_result_error_nomem(ctx);
		else
			of->v[of->n++] = sqlite3_value_double(argv[0]);
	} else if (type != SQLITE_NULL) {
		percentile_fail(ctx, "percentile: a value is not a number");
	}
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Between two values the result is interpolated. */
static void percentile_final(sqlite3_context *ctx)
{
	struct percentile *of = sqlite3_aggregate_context(ctx, 0);
	double at, low;
	size_t i;

	if (!of || !of->n)
		return;
	qsort(of->v, of->n, sizeof(*of->v), compare_doubles);
	at = of->p * (double)(of->n - 1) / 100;
	i = (size_t)at;
	low = of->v[i];
	if (i + 1 < of->n && at > (double)i)
		low += (of->v[i + 1] - low) * (at - (double)i);
	sqlite3_result_double(ctx, low);
	freep(&of->v);
}

/* ---- last_non_null ---- */

/* Of the rows of the frame only the last value can be the result: when its row leaves the frame,
 * those before it have left. */
struct last_non_null {
	sqlite3_value *value; /* owned; NULL: none */
	sqlite3_int64 at; /* its row; rows count from 0 */
	sqlite3_int64 begin, end; /* the rows of the frame */
};

static void last_free_value(struct last_non_null *last)
{
	sqlite3_value_free(last->value);
	last->value = NULL;
}

static void last_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct last_non_null *last = sqlite3_aggregate_context(ctx, sizeof(*last));

	if (!last)
		return;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL) {
		last_free_value(last);
		last->value = sqlite3_value_dup(argv[0]);
		last->at = last->end;
	}
	last->end++;
}

static void last_inverse(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct last_non_null *last = sqlite3_aggregate_context(ctx, sizeof(*last));

	if (last && last->begin++ == last->at)
		last_free_value(last);
}

static void last_value(sqlite3_context *ctx)
{
	const struct last_non_null *last = sqlite3_aggregate_context(ctx, sizeof(*last));

	if (last && last->value)
		sqlite3_result_value(ctx, last->value);
}

static void last_final(sqlite3_context *ctx)
{
	struct last_non_null *last = sqlite3_aggregate_context(ctx, sizeof(*last));

	last_value(ctx);
	if (last)
		last_free_value(last);
}

int aggregates_register(sqlite3 *db)
{
	int r = sqlite3_create_function(db, "percentile", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
					NULL, NULL, percentile_step, percentile_final);

	return r == SQLITE_OK ? sqlite3_create_window_function(
					db, "last_non_null", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
					NULL, last_step, last_final, last_value, last_inverse, NULL)
			      : r;
}
