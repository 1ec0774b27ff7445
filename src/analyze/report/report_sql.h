/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parts of the statements that several reports have. An interval that did not end lasts to the end of the window;
 * one that reaches out of the window is cut. */

/* runs(id, utid, cpu, ts, dur): what ran. */
#define SQL_RUNS                                                                                   \
	"runs AS (SELECT id, utid, cpu, max(ts, :from) AS ts, min(iif(dur < 0, :to, ts + dur), "   \
	":to) - max(ts, :from) AS dur FROM sched WHERE ts < :to AND iif(dur < 0, :to, ts + dur) "  \
	"> :from)"

/* states(id, utid, state, blocked_function, io_wait, woken, ts, dur) */
#define SQL_STATES                                                                                 \
	"states AS (SELECT id, utid, state, blocked_function, io_wait, waker_utid IS NOT NULL AS " \
	"woken, max(ts, :from) AS ts, "                                                            \
	"min(iif(dur < 0, :to, ts + dur), :to) - max(ts, :from) AS dur FROM thread_state WHERE "   \
	"ts < :to AND iif(dur < 0, :to, ts + dur) > :from)"

/* waits(id, utid, ts, dur, woken): for a CPU, from the wakeup or the preemption until it ran. */
#define SQL_WAITS                                                                                  \
	"waits AS (SELECT id, utid, ts, dur, waker_utid IS NOT NULL AS woken, waker_utid FROM "    \
	"thread_state "                                                                            \
	"WHERE state IN ('R', 'R+') AND dur >= 0 AND ts >= :from AND ts < :to)"

/* chosen(utid): threads of the process, or the thread, that was asked for. */
#define SQL_CHOSEN                                                                                 \
	"chosen AS (SELECT utid FROM thread LEFT JOIN process USING (upid) WHERE (:pid IS NULL "   \
	"OR pid = :pid OR tid = :pid) AND NOT is_idle)"

/* Columns that say which thread it is; of the tables thread and process. */
#define SQL_WHO                                                                                    \
	"coalesce(thread.name, process.name, '') AS thread, thread.tid, coalesce(process.name, "   \
	"'') AS "                                                                                  \
	"process"

#define SQL_WHO_FROM " JOIN thread USING (utid) LEFT JOIN process USING (upid) "

/*
 * The longest waits, with who had the CPU for the longest part of each.
 *
 *	worst	the longest waits			since	the last run that had begun on that CPU
 *	placed	with the CPU on which it ran then	held	how long each other thread had it
 */
#define SQL_WORST_WAITS                                                                            \
	"WITH " SQL_WAITS ", " SQL_CHOSEN ", worst AS (SELECT * FROM waits WHERE utid IN chosen "  \
	"ORDER BY dur DESC LIMIT :top), placed AS MATERIALIZED (SELECT worst.*, r.cpu, r.ts AS "   \
	"ran, coalesce((SELECT p.ts FROM sched p WHERE p.cpu = r.cpu AND p.ts <= worst.ts ORDER "  \
	"BY p.ts DESC LIMIT 1), 0) AS since FROM worst JOIN thread_state r ON r.utid = "           \
	"worst.utid AND r.ts = worst.ts + worst.dur AND r.state = 'Running'), held AS (SELECT "    \
	"placed.id, o.utid AS holder, sum(min(iif(o.dur < 0, ran, o.ts + o.dur), ran) - "          \
	"max(o.ts, placed.ts)) AS time FROM placed CROSS JOIN sched o ON o.cpu = placed.cpu AND "  \
	"o.ts "                                                                                    \
	">= placed.since AND o.ts < placed.ran WHERE o.utid != placed.utid GROUP BY 1, 2), "       \
	"behind AS (SELECT id, holder, max(time) AS time FROM held GROUP BY id) SELECT "           \
	"placed.dur AS wait_ns, placed.ts AS at_ts, placed.cpu, " SQL_WHO ", iif(woken, "          \
	"'wakeup', 'preemption') AS since, iif(h.is_idle, '(idle)', coalesce(h.name, '') || ' ' "  \
	"|| h.tid) AS behind, time AS held_ns, (SELECT coalesce(name, '') || ' ' || tid FROM "     \
	"thread k WHERE k.utid = placed.waker_utid) AS waker FROM placed JOIN thread ON "          \
	"thread.utid = placed.utid LEFT JOIN process USING (upid) LEFT JOIN behind ON behind.id "  \
	"= placed.id LEFT JOIN thread h ON h.utid = behind.holder ORDER BY wait_ns DESC"
