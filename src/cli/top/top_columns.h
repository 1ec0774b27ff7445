/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "analyze/live/live_types.h"
#include "base/text/str.h"

/*
 * The columns of sonda top: one table has the keys of -s, the titles, and the names in JSON. To add
 * a column, add an element to top_columns[] and raise TOP_COLUMNS.
 */

enum top_unit { /* the first four have values to sort by */
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
void top_put_column_keys(struct strbuf *out);

/* Writes the value as the column shows it, "-" if it is unknown. Not for TOP_NAME. */
void top_column_format(const struct top_column_spec *c, const struct live_process *p, char *buf,
		       size_t size);
/* Returns the value by which a numeric column sorts, the largest first; -1: unknown. */
double top_column_sort_value(const struct top_column_spec *c, const struct live_process *p);
