/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which intervals of several sets overlap. Intervals with different values in the columns of the
 * partition are never combined. The first two sets are intersected, the result with the third, and
 * so on. Intervals do not include their end. One of length 0 is a moment, and lies in an interval
 * that begins then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/row_sets/result_rows.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/text/str.h"

#define INTERVALS_POINTER "sonda intervals"
#define SETS_MAX 10
#define PARTITION_COLUMNS_MAX 4

struct interval {
	int64_t id, ts, end;
	size_t partition; /* number */
};

struct partition {
	UT_hash_handle hh;
	size_t number, begin, end; /* where its intervals are, after they were sorted */
	sqlite3_value *values[PARTITION_COLUMNS_MAX]; /* owned */
	char *key; /* owned: types and values */
};

struct intervals {
	struct interval *v; /* owned */
	size_t n, cap;
	struct partition *partitions; /* owned */
	size_t n_partitions;
	char names[PARTITION_COLUMNS_MAX][RESULT_NAME_SIZE];
	int n_columns; /* of the partition */
};

/* ---- collecting ---- */

static void intervals_free(void *p)
{
	struct intervals *set = p;
	struct partition *at, *next;

	if (!set)
		return;
	HASH_ITER (hh, set->partitions, at, next) {
		HASH_DEL(set->partitions, at);
		for (int i = 0; i < set->n_columns; i++)
			sqlite3_value_free(at->values[i]);
		free(at->key);
		free(at);
	}
	free(set->v);
	free(set);
}

/* Returns the values, each with its type and length, so that different ones make different keys.
 * The caller frees it; NULL if out of memory. */
static char *make_partition_key(int n, sqlite3_value **argv)
{
	struct strbuf key = {0};

	strbuf_puts(&key, "");
	for (int i = 0; i < n; i++) {
		sqlite3_value *v = argv[2 * i + 1];
		int type = sqlite3_value_type(v);
		const char *text = (const char *)sqlite3_value_text(v);

		strbuf_printf(&key, "%d:%zu:%s,", type, text ? strlen(text) : 0, text ? text : "");
	}
	return strbuf_take(&key);
}

/* Returns the partition of these values, added if needed; NULL if out of memory. argv: names and
 * values. */
static struct partition *find_or_add_partition(struct intervals *set, sqlite3_value **argv)
{
	_cleanup_(freep) char *key = make_partition_key(set->n_columns, argv);
	struct partition *p;

	if (!key)
		return NULL;
	HASH_FIND_STR(set->partitions, key, p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->number = set->n_partitions;
	p->key = TAKE_PTR(key);
	for (int i = 0; i < set->n_columns; i++)
		p->values[i] = sqlite3_value_dup(argv[2 * i + 1]);
	HASH_ADD_KEYPTR(hh, set->partitions, p->key, strlen(p->key), p);
	if (!p->hh.tbl) {
		for (int i = 0; i < set->n_columns; i++)
			sqlite3_value_free(p->values[i]);
		free(p->key);
		free(p);
		return NULL;
	}
	set->n_partitions++;
	return p;
}

static struct intervals *new_intervals(int n_columns, sqlite3_value **argv)
{
	struct intervals *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->n_columns = n_columns;
	for (int i = 0; i < n_columns; i++) {
		const char *name = (const char *)sqlite3_value_text(argv[2 * i]);

		snprintf(set->names[i], RESULT_NAME_SIZE, "%s", name ? name : "");
	}
	return set;
}

/* Adds an interval to the set. The arguments are (id, ts, dur [, name, value]...). */
static void intervals_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct intervals **set = sqlite3_aggregate_context(ctx, sizeof(struct intervals *));
	int64_t ts = argc < 3 ? 0 : sqlite3_value_int64(argv[1]), end;
	struct partition *p;

	if (argc < 3 || argc % 2 == 0 || (argc - 3) / 2 > PARTITION_COLUMNS_MAX) {
		sqlite3_result_error(ctx,
				     "intervals: the arguments are id, ts, dur and up to 4 pairs "
				     "of name and value",
				     -1);
		return;
	}
	if (sqlite3_value_int64(argv[2]) < 0 ||
	    __builtin_add_overflow(ts, sqlite3_value_int64(argv[2]), &end)) {
		sqlite3_result_error(ctx, "intervals: a duration is negative or too long", -1);
		return;
	}
	if (set && !*set)
		*set = new_intervals((argc - 3) / 2, argv + 3);
	p = set && *set ? find_or_add_partition(*set, argv + 3) : NULL;
	if (!p || array_reserve(&(*set)->v, &(*set)->cap, (*set)->n + 1, sizeof(*(*set)->v))) {
		sqlite3_result_error_nomem(ctx);
		return;
	}
	(*set)->v[(*set)->n++] = (struct interval){
		.id = sqlite3_value_int64(argv[0]), .ts = ts, .end = end, .partition = p->number};
}

