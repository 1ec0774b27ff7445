/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/track.h>
#include <stdint.h>

#include "wire/pb_enc.h"

/* TrackDescriptor messages, as field 60 of the open packet. */

uint64_t track_uuid(const struct sonda_track *t);
/* Returns the track that must be described before t, or NULL: the process and global tracks are
 * known.. */
const struct sonda_track *track_parent(const struct sonda_track *t);

/* Of any kind but SONDA_TRACK_GLOBAL. */
void track_descriptor_write(struct pb_enc *e, const struct sonda_track *t);
/* The CPU time of a thread, in units of unit_multiplier ns. */
void thread_time_descriptor_write(struct pb_enc *e, int32_t tid, uint64_t unit_multiplier);
uint64_t thread_time_uuid(int32_t tid);
