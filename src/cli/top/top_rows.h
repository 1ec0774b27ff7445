/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/live/live.h"

/* Which processes are shown, and in which order. */
struct top_selection {
	size_t sort; /* index of a column */
	const uint32_t *pids; /* borrowed; only these processes. n_pids 0: all */
	size_t n_pids;
};

/* The processes of a screen, sorted. Zero-initialise; top_rows_deinit frees. */
struct top_rows {
	const struct live_process **list; /* owned; what it points to is borrowed from live */
	size_t n, cap;
};

/* Collects the selected processes and sorts them. Returns 0 or -ENOMEM. */
int top_rows_sort(struct top_rows *r, const struct top_selection *s, const struct live *live);
void top_rows_deinit(struct top_rows *r);
