/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome's JSON ("Trace Event Format"). It identifies processes and threads by their numbers only.
 * So a process or thread gets another number if the kernel used its number before. Phases:
 *
 *	thread tracks	X; B without an end; i		other tracks	b, e, n with the track's id
 *	scheduler	X in a process "CPUs",		counters	C
 *			with a thread for each CPU	flows		s, f
 *	names		M
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "cli/export/export.h"

#define CPUS_PID "2147480000" /* above every number of the kernel */

/* PID_MAX_LIMIT is 2^22: each further use of a number adds 2^22, a machine adds 2^28 * its id. */
static const char numbers[] =
	"create temp table json_process as select upid, pid + 4194304 * (row_number() over "
	"(partition by machine_id, pid order by upid) - 1) + 268435456 * ifnull(machine_id, 0) as "
	"pid, name from process;"
	"create unique index temp.json_process_upid on json_process(upid);"
	"create temp table json_thread as select t.utid, t.tid + 4194304 * (row_number() over "
	"(partition by t.machine_id, t.tid order by t.utid) - 1) + 268435456 * "
	"ifnull(t.machine_id, 0) as tid, t.upid, t.name from thread t;"
	"alter table temp.json_thread add column pid;"
	"update temp.json_thread set pid = ifnull((select p.pid from temp.json_process p where "
	"p.upid = json_thread.upid), tid);"
	"create unique index temp.json_thread_utid on json_thread(utid);"
	"create temp table json_track as select t.id, t.name, t.event_type, h.tid, "
	"coalesce(h.pid, p.pid, " CPUS_PID ") as pid, t.cpu from __intrinsic_track t "
	"left join temp.json_thread h on h.utid = t.utid "
	"left join temp.json_process p on p.upid = t.upid;"
	"create unique index temp.json_track_id on json_track(id);";

static const char drop_numbers[] = "drop table if exists temp.json_process;"
				   "drop table if exists temp.json_thread;"
				   "drop table if exists temp.json_track;";

struct json {
	sqlite3 *db;
	FILE *to;
	sqlite3_stmt *args; /* owned */
	bool some; /* an event was written */
	int error; /* an SQLite result code, of values that are incomplete */
};

/* ---- values ---- */

static char *copy_text(struct json *j, const char *s)
{
	char *copy = strdup(s);

	if (!copy)
		j->error = SQLITE_NOMEM;
	return copy;
}

static void export_json_put_text(struct json *j, const char *s)
{
	struct strbuf text = {0};

	strbuf_put_json(&text, s ? s : "");
	if (text.failed)
		j->error = SQLITE_NOMEM;
	fputs(text.failed ? "\"\"" : text.s, j->to);
	strbuf_deinit(&text);
}

/* Writes a member: the nanoseconds as microseconds, with all digits. */
static void put_microseconds(FILE *to, const char *name, int64_t ns)
{
	uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	fprintf(to, ",\"%s\":%s%" PRIu64 ".%03u", name, ns < 0 ? "-" : "", v / 1000,
		(unsigned)(v % 1000));
}

static int64_t column_number(sqlite3_stmt *st, int column)
{
	return sqlite3_column_int64(st, column);
}

static const char *column_text(sqlite3_stmt *st, int column)
{
	return (const char *)sqlite3_column_text(st, column);
}

/* Integers that a double cannot hold are text, as readers would round them. */
static void put_integer(FILE *to, int64_t v)
{
	bool exact = v <= INT64_C(1) << 53 && v >= -(INT64_C(1) << 53);

	fprintf(to, exact ? "%" PRId64 : "\"%" PRId64 "\"", v);
}

