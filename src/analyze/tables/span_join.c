/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CREATE VIRTUAL TABLE x USING SPAN_JOIN(a PARTITIONED c, b PARTITIONED c): x has the intervals in
 * which a row of a and a row of b overlap. Each table is read once, sorted by partition and time,
 * and the two streams are merged:
 *
 *	a	|--- a1 ---|     |--- a2 ---|
 *	b	      |------- b1 -------|
 *	x	      |a1b1|     |a2b1|
 *
 * SPAN_LEFT_JOIN also has the intervals of a alone, SPAN_OUTER_JOIN those of b alone as well. To
 * that end the stream of b, or both, also have gaps: intervals between rows, with columns of NULL.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/tables/table_module.h"
#include "analyze/tables/vtab.h"
#include "base/core/mem.h"

enum join_kind { JOIN_INNER, JOIN_LEFT, JOIN_OUTER };

/* One of the two tables. */
struct join_table {
	char *name, *partition; /* owned; partition may be NULL */
	char **columns; /* owned, with the strings: all but ts, dur and the partition */
	char **types; /* owned, with the strings: declared */
	int n_columns;
	bool has_dur;
};

struct join_vtab {
	struct vtab base;
	sqlite3 *db;
	struct join_table tables[2];
	bool gaps[2]; /* by table: its stream has gaps */
};

enum span_kind { SPAN_END, SPAN_ROW, SPAN_GAP };

/* A cursor over the rows of a table as spans. A row with dur -1 ends where it begins. */
struct stream {
	sqlite3_stmt *st; /* ts, dur, partition, columns */
	bool partitioned, gaps;
	bool has_row; /* the statement has a row, with: */
	int64_t row_partition, row_ts;
	int64_t partition; /* current partition */
	int64_t rows_end; /* end of the last span before the current one */
	enum span_kind kind; /* of the current span, as ts and the ends */
	int64_t ts, end, literal_end; /* literal_end: ts + dur, also for dur -1 */
};

struct join_cursor {
	sqlite3_vtab_cursor base;
	struct stream streams[2];
	bool eof;
	int64_t row;
	int error; /* an SQLite result code */
};

/* ---- the table ---- */

static void table_clear(struct join_table *t)
{
	for (int i = 0; i < t->n_columns; i++) {
		free(t->columns[i]);
		free(t->types[i]);
	}
	free(t->columns);
	free(t->types);
	free(t->name);
	free(t->partition);
}

static void span_join_deinit(struct vtab *base)
{
	struct join_vtab *v = (struct join_vtab *)base;

	table_clear(&v->tables[0]);
	table_clear(&v->tables[1]);
}

static void span_join_deinit_cursor(sqlite3_vtab_cursor *base)
{
	struct join_cursor *c = (struct join_cursor *)base;

	sqlite3_finalize(c->streams[0].st);
	sqlite3_finalize(c->streams[1].st);
}

/* Reads "a" or "a PARTITIONED c". Returns false for other texts, or if out of memory. */
static bool parse_table(const char *text, struct join_table *t)
{
	_cleanup_(freep) char *copy = strdup(text);
	char *save = NULL, *word = copy ? strtok_r(copy, " \t\r\n", &save) : NULL;

	if (!word)
		return false;
	t->name = strdup(word);
	word = strtok_r(NULL, " \t\r\n", &save);
	if (!word)
		return t->name;
	if (strcasecmp(word, "PARTITIONED") != 0)
		return false;
	word = strtok_r(NULL, " \t\r\n", &save);
	t->partition = word ? strdup(word) : NULL;
	return t->name && t->partition && !strtok_r(NULL, " \t\r\n", &save);
}

static bool add_column(struct join_table *t, const char *name, const char *type)
{
	t->columns[t->n_columns] = strdup(name);
	t->types[t->n_columns] = strdup(type ?: "");
	t->n_columns++;
	return t->columns[t->n_columns - 1] && t->types[t->n_columns - 1];
}

