/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/*
 * Slices of a track nest: each track has a stack of the slices that are open, or that end later.
 * Arguments of a slice's begin and end go into one set, which is stored when the slice leaves the
 * stack. A slice is named by its row of TABLE_SLICE. Times are in ns.
 */

/* Begins a slice; dur -1: it is open until slices_end(). name, category: strings or NULL_U32. args:
 * the slice's arguments; the builder is emptied; may be NULL. Returns the slice, or NULL_U32 if it
 * was dropped, as it overlaps another one. A slice deeper than 512 has no parent and no
 * arguments. */
uint32_t slices_begin(struct import *im, int64_t ts, int64_t dur, uint32_t track, uint32_t category,
		      uint32_t name, struct arg_builder *args);
/* Ends the innermost open slice of the track that has this name and category; NULL_U32 fits any.
 * args: as above. Returns the slice, or NULL_U32 if there is none. */
uint32_t slices_end(struct import *im, int64_t ts, uint32_t track, uint32_t category, uint32_t name,
		    struct arg_builder *args);

/* Returns the slice's arguments so far, valid until its end; NULL if there is no such slice. It is
 * the slice that slices_end() would end with this time, track, category and name. */
const struct arg_builder *slices_open_args(struct import *im, int64_t ts, uint32_t track,
					   uint32_t category, uint32_t name);

/* Like slices_begin() and slices_end(), for a system call. enter, exit: rows of ftrace_event that
 * have the arguments; enter may be NULL_U32. */
uint32_t slices_begin_syscall(struct import *im, int64_t ts, int64_t dur, uint32_t track,
			      uint32_t name, uint32_t enter);
void slices_end_syscall(struct import *im, int64_t ts, uint32_t track, uint32_t name,
			uint32_t exit);

/* Sets how long a slice's thread had run (CPU ns), and how many instructions it had executed, when
 * the slice began or, with is_end, ended. NULL_I64: unknown. Begins must come in the order of
 * slices. */
void slices_set_thread_times(struct import *im, uint32_t slice, bool is_end, int64_t thread_ns,
			     int64_t instructions);
/* Sets how long the thread ran within the slice, and how many instructions it executed there. */
void slices_set_thread_durs(struct import *im, uint32_t slice, int64_t thread_dur,
			    int64_t instructions);

/* At the end: stores the arguments of slices that are still on a stack. */
void slices_finish(struct import *im);
void slices_deinit(struct import *im);

/* Flows: arrows from slices to later slices with the same flow id. */

/* Begins the flow with a slice. Returns false if the flow has begun already. */
bool flows_begin(struct import *im, uint64_t id, uint32_t slice);

enum flow_next { /* where the flow's next arrow comes from */
		 FLOW_FROM_HERE, /* begins at the slice that this arrow points to */
		 FLOW_FROM_THERE, /* begins at the slice that this arrow comes from */
		 FLOW_ENDS
};
/* Adds an arrow to a slice. Returns false if the flow has not begun, or ended. */
bool flows_add_arrow(struct import *im, uint64_t id, uint32_t slice, enum flow_next next);
/* Adds an arrow between two slices that no flow id connects. */
void flows_connect(struct import *im, uint32_t from, uint32_t to);
void flows_deinit(struct import *im);