/* Writes the arguments of a set. A row has key, value_type, int_value, real_value, string_value. */
static void put_args(struct json *j, int64_t set)
{
	bool some = false;
	int r;

	fputs(",\"args\":{", j->to);
	sqlite3_bind_int64(j->args, 1, set);
	while ((r = sqlite3_step(j->args)) == SQLITE_ROW) {
		const char *type = column_text(j->args, 1);

		if (some)
			fputc(',', j->to);
		some = true;
		export_json_put_text(j, column_text(j->args, 0));
		fputc(':', j->to);
		if (!type || !strcmp(type, "null"))
			fputs("null", j->to);
		else if (!strcmp(type, "bool"))
			fputs(column_number(j->args, 2) ? "true" : "false", j->to);
		else if (sqlite3_column_type(j->args, 4) != SQLITE_NULL)
			export_json_put_text(j, column_text(j->args, 4));
		else if (sqlite3_column_type(j->args, 3) == SQLITE_NULL)
			put_integer(j->to, column_number(j->args, 2));
		else if (isfinite(sqlite3_column_double(j->args, 3)))
			fprintf(j->to, "%.17g", sqlite3_column_double(j->args, 3));
		else
			fputs("null", j->to);
	}
	if (r != SQLITE_DONE)
		j->error = r;
	sqlite3_reset(j->args);
	fputc('}', j->to);
}

/* ---- events ---- */

static void begin_json_event(struct json *j, const char *phase)
{
	fprintf(j->to, "%s\n{\"ph\":\"%s\"", j->some ? "," : "", phase);
	j->some = true;
}

static void put_pid_and_tid(struct json *j, int64_t pid, int64_t tid)
{
	fprintf(j->to, ",\"pid\":%" PRId64 ",\"tid\":%" PRId64, pid, tid);
}

/* Writes a row (kind of the name, pid, tid, name) as an M event. */
static void export_json_put_name(struct json *j, sqlite3_stmt *st)
{
	begin_json_event(j, "M");
	put_pid_and_tid(j, column_number(st, 1), column_number(st, 2));
	fprintf(j->to, ",\"name\":\"%s\",\"args\":{\"name\":", column_text(st, 0));
	export_json_put_text(j, column_text(st, 3));
	fputs("}}", j->to);
}

/* Writes a row: pid, tid, ts, dur, name, category, arg_set_id. */
static void put_thread_slice(struct json *j, sqlite3_stmt *st)
{
	int64_t dur = column_number(st, 3);

	begin_json_event(j, dur < 0 ? "B" : dur == 0 ? "i" : "X");
	put_pid_and_tid(j, column_number(st, 0), column_number(st, 1));
	put_microseconds(j->to, "ts", column_number(st, 2));
	if (dur > 0)
		put_microseconds(j->to, "dur", dur);
	if (dur == 0)
		fputs(",\"s\":\"t\"", j->to);
	fputs(",\"name\":", j->to);
	export_json_put_text(j, column_text(st, 4));
	if (sqlite3_column_type(st, 5) != SQLITE_NULL) {
		fputs(",\"cat\":", j->to);
		export_json_put_text(j, column_text(st, 5));
	}
	if (sqlite3_column_type(st, 6) != SQLITE_NULL)
		put_args(j, column_number(st, 6));
	fputc('}', j->to);
}

/* Writes a row: cpu, ts, dur, name, tid, prio, end_state. */
static void put_sched(struct json *j, sqlite3_stmt *st)
{
	int64_t dur = column_number(st, 2);

	begin_json_event(j, dur < 0 ? "B" : "X");
	put_pid_and_tid(j, str_leading_i64(CPUS_PID, 10), column_number(st, 0));
	put_microseconds(j->to, "ts", column_number(st, 1));
	if (dur >= 0)
		put_microseconds(j->to, "dur", dur);
	fputs(",\"cat\":\"sched\",\"name\":", j->to);
	export_json_put_text(j, column_text(st, 3));
	fprintf(j->to, ",\"args\":{\"tid\":%" PRId64 ",\"prio\":%" PRId64 ",\"end_state\":",
		column_number(st, 4), column_number(st, 5));
	export_json_put_text(j, column_text(st, 6));
	fputs("}}", j->to);
}

/* Writes a row: pid, name, ts, value. */
static void put_counter(struct json *j, sqlite3_stmt *st)
{
	double v = sqlite3_column_double(st, 3);

	if (!isfinite(v))
		return;
	begin_json_event(j, "C");
	put_pid_and_tid(j, column_number(st, 0), column_number(st, 0));
	put_microseconds(j->to, "ts", column_number(st, 2));
	fputs(",\"name\":", j->to);
	export_json_put_text(j, column_text(st, 1));
	fprintf(j->to, ",\"args\":{\"value\":%.17g}}", v);
}

