/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/counters/tracks.h"

/*
 * Counters by process, with tracks for the largest processes only: those whose weight grew most in
 * the period. A process that is no longer among them keeps its tracks until another process needs
 * the tracks. Weights and values are sums that only grow. Each period adds all existing processes:
 *
 *	top_n_begin(t);
 *	top_n_add(t, &process);               for each process
 *	top_n_end(t);                         sets tracks
 *
 * The tracks of a process that is not added any more are removed: it has exited, or its element was
 * reused.
 */
struct top_n;

#define TOP_COLUMNS_MAX 8u
#define TOP_PROCESSES_MAX 65536u /* limit; further processes are ignored */

/* Allocates the table. columns: the counters of each process; this function sets kind and parent.
 * Strings, tracks and proc_root are borrowed for the life of t. Returns 0 or -ENOMEM. */
int top_n_new(struct tracks *tracks, const struct track_spec *columns, size_t n_columns,
	      uint32_t top_n, const char *proc_root, struct top_n **ret);
/* Frees t; the tracks stay. No-op for NULL. */
void top_n_free(struct top_n *t);

/* Begins a period. Then top_n_add() is called for each process, and top_n_end() ends the period. */
void top_n_begin(struct top_n *t);
struct top_process {
	uint32_t pid;
	/* CLOCK_BOOTTIME at which it existed; in this period if it has grown. 0: unknown */
	uint64_t alive_ns;
	uint64_t weight;
	const uint64_t *values; /* n_columns; borrowed for the call */
};
/* Adds the values of a process. Those of a pid that is added twice in a period are summed. */
void top_n_add(struct top_n *t, const struct top_process *add);
/* Chooses the processes that are shown, adds and removes tracks, and sets their values. */
void top_n_end(struct top_n *t);
/* Returns true if the process has tracks since the last top_n_end(). */
bool top_n_has_tracks(const struct top_n *t, uint32_t pid);
/* Removes all tracks. */
void top_n_remove_tracks(struct top_n *t);
