/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/track.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/process_uuid.h"
#include "wire/pb_enc.h"

/* The identity of this process in track descriptors. */

#define PROCESS_CMDLINE 4096u /* bytes; a longer command line is truncated */

struct process_identity {
	uint64_t uuid; /* of the track of the process */
	int32_t pid; /* in its own pid namespace */
	size_t cmdline_len;
	char cmdline[PROCESS_CMDLINE]; /* as in /proc/self/cmdline: each argument ends with 0 */
};

/* The identity of this process, read by process_identity_read(). */
extern struct process_identity process_identity;

/* Call before any thread writes events, and in a child after fork(). */
void process_identity_read(void);

static inline uint64_t thread_uuid(int32_t tid)
{
	return thread_uuid_of(process_identity.uuid, tid);
}

/* TrackDescriptor messages, as field 60 of the open packet. */

uint64_t track_uuid(const struct sonda_track *t);
/* Returns the parent of t if its descriptor must be written before that of t. NULL: t has no such
 * parent; every sequence describes the process, and global tracks have no descriptor. */
const struct sonda_track *track_parent(const struct sonda_track *t);

/* Writes the descriptor of a track of any kind except SONDA_TRACK_GLOBAL. */
void track_descriptor_write(struct pb_enc *e, const struct sonda_track *t);
/* Writes the descriptor of the counter of a thread's CPU time, in units of unit_multiplier ns. */
void thread_time_descriptor_write(struct pb_enc *e, int32_t tid, uint64_t unit_multiplier);
uint64_t thread_time_uuid(int32_t tid);
