/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* clang-format cannot break statements that contain macros. */
/* clang-format off */

/* Parts of the statements that several reports have. See passes.h for intervals that
 * did not end, or that reach out of the window. */

/* Columns that name a thread and its process, from the tables thread and process. */
#define SQL_WHO                                                                                    \
	"iif(thread.is_idle, '(idle)', coalesce(thread.name, process.name, '')) AS thread, "       \
	"thread.tid, coalesce(process.name, '') AS process"

#define SQL_WHO_FROM " JOIN thread USING (utid) LEFT JOIN process USING (upid) "

/* One column that names a thread. t: alias of the table thread. */
#define SQL_THREAD(t) "iif(" t ".is_idle, '(idle)', coalesce(" t ".name, '') || ' ' || " t ".tid)"

/* grp(utid, who): the upid of each thread's process, or -1 - utid; and columns that name who. */
#define SQL_BY_PROCESS "grp AS (SELECT utid, coalesce(upid, -1 - utid) AS who FROM thread)"
#define SQL_PROCESS                                                                                \
	"coalesce(process.name, thread.name, '') AS process, coalesce(process.pid, thread.tid) "   \
	"AS pid"
#define SQL_PROCESS_FROM                                                                           \
	" LEFT JOIN process ON process.upid = who LEFT JOIN thread ON thread.utid = -1 - who "

/* grp(utid, who): the name of the main thread, which is the program that the process runs. */
#define SQL_BY_PROGRAM                                                                             \
	"grp AS (SELECT g.utid, coalesce(m.name, g.name, '') AS who FROM thread g LEFT JOIN "      \
	"thread m ON m.upid = g.upid AND m.is_main_thread)"
#define SQL_PROGRAM "who AS program"

/* A line of 1 to 40 full blocks, in proportion to the number; the largest number has 40. */
#define SQL_BAR(number, largest)                                                                   \
	"replace(printf('%.*c', max(1, 40 * " number " / max(1, " largest ")), '#'), '#', "        \
	"substr(:blocks, 8, 1))"

/* Rows of the table h(length, n) as a histogram; length: pass_length() in pass.h. */
#define SQL_HISTOGRAM(what)                                                                        \
	"SELECT iif(length = 0, 0, 1000 << (length - 1)) AS from_ns, 1000 << length AS to_ns, n "  \
	"AS " what ", " SQL_BAR("n", "(SELECT max(n) FROM h)") " AS share_bar FROM h ORDER BY "    \
	"length"

/* A section: how long threads slept beyond the expiry of their timers. */
#define SECTION_LATE_TIMERS                                                                        \
	{                                                                                          \
		.title = "Late timers",                                                            \
		.note = "how long after its time a timer ended a sleep",                           \
		.by = "thread", .lacks = report_lacks_timers,                                      \
		.sql = "SELECT " SQL_WHO ", n AS sleeps, total / n AS mean_ns, p50 AS p50_ns, "    \
		       "p99 AS p99_ns, worst AS max_ns, worst_ts AS due_at_ts FROM "               \
		       "late_by('thread') t JOIN thread ON utid = who LEFT JOIN process USING "    \
		       "(upid) ORDER BY worst DESC, who LIMIT :top + :more",                       \
	}

/*
 * The longest waits, with who had the CPU for the longest part of each.
 *
 *	placed	the waits, each from the wakeup or the preemption until the thread ran, and the CPU
 *		on which it ended; the waker is NULL if an interrupt woke the thread
 *	held	how long each other thread had it
 */
#define SQL_PLACED                                                                                 \
	"placed AS MATERIALIZED (SELECT w.id, w.utid, h.first AS ts, h.time AS dur, w.waker_utid " \
	"IS NOT NULL AS woken, iif(w.irq_context = 1 OR w.waker_utid IN (SELECT utid FROM thread " \
	"WHERE is_idle), NULL, w.waker_utid) AS waker_utid, h.cpu FROM holders('', :top) h CROSS " \
	"JOIN thread_state w ON w.id = h.id WHERE h.holder IS NULL ORDER BY h.time DESC, w.id), "  \
	"held AS (SELECT id, holder, time, first, n AS times FROM holders('', :top) WHERE holder " \
	"IS NOT NULL)"

#define SQL_WORST_WAITS                                                                            \
	"WITH " SQL_PLACED ", behind AS (SELECT id, holder, max(time) AS time FROM held GROUP "    \
	"BY id) SELECT placed.dur AS wait_ns, placed.ts AS at_ts, placed.cpu, " SQL_WHO ", "       \
	"iif(woken, 'wakeup', 'preemption') AS since, " SQL_THREAD("h") " AS behind, time AS "     \
	"held_ns, iif(woken, coalesce((SELECT " SQL_THREAD("k") " FROM thread k WHERE k.utid = "   \
	"placed.waker_utid), 'interrupt'), NULL) AS waker FROM placed JOIN thread ON "             \
	"thread.utid = placed.utid LEFT JOIN process USING (upid) LEFT JOIN behind ON "            \
	"behind.id = placed.id LEFT JOIN thread h ON h.utid = behind.holder ORDER BY wait_ns "     \
	"DESC, placed.id"
