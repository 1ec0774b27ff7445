/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* Flows: arrows from slices to later slices with the same flow id. */

/* Begins the flow with a slice. Returns false if the flow has begun. */
bool flows_begin(struct import *im, uint64_t id, uint32_t slice);

enum flow_next { /* where the flow's next arrow comes from */
		 FLOW_FROM_HERE, /* from the slice of this arrow */
		 FLOW_FROM_THERE, /* from the same slice as this arrow */
		 FLOW_ENDS
};
/* Adds an arrow to a slice. Returns false if the flow has not begun, or ended. */
bool flows_add_arrow(struct import *im, uint64_t id, uint32_t slice, enum flow_next next);
/* Adds an arrow between two slices that no flow id connects. */
void flows_connect(struct import *im, uint32_t from, uint32_t to);
void flows_deinit(struct import *im);
