/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/live/live.h"
#include "analyze/live/live_types.h"
#include "base/text/str.h"

/* Returns the column of a key of -s, or -1. */
int top_find_column(const char *key);
/* Appends the keys: "cpu, runq, ...". */
void top_keys(struct strbuf *out);

/*
 * What sonda top shows, as text: lines about the machine, then a row for each process, sorted by
 * one of the columns. One table of columns has the keys of -s, the titles, and the names in JSON.
 */

enum top_style { /* the first byte of each line */
		 TOP_PLAIN = 1,
		 TOP_TITLE, /* the titles of the columns */
		 TOP_ALERT, /* losses, missing counters */
		 TOP_SELECTED, /* the selected process */
};

#define TOP_FILTER_SIZE 64

/* Which processes are shown, and in which order. */
struct top_selection {
	size_t sort; /* index of a column */
	const uint32_t *pids; /* borrowed; only these processes. n_pids 0: all */
	size_t n_pids;
	char filter[TOP_FILTER_SIZE]; /* only processes with this name part or pid; "": all */
};

struct top_view {
	struct top_selection selection;
	size_t rows; /* processes to show; 0: all */
	double period_s;
	int32_t selected; /* process id; 0: none */
	bool paused;
	bool help;
	bool is_typing; /* the filter */
};

/* What is known when a screen is drawn. Borrowed. */
struct top_state {
	const struct live *live; /* NULL: no values yet */
	const char *lost; /* losses of the service, "" if there are none */
	const char *note; /* why counters are missing or old, one sentence a line; "" for none */
	bool has_ebpf;
	uint64_t realtime_ns;
	uint64_t screens; /* number of this screen */
};

/* The first returns the column n columns to the right of the sorted column at this width (n < 0: to
 * the left), the second the n-th column from the left, from 1; the sorted column if there is
 * none. */
size_t top_column_beside(const struct top_view *v, int n, size_t width);
size_t top_column_at(const struct top_view *v, size_t n, size_t width);

/* Returns the process that is n rows below the selected one (n < 0: above), but not beyond the
 * first or last one. If the selected process is not shown, returns the first. 0: there is none. */
int32_t top_process_beside(const struct top_view *v, const struct top_state *s, int n);

/*
 * Appends the lines of a screen, each with its style in front and a newline. width: columns of the
 * terminal; 0: not limited. height: lines; 0: not limited. Returns 0 or -ENOMEM.
 */
int top_view_lines(const struct top_view *v, const struct top_state *s, size_t width, size_t height,
		   struct strbuf *out);
/* Appends a screen as one line of JSON; s->live must not be NULL. Returns 0 or -ENOMEM. */
int top_view_json(const struct top_view *v, const struct top_state *s, struct strbuf *out);
