/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/track.h>
#include <stdint.h>

#include "wire/pb_enc.h"

/* TrackDescriptor messages, as field 60 of the open packet. */

uint64_t track_uuid(const struct sonda_track *t);
/* Returns the parent, whose descriptor must be written before that of t; NULL: it needs none (the
 * process, global tracks). */
const struct sonda_track *track_parent(const struct sonda_track *t);

/* Writes the descriptor of a track of any kind except SONDA_TRACK_GLOBAL. */
void track_descriptor_write(struct pb_enc *e, const struct sonda_track *t);
/* Writes the descriptor of the counter of a thread's CPU time, in units of unit_multiplier ns. */
void thread_time_descriptor_write(struct pb_enc *e, int32_t tid, uint64_t unit_multiplier);
uint64_t thread_time_uuid(int32_t tid);