/* Reads the names and types of the table's columns. Returns an SQLite result code; *error is a
 * message for the user, if there is one. */
static int read_columns(sqlite3 *db, struct join_table *t, char **error)
{
	char *sql = sqlite3_mprintf("SELECT * FROM \"%w\" LIMIT 0", t->name);
	bool has_ts = false, has_partition = !t->partition, ok = true;
	sqlite3_stmt *st = NULL;
	int r = sql ? sqlite3_prepare_v2(db, sql, -1, &st, NULL) : SQLITE_NOMEM, n;

	sqlite3_free(sql);
	if (r != SQLITE_OK) {
		*error = sqlite3_mprintf("span join: %s", sqlite3_errmsg(db));
		return r;
	}
	n = sqlite3_column_count(st);
	t->columns = calloc((size_t)n + 1, sizeof(*t->columns));
	t->types = calloc((size_t)n + 1, sizeof(*t->types));
	for (int i = 0; ok && t->columns && t->types && i < n; i++) {
		const char *name = sqlite3_column_name(st, i);

		if (!strcasecmp(name, "ts"))
			has_ts = true;
		else if (!strcasecmp(name, "dur"))
			t->has_dur = true;
		else if (t->partition && !strcasecmp(name, t->partition))
			has_partition = true;
		else
			ok = add_column(t, name, sqlite3_column_decltype(st, i));
	}
	ok = ok && t->columns && t->types;
	sqlite3_finalize(st);
	if (!ok)
		return SQLITE_NOMEM;
	if (has_ts && has_partition)
		return SQLITE_OK;
	*error = sqlite3_mprintf("span join: %s has no column %s", t->name,
				 has_ts ? t->partition : "ts");
	return SQLITE_ERROR;
}

/* Returns true, and sets *error to a message, if both tables have a column of the same name, or are
 * partitioned by columns of different names. */
static bool columns_conflict(const struct join_vtab *v, char **error)
{
	const struct join_table *a = &v->tables[0], *b = &v->tables[1];

	for (int i = 0; i < a->n_columns; i++)
		for (int j = 0; j < b->n_columns; j++)
			if (!strcasecmp(a->columns[i], b->columns[j])) {
				*error = sqlite3_mprintf(
					"span join: both tables have a column %s; rename one in a "
					"view",
					a->columns[i]);
				return true;
			}
	if (a->partition && b->partition && strcasecmp(a->partition, b->partition) != 0) {
		*error = sqlite3_mprintf("span join: one table is partitioned by %s, the other by "
					 "%s; rename one column in a view",
					 a->partition, b->partition);
		return true;
	}
	return false;
}

static const char *get_partition_column(const struct join_vtab *v)
{
	return v->tables[0].partition ?: v->tables[1].partition;
}

static int declare_join_table(struct join_vtab *v)
{
	sqlite3_str *sql = sqlite3_str_new(v->db);
	char *text;
	int r;

	sqlite3_str_appendall(sql, "CREATE TABLE x(\"ts\" BIGINT,\"dur\" BIGINT");
	if (get_partition_column(v))
		sqlite3_str_appendf(sql, ",\"%w\" BIGINT", get_partition_column(v));
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < v->tables[side].n_columns; i++)
			sqlite3_str_appendf(sql, ",\"%w\" %s", v->tables[side].columns[i],
					    v->tables[side].types[i]);
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	r = text ? sqlite3_declare_vtab(v->db, text) : SQLITE_NOMEM;
	sqlite3_free(text);
	return r;
}

