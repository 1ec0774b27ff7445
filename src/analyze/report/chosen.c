/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/chosen.h"

#include <stdbool.h>
#include <string.h>

/* trace_processor cuts the name of a process at the first blank if its command line is one word.
 * Programs that set a title ("postgres: bench COMMIT") have such a line; reports keep all of it. */
static const char titles[] =
	"CREATE TEMP VIEW process AS SELECT upid, id, pid, iif(name GLOB '*:', coalesce(cmdline, "
	"name), name) AS name, start_ts, end_ts, parent_upid, uid, android_appid, "
	"android_user_id, cmdline, arg_set_id, machine_id FROM main.process";

static const char create[] =
	"CREATE TEMP TABLE chosen(utid INTEGER PRIMARY KEY); "
	"CREATE TEMP TABLE chosen_group(cgroup_id INTEGER PRIMARY KEY); "
	"CREATE TEMP TABLE asked(some INTEGER NOT NULL, limited INTEGER NOT NULL); "
	"CREATE TEMP TABLE recorded(utid INTEGER PRIMARY KEY)";

static const char choose_number[] =
	"INSERT OR REPLACE INTO chosen SELECT utid FROM thread LEFT JOIN process USING (upid) "
	"WHERE "
	"(pid = CAST(?1 AS INTEGER) OR tid = CAST(?1 AS INTEGER)) AND NOT is_idle";

/* A pattern with '/' matches a whole path, in which no wildcard matches '/'; any other matches the
 * last part of a path. Names of threads and titles are not paths. */
#define SLASHES(text) "length(replace(" text ", '/', '00')) - length(" text ")"
static const char choose_name[] =
	"WITH named AS (SELECT upid FROM process WHERE CASE WHEN instr(?1, '/') THEN name GLOB ?1 "
	"AND " SLASHES("name") " = " SLASHES(
		"?1") " WHEN name GLOB '*: *' THEN name GLOB ?1 ELSE "
		      "replace(name, rtrim(name, replace(name, '/', '')), '') GLOB ?1 END UNION "
		      "SELECT upid FROM thread WHERE name GLOB ?1 AND is_main_thread) INSERT OR "
		      "REPLACE INTO "
		      "chosen SELECT utid FROM thread WHERE (name GLOB ?1 OR upid IN (SELECT upid "
		      "FROM named "
		      "WHERE upid IS NOT NULL)) AND NOT is_idle";

/* A container by its name or the beginning of its id, a unit with or without ".service", a pod with
 * or without its namespace, or a path with all groups below it. ?2: the kind, or "". */
static const char choose_groups[] =
	"INSERT OR REPLACE INTO chosen_group SELECT g.id FROM cgroup g WHERE (?2 IN ('', "
	"'container') AND (g.name = ?1 OR g.container = ?1 OR (length(?1) >= 6 AND "
	"substr(g.container, 1, length(?1)) = ?1))) OR (?2 IN ('', 'unit') AND (g.unit = ?1 OR "
	"g.unit = ?1 || '.service')) OR (?2 IN ('', 'pod') AND (g.pod = ?1 OR g.namespace || '/' "
	"|| g.pod = ?1)) OR (?2 IN ('', 'cgroup') AND (g.path = ?1 OR (?1 GLOB '/?*' AND "
	"substr(g.path, 1, length(?1) + 1) = ?1 || '/') OR (?2 = 'cgroup' AND ?1 = '/')))";

static const char choose_members[] =
	"INSERT OR REPLACE INTO chosen SELECT utid FROM thread_cgroup WHERE cgroup_id IN "
	"chosen_group";

static const char record_all[] = "INSERT INTO recorded SELECT utid FROM thread WHERE NOT is_idle";

static const char record_one[] = "INSERT INTO recorded VALUES (?)";

static const char choose_recorded[] = "INSERT INTO chosen SELECT utid FROM recorded";

/* If some of the chosen threads are recorded, the others are not meant. */
static const char prefer_recorded[] =
	"DELETE FROM chosen WHERE utid NOT IN recorded AND EXISTS (SELECT 1 FROM chosen WHERE utid "
	"IN recorded)";

static const char names[] =
	"SELECT name FROM thread WHERE NOT is_idle UNION SELECT name FROM process";

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
		r = chosen_run(db,
			       limited ? "INSERT INTO asked VALUES (?, 1)"
				       : "INSERT INTO asked VALUES (?, 0)",
			       NULL, from->n_words + from->n_subjects > 0);
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
