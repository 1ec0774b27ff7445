/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/counters/tracks.h"

/*
 * Counters by process, of which only the largest have tracks: those whose weight grew most in the
 * period, at most so many at a time. A process that is no longer among them keeps its tracks until
 * another one needs the place. Weights and values are sums that only grow; each period tells all
 * processes that there are:
 *
 *	top_n_begin(t);
 *	top_n_add(t, &process);               for each process
 *	top_n_end(t);                         sets tracks
 *
 * One that is not told any more has ended, or its element was given to another: its tracks go.
 */
struct top_n;

#define TOP_COLUMNS_MAX 8u
#define TOP_PROCESSES_MAX 65536u /* further ones are not seen */

/* columns: the counters of each process; kind and parent are set here, strings are borrowed for the
 * life of t, as are tracks and proc_root. 0 or -ENOMEM. */
int top_n_new(struct tracks *tracks, const struct track_spec *columns, size_t n_columns,
	      uint32_t top_n, const char *proc_root, struct top_n **ret);
/* Leaves the tracks. NULL is fine. */
void top_n_free(struct top_n *t);

void top_n_begin(struct top_n *t);
struct top_process {
	uint32_t pid;
	uint64_t
		alive_ns; /* CLOCK_BOOTTIME: it was there; if it has grown, in this period. 0: not known */
	uint64_t weight;
	const uint64_t *values; /* n_columns; borrowed for the call */
};
/* What is told twice of a pid in a period is added up. */
void top_n_add(struct top_n *t, const struct top_process *add);
void top_n_end(struct top_n *t);
/* Has the process tracks, since the last top_n_end? */
bool top_n_shows(const struct top_n *t, uint32_t pid);
/* Removes all tracks. */
void top_n_hide(struct top_n *t);
