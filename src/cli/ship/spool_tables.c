/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ship/spool_tables.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/helper_process.h"
#include "base/system/landlock.h"
#include "cli/export/export.h"
#include "cli/export/export_dir.h"
#include "cli/trace/out_path.h"
#include "cli/trace_tables.h"

#define MINUTES_MAX 30 /* that the process may take */

/* ---- the process ---- */

static void spool_tables_confine(void)
{
	static const char *const calls[] = {
		"open",	     "openat",	  "unlink", "unlinkat", "ftruncate", "fsync",
		"fdatasync", "fadvise64", "getcwd", "fchmod",	"fallocate", NULL,
	};
	static const struct syscall_list list = {.allowed = calls};
	static const struct landlock_path here = {.path = ".", .makes_files = true};

	(void)landlock_restrict_files(&here, 1);
	(void)helper_confine(NULL, 0, &list);
}

/* Reads when the trace started in real time, if that is known. Returns 0, or -ENOMEM if the query
 * fails. */
static int read_start(const struct trace_tables *t, struct spool_facts *f)
{
	static const char sql[] =
		"select s.clock_value + (b.start_ts - s.ts) from clock_snapshot s, trace_bounds b "
		"where s.clock_name = 'REALTIME' and coalesce(s.machine_id, 0) = 0 "
		"order by s.ts limit 1";
	sqlite3_stmt *st = NULL;
	int step = SQLITE_ERROR;

	if (sqlite3_prepare_v2(t->db, sql, -1, &st, NULL) == SQLITE_OK)
		step = sqlite3_step(st);
	f->has_start = step == SQLITE_ROW;
	if (f->has_start)
		f->start_realtime_ns = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return step == SQLITE_ROW || step == SQLITE_DONE ? 0 : -ENOMEM;
}

/* Makes a table that no trace has: waits for a CPU by program and length. Questions about
 * percentiles on many machines read it instead of the intervals of each thread, which are some
 * thirty rows of thread_state for each row here. Each power of two of ns has 16 lengths. */
static int make_wait_lengths(const struct trace_tables *t, struct err_text *e)
{
	static const char sql[] =
		"CREATE TEMP TABLE __wait_lengths(machine_id INTEGER, program TEXT, "
		"  from_ns INTEGER, to_ns INTEGER, waits INTEGER, total INTEGER, longest INTEGER);"
		"CREATE TEMP VIEW program_wait_length AS SELECT * FROM __wait_lengths;"
		"INSERT INTO __wait_lengths"
		"  SELECT machine_id, program, (dur >> shift) << shift AS from_ns,"
		"      ((dur >> shift) + 1) << shift AS to_ns, count(*), sum(dur), max(dur)"
		"  FROM ("
		"    SELECT t.machine_id, coalesce(p.name, t.name) AS program, s.dur,"
		"        max(0, CAST(log2(s.dur) AS INTEGER) - 4) AS shift"
		"    FROM thread_state s JOIN thread t USING (utid) LEFT JOIN process p USING "
		"(upid)"
		"    WHERE s.state IN ('R', 'R+') AND s.dur > 0"
		"  )"
		"  GROUP BY machine_id, program, from_ns, to_ns;";

	return sqlite3_exec(t->db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : err_set(e, -EIO, "table program_wait_length: %s", sqlite3_errmsg(t->db));
}

static int read_text(const struct trace_tables *t,
		     int (*read)(const struct trace_tables *t, char **ret), char *ret, size_t size)
{
	char *text;
	int r = read(t, &text);

	if (text && strlen(text) < size)
		strcpy(ret, text);
	free(text);
	return r;
}

static int read_facts(const struct trace_tables *t, struct spool_facts *f)
{
	int r = read_start(t, f);

	if (r == 0)
		r = read_text(t, export_read_uuid, f->trace_uuid, sizeof(f->trace_uuid));
	return r < 0 ? r : read_text(t, export_read_losses, f->losses, sizeof(f->losses));
}

static int make_tables(const struct spool_tables_job *job, struct spool_facts *f,
		       struct err_text *e)
{
	const struct out_path out = {.path = "the spool", .dir = job->dir, .is_dir = true};
	const struct export_dir to = {.out = &out, .path = out.path};
	const struct parquet_choice choice = {job->tables, job->n_tables, job->uuid};
	struct trace_tables tables;
	int r = trace_tables_open("trace.pftrace", job->memory, &tables, e);

	if (r < 0)
		return r;
	r = read_facts(&tables, f);
	r = r < 0 ? err_set(e, r, "out of memory") : make_wait_lengths(&tables, e);
	if (r == 0)
		r = export_parquet_chosen(&tables, &choice, &to, e);
	trace_tables_close(&tables);
	return r;
}

static void spool_tables_process(int fd, void *ctx)
{
	static struct spool_facts facts;
	const struct spool_tables_job *job = ctx;
	struct err_text e = {""};

	/* SQLite's temporary files are made there, too. */
	if (fchdir(job->dir) < 0 || setenv("TMPDIR", ".", 1) < 0 ||
	    setenv("SQLITE_TMPDIR", ".", 1) < 0)
		_exit(1);
	(void)trace_tables_disable_cache(&e);
	spool_tables_confine();
	facts.error = make_tables(job, &facts, &e);
	if (facts.error)
		snprintf(facts.problem, sizeof(facts.problem), "%.255s", e.text);
	(void)helper_send(fd, &facts, sizeof(facts), -1, 0);
	_exit(0);
}

/* ---- this process ---- */

int spool_tables_make(const struct spool_tables_job *job, struct spool_facts *ret,
		      struct err_text *e)
{
	struct spool_tables_job copy = *job;
	struct helper_process p;
	int r = helper_process_start("sonda-tables", spool_tables_process, &copy, job->dir, &p);

	if (r < 0)
		return err_set(e, r, "cannot start a process: %s", strerror(-r));
	r = helper_process_finish(&p, ret, sizeof(*ret), job->stop, MINUTES_MAX * 60);
	if (r == -EINTR)
		return r;
	if (r < 0) {
		*ret = (struct spool_facts){.error = r};
		snprintf(ret->problem, sizeof(ret->problem), "%s",
			 r == -ETIME ? "the process that read it took longer than 30 minutes"
				     : "the process that read it was killed or crashed");
		return 0;
	}
	ret->problem[sizeof(ret->problem) - 1] = '\0';
	ret->trace_uuid[sizeof(ret->trace_uuid) - 1] = '\0';
	ret->losses[sizeof(ret->losses) - 1] = '\0';
	str_make_plain(ret->problem, strlen(ret->problem), "");
	if (ret->error > 0)
		ret->error = -EBADMSG;
	return 0;
}
