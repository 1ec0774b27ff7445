/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/chosen.h"

#include <stdbool.h>
#include <string.h>

#include "gen/fields.h"
#include "wire/pb_dec.h"

static const char create[] =
	"CREATE TEMP TABLE chosen(utid INTEGER PRIMARY KEY); "
	"CREATE TEMP TABLE asked(some INTEGER NOT NULL, limited INTEGER NOT NULL); "
	"CREATE TEMP TABLE recorded(utid INTEGER PRIMARY KEY); "
	"CREATE TEMP TABLE selected(tid INTEGER PRIMARY KEY)";

static const char choose_number[] =
	"INSERT OR REPLACE INTO chosen SELECT utid FROM thread LEFT JOIN process USING (upid) "
	"WHERE "
	"(pid = CAST(?1 AS INTEGER) OR tid = CAST(?1 AS INTEGER)) AND NOT is_idle";

static const char choose_name[] =
	"WITH named AS (SELECT upid FROM process WHERE name GLOB ?1 OR name GLOB '*/' || ?1 UNION "
	"SELECT upid FROM thread WHERE name GLOB ?1 AND is_main_thread) INSERT OR REPLACE INTO "
	"chosen SELECT utid FROM thread WHERE (name GLOB ?1 OR upid IN (SELECT upid FROM named "
	"WHERE upid IS NOT NULL)) AND NOT is_idle";

static const char record_all[] = "INSERT INTO recorded SELECT utid FROM thread WHERE NOT is_idle";

/*
 * Inserts the selected threads, the other threads of their processes, and the threads of all
 * descendants of these processes; if ?1 is 1, only of descendants that began during the trace.
 * Threads that made system calls are inserted, too: of a thread that is not recorded, the kernel
 * writes only the switches from and to recorded threads.
 */
static const char record_selected[] =
	"WITH RECURSIVE tree(upid) AS (SELECT upid FROM thread WHERE tid IN selected AND upid IS "
	"NOT NULL UNION SELECT p.upid FROM process p JOIN tree ON p.parent_upid = tree.upid WHERE "
	"p.start_ts IS NOT NULL OR NOT ?1) INSERT INTO recorded SELECT utid FROM thread WHERE (tid "
	"IN selected OR upid IN tree OR utid IN (SELECT k.utid FROM slice s JOIN thread_track k ON "
	"s.track_id = k.id WHERE s.name GLOB 'sys_*')) AND NOT is_idle";

static const char choose_recorded[] = "INSERT INTO chosen SELECT utid FROM recorded";

/* If some of the chosen threads are recorded, the others are not meant. */
static const char prefer_recorded[] =
	"DELETE FROM chosen WHERE utid NOT IN recorded AND EXISTS (SELECT 1 FROM chosen WHERE utid "
	"IN recorded)";

static const char names[] =
	"SELECT name FROM thread WHERE NOT is_idle UNION SELECT name FROM process";

/* Runs a statement. Its parameter, if it has one, is word, or number if word is NULL. */
static int run(sqlite3 *db, const char *sql, const char *word, int64_t number)
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

static bool has_switches(sqlite3 *db, int *r)
{
	sqlite3_stmt *st;
	bool has;

	if (*r == SQLITE_OK)
		*r = sqlite3_prepare_v2(db, "SELECT 1 FROM sched LIMIT 1", -1, &st, NULL);
	if (*r != SQLITE_OK)
		return false;
	has = sqlite3_step(st) == SQLITE_ROW;
	*r = sqlite3_finalize(st);
	return has;
}

/* ---- the selection of the config ---- */

/* What the config says. */
struct limits {
	size_t unlimited; /* sources with events of the kernel, of all threads */
	size_t limited; /* of some threads */
	bool has_requests; /* there is a source with only disk requests, of all threads */
	bool of_processes; /* the threads are those of processes (-p); else those of a command */
};

/* Returns true if the source only has events of disk requests. sonda records them of all threads
 * even where it records other events of some threads (cli/record/record_threads.h), and reports
 * count them by the thread that made the request. */
