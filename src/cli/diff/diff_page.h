/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/diff/diff_traces.h"

/*
 * sonda diff --html: the comparison as one HTML file that needs no network: its rows, and
 * differential flame graphs of CPU time and waits (diff_page.js). t->stacks has the stacks.
 *
 * Writes it to path, which only its owner may read; "-" is the standard output. Returns 0, or -errno
 * and sets e.
 */
int diff_page_write(const struct diff_traces *t, const struct diff_results *r, const char *path,
		    struct err_text *e);
