/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

#include "analyze/store/store.h"

/*
 * Sums over the two largest tables, which are computed from the columns: SQL takes ten times as long.
 * Makes, for the window from up to to:
 *
 *	used(utid, cpu, time, n, longest)		of the runs in sched
 *	spent(utid, state, time, n, longest, woken)	of thread_state; woken: of n, those that a
 *							wakeup began
 *
 * An interval that did not end lasts to the end of the window, and one that reaches out of it is cut. An
 * interval without an end is counted only if it is the last one of its CPU or thread: of others the next
 * event is missing, so it is not known how long they were.
 *
 * Returns an SQLite result code.
 */
int totals_create(sqlite3 *db, const struct store *s, int64_t from, int64_t to);
