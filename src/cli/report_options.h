/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/report/chosen.h"
#include "analyze/report/report.h"
#include "base/core/err.h"
#include "cli/sql_output.h"
#include "cli/trace/trace_input.h"

/* The command line of sonda report. Strings are borrowed from argv. */

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_CSV, REPORT_HTML };

#define REPORT_SUBJECTS_MAX 64

/* The command line of sonda report. Texts are borrowed from argv. */
struct report_options {
	const struct report *report;
	const char *file; /* NULL: not named */
	const char *findings; /* a file or directory of --file; NULL: not given */
	const char *out; /* of the page; NULL: not given */
	enum report_format format;
	enum sql_format csv; /* format for REPORT_CSV */
	/* processes and threads in words, groups in subjects; both empty: all threads */
	char *words[TRACE_INPUT_WHO_MAX];
	size_t n_words;
	struct chosen_subject subjects[REPORT_SUBJECTS_MAX];
	size_t n_subjects;
	const char *by; /* NULL: not given */
	const char *function; /* of --callers and --callees; NULL: neither is given */
	int64_t from, to; /* ns since the trace's start; -1: not given */
	int64_t top; /* 0: not given */
	int64_t machine; /* -1: all */
	uint64_t memory; /* bytes; 0: the default */
	const char *color; /* always, never or auto */
	bool no_pager;
	bool lines; /* system calls as strace prints them; by is "line" */
	bool all; /* all reports, instead of one */
	bool keys; /* REPORT_JSON: tables are named by keys instead of titles */
	int boot; /* -1: the newest one before the running boot; 0: not given */
	const char *dir; /* of the recorder that saved it; NULL: the default */
};

/* Returns 0, 1 after the help was printed, or -EINVAL and sets e. */
int report_options_parse(int argc, char **argv, struct report_options *ret, struct err_text *e);
