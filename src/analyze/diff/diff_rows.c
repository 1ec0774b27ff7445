/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diff/diff_rows.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

enum column { PROGRAM, THREAD, WHAT, AMOUNT, NUMBER, P50, P99, BYTES, COLUMNS };

static void free_row(struct diff_row *row)
{
	free(row->of);
	free(row->key);
	free(row);
}

void diff_rows_deinit(struct diff_rows *rows)
{
	struct diff_row *row, *next;

	HASH_ITER (hh, rows->list, row, next) {
		HASH_DEL(rows->list, row);
		free_row(row);
	}
}

void diff_put_general_name(const char *name, char *ret)
{
	size_t len = strlen(name);

	if (str_starts(name, "kworker/")) {
		memcpy(ret, "kworker/*", sizeof("kworker/*"));
		return;
	}
	memcpy(ret, name, len + 1);
	while (len > 1 && isdigit((unsigned char)ret[len - 1]))
		len--;
	if (ret[len])
		memcpy(ret + len, "*", 2);
}

/* ---- keys ---- */

/* Returns true for the program of a kernel thread, which is named as a thread is. */
static bool is_kernel_thread_name(const char *program)
{
	return strchr(program, '/') && program[0] != '/';
}

/* Appends a name and its NUL; nothing if it is NULL. general: without its numbers. */
static void put_name_into_key(struct strbuf *key, const char *name, bool general)
{
	char *to;

	if (!name)
		return;
	to = strbuf_reserve(key, strlen(name) + sizeof("kworker/*"));
	if (!to)
		return;
	if (general)
		diff_put_general_name(name, to);
	else
		memcpy(to, name, strlen(name) + 1);
	key->len += strlen(to) + 1;
}

static char *cut_name_from_key(char **at, bool some)
{
	char *ret = *at;

	if (!some)
		return NULL;
	*at += strlen(ret) + 1;
	return ret;
}

/* The head of a key: whose level it is, and which names it has. */
struct key_head {
	const struct report_section *level;
	bool has[3];
};

static struct diff_row *add_row_of_key(struct diff_rows *rows, struct strbuf *key)
{
	struct diff_row *row = calloc(1, sizeof(*row));
	size_t len = key->len;
	struct key_head head;
	char *at;

	if (!row)
		return NULL;
	row->of = calloc(rows->observations, sizeof(*row->of));
	row->key = strbuf_take(key);
	if (!row->of || !row->key) {
		free_row(row);
		return NULL;
	}
	for (size_t i = 0; i < rows->observations; i++)
		row->of[i].p50 = row->of[i].p99 = NAN;
	memcpy(&head, row->key, sizeof(head));
	at = row->key + sizeof(head);
	row->level = head.level;
	row->program = cut_name_from_key(&at, head.has[PROGRAM]);
	row->thread = cut_name_from_key(&at, head.has[THREAD]);
	row->what = cut_name_from_key(&at, head.has[WHAT]);
	HASH_ADD_KEYPTR(hh, rows->list, row->key, len, row);
	if (row->hh.tbl)
		return row;
	free_row(row);
	return NULL;
}

/* Returns the diff row that the names in the statement's current row identify, added if needed;
 * NULL if out of memory. */
static struct diff_row *get_row_of_statement(struct diff_rows *rows, const struct report *metric,
					     const struct report_section *level, sqlite3_stmt *st)
{
	const char *names[3];
	struct strbuf key = {0};
	struct key_head head;
	struct diff_row *ret = NULL;

	memset(&head, 0, sizeof(head)); /* clears the padding, too, because the bytes are a key */
	head.level = level;
	for (int i = PROGRAM; i <= WHAT; i++) {
		names[i] = (const char *)sqlite3_column_text(st, i);
		head.has[i] = names[i];
	}
	strbuf_add(&key, &head, sizeof(head));
	put_name_into_key(&key, names[PROGRAM],
			  names[PROGRAM] && is_kernel_thread_name(names[PROGRAM]));
	put_name_into_key(&key, names[THREAD], true);
	put_name_into_key(&key, names[WHAT], false);
	if (key.failed)
		goto out;
	HASH_FIND(hh, rows->list, key.s, key.len, ret);
	if (!ret)
		ret = add_row_of_key(rows, &key);
	if (ret)
		ret->metric = metric;
out:
	strbuf_deinit(&key);
	return ret;
}

/* ---- values ---- */

static double column_or_nan(sqlite3_stmt *st, int column)
{
	return sqlite3_column_type(st, column) == SQLITE_NULL ? NAN
							      : sqlite3_column_double(st, column);
}

/* Adds the values of a row of the statement to a diff row. Amounts of threads with the same name
 * are summed. Percentiles cannot be summed, so they become NAN. */
static void add_values_of_statement(struct diff_row *row, struct diff_value *v, sqlite3_stmt *st)
{
	row->has_amount |= sqlite3_column_type(st, AMOUNT) != SQLITE_NULL;
	row->has_bytes |= sqlite3_column_type(st, BYTES) != SQLITE_NULL;
	v->amount += sqlite3_column_double(st, AMOUNT);
	v->n += sqlite3_column_double(st, NUMBER);
	v->bytes += sqlite3_column_double(st, BYTES);
	v->p50 = v->rows ? NAN : column_or_nan(st, P50);
	v->p99 = v->rows ? NAN : column_or_nan(st, P99);
	v->rows++;
}

static void bind_named_number(sqlite3_stmt *st, const char *name, int64_t v)
{
	int i = sqlite3_bind_parameter_index(st, name);

	if (i)
		sqlite3_bind_int64(st, i, v);
}

static int read_rows_of_level(struct diff_rows *rows, sqlite3 *db, const struct report *metric,
			      const struct report_section *level, const struct diff_window *w,
			      size_t observation)
{
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(db, level->sql, -1, &st, NULL);

	if (r != SQLITE_OK)
		return r;
	bind_named_number(st, ":from", w->from);
	bind_named_number(st, ":to", w->to);
	bind_named_number(st, ":period", w->period_ns);
	bind_named_number(st, ":run", w->is_run);
	if (sqlite3_bind_parameter_index(st, ":waits"))
		sqlite3_bind_text(st, sqlite3_bind_parameter_index(st, ":waits"),
				  w->is_block ? "single" : "waits", -1, SQLITE_STATIC);
	while ((r = sqlite3_step(st)) == SQLITE_ROW) {
		struct diff_row *row = get_row_of_statement(rows, metric, level, st);

		if (!row) {
			sqlite3_finalize(st);
			return SQLITE_NOMEM;
		}
		add_values_of_statement(row, &row->of[observation], st);
	}
	sqlite3_finalize(st);
	return r == SQLITE_DONE ? SQLITE_OK : r;
}

int diff_rows_read(struct diff_rows *rows, sqlite3 *db, const struct diff_window *window,
		   size_t observation)
{
	int r = SQLITE_OK;

	for (size_t i = 0; i < n_diff_metrics; i++)
		for (size_t k = 0; k < diff_metrics[i].n_sections && r == SQLITE_OK; k++)
			r = read_rows_of_level(rows, db, &diff_metrics[i],
					       &diff_metrics[i].sections[k], window, observation);
	return r;
}