static int span_join_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			     sqlite3_vtab **ret, char **error)
{
	enum join_kind kind = *(const enum join_kind *)aux;
	struct join_vtab *v = vtab_new(sizeof(*v), sizeof(struct join_cursor));
	int r = SQLITE_OK;

	if (!v)
		return SQLITE_NOMEM;
	v->base.deinit = span_join_deinit;
	v->base.deinit_cursor = span_join_deinit_cursor;
	v->db = db;
	v->gaps[0] = kind == JOIN_OUTER;
	v->gaps[1] = kind != JOIN_INNER;
	if (argc != 5 || !parse_table(argv[3], &v->tables[0]) ||
	    !parse_table(argv[4], &v->tables[1])) {
		*error = sqlite3_mprintf("span join: expected %s(a PARTITIONED c, b PARTITIONED "
					 "c); PARTITIONED is optional for each table",
					 argv[0]);
		r = SQLITE_ERROR;
	}
	for (int side = 0; side < 2 && r == SQLITE_OK; side++)
		r = read_columns(db, &v->tables[side], error);
	if (r == SQLITE_OK)
		r = columns_conflict(v, error) ? SQLITE_ERROR : declare_join_table(v);
	if (r != SQLITE_OK) {
		vtab_disconnect(&v->base.base);
		return r;
	}
	*ret = &v->base.base;
	return SQLITE_OK;
}

/* ---- plans: plan 1 has the constraint partition = ? ---- */

static int span_join_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct join_vtab *v = (const struct join_vtab *)base;
	bool partitioned = get_partition_column(v), one = false;
	int sorted, i;

	info->estimatedCost = 1e6;
	if (partitioned && (i = vtab_find_equality(info, 0, 2, NULL)) >= 0) {
		info->aConstraintUsage[i].argvIndex = 1;
		info->idxNum = 1;
		info->estimatedCost = 1e4;
		one = true;
	}
	/* Rows come by partition, then by time. */
	for (sorted = 0; sorted < info->nOrderBy; sorted++) {
		int wanted = partitioned && !one && sorted == 0 ? 2 : 0;

		if (info->aOrderBy[sorted].desc || info->aOrderBy[sorted].iColumn != wanted)
			break;
		if (wanted == 0) {
			sorted++;
			break;
		}
	}
	info->orderByConsumed = info->nOrderBy && sorted == info->nOrderBy;
	return SQLITE_OK;
}

/* ---- a stream ---- */

static void stream_step(struct join_cursor *c, struct stream *s)
{
	int r = sqlite3_step(s->st);

	s->has_row = r == SQLITE_ROW;
	if (r != SQLITE_ROW && r != SQLITE_DONE)
		c->error = r;
	if (!s->has_row)
		return;
	s->row_ts = sqlite3_column_int64(s->st, 0);
	s->row_partition = sqlite3_column_int64(s->st, 2);
}

static bool row_is_of_partition(const struct stream *s, int64_t partition)
{
	return s->has_row && (!s->partitioned || s->row_partition == partition);
}

/* Makes the statement's row, or the gap before it, the current span. */
static void stream_set_current(struct stream *s)
{
	bool in = row_is_of_partition(s, s->partition);
	int64_t dur;

	if (in && !(s->gaps && s->row_ts > s->rows_end)) {
		dur = sqlite3_column_int64(s->st, 1);
		s->kind = SPAN_ROW;
		s->ts = s->row_ts;
		s->literal_end = (int64_t)((uint64_t)s->ts + (uint64_t)dur);
		s->end = dur == -1 ? s->ts : s->literal_end;
		return;
	}
	s->kind = s->gaps && s->rows_end < INT64_MAX ? SPAN_GAP : SPAN_END;
	s->ts = s->rows_end;
	s->end = s->literal_end = in ? s->row_ts : INT64_MAX;
}

static void stream_next(struct join_cursor *c, struct stream *s)
{
	if (s->kind == SPAN_END)
		return;
	s->rows_end = s->end;
	if (s->kind == SPAN_ROW)
		stream_step(c, s);
	stream_set_current(s);
}

/* Makes the first span of a partition the current one. again: a stream without partitions starts
 * from its first row again. */
static void stream_begin(struct join_cursor *c, struct stream *s, int64_t partition, bool again)
{
	if (!s->partitioned && again) {
		sqlite3_reset(s->st);
		stream_step(c, s);
	}
	s->partition = partition;
	s->rows_end = INT64_MIN;
	stream_set_current(s);
}

