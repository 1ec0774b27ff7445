/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* Flows: arrows from one slice to the next slice with the same flow id. */

/* Adds an arrow from the flow's last slice to this one, or begins the flow with this slice. */
void flows_step(struct import *im, uint64_t id, uint32_t slice);
/* Adds an arrow to the slice and ends the flow. Does nothing if the flow has not begun. */
void flows_end(struct import *im, uint64_t id, uint32_t slice);
void flows_deinit(struct import *im);