static int compare_intervals(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void intervals_final(sqlite3_context *ctx)
{
	struct intervals **p = sqlite3_aggregate_context(ctx, 0), *set = p ? *p : NULL;
	size_t at = 0;

	if (!set)
		return;
	if (set->n)
		qsort(set->v, set->n, sizeof(*set->v), compare_intervals);
	/* The table has its elements in the order in which they were added: that of their
	 * numbers. */
	for (struct partition *i = set->partitions; i; i = i->hh.next) {
		i->begin = at;
		while (at < set->n && set->v[at].partition == i->number)
			at++;
		i->end = at;
	}
	sqlite3_result_pointer(ctx, set, INTERVALS_POINTER, intervals_free);
}

/* ---- intersecting ---- */

/* A part of a time in which one interval of each set so far is. */
struct piece {
	int64_t ts, end;
	int64_t ids[SETS_MAX];
};

struct pieces {
	struct piece *v; /* owned; ascending by ts */
	size_t n, cap;
};

/* Pieces that may overlap with later intervals: their indices in an array. */
struct open_pieces {
	size_t *v; /* owned */
	size_t n, cap;
};

#define PIECES_MAX (RESULT_CELLS_MAX / 4)

/* Drops the pieces that have ended by `ts`; a moment at ts has not ended. */
static void drop_ended_pieces(struct open_pieces *open, const struct piece *v, int64_t ts)
{
	size_t kept = 0;

	for (size_t i = 0; i < open->n; i++) {
		const struct piece *p = &v[open->v[i]];

		if (p->end > ts || p->ts == ts)
			open->v[kept++] = open->v[i];
	}
	open->n = kept;
}

/* Adds what a piece has in common with each open one of the other side. a_first: the piece is one
 * of the result so far, the open ones are of set number `set`. Returns false if out of memory, or
 * if there are too many pieces. */
static bool intersect_piece_with_open(const struct piece *piece, const struct open_pieces *open,
				      const struct piece *others, bool a_first, int set,
				      struct pieces *out)
{
	for (size_t i = 0; i < open->n; i++) {
		const struct piece *other = &others[open->v[i]];
		struct piece *common;

		if (out->n == PIECES_MAX ||
		    array_reserve(&out->v, &out->cap, out->n + 1, sizeof(*out->v)))
			return false;
		common = &out->v[out->n++];
		*common = a_first ? *piece : *other;
		common->ids[set] = a_first ? other->ids[set] : piece->ids[set];
		common->ts = piece->ts;
		common->end = MIN(piece->end, other->end);
	}
	return true;
}

static bool open_piece(struct open_pieces *open, size_t at)
{
	if (array_reserve(&open->v, &open->cap, open->n + 1, sizeof(*open->v)))
		return false;
	open->v[open->n++] = at;
	return true;
}

/* Adds what a, which the sets before have in common, has in common with b, the pieces of set number
 * `set`. Returns false if out of memory, or if there are too many pieces. */
static bool intersect_sets(const struct pieces *a, const struct pieces *b, int set,
			   struct pieces *out)
{
	struct open_pieces open_a = {0}, open_b = {0};
	size_t i = 0, j = 0;
	bool good = true;

	while (good && (i < a->n || j < b->n)) {
		bool is_a = j == b->n || (i < a->n && a->v[i].ts <= b->v[j].ts);
		const struct piece *piece = is_a ? &a->v[i] : &b->v[j];

		drop_ended_pieces(&open_a, a->v, piece->ts);
		drop_ended_pieces(&open_b, b->v, piece->ts);
		good = is_a ? intersect_piece_with_open(piece, &open_b, b->v, true, set, out) &&
				       open_piece(&open_a, i++)
			    : intersect_piece_with_open(piece, &open_a, a->v, false, set, out) &&
				       open_piece(&open_b, j++);
	}
	free(open_a.v);
	free(open_b.v);
	return good;
}

/* Converts the intervals of a partition to pieces. Returns false if out of memory. */
static bool make_pieces_of_partition(const struct intervals *set, const struct partition *p,
				     int number, struct pieces *ret)
{
	ret->n = 0;
	if (array_reserve(&ret->v, &ret->cap, p->end - p->begin, sizeof(*ret->v)))
		return false;
	for (size_t i = p->begin; i < p->end; i++) {
		struct piece *piece = &ret->v[ret->n++];

		*piece = (struct piece){.ts = set->v[i].ts, .end = set->v[i].end};
		piece->ids[number] = set->v[i].id;
	}
	return true;
}

static bool add_rows(struct result_rows *rows, const struct pieces *pieces, int n_sets,
		     const struct intervals *set, const struct partition *p)
{
	sqlite3_value *values[PARTITION_COLUMNS_MAX];

	for (int i = 0; i < set->n_columns && pieces->n; i++) {
		values[i] = result_rows_keep(rows, p->values[i]);
		if (!values[i])
			return false;
	}
	for (size_t at = 0; at < pieces->n; at++) {
		const struct piece *piece = &pieces->v[at];
		struct cell *row = result_rows_add(rows);

		if (!row)
			return false;
		row[0] = (struct cell){.kind = CELL_INT, .i = piece->ts};
		row[1] = (struct cell){.kind = CELL_INT, .i = piece->end - piece->ts};
		for (int i = 0; i < n_sets; i++)
			row[2 + i] = (struct cell){.kind = CELL_INT, .i = piece->ids[i]};
		for (int i = 0; i < set->n_columns; i++)
			row[2 + n_sets + i] = (struct cell){.kind = CELL_VALUE, .value = values[i]};
	}
	return true;
}

/* Adds the rows of one partition of the first set. Returns false if out of memory, or if there are
 * too many pieces or rows. */
static bool intersect_partition(struct intervals *const *sets, int n_sets,
				const struct partition *p, struct result_rows *rows)
{
	struct pieces now = {0}, other = {0}, next = {0};
	bool good = make_pieces_of_partition(sets[0], p, 0, &now);

	for (int i = 1; i < n_sets && good && now.n; i++) {
		const struct partition *same;
		struct pieces swapped;

		HASH_FIND_STR(sets[i]->partitions, p->key, same);
		if (!same) {
			now.n = 0;
			break;
		}
		next.n = 0;
		good = make_pieces_of_partition(sets[i], same, i, &other) &&
		       intersect_sets(&now, &other, i, &next);
		swapped = now;
		now = next;
		next = swapped;
	}
	good = good && add_rows(rows, &now, n_sets, sets[0], p);
	free(now.v);
	free(other.v);
	free(next.v);
	return good;
}

static struct result_rows *new_result_rows(struct intervals *const *sets, int n_sets)
{
	char ids[SETS_MAX][8];
	const char *names[RESULT_COLUMNS_MAX + 1] = {"ts", "dur"};
	int n = 2;

	for (int i = 0; i < n_sets; i++) {
		snprintf(ids[i], sizeof(ids[i]), "id_%d", i);
		names[n++] = ids[i];
	}
	for (int i = 0; i < sets[0]->n_columns; i++)
		names[n++] = sets[0]->names[i];
	names[n] = NULL;
	return result_rows_new(names);
}

/* Intersects sets of intervals. The arguments are (intervals, ..., names of the columns of the
 * partition). */
static void intersect_call(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct intervals *sets[SETS_MAX];
	struct result_rows *rows;
	int n = argc - 1;
	bool good;

	if (n < 1 || n > SETS_MAX) {
		sqlite3_result_error(ctx, "intervals: 1 to 10 tables can be intersected", -1);
		return;
	}
	for (int i = 0; i < n; i++) {
		sets[i] = sqlite3_value_pointer(argv[i], INTERVALS_POINTER);
		if (!sets[i])
			return; /* one has no intervals, so nothing overlaps */
		if (sets[i]->n_columns != sets[0]->n_columns) {
			sqlite3_result_error(ctx, "intervals: the tables have different partitions",
					     -1);
			return;
		}
	}
	rows = new_result_rows(sets, n);
	good = rows;
	for (const struct partition *p = sets[0]->partitions; p && good; p = p->hh.next)
		good = intersect_partition(sets, n, p, rows);
	if (good)
		result_rows_return(ctx, TAKE_PTR(rows));
	else
		sqlite3_result_error_nomem(ctx);
	result_rows_put(rows);
}

int interval_functions_register(sqlite3 *db)
{
	int r = row_sets_aggregate(db, "__intrinsic_interval_tree_intervals_agg", -1,
				   intervals_step, intervals_final);

	return r == SQLITE_OK
		       ? row_sets_function(db, "__intrinsic_interval_intersect", -1, intersect_call)
		       : r;
}
