/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* What gpu_rules.c remembers between the events of a GPU, until the work is done. */

/* A job or a fence. */
struct gpu_work {
	uint64_t id[2]; /* the job's id, or the fence's context and number, or its number */
	bool is_fence; /* which of the first two */
};

/* The queue of a track: the first is what the GPU works on. */
/* Appends to the queue. Returns its length; 0: no memory. */
size_t gpu_work_push(struct import *im, uint32_t track, const struct gpu_work *w);
/* Returns the first, valid until the next call; NULL: the queue is empty. */
const struct gpu_work *gpu_work_first(struct import *im, uint32_t track);
/* Removes the first, if there is one. */
void gpu_work_pop(struct import *im, uint32_t track);
/* Returns where the caller keeps whether the track's fences are emitted, at first false; NULL
 * without memory. */
bool *gpu_work_emits_flag(struct import *im, uint32_t track);

/* A note is a number about an id of a track or of a machine. */
enum gpu_note_kind {
	GPU_NOTE_QUEUED, /* of a ring's track: the slice that queued the job */
	GPU_NOTE_RUNS, /* of a machine, by fence: the track of the ring that runs its job */
	GPU_NOTE_TIMELINE, /* of a machine, by context: the track of the timeline */
	GPU_NOTE_COMMAND, /* of a machine, by number and queue: ns, when the command was sent */
};

/* Replaces an older note. */
void gpu_note_set(struct import *im, enum gpu_note_kind kind, uint32_t of, const uint64_t id[2],
		  int64_t value);
/* Set *ret to a note's value. Return false if there is none. gpu_note_pop() also removes it. */
bool gpu_note_get(struct import *im, enum gpu_note_kind kind, uint32_t of, const uint64_t id[2],
		  int64_t *ret);
bool gpu_note_pop(struct import *im, enum gpu_note_kind kind, uint32_t of, const uint64_t id[2],
		  int64_t *ret);
void gpu_work_deinit(struct import *im);
