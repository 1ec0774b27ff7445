/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/diff/diff_condition.h"
#include "cli/trace/trace_input.h"

/* The command line of sonda diff. Strings are borrowed from argv. */

#define DIFF_MAX_CONDITIONS 32

enum diff_unit {
	DIFF_PER_AUTO, /* a run for recordings of commands, else a second */
	DIFF_PER_RUN,
	DIFF_PER_SECOND,
	DIFF_PER_SLICE, /* a slice or system call with a given name */
};

/* The command line of sonda diff. Texts are borrowed from argv. */
struct diff_options {
	char **files[2]; /* of A and of B */
	size_t n_files[2];
	enum diff_unit per;
	const char *slice; /* of DIFF_PER_SLICE */
	char *words[TRACE_INPUT_WHO_MAX]; /* processes and threads; none: all */
	size_t n_words;
	struct diff_condition conditions[DIFF_MAX_CONDITIONS];
	size_t n_conditions;
	int64_t from, to; /* ns since the start of each trace; -1: not given */
	double least_change; /* 0.03: 3 %; 0: not given */
	int64_t top; /* 0: not given */
	uint64_t memory; /* bytes; 0: the default */
	const char *color; /* always, never or auto */
	const char *html; /* the page's file; NULL: none */
	bool timelines; /* in the page */
	bool json, lossy, all;
};

/* Returns 0, 1 after the help was printed, or -EINVAL and sets e. */
int diff_options_parse(int argc, char **argv, struct diff_options *ret, struct err_text *e);
