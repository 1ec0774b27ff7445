/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/report/report.h"
#include "base/core/hash_table.h"

/*
 * The data that sonda diff compares: rows, each with one value per observation. An observation is a
 * recording, or a block of its time. The rows of an observation are those of the statements of
 * diff_metrics, whose columns are
 *
 *	program, thread, what	name the row; each may be NULL
 *	amount			ns; NULL: the row only has a number
 *	number			of what took this time, or of events
 *	p50, p99		ns, of single durations; NULL: not known
 *	bytes			NULL: none
 *
 * Statements may use the parameters of report.h, and
 *
 *	:period		ns between two samples of a CPU
 *	:run		1: the observation is a run of a command
 *	:waits		the kind of stacks of code_waits(): "waits", or "single" if the observation
 *			is a block of time, since totals are not by time
 */

/* Metrics in the form of reports, made from the files *.sql beside this one. help says what the
 * amount is; each section is a level of detail. */
extern const struct report diff_metrics[];
extern const size_t n_diff_metrics;

struct diff_value {
	double amount, n, p50, p99, bytes; /* p50, p99: NAN if not known */
	unsigned rows; /* rows of the statement that were added up */
};

struct diff_row {
	const struct report *metric;
	const struct report_section *level;
	char *program, *thread, *what; /* in key; NULL: none */
	bool has_amount, has_bytes; /* true if some observation has it */
	struct diff_value *of; /* owned; by observation */
	char *key; /* owned: of the hash; names with their NULs */
	UT_hash_handle hh;
};

struct diff_rows {
	size_t observations;
	struct diff_row *list; /* a hash; hh.next: in the order of their first observation */
};

/* The window and what else a statement needs. */
struct diff_window {
	int64_t from, to; /* ns of the trace's clock */
	int64_t period_ns; /* value of the parameter :period */
	bool is_run, is_block;
};

/* Frees the rows. A struct diff_rows begins with zeros, except for `observations`. */
void diff_rows_deinit(struct diff_rows *rows);

/* Adds the rows of an observation: db is the trace, with the tables of passes.h for the window.
 * Returns an SQLite result code; sqlite3_errmsg() explains. */
int diff_rows_read(struct diff_rows *rows, sqlite3 *db, const struct diff_window *window,
		   size_t observation);

/* Copies the name of a thread, or of a kernel thread's program, without the numbers that differ
 * from one recording to the next: "worker-12" becomes "worker-*", and all kworkers get one
 * name. ret has room for strlen(name) + 10 bytes. */
void diff_put_general_name(const char *name, char *ret);