/* Writes a row (id, then pid, tid and ts of both ends) as two events. */
static void put_flow_events(struct json *j, sqlite3_stmt *st)
{
	for (int end = 0; end < 2; end++) {
		begin_json_event(j, end ? "f" : "s");
		put_pid_and_tid(j, column_number(st, 1 + 3 * end), column_number(st, 2 + 3 * end));
		put_microseconds(j->to, "ts", column_number(st, 3 + 3 * end));
		fprintf(j->to, ",\"id\":%" PRId64 ",\"name\":\"flow\",\"cat\":\"flow\"%s}",
			column_number(st, 0), end ? ",\"bp\":\"e\"" : "");
	}
}

/* ---- slices of other tracks: each has its end in the order of time ---- */

#define MAX_DEPTH 1024

struct open_slice {
	int64_t end; /* INT64_MAX: none */
	int64_t until; /* leaves the stack then: at its end, or that of a parent */
	char *name, *category; /* owned */
};

struct async_track {
	int64_t id, pid;
	struct open_slice open[MAX_DEPTH];
	size_t n;
};

static void put_async_event(struct json *j, const struct async_track *t, const char *phase,
			    int64_t ts, const char *name, const char *category)
{
	begin_json_event(j, phase);
	put_pid_and_tid(j, t->pid, t->pid);
	put_microseconds(j->to, "ts", ts);
	fprintf(j->to, ",\"id\":%" PRId64 ",\"name\":", t->id);
	export_json_put_text(j, name);
	fputs(",\"cat\":", j->to);
	export_json_put_text(j, category ? category : "slice");
}

/* Writes the ends of the slices that end at or before ts, the innermost first. A slice without an
 * end gets no event. */
static void end_slices_until(struct json *j, struct async_track *t, int64_t ts)
{
	while (t->n && t->open[t->n - 1].until <= ts) {
		struct open_slice *s = &t->open[--t->n];

		if (s->end != INT64_MAX) {
			put_async_event(j, t, "e", s->end, s->name, s->category);
			fputc('}', j->to);
		}
		freep(&s->name);
		freep(&s->category);
	}
}

static void end_async_track(struct json *j, struct async_track *t)
{
	end_slices_until(j, t, INT64_MAX - 1);
	for (; t->n; t->n--) {
		freep(&t->open[t->n - 1].name);
		freep(&t->open[t->n - 1].category);
	}
}

/* Writes a row (track, pid, ts, dur, name, category, arg_set_id); rows come by track, time and
 * depth. */
static void put_track_slice(struct json *j, struct async_track *t, sqlite3_stmt *st)
{
	int64_t ts = column_number(st, 2), dur = column_number(st, 3), end;
	const char *name = column_text(st, 4), *category = column_text(st, 5);

	if (column_number(st, 0) != t->id) {
		end_async_track(j, t);
		t->id = column_number(st, 0);
		t->pid = column_number(st, 1);
	}
	end_slices_until(j, t, ts);
	put_async_event(j, t, dur == 0 ? "n" : "b", ts, name, category);
	if (sqlite3_column_type(st, 6) != SQLITE_NULL)
		put_args(j, column_number(st, 6));
	fputc('}', j->to);
	if (dur == 0 || t->n == MAX_DEPTH)
		return;
	if (dur < 0 || __builtin_add_overflow(ts, dur, &end))
		end = INT64_MAX;
	t->open[t->n++] = (struct open_slice){
		.end = end,
		.name = name ? copy_text(j, name) : NULL,
		.category = category ? copy_text(j, category) : NULL,
	};
	t->open[t->n - 1].until =
		MIN(t->open[t->n - 1].end, t->n > 1 ? t->open[t->n - 2].until : INT64_MAX);
}

/* ---- the file ---- */

