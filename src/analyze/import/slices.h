/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/*
 * Slices of a track nest: each track has a stack of those that are open or not yet past. Arguments
 * of a slice's begin and end go into one set, which is stored when the slice leaves the stack.
 */

/* Begins a slice; dur -1: it is open until slices_end(). name, category: strings or NULL_U32. args:
 * taken over, the builder is emptied; may be NULL. Returns the slice, or NULL_U32 if it was
 * dropped. */
uint32_t slices_begin(struct import *im, int64_t ts, int64_t dur, uint32_t track, uint32_t category,
		      uint32_t name, struct arg_builder *args);
/* Ends the topmost open slice with this name and category, where given. Returns it, or NULL_U32. */
uint32_t slices_end(struct import *im, int64_t ts, uint32_t track, uint32_t category, uint32_t name,
		    struct arg_builder *args);

/* As slices_begin() and slices_end() for a system call. enter, exit: rows of ftrace_event that have
 * the arguments. */
uint32_t slices_begin_call(struct import *im, int64_t ts, int64_t dur, uint32_t track,
			   uint32_t name, uint32_t enter);
void slices_end_call(struct import *im, int64_t ts, uint32_t track, uint32_t name, uint32_t exit);

/* The times that a slice's thread had run (NULL_I64: unknown) at its begin and, with is_end, at its
 * end. */
void slices_set_thread_times(struct import *im, uint32_t slice, bool is_end, int64_t thread_ns,
			     int64_t instructions);
/* What it ran within the slice. */
void slices_set_thread_durs(struct import *im, uint32_t slice, int64_t thread_dur,
			    int64_t instructions);

/* Stores the arguments of slices that are still open. */
void slices_finish(struct import *im);
void slices_deinit(struct import *im);