static void stream_skip_partition(struct join_cursor *c, struct stream *s)
{
	while (row_is_of_partition(s, s->partition) && c->error == SQLITE_OK)
		stream_step(c, s);
}

/* ---- the merge ---- */

static bool streams_overlap(const struct stream *a, const struct stream *b)
{
	if (a->kind != SPAN_ROW && b->kind != SPAN_ROW)
		return false;
	return (a->ts == b->ts && a->kind == SPAN_ROW && b->kind == SPAN_ROW) ||
	       (a->ts >= b->ts && a->ts < b->end) || (b->ts >= a->ts && b->ts < a->end);
}

/* Returns the stream to advance: its span ends first. At equal ends, a gap of the first table ends
 * before a row of the second. */
static struct stream *get_stream_ending_first(struct stream *a, struct stream *b)
{
	if (a->end != b->end)
		return a->end < b->end ? a : b;
	return a->kind == SPAN_GAP && b->kind == SPAN_ROW ? a : b;
}

/* Advances to the next partition that has rows. Returns false if there is none. */
static bool next_partition(struct join_cursor *c, bool first)
{
	struct stream *a = &c->streams[0], *b = &c->streams[1];
	int64_t partition;

	if (!a->partitioned && !b->partitioned && !first)
		return false;
	if (!first) {
		if (a->partitioned)
			stream_skip_partition(c, a);
		if (b->partitioned)
			stream_skip_partition(c, b);
	}
	if (a->partitioned && b->partitioned) {
		/* Skips a partition that only one table has, unless the other table fills gaps. */
		while (a->has_row && b->has_row && c->error == SQLITE_OK) {
			if (!b->gaps && a->row_partition < b->row_partition)
				stream_step(c, a);
			else if (!a->gaps && b->row_partition < a->row_partition)
				stream_step(c, b);
			else
				break;
		}
		if ((!a->has_row && !(a->gaps && b->has_row)) ||
		    (!b->has_row && !(b->gaps && a->has_row)))
			return false;
		partition = !a->has_row	  ? b->row_partition
			    : !b->has_row ? a->row_partition
					  : MIN(a->row_partition, b->row_partition);
	} else if (a->partitioned || b->partitioned) {
		const struct stream *s = a->partitioned ? a : b;

		if (!s->has_row)
			return false;
		partition = s->row_partition;
	} else {
		partition = 0;
	}
	stream_begin(c, a, partition, !first);
	stream_begin(c, b, partition, !first);
	return true;
}

/* Advances to the first two spans that overlap. */
static int find_overlapping_spans(struct join_cursor *c)
{
	struct stream *a = &c->streams[0], *b = &c->streams[1];

	while (c->error == SQLITE_OK) {
		if (a->kind == SPAN_END || b->kind == SPAN_END) {
			if (next_partition(c, false))
				continue;
			c->eof = true;
			break;
		}
		if (streams_overlap(a, b))
			break;
		stream_next(c, get_stream_ending_first(a, b));
	}
	return c->error;
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
	struct join_cursor *c = (struct join_cursor *)base;
	struct stream *a = &c->streams[0], *b = &c->streams[1];

	c->row++;
	stream_next(c, get_stream_ending_first(a, b));
	return find_overlapping_spans(c);
}

/* ---- a query ---- */

static int stream_prepare(struct join_vtab *v, int side, sqlite3_value *partition,
			  struct stream *ret)
{
	const struct join_table *t = &v->tables[side];
	sqlite3_str *sql = sqlite3_str_new(v->db);
	char *text;
	int r;

