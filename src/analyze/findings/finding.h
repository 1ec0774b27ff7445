/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"

/*
 * A finding is a known kind of trouble, described by an SQL file. The file begins with comments,
 * each a word and its value:
 *
 *	-- @title TEXT			the name that people read
 *	-- @needs TERM [or TERM]...	what must have been recorded; of several lines each must be
 *					met. A TERM is
 *						event GROUP/NAME	a kernel event
 *						source NAME		a data source
 *						counter PATTERN		a counter track
 *						table NAME		a table with rows
 *	-- @record WORDS		the words of sonda record for that
 *	-- @threshold COLUMN MIN TEXT	rows below it are no evidence; TEXT: of what, for people
 *	-- @words TEXT			a sentence about the first row; {COLUMN} is a value of it
 *	-- @more COMMAND		the words after sonda that show more; {COLUMN} as above
 *
 * One SELECT follows, and each of its rows is evidence. Findings are ordered by its column
 * share_pct, the share of the affected threads' time that the trouble took. The statement may use
 * what the statements of reports use (report.h), and the tables of findings.h.
 */

enum need_kind { NEED_EVENT, NEED_SOURCE, NEED_COUNTER, NEED_TABLE };

struct finding_need {
	enum need_kind kind;
	const char *name;
	bool or_next; /* the next need of the finding is an alternative */
};

struct finding_threshold {
	const char *column;
	double min;
	const char *of; /* unit for people; may be "" */
};

#define FINDING_NEEDS_MAX 12
#define FINDING_THRESHOLDS_MAX 6

/* All texts are the finding's own. */
struct finding {
	char *name; /* of the file, without its directory and ".sql" */
	char *path; /* as errors name the file */
	char *sql; /* the whole file */
	char *head; /* a copy of it, which the members below point into */
	const char *title, *record, *words, *more;
	struct finding_need needs[FINDING_NEEDS_MAX];
	size_t n_needs;
	struct finding_threshold thresholds[FINDING_THRESHOLDS_MAX];
	size_t n_thresholds;
};

struct finding_list {
	struct finding *of; /* owned */
	size_t n, cap;
};

/* The files *.sql beside this one; the last element has no name. */
extern const struct finding_text {
	const char *name, *text;
} finding_texts[];
extern const char finding_tables[]; /* tables.sql, which is not a finding */

/* Reads a file's text. Returns 0, -ENOMEM, or -EINVAL and sets e, which begins with path and line.
 * On success the caller frees *ret with finding_deinit(). */
int finding_parse(const char *path, const char *text, struct finding *ret, struct err_text *e);
void finding_deinit(struct finding *f);

/* Returns the line of the finding's file that contains this byte of its text. */
unsigned finding_line_of(const struct finding *f, int offset);

/* Adds the findings that are built in. Returns 0, or a negative errno and sets e. */
int finding_list_add_built_in(struct finding_list *l, struct err_text *e);

/* Adds the finding of a file, or those of all files *.sql of a directory in the order of their
 * names. A finding replaces an earlier one of the same name. Returns 0, or -errno and sets e. */
int finding_list_add(struct finding_list *l, const char *path, struct err_text *e);

void finding_list_deinit(struct finding_list *l);
