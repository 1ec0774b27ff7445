/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "analyze/live/live_types.h"
#include "base/text/str.h"

/* The columns of sonda top. To add one, add an element to top_columns[] and raise TOP_COLUMNS. */

enum top_unit {
	TOP_PERCENT, /* of one CPU: ns per second */
	TOP_COUNT, /* per second */
	TOP_BYTES, /* per second */
	TOP_RSS,
	TOP_PID,
	TOP_NAME,
};

struct top_column_spec {
	const char *key; /* of -s */
	const char *title;
	int width; /* characters; negative: aligned to the left */
	unsigned rank; /* the highest is left out first if the terminal is narrow; 0: never */
	enum top_unit unit;
	enum live_metric metric; /* if the unit is TOP_PERCENT, TOP_COUNT or TOP_BYTES */
	const char *json; /* name of the total since the beginning; NULL: none */
	const char *json_rate; /* name of the rate, or of the value */
	const char *help;
};

#define TOP_COLUMNS 12
extern const struct top_column_spec top_columns[TOP_COLUMNS];

/* Returns the column of a key of -s, or -1. */
int top_find_column(const char *key);
/* Appends the keys: "cpu, runq, ...". */
void top_keys(struct strbuf *out);

/* The columns that a terminal has room for, from left to right. */
struct top_layout {
	size_t columns[TOP_COLUMNS];
	size_t n;
};

/* Chooses the columns for a terminal of width characters; 0: all. The column sort, by which the
 * rows are sorted, is always among them. */
void top_choose_columns(struct top_layout *l, size_t sort, size_t width);

/* Writes the value of a process as the column shows it; "-" if it is unknown. */
void top_format_cell(const struct top_column_spec *c, const struct live_process *p, char *buf,
		     size_t size);

/* Compares two processes for qsort: the largest first, names and pids in ascending order. */
int top_compare(const struct top_column_spec *c, const struct live_process *a,
		const struct live_process *b);
