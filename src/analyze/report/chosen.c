/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/chosen.h"

#include <stdbool.h>
#include <string.h>

#include "gen/sql/analyze/report/chosen.h"

/* Runs a statement. Its parameter, if it has one, is word, or number if word is NULL. */
static int chosen_run(sqlite3 *db, const char *sql, const char *word, int64_t number)
{
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	if (r != SQLITE_OK)
		return r;
	if (sqlite3_bind_parameter_count(st) && word)
		sqlite3_bind_text(st, 1, word, -1, SQLITE_STATIC);
	else if (sqlite3_bind_parameter_count(st))
		sqlite3_bind_int64(st, 1, number);
	sqlite3_step(st);
	return sqlite3_finalize(st);
}

static int insert_recorded_threads(sqlite3 *db, const struct store *store)
{
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(db, record_one, -1, &st, NULL);

	for (uint32_t utid = 0; r == SQLITE_OK && utid < store->tables[TABLE_THREAD].rows; utid++) {
		if (!store->recorded[utid])
			continue;
		sqlite3_bind_int64(st, 1, utid);
		sqlite3_step(st);
		r = sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	return r;
}

static int choose_words(sqlite3 *db, const struct chosen_from *from, const char **ret_missing)
{
	int r = SQLITE_OK;

	for (size_t i = 0; i < from->n_words && r == SQLITE_OK && !*ret_missing; i++) {
		const char *word = from->words[i];
		bool is_number = word[strspn(word, "0123456789")] == '\0';

		r = chosen_run(db, is_number ? choose_number : choose_name, word, 0);
		if (sqlite3_changes(db) == 0)
			*ret_missing = word;
	}
	return r;
}

static int choose_subjects(sqlite3 *db, const struct chosen_from *from, const char **ret_missing)
{
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(db, choose_groups, -1, &st, NULL);

	for (size_t i = 0; i < from->n_subjects && r == SQLITE_OK && !*ret_missing; i++) {
		sqlite3_bind_text(st, 1, from->subjects[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 2, from->subjects[i].kind, -1, SQLITE_STATIC);
		sqlite3_step(st);
		r = sqlite3_reset(st);
		if (sqlite3_changes(db) == 0)
			*ret_missing = from->subjects[i].name;
	}
	sqlite3_finalize(st);
	return r == SQLITE_OK ? chosen_run(db, choose_members, NULL, 0) : r;
}

/* Chooses the threads of each word and subject. */
static int choose_named(sqlite3 *db, const struct chosen_from *from, const char **ret_missing)
{
	int r = choose_words(db, from, ret_missing);

	if (r == SQLITE_OK && from->n_subjects && !*ret_missing)
		r = choose_subjects(db, from, ret_missing);
	return r == SQLITE_OK ? chosen_run(db, prefer_recorded, NULL, 0) : r;
}

int chosen_use_titles(sqlite3 *db)
{
	return sqlite3_exec(db, titles, NULL, NULL, NULL);
}

int chosen_create(sqlite3 *db, const struct chosen_from *from, const char **ret_missing)
{
	bool limited = from->store->recorded;
	int r = chosen_use_titles(db);

	*ret_missing = NULL;
	if (r == SQLITE_OK)
		r = sqlite3_exec(db, create, NULL, NULL, NULL);
	if (r == SQLITE_OK)
		r = chosen_run(db, limited ? ask_limited : ask_all, NULL,
			       from->n_words + from->n_subjects > 0);
	if (r == SQLITE_OK)
		r = limited ? insert_recorded_threads(db, from->store)
			    : chosen_run(db, record_all, NULL, 0);
	if (r != SQLITE_OK)
		return r;
	return from->n_words + from->n_subjects ? choose_named(db, from, ret_missing)
						: chosen_run(db, choose_recorded, NULL, 0);
}

const char *chosen_nearest(sqlite3 *db, const char *word, char best[static STR_NEAREST_SIZE])
{
	struct str_nearest nearest;
	sqlite3_stmt *st;

	if (sqlite3_prepare_v2(db, names, -1, &st, NULL) != SQLITE_OK)
		return NULL;
	str_nearest_init(&nearest, word);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 0);
		const char *slash = name ? strrchr(name, '/') : NULL;

		if (name)
			str_nearest_try_copy(&nearest, slash ? slash + 1 : name, best);
	}
	sqlite3_finalize(st);
	return str_nearest_get(&nearest);
}