static bool is_of_requests(const struct pb_field *ftrace)
{
	static const char block[] = "block/";
	size_t n = 0, of_requests = 0;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, ftrace->data, ftrace->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id != PB_FTRACE_CONFIG_FTRACE_EVENTS || !f.data)
			continue;
		n++;
		of_requests += f.len >= strlen(block) && !memcmp(f.data, block, strlen(block));
	}
	return n && n == of_requests;
}

/* Adds the processes and threads that a source is limited to. Returns false if there are none. */
static bool add_selected(sqlite3 *db, const struct pb_field *ftrace, struct limits *l, int *r)
{
	bool some = false;
	struct pb_field f;
	struct pb_dec d;
	uint64_t v;

	pb_dec_init(&d, ftrace->data, ftrace->len);
	while (*r == SQLITE_OK && pb_dec_next(&d, &f)) {
		if (f.id != PB_FTRACE_CONFIG_TIDS_TO_TRACE &&
		    f.id != PB_FTRACE_CONFIG_PIDS_TO_TRACE)
			continue;
		l->of_processes |= f.id == PB_FTRACE_CONFIG_PIDS_TO_TRACE;
		for (struct pb_packed p = pb_packed_of(&f);
		     *r == SQLITE_OK && pb_packed_next(&p, &v); some = true)
			*r = run(db, "INSERT OR IGNORE INTO selected VALUES (?)", NULL, (int64_t)v);
	}
	return some;
}

static struct limits read_config(sqlite3 *db, const struct chosen_from *from, int *r)
{
	struct limits l = {.unlimited = 0};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, from->config, from->config_len);
	while (pb_dec_next(&d, &f)) {
		struct pb_field source, ftrace;

		if (f.id != PB_TRACE_CONFIG_DATA_SOURCES || !f.data)
			continue;
		source = pb_inner_field(&f, PB_TRACE_CONFIG_DATA_SOURCE_CONFIG);
		ftrace = pb_inner_field(&source, PB_DATA_SOURCE_CONFIG_FTRACE_CONFIG);
		if (!ftrace.id)
			continue;
		if (add_selected(db, &ftrace, &l, r))
			l.limited++;
		else if (is_of_requests(&ftrace))
			l.has_requests = true;
		else
			l.unlimited++;
	}
	return l;
}

/* Chooses the threads of each word. */
static int choose_words(sqlite3 *db, const struct chosen_from *from, const char **ret_missing)
{
	int r = SQLITE_OK;

	for (size_t i = 0; i < from->n_words && r == SQLITE_OK && !*ret_missing; i++) {
		const char *word = from->words[i];
		bool is_number = word[strspn(word, "0123456789")] == '\0';

		r = run(db, is_number ? choose_number : choose_name, word, 0);
		if (sqlite3_changes(db) == 0)
			*ret_missing = word;
	}
	return r == SQLITE_OK ? run(db, prefer_recorded, NULL, 0) : r;
}

int chosen_create(sqlite3 *db, const struct chosen_from *from, const char **ret_missing)
{
	int r = sqlite3_exec(db, create, NULL, NULL, NULL);
	struct limits l = r == SQLITE_OK ? read_config(db, from, &r) : (struct limits){0};
	bool switches = has_switches(db, &r);
	/* Without switches and requests, all events are of recorded threads. */
	bool limited = l.limited && !l.unlimited && (l.has_requests || switches);

	*ret_missing = NULL;
	if (r == SQLITE_OK)
		r = run(db,
			limited ? "INSERT INTO asked VALUES (?, 1)"
				: "INSERT INTO asked VALUES (?, 0)",
			NULL, from->n_words > 0);
	if (r == SQLITE_OK)
		r = run(db, limited ? record_selected : record_all, NULL,
			l.of_processes && switches);
	if (r != SQLITE_OK)
		return r;
	return from->n_words ? choose_words(db, from, ret_missing)
			     : run(db, choose_recorded, NULL, 0);
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
