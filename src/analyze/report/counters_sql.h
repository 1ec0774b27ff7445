/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parts of statements about counters. They take the tracks first: only the index of counter by
 * track_id finds the values of a few tracks without a walk over all. */

/* clang-format cannot break statements that contain macros. */
/* clang-format off */

/* The last value of track t that is not later than the window's begin; NULL: there is none. */
#define SQL_VALUE_BEFORE                                                                           \
	"(SELECT b.value FROM counter b WHERE b.track_id = t.id AND b.ts <= :from ORDER BY b.ts "  \
	"DESC LIMIT 1)"

/* The growth of totals that begin with the recording (eBPF), in the window: name, upid, grown;
 * condition is on track t. A part of a trace begins with the values of the totals that began before
 * it; a total without a value there began later, with 0. */
#define SQL_GROWN(condition)                                                                       \
	"SELECT t.name, t.upid, max(c.value) - coalesce(" SQL_VALUE_BEFORE ", 0) AS grown FROM "   \
	"__intrinsic_track t CROSS JOIN counter c ON c.track_id = t.id WHERE t.type GLOB "         \
	"'*_counter_track_event' AND " condition " AND c.ts >= :from AND c.ts <= :to GROUP BY "    \
	"t.id"

/* The growth of the counters of pressure whose names match: name, stalled_ns, share_pct. */
#define SQL_PRESSURE_ROWS(names)                                                                   \
	"SELECT name, CAST(stalled AS INTEGER) AS stalled_ns, 100.0 * stalled / of AS "            \
	"share_pct FROM (SELECT t.name, max(c.value) - min(c.value) AS stalled, max(c.ts) - "      \
	"min(c.ts) AS of FROM __intrinsic_track t CROSS JOIN counter c ON c.track_id = t.id WHERE "      \
	"t.type = 'psi' AND t.name GLOB '" names "' AND c.ts >= :from AND c.ts <= :to GROUP BY "   \
	"t.id) WHERE of > 0 AND stalled > 0"
#define SQL_PRESSURE(names)                                                                        \
	"SELECT iif(name GLOB '*.some', 'some threads', 'all threads') AS who, stalled_ns, "       \
	"share_pct FROM (" SQL_PRESSURE_ROWS(names) ") ORDER BY name DESC"