	sqlite3_finalize(ret->st);
	*ret = (struct stream){.partitioned = t->partition, .gaps = v->gaps[side]};
	sqlite3_str_appendf(sql, "SELECT \"ts\",%s,", t->has_dur ? "\"dur\"" : "0");
	if (t->partition)
		sqlite3_str_appendf(sql, "\"%w\"", t->partition);
	else
		sqlite3_str_appendall(sql, "0");
	for (int i = 0; i < t->n_columns; i++)
		sqlite3_str_appendf(sql, ",\"%w\"", t->columns[i]);
	sqlite3_str_appendf(sql, " FROM \"%w\" WHERE \"ts\" IS NOT NULL", t->name);
	if (t->partition)
		sqlite3_str_appendf(sql, " AND typeof(\"%w\") = 'integer'", t->partition);
	if (t->partition && partition)
		sqlite3_str_appendf(sql, " AND \"%w\" = ?1", t->partition);
	sqlite3_str_appendall(sql, " ORDER BY ");
	if (t->partition)
		sqlite3_str_appendf(sql, "\"%w\",", t->partition);
	sqlite3_str_appendall(sql, "\"ts\"");
	text = sqlite3_str_finish(sql);
	r = text ? sqlite3_prepare_v2(v->db, text, -1, &ret->st, NULL) : SQLITE_NOMEM;
	sqlite3_free(text);
	if (r == SQLITE_OK && t->partition && partition)
		r = sqlite3_bind_value(ret->st, 1, partition);
	return r;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
			 sqlite3_value **argv)
{
	struct join_cursor *c = (struct join_cursor *)base;
	struct join_vtab *v = (struct join_vtab *)base->pVtab;

	c->eof = false;
	c->row = 0;
	c->error = SQLITE_OK;
	for (int side = 0; side < 2 && c->error == SQLITE_OK; side++) {
		c->error = stream_prepare(v, side, plan == 1 ? argv[0] : NULL, &c->streams[side]);
		if (c->error == SQLITE_OK)
			stream_step(c, &c->streams[side]);
	}
	if (c->error != SQLITE_OK) {
		sqlite3_free(base->pVtab->zErrMsg);
		base->pVtab->zErrMsg = sqlite3_mprintf("span join: %s", sqlite3_errmsg(v->db));
		return c->error;
	}
	if (!next_partition(c, true)) {
		c->eof = true;
		return c->error;
	}
	return find_overlapping_spans(c);
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
	return ((const struct join_cursor *)base)->eof;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
	struct join_cursor *c = (struct join_cursor *)base;
	const struct join_vtab *v = (const struct join_vtab *)base->pVtab;
	const struct stream *a = &c->streams[0], *b = &c->streams[1];
	int64_t ts = MAX(a->ts, b->ts);

	if (column == 0) {
		sqlite3_result_int64(ctx, ts);
		return SQLITE_OK;
	}
	if (column == 1) {
		sqlite3_result_int64(ctx, (int64_t)((uint64_t)MIN(a->literal_end, b->literal_end) -
						    (uint64_t)ts));
		return SQLITE_OK;
	}
	column -= 2;
	if (get_partition_column(v) && column-- == 0) {
		sqlite3_result_int64(ctx, a->partition);
		return SQLITE_OK;
	}
	if (column >= v->tables[0].n_columns) {
		column -= v->tables[0].n_columns;
		a = b;
	}
	if (a->kind == SPAN_ROW)
		sqlite3_result_value(ctx, sqlite3_column_value(a->st, column + 3));
	return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((const struct join_cursor *)base)->row;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	VTAB_MODULE,
	.xCreate = span_join_connect,
	.xConnect = span_join_connect,
	.xBestIndex = span_join_best_index,
	.xDestroy = vtab_disconnect,
	.xFilter = cursor_filter,
	.xNext = cursor_next,
	.xEof = cursor_eof,
	.xColumn = cursor_column,
	.xRowid = cursor_rowid,
};

int span_join_register(sqlite3 *db)
{
	static const enum join_kind kinds[] = {JOIN_INNER, JOIN_LEFT, JOIN_OUTER};
	static const char *const names[] = {"span_join", "span_left_join", "span_outer_join"};
	int r = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == SQLITE_OK; i++)
		r = sqlite3_create_module(db, names[i], &module, (void *)&kinds[i]);
	return r;
}