/* Calls put with each row of the statement. Stops after a write error. Returns an SQLite code. */
static int put_rows_of_statement(struct json *j, const char *sql,
				 void (*put)(struct json *j, sqlite3_stmt *st))
{
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(j->db, sql, -1, &st, NULL);

	while (r == SQLITE_OK && (r = sqlite3_step(st)) == SQLITE_ROW) {
		put(j, st);
		r = ferror(j->to) ? SQLITE_DONE : SQLITE_OK;
	}
	sqlite3_finalize(st);
	return r == SQLITE_DONE ? SQLITE_OK : r;
}

static int put_track_slices(struct json *j)
{
	struct async_track *t = calloc(1, sizeof(*t));
	sqlite3_stmt *st;
	int r = t ? sqlite3_prepare_v2(
			    j->db,
			    "select s.track_id, t.pid, s.ts, s.dur, s.name, s.category, "
			    "s.arg_set_id from __intrinsic_slice s join temp.json_track t on "
			    "t.id = s.track_id where t.tid is null order by s.track_id, s.ts, "
			    "s.depth, s.id",
			    -1, &st, NULL)
		  : SQLITE_NOMEM;

	if (r != SQLITE_OK) {
		free(t);
		return r;
	}
	t->id = -1;
	while ((r = sqlite3_step(st)) == SQLITE_ROW)
		put_track_slice(j, t, st);
	end_async_track(j, t);
	sqlite3_finalize(st);
	free(t);
	return r == SQLITE_DONE ? SQLITE_OK : r;
}

static int put_all_events(struct json *j)
{
	static const struct {
		const char *sql;
		void (*put)(struct json *j, sqlite3_stmt *st);
	} parts[] = {
		{"select 'process_name', pid, pid, name from temp.json_process where name <> ''"
		 " union all select 'thread_name', pid, tid, name from temp.json_thread where "
		 "name <> '' union all select 'process_name', " CPUS_PID ", " CPUS_PID
		 ", 'CPUs' where exists (select 1 from sched) union all select distinct "
		 "'thread_name', " CPUS_PID ", ucpu, 'CPU ' || ucpu from sched",
		 export_json_put_name},
		{"select t.pid, t.tid, s.ts, s.dur, s.name, s.category, s.arg_set_id from "
		 "__intrinsic_slice s join temp.json_track t on t.id = s.track_id where t.tid is "
		 "not null order by s.ts, s.depth, s.id",
		 put_thread_slice},
		{"select s.ucpu, s.ts, s.dur, ifnull(t.name, 'thread ' || t.tid), t.tid, "
		 "s.priority, s.end_state from sched s join thread t using (utid)",
		 put_sched},
		{"select t.pid, ifnull(t.name, 'counter') || ifnull(' ' || t.cpu, ''), c.ts, "
		 "c.value from counter c join temp.json_track t on t.id = c.track_id where c.value "
		 "is not null",
		 put_counter},
		{"select f.id, a.pid, a.tid, x.ts, b.pid, b.tid, y.ts from flow f join "
		 "__intrinsic_slice x on x.id = f.slice_out join __intrinsic_slice y on y.id = "
		 "f.slice_in join temp.json_track a on a.id = x.track_id join temp.json_track b on "
		 "b.id = y.track_id where a.tid is not null and b.tid is not null",
		 put_flow_events},
	};
	int r = SQLITE_OK;

	for (size_t i = 0; r == SQLITE_OK && i < ARRAY_SIZE(parts); i++)
		r = put_rows_of_statement(j, parts[i].sql, parts[i].put);
	return r == SQLITE_OK ? put_track_slices(j) : r;
}

int export_json(const struct trace_tables *t, FILE *to)
{
	struct json j = {.db = t->db, .to = to};
	int r = sqlite3_exec(t->db, numbers, NULL, NULL, NULL);

	if (r == SQLITE_OK)
		r = sqlite3_prepare_v2(
			t->db,
			"select key, value_type, int_value, real_value, string_value "
			"from args where arg_set_id = ?1",
			-1, &j.args, NULL);
	if (r == SQLITE_OK) {
		fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", to);
		r = put_all_events(&j) ?: j.error;
		fputs("\n]}\n", to);
	}
	sqlite3_finalize(j.args);
	if (r == SQLITE_OK)
		r = sqlite3_exec(t->db, drop_numbers, NULL, NULL, NULL);
	return r;
}
