/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "analyze/store/store.h"

/*
 * A trace as one HTML file that needs no network: a timeline and its tables. The file has the rows
 * of the trace as compressed columns (page_columns.h), and the program that draws them (*.js).
 */

/* If a trace has more rows, the page ends earlier: a browser would take too much memory. */
#define PAGE_MAX_ROWS 24000000u

struct page_options {
	const char *title; /* of the page, borrowed */
	int64_t from, to; /* the window, in the trace's clock; to INT64_MAX: up to the end */
	uint64_t max_rows; /* limit of runs, states, slices and samples; by default PAGE_MAX_ROWS */
};

struct page_result {
	uint64_t rows; /* in the page */
	uint64_t left_out; /* rows of the window after `to` */
	int64_t to; /* where the page ends: options.to, or earlier if there were too many rows */
	uint64_t bytes; /* of the file */
};

/* Writes the page. Adds indexes of the tables, and the title as a string, to the store. Returns 0,
 * -ENOMEM, or -errno of a failed write. */
int page_write(struct store *s, const struct page_options *o, FILE *to, struct page_result *ret);
