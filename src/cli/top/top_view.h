/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/live/live.h"
#include "base/text/str.h"
#include "cli/top/top_rows.h"

/*
 * What sonda top shows, as text: lines about the machine, then a row for each process, sorted by
 * one of the columns (top_columns.h). Rows may also be threads or subjects (top_rows.h).
 */

enum top_style { /* the first byte of each line */
		 TOP_PLAIN = 1,
		 TOP_TITLE, /* the titles of the columns */
		 TOP_ALERT, /* losses, missing counters */
		 TOP_SELECTED, /* the selected process */
};

struct top_view {
	struct top_selection selection;
	size_t rows; /* processes to show; 0: all */
	double period_s;
	/* The selected row: a process or thread with its process; a subject. 0 and "": none. */
	int32_t selected, selected_tgid;
	char selected_key[TOP_KEY_SIZE];
	bool by_thread; /* live has threads */
	bool paused;
	bool help;
	size_t help_line; /* the first one of the page */
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
size_t top_adjacent_column(const struct top_view *v, int n, size_t width);
size_t top_column_at(const struct top_view *v, size_t n, size_t width);

/* Selects the row that is n rows below the selected one (n < 0: above), but not beyond the first or
 * last one. If the selected row is not shown, selects the first. */
void top_move_selection(struct top_view *v, const struct top_state *s, int n);

size_t top_view_help_lines(void);
/* Goes to the next page of the help, on a terminal of height lines. After the last page, ends the
 * help and returns false. */
bool top_view_turn_help_page(struct top_view *v, size_t height);

/* Appends the lines of a screen, each with its style in front and a newline. width: columns of the
 * terminal; 0: not limited. height: lines; 0: not limited. Returns 0 or -ENOMEM. */
int top_view_lines(const struct top_view *v, const struct top_state *s, size_t width, size_t height,
		   struct strbuf *out);
