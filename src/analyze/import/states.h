/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* The values of state tracks. A track has one value at a time, until another one follows. */

/* Sets the value of a track from ts (ns) on. value: a string; NULL_U32 ends the value that the
 * track has. args: the arguments of the event. If the track already has this value, they are added
 * to those of the value. The builder is emptied. */
void states_set(struct import *im, int64_t ts, uint32_t track, uint32_t value,
		struct arg_builder *args);
/* At the end: stores the arguments of the values that tracks have then. */
void states_finish(struct import *im);
void states_deinit(struct import *im);
