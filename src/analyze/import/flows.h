/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* Flows: arrows between slices that have a number in common, in the order of time. */

/* The slice is the flow's next one, or its first. */
void flows_step(struct import *im, uint64_t id, uint32_t slice);
/* The slice is its last one. A flow that has not begun is left alone. */
void flows_end(struct import *im, uint64_t id, uint32_t slice);
void flows_deinit(struct import *im);
