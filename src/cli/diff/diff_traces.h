/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

#include "analyze/diff/diff_compare.h"
#include "base/text/str.h"
#include "cli/diff/diff_options.h"
#include "cli/diff/diff_stacks.h"

/*
 * The recordings of both sides. They are read one after the other, and only the rows of each are
 * kept.
 */

struct diff_trace {
	const char *path; /* borrowed */
	int side; /* 0: A, 1: B */
	int64_t start_ts; /* ns of the boot clock, which orders recordings of one boot */
	double seconds; /* of the window */
	double work; /* slices of --per NAME in the window */
	bool is_run; /* the recording of a command */
	unsigned cpus; /* 0: unknown */
	struct strbuf kernel; /* release and architecture; owned */
	struct strbuf config; /* what was recorded, a line for each data source; owned */
};

struct diff_traces {
	const struct diff_options *o; /* borrowed */
	struct diff_trace *of; /* owned; those of A first; skipped ones are not in it */
	size_t n, n_traces[2]; /* n_traces: of each side */
	struct diff_rows rows;
	struct diff_stacks stacks; /* with --html */
	FILE *timelines
		[2]; /* with --timelines: the page of the first recording of each side; owned */
	struct diff_observation *observations; /* owned */
	size_t n_of_side[2]; /* observations */
	bool per_run; /* true: values per run; false: per second or slice */
	enum diff_design_kind kind;
	bool same_config;
	struct strbuf marks; /* a line for each reason to doubt the comparison; owned */
};

/* Reads the traces. Returns 0, or -errno and sets e. diff_traces_deinit() in either case. */
int diff_traces_read(const struct diff_options *o, struct diff_traces *ret, struct err_text *e);
void diff_traces_deinit(struct diff_traces *t);
