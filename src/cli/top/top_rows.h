/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/live/live.h"

/*
 * The rows of a screen: processes, threads, or subjects (what processes are added up by), filtered,
 * and sorted by a column. In a tree, siblings are sorted by the sums of the column over each and
 * all below it.
 */

enum top_by {
	TOP_BY_PROCESS,
	TOP_BY_PROGRAM,
	TOP_BY_UNIT, /* from here on subjects that are control groups */
	TOP_BY_CONTAINER,
	TOP_BY_POD,
	TOP_BY_CGROUP,
	TOP_BYS
};

/* Returns "process", "unit", ... */
const char *top_by_name(enum top_by by);
/* Returns true and sets *ret, or false if there is no such name. */
bool top_by_parse(const char *name, enum top_by *ret);
static inline bool top_by_needs_groups(enum top_by by)
{
	return by >= TOP_BY_UNIT;
}

#define TOP_FILTER_SIZE 64
#define TOP_KEY_SIZE 512 /* of a subject's name, with a NUL; longer ones cannot be selected */

/* Which rows are shown, and in which order. */
struct top_selection {
	enum top_by by;
	bool tree; /* processes under their parents or subjects, control groups nested */
	size_t sort; /* index of a column */
	const uint32_t *pids; /* borrowed; only these processes. n_pids 0: all */
	size_t n_pids;
	char filter[TOP_FILTER_SIZE]; /* only rows with this name part or pid; "": all */
	/* Only processes of this subject. TOP_BY_PROCESS: all. Of control groups with those
	 * below. */
	enum top_by within_by;
	char within[TOP_KEY_SIZE];
};

struct top_row {
	const struct live_process *p; /* the values; of a subject its sums, without pid and name */
	const char *key; /* the name of a subject; NULL: a process or thread */
	const char *name; /* as it is shown */
	uint32_t count; /* of a subject: its processes, or threads */
	unsigned depth; /* in the tree */
};

struct top_subject;

/* The rows borrow from struct live and from subjects: they are valid until that struct live
 * changes, or top_rows_free(). Zero-initialise. */
struct top_rows {
	struct top_row *list; /* owned */
	size_t n;
	size_t processes; /* the rows that are processes or threads, not subjects */
	struct top_subject *subjects; /* owned */
};

/* Makes the rows that the selection shows, in its order. Returns 0 or -ENOMEM. Call top_rows_free()
 * in either case. */
int top_rows_make(struct top_rows *r, const struct top_selection *s, const struct live *live);
void top_rows_free(struct top_rows *r);
