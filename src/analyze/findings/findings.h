/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

#include "analyze/findings/finding.h"
#include "analyze/findings/recorded.h"
#include "base/text/str.h"

/*
 * Runs findings on the database of a report, in which chosen.h and passes.h have made tables.
 * Statements of findings may also use these tables:
 *
 *	who(utid, thread, tid, process, pid, program, upid, is_kernel)
 *		names for people; thread has no number; process: without the directory;
 *		program: the name of the main thread; is_kernel: 1 for threads of the kernel
 *	wait_reasons(utid, reason, function, file, time, n)
 *		code_waits('waits'), with the reason 'condition' for a futex of a condition variable
 *	grown(track_id, name, upid, utid, cpu, parent_id, first_ts, last_ts, dur, grown)
 *		by how much the counters of totals rose in the window, between two values
 *	thread_time(utid, run, runnable, blocked, asleep, traced)
 *		how long each thread was in these states
 *	held_cpu(utid, holder, time, n, longest, longest_ts, long_time, long_n)
 *		how long each chosen thread was runnable while another thread had its CPU; n: in how
 *		many waits; longest: in one of them, which began at longest_ts; long_time, long_n:
 *		of those of 5 ms or more
 */

/* Makes these tables (tables.sql) for the window [from, to], in place of those of an earlier call.
 * Returns an SQLite result code. */
int findings_make_tables(sqlite3 *db, int64_t from, int64_t to);

struct finding_window {
	int64_t from, to; /* ns of the trace's clock */
	int64_t top; /* rows of the list */
	bool more; /* one extra row, which shows the caller that rows are left out */
};

/* Runs a finding. Sets *ret to a statement whose rows are its evidence, the largest share first,
 * and *ret_share to that share; *ret to NULL if no row reaches the thresholds. The caller finalizes
 * *ret before it runs a finding with the same number again. Returns 0, or a negative errno and sets
 * e, with the file and line of a mistake. */
int finding_run(sqlite3 *db, const struct finding *f, unsigned number,
		const struct finding_window *w, sqlite3_stmt **ret, double *ret_share,
		struct err_text *e);

/* Appends a need and its alternatives, as text for the user. i: the last of them. */
void finding_put_need(const struct finding *f, size_t i, struct strbuf *b);
